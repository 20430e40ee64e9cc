"""Picking one answer out of k samples: majority vote over classes of equal answers, and best of k by a score.

Samples come as answer-class ids (equal answers share an id; -1 is no answer, which casts no vote) and whether each is
correct. Both estimates average over all ways to draw k of the n samples without replacement; ties are averaged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import msgspec
import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

NO_ANSWER = -1
_EXACT_WORK = 20_000_000  # multiplications of the exact computation: a fraction of a second
_LARGEST_EXACT = 500  # beyond this k the probabilities are too small for floating point
_DRAWS = 20_000


class Vote(msgspec.Struct, frozen=True):
    """A problem's chance that the vote is correct."""

    value: float
    """nan with fewer than k samples."""
    standard_error: float = 0.0
    """0 where the value is exact, else that of the Monte Carlo draws."""


def maj_at_k(
    classes: npt.ArrayLike,
    correct: npt.ArrayLike,
    k: int,
    weights: npt.ArrayLike | None = None,
    seed: int = 0,
) -> Vote:
    """maj@k of one problem: how often the most voted class of k samples is correct; no vote at all is not correct.

    With `weights` each sample's vote counts that much, and the value is drawn rather than exact.
    """
    labels, right = _samples(classes, correct)
    if k < 1:
        raise UsageError(f"k must be at least 1, not {k}")
    if labels.size < k:
        return Vote(math.nan)
    if weights is not None:
        strength = np.asarray(weights, dtype=float)
        if strength.shape != labels.shape or not np.all(np.isfinite(strength)) or np.any(strength < 0):
            raise UsageError("weights of votes must be one finite, non-negative number per sample")
        return _drawn_vote(labels, right, strength, k, seed)
    sizes, worth = _classes(labels, right)
    if not worth.any():
        return Vote(0.0)
    if k > _LARGEST_EXACT or k * k * len(set(sizes.tolist())) * int(sizes[worth > 0].max()) > _EXACT_WORK:
        return _drawn_vote(labels, right, np.ones(labels.size), k, seed)
    order = np.lexsort((worth, sizes))  # problems whose votes fall alike are worked out once
    return Vote(_exact_vote(tuple(sizes[order].tolist()), tuple(worth[order].tolist()), labels.size, k))


def _classes(labels: Ints, right: npt.NDArray[np.bool_]) -> tuple[Ints, Floats]:
    """Of every answered class its size and its share of correct samples, which is 0 or 1 if the marker is consistent."""
    answered = labels != NO_ANSWER
    _, inverse, sizes = np.unique(labels[answered], return_inverse=True, return_counts=True)
    return sizes, np.bincount(inverse, weights=right[answered], minlength=sizes.size) / np.maximum(sizes, 1)


