"""What the solve rates behind some counts may be: pairs of populations, weighed by how well they explain all counts.

Problems learn from each other only as far as the counts show that they are alike (partial pooling). Every pair of a
dictionary of populations is tried, in eleven proportions; nothing is drawn, so the same counts give the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_SHAPES = (0.1, 0.3, 1.0, 3.0, 10.0)  # Beta(a, b) populations, from two camps at the ends to nearly alike
_POINTS = 20  # populations of one rate each, evenly spread over the angles
_SHARES = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98])
_KEPT = 400  # pairs; those that explain the counts 100,000 times worse than the best go too
_LARGEST_SUM = 256  # samples up to which moments are summed over every count; beyond, the delta method is exact enough


class RateMixture(NamedTuple):
    """Counts of problems, each distinct one once, and the mixtures that may have made them."""

    n: Ints
    c: Ints
    times: Ints
    rates: Floats
    kernels: Floats
    """Populations: the chance of each rate, a row each."""
    likelihood: Floats
    """Of each distinct count at each rate."""
    first: Ints
    second: Ints
    share: Floats
    """Of the first population; one mixture an entry, as in `weight`."""
    weight: Floats

    def expect(self, values: Floats) -> Floats:
        """The mean of `values[count, rate]` given each count, a row per mixture."""
        return self._mixed(self.likelihood * values) / self._mixed(self.likelihood)

    def _mixed(self, values: Floats) -> Floats:
        of_kernel = values @ self.kernels.T + 1e-300
        share = self.share[:, None]
        mixed: Floats = share * of_kernel[:, self.first].T + (1 - share) * of_kernel[:, self.second].T
        return mixed


def fit(n: npt.ArrayLike, c: npt.ArrayLike) -> RateMixture:
    """The mixtures behind these counts; a problem without samples is taken for one like the others."""
    pairs, times = np.unique(np.stack([np.asarray(n), np.asarray(c)]).astype(np.int64), axis=1, return_counts=True)
    samples, correct = pairs
    total = max(1, int(samples @ times))
    angles, widths = _angles(max(1, int(samples.max())), total)
    rates = np.sin(angles) ** 2
    logs = correct[:, None] * np.log(rates) + (samples - correct)[:, None] * 2 * np.log(np.cos(angles))
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    kernels = _populations(angles, widths, total)
    of_kernel = likelihood @ kernels.T + 1e-300
    first, second = np.triu_indices(kernels.shape[0], 1)
    scores = np.zeros((_SHARES.size, first.size))
    for row, count in zip(of_kernel, times, strict=True):
        one, two = row[first], row[second]
        scores += count * np.log(_SHARES[:, None] * one + (1 - _SHARES[:, None]) * two)
    alone = times @ np.log(of_kernel)
    # One population alone counts as much as all its pairs together do for another.
    score = np.concatenate([alone + math.log(scores.size / alone.size), scores.ravel()])
    weight = np.exp(score - score.max())
    best = np.argsort(-weight, kind="stable")[:_KEPT]
    best = best[weight[best] > 1e-5]
    singles = np.arange(alone.size)
    return RateMixture(
        samples,
        correct,
        times,
        rates,
        kernels,
        likelihood,
        np.concatenate([singles, np.tile(first, _SHARES.size)])[best],
        np.concatenate([singles, np.tile(second, _SHARES.size)])[best],
        np.concatenate([np.ones(alone.size), np.repeat(_SHARES, first.size)])[best],
        weight[best] / weight[best].sum(),
    )


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


def _populations(angles: Floats, widths: Floats, total: int) -> Floats:
    """The dictionary: beta populations, and single rates down to half a correct answer in all samples."""
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
    normalised: Floats = kernels / kernels.sum(axis=1, keepdims=True)
    return normalised


def moments(estimate: Callable[[Ints, Ints], Floats], k: int, n: int, rates: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean, variance and third central moment at each rate of an unbiased estimate from n samples.

    With fewer than k samples there is no estimate: then only the mean, what k samples would have, and no variance.
    """
    if n < k or n > _LARGEST_SUM:
        mean = _sums(estimate, k, rates)[0]
        if n < k:
            return mean, np.zeros(rates.size), np.zeros(rates.size)
        spread: Floats = np.gradient(mean, rates) ** 2 * rates * (1 - rates) / n
        return mean, spread, np.zeros(rates.size)
    return _sums(estimate, n, rates)


def _sums(estimate: Callable[[Ints, Ints], Floats], n: int, rates: Floats) -> tuple[Floats, Floats, Floats]:
    correct = np.arange(n + 1)
    values = estimate(np.full(n + 1, n), correct)
    logs = np.cumsum(np.log(np.maximum(1, correct)))
    chance = np.exp(
        logs[n] - logs - logs[::-1] + np.outer(np.log(rates), correct) + np.outer(np.log1p(-rates), n - correct)
    )
    mean = chance @ values
    square = chance @ values**2
    third: Floats = chance @ values**3 - 3 * mean * square + 2 * mean**3
    return mean, np.maximum(square - mean**2, 0.0), third
