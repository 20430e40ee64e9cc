"""The distribution of solve rates behind counts: mixtures of two populations, weighted by their likelihood.

Problems share information only as far as the counts show that they are alike (partial pooling). Every pair from a
dictionary of populations is tried in eleven proportions; nothing is random, so the same counts give the same result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from markscheme.statistics.arrays import ArrayLike, Floats, Ints

# The unbiased value of a metric for each problem, from n samples, c correct ones, and k.
Estimator = Callable[[ArrayLike, ArrayLike, int], Floats]

_SHAPES = (0.1, 0.3, 1.0, 3.0, 10.0)  # Beta(a, b) populations, from two camps at the ends to nearly equal rates
_POINTS = 20  # populations with a single rate, evenly spaced in the angle
_SHARES = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98])
_KEPT, _WORSE = 300, 10.0  # mixtures kept, and the largest log-likelihood difference from the best
_LARGEST_SUM = 256  # samples up to which moments are exact sums; beyond, the delta method is accurate enough


class RateMixture(NamedTuple):
    """Distinct counts of problems, and the mixtures that may have generated them."""

    n: Ints
    c: Ints
    times: Ints
    rates: Floats
    kernels: Floats  # probability of each rate, one row per population
    likelihood: Floats  # of each distinct count at each rate
    shares: Floats  # of each population, one row per mixture
    weight: Floats  # of each mixture

    def expect(self, values: Floats) -> Floats:
        """Return the mean of `values[count, rate]` given each count, one row per mixture."""
        return self._mixed(self.likelihood * values) / self._mixed(self.likelihood)

    def _mixed(self, values: Floats) -> Floats:
        mixed: Floats = self.shares @ (self.kernels @ values.T + 1e-300)
        return mixed


def fit(n: ArrayLike, c: ArrayLike) -> RateMixture:
    """Fit the mixtures to counts; a problem without samples is assumed to be like the others."""
    pairs, times = np.unique(np.stack([np.asarray(n), np.asarray(c)]).astype(np.int64), axis=1, return_counts=True)
    return _fit(tuple(pairs[0].tolist()), tuple(pairs[1].tolist()), tuple(times.tolist()))


@lru_cache(maxsize=64)  # every metric of a report fits the same counts
def _fit(n: tuple[int, ...], c: tuple[int, ...], repeated: tuple[int, ...]) -> RateMixture:
    samples, correct, times = (np.array(part, dtype=np.int64) for part in (n, c, repeated))
    rates, kernels = _populations(max(1, max(n)), max(1, int(samples @ times)))
    logs = correct[:, None] * np.log(rates) + (samples - correct)[:, None] * np.log1p(-rates)
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares, weight = _mixtures(likelihood @ kernels.T + 1e-300, times)
    return RateMixture(samples, correct, times, rates, kernels, likelihood, shares, weight)


def _mixtures(of_kernel: Floats, times: Ints) -> tuple[Floats, Floats]:
    """Return the shares of populations in each likely mixture, and its weight, from `of_kernel[count, population]`."""
    populations = of_kernel.shape[1]
    first, second = np.triu_indices(populations, 1)
    pairs = np.zeros((_SHARES.size, first.size))
    for row, count in zip(of_kernel, times, strict=True):
        pairs += count * np.log(row[second] + _SHARES[:, None] * (row[first] - row[second]))
    # A single population has the prior weight of all pairs together, divided by their number.
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
    """Return the grid of rates, and the populations: beta distributions, and single rates down to half a hit in total."""
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
    """Return a grid of angles (rates are their sin²) half a standard error apart, finer at both ends, and its widths."""
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
    """Return mean, variance and third central moment of the unbiased estimate from n ≥ k samples, at each rate."""
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
    """Return the expected value of a problem with n < k samples at each rate, by number of correct ones.

    Its moments over the n samples come first; at the true rate it is unbiased.
    """
    correct, rest = np.arange(n + 1), np.arange(k - n + 1)
    totals = correct[:, None] + rest
    values: Floats = estimate(np.full(totals.shape, k), totals, k) @ _binomial(k - n, rates).T
    chance = _binomial(n, rates).T
    mean, square, cube = ((chance * values**power).sum(axis=0) for power in (1, 2, 3))
    return (mean, np.maximum(square - mean**2, 0.0), cube - 3 * mean * square + 2 * mean**3), values


def _binomial(size: int, rates: Floats) -> Floats:
    """Return the probability of each number of correct samples, one row per rate."""
    correct = np.arange(size + 1)
    logs = np.cumsum(np.log(np.maximum(1, correct)))
    chance: Floats = np.exp(
        logs[size] - logs - logs[::-1] + np.outer(np.log(rates), correct) + np.outer(np.log1p(-rates), size - correct)
    )
    return chance
