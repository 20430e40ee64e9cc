"""The benchmarks that ship beside the first five: their prompts are the published ones, and real rows of them are read."""

import hashlib
import json
from pathlib import Path

import pytest

import markscheme as ms
from markscheme.benchmarks import benchmark, benchmarks, with_examples
from markscheme.errors import UsageError
from markscheme.prompts import Template, build_prompt, fixed_examples
from markscheme.types import Message, Problem

LANGUAGES = ["bn", "de", "en", "es", "fr", "ja", "ru", "sw", "te", "th", "zh"]


@pytest.fixture
def more(real_data, tmp_path):
    """A data folder with the real rows of the sets that are at hand, under the names of ours."""
    if not (real_data / "more").is_dir():
        pytest.skip("the other sets are not at hand")
    ours = {"amc23": "amc-2023", "minerva_math": "minerva-math", "college_math": "college-math"}
    ours |= {"gaokao2023en": "gaokao-2023-en"}
    for name in (*ours, "olympiadbench", "svamp", "asdiv", "aqua"):
        folder = tmp_path / ours.get(name, name)
        folder.mkdir()
        (folder / "test.jsonl").write_bytes((real_data / "more" / name / "test.jsonl").read_bytes())
    (tmp_path / "mgsm").mkdir()
    for language in LANGUAGES:
        lines = (real_data / "more" / "mgsm" / f"{language}.tsv").read_text().splitlines()
        rows = [dict(zip(("question", "answer"), line.split("\t"), strict=True)) for line in lines if line]
        (tmp_path / "mgsm" / f"{language}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "size", "gold"),
    [
        ("amc-2023", 40, "27"),
        ("minerva-math", 272, "1.6"),
        ("college-math", 2818, "$10-4 n$"),
        ("gaokao-2023-en", 385, None),
        ("olympiadbench", 675, "2"),
        ("svamp", 1000, "145"),
        ("asdiv", 2215, "9"),
        ("aqua", 254, "A"),
        ("mgsm", 2750, None),
        ("mgsm-sw", 250, "18"),
    ],
)
def test_shipped_benchmark_when_real_rows_are_read_then_all_are_problems(more, name, size, gold):
    bench = benchmark(name, more)
    assert len(list(bench.problems)) == size
    assert gold is None or bench.problems[0].gold == gold
    assert (
        bench.questions(fewshot=0, limit=2)[0].problem.statement
        in bench.questions(fewshot=0)[0].prompt.messages[-1].content
    )


@pytest.mark.parametrize("name", [name for name, each in benchmarks().items() if each.definition])
def test_shipped_benchmark_when_its_prompts_are_filled_then_they_ask_the_question(name):
    problem = Problem(id="x", statement="What is 6 times 7?", gold="42", metadata={"language": "de"})
    for template in benchmark(name).templates.values():
        asked = build_prompt(template, problem, [], None).messages[-1].content
        assert "What is 6 times 7?" in asked
        assert "42" not in asked


def test_mgsm_when_asked_natively_then_each_language_has_its_own_words_and_its_answer_is_found(more):
    words = {"de": "Antwort", "fr": "Réponse", "zh": "答案", "te": "సమాధానం"}
    for language, word in words.items():
        question = benchmark(f"mgsm-{language}", more).questions(limit=1)[0]
        assert word in question.prompt.messages[-1].content
        assert ms.mark(f"3 + 4 = 7\n{word}: {question.problem.gold}", question.problem).correct
    clusters = {problem.cluster for problem in benchmark("mgsm", more).problems}
    assert len(clusters) == 250  # one problem in eleven languages is one cluster


def test_aqua_when_asked_then_the_choices_are_lettered_once(more):
    statement = benchmark("aqua", more).problems[0].statement
    assert "\n\n(A) " in statement
    assert "A)5" not in statement


def test_minerva_prompt_when_filled_then_reads_as_published():
    pool = [
        Problem(id=str(n), statement=f"Problem {n}?", gold=str(n), solution=f"It is $\\boxed{{{n}}}$.")
        for n in range(9)
    ]
    template = benchmark("math").template("minerva")
    prompt = build_prompt(template, pool[0], pool[1:3], None)
    assert prompt.messages == (
        Message(
            "user",
            "Problem:\nProblem 1?\n\nSolution: It is $\\boxed{1}$.\nFinal Answer: The final answer is $1$. I hope it is correct."
            "\n\nProblem:\nProblem 2?\n\nSolution: It is $\\boxed{2}$.\nFinal Answer: The final answer is $2$. I hope it is "
            "correct.\n\nProblem:\nProblem 0?\n\nSolution:",
        ),
    )
    assert benchmark("math").default_sampling("minerva").stop == ("Problem:",)
    assert len(template.examples) == 4


def test_fixed_examples_when_named_by_their_letters_then_spacing_does_not_matter():
    pool = [Problem(id="a", statement="Find  $x + 1$.", gold="1"), Problem(id="b", statement="Find y.", gold="2")]
    name = hashlib.sha256(b"findx1").hexdigest()[:16]
    assert [each.id for each in fixed_examples(pool, ["b", name], 2)] == ["b", "a"]
    with pytest.raises(UsageError, match="no problem c"):
        fixed_examples(pool, ["c"], 1)


def test_examples_when_the_pool_is_a_file_then_they_are_turns(tmp_path):
    file = tmp_path / "pool.jsonl"
    file.write_text('{"question": "1 + 1?", "answer": "2", "solution": "Two."}\n')
    bench = with_examples(benchmark("math-sample"), str(file))
    roles = [message.role for message in bench.questions(fewshot=1, limit=1)[0].prompt.messages]
    assert roles == ["user", "assistant", "user"]
    assert bench.questions(fewshot=1)[0].prompt.messages[1].content == "Two.\n\n\\boxed{2}"
    assert [Path(each.path) for each in bench.pool_files] == [file]


def test_examples_when_borrowed_then_they_are_read_as_their_own_benchmark_reads_them(real_data, more):
    (more / "gsm8k").symlink_to(real_data / "gsm8k")
    system = benchmark("svamp", more).questions(limit=1)[0].prompt.messages[0]
    assert (system.role, system.content.count("ANSWER: ")) == ("system", 10)


def test_template_when_examples_stand_before_the_question_then_it_must_say_how_they_read():
    from markscheme.prompts import check_template

    with pytest.raises(ValueError, match="need `example`"):
        check_template(Template(user="{statement}", style="user"))
