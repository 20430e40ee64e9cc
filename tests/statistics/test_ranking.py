"""Several models: joint levels, ranks, and averages over benchmarks."""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from markscheme.errors import UsageError
from markscheme.statistics import from_correct, interval, macro, mean_interval, rank
from markscheme.statistics.ranking import joint_level, rank_over


def test_joint_level_when_two_models_then_the_level_itself():
    values = np.random.default_rng(1).random((2, 200))
    assert joint_level(np.cov(values), 0.95) == pytest.approx(0.95, abs=0.004)


def test_joint_level_when_models_are_independent_then_tukeys_range():
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(2).random((5, 2000))
    # The studentised range of five normal means, as a level of each single comparison.
    critical = stats.studentized_range.ppf(0.95, 5, 1e6) / math.sqrt(2)
    assert joint_level(np.cov(values), 0.95) == pytest.approx(2 * NormalDist().cdf(critical) - 1, abs=0.003)


def test_joint_level_when_models_are_copies_then_no_price_is_paid():
    one, two = np.random.default_rng(3).random((2, 50))
    assert joint_level(np.cov([one, one, two]), 0.95) == pytest.approx(0.95, abs=0.004)


def test_rank_when_models_are_far_apart_then_ranks_are_certain_and_when_alike_open():
    rng = np.random.default_rng(4)
    n = np.full(200, 8)
    models = {
        "poor": from_correct(n, rng.binomial(8, 0.2, 200)),
        "good": from_correct(n, rng.binomial(8, 0.8, 200)),
        "twin": from_correct(n, rng.binomial(8, 0.8, 200)),
    }
    got = rank("accuracy", models)
    assert {model.name for model in got.models[:2]} == {"good", "twin"}
    assert [(model.best_rank, model.worst_rank) for model in got.models] == [(1, 2), (1, 2), (3, 3)]
    assert len(got.pairs) == 3
    assert all(pair.difference.level >= 0.95 for pair in got.pairs)
    assert rank("accuracy", models) == got


def test_rank_when_on_these_problems_then_samples_decide_where_problems_cannot():
    rng = np.random.default_rng(8)
    rates = rng.random(15)
    n = np.full(15, 400)
    models = {
        name: from_correct(n, rng.binomial(400, np.clip(rates + rng.normal(shift, 0.2, 15), 0, 1)))
        for name, shift in [("a", 0.0), ("b", 0.06), ("c", 0.12)]
    }
    drawn, these = rank("accuracy", models), rank("accuracy", models, population="these problems")
    assert these.population == "these problems"
    open_ranks = [sum(model.worst_rank - model.best_rank for model in got.models) for got in (drawn, these)]
    assert open_ranks[1] < open_ranks[0]


def test_rank_when_problems_are_not_shared_then_only_common_ones_count():
    a = from_correct([4, 4, 4], [1, 2, 3], keys=["x", "y", "z"])
    b = from_correct([4, 4], [4, 0], keys=["z", "y"])
    c = from_correct([4, 1], [4, 0], keys=["y", "z"])
    assert rank("accuracy", {"a": a, "b": b, "c": c}).problems == 2
    assert rank("pass@4", {"a": a, "b": b, "c": c}).problems == 1
    with pytest.raises(UsageError, match="nothing to compare"):
        rank("pass@8", {"a": a, "b": b})
    with pytest.raises(UsageError, match="two models"):
        rank("accuracy", {"a": a})


def test_macro_when_benchmarks_differ_in_size_then_each_weighs_the_same():
    small = interval("accuracy", from_correct([1] * 30, [1] * 15 + [0] * 15))
    large = interval("accuracy", from_correct([1] * 970, [1] * 970))
    assert macro([small, large]).estimate == pytest.approx(0.75)
    assert macro([small, large]).problems == 1000


def test_macro_when_intervals_are_alike_then_narrower_by_the_root_of_their_number():
    one = mean_interval(np.random.default_rng(5).random(500))
    assert macro([one] * 4).half_width == pytest.approx(one.half_width / 2)
    alone = macro([one])
    assert (alone.low, alone.high) == (pytest.approx(one.low), pytest.approx(one.high))


def test_macro_when_one_score_is_missing_then_the_average_is_too():
    there, missing = mean_interval([0.5, 0.6]), mean_interval([math.nan])
    assert math.isnan(macro([there, missing]).estimate)
    with pytest.raises(UsageError):
        macro([])
    with pytest.raises(UsageError, match="different levels"):
        macro([there, mean_interval([0.5], level=0.9)])


def test_rank_when_responses_are_missing_then_it_says_what_they_could_make_of_it():
    whole = from_correct([4, 4, 4], [4, 2, 0], "abc")
    holes = replace(from_correct([4, 2, 0], [4, 2, 0], "abc"), asked=(4, 4, 4))
    said = rank("accuracy", {"whole": whole, "holes": holes, "same": whole}).caveats
    assert said[0].startswith("1 problem left out")
    assert len(said) == 2
    assert said[1].startswith("responses of holes are missing")
    assert "75.0 if all of them are wrong, 100.0 if right" in said[1]
    assert rank("accuracy", {"whole": whole, "same": whole}).caveats == ()


def test_rank_over_when_several_benchmarks_then_all_comparisons_hold_together_and_averages_come_last():
    rng = np.random.default_rng(5)
    n = np.full(80, 4)
    benchmarks = [
        {name: from_correct(n, rng.binomial(4, rate, 80)) for name, rate in (("a", 0.3), ("b", 0.5), ("c", 0.5))}
        for _ in range(3)
    ]
    *parts, average = rank_over("accuracy", benchmarks)
    assert len(parts) == 3
    assert {each.comparisons for each in (*parts, average)} == {12}
    assert average.models[2].name == "a"
    assert (average.models[2].best_rank, average.models[2].worst_rank) == (3, 3)
    assert set(average.best) == {"b", "c"}
    alone = rank("accuracy", benchmarks[0])
    assert parts[0].pairs[0].difference.level > alone.pairs[0].difference.level, "more comparisons, wider each"
    assert all(pair.p_value >= one.p_value for pair, one in zip(parts[0].pairs, alone.pairs, strict=True))


def test_rank_when_differences_are_shown_in_steps_then_no_fewer_than_by_intervals():
    rng = np.random.default_rng(6)
    n = np.full(60, 4)
    for _ in range(5):
        models = {str(at): from_correct(n, rng.binomial(4, 0.3 + 0.08 * at, 60)) for at in range(5)}
        got = rank("accuracy", models)
        assert all(pair.p_value <= 0.051 for pair in got.pairs if pair.difference.low > 0)


def test_rank_over_when_models_differ_between_benchmarks_then_refused():
    one = from_correct([4, 4], [1, 2])
    with pytest.raises(UsageError, match="the same ones on every benchmark"):
        rank_over("accuracy", [{"a": one, "b": one}, {"a": one, "c": one}])
