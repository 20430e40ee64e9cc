"""Scores corrected for the marker's errors: exact where all is judged, between bounds for pass@k, honest about few labels."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from markscheme.errors import UsageError
from markscheme.statistics import from_correct, interval, pass_at_k
from markscheme.statistics.marker_errors import JudgedMarks, corrected

SEEDS = st.integers(0, 10**6)


def judged(seed, share=1.0, problems=12, samples=6, strata=2):
    """Marks with errors of every kind, and a random part of them judged; and what is right."""
    rng = np.random.default_rng(seed)
    right = rng.random((problems, samples)) < rng.random((problems, 1))
    said = right ^ (rng.random(right.shape) < rng.choice([0.0, 0.1, 0.5], (problems, 1)))
    labels = (rng.random(right.shape) < share).ravel()
    marks = JudgedMarks(
        np.repeat(np.arange(problems), samples),
        rng.integers(0, strata, right.size),
        said.ravel(),
        labels,
        labels & (said != right).ravel(),
    )
    return marks, right, said


def score(table, k):
    return float(np.mean(pass_at_k(np.full(len(table), table.shape[1]), table.sum(axis=1), k)))


def as_marked(said, k):
    name = "accuracy" if k == 1 else f"pass@{k}"
    return interval(name, from_correct(np.full(len(said), said.shape[1]), said.sum(axis=1)))


@given(SEEDS)
def test_accuracy_when_all_is_judged_then_it_is_what_people_say(seed):
    """Nothing about the labels is uncertain then."""
    marks, right, said = judged(seed)
    shift = marks.shift(1, 0.95)
    assert shift.low == shift.high == pytest.approx(right.mean() - said.mean())
    assert shift.below == shift.above == 0
    assert corrected(as_marked(said, 1), shift).estimate == pytest.approx(right.mean())


@given(SEEDS, st.sampled_from([2, 3, 6]))
def test_pass_at_k_when_all_is_judged_then_the_lower_end_is_no_higher_than_what_people_say(seed, k):
    """Whatever falls together: at least what a problem's errors can do all at once is allowed for (a theorem, for any table)."""
    marks, right, said = judged(seed)
    assert score(said, k) + marks.shift(k, 0.95).low <= score(right, k) + 1e-9


@pytest.mark.parametrize("k", [2, 4])
def test_pass_at_k_when_errors_come_together_or_by_chance_then_the_truth_is_at_that_end(k):
    """The bounds are attained: the lower one by problems that are missed altogether, the upper by errors at random."""
    rng = np.random.default_rng(k)
    right = rng.random((4000, 4)) < rng.choice([0.0, 1.0], (4000, 1))
    whole = right & (rng.random((4000, 1)) > 0.1)
    by_chance = np.zeros((4000, 4), bool)
    hidden = rng.random((4000, 4)) < 0.05
    for said, truth, end in ((whole, right, "low"), (by_chance, hidden, "high")):
        every = np.ones(said.size, bool)
        rows = np.repeat(np.arange(4000), 4)
        marks = JudgedMarks(rows, np.zeros(said.size, int), said.ravel(), every, (said != truth).ravel())
        assert score(said, k) + getattr(marks.shift(k, 0.95), end) == pytest.approx(score(truth, k), abs=0.004)


@given(SEEDS, st.floats(0.0, 1.0), st.sampled_from([1, 2, 6]))
def test_corrected_interval_is_ordered_inside_the_scale_and_never_narrower_than_its_range(seed, share, k):
    """For every table and every share of labels, none included."""
    marks, _, said = judged(seed, share)
    shift, plain = marks.shift(k, 0.95), as_marked(said, k)
    made = corrected(plain, shift, spread=marks.spread())
    assert shift.low <= shift.high + 1e-12
    assert min(shift.below, shift.above) >= -1e-12
    assert 0 <= made.low <= made.estimate <= made.high <= 1
    assert 1 <= marks.spread() <= 1.5
    assert made.lowest is made.highest is made.if_wrong is None


@given(SEEDS)
def test_first_pass_of_one_is_accuracy(seed):
    """With k = 1 both ends are one, for unequal numbers of samples too."""
    marks, right, said = judged(seed)
    keep = np.random.default_rng(seed).random(right.size) < 0.8
    keep[:: right.shape[1]] = True  # every problem has one
    parts = [each[keep] for each in (marks.problem, marks.stratum, marks.correct, marks.judged, marks.overturned)]
    shift = JudgedMarks(*parts).shift(1, 0.95)
    kept = keep.reshape(right.shape)
    means = [np.mean([row[some].mean() for row, some in zip(table, kept, strict=True)]) for table in (right, said)]
    assert shift.low == shift.high == pytest.approx(means[0] - means[1])


def test_stratum_that_nobody_judged_may_be_all_wrong():
    """Silence is no evidence."""
    nobody = np.zeros(8, bool)
    marks = JudgedMarks(np.arange(8), np.zeros(8, int), np.arange(8) < 4, nobody, nobody)
    assert corrected(as_marked((np.arange(8) < 4)[:, None], 1), marks.shift(1, 0.95)).low == 0
    assert (marks.rate(True, 0.95).low, marks.rate(True, 0.95).high) == (0, 1)


def test_more_labels_of_the_same_kind_make_the_interval_narrower():
    widths = []
    for labels in (10, 40, 160, 400):
        said, some = np.arange(400) % 2 == 0, np.arange(400) < labels
        marks = JudgedMarks(np.arange(400), np.zeros(400, int), said, some, some & (np.arange(400) % 10 == 0))
        widths.append(sum(marks.shift(1, 0.95)[1::2]))
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == 0


def test_difference_takes_both_runs_uncertainties_and_stays_a_difference():
    marks, _, said = judged(3)
    plain = interval("accuracy", from_correct(np.full(12, 6), said.sum(axis=1)))
    none = corrected(plain, marks.shift(1, 0.95), marks.shift(1, 0.95))
    assert none.estimate == pytest.approx(plain.estimate)
    part, _, _ = judged(3, 0.3)
    wide = corrected(plain, part.shift(4, 0.95), part.shift(4, 0.95))
    assert wide.high - wide.low > none.high - none.low
    assert -1 <= wide.low <= wide.high <= 1
    assert math.isfinite(wide.estimate)


def test_marks_that_contradict_themselves_are_refused():
    one, none = np.array([True]), np.array([False])
    with pytest.raises(UsageError, match="judged"):
        JudgedMarks(np.array([0]), np.array([0]), one, none, one)
    with pytest.raises(UsageError, match="no marks to correct"):
        JudgedMarks(*(np.array([], kind) for kind in (int, int, bool, bool, bool)))
