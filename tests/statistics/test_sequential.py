"""Sampling until the interval is narrow enough: the schedule, the allocation, no bias from either, and the fixed-set interval."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.errors import UsageError
from markscheme.statistics import (
    Round,
    compare,
    from_correct,
    interval,
    pass_at_k,
    pass_hat_k,
    per_problem,
    quantiles,
    sequential,
)
from markscheme.statistics.sequential import LEAST, allocate, known, sizes, solve_rates


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
    assert (there.low, there.high) == (pytest.approx(fixed.low, abs=0.06), pytest.approx(fixed.high, abs=0.06))


def test_known_when_rounds_go_on_then_it_narrows_while_drawn_problems_keep_a_floor():
    rng = np.random.default_rng(1)
    chances = np.repeat([0.05, 0.5, 0.95], 10)
    few, many = play(rng, chances, [4]), play(rng, chances, sizes(256))
    assert known(many).half_width < known(few).half_width / 5
    last = from_correct([int(sum(each)) for each in zip(*(r.n for r in many), strict=True)], [0] * 30)
    assert interval("accuracy", replace(last, rounds=tuple(many))).half_width > 0.1


def test_known_when_an_answer_is_missing_then_the_problem_stands_on_its_other_rounds():
    rounds = [Round(4, (4, 4, 0), (4, 2, 0)), Round(4, (4, 0, 0), (0, 0, 0)), Round(2, (1, 2, 0), (1, 1, 0))]
    assert solve_rates(rounds)[:2].tolist() == pytest.approx([(4 * 1 + 4 * 0 + 2 * 1) / 10, (4 * 0.5 + 2 * 0.5) / 6])
    got = known(rounds)
    assert (got.problems, got.undefined) == (2, 1)
    assert 0 <= got.low < got.estimate < got.high <= 1


def test_fixed_set_when_problems_differ_then_narrower_than_for_problems_drawn():
    counts = from_correct([64] * 30, [64] * 12 + [32] * 6 + [0] * 12)
    assert (
        interval("accuracy", counts, population="these problems").half_width
        < interval("accuracy", counts).half_width / 5
    )
    assert (
        interval("pass@4", counts, population="these problems").half_width < interval("pass@4", counts).half_width / 5
    )


def test_quantiles_when_compared_with_scipy_then_equal():
    stats = pytest.importorskip("scipy.stats")
    for q in (0.9, 0.975, 0.9995):
        for df in (1.5, 3, 29, 999, 1001, 1e7):
            assert quantiles.student(q, df) == pytest.approx(stats.t.ppf(q, df), rel=2e-5)
            for t in (-40.0, -2.0, 0.0, 0.3, 4.0):
                assert quantiles.student_cdf(t, df) == pytest.approx(stats.t.cdf(t, df), abs=2e-7)
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


def _asked_next(c):
    """A rule that looks at the first round: certain problems are asked less in the second."""
    return 2 if c in (0, 4) else 6


@given(p=st.floats(0.02, 0.98), k=st.integers(1, 6), every=st.booleans())
@settings(max_examples=40, deadline=None)
def test_pass_rates_when_the_second_round_depends_on_the_first_then_exactly_unbiased(p, k, every):
    expected = 0.0
    for c1 in range(5):
        n2 = _asked_next(c1)
        for c2 in range(n2 + 1):
            chance = math.comb(4, c1) * math.comb(n2, c2) * p ** (c1 + c2) * (1 - p) ** (4 + n2 - c1 - c2)
            rounds = [Round(4, (4,), (c1,)), Round(4, (n2,), (c2,))]
            expected += chance * sequential.pass_rates(rounds, k, every)[0]
    assert expected == pytest.approx(p**k if every else 1 - (1 - p) ** k, abs=1e-12)


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 12)), min_size=1, max_size=5), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_pass_rates_when_there_is_one_round_then_those_of_counts(pairs, k):
    n = max(n for n, _ in pairs)
    c = [min(c, n) for _, c in pairs]
    one = [Round(n, (n,) * len(c), tuple(c))]
    sizes = np.full(len(c), n)
    np.testing.assert_allclose(sequential.pass_rates(one, k), pass_at_k(sizes, np.array(c), k), atol=1e-12)
    np.testing.assert_allclose(sequential.pass_rates(one, k, every=True), pass_hat_k(sizes, np.array(c), k), atol=1e-12)


def test_pass_rates_when_k_is_more_than_every_problem_gets_for_sure_then_undefined():
    rounds = [Round(4, (4, 4), (1, 4)), Round(4, (6, 2), (2, 2))]
    assert np.isnan(sequential.pass_rates(rounds, 7)).all()
    lost = [Round(4, (4, 1), (1, 1)), Round(4, (6, 2), (2, 2))]
    found = sequential.pass_rates(lost, 4)
    assert not np.isnan(found[0])
    assert np.isnan(found[1]), "three answers of its first round never came"


def test_metrics_when_asked_by_need_then_use_the_rounds_and_not_the_pooled_counts():
    rounds = (Round(4, (4, 4), (1, 4)), Round(4, (6, 2), (6, 1)))
    counts = replace(from_correct([10, 6], [7, 5], "ab"), rounds=rounds)
    assert counts.n.tolist() == [10, 6]
    assert per_problem("accuracy", counts).tolist() == [(1 / 4 + 1) / 2, (1 + 1 / 2) / 2]
    assert interval("pass@1", counts).estimate == interval("accuracy", counts).estimate
    assert interval("accuracy", counts, population="these problems").method == "these-problems"
    assert counts.select(["b"]).rounds[1] == Round(4, (2,), (1,))
    assert math.isnan(interval("g-pass@4:0.5", counts).estimate)


def test_compare_when_one_was_asked_by_need_then_its_rounds_count():
    rounds = from_correct([8] * 6, [8, 4, 0, 8, 4, 0])
    rounds = replace(rounds, rounds=(Round(4, (4,) * 6, (4, 2, 0, 4, 2, 0)), Round(4, (4,) * 6, (4, 2, 0, 4, 2, 0))))
    plain = from_correct([8] * 6, [8, 7, 5, 8, 7, 5])
    for population in ("problems drawn", "these problems"):
        found = compare("accuracy", rounds, plain, population=population)
        assert found.difference.estimate == pytest.approx(compare("accuracy", plain, plain).a.estimate - 0.5)
        assert found.p_value < 0.2


@pytest.mark.parametrize("name", ["pass@4", "pass^4"])
def test_interval_when_pass_at_k_stands_on_rounds_then_it_covers_on_these_problems(name):
    rng = np.random.default_rng(11)
    held, widths, errors = [], [], []
    for chances in np.repeat(rng.beta(0.4, 0.6, (3, 30)), 25, axis=0):
        rounds = play(rng, chances, [4, 4, 8])
        n, c = (np.sum([getattr(each, part) for each in rounds], axis=0) for part in "nc")
        counts = replace(from_correct(n, c), rounds=tuple(rounds))
        truth = np.mean(chances**4 if "^" in name else 1 - (1 - chances) ** 4)
        got = interval(name, counts, population="these problems")
        held.append(got.low <= truth <= got.high)
        widths.append(got.high - got.low)
        errors.append(got.estimate - truth)
    assert np.mean(held) >= 0.9
    assert np.mean(widths) < 1.3 * 3.92 * np.sqrt(np.mean(np.square(errors)))
