"""Bands over steps hold together, and the best step's score loses the luck of having been picked."""

import numpy as np
import pytest

from markscheme.errors import UsageError
from markscheme.statistics import from_correct, interval
from markscheme.statistics.series import band_level, learnt_and_forgotten, selection_bias, series


def steps(rates, n, random):
    return [(100 * (at + 1), from_correct([n] * len(each), random.binomial(n, each))) for at, each in enumerate(rates)]


def test_band_when_steps_are_many_then_wider_than_each_alone_and_narrower_than_bonferroni():
    random = np.random.default_rng(1)
    runs = steps(np.tile(random.uniform(0.1, 0.9, 40), (6, 1)), 4, random)
    found = series("accuracy", runs)
    alone = interval("accuracy", runs[0][1])
    careful = interval("accuracy", runs[0][1], 1 - 0.05 / 6)
    first = found.points[0].score
    assert alone.high - alone.low < first.high - first.low < careful.high - careful.low + 1e-9


@pytest.mark.parametrize(("correlation", "least", "most"), [(0.0, 0.99, 0.9921), (0.999, 0.95, 0.955)])
def test_level_when_steps_agree_then_they_cost_little(correlation, least, most):
    spread = np.full((6, 6), correlation) + (1 - correlation) * np.eye(6)
    assert least < band_level(spread, 0.95) < most


def test_luck_when_all_steps_are_alike_then_it_is_that_of_the_highest_of_so_many():
    random = np.random.default_rng(4)
    error, means = 0.03, []
    for _ in range(200):
        seen = 0.5 + random.normal(0, error, 5)
        means.append(seen.max() - selection_bias(seen, np.diag(np.full(5, error**2))))
    assert np.mean(means) == pytest.approx(0.5, abs=0.01)  # the highest of five is 0.035 too high
    assert selection_bias(np.array([0.2, 0.5, 0.9]), np.diag(np.full(3, 1e-6))) < 1e-4


def test_series_when_one_step_is_far_ahead_then_it_is_the_best_and_no_other_may_be():
    random = np.random.default_rng(2)
    rates = np.clip(random.uniform(0.2, 0.5, 60) + np.array([0, 0.4, 0.1])[:, None], 0, 1)
    found = series("accuracy", steps(rates, 8, random))
    assert found.best.step == 200
    assert found.best.others == ()
    assert found.best.corrected.low < found.best.corrected.estimate <= found.best.seen
    assert found.points[0].to_best.high < 0
    assert found.points[2].to_last.estimate == 0
    with pytest.raises(UsageError, match="two or more steps"):
        series("accuracy", steps(rates[:1], 8, random))


def test_problems_when_they_move_then_learnt_and_forgotten():
    before, after = from_correct([8, 8, 8], [0, 8, 4]), from_correct([8, 8, 8], [8, 1, 4])
    learnt, forgotten = learnt_and_forgotten("accuracy", before, after)
    assert [each.key for each in learnt] == ["0"]
    assert [each.key for each in forgotten] == ["1"]


def test_band_when_simulated_then_all_steps_lie_in_it_together():
    """Item-response curves with problems that wobble: nothing that an interval here assumes."""
    random, held, best = np.random.default_rng(8), 0, 0
    t = np.array([-0.6, 0.0, 0.1, 0.2])

    def rates(problems):
        b, a = random.normal(0, 2, problems), random.gamma(2, 0.6, problems)
        return 1 / (1 + np.exp(-(a * (t[:, None] - b) + random.normal(0, 0.3, (4, problems)))))

    for _ in range(60):
        true = rates(20_000).mean(axis=1)
        found = series("accuracy", steps(rates(30), 4, random))
        held += all(
            point.score.low <= score <= point.score.high for point, score in zip(found.points, true, strict=True)
        )
        picked = true[found.best.step // 100 - 1]
        best += found.best.corrected.low <= picked <= found.best.corrected.high
    assert held >= 53
    assert best >= 53
