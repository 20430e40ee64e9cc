"""Several models on the same problems: differences that hold all at once, and what each model's rank can be.

With ten models there are 45 comparisons, and at 95 % each some will be wrong. Here the level of each is raised until
all of them hold together with the asked probability, no more than their correlation demands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import NormalDist

import msgspec
import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError
from markscheme.statistics.comparison import as_interval, difference_of, shared
from markscheme.statistics.counts import Counts
from markscheme.statistics.intervals import Interval, Population, check_level
from markscheme.statistics.metrics import interval, per_problem

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
    population: Population = "problems drawn"
    caveats: tuple[str, ...] = ()
    """What the intervals do not allow for."""


def rank(
    name: str,
    models: Mapping[str, Counts],
    level: float = 0.95,
    seed: int = 0,
    population: Population = "problems drawn",
) -> Ranking:
    """Rank models by a metric's name, on the problems that all of them have a value for."""
    check_level(level)
    if len(models) < 2:
        raise UsageError("a ranking needs at least two models")
    parts = dict(zip(models, shared(name, list(models.values())), strict=True))
    scores = {model: interval(name, counts, level, population) for model, counts in parts.items()}
    names = sorted(parts, key=lambda model: -scores[model].estimate)
    single = joint_level(_covariance(name, [parts[model] for model in names], population), level, seed)
    problems = len(parts[names[0]].keys)
    pairs = tuple(
        Pair(upper, lower, as_interval(difference_of(name, parts[lower], parts[upper], population), single, problems))
        for upper, lower in combinations(names, 2)
    )
    sure = [pair for pair in pairs if pair.difference.low > 0]
    above, below = Counter(pair.lower for pair in sure), Counter(pair.upper for pair in sure)
    ranked = tuple(Ranked(model, scores[model], 1 + above[model], len(names) - below[model]) for model in names)
    asked = len(set().union(*(counts.keys for counts in models.values())))
    left_out = asked - problems
    caveats = [f"{left_out} problem{'s' * (left_out > 1)} left out: not every run has a value there"] * (left_out > 0)
    for model, score in scores.items():
        if score.if_wrong is not None and score.if_right is not None:
            caveats.append(
                f"responses of {model} are missing: its score would be {100 * score.if_wrong:.1f} if all of them were "
                f"wrong, {100 * score.if_right:.1f} if right"
            )
    return Ranking(name, level, problems, ranked, pairs, population, tuple(caveats))


def _covariance(name: str, models: Sequence[Counts], population: Population) -> Floats:
    """Of the scores, up to a factor: over problems drawn from what was seen, on these problems from sampling alone."""
    if population == "these problems":
        widths = [interval(name, counts, population=population).half_width for counts in models]
        return np.diag(np.square(widths))
    values = np.array([per_problem(name, counts) for counts in models])
    return np.atleast_2d(np.cov(values)) if values.shape[1] > 1 else np.eye(len(models))


def joint_level(spread: Floats, level: float, seed: int = 0) -> float:
    """The level at which every single pairwise interval must stand so that all of them do at `level` together.

    From the distribution of the largest of all studentised differences, drawn as normal with this covariance between
    models. Models that agree on most problems cost little.
    """
    rng = np.random.default_rng(seed)
    # Eigenvalues, since models that agree everywhere make the covariance singular.
    size, direction = np.linalg.eigh(spread)
    scores = rng.standard_normal((_DRAWS, len(spread))) @ (direction * np.sqrt(np.maximum(size, 0))).T
    largest = np.zeros(_DRAWS)
    for i, j in combinations(range(len(spread)), 2):
        variance = spread[i, i] + spread[j, j] - 2 * spread[i, j]
        if variance > 1e-12:
            largest = np.maximum(largest, np.abs(scores[:, i] - scores[:, j]) / np.sqrt(variance))
    needed = 2 * NormalDist().cdf(float(np.quantile(largest, level))) - 1
    return min(max(needed, level), 1 - 1e-9)
