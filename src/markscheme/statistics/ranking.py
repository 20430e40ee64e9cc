"""Several models on the same problems, of one or more benchmarks: simultaneous differences, and possible ranks.

Ten models make 45 comparisons, some of which would be wrong at 95 % each. The level of the intervals is raised until
all hold simultaneously, given their correlation (the largest studentised difference). Significance is decided step by
step, largest difference first, and earlier ones no longer count (Romano and Wolf).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import NormalDist
from typing import NamedTuple

import msgspec
import numpy as np

from markscheme.errors import UsageError
from markscheme.statistics.arrays import Floats
from markscheme.statistics.comparison import as_interval, difference_of, shared
from markscheme.statistics.counts import Counts
from markscheme.statistics.difference import Difference, macro_difference, p_value
from markscheme.statistics.intervals import Interval, Population, check_level, macro
from markscheme.statistics.metrics import interval, per_problem

_DRAWS = 20_000


class Ranked(msgspec.Struct, frozen=True):
    """A model, its score, and its possible ranks (1 is best)."""

    name: str
    score: Interval
    best_rank: int
    worst_rank: int


class Pair(msgspec.Struct, frozen=True):
    """The difference of two models, the higher score first."""

    upper: str
    lower: str
    difference: Interval
    p_value: float = 1.0  # adjusted for all comparisons


class Ranking(msgspec.Struct, frozen=True):
    """Models by score, highest first. All intervals of `pairs`, and so all ranks, hold with probability `level`."""

    metric: str
    level: float
    problems: int
    models: tuple[Ranked, ...]
    pairs: tuple[Pair, ...]
    population: Population = "problems drawn"
    caveats: tuple[str, ...] = ()  # what the intervals do not allow for
    best: tuple[str, ...] = ()  # the best model is among these with probability `level`
    comparisons: int = 0  # simultaneous comparisons, over all benchmarks


class _Scored(NamedTuple):
    """The scores of the models, the differences of all pairs, and draws of the scores."""

    scores: dict[str, Interval]
    differences: dict[tuple[str, str], Difference]
    draws: Floats
    problems: int
    caveats: tuple[str, ...] = ()


def rank(
    name: str,
    models: Mapping[str, Counts],
    level: float = 0.95,
    seed: int = 0,
    population: Population = "problems drawn",
) -> Ranking:
    """Rank models by a metric's name, on the problems for which all of them have a value."""
    return rank_over(name, [models], level, seed, population)[0]


def rank_over(
    name: str,
    benchmarks: Sequence[Mapping[str, Counts]],
    level: float = 0.95,
    seed: int = 0,
    population: Population = "problems drawn",
) -> list[Ranking]:
    """Rank the same models on each benchmark, and on average if there are several, all simultaneously."""
    check_level(level)
    if any({*models} != {*benchmarks[0]} or len(models) < 2 for models in benchmarks):
        raise UsageError("a ranking needs at least two models, and the same ones on every benchmark")
    rng = np.random.default_rng(seed)
    scored = [_scored(name, models, level, population, rng) for models in benchmarks]
    if len(scored) > 1:
        scored.append(_averaged(scored))
    tests = [
        (each.draws, names.index(one), names.index(two), _size(p_value(difference)))
        for each in scored
        for names in [[*each.scores]]
        for (one, two), difference in each.differences.items()
    ]
    single, adjusted = _joint(tests, level)
    shown = iter(adjusted)
    return [_ranking(name, each, level, single, shown, population, len(tests)) for each in scored]


def _scored(
    name: str, models: Mapping[str, Counts], level: float, population: Population, rng: np.random.Generator
) -> _Scored:
    parts = dict(zip(models, shared(name, list(models.values())), strict=True))
    scores = {model: interval(name, counts, level, population) for model, counts in parts.items()}
    differences = {
        (one, two): difference_of(name, parts[two], parts[one], population) for one, two in combinations(parts, 2)
    }
    problems = len(next(iter(parts.values())).keys)
    left_out = len(set().union(*(counts.keys for counts in models.values()))) - problems
    caveats = [f"{left_out} problem{'s' * (left_out > 1)} left out because not every run has a value"] * (left_out > 0)
    for model, score in scores.items():
        if score.if_wrong is not None and score.if_right is not None:
            caveats.append(
                f"responses of {model} are missing: its score would be {100 * score.if_wrong:.1f} if all of them are "
                f"wrong, {100 * score.if_right:.1f} if right"
            )
    draws = draw_scores(_covariance(name, parts, scores, population), rng)
    return _Scored(scores, differences, draws, problems, tuple(caveats))


