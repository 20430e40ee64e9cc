"""maj@k and best-of-k against every subset, by hand, and against Monte Carlo."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.errors import UsageError
from markscheme.statistics import Picks, best_of_k, classes_of, from_correct, interval, maj_at_k
from markscheme.statistics.picking import drawn_vote


def by_subsets(classes, correct, k):
    outcomes = []
    for chosen in combinations(range(len(classes)), k):
        votes = {}
        for index in chosen:
            if classes[index] >= 0:
                votes.setdefault(classes[index], []).append(correct[index])
        top = max((len(marks) for marks in votes.values()), default=0)
        tied = [marks[0] for marks in votes.values() if len(marks) == top]
        outcomes.append(sum(tied) / len(tied) if tied else 0.0)
    return sum(outcomes) / len(outcomes)


@st.composite
def ballots(draw):
    classes = draw(st.lists(st.integers(-1, 4), min_size=1, max_size=9))
    right_classes = draw(st.sets(st.integers(0, 4), max_size=2))
    return classes, [c in right_classes for c in classes], draw(st.integers(1, len(classes)))


@settings(max_examples=150, deadline=None)
@given(ballots())
def test_maj_at_k_when_counted_over_all_subsets_then_equal(ballot):
    classes, correct, k = ballot
    got = maj_at_k(classes, correct, k)
    assert got.standard_error == 0
    assert got.value == pytest.approx(by_subsets(classes, correct, k), abs=1e-12)


def test_maj_at_k_when_two_spellings_share_a_class_then_they_outvote_the_rest():
    answers = ["1/2", "1/2", "3", "4"]  # 0.5 was brought to 1/2 before it came here
    assert maj_at_k(classes_of(answers), [True, True, False, False], 4).value == 1.0
    assert classes_of(["7", None, "7", "8"]).tolist() == [0, -1, 0, 1]


def test_maj_at_k_when_tied_then_averaged_and_when_silent_then_not_correct():
    assert maj_at_k([0, 1], [True, False], 2).value == 0.5
    assert maj_at_k([-1, -1, 0], [False, False, True], 3).value == 1.0
    assert maj_at_k([-1, -1], [False, False], 2).value == 0.0


def test_maj_at_k_when_too_few_samples_then_undefined():
    assert math.isnan(maj_at_k([0, 1], [True, False], 3).value)


def test_drawn_vote_when_it_can_be_told_exactly_then_near_that():
    rng = np.random.default_rng(4)
    classes = rng.integers(0, 6, 40)
    exact = maj_at_k(classes, classes == 2, 16)
    drawn = drawn_vote(classes, classes == 2, 16, seed=1)
    assert drawn.standard_error > 0
    assert abs(drawn.value - exact.value) < 4 * drawn.standard_error
    assert drawn == drawn_vote(classes, classes == 2, 16, seed=1)


def test_maj_at_k_when_large_then_still_exact_enough():
    classes = np.repeat([0, 1, 2, -1], [400, 350, 200, 50])
    exact = maj_at_k(classes, classes == 0, 64)
    drawn = drawn_vote(classes, classes == 0, 64)
    assert exact.standard_error == 0
    assert abs(drawn.value - exact.value) < 4 * drawn.standard_error


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=9), st.data())
def test_best_of_k_when_counted_over_all_subsets_then_equal(samples, data):
    k = data.draw(st.integers(1, len(samples)))
    outcomes = []
    for chosen in combinations(samples, k):
        top = max(score for score, _ in chosen)
        tied = [right for score, right in chosen if score == top]
        outcomes.append(sum(tied) / len(tied))
    got = best_of_k([score for score, _ in samples], [right for _, right in samples], k)
    assert got == pytest.approx(np.mean(outcomes), abs=1e-12)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=40), st.data())
def test_best_of_k_when_every_sample_is_correct_then_never_above_one(scores, data):
    """1 + 2e-16 is no share, and the interval refused it."""
    k = data.draw(st.integers(1, len(scores)))
    value = best_of_k(scores, [True] * len(scores), k)
    assert 1 - 1e-9 < value <= 1


def test_best_of_k_when_a_score_is_missing_then_it_ranks_last_and_few_samples_are_undefined():
    assert best_of_k([float("nan"), 0.1], [True, False], 2) == 0.0
    assert math.isnan(best_of_k([0.1], [True], 2))


@pytest.mark.parametrize(
    "call",
    [
        lambda: maj_at_k([0, 1], [True], 1),
        lambda: maj_at_k([0.5], [True], 1),
        lambda: maj_at_k([0], [True], 0),
        lambda: best_of_k([0.1], [True, False], 1),
        lambda: best_of_k([0.1], [True], 0),
    ],
)
def test_votes_when_input_is_impossible_then_refused(call):
    with pytest.raises(UsageError):
        call()


@pytest.mark.parametrize("name", ["maj@2", "best-of-2:score", "best-of-2:-score"])
def test_interval_when_samples_are_missing_then_the_lost_may_outvote_or_outscore_the_rest(name):
    half = Picks(np.array([True, False]), np.array([0, 1]), {"score": np.array([1.0, 2.0])})
    counts = replace(from_correct([2, 2, 0], [1, 1, 0]), asked=(4, 2, 3), picks={"0": half, "1": half})
    found = interval(name, counts)
    assert (found.problems, found.undefined) == (2, 1)
    assert found.lowest <= found.if_wrong < found.if_right <= found.highest
