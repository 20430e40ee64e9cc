"""Prompts: what is sent, which examples stand in it, and that the same options give the same words."""

import pytest

from markscheme.benchmarks import benchmark
from markscheme.errors import UsageError
from markscheme.prompts import Template, build_prompt, draw_examples, prompts_sha256
from markscheme.types import Problem

POOL = [Problem(id=str(i), statement=f"question {i}", gold=str(i), solution=f"work {i}") for i in range(50)]


def test_examples_when_seed_is_the_same_then_the_same_are_drawn():
    assert draw_examples(POOL, 10, 7, []) == draw_examples(POOL, 10, 7, [])
    assert draw_examples(POOL, 10, 7, []) != draw_examples(POOL, 10, 8, [])


def test_examples_when_pool_overlaps_the_evaluated_problems_then_those_are_never_drawn():
    evaluated = POOL[:45]
    drawn = draw_examples(POOL, 5, 1, evaluated)
    assert {problem.key for problem in drawn}.isdisjoint(problem.key for problem in evaluated)
    with pytest.raises(UsageError, match="more than the 5 examples"):
        draw_examples(POOL, 6, 1, evaluated)


def test_prompt_when_statement_contains_a_placeholder_then_it_is_left_alone():
    problem = Problem(id="x", statement="what is {gold} and {statement}?", gold="SECRET")
    prompt = build_prompt(Template(summary="", user="Q: {statement}"), problem, [], None)
    assert prompt.messages[-1].content == "Q: what is {gold} and {statement}?"


@pytest.mark.parametrize("name", ["gsm8k-sample", "math-sample", "aime-sample", "countdown-sample"])
def test_prompt_when_built_then_the_gold_is_not_given_away(name):
    bench = benchmark(name)
    for variant in bench.templates:
        for question in bench.questions(variant=variant):
            problem = question.problem
            alone = bench.template(variant).user.replace("{statement}", problem.statement)
            assert question.prompt.messages[-1].content == alone


def test_gsm8k_prompt_when_default_then_ten_examples_stand_in_the_system_message():
    question = benchmark("gsm8k-sample").questions()[0]
    system, user = question.prompt.messages
    assert system.role == "system"
    assert system.content.count("ANSWER: ") == 10
    assert len(set(question.prompt.fewshot_ids)) == 10
    assert question.prompt.fewshot_seed == 42
    assert question.problem.statement in user.content


def test_gsm8k_prompt_when_zero_shot_then_there_is_no_system_message():
    question = benchmark("gsm8k-sample").questions(fewshot=0)[0]
    assert [message.role for message in question.prompt.messages] == ["user"]
    assert question.prompt.fewshot_seed is None


def test_countdown_prompt_when_default_then_is_the_published_question():
    problem = benchmark("countdown-sample").problems[0]
    sent = benchmark("countdown-sample").questions()[0].prompt.messages[-1].content
    assert problem.statement.startswith("Given the numbers ")
    assert "use each number exactly once with basic arithmetic operations (+, -, *, /)" in sent
    assert sent.endswith("?\n\nAnswer:")


def test_fewshot_when_variant_takes_none_then_says_so():
    with pytest.raises(UsageError, match="no pool of worked examples"):
        benchmark("math-sample").questions(fewshot=2)


def test_prompt_hash_when_one_word_changes_then_changes():
    bench = benchmark("gsm8k-sample")
    hashes = {
        prompts_sha256(question.prompt for question in bench.questions(**options))
        for options in ({}, {"fewshot": 0}, {"fewshot_seed": 1}, {"variant": "hashes"}, {"limit": 3})
    }
    assert len(hashes) == 5
    again = prompts_sha256(question.prompt for question in bench.questions())
    assert again in hashes
