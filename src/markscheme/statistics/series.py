"""Checkpoints of one training run on the same problems: a simultaneous band, and the best step corrected for selection."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import msgspec
import numpy as np

from markscheme.errors import UsageError
from markscheme.statistics.arrays import Floats
from markscheme.statistics.comparison import Moved, as_interval, compare, difference_of, shared
from markscheme.statistics.counts import Counts
from markscheme.statistics.intervals import Interval, Population, check_level
from markscheme.statistics.metrics import interval, per_problem
from markscheme.statistics.ranking import draw_scores, joint_level, level_of_largest


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One step."""

    step: int
    score: Interval  # with the bounds of the simultaneous band
    to_best: Interval  # this step minus the best, and minus the last; all of these hold simultaneously too
    to_last: Interval


class Best(msgspec.Struct, frozen=True, kw_only=True):
    """The step with the highest score, and that score corrected for selection."""

    step: int
    seen: float
    corrected: Interval
    others: tuple[int, ...]  # steps that may also be the best


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Scores over steps."""

    metric: str
    level: float
    population: Population
    problems: int
    points: tuple[Point, ...]
    best: Best


def series(
    name: str,
    runs: Sequence[tuple[int, Counts]],
    level: float = 0.95,
    population: Population = "problems drawn",
    seed: int = 0,
) -> Series:
    """Return the scores of checkpoints on the problems for which all of them have a value."""
    check_level(level)
    if len(runs) < 2:
        raise UsageError("a series needs two or more steps")
    steps, parts = [step for step, _ in runs], shared(name, [counts for _, counts in runs])
    spread = covariance(name, parts, population)
    each = band_level(spread, level, seed)
    scores = [interval(name, part, each, population) for part in parts]
    best, last = int(np.argmax([score.estimate for score in scores])), len(parts) - 1
    pairs, problems = joint_level(spread, level, seed), len(parts[0].keys)

    def against(other: int, one: int) -> Interval:
        return as_interval(difference_of(name, parts[other], parts[one], population), pairs, problems)

    points = [
        Point(step=step, score=score, to_best=against(best, at), to_last=against(last, at))
        for at, (step, score) in enumerate(zip(steps, scores, strict=True))
    ]
    bias = selection_bias(np.array([score.estimate for score in scores]), spread, seed)
    top = scores[best]
    corrected = msgspec.structs.replace(top, estimate=min(max(top.estimate - bias, top.low), top.high), method="band")
    rivals = tuple(point.step for point in points if point.to_best.high >= 0 and point.step != steps[best])
    found = Best(step=steps[best], seen=top.estimate, corrected=corrected, others=rivals)
    return Series(metric=name, level=level, population=population, problems=problems, points=tuple(points), best=found)


def covariance(name: str, parts: Sequence[Counts], population: Population) -> Floats:
    """Return the covariance of the scores: correlated over similar problems, independent on these exact ones."""
    widths = np.array([interval(name, part, population=population).half_width for part in parts])
    errors = np.maximum(widths / NormalDist().inv_cdf(0.975), 1e-9)
    if population == "these problems":
        return np.diag(errors**2)
    values = np.array([per_problem(name, part) for part in parts])
    centred = values - values.mean(axis=1, keepdims=True)
    size = np.sqrt(np.maximum((centred**2).sum(axis=1), 1e-12))
    together = (centred @ centred.T) / np.outer(size, size)
    np.fill_diagonal(together, 1.0)
    return np.asarray(together * np.outer(errors, errors))


def band_level(spread: Floats, level: float, seed: int = 0) -> float:
    """Return the level of each score's interval at which all of them hold simultaneously."""
    draws = draw_scores(spread, np.random.default_rng(seed))
    return level_of_largest(np.abs(draws / np.sqrt(np.diag(spread))).max(axis=1), level)


def selection_bias(scores: Floats, spread: Floats, seed: int = 0) -> float:
    """Return how much the highest of several noisy scores exceeds its own true value, on average.

    The true scores are assumed to be the observed ones, shrunk towards their mean by the variance that noise adds.
    """
    size = len(scores)
    noise = max(0.0, (np.trace(spread) - spread.sum() / size) / max(1, size - 1))  # of a score against the others' mean
    seen = float(scores.var(ddof=1))
    kept = np.sqrt(max(0.0, 1 - noise / seen)) if seen > 0 else 0.0
    true = scores.mean() + kept * (scores - scores.mean())
    drawn = true + draw_scores(spread, np.random.default_rng(seed))
    chosen = drawn.argmax(axis=1)
    return max(0.0, float(np.mean(drawn[np.arange(len(drawn)), chosen] - true[chosen])))


def learnt_and_forgotten(name: str, before: Counts, after: Counts) -> tuple[tuple[Moved, ...], tuple[Moved, ...]]:
    """Return the problems that the later step solves more often, and less often; largest change first."""
    moved = compare(name, before, after).moved
    return tuple(each for each in moved if each.difference > 0), tuple(each for each in moved if each.difference < 0)
