"""Paired comparison: against scipy's t test and Fisher, interval and p-value from one distribution, and at the edges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.errors import UsageError
from markscheme.statistics import compare, from_correct
from markscheme.statistics.clusters import standard_error
from markscheme.statistics.comparison import fisher_p, macro_comparison
from markscheme.statistics.difference import p_value, paired

POPULATIONS = ("problems drawn", "these problems")


def test_compare_when_many_problems_move_then_the_paired_t_test():
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(1)
    n = np.full(400, 16)
    c_a, c_b = rng.binomial(16, 0.5, 400), rng.binomial(16, 0.53, 400)
    got = compare("accuracy", from_correct(n, c_a), from_correct(n, c_b))
    t_test = stats.ttest_rel(c_b / 16, c_a / 16)
    bounds = t_test.confidence_interval(0.95)
    assert got.p_value == pytest.approx(t_test.pvalue, rel=0.02)
    assert (got.difference.low, got.difference.high) == pytest.approx((bounds.low, bounds.high), abs=2e-4)
    assert got.caveats == ()


def test_paired_when_problems_share_clusters_then_the_leave_one_out_error_of_statsmodels():
    linear = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(2)
    labels = [f"contest {i // 12}" for i in range(120)]
    change = rng.normal(0, 0.2, 120) + np.repeat(rng.normal(0, 0.2, 10), 12)
    fitted = linear.OLS(change, np.ones(120)).fit(cov_type="cluster", cov_kwds={"groups": np.repeat(np.arange(10), 12)})
    # With clusters of one size, leaving one out is the same as the usual correction by G/(G-1).
    assert standard_error(change, labels)[0] == pytest.approx(float(fitted.bse[0]), rel=1e-6)
    assert paired(change, labels).error > 2 * paired(change).error
    assert paired(change, labels).freedom == 9


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=2, max_size=20), st.sampled_from(POPULATIONS))
def test_compare_when_anything_comes_then_interval_and_p_agree(rows, population):
    c_a, c_b = np.array(rows).T
    a, b = from_correct(np.full(len(rows), 8), c_a), from_correct(np.full(len(rows), 8), c_b)
    for level in (0.8, 0.95):
        got = compare("pass@2", a, b, level=level, population=population)
        assert got.difference.low - 1e-9 <= got.difference.estimate <= got.difference.high + 1e-9
        if abs(got.p_value - (1 - level)) > 1e-3:
            assert (got.p_value < 1 - level) == (not got.difference.low <= 0 <= got.difference.high)
        assert (got.probability_better > 0.5) == (got.difference.estimate > 0) or got.difference.estimate == 0


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=15), st.sampled_from(POPULATIONS))
def test_compare_when_models_swap_then_everything_is_mirrored(rows, population):
    c_a, c_b = np.array(rows).T
    n = np.full(len(rows), 6)
    a, b = from_correct(n, c_a), from_correct(n, c_b)
    there, back = (compare("accuracy", *pair, population=population) for pair in ((a, b), (b, a)))
    assert there.difference.estimate == pytest.approx(-back.difference.estimate)
    assert there.difference.low == pytest.approx(-back.difference.high, abs=1e-6)
    assert there.p_value == pytest.approx(back.p_value, abs=1e-6)
    assert there.probability_better == pytest.approx(1 - back.probability_better, abs=1e-6)
    assert (there.better, there.worse) == (back.worse, back.better)


@pytest.mark.parametrize("population", POPULATIONS)
def test_compare_when_nothing_moved_then_no_evidence_and_some_width(population):
    counts = from_correct(np.full(30, 8), np.full(30, 8))
    got = compare("accuracy", counts, counts, population=population)
    assert got.p_value == 1.0
    assert got.probability_better == 0.5
    assert got.difference.low < -0.005 < 0.005 < got.difference.high
    assert got.moved == ()


def test_compare_when_two_of_thirty_moved_then_a_guard_and_a_wider_interval_for_unseen_kinds():
    ones = np.ones(30, int)
    got = compare("accuracy", from_correct(ones, np.arange(30) < 10), from_correct(ones, np.arange(30) < 12))
    assert got.p_value > 0.15  # a bare t test says 0.16, McNemar's mid-p 0.25
    assert got.unseen.low <= got.difference.low < got.difference.high < got.unseen.high


def test_compare_when_sample_numbers_go_with_difficulty_then_means_are_compared_and_not_rates():
    """A is asked hard problems more often, B easy ones; both solve each alike. Pooled rates would differ by 30 points."""
    hard = np.arange(40) < 20
    a = from_correct(np.where(hard, 64, 4), np.where(hard, 13, 3))
    b = from_correct(np.where(hard, 4, 64), np.where(hard, 1, 48))
    got = compare("accuracy", a, b, population="these problems")
    assert got.p_value > 0.2


def test_fisher_p_when_compared_with_scipy_then_the_exact_p_less_half_of_ties():
    stats = pytest.importorskip("scipy.stats")
    for c_a, n_a, c_b, n_b in [(1, 16, 9, 16), (0, 4, 4, 4), (10, 64, 40, 50), (3, 3, 3, 3)]:
        exact = stats.fisher_exact([[c_a, n_a - c_a], [c_b, n_b - c_b]]).pvalue
        support = np.arange(max(0, c_a + c_b - n_b), min(c_a + c_b, n_a) + 1)
        mass = stats.hypergeom.pmf(support, n_a + n_b, c_a + c_b, n_a)
        here = stats.hypergeom.pmf(c_a, n_a + n_b, c_a + c_b, n_a)
        ties = mass[np.isclose(mass, here, rtol=1e-9, atol=0)].sum()
        assert fisher_p(c_a, n_a, c_b, n_b) == pytest.approx(1.0 if support.size == 1 else exact - ties / 2)


def test_compare_when_runs_share_some_problems_then_only_those_count():
    a = from_correct([4, 4, 4], [1, 2, 3], keys=["x", "y", "z"])
    b = from_correct([4, 4, 2], [4, 0, 2], keys=["z", "w", "y"])
    got = compare("pass@4", a, b)
    assert (got.problems, got.unshared) == (1, 3)
    with pytest.raises(UsageError, match="nothing to compare"):
        compare("accuracy", a, from_correct([1], [1], keys=["other"]))


def test_compare_when_one_problem_turns_then_it_leads_the_list_and_is_beyond_chance():
    rng = np.random.default_rng(3)
    base = rng.integers(20, 40, 30)
    c_b = base.copy()
    base[7], c_b[7] = 1, 60
    n = np.full(30, 64)
    got = compare("accuracy", from_correct(n, base), from_correct(n, c_b))
    assert got.moved[0].key == "7"
    assert got.moved[0].beyond_chance
    assert (got.moved[0].a, got.moved[0].b) == ((1, 64), (60, 64))


@pytest.mark.parametrize("population", POPULATIONS)
def test_compare_when_a_margin_is_given_then_two_one_sided_tests(population):
    rng = np.random.default_rng(4)
    n, rates = np.full(300, 16), rng.random(300)
    a, b = (from_correct(n, rng.binomial(16, rates)) for _ in range(2))
    wide, narrow = (compare("accuracy", a, b, population=population, margin=m).margin for m in (0.05, 0.001))
    assert wide.equivalent
    assert wide.not_worse
    assert not narrow.equivalent
    assert wide.equivalent_p >= wide.not_worse_p
    with pytest.raises(UsageError, match="margin"):
        compare("accuracy", a, b, margin=2)


def test_macro_comparison_when_two_benchmarks_then_the_mean_difference_with_the_root_of_both_errors():
    rng = np.random.default_rng(5)
    pairs = []
    for size in (100, 400):
        n = np.full(size, 8)
        pairs.append(tuple(from_correct(n, rng.binomial(8, rate, size)) for rate in (0.5, 0.55)))
    parts = [compare("accuracy", a, b).difference for a, b in pairs]
    found, p, held = macro_comparison("accuracy", pairs, 0.95, "problems drawn", margin=0.01)
    assert found.estimate == pytest.approx(np.mean([part.estimate for part in parts]))
    assert found.half_width == pytest.approx(np.hypot(*(part.half_width for part in parts)) / 2, rel=0.02)
    assert p < 0.05
    assert held.not_worse
    assert not held.equivalent


def test_compare_when_on_these_problems_then_more_samples_decide():
    a = from_correct([64] * 15, [20] * 15)
    b = from_correct([64] * 15, [20, 40, 10] * 5)
    drawn, these = compare("accuracy", a, b), compare("accuracy", a, b, population="these problems")
    assert these.difference.estimate == pytest.approx(drawn.difference.estimate)
    assert these.difference.half_width < drawn.difference.half_width / 2
    assert these.p_value < drawn.p_value
    assert these.probability_better > drawn.probability_better > 0.5


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30), st.floats(-0.9, 0.9))
def test_p_value_when_a_value_is_tested_then_as_the_interval_at_that_level(change, value):
    found = paired(np.array(change))
    p = p_value(found, value)
    if 1e-6 < p < 1 - 1e-6:
        low, high = found.bounds(1 - p)
        assert min(abs(low - value), abs(high - value)) < 1e-4 * max(1.0, found.error)
