"""Several runs of one setting: runs are a level of their own."""

import numpy as np
import pytest

from markscheme.errors import UsageError
from markscheme.statistics import from_correct, interval
from markscheme.statistics.repeats import difference_over_runs, over_runs


def runs(seed, shifts, problems=60, samples=4):
    rng = np.random.default_rng(seed)
    rates = rng.uniform(0.1, 0.7, problems)
    return [from_correct(np.full(problems, samples), rng.binomial(samples, rates + shift)) for shift in shifts]


def test_over_runs_when_runs_differ_then_their_spread_is_found_and_the_interval_is_wider():
    alike, apart = over_runs("accuracy", runs(1, [0.0] * 5)), over_runs("accuracy", runs(1, [-0.1, -0.05, 0, 0.1, 0.2]))
    assert alike.between_runs < 0.05
    assert apart.between_runs == pytest.approx(np.std([-0.1, -0.05, 0, 0.1, 0.2], ddof=1), abs=0.03)
    assert apart.score.high - apart.score.low > 1.2 * (alike.score.high - alike.score.low)
    assert apart.score.estimate == pytest.approx(np.mean(apart.runs))


def test_over_runs_when_on_these_problems_then_only_runs_and_luck_count():
    made = over_runs("accuracy", runs(2, [0.0] * 6), population="these problems")
    assert made.score.high - made.score.low < 0.2
    assert made.score.low <= made.score.estimate <= made.score.high


def test_difference_when_runs_vary_then_one_run_of_each_does_not_decide():
    a, b = runs(3, [0.0, 0.12]), runs(3, [0.1, 0.02])
    over = difference_over_runs("accuracy", a, b).bounds(0.95)
    assert over[0] < 0 < over[1]
    single = difference_over_runs("accuracy", a, b[:1])
    assert single.error > 0, "the single run is taken to vary as the others do"


def test_over_runs_when_there_is_one_then_refused():
    with pytest.raises(UsageError, match="two or more of them"):
        over_runs("accuracy", runs(4, [0.0]))
    assert interval("accuracy", runs(4, [0.0])[0]).problems == 60
