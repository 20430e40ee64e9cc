"""Intervals for these exact problems: every metric, every k up to n, missing samples, and at the edges."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.statistics import Picks, compare, from_correct, interval, mean_interval
from markscheme.statistics.fixed_set import sampled, spread
from markscheme.statistics.metrics import metric
from markscheme.statistics.solve_rates import fit, moments

THESE = "these problems"
ROWS = st.lists(st.tuples(st.integers(1, 12), st.integers(0, 12)), min_size=1, max_size=25)


def counted(rows):
    n = np.array([size for size, _ in rows])
    return from_correct(n, np.minimum(n, [correct for _, correct in rows]))


def picked(counts, seed=0):
    """The same counts with answers and scores: correct samples share an answer, wrong ones have three."""
    rng = np.random.default_rng(seed)
    rows = {}
    for key, n, c in zip(counts.keys, counts.n, counts.c, strict=True):
        right = np.arange(n) < c
        answers = np.where(right, 0, rng.integers(1, 4, n))
        rows[key] = Picks(right, answers, {"score": rng.random(n) + 0.3 * right})
    return type(counts)(counts.keys, counts.table, picks=rows)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.sampled_from(["accuracy", "pass@2", "pass@5", "pass^3", "g-pass@4:0.5"]))
def test_interval_when_on_these_problems_then_it_holds_the_estimate_and_mirrors(rows, name):
    counts = counted(rows)
    got = interval(name, counts, population=THESE)
    assert got.problems + got.undefined == len(rows)
    assert 0 <= got.low <= 1
    assert 0 <= got.high <= 1
    if got.problems:
        assert got.low <= got.estimate <= got.high
    mirror = {"accuracy": "accuracy", "pass@2": "pass^2", "pass@5": "pass^5", "pass^3": "pass@3"}.get(name)
    if mirror and got.problems:
        back = interval(mirror, from_correct(counts.n, counts.n - counts.c), population=THESE)
        assert (back.low, back.high) == pytest.approx((1 - got.high, 1 - got.low), abs=2e-4)


@settings(max_examples=25, deadline=None)
@given(ROWS, st.sampled_from(["accuracy", "pass@2", "maj@2", "best-of-2:score"]), st.randoms(use_true_random=False))
def test_interval_when_problems_change_places_then_the_same(rows, name, random):
    counts = picked(counted(rows))
    keys = list(counts.keys)
    random.shuffle(keys)
    there, back = (interval(name, part, population=THESE) for part in (counts, counts.select(keys)))
    if (
        there.problems and metric(name).needs == "counts"
    ):  # weights of single samples are drawn in the order of problems
        assert (there.low, there.high) == pytest.approx((back.low, back.high), abs=1e-9)
    assert there.estimate == pytest.approx(back.estimate, nan_ok=True)


@pytest.mark.parametrize(
    "name", ["accuracy", "pass@8", "pass@64", "pass^64", "g-pass@64:0.5", "maj@64", "best-of-64:score"]
)
@pytest.mark.parametrize("correct", [0, 1, 63, 64])
def test_interval_when_k_is_n_or_all_are_alike_then_finite_and_not_wider_than_the_problems_allow(name, correct):
    counts = picked(from_correct([64] * 30, [correct] * 30))
    got = interval(name, counts, population=THESE)
    assert 0 <= got.low <= got.estimate <= got.high <= 1
    assert got.high - got.low < 0.5


def test_interval_when_nothing_is_right_then_the_bound_grows_with_k():
    nothing = from_correct([64] * 30, [0] * 30)
    bounds = [interval(f"pass@{k}", nothing, population=THESE).high for k in (1, 8, 32, 63)]
    assert bounds == sorted(bounds)
    # 1,920 wrong answers: a common rate of 0.19 % would give them once in forty, and that rate has pass@63 of 11.4 %.
    assert 0.001 < bounds[0] < 0.004
    assert 0.06 < bounds[3] < 0.25


def test_interval_when_the_last_k_is_reached_then_one_hit_each_does_not_explode():
    got = interval("pass@63", from_correct([64] * 30, [1] * 30), population=THESE)
    assert got.low > 0.6  # it was 0.8 % by leaving out one sample at a time


@pytest.mark.parametrize("level", [0.5, 0.8, 0.99])
def test_bounds_when_the_level_rises_then_they_widen(level):
    rng = np.random.default_rng(1)
    counts = from_correct([16] * 30, rng.binomial(16, rng.random(30)))
    narrow, wide = (interval("pass@8", counts, each, THESE) for each in (level, (1 + level) / 2))
    assert wide.low <= narrow.low < narrow.high <= wide.high


def test_interval_when_samples_go_with_difficulty_then_the_single_samples_of_hard_problems_count_as_what_they_are():
    hard = np.arange(30) < 10
    counts = from_correct(np.where(hard, 1, 64), np.where(hard, np.arange(30) % 2, 64))
    got = interval("accuracy", counts, population=THESE)
    # Ten coin flips decide a third of the score: their standard error alone is 5 points.
    assert got.half_width > 0.08


def test_interval_when_samples_are_missing_then_all_problems_count_and_what_the_rest_could_be():
    counts = from_correct([16] * 8 + [10] * 4, [16] * 8 + [0] * 4)
    counts = type(counts)(counts.keys, counts.table, asked=(16,) * 12)
    for population in ("problems drawn", THESE):
        got = interval("pass@16", counts, population=population)
        assert (got.problems, got.undefined) == (8, 4)
        assert 8 / 12 < got.estimate < 0.75  # the four that lack samples were never right in ten
        assert (got.if_wrong, got.if_right) == (pytest.approx(8 / 12), 1.0)
        assert got.low < 0.7
    whole = interval("pass@16", from_correct([16] * 12, [16] * 12))
    assert (whole.if_wrong, whole.if_right) == (None, None)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=12), st.integers(1, 8))
def test_interval_when_samples_are_missing_then_the_extremes_are_what_filling_them_in_gives(rows, k):
    n = np.array([size for size, _ in rows])
    c = np.minimum(n, [correct for _, correct in rows])
    counts = from_correct(n, c)
    counts = type(counts)(counts.keys, counts.table, asked=(8,) * len(rows))
    got = interval(f"pass@{k}", counts)
    if not got.problems or not counts.missing.any():
        return
    wrong = interval(f"pass@{k}", from_correct([8] * len(rows), c)).estimate
    right = interval(f"pass@{k}", from_correct([8] * len(rows), c + 8 - n)).estimate
    assert (got.if_wrong, got.if_right) == pytest.approx((wrong, right))
    assert got.if_wrong <= got.if_right


_VERDICT = st.tuples(st.integers(0, 3), st.booleans())


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(_VERDICT, max_size=6), min_size=1, max_size=10),
    st.sampled_from(["accuracy", "pass@2", "pass@6", "pass^3", "pass^6", "g-pass@4:0.5", "maj@3", "best-of-4:score"]),
    st.sampled_from(["problems drawn", THESE]),
)
def test_interval_when_any_samples_are_missing_then_no_figure_lies_beyond_its_own_bounds(rows, name, population):
    """Each row is what came back of six samples: an answer, and whether it is right (two right answers may differ)."""
    n, c = [len(row) for row in rows], [sum(right for _, right in row) for row in rows]
    picks = {
        str(at): Picks(
            np.array([right for _, right in row], dtype=bool),
            np.array([2 * answer + right for answer, right in row], dtype=np.int64),
            {"score": np.array([answer for answer, _ in row], dtype=float)},
        )
        for at, row in enumerate(rows)
    }
    counts = replace(from_correct(n, c), asked=(6,) * len(rows), picks=picks)
    got = interval(name, counts, population=population)
    if not counts.missing.any():
        assert got.lowest is None
        return
    assert 0 <= got.lowest <= got.if_wrong <= got.if_right <= got.highest <= 1
    if got.problems:
        assert got.if_wrong <= got.estimate <= got.if_right
        assert got.lowest <= got.low <= got.estimate <= got.high <= got.highest


@settings(max_examples=60, deadline=None)
@given(ROWS, st.sampled_from(["accuracy", "pass@2", "pass^2", "pass@12"]), st.sampled_from([0.8, 0.95, 0.99]))
def test_interval_when_on_these_problems_then_never_wider_than_for_problems_drawn(rows, name, level):
    drawn, these = (interval(name, counted(rows), level, population) for population in ("problems drawn", THESE))
    assert drawn.low <= these.low <= these.high <= drawn.high


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=30))
def test_compare_when_one_sample_each_on_these_problems_then_never_wider_than_for_problems_drawn(rows):
    a, b = (from_correct([1] * len(rows), [row[model] for row in rows]) for model in (0, 1))
    drawn, these = (compare("accuracy", a, b, population=population) for population in ("problems drawn", THESE))
    assert drawn.difference.low <= these.difference.low <= these.difference.high <= drawn.difference.high


def test_compare_when_one_sample_each_on_these_problems_then_a_large_change_is_found():
    """Two intervals put together know nothing of the pairing: this one was 56 points wide, and never an alarm."""
    a, b = from_correct([1] * 30, [1] * 15 + [0] * 15), from_correct([1] * 30, [1] * 25 + [0] * 5)
    assert compare("accuracy", a, b, population=THESE).p_value < 0.01


def test_interval_when_problems_with_too_few_samples_were_never_right_then_they_count_as_that():
    """Six problems 4 of 4 and four 0 of 2: all of four right is 60 %, whatever the missing were."""
    counts = replace(from_correct([4] * 6 + [2] * 4, [4] * 6 + [0] * 4), asked=(4,) * 10)
    got = interval("pass^4", counts)
    assert got.estimate == got.if_wrong == got.if_right == pytest.approx(0.6)


def test_interval_when_hard_problems_lose_most_samples_then_the_estimate_is_hardly_biased():
    rng = np.random.default_rng(3)
    misses = []
    for _ in range(40):
        rates = 1 / (1 + np.exp(-2 * rng.standard_t(2, 60)))
        n = rng.binomial(16, np.where(rates < 0.4, 0.4, 0.97))
        misses.append(
            interval("pass@8", from_correct(n, rng.binomial(n, rates))).estimate - np.mean(1 - (1 - rates) ** 8)
        )
    assert abs(np.mean(misses)) < 0.015  # over the problems with eight samples alone it would be 0.06 too high


def test_spread_when_there_are_many_samples_then_the_standard_error_of_the_mean():
    rng = np.random.default_rng(2)
    rates = rng.random(200)
    c = rng.binomial(100, rates)
    found = spread(metric("accuracy").estimate, 1, np.full(200, 100), c)
    unbiased = np.sqrt(np.sum(c * (100 - c) / (100**2 * 99))) / 200
    low, high = found.bounds(0.95)
    assert (high - low) / 2 == pytest.approx(1.96 * unbiased, rel=0.05)


def test_interval_when_there_are_a_hundred_thousand_problems_then_it_is_made_all_the_same():
    rng = np.random.default_rng(3)
    n = rng.integers(1, 17, 100_000)
    got = interval("accuracy", from_correct(n, rng.binomial(n, 0.3)), population=THESE)
    assert got.low < 0.3 < got.high
    assert got.half_width < 0.003


def test_moments_when_summed_over_counts_then_the_binomial_ones():
    rates = np.array([0.1, 0.5, 0.93])
    mean, variance, third = moments(metric("accuracy").estimate, 1, 12, rates)
    assert mean == pytest.approx(rates)
    assert variance == pytest.approx(rates * (1 - rates) / 12)
    assert third == pytest.approx(rates * (1 - rates) * (1 - 2 * rates) / 144)
    exactly_k, of_coins, _ = moments(metric("pass@4").estimate, 4, 4, rates)
    assert exactly_k == pytest.approx(1 - (1 - rates) ** 4)
    assert of_coins == pytest.approx(exactly_k * (1 - exactly_k))


def test_fit_when_problems_fall_into_two_camps_then_a_silent_one_is_in_either():
    mixture = fit([16] * 20 + [0], [16] * 10 + [0] * 10 + [0])
    rates = mixture.weight @ mixture.expect(np.broadcast_to(mixture.rates, mixture.likelihood.shape))
    of = dict(zip(zip(mixture.n.tolist(), mixture.c.tolist(), strict=True), rates, strict=True))
    assert of[16, 0] < 0.03
    assert of[16, 16] > 0.97
    assert of[0, 0] == pytest.approx(0.5, abs=0.1)


def test_mean_interval_when_every_cluster_is_one_problem_then_as_without():
    values = np.random.default_rng(4).random(20)
    alone = mean_interval(values, clusters=[str(i) for i in range(20)])
    assert (alone.low, alone.high) == (mean_interval(values).low, mean_interval(values).high)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5)), min_size=2, max_size=40))
def test_mean_interval_when_problems_share_clusters_then_it_holds_the_mean_and_mirrors(rows):
    values, labels = np.array([value for value, _ in rows]), [str(label) for _, label in rows]
    got, back = mean_interval(values, clusters=labels), mean_interval(1 - values, clusters=labels)
    assert 0 <= got.low <= got.estimate <= got.high <= 1
    assert (back.low, back.high) == pytest.approx((1 - got.high, 1 - got.low), abs=1e-4)


def test_mean_interval_when_variants_repeat_their_template_then_as_wide_as_the_templates_alone():
    rates = np.random.default_rng(5).random(12)
    got = mean_interval(np.repeat(rates, 10), clusters=np.repeat(np.arange(12), 10).astype(str).tolist())
    assert got.half_width > 2 * mean_interval(np.repeat(rates, 10)).half_width


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=2, max_size=20), st.floats(0.0, 0.05))
def test_sampled_when_few_problems_show_noise_then_the_model_counts_and_never_takes_any_away(correct, modelled):
    values = np.array(correct) / 6
    noise = values * (1 - values) / 5
    plain, blended = (sampled(values, noise, np.full(values.size, 6), model) for model in (None, modelled))
    assert blended.estimate == plain.estimate
    assert plain.variance <= blended.variance <= max(plain.variance, modelled) + 1e-15
    if not noise.any():
        assert blended.variance == pytest.approx(modelled)


def test_interval_when_hard_problems_have_two_samples_then_it_still_covers():
    """Two samples that agree show no noise, and it is the hard problems' that is missing: 78 % when it was believed."""
    luck, held = np.random.default_rng(4), []
    rates = 1 - 0.6 * luck.random(30) ** 12
    rates[:3] = 0.45
    n = np.where(rates < 0.6, 2, 64)
    for _ in range(150):
        found = interval("accuracy", from_correct(n, luck.binomial(n, rates)), population="these problems")
        held.append(found.low <= rates.mean() <= found.high)
    assert np.mean(held) > 0.9