def _averaged(parts: Sequence[_Scored]) -> _Scored:
    """Average over benchmarks, which are independent of each other."""
    return _Scored(
        {model: macro([each.scores[model] for each in parts]) for model in parts[0].scores},
        {pair: macro_difference([each.differences[pair] for each in parts]) for pair in parts[0].differences},
        np.mean([each.draws for each in parts], axis=0),
        sum(each.problems for each in parts),
    )


def _ranking(
    name: str,
    scored: _Scored,
    level: float,
    single: float,
    adjusted: Iterator[float],
    population: Population,
    tests: int,
) -> Ranking:
    pairs = []
    for (one, two), difference in scored.differences.items():
        bounds, p = as_interval(difference, single, scored.problems), next(adjusted)
        if difference.estimate < 0:
            one, two = two, one
            bounds = msgspec.structs.replace(bounds, estimate=-bounds.estimate, low=-bounds.high, high=-bounds.low)
        pairs.append(Pair(one, two, bounds, p))
    names = sorted(scored.scores, key=lambda model: -scored.scores[model].estimate)
    place = {model: at for at, model in enumerate(names)}
    sure = [pair for pair in pairs if pair.p_value <= 1 - level]
    above, below = Counter(pair.lower for pair in sure), Counter(pair.upper for pair in sure)
    return Ranking(
        name,
        level,
        scored.problems,
        tuple(Ranked(model, scored.scores[model], 1 + above[model], len(names) - below[model]) for model in names),
        tuple(sorted(pairs, key=lambda pair: (place[pair.upper], place[pair.lower]))),
        population,
        scored.caveats,
        tuple(model for model in names if not above[model]),
        tests,
    )


def _covariance(
    name: str, models: Mapping[str, Counts], scores: Mapping[str, Interval], population: Population
) -> Floats:
    """Return the covariance of the scores: over similar problems as observed, on these exact ones from sampling alone."""
    if population == "these problems":
        errors = [score.half_width / NormalDist().inv_cdf((1 + score.level) / 2) for score in scores.values()]
        return np.diag(np.square(errors))
    values = np.array([per_problem(name, counts) for counts in models.values()])
    return np.atleast_2d(np.cov(values)) / values.shape[1] if values.shape[1] > 1 else np.eye(len(models))


def draw_scores(spread: Floats, rng: np.random.Generator) -> Floats:
    """Draw errors of all scores from a normal distribution with this covariance, one row per draw."""
    # Eigenvalues, since models that agree everywhere make the covariance singular.
    size, direction = np.linalg.eigh(spread)
    drawn: Floats = rng.standard_normal((_DRAWS, len(spread))) @ (direction * np.sqrt(np.maximum(size, 0))).T
    return drawn


def _joint(tests: Sequence[tuple[Floats, int, int, float]], level: float) -> tuple[float, list[float]]:
    """Return the level of each interval at which all hold simultaneously, and each difference's step-down p-value.

    A test is given as draws of the scores, the columns of two of them, and the size of their difference as a z-score.
    """
    sizes = [size for *_, size in tests]
    largest, adjusted = np.zeros(_DRAWS), [1.0] * len(tests)
    order = sorted(range(len(tests)), key=sizes.__getitem__)
    for at in order:  # from the smallest difference on; larger ones no longer count
        draws, one, two, _ = tests[at]
        apart = draws[:, one] - draws[:, two]
        if (deviation := float(apart.std())) > 1e-9:
            largest = np.maximum(largest, np.abs(apart) / deviation)
        adjusted[at] = max(2 * NormalDist().cdf(-sizes[at]), float(np.mean(largest >= sizes[at])))
    for less, more in zip(reversed(order[:-1]), reversed(order[1:]), strict=True):
        adjusted[less] = max(adjusted[less], adjusted[more])
    return level_of_largest(largest, level), adjusted


def level_of_largest(largest: Floats, level: float) -> float:
    """Return the level of single intervals at which all hold, from draws of the largest error in standard errors."""
    return min(max(2 * NormalDist().cdf(float(np.quantile(largest, level))) - 1, level), 1 - 1e-9)


def _size(p: float) -> float:
    """Convert a two-sided p-value to a normal z-score."""
    return -NormalDist().inv_cdf(min(max(p, 1e-12), 1.0) / 2)


def joint_level(spread: Floats, level: float, seed: int = 0) -> float:
    """Return the level of each pairwise interval at which all hold simultaneously, for scores with this covariance."""
    draws = draw_scores(spread, np.random.default_rng(seed))
    return _joint([(draws, one, two, 0.0) for one, two in combinations(range(len(spread)), 2)], level)[0]
