"""Checkpoints of one training on the same problems: scores that hold all at once, and the best of them without its luck."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import msgspec
import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError
from markscheme.statistics.comparison import Moved, as_interval, compare, difference_of, shared
from markscheme.statistics.counts import Counts
from markscheme.statistics.intervals import Interval, Population, check_level
from markscheme.statistics.metrics import interval, per_problem
from markscheme.statistics.ranking import joint_level

Floats = npt.NDArray[np.float64]
DRAWS = 20_000


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One step."""

    step: int
    score: Interval  # with the bounds of the simultaneous band: all steps lie within theirs together
    to_best: Interval  # this step minus the best, and minus the last; all of these hold together, too
    to_last: Interval


class Best(msgspec.Struct, frozen=True, kw_only=True):
    """The step with the highest score, and what that score is without the luck of having been picked."""

    step: int
    seen: float
    corrected: Interval
    others: tuple[int, ...]  # steps that may as well be the best


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
    """The scores of the checkpoints on the problems that all of them have a value for."""
    check_level(level)
    if len(runs) < 2:
        raise UsageError("a series needs two steps or more")
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
    luck = winners_luck(np.array([score.estimate for score in scores]), spread, seed)
    top = scores[best]
    corrected = msgspec.structs.replace(top, estimate=min(max(top.estimate - luck, top.low), top.high), method="band")
    rivals = tuple(point.step for point in points if point.to_best.high >= 0 and point.step != steps[best])
    found = Best(step=steps[best], seen=top.estimate, corrected=corrected, others=rivals)
    return Series(metric=name, level=level, population=population, problems=problems, points=tuple(points), best=found)


def covariance(name: str, parts: Sequence[Counts], population: Population) -> Floats:
    """Of the scores: over problems drawn they go up and down together, on these problems only their own luck moves them."""
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


def _draws(spread: Floats, seed: int) -> Floats:
    size, direction = np.linalg.eigh(spread)
    rng = np.random.default_rng(seed)
    return np.asarray(rng.standard_normal((DRAWS, len(spread))) @ (direction * np.sqrt(np.maximum(size, 0))).T)


def band_level(spread: Floats, level: float, seed: int = 0) -> float:
    """The level at which each score's interval must stand so that all of them hold together."""
    largest = np.abs(_draws(spread, seed) / np.sqrt(np.diag(spread))).max(axis=1)
    return min(max(2 * NormalDist().cdf(float(np.quantile(largest, level))) - 1, level), 1 - 1e-9)


def winners_luck(scores: Floats, spread: Floats, seed: int = 0) -> float:
    """How much the highest of several noisy scores lies above its own true value, on average.

    The true scores are taken to lie nearer to each other than those seen, by as much as noise pulls them apart.
    """
    size = len(scores)
    noise = max(0.0, (np.trace(spread) - spread.sum() / size) / max(1, size - 1))  # of a score against the others' mean
    seen = float(scores.var(ddof=1))
    kept = np.sqrt(max(0.0, 1 - noise / seen)) if seen > 0 else 0.0
    true = scores.mean() + kept * (scores - scores.mean())
    drawn = true + _draws(spread, seed)
    chosen = drawn.argmax(axis=1)
    return max(0.0, float(np.mean(drawn[np.arange(len(drawn)), chosen] - true[chosen])))


def learnt_and_forgotten(name: str, before: Counts, after: Counts) -> tuple[tuple[Moved, ...], tuple[Moved, ...]]:
    """The problems that the later step solves more often, and less often; the furthest first."""
    moved = compare(name, before, after).moved
    return tuple(each for each in moved if each.difference > 0), tuple(each for each in moved if each.difference < 0)
