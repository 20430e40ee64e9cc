"""Comparing while asking: fixed looks, an interval that holds at all of them, and a decision that follows from it."""

import numpy as np
import pytest

from markscheme.errors import UsageError
from markscheme.statistics import from_correct
from markscheme.statistics.looking import look, next_look, schedule


def test_schedule_when_made_then_small_steps_up_to_the_most():
    assert schedule(2, 12) == [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    assert next_look(64, 64) == 64
    assert len(schedule(2, 1000)) < 60


def draw(rng, rates, samples):
    return from_correct(np.full(rates.size, samples), rng.binomial(samples, rates))


def test_look_when_the_gain_is_large_then_better_exactly_where_the_interval_is_above_zero():
    rng = np.random.default_rng(1)
    rates = rng.random(40) * 0.5
    outcomes = set()
    for samples, gain in ((2, 0.0), (3, 0.05), (4, 0.06), (16, 0.2), (32, 0.3), (40, 0.0)):
        made = look(draw(rng, rates, 16), draw(rng, rates + gain, samples), 0.1)
        assert (made.outcome == "better") is (made.difference.low > 0)
        assert made.difference.low <= made.difference.estimate <= made.difference.high
        outcomes.add(made.outcome)
    assert outcomes == {"better", "not better by the margin", "open"}


def test_look_when_looked_at_again_and_again_then_an_equal_model_is_rarely_called_better():
    rng = np.random.default_rng(2)
    called = 0
    for _ in range(40):
        rates = rng.beta(0.5, 0.5, 20)
        a, b = (rng.random((20, 24)) < rates[:, None] for _ in range(2))
        parts = ([from_correct(np.full(20, n), each[:, :n].sum(axis=1)) for each in (a, b)] for n in schedule(2, 24))
        called += any(look(*pair, 0.1, both=True).outcome == "better" for pair in parts)
    assert called <= 6, "5 % of 40, and three standard deviations"


def test_look_when_the_margin_is_not_a_share_then_refused():
    with pytest.raises(UsageError, match="must be a share"):
        look(from_correct([4], [2]), from_correct([4], [2]), 5)
