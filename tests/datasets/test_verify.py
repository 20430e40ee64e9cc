"""Verifying: the state of each file, and golds that cannot be marked."""

import json

import pytest

from markscheme.benchmarks import benchmark
from markscheme.datasets.verify import inspect, unmarkable_golds
from markscheme.types import CountdownGold, Mark, Problem, Verdict

PUZZLES = [{"nums": [n, 2, 3], "target": n + 5} for n in range(1, 1001)]


def write(folder, name, rows):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize(
    ("present", "rows", "state", "detail"),
    [
        (None, [], "missing", "not fetched"),
        ("countdown/sample.jsonl", PUZZLES, "stand-in", "only countdown/sample.jsonl is there"),
        ("countdown/test.jsonl", PUZZLES, "unrecorded", "nothing to compare with"),
        ("countdown/test.jsonl", PUZZLES[:7], "differs", "7 rows instead of 1000"),
        ("countdown/test.jsonl", [{"nums": []}], "unreadable", "row 1"),
    ],
)
def test_inspect_when_the_file_is_in_a_state_then_it_is_reported(tmp_path, present, rows, state, detail):
    if present:
        write(tmp_path, present, rows)
    report = inspect(benchmark("countdown").sources[0], tmp_path)
    assert (report.name, report.state) == ("countdown/test.jsonl", state)
    assert detail in report.detail
    assert (report.file.rows if report.file else 0) == (0 if state in ("missing", "unreadable") else len(rows))


def problem(gold, protocol="math"):
    return Problem(id=f"p-{gold}", statement="?", gold=gold, protocol=protocol)


def verdict(correct):
    return Mark(verdict=Verdict.CORRECT if correct else Verdict.UNMARKABLE, why="" if correct else "cannot be read")


def test_unmarkable_golds_when_the_marker_refuses_one_then_only_that_is_listed():
    problems = [problem("3"), problem(r"\mystery"), problem("7")]
    (bad,) = unmarkable_golds(problems, lambda text, _: verdict("mystery" not in text), lambda *_: None)
    assert (bad.problem, bad.gold, bad.verdict) == (r"p-\mystery", r"\mystery", "unmarkable")
    assert bad.why == "cannot be read"


def test_unmarkable_golds_when_a_gold_only_matches_as_text_then_it_is_listed():
    from markscheme.marking import mark

    problems = [problem(gold) for gold in ("@@@###", r"\begin{pmatrix}1\\", r"\frac{1}{2}", "y = 2x + 3")]
    listed = unmarkable_golds(problems, mark, lambda *_: None)
    assert [bad.gold for bad in listed] == ["@@@###", r"\begin{pmatrix}1\\"]


def test_unmarkable_golds_when_asked_then_each_gold_is_written_as_its_prompt_asks():
    responses = {}
    problems = [
        problem("1/2"),
        problem("18", "gsm8k-numeric"),
        problem("73", "aime"),
        problem(CountdownGold((3, 5, 2), 16), "countdown"),
    ]

    def mark(text, problem):
        responses.setdefault(problem.protocol, text)
        return verdict(True)

    assert unmarkable_golds(problems, mark, lambda numbers, target: "(3 + 5) * 2") == []
    assert responses == {
        "math": r"\boxed{1/2}",
        "gsm8k-numeric": "ANSWER: 18",
        "aime": r"\boxed{73}",
        "countdown": "<answer>(3 + 5) * 2</answer>",
    }


def test_unmarkable_golds_when_a_puzzle_has_no_solution_then_it_is_listed():
    puzzle = problem(CountdownGold((1, 1, 1), 100), "countdown")
    (bad,) = unmarkable_golds([puzzle], lambda *_: verdict(True), lambda *_: None)
    assert (bad.gold, bad.why) == ("[1, 1, 1] to 100", "the puzzle has no solution")
