"""The few-shot pool: made example by example, and a bad row is still named when it is needed."""

import json

import pytest

from markscheme.benchmarks.base import Benchmark, Part
from markscheme.benchmarks.custom import to_problem
from markscheme.errors import DataError
from markscheme.prompts import Template

TEMPLATE = Template(summary="", user="{statement}", example="{statement} {gold}")


@pytest.fixture
def bench(tmp_path):
    """A benchmark that asks some sums, with a pool of fifty; and which rows of the pool were made."""

    def bench(asked):
        rows = [{"question": f"{n} + 1?", "answer": str(n + 1)} for n in range(100)]
        (tmp_path / "test.jsonl").write_text("".join(json.dumps(rows[n]) + "\n" for n in asked))
        (tmp_path / "pool.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:50]))
        made = []

        def counting(index, row):
            made.append(index)
            return to_problem(index, row)

        parts = (Part(str(tmp_path / "test.jsonl"), to_problem),)
        pool = (Part(str(tmp_path / "pool.jsonl"), counting),)
        return Benchmark("b", "", parts, {"t": TEMPLATE}, "math", pool), made

    return bench


def test_pool_when_a_few_examples_are_drawn_then_only_those_are_made_and_written_once(bench):
    benchmark, made = bench([60, 61, 62])
    questions = benchmark.questions(fewshot=5)
    assert len(made) == 5
    assert len({id(question.prompt.messages[0]) for question in questions}) == 1


def test_pool_when_it_holds_what_is_evaluated_then_that_is_never_an_example(bench):
    benchmark, _ = bench([0, 1, 2])
    for seed in range(30):
        ids = benchmark.questions(fewshot=20, fewshot_seed=seed)[0].prompt.fewshot_ids
        assert not {"0000", "0001", "0002"} & set(ids)
        assert len(set(ids)) == 20


def test_pool_when_a_row_is_bad_then_named_when_it_is_needed(bench, tmp_path):
    benchmark, _ = bench([60])
    (tmp_path / "pool.jsonl").write_text('{"question": "1?", "answer": "1"}\n{"question": "2?"}\n')
    pool = benchmark.fewshot_pool
    assert len(pool) == 2
    assert pool[0].gold == "1"
    with pytest.raises(DataError, match=r"pool\.jsonl, row 2, is not a problem of b"):
        list(pool)
