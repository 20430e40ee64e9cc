"""The interval for a mean over problems: its exact special cases, its symmetries and its edges."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.errors import UsageError
from markscheme.statistics import from_correct, interval, mean_interval, per_problem, weighted_mean
from markscheme.statistics.metrics import metric


def binary(n, c, level=0.95):
    return interval("accuracy", from_correct(np.ones(n, dtype=int), np.arange(n) < c), level)


@pytest.mark.parametrize("n", [1, 15, 30, 500, 1319])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_interval_when_one_sample_per_problem_then_the_beta_interval(n, level):
    beta = pytest.importorskip("scipy.stats").beta
    for c in {0, 1, n // 3, n - 1, n}:
        got = binary(n, c, level)
        tail = (1 - level) / 2
        assert got.low == pytest.approx(0 if c == 0 else beta.ppf(tail, c + 0.25, n - c + 0.75), abs=1e-6)
        assert got.high == pytest.approx(1 if c == n else beta.ppf(1 - tail, c + 0.75, n - c + 0.25), abs=1e-6)


def test_weighted_mean_cdf_when_drawn_by_monte_carlo_then_equal_within_its_error():
    rng = np.random.default_rng(3)
    values, weights = rng.random(12), rng.uniform(0.3, 4, 12)
    draws = rng.dirichlet(weights, 200_000) @ values
    for t in np.quantile(draws, [0.025, 0.4, 0.975]):
        assert weighted_mean.cdf(t, values, weights) == pytest.approx(np.mean(draws <= t), abs=4e-3)


def test_interval_when_all_right_then_it_has_width_and_reaches_one():
    got = binary(30, 30)
    assert got.high == 1.0
    assert 0.85 < got.low < 0.95
    assert got.half_width == pytest.approx((1 - got.low) / 2)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_mean_interval_when_right_and_wrong_swap_then_it_is_mirrored(values):
    there, back = mean_interval(values), mean_interval([1 - v for v in values])
    assert 0 <= there.low <= there.estimate <= there.high <= 1
    assert there.high > there.low
    assert back.low == pytest.approx(1 - there.high, abs=1e-6)
    assert back.high == pytest.approx(1 - there.low, abs=1e-6)


def test_interval_when_level_rises_then_it_widens():
    low, high = binary(30, 11, 0.8), binary(30, 11, 0.99)
    assert high.low < low.low < low.high < high.high


def test_interval_when_problems_lack_samples_then_what_came_back_counts_and_silent_ones_are_left_out():
    got = interval("pass@4", from_correct([8, 8, 3, 0], [8, 0, 3, 0]))
    assert (got.problems, got.undefined) == (2, 2)
    assert got.estimate == pytest.approx(2 / 3)  # one of three was right, so one of four is


def test_interval_when_no_problem_has_a_value_then_nothing_is_claimed():
    got = interval("pass@4", from_correct([1, 2], [1, 2]))
    assert math.isnan(got.estimate)
    assert (got.low, got.high, got.problems, got.undefined) == (0, 1, 0, 2)


def test_interval_when_a_metric_is_named_then_its_estimator_is_used():
    counts = from_correct([4, 4], [2, 3])
    assert interval("accuracy", counts).estimate == 0.625
    assert interval("pass@2", counts).estimate == pytest.approx((5 / 6 + 1) / 2)
    assert interval("pass^2", counts).estimate == pytest.approx((1 / 6 + 1 / 2) / 2)
    assert interval("g-pass@4:0.75", counts).estimate == 0.5


@pytest.mark.parametrize("metric", ["pass", "pass@", "pass@two", "maj", "g-pass@4", "pass@4:1", ""])
def test_interval_when_the_metric_is_unknown_then_the_known_ones_are_named(metric):
    with pytest.raises(UsageError, match="pass@K"):
        interval(metric, from_correct([4], [2]))


@pytest.mark.parametrize("level", [0, 1, 95])
def test_interval_when_the_level_is_no_share_then_refused(level):
    with pytest.raises(UsageError, match="such as"):
        binary(4, 2, level)


def test_mean_interval_when_a_value_is_outside_the_unit_range_then_refused():
    with pytest.raises(UsageError, match="between 0 and 1"):
        mean_interval([0.5, 1.5])


@pytest.mark.parametrize("n", [1, 5, 10, 15, 40])
def test_interval_when_one_sample_per_problem_then_no_rate_is_covered_less_than_promised(n):
    binom = pytest.importorskip("scipy.stats").binom
    found = [binary(n, c) for c in range(n + 1)]
    rates = np.linspace(0.0005, 0.9995, 1999)
    held = np.array([[each.low <= rate <= each.high for each in found] for rate in rates])
    coverage = np.sum(held * binom.pmf(np.arange(n + 1), n, rates[:, None]), axis=1)
    assert coverage.min() > 0.927


def test_mean_interval_when_solve_rates_clearly_differ_then_noise_makes_it_narrower():
    rng = np.random.default_rng(10)
    counts = from_correct(np.full(15, 64), rng.binomial(64, rng.beta(2, 2, 15)))
    values = per_problem("accuracy", counts)
    assert interval("accuracy", counts).half_width < 0.95 * mean_interval(values).half_width
    alike = from_correct(np.full(15, 64), rng.binomial(64, 0.5, 15))
    assert interval("accuracy", alike).half_width == mean_interval(per_problem("accuracy", alike)).half_width


def test_noise_when_accuracy_then_the_unbiased_binomial_variance():
    n, c = np.array([1, 2, 4, 16, 16]), np.array([1, 1, 3, 0, 5])
    got = metric("accuracy").noise(from_correct(n, c))
    assert got[0] == math.inf
    assert got[1:].tolist() == pytest.approx([1 / 4, 3 / 48, 0, 5 * 11 / (16 * 16 * 15)])


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(1, 12), st.integers(0, 12), st.integers(0, 9)).filter(lambda row: row[1] <= row[0]),
        min_size=1,
        max_size=20,
    )
)
def test_mean_interval_when_alike_problems_are_counted_then_as_if_they_were_written_out(rows):
    n, c, times = np.array(rows).T
    counts = from_correct(n, c)
    values, luck = per_problem("accuracy", counts), metric("accuracy").noise(counts)
    counted = mean_interval(values, noise=luck, times=times)
    written_out = mean_interval(np.repeat(values, times), noise=np.repeat(luck, times))
    assert counted.problems == written_out.problems == times.sum()
    for name in ("estimate", "low", "high"):
        assert getattr(counted, name) == pytest.approx(getattr(written_out, name), abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("n", [50_000, 500_000, 3_000_000])
def test_mean_interval_when_there_are_millions_of_problems_then_still_the_beta_interval(n):
    beta = pytest.importorskip("scipy.stats").beta
    for c in (1, 50, n // 1000, n // 10, n // 2, n - n // 1000, n - 50, n):
        got = mean_interval([0.0, 1.0], times=[n - c, c])
        low, high = beta.ppf(0.025, c + 0.25, n - c + 0.75), beta.ppf(0.975, c + 0.75, n - c + 0.25) if c < n else 1.0
        assert got.low == pytest.approx(low, abs=1e-4 * (high - low))
        assert got.high == pytest.approx(high, abs=1e-4 * (high - low))


def test_mean_interval_when_millions_of_rates_lie_between_then_the_normal_interval():
    values, times = np.linspace(0, 1, 17), np.arange(100_000, 1_800_000, 100_000)
    got = mean_interval(values, times=times)
    deviation = math.sqrt(np.average((values - got.estimate) ** 2, weights=times) / times.sum())
    assert got.estimate - got.low == pytest.approx(1.96 * deviation, rel=1e-3)
    assert got.high - got.estimate == pytest.approx(1.96 * deviation, rel=1e-3)


def test_interval_when_some_problems_have_too_few_samples_for_k_then_no_rounding_leaves_the_unit_interval():
    """A run in the middle: what is expected of a problem with 38 samples at k = 39 was 1 + 4e-15, and refused."""
    luck = np.random.default_rng(1)
    for _ in range(20):
        n = luck.integers(38, 41, 100)
        counts = from_correct(n, luck.binomial(n, luck.uniform(0.6, 0.97, 100)))
        found = interval("pass@39", counts)
        assert 0 <= found.low <= found.estimate <= found.high <= 1


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=2, max_size=12), st.integers(2, 8))
def test_interval_when_fewer_than_half_of_the_problems_have_k_samples_then_undefined_with_bounds(rows, k):
    """Those that got all their samples may be the easy ones; what the missing could make of it is still told."""
    n, c = np.array([max(row) for row in rows]), np.array([min(row) for row in rows])
    counts = replace(from_correct(n, c), asked=(8,) * n.size)
    found = interval(f"pass@{k}", counts)
    enough = 2 * np.sum(n >= k) >= n.size and np.any(n >= k)
    assert math.isnan(found.estimate) != enough
    assert (found.problems, found.undefined) == ((int(np.sum(n >= k)), int(np.sum(n < k))) if enough else (0, n.size))
    if np.any(n < 8):
        assert 0 <= found.lowest <= found.if_wrong <= found.if_right <= found.highest <= 1


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=20))
def test_mean_interval_when_values_are_moved_up_then_both_bounds_follow(values):
    """The imagined problem goes no further than what was seen, so a higher floor never lowers the upper bound."""
    plain, raised = mean_interval(values), mean_interval([0.5 + value / 2 for value in values])
    assert raised.low >= plain.low - 1e-6
    assert raised.high >= plain.high - 1e-6