@lru_cache(maxsize=4096)
def _exact_vote(class_sizes: tuple[int, ...], class_worth: tuple[float, ...], n: int, k: int) -> float:
    """The sum over classes w and their votes v: w has v votes, t other classes have v too, none has more, 1/(t + 1).

    Draws without replacement are independent binomials given their total, so the chance of a total of k is a
    coefficient of a product of polynomials, one per class. The factor 1/(t + 1) is the integral of y^t over [0, 1];
    with y on the terms of degree v, Gauss's rule makes that integral exact.
    """
    sizes, worth = np.array(class_sizes), np.array(class_worth)
    rate = k / n
    masses = {int(size): _binomial(int(size), rate, k) for size in np.unique(sizes)}
    silent = _binomial(n - int(sizes.sum()), rate, k)
    total = _binomial(n, rate, k)[k]
    value = 0.0
    for size in np.unique(sizes[worth > 0]):
        others = sizes.tolist()
        others.remove(int(size))
        times = {other: others.count(other) for other in set(others)}
        share = 0.0
        for votes in range(1, min(int(size), k) + 1):
            nodes, node_weights = np.polynomial.legendre.leggauss(k // votes // 2 + 1)
            for node, node_weight in zip((nodes + 1) / 2, node_weights / 2, strict=True):
                left = silent[: k - votes + 1]
                for other, count in times.items():
                    capped = masses[other][: votes + 1].copy()
                    if capped.size > votes:
                        capped[votes] *= node
                    left = _times(left, _power(capped, count, k - votes), k - votes)
                share += node_weight * masses[int(size)][votes] * (left[k - votes] if left.size > k - votes else 0.0)
        value += share * float(worth[sizes == size].sum())
    return float(min(1.0, value / total))


def _binomial(size: int, rate: float, highest: int) -> Floats:
    """The binomial probabilities 0 … min(size, highest), in logarithms so that nothing overflows."""
    j = np.arange(min(size, highest) + 1)
    if rate == 1.0:
        return np.where(j == size, 1.0, 0.0)
    steps = np.log(np.maximum(size - j[:-1], 1)) - np.log(j[1:]) + math.log(rate) - math.log1p(-rate)
    logs: Floats = size * math.log1p(-rate) + np.concatenate([[0.0], np.cumsum(steps)])
    return np.exp(logs)


def _times(a: Floats, b: Floats, degree: int) -> Floats:
    product: Floats = np.convolve(a, b)[: degree + 1]
    return product


def _power(base: Floats, exponent: int, degree: int) -> Floats:
    result = np.ones(1)
    while exponent:
        if exponent % 2:
            result = _times(result, base, degree)
        base = _times(base, base, degree)
        exponent //= 2
    return result


def _drawn_vote(labels: Ints, right: npt.NDArray[np.bool_], strength: Floats, k: int, seed: int) -> Vote:
    rng = np.random.default_rng(seed)
    present, inverse, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    worth = np.bincount(inverse, weights=right) / sizes
    votes = np.where(labels == NO_ANSWER, 0.0, strength)
    block = max(1, 5_000_000 // labels.size)
    outcomes = []
    for start in range(0, _DRAWS, block):
        rows = min(block, _DRAWS - start)
        order = np.argpartition(rng.random((rows, labels.size)), k - 1, axis=1)[:, :k]
        sums = np.zeros((rows, present.size))
        np.add.at(sums, (np.arange(rows)[:, None], inverse[order]), votes[order])
        top = sums.max(axis=1, keepdims=True)
        tied = (sums >= top - 1e-12) & (top > 0)
        outcomes.append(tied @ worth / np.maximum(tied.sum(axis=1), 1))
    each = np.concatenate(outcomes)
    return Vote(float(each.mean()), float(each.std(ddof=1) / math.sqrt(each.size)))


def best_of_k(scores: npt.ArrayLike, correct: npt.ArrayLike, k: int) -> float:
    """How often the sample with the highest score among k is correct, exactly; a missing score (nan) ranks last.

    nan with fewer than k samples.
    """
    rank, right = np.asarray(scores, dtype=float), np.asarray(correct, dtype=bool)
    if rank.shape != right.shape or rank.ndim != 1:
        raise UsageError("scores and marks must be two lists with one entry per sample each")
    if k < 1:
        raise UsageError(f"k must be at least 1, not {k}")
    if rank.size < k:
        return math.nan
    _, level, ties = np.unique(np.where(np.isnan(rank), -np.inf, rank), return_inverse=True, return_counts=True)
    share = np.bincount(level, weights=right) / ties
    # All k at or below a level: C(m, k) / C(n, k). The best sits on a level when that holds for it but not below it.
    at_or_below = np.cumsum(ties)
    j = np.arange(k)
    within = np.prod(np.maximum(at_or_below[:, None] - j, 0) / (rank.size - j), axis=1)
    return float(np.diff(within, prepend=0.0) @ share)


def _samples(classes: npt.ArrayLike, correct: npt.ArrayLike) -> tuple[Ints, npt.NDArray[np.bool_]]:
    labels, right = np.asarray(classes), np.asarray(correct, dtype=bool)
    if labels.shape != right.shape or labels.ndim != 1 or (labels.size and labels.dtype.kind not in "iu"):
        raise UsageError("answer classes and marks must be two lists with one whole number and one mark per sample")
    return labels.astype(np.int64), right


def classes_of(answers: Sequence[str | None]) -> Ints:
    """Class ids from canonical answers: equal strings share an id, None is no answer."""
    ids: dict[str, int] = {}
    return np.array([NO_ANSWER if a is None else ids.setdefault(a, len(ids)) for a in answers], dtype=np.int64)
