"""Several models on the same problems: differences that hold all at once, and what each model's rank can be.

With ten models there are 45 comparisons, and at 95 % each some will be wrong. Here the level of each is raised until
all of them hold together with the asked probability, no more than their correlation demands.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from statistics import NormalDist

import msgspec
import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError
from markscheme.statistics.comparison import difference_interval
from markscheme.statistics.counts import Counts
from markscheme.statistics.intervals import Interval, check_level, mean_interval
from markscheme.statistics.metrics import noise, per_problem

Floats = npt.NDArray[np.float64]

_DRAWS = 20_000


class Ranked(msgspec.Struct, frozen=True):
    """A model, its score, and the ranks (1 is best) that the differences leave open."""

    name: str
    score: Interval
    best_rank: int
    worst_rank: int


class Pair(msgspec.Struct, frozen=True):
    """The difference of two models, the one with the higher score first."""

    upper: str
    lower: str
    difference: Interval


class Ranking(msgspec.Struct, frozen=True):
    """Models by falling score. All intervals of `pairs`, and so all ranks, hold together with probability `level`."""

    metric: str
    level: float
    problems: int
    models: tuple[Ranked, ...]
    pairs: tuple[Pair, ...]


def rank(metric: str, models: Mapping[str, Counts], level: float = 0.95, seed: int = 0) -> Ranking:
    """Rank models by a metric's name, on the problems that all of them have a value for."""
    check_level(level)
    if len(models) < 2:
        raise UsageError("a ranking needs at least two models")
    names, values, noises = _shared(metric, models)
    order = np.argsort(-values.mean(axis=1), kind="stable")
    names, values, noises = [names[i] for i in order], values[order], noises[order]
    single = joint_level(values, level, seed)
    pairs = tuple(
        Pair(names[i], names[j], difference_interval(values[i] - values[j], single, noises[i] + noises[j]))
        for i, j in combinations(range(len(names)), 2)
    )
    below = {name: sum(pair.upper == name and pair.difference.low > 0 for pair in pairs) for name in names}
    above = {name: sum(pair.lower == name and pair.difference.low > 0 for pair in pairs) for name in names}
    ranked = tuple(
        Ranked(name, mean_interval(values[i], level, noises[i]), 1 + above[name], len(names) - below[name])
        for i, name in enumerate(names)
    )
    return Ranking(metric, level, values.shape[1], ranked, pairs)


def joint_level(values: Floats, level: float, seed: int = 0) -> float:
    """The level at which every single pairwise interval must stand so that all of them do at `level` together.

    From the distribution of the largest of all studentised differences, drawn as normal with the covariance seen
    between models. Models that agree on most problems cost little.
    """
    rng = np.random.default_rng(seed)
    spread = np.atleast_2d(np.cov(values)) if values.shape[1] > 1 else np.eye(values.shape[0])
    # Eigenvalues, since models that agree everywhere make the covariance singular.
    size, direction = np.linalg.eigh(spread)
    scores = rng.standard_normal((_DRAWS, values.shape[0])) @ (direction * np.sqrt(np.maximum(size, 0))).T
    largest = np.zeros(_DRAWS)
    for i, j in combinations(range(values.shape[0]), 2):
        variance = spread[i, i] + spread[j, j] - 2 * spread[i, j]
        if variance > 1e-12:
            largest = np.maximum(largest, np.abs(scores[:, i] - scores[:, j]) / np.sqrt(variance))
    found = 2 * NormalDist().cdf(float(np.quantile(largest, level))) - 1
    return min(max(found, level), 1 - 1e-9)


def _shared(metric: str, models: Mapping[str, Counts]) -> tuple[list[str], Floats, Floats]:
    """Values and noises, a row per model, on the problems where every model has a value."""
    keys = set.intersection(*(set(counts.keys) for counts in models.values()))
    common = [key for key in next(iter(models.values())).keys if key in keys]
    parts = [counts.select(common) for counts in models.values()]
    values = np.array([per_problem(metric, part) for part in parts])
    noises = np.array([noise(metric, part) for part in parts])
    kept = ~np.isnan(values).any(axis=0)
    if not kept.any():
        raise UsageError(f"no problem has a value of {metric} in all runs, so they cannot be ranked")
    return list(models), values[:, kept], noises[:, kept]
