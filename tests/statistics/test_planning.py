"""Plans: that they deliver the promised power, know their floor, and read a pilot without its sampling noise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.errors import UsageError
from markscheme.reporting.planning import plan_rows
from markscheme.statistics import compare, from_correct, interval, variance_table
from markscheme.statistics.planning import plan
from markscheme.statistics.variances import AnswerVariance, BetweenProblems, assumed, difference_between, from_pilot


def simulated(problems, samples, gain, sd, rng):
    base = np.clip(rng.beta(2, 2, problems), 0.2, 0.7)
    other = np.clip(base + gain + rng.choice([-sd, sd], problems), 0, 1)
    n = np.full(problems, samples)
    return from_correct(n, rng.binomial(n, base)), from_correct(n, rng.binomial(n, other))


def test_plan_when_followed_then_the_difference_is_found_as_often_as_promised():
    rng = np.random.default_rng(1)
    pilot_a, pilot_b = simulated(4000, 32, 0.06, 0.1, rng)
    spread = from_pilot(pilot_a)
    found = plan(100, 0.06, 0.8, spread=spread, between=difference_between(pilot_a, pilot_b))
    assert found.samples is not None
    p_values = []
    for _ in range(200):
        a, b = simulated(100, found.samples, 0.06, 0.1, rng)
        p_values.append(compare("accuracy", a, b).p_value)
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.8, abs=0.08)


def test_plan_when_only_these_problems_matter_then_power_holds_with_few_of_them():
    rng = np.random.default_rng(2)
    chances = np.linspace(0.1, 0.8, 30)
    within = float(np.mean(chances * (1 - chances)))
    found = plan(30, 0.05, 0.8, spread=AnswerVariance(0.45, within, 0.05), population="these problems")
    assert found.samples is not None
    n = np.full(30, found.samples)
    pairs = [[from_correct(n, rng.binomial(n, chances + gain)) for gain in (0, 0.05)] for _ in range(80)]
    p_values = [compare("accuracy", a, b, population="these problems").p_value for a, b in pairs]
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.8, abs=0.12)


def test_plan_when_problems_are_few_then_no_number_of_samples_suffices_and_it_says_what_would():
    found = plan(30, 0.05, tokens_per_response=10_000)
    assert found.samples is None
    assert found.tokens is None
    assert found.limit > 0.05
    assert found.rows[-1].detectable > found.limit
    enough = plan(found.problems_needed, 0.05)
    assert enough.samples is not None
    assert enough.samples <= 16
    assert plan(found.problems_needed - 1, 0.05).samples is None or plan(found.problems_needed - 1, 0.05).samples > 16


def test_plan_when_samples_are_given_then_rows_and_tokens_agree():
    found = plan(500, 0.05, 0.8, tokens_per_response=1000)
    assert found.samples is not None
    assert found.tokens == 500 * found.samples * 1000
    detectable = [row.detectable for row in found.rows]
    assert detectable == sorted(detectable, reverse=True)
    for row in found.rows:
        assert (row.power >= 0.8) == (row.detectable <= 0.05)
        assert row.half_width_these < row.half_width


def test_from_pilot_when_problems_differ_then_noise_is_taken_off():
    rng = np.random.default_rng(3)
    p = rng.beta(1, 1, 20_000)
    found = from_pilot(from_correct(np.full(p.size, 4), rng.binomial(4, p)))
    assert found.mean == pytest.approx(0.5, abs=0.01)
    assert found.within == pytest.approx(1 / 6, abs=0.005)
    assert found.between == pytest.approx(1 / 12, abs=0.005)
    assert found.source == "pilot"


def test_from_pilot_when_one_sample_each_or_all_right_then_still_cautious():
    single = from_pilot(from_correct([1] * 30, [1] * 15 + [0] * 15))
    assert "assumed" in single.source
    assert single.within + single.between == pytest.approx(0.25)
    perfect = from_pilot(from_correct([8] * 30, [8] * 30))
    assert perfect.mean == 1.0
    assert perfect.within > 0


def test_difference_between_when_models_are_the_same_then_about_zero():
    rng = np.random.default_rng(4)
    p = rng.beta(1, 1, 5000)
    n = np.full(p.size, 8)
    a, b = (from_correct(n, rng.binomial(8, p)) for _ in range(2))
    assert difference_between(a, b).value < 0.003


def test_difference_between_when_pilots_are_repeated_then_its_range_holds_the_truth_four_times_in_five():
    rng = np.random.default_rng(5)
    held = []
    for _ in range(300):
        shift = rng.normal(0.03, 0.12, 40)
        base = rng.uniform(0.35, 0.65, 40)
        n = np.full(40, 16)
        a, b = from_correct(n, rng.binomial(n, base)), from_correct(n, rng.binomial(n, np.clip(base + shift, 0, 1)))
        found = difference_between(a, b)
        held.append(found.low <= 0.12**2 <= found.high)
    assert 0.72 < np.mean(held) < 0.92


def test_plan_when_the_difference_between_problems_is_uncertain_then_power_has_a_range():
    found = plan(100, 0.05, between=BetweenProblems(0.02, 0.005, 0.06))
    row = next(row for row in found.rows if row.samples == 16)
    assert row.power_low < row.power < row.power_high
    assert found.samples_range[0] < (found.samples or 999)
    assert found.samples_range[1] is None
    near, far = plan(100, 0.05).between_range
    assert near < plan(100, 0.05).between_difference < far


def test_plan_when_power_is_simulated_with_few_problems_then_the_noncentral_t():
    stats = pytest.importorskip("scipy.stats")
    found = plan(10, 0.2, spread=AnswerVariance(0.5, 0.2, 0.05), between=BetweenProblems(0.03, 0.03, 0.03))
    row = next(row for row in found.rows if row.samples == 4)
    shift = 0.2 / np.sqrt((0.03 + 2 * 0.2 / 4) / 10)
    exact = stats.nct.sf(stats.t.ppf(0.975, 9), 9, shift)
    assert row.power == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize(
    "call",
    [
        lambda: plan(1, 0.05),
        lambda: plan(30, 5),
        lambda: plan(30, 0.05, power=80),
        lambda: assumed(1.0),
        lambda: from_pilot(from_correct([0], [0])),
        lambda: difference_between(from_correct([4], [1]), from_correct([4], [1])),
    ],
)
def test_plan_when_the_question_makes_no_sense_then_refused(call):
    with pytest.raises(UsageError):
        call()


def test_from_pilot_when_two_models_were_piloted_then_both_count():
    a, b = from_correct([4] * 4, [4, 4, 4, 4]), from_correct([4] * 4, [0, 2, 2, 4])
    both, each = from_pilot(a, b), [from_pilot(a), from_pilot(b)]
    assert both.within == pytest.approx((each[0].within + each[1].within) / 2)
    assert both.mean == pytest.approx((each[0].mean + each[1].mean) / 2)


@pytest.mark.parametrize(("pilots", "known"), [(0, {}), (1, {"spread": AnswerVariance(0.5, 0.1, 0.1, "pilot")})])
def test_plan_when_a_pilot_is_missing_then_it_says_on_how_many_it_stands(pilots, known):
    assert plan(30, 0.05, **known).pilots == pilots
    assert plan(30, 0.05, between=BetweenProblems(0.02, 0.01, 0.03), **known).pilots == 2


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(2, 8), st.integers(0, 8)), min_size=2, max_size=20))
def test_variance_table_when_made_then_its_widths_are_those_of_the_intervals(rows):
    n = np.array([size for size, _ in rows])
    counts = from_correct(n, np.minimum(n, [correct for _, correct in rows]))
    made = variance_table(counts)
    assert made.half_width == interval("accuracy", counts).half_width
    assert made.these_half_width == interval("accuracy", counts, population="these problems").half_width
    # Endless samples leave the question which problems were drawn.
    assert 0 < made.half_width_endless <= made.half_width_more <= made.half_width


def test_variance_table_when_nothing_is_right_then_endless_samples_do_not_make_it_certain():
    made = variance_table(from_correct([4] * 12, [0] * 12))
    assert made.half_width_endless == pytest.approx(interval("accuracy", from_correct([4] * 12, [0] * 12)).half_width)
    assert made.these_half_width_more < made.these_half_width


def test_variance_table_when_followed_then_endless_samples_have_about_the_width_it_says():
    rng = np.random.default_rng(5)
    said, found = [], []
    for _ in range(30):
        rates = 1 / (1 + np.exp(-1.5 * rng.standard_t(3, 40)))
        said.append(variance_table(from_correct([3] * 40, rng.binomial(3, rates))).half_width_endless)
        found.append(interval("accuracy", from_correct([2000] * 40, rng.binomial(2000, rates))).half_width)
    assert np.mean(said) == pytest.approx(np.mean(found), rel=0.1)


def test_plan_when_problems_are_hardly_any_then_no_figure_beyond_the_scale():
    made = plan(2, 0.05)
    assert made.limit <= 1
    assert all(row.detectable <= 1 and row.half_width <= 0.5 and row.half_width_these <= 0.5 for row in made.rows)
    assert plan_rows(made)[0]["detects, points"] == "unknown"
