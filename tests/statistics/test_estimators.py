"""The estimators against exact integer binomials, against their published definitions and against scipy."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import markscheme as ms
from markscheme.errors import UsageError
from markscheme.statistics import accuracy, g_pass_at_k, pass_at_k, pass_hat_k


@st.composite
def counts(draw, largest=300):
    n = draw(st.integers(1, largest))
    return n, draw(st.integers(0, n)), draw(st.integers(1, n))


@settings(max_examples=300)
@given(counts())
def test_pass_at_k_when_compared_with_integer_binomials_then_equal(nck):
    n, c, k = nck
    exact = 1 - Fraction(math.comb(n - c, k), math.comb(n, k))
    assert pass_at_k(n, c, k) == pytest.approx(float(exact), rel=1e-12, abs=1e-14)


@settings(max_examples=300)
@given(counts())
def test_pass_hat_k_when_compared_with_integer_binomials_then_equal(nck):
    n, c, k = nck
    exact = Fraction(math.comb(c, k), math.comb(n, k))
    assert pass_hat_k(n, c, k) == pytest.approx(float(exact), rel=1e-11, abs=1e-14)


@settings(max_examples=200)
@given(counts(), st.fractions(0, 1, max_denominator=64))
def test_g_pass_at_k_when_compared_with_integer_binomials_then_equal(nck, tau):
    n, c, k = nck
    needed = max(1, math.ceil(tau * k))
    ways = sum(math.comb(c, j) * math.comb(n - c, k - j) for j in range(needed, min(c, k) + 1))
    assert g_pass_at_k(n, c, k, float(tau)) == pytest.approx(ways / math.comb(n, k), rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("n", [1_000, 100_000])
@pytest.mark.parametrize("k", [1, 2, 16, 500])
def test_pass_at_k_when_n_is_large_then_still_exact(n, k):
    for c in (0, 1, 7, n // 2, n - k, n - k + 1, n):
        exact = 1 - Fraction(math.comb(n - c, k), math.comb(n, k))
        assert pass_at_k(n, c, k) == pytest.approx(float(exact), rel=1e-11)
        assert pass_hat_k(n, c, k) == pytest.approx(math.comb(c, k) / math.comb(n, k), rel=1e-9, abs=1e-300)


def test_pass_at_k_when_counted_over_all_subsets_then_equal():
    right = [True, False, True, False, False, False]
    drawn = [any(subset) for subset in combinations(right, 3)]
    assert pass_at_k(6, 2, 3) == pytest.approx(np.mean(drawn))


def test_pass_at_k_when_computed_as_human_eval_defines_it_then_equal():
    def definition(n, c, k):
        # Chen et al. 2021: 1 - prod_{i=n-c+1}^{n} (1 - k/i), and 1 when fewer than k samples are wrong.
        return 1.0 if n - c < k else 1.0 - math.prod(1.0 - k / i for i in range(n - c + 1, n + 1))

    n, c = np.array([200, 200, 10, 5, 64, 64]), np.array([0, 17, 3, 5, 1, 63])
    expected = [definition(a, b, 5) for a, b in zip(n.tolist(), c.tolist(), strict=True)]
    assert pass_at_k(n, c, 5) == pytest.approx(expected, rel=1e-12)


def test_estimators_when_fewer_samples_than_k_then_undefined_not_zero():
    values = pass_at_k([8, 3, 0], [2, 3, 0], 4)
    assert not math.isnan(values[0])
    assert np.isnan(values[1:]).all()
    assert math.isnan(pass_hat_k(3, 3, 4))
    assert math.isnan(g_pass_at_k(3, 3, 4, 0.5))
    assert math.isnan(accuracy(0, 0))


def test_estimators_when_given_scalars_then_plain_floats():
    for value in (accuracy(4, 1), pass_at_k(4, 1, 2), pass_hat_k(4, 3, 2), g_pass_at_k(4, 3, 2, 1.0)):
        assert type(value) is float
    assert ms.pass_at_k(10, 3, 1) == 0.3


def test_estimators_when_arrays_broadcast_then_one_value_each():
    assert pass_at_k(16, np.arange(17).reshape(17, 1), 4).shape == (17, 1)
    assert pass_at_k([], [], 4).shape == (0,)


@settings(max_examples=50)
@given(counts(60))
def test_estimators_when_k_grows_then_pass_rises_and_pass_hat_falls(nck):
    n, c, k = nck
    assert pass_hat_k(n, c, k) <= c / n + 1e-12
    assert pass_at_k(n, c, k) >= c / n - 1e-12
    assert pass_at_k(n, c, k) >= pass_at_k(n, c, max(1, k - 1)) - 1e-12


def test_g_pass_at_k_when_share_times_k_has_rounding_noise_then_no_extra_sample_is_asked():
    # 0.55 * 20 == 11.000000000000002
    assert g_pass_at_k(20, 11, 20, 0.55) == 1.0
    assert g_pass_at_k(20, 10, 20, 0.55) == 0.0


def test_g_pass_at_k_when_share_is_zero_or_one_then_pass_at_k_or_pass_hat_k():
    n, c = np.full(17, 16), np.arange(17)
    assert g_pass_at_k(n, c, 4, 0.0) == pytest.approx(pass_at_k(n, c, 4), abs=1e-14)
    assert g_pass_at_k(n, c, 4, 1.0) == pytest.approx(pass_hat_k(n, c, 4), abs=1e-14)


def test_g_pass_at_k_when_compared_with_scipy_then_equal():
    stats = pytest.importorskip("scipy.stats")
    for n, c, k, tau in [(64, 20, 16, 0.5), (1000, 400, 64, 0.75), (100_000, 33_333, 256, 0.25)]:
        expected = stats.hypergeom.sf(math.ceil(tau * k) - 1, n, c, k)
        assert g_pass_at_k(n, c, k, tau) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pass_at_k(3, 4, 1), "exceed"),
        (lambda: pass_at_k(-1, 0, 1), "negative"),
        (lambda: pass_at_k(4, 1, 0), "at least 1"),
        (lambda: pass_at_k(4, 1, 2.5), "whole number"),
        (lambda: pass_at_k(4.5, 1, 2), "whole numbers"),
        (lambda: pass_at_k(float("nan"), 1, 2), "whole numbers"),
        (lambda: pass_at_k([1, 2], [1, 2, 3], 1), "one entry per problem"),
        (lambda: pass_at_k("four", 1, 2), "whole numbers"),
        (lambda: g_pass_at_k(4, 1, 2, 1.5), "between 0 and 1"),
    ],
)
def test_estimators_when_input_is_impossible_then_a_sentence_says_why(call, words):
    with pytest.raises(UsageError, match=words):
        call()
