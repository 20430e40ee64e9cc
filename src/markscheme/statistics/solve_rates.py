"""What the solve rates behind some counts may be: pairs of populations, weighed by how well they explain all counts.

Problems learn from each other only as far as the counts show that they are alike (partial pooling). Every pair of a
dictionary of populations is tried, in eleven proportions; nothing is drawn, so the same counts give the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# A metric's unbiased value for each problem, from n samples, c of them correct, and k.
Estimator = Callable[[npt.ArrayLike, npt.ArrayLike, int], Floats]

_SHAPES = (0.1, 0.3, 1.0, 3.0, 10.0)  # Beta(a, b) populations, from two camps at the ends to nearly alike
_POINTS = 20  # populations of one rate each, evenly spread over the angles
_SHARES = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98])
_KEPT, _WORSE = 300, 10.0  # mixtures; those whose log-likelihood is that much worse than the best go too
_LARGEST_SUM = 256  # samples up to which moments are summed over every count; beyond, the delta method is exact enough


class RateMixture(NamedTuple):
    """Counts of problems, each distinct one once, and the mixtures that may have made them."""

    n: Ints
    c: Ints
    times: Ints
    rates: Floats
    kernels: Floats  # populations: the chance of each rate, a row each
    likelihood: Floats  # of each distinct count at each rate
    shares: Floats  # of each population in each mixture, a row a mixture
    weight: Floats  # of each mixture

    def expect(self, values: Floats) -> Floats:
        """The mean of `values[count, rate]` given each count, a row per mixture."""
        return self._mixed(self.likelihood * values) / self._mixed(self.likelihood)

    def _mixed(self, values: Floats) -> Floats:
        mixed: Floats = self.shares @ (self.kernels @ values.T + 1e-300)
        return mixed


def fit(n: npt.ArrayLike, c: npt.ArrayLike) -> RateMixture:
    """The mixtures behind these counts; a problem without samples is taken for one like the others."""
    pairs, times = np.unique(np.stack([np.asarray(n), np.asarray(c)]).astype(np.int64), axis=1, return_counts=True)
    return _fit(tuple(pairs[0].tolist()), tuple(pairs[1].tolist()), tuple(times.tolist()))


@lru_cache(maxsize=64)  # every metric of a report asks for the same counts
def _fit(n: tuple[int, ...], c: tuple[int, ...], repeated: tuple[int, ...]) -> RateMixture:
    samples, correct, times = (np.array(part, dtype=np.int64) for part in (n, c, repeated))
    rates, kernels = _populations(max(1, max(n)), max(1, int(samples @ times)))
    logs = correct[:, None] * np.log(rates) + (samples - correct)[:, None] * np.log1p(-rates)
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares, weight = _mixtures(likelihood @ kernels.T + 1e-300, times)
    return RateMixture(samples, correct, times, rates, kernels, likelihood, shares, weight)


def _mixtures(of_kernel: Floats, times: Ints) -> tuple[Floats, Floats]:
    """The shares of populations in each mixture worth keeping, and its weight, from `of_kernel[count, population]`."""
    populations = of_kernel.shape[1]
    first, second = np.triu_indices(populations, 1)
    pairs = np.zeros((_SHARES.size, first.size))
    for row, count in zip(of_kernel, times, strict=True):
        pairs += count * np.log(row[second] + _SHARES[:, None] * (row[first] - row[second]))
    # One population alone counts as much as all its pairs together do for another.
    alone = times @ np.log(of_kernel) + math.log(pairs.size / populations)
    score = np.concatenate([alone, pairs.ravel()])
    likely = np.flatnonzero(score > score.max() - _WORSE)
    best = likely[np.argsort(-score[likely], kind="stable")][:_KEPT]
    weight = np.exp(score[best] - score.max())
    every = np.arange(populations)
    share = np.concatenate([np.ones(populations), np.repeat(_SHARES, first.size)])[best]
    shares, at = np.zeros((best.size, populations)), np.arange(best.size)
    shares[at, np.concatenate([every, np.tile(first, _SHARES.size)])[best]] += share
    shares[at, np.concatenate([every, np.tile(second, _SHARES.size)])[best]] += 1 - share
    return shares, weight / weight.sum()


@lru_cache(maxsize=64)
def _populations(most: int, total: int) -> tuple[Floats, Floats]:
    """The rates looked at, and the dictionary: beta populations, and single rates down to half a hit in all samples."""
    angles, widths = _angles(most, total)
    right, wrong = 2 * np.log(np.sin(angles)), 2 * np.log(np.cos(angles))
    rows = []
    for a in _SHAPES:
        for b in _SHAPES:
            logs = (a - 0.5) * right + (b - 0.5) * wrong
            rows.append(np.exp(logs - logs.max()) * widths)
    points = [(place + 0.5) * math.pi / 2 / _POINTS for place in range(_POINTS)]
    nearer = points[0] / 1.6
    while nearer**2 > 0.5 / total:
        points += [nearer, math.pi / 2 - nearer]
        nearer /= 1.6
    for point in points:
        place = min(max(int(np.searchsorted(angles, point)), 1), angles.size - 1)
        beyond = (point - angles[place - 1]) / (angles[place] - angles[place - 1])
        row = np.zeros(angles.size)
        row[place - 1], row[place] = 1 - beyond, beyond
        rows.append(row)
    kernels = np.array(rows)
    return np.sin(angles) ** 2, kernels / kernels.sum(axis=1, keepdims=True)


def _angles(most: int, total: int) -> tuple[Floats, Floats]:
    """Where rates are looked at: sin² of angles half a standard error apart, the first and last cell halved on and on."""
    count = int(min(300, max(48, math.ceil(math.pi / 2 * 4 * math.sqrt(most)))))
    step = math.pi / 2 / count
    edge = step
    ends: list[float] = []
    widths: list[float] = []
    while edge**2 > 0.1 / total and len(ends) < 12:
        ends.append(0.75 * edge)
        widths.append(edge / 2)
        edge /= 2
    low, low_widths = np.array([*ends, edge / 2])[::-1], np.array([*widths, edge])[::-1]
    inner = (np.arange(1, count - 1) + 0.5) * step
    angles = np.concatenate([low, inner, math.pi / 2 - low[::-1]])
    return angles, np.concatenate([low_widths, np.full(inner.size, step), low_widths[::-1]])


def moments(estimate: Estimator, k: int, n: int, rates: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean, variance and third central moment at each rate of the unbiased estimate from n ≥ k samples."""
    size = n if n <= _LARGEST_SUM else k
    values = estimate(np.full(size + 1, size), np.arange(size + 1), k)
    chance = _binomial(size, rates)
    mean = chance @ values
    if size < n:
        return mean, np.gradient(mean, rates) ** 2 * rates * (1 - rates) / n, np.zeros(rates.size)
    square = chance @ values**2
    third: Floats = chance @ values**3 - 3 * mean * square + 2 * mean**3
    return mean, np.maximum(square - mean**2, 0.0), third


def completed(estimate: Estimator, k: int, n: int, rates: Floats) -> tuple[tuple[Floats, Floats, Floats], Floats]:
    """What n < k samples are expected to give once the rest of the k came back, for each number of correct ones and rate.

    With its moments over what came back: at its true rate it is unbiased.
    """
    correct, rest = np.arange(n + 1), np.arange(k - n + 1)
    totals = correct[:, None] + rest
    values: Floats = estimate(np.full(totals.shape, k), totals, k) @ _binomial(k - n, rates).T
    chance = _binomial(n, rates).T
    mean, square, cube = ((chance * values**power).sum(axis=0) for power in (1, 2, 3))
    return (mean, np.maximum(square - mean**2, 0.0), cube - 3 * mean * square + 2 * mean**3), values


def _binomial(size: int, rates: Floats) -> Floats:
    """The chance of each number of correct samples, a row a rate."""
    correct = np.arange(size + 1)
    logs = np.cumsum(np.log(np.maximum(1, correct)))
    chance: Floats = np.exp(
        logs[size] - logs - logs[::-1] + np.outer(np.log(rates), correct) + np.outer(np.log1p(-rates), size - correct)
    )
    return chance
