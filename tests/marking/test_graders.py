"""The yardstick for graders: errors are counted as labelled, and only against golds that a protocol can read."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from markscheme.cli import main
from markscheme.marking.bulk.graders import error_rate, grade_graders, kind_of_gold, labelled_file
from markscheme.types import CountdownGold

CASES = [
    {"response": "\\boxed{73}", "gold": "73", "correct": True},
    {"response": "\\boxed{073}", "gold": "73", "correct": True},  # normalized does not see it
    {"response": "\\boxed{74}", "gold": "73", "correct": False},
    {"response": "\\boxed{73}", "gold": "73", "correct": False},  # mislabelled: a false positive of everybody
    {"response": "\\boxed{x+1}", "gold": "1+x", "correct": True},  # no number: not for number protocols
    {"response": "The answer is 7 or 8", "gold": "7", "correct": False, "note": "AMBIGUOUS: names both"},
    {"response": "no label here", "gold": "7"},
    {"response": "3*5+1", "gold": {"nums": [3, 5, 1], "target": 16}, "correct": True},
]


@pytest.fixture
def labelled(tmp_path):
    file = tmp_path / "labelled.jsonl"
    file.write_text("".join(json.dumps(case) + "\n" for case in CASES))
    return file


def test_graders_are_counted_against_the_labels(labelled):
    """Every error is one of these, each by the right grader."""
    table = grade_graders(labelled_file(labelled), "x")
    assert (table.right, table.wrong, table.left_out) == (4, 2, 2)
    graders = {each.protocol.partition("@")[0]: each for each in table.graders}
    errors = {
        name: (each.overall.false_positive.errors, each.overall.false_negative.errors) for name, each in graders.items()
    }
    assert errors["math"] == (1, 0)
    assert errors["normalized"] == (1, 2)
    assert errors["boxed-exact"] == (1, 1)
    assert errors["countdown"] == (0, 0)
    assert graders["math"].responses == 5
    assert graders["boxed-exact"].responses == 4  # not the one whose gold is an expression
    assert graders["countdown"].responses == 1
    assert graders["normalized"].by_gold["expression"].false_negative.errors == 1
    assert graders["normalized"].by_form["boxed"].false_negative.of == 3


def test_table_in_every_form_says_the_same(labelled, capsys):
    """Text, Markdown and JSON are one table."""
    assert main(["audit", "--benchmark-the-graders", str(labelled), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {each["protocol"].partition("@")[0] for each in data["graders"]} >= {"math", "normalized", "countdown"}
    for form in ("table", "markdown"):
        assert main(["audit", "--benchmark-the-graders", str(labelled), "--format", form]) == 0
        text = capsys.readouterr().out
        assert "4 right and 2 wrong responses, 2 without a label left out" in text
        assert "2 of 3" in text  # normalized misses two of three right answers


def test_file_without_labels_is_refused_in_a_sentence(tmp_path, capsys):
    """Stored outputs are not a yardstick."""
    file = tmp_path / "outputs.jsonl"
    file.write_text('{"response": "7", "gold": "7"}\n')
    assert main(["audit", "--benchmark-the-graders", str(file)]) == 1
    assert "holds no labelled response" in capsys.readouterr().err


def test_our_own_marking_cases_are_such_a_file_and_math_errs_nowhere():
    """The cases that protect the marker measure everybody else's as well."""
    file = Path(__file__).parent / "cases" / "forms.jsonl"
    table = grade_graders(labelled_file(file), file.name, ["math", "normalized"])
    math, normalized = sorted(table.graders, key=lambda each: each.protocol)
    assert (math.overall.false_positive.errors, math.overall.false_negative.errors) == (0, 0)
    assert normalized.overall.false_negative.errors > 0


@given(st.integers(0, 400).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_rate_lies_in_its_interval(counts):
    """Also with no error, nothing but errors, and nothing at all."""
    found = error_rate(*counts)
    assert 0 <= found.low <= (found.rate or 0) <= found.high <= 1
    assert (found.rate is None) == (counts[1] == 0)


@pytest.mark.parametrize(
    ("gold", "kind"),
    [
        ("73", "integer"),
        ("1,000", "integer"),
        ("0.5", "number"),
        ("\\frac{1}{2}", "number"),
        ("x^2+1", "expression"),
        ("3\\text{ cm}", "number with a unit"),
        ("(1,2)", "tuple or interval"),
        ("\\{1,2\\}", "list"),
        ("x=3", "equation"),
        (CountdownGold((1, 2), 3), "puzzle"),
    ],
)
def test_kind_of_gold_is_what_a_person_would_call_it(gold, kind):
    """The table is read by these names."""
    assert kind_of_gold(gold) == kind


def test_run_that_people_judged_measures_its_judges_too(tmp_path):
    """A judge is a grader like any other, measured on the responses that it was asked about."""
    from run_folders import finished

    from markscheme.marking.bulk.graders import labelled_run
    from markscheme.runs import Run
    from markscheme.runs.adjudications import Label, content_of, draw_order, labels_journal
    from markscheme.types import Mark, Verdict

    run = Run.open(finished(tmp_path / "run", problems=6, samples=4))
    snapshot = run.snapshot()
    order = draw_order(snapshot)[:12]
    numbers = {key: number for number, key in enumerate(snapshot.keys)}
    with labels_journal(run.path, "ann") as journal:
        for each in order:
            response = snapshot.response(snapshot.row(numbers[each.key], each.sample))
            journal.write([Label(each.key, each.sample, content_of(response), "wrong", "ann", "now")])
    said = [Mark(verdict=Verdict.CORRECT, protocol="judge:x@strict-1", key=e.key, sample=e.sample) for e in order[:5]]
    run.save_marks("judge:x", said)
    table = grade_graders(labelled_run(run), "run", ["math"])
    judge = next(each for each in table.graders if each.protocol == "judge:x@strict-1")
    assert (table.right, table.wrong) == (0, 12)
    assert (judge.responses, judge.overall.false_positive.errors) == (5, 5)
    assert {each.protocol.partition("@")[0] for each in table.graders} == {"math", "judge:x"}
