"""A random part for the whole benchmark: exact where each problem is right or wrong, and never beyond what was not asked."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.errors import UsageError
from markscheme.statistics import from_correct, interval
from markscheme.statistics.finite import exact_bounds

WHOLE = "the whole benchmark"


@pytest.mark.parametrize(("whole", "part"), [(30, 10), (30, 25), (60, 8), (100, 90)])
def test_exact_bounds_when_every_part_is_possible_then_each_share_is_covered_as_promised(whole, part):
    bounds = np.array([exact_bounds(right, part, whole, 0.95) for right in range(part + 1)]) * whole
    for total in range(whole + 1):
        held = (bounds[:, 0] <= total + 1e-9) & (total - 1e-9 <= bounds[:, 1])
        ways = [comb(total, right) * comb(whole - total, part - right) for right in np.flatnonzero(held).tolist()]
        assert sum(ways) >= 0.95 * comb(whole, part)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 4)), min_size=1, max_size=20),
    st.integers(0, 40),
    st.sampled_from(["accuracy", "pass@2"]),
)
def test_interval_when_about_the_whole_then_within_problems_drawn_and_what_the_others_could_be(rows, others, name):
    n = np.array([size for size, _ in rows])
    counts = from_correct(n, np.minimum(n, [correct for _, correct in rows]))
    drawn = interval(name, counts)
    whole = interval(name, replace(counts, whole=n.size + others), population=WHOLE)
    if not drawn.problems:
        return
    assert drawn.low - 1e-12 <= whole.low <= whole.estimate <= whole.high <= drawn.high + 1e-12
    if not np.any(n < 2) and not others:  # all were asked, and are what they are
        assert whole.half_width == pytest.approx(0, abs=1e-12)


def test_interval_when_several_samples_of_a_part_are_drawn_then_the_whole_is_covered():
    rng = np.random.default_rng(8)
    held, narrower = [], []
    for _ in range(200):
        rates = 1 / (1 + np.exp(-2 * rng.standard_t(2, 90)))
        c = rng.binomial(4, rates)
        part = rng.choice(90, 45, replace=False)
        counts = from_correct([4] * 45, c[part])
        made = interval("accuracy", replace(counts, whole=90), population=WHOLE)
        held.append(made.low <= c.mean() / 4 <= made.high)
        narrower.append(made.half_width / interval("accuracy", counts).half_width)
    assert np.mean(held) >= 0.93
    assert np.mean(narrower) == pytest.approx(0.71, abs=0.01)


def test_interval_when_the_part_is_larger_than_the_whole_then_refused():
    with pytest.raises(UsageError, match="12 problems cannot be a part of 10"):
        interval("accuracy", replace(from_correct([4] * 12, [2] * 12), whole=10), population=WHOLE)


def test_stratified_when_strata_tell_hard_from_easy_then_narrower_and_the_mean_by_their_sizes():
    strata = ("hard",) * 20 + ("easy",) * 20
    right = np.array([1] * 2 + [0] * 18 + [1] * 18 + [0] * 2)
    plain = replace(from_correct(np.ones(40, int), right), whole=200)
    parts = replace(plain, strata=strata, strata_sizes={"hard": 150, "easy": 50})
    one, two = (interval("accuracy", each, population="the whole benchmark") for each in (plain, parts))
    assert two.estimate == pytest.approx(0.75 * 0.1 + 0.25 * 0.9)
    even = interval(
        "accuracy", replace(parts, strata_sizes={"hard": 100, "easy": 100}), population="the whole benchmark"
    )
    assert even.estimate == pytest.approx(one.estimate)
    assert even.high - even.low < 0.8 * (one.high - one.low)
    assert interval("accuracy", parts) == interval("accuracy", plain), "only the whole benchmark has strata"
