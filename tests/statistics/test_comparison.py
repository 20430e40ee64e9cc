"""Paired comparison: against McNemar and Fisher in scipy and statsmodels, by enumeration, and at the edges."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.errors import UsageError
from markscheme.statistics import compare, from_correct
from markscheme.statistics.comparison import difference_interval, probability_positive
from markscheme.statistics.permutation import fisher_p, relabel_p, sign_flip_p


def enumerated(steps):
    sums = [
        abs(sum(sign * step for sign, step in zip(signs, steps, strict=True)))
        for signs in product((-1, 1), repeat=len(steps))
    ]
    seen = abs(sum(steps))
    return sum(1.0 if s > seen else 0.5 if s == seen else 0.0 for s in sums) / len(sums)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-8, 8), min_size=1, max_size=9))
def test_sign_flip_p_when_all_flips_are_enumerated_then_equal(steps):
    p_value, exact = sign_flip_p(np.array(steps) / 16, 16)
    assert exact
    assert p_value == pytest.approx(1.0 if not any(steps) else enumerated(steps))


def test_sign_flip_p_when_drawn_then_close_to_exact():
    change = np.random.default_rng(1).integers(-7, 9, 40) / 16
    drawn, exact = sign_flip_p(change, None, seed=5)
    assert not exact
    assert drawn == pytest.approx(sign_flip_p(change, 16)[0], abs=0.005)
    assert drawn == sign_flip_p(change, None, seed=5)[0]


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (3, 0), (9, 2), (30, 18), (200, 240)])
def test_compare_when_one_sample_per_problem_then_mcnemar_with_mid_p(gained, lost):
    contingency = pytest.importorskip("statsmodels.stats.contingency_tables")
    binom = pytest.importorskip("scipy.stats").binom
    a = np.r_[np.zeros(gained, int), np.ones(lost, int), np.ones(20, int), np.zeros(20, int)]
    b = np.r_[np.ones(gained, int), np.zeros(lost, int), np.ones(20, int), np.zeros(20, int)]
    ones = np.ones(a.size, int)
    got = compare("accuracy", from_correct(ones, a), from_correct(ones, b))
    exact = contingency.mcnemar([[20, gained], [lost, 20]], exact=True).pvalue
    # Outcomes just as extreme count half: both tails' first column, or the one middle column.
    columns = binom.pmf(min(gained, lost), gained + lost, 0.5) * (1 if gained == lost else 2)
    assert got.p_value == pytest.approx(exact - columns / 2 if gained + lost else 1.0, abs=1e-9)
    assert got.difference.estimate == pytest.approx((gained - lost) / a.size)
    assert (got.better, got.worse) == (gained, lost)
    assert len(got.moved) == gained + lost


def test_fisher_p_when_compared_with_scipy_then_the_exact_p_less_half_of_ties():
    stats = pytest.importorskip("scipy.stats")
    for c_a, n_a, c_b, n_b in [(1, 16, 9, 16), (0, 4, 4, 4), (10, 64, 40, 50), (3, 3, 3, 3)]:
        exact = stats.fisher_exact([[c_a, n_a - c_a], [c_b, n_b - c_b]]).pvalue
        support = np.arange(max(0, c_a + c_b - n_b), min(c_a + c_b, n_a) + 1)
        mass = stats.hypergeom.pmf(support, n_a + n_b, c_a + c_b, n_a)
        here = stats.hypergeom.pmf(c_a, n_a + n_b, c_a + c_b, n_a)
        ties = mass[np.isclose(mass, here, rtol=1e-9, atol=0)].sum()
        assert fisher_p(c_a, n_a, c_b, n_b) == pytest.approx(1.0 if support.size == 1 else exact - ties / 2)


def test_compare_when_models_swap_then_everything_is_mirrored():
    rng = np.random.default_rng(2)
    n = np.full(30, 16)
    a, b = from_correct(n, rng.integers(0, 17, 30)), from_correct(n, rng.integers(0, 17, 30))
    there, back = compare("pass@4", a, b), compare("pass@4", b, a)
    assert there.difference.estimate == pytest.approx(-back.difference.estimate)
    assert there.difference.low == pytest.approx(-back.difference.high, abs=1e-6)
    assert there.p_value == pytest.approx(back.p_value)
    assert there.probability_better == pytest.approx(1 - back.probability_better, abs=1e-6)
    assert (there.better, there.worse) == (back.worse, back.better)


def test_compare_when_nothing_moved_then_no_evidence_and_some_width():
    counts = from_correct(np.full(30, 8), np.full(30, 8))
    got = compare("accuracy", counts, counts)
    assert got.p_value == 1.0
    assert got.probability_better == pytest.approx(0.5, abs=1e-6)
    assert got.difference.low < -0.02 < 0.02 < got.difference.high
    assert got.moved == ()


def test_compare_when_runs_share_some_problems_then_only_those_count():
    a = from_correct([4, 4, 4], [1, 2, 3], keys=["x", "y", "z"])
    b = from_correct([4, 4, 2], [4, 0, 2], keys=["z", "w", "y"])
    got = compare("pass@4", a, b)
    assert (got.problems, got.unshared) == (1, 3)
    with pytest.raises(UsageError, match="nothing to compare"):
        compare("accuracy", a, from_correct([1], [1], keys=["other"]))


def test_compare_when_sample_numbers_differ_then_still_exact():
    a = from_correct([4, 4, 4, 4], [1, 2, 0, 0], keys=list("abcd"))
    b = from_correct([6, 5, 6, 6], [6, 5, 3, 2], keys=list("abcd"))
    got = compare("accuracy", a, b)
    assert got.p_exact
    assert got.p_value == pytest.approx(
        2 * 0.5 / 16
    )  # all four moved the same way: only that and its mirror, half each


def test_compare_when_sample_numbers_share_no_factor_then_drawn_and_close():
    n = np.array([31, 37, 41, 43, 47, 53, 59, 61])
    got = compare("accuracy", from_correct(n, n // 3), from_correct(n, n // 2))
    assert not got.p_exact
    assert got.p_value == pytest.approx(1 / 2**8, abs=0.001)


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


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30))
def test_difference_interval_when_anything_comes_then_it_holds_the_estimate(change):
    got = difference_interval(change)
    assert -1 <= got.low <= got.estimate + 1e-9
    assert got.estimate - 1e-9 <= got.high <= 1
    assert got.low < got.high
    assert 0 <= probability_positive(change) <= 1


def test_probability_positive_when_all_rise_then_near_one():
    assert probability_positive([0.1, 0.2, 0.15, 0.3] * 10) > 0.99


def test_relabel_p_when_one_problem_then_fishers_test_by_distance_from_its_mean():
    hypergeom = pytest.importorskip("scipy.stats").hypergeom
    n, c_a, c_b = 16, 3, 9
    support = np.arange(0, 13)
    mass, expected = hypergeom.pmf(support, 32, 12, 16), 6.0
    distance = np.abs(support - expected)
    mid_p = mass[distance > 3].sum() + 0.5 * mass[distance == 3].sum()
    got, exact = relabel_p((np.array([n]), np.array([c_a])), (np.array([n]), np.array([c_b])))
    assert exact
    assert got == pytest.approx(mid_p)


def test_relabel_p_when_dealt_at_random_then_close_to_exact():
    rng = np.random.default_rng(6)
    n, c_a, c_b = np.full(12, 8), rng.integers(0, 9, 12), rng.integers(1, 9, 12)
    exact = relabel_p((n, c_a), (n, c_b))[0]
    dealt, known = relabel_p((n, c_a), (n, c_b), lambda samples, correct: correct / samples, seed=1)
    assert not known
    assert dealt == pytest.approx(exact, abs=0.02)


def test_compare_when_on_these_problems_then_more_samples_decide():
    a = from_correct([64] * 15, [20] * 15)
    b = from_correct([64] * 15, [20, 40, 10] * 5)
    drawn, these = compare("accuracy", a, b), compare("accuracy", a, b, population="these problems")
    assert these.difference.estimate == pytest.approx(drawn.difference.estimate)
    assert these.difference.half_width < drawn.difference.half_width / 2
    assert these.p_value < drawn.p_value
    assert these.probability_better > drawn.probability_better > 0.5


def test_compare_when_nothing_moved_on_these_problems_then_even():
    counts = from_correct([8] * 30, [8] * 30)
    got = compare("accuracy", counts, counts, population="these problems")
    assert got.p_value == 1.0
    assert got.difference.low < 0 < got.difference.high
    assert got.probability_better == 0.5
