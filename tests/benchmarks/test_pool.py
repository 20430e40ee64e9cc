"""The few-shot pool: made example by example, and a bad row is still named when it is needed."""

import json

import pytest

from markscheme.benchmarks import benchmark as load
from markscheme.benchmarks.benchmark import DataProblems
from markscheme.errors import DataError


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """A benchmark that asks some sums, with a pool of fifty; and which rows of the pool were made."""

    def bench(asked):
        rows = [{"question": f"{n} + 1?", "answer": str(n + 1)} for n in range(100)]
        (tmp_path / "test.jsonl").write_text("".join(json.dumps(rows[n]) + "\n" for n in asked))
        (tmp_path / "pool.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:50]))
        (tmp_path / "b.toml").write_text(
            "[data]\ntest.file = 'test.jsonl'\npool.file = 'pool.jsonl'\n[fewshot]\npool = 'pool'\n"
            "[prompts.t]\nuser = '{statement}'\nexample = '{statement} {gold}'\n"
        )
        made = []
        make = DataProblems._problem
        monkeypatch.setattr(
            DataProblems, "_problem", lambda self, part, index: made.append((part, index)) or make(self, part, index)
        )
        return load(tmp_path / "b.toml"), made

    return bench


def test_questions_when_five_are_asked_then_only_their_rows_and_the_examples_are_read(real_data, monkeypatch):
    """`--limit 5` on GSM8K must not parse the 8,792 rows of its two files."""
    made = []
    make = DataProblems._problem
    monkeypatch.setattr(
        DataProblems, "_problem", lambda self, part, index: made.append((part, index)) or make(self, part, index)
    )
    assert len(load("gsm8k", real_data).questions(limit=5)) == 5
    assert len(made) == 5 + 10


def test_pool_when_a_few_examples_are_drawn_then_only_those_are_made_and_written_once(bench):
    benchmark, made = bench([60, 61, 62])
    questions = benchmark.questions(fewshot=5)
    assert len([index for part, index in made if part == "pool"]) == 5
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
    pool = benchmark.pool
    assert len(pool) == 2
    assert pool[0].gold == "1"
    with pytest.raises(DataError, match=r"pool\.jsonl, row 2, is not a problem of b"):
        list(pool)
