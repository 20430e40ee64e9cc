"""Sampling until it is known: the schedule, the allocation, no bias from either, and the fixed-set interval."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.errors import UsageError
from markscheme.statistics import from_correct, interval, quantiles, sequential
from markscheme.statistics.sequential import LEAST, Round, allocate, known, sizes, solve_rates


def play(rng, chances, schedule):
    rounds = []
    for size in schedule:
        n = allocate(rounds, size, chances.size)
        rounds.append(Round(size, tuple(n.tolist()), tuple(rng.binomial(n, chances).tolist())))
    return rounds


@settings(max_examples=60)
@given(st.integers(2, 16), st.integers(0, 500))
def test_sizes_when_summed_then_within_budget_and_each_shows_a_variance(first, more):
    schedule = sizes(first + more, first)
    assert schedule[0] == first
    assert first + more - LEAST < sum(schedule) <= first + more
    assert min(schedule) >= LEAST


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=40), st.integers(2, 30))
def test_allocate_when_anything_was_seen_then_it_adds_up_and_asks_all(pairs, size):
    n, c = [a + b for a, b in pairs], [a for a, _ in pairs]
    given_out = allocate([Round(4, tuple(n), tuple(c))], size, len(pairs))
    assert given_out.sum() == size * len(pairs)
    assert given_out.min() >= LEAST


def test_allocate_when_one_problem_is_uncertain_then_it_gets_most():
    past = Round(8, (8, 8, 8), (8, 4, 0))
    first, middle, last = allocate([past], 8, 3)
    assert middle > max(first, last)


def test_solve_rates_when_problems_are_asked_by_need_then_unbiased_though_pooling_is_not():
    rng = np.random.default_rng(8)
    chances = np.array([0.97, 0.9, 0.85, 0.9, 0.8, 0.7, 0.95, 0.9])
    ours, pooled = [], []
    for _ in range(1500):
        rounds = play(rng, chances, [2, 2, 8])
        ours.append(solve_rates(rounds).mean())
        pooled.append(np.mean(np.sum([r.c for r in rounds], axis=0) / np.sum([r.n for r in rounds], axis=0)))
    error = np.std(ours) / math.sqrt(len(ours))
    assert abs(np.mean(ours) - chances.mean()) < 4 * error
    # The reason for all this: the obvious estimate, on the very same answers, is too high.
    excess = np.subtract(pooled, ours)
    assert excess.mean() > 6 * excess.std() / math.sqrt(len(ours))


def test_known_when_one_round_then_the_fixed_set_interval():
    n, c = (8, 8, 8, 8), (8, 5, 2, 0)
    there = known([Round(8, n, c)])
    fixed = interval("accuracy", from_correct(n, c), population="these problems")
    assert there.estimate == pytest.approx(fixed.estimate)
    assert (there.low, there.high) == (pytest.approx(fixed.low), pytest.approx(fixed.high))
    drawn = known([Round(8, n, c)], population="problems drawn")
    assert drawn == interval("accuracy", from_correct(n, c))


def test_known_when_rounds_go_on_then_it_narrows_while_drawn_problems_keep_a_floor():
    rng = np.random.default_rng(1)
    chances = np.repeat([0.05, 0.5, 0.95], 10)
    few, many = play(rng, chances, [4]), play(rng, chances, sizes(256))
    assert known(many).half_width < known(few).half_width / 5
    assert known(many, population="problems drawn").half_width > 0.1


def test_known_when_an_answer_is_missing_then_the_problem_stands_on_its_other_rounds():
    rounds = [Round(4, (4, 4, 0), (4, 2, 0)), Round(4, (4, 0, 0), (0, 0, 0)), Round(2, (1, 2, 0), (1, 1, 0))]
    assert solve_rates(rounds)[:2].tolist() == pytest.approx([(4 * 1 + 4 * 0 + 2 * 1) / 10, (4 * 0.5 + 2 * 0.5) / 6])
    got = known(rounds)
    assert (got.problems, got.undefined) == (2, 1)
    assert 0 <= got.low < got.estimate < got.high <= 1


def test_fixed_set_when_all_right_or_one_sample_each_then_the_binomial_interval():
    right = interval("accuracy", from_correct([4] * 30, [4] * 30), population="these problems")
    assert right.high == 1.0
    assert right.low == pytest.approx(quantiles.beta(0.025, 120.25, 0.75), abs=1e-6)
    single = from_correct([1] * 30, [1] * 20 + [0] * 10)
    fixed, drawn = interval("accuracy", single, population="these problems"), interval("accuracy", single)
    assert (fixed.low, fixed.high) == (pytest.approx(drawn.low, abs=1e-6), pytest.approx(drawn.high, abs=1e-6))


def test_fixed_set_when_problems_differ_then_narrower_than_for_problems_drawn():
    counts = from_correct([64] * 30, [64] * 12 + [32] * 6 + [0] * 12)
    assert (
        interval("accuracy", counts, population="these problems").half_width
        < interval("accuracy", counts).half_width / 5
    )
    assert (
        interval("pass@4", counts, population="these problems").half_width < interval("pass@4", counts).half_width / 5
    )


def test_fixed_set_when_sampling_cannot_be_seen_then_the_wider_interval():
    counts = from_correct([4] * 6, [4, 3, 2, 1, 0, 0])
    assert interval("pass@4", counts, population="these problems") == interval("pass@4", counts)


def test_quantiles_when_compared_with_scipy_then_equal():
    stats = pytest.importorskip("scipy.stats")
    for q in (0.9, 0.975, 0.9995):
        for df in (1.5, 3, 29, 999, 1001, 1e7):
            assert quantiles.student(q, df) == pytest.approx(stats.t.ppf(q, df), rel=2e-5)
    for a, b in [(0.25, 15.75), (3.2, 7), (1e4, 3e4), (0.5, 0.5)]:
        for q in (0.0005, 0.025, 0.5, 0.975):
            assert quantiles.beta(q, a, b) == pytest.approx(stats.beta.ppf(q, a, b), abs=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda: sizes(64, 1),
        lambda: sizes(3, 4),
        lambda: sequential.known([]),
        lambda: interval("accuracy", from_correct([2], [1]), population="all"),
    ],
)
def test_sequential_when_asked_for_the_impossible_then_refused(call):
    with pytest.raises(UsageError):
        call()
