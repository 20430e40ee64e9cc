"""Picking one answer out of k samples: majority vote over classes of equal answers, and best of k by a score.

Samples have an answer class (equal answers share a number; -1 is no answer, which casts no vote) and are correct or not.
Both estimates average over all ways to draw k of the n samples without replacement; ties are averaged.

The noise of a vote comes from a Bayesian bootstrap of a problem's samples, which works for every k up to n, unlike the
jackknife.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import msgspec
import numpy as np

from markscheme.errors import UsageError
from markscheme.statistics.arrays import ArrayLike, Bools, Floats, Ints
from markscheme.statistics.counts import Counts, Picks
from markscheme.statistics.metric import Metric

NO_ANSWER = -1
_EXACT_WORK = 2_000_000  # most multiplications of the exact computation: some hundredths of a second
_LARGEST_EXACT = 500  # for larger k the probabilities underflow
_DRAWS = 20_000
_WEIGHT_DRAWS = 100  # per problem; only the mean over problems is used
_UNSEEN = 0.5  # weight of an answer that was not observed, in samples
_PRIOR = 3.0  # weight of a problem's own rate, in samples


class Vote(msgspec.Struct, frozen=True):
    """The probability that the vote on a problem is correct."""

    value: float  # nan with fewer than k samples
    standard_error: float = 0.0  # of the Monte Carlo draws; 0 if the value is exact


def maj_at_k(classes: ArrayLike, correct: ArrayLike, k: int) -> Vote:
    """Return maj@k of one problem: the probability that the majority of k samples is correct. No vote is not correct."""
    labels, right = _samples(classes, correct)
    if k < 1:
        raise UsageError(f"k must be at least 1, not {k}")
    if labels.size < k:
        return Vote(math.nan)
    sizes, worth = _classes(labels, right)
    if not worth.any():
        return Vote(0.0)
    # The work: about k/2 · log k ties, times half a circle of n points, times distinct class sizes.
    if k > _LARGEST_EXACT or k * math.log2(k + 1) * labels.size * len({*sizes.tolist()}) / 4 > _EXACT_WORK:
        return drawn_vote(labels, right, k)
    order = np.lexsort((worth, sizes))  # problems with the same class sizes share a cache entry
    return Vote(_exact_vote(tuple(sizes[order].tolist()), tuple(worth[order].tolist()), labels.size, k))


def _classes(labels: Ints, right: Bools) -> tuple[Ints, Floats]:
    """Return the size of every answer class and its share of correct samples, 0 or 1 if the marker is consistent."""
    answered = labels != NO_ANSWER
    _, inverse, sizes = np.unique(labels[answered], return_inverse=True, return_counts=True)
    return sizes, np.bincount(inverse, weights=right[answered], minlength=sizes.size) / np.maximum(sizes, 1)


@lru_cache(maxsize=4096)
def _exact_vote(class_sizes: tuple[int, ...], class_worth: tuple[float, ...], n: int, k: int) -> float:
    """Sum over classes and their votes v the probability to win, 1/(t + 1) if t other classes also have v.

    Draws without replacement are independent binomials given their total, so each probability is a coefficient of a
    product of polynomials, one per class, evaluated on the unit circle. The factor 1/(t + 1) is the integral of y^t over
    [0, 1]; with y on the terms of degree v, Gauss-Legendre quadrature is exact.
    """
    sizes, worth, rate = np.array(class_sizes), np.array(class_worth), k / n
    half = np.arange((n + 1) // 2 + 1)  # of the circle; the other half is its conjugate
    powers = np.exp(2j * np.pi * np.outer(np.arange(n + 1), half) / (n + 1))
    halves = np.where((half == 0) | (2 * half == n + 1), 1.0, 2.0) / (n + 1)
    terms = {size: _binomial(size, rate, k)[:, None] * powers[: min(size, k) + 1] for size in {*class_sizes}}
    silent = _binomial(n - sum(class_sizes), rate, k)
    value = 0.0
    for size in np.unique(sizes[worth > 0]).tolist():
        votes, nodes, weights = _ties(min(size, k), k)
        product = np.broadcast_to(silent @ powers[: silent.size], (votes.size, halves.size))
        for other in {*class_sizes}:
            count = class_sizes.count(other) - (other == size)
            # Up to v - 1 votes count fully, v votes with the weight of a tie, more not at all.
            padded = np.concatenate([terms[other], np.zeros((k + 1, halves.size))])
            up_to = np.concatenate([np.zeros((1, halves.size)), np.cumsum(padded, axis=0)])
            product = product * (up_to[votes] + nodes[:, None] * padded[votes]) ** count
        # The coefficient of degree k - v, by the inverse transform.
        chance = np.sum(halves * (product * powers[k - votes].conj()).real, axis=1)
        value += float(weights * _binomial(size, rate, k)[votes] @ chance) * float(worth[sizes == size].sum())
    return float(min(1.0, max(0.0, value / _binomial(n, rate, k)[k])))


@lru_cache(maxsize=4096)
def _ties(most: int, k: int) -> tuple[Ints, Floats, Floats]:
    """Return numbers of votes from 1 to `most`, each with the Gauss-Legendre nodes and weights for its ties."""
    rules = [(votes, np.polynomial.legendre.leggauss(k // votes // 2 + 1)) for votes in range(1, most + 1)]
    votes = np.concatenate([np.full(nodes.size, number) for number, (nodes, _) in rules])
    return (
        votes,
        np.concatenate([(nodes + 1) / 2 for _, (nodes, _) in rules]),
        np.concatenate([weights / 2 for _, (_, weights) in rules]),
    )


def _binomial(size: int, rate: float, highest: int) -> Floats:
    """Return the binomial probabilities 0 … min(size, highest), computed in logarithms."""
    j = np.arange(min(size, highest) + 1)
    if rate == 1.0:
        return np.where(j == size, 1.0, 0.0)
    steps = np.log(np.maximum(size - j[:-1], 1)) - np.log(j[1:]) + math.log(rate) - math.log1p(-rate)
    logs: Floats = size * math.log1p(-rate) + np.concatenate([[0.0], np.cumsum(steps)])
    return np.exp(logs)


def drawn_vote(labels: Ints, right: Bools, k: int, seed: int = 0) -> Vote:
    """Estimate maj@k by random draws, if the exact computation would take too long."""
    rng = np.random.default_rng(seed)
    present, inverse, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    worth = np.bincount(inverse, weights=right) / sizes
    votes = np.where(labels == NO_ANSWER, 0.0, 1.0)
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


def best_of_k(scores: ArrayLike, correct: ArrayLike, k: int) -> float:
    """Return the probability that the sample with the highest score among k is correct; nan with fewer than k.

    A missing score (nan) ranks last.
    """
    rank, right = np.asarray(scores, dtype=float), np.asarray(correct, dtype=bool)
    if rank.shape != right.shape or rank.ndim != 1:
        raise UsageError("scores and marks must be lists with one entry per sample")
    if k < 1:
        raise UsageError(f"k must be at least 1, not {k}")
    if rank.size < k:
        return math.nan
    return min(1.0, float(best_weights(rank, k) @ right))  # the weights may sum to 1 + 2e-16


def best_weights(scores: Floats, k: int) -> Floats:
    """Return how often each sample is the best of k, over all ways to draw k; ties share."""
    _, level, ties = np.unique(np.where(np.isnan(scores), -np.inf, scores), return_inverse=True, return_counts=True)
    # The best of k is at or below a level with probability C(m, k) / C(n, k).
    at_or_below = np.cumsum(ties)
    j = np.arange(k)
    within = np.prod(np.maximum(at_or_below[:, None] - j, 0) / (scores.size - j), axis=1)
    weights: Floats = (np.diff(within, prepend=0.0) / ties)[level]
    return weights


def _samples(classes: ArrayLike, correct: ArrayLike) -> tuple[Ints, Bools]:
    labels, right = np.asarray(classes), np.asarray(correct, dtype=bool)
    if labels.shape != right.shape or labels.ndim != 1 or (labels.size and labels.dtype.kind not in "iu"):
        raise UsageError("answer classes and marks must be lists with one whole number and one mark per sample")
    return labels.astype(np.int64), right


def classes_of(answers: Sequence[str | None]) -> Ints:
    """Number canonical answers: equal strings share a number, None means no answer."""
    ids: dict[str, int] = {}
    return np.array([NO_ANSWER if a is None else ids.setdefault(a, len(ids)) for a in answers], dtype=np.int64)


class _PickMetric(Metric):
    """A metric with single samples by problem and a vote for each."""

    def _rows(self, counts: Counts) -> list[Picks]:
        if counts.picks is None:
            raise UsageError("this metric needs single samples, and there are only counts")
        empty = Picks(np.zeros(0, bool), np.zeros(0, np.int64), {self.field: np.zeros(0)})
        return [counts.picks.get(key, empty) for key in counts.keys]

    def vote(self, row: Picks, k: int) -> Vote:
        """Return the probability that the answer picked out of k samples is correct."""
        raise NotImplementedError

    def vote_noise(self, row: Picks) -> float:
        """Return the sampling variance of that probability."""
        raise NotImplementedError

    def values(self, counts: Counts) -> Floats:
        return np.array([_vote(self, row, self.k).value for row in self._rows(counts)])

    def _expected(self, counts: Counts) -> Floats:
        """See `Metric`: the vote of the samples that came back."""
        return np.array([_vote(self, row, max(1, min(self.k, row.correct.size))).value for row in self._rows(counts)])

    def noise(self, counts: Counts) -> Floats:
        return np.array([np.inf if row.correct.size < self.k else _vote_noise(self, row) for row in self._rows(counts)])

    def drawn_error(self, counts: Counts) -> float:
        votes = [_vote(self, row, self.k) for row in self._rows(counts)]
        errors = [vote.standard_error for vote in votes if vote.value == vote.value]
        return float(np.sqrt(np.sum(np.square(errors)))) / max(1, len(errors))

    def filled_in(self, counts: Counts, right: bool) -> Counts:
        """See `Metric`: missing samples vote for the most frequent wrong answer, or the right one, with the best score."""
        rows = {}
        for key, row, lost in zip(counts.keys, self._rows(counts), counts.lacking(self.k).tolist(), strict=True):
            alike = (
                row.answers[(row.correct == right) & (row.answers != NO_ANSWER)] if row.answers.size else row.answers
            )
            answer = np.bincount(alike).argmax() if alike.size else row.answers.max(initial=NO_ANSWER) + 1
            rows[key] = Picks(
                np.append(row.correct, np.full(lost, right)),
                np.append(row.answers, np.full(lost, answer)) if row.answers.size or not self.field else row.answers,
                {name: np.append(column, np.full(lost, self._best)) for name, column in row.scores.items()},
            )
        return replace(counts.filled_in(right, self.k), picks=rows)

    _best = np.inf


# Rows are cached by identity: a comparison uses the same ones many times.
@lru_cache(maxsize=4096)
def _vote(metric: _PickMetric, row: Picks, k: int) -> Vote:
    return metric.vote(row, k)


@lru_cache(maxsize=4096)
def _vote_noise(metric: _PickMetric, row: Picks) -> float:
    return metric.vote_noise(row)


class Majority(_PickMetric):
    """maj@k: the most voted answer of k is correct."""

    needs = "answers"

    def vote(self, row: Picks, k: int) -> Vote:
        """See `maj_at_k`."""
        return maj_at_k(row.answers, row.correct, k)

    def vote_noise(self, row: Picks) -> float:
        """Return the mean squared error of votes by randomly weighted samples."""
        rng = np.random.default_rng(row.correct.size)
        answers, places = np.unique(row.answers, return_inverse=True)
        sizes = np.bincount(places).astype(float)
        worth = np.append(np.bincount(places, weights=row.correct) / sizes, 0.0 if row.correct.any() else 1.0)
        silent = np.append(answers == NO_ANSWER, False)
        shares = rng.dirichlet(np.append(sizes, _UNSEEN), _WEIGHT_DRAWS)
        # Two independent votes with the same weights: the mean product of their errors is the squared error.
        misses = []
        for _ in range(2):
            votes = np.where(silent, 0, rng.multinomial(self.k, shares))
            top = votes.max(axis=1, keepdims=True)
            tied = (votes == top) & (top > 0)
            misses.append(tied @ worth / np.maximum(tied.sum(axis=1), 1) - _vote(self, row, self.k).value)
        return max(0.0, float(np.mean(misses[0] * misses[1])))


class BestOf(_PickMetric):
    """best-of-k: the sample with the highest score of k is correct (the lowest with a minus sign)."""

    needs = "scores"

    def __init__(self, k: int, field: str, sign: float) -> None:
        super().__init__(k)
        self.field, self._sign, self._best = field, sign, sign * np.inf

    def vote(self, row: Picks, k: int) -> Vote:
        """See `best_of_k`."""
        return Vote(best_of_k(self._sign * row.scores[self.field], row.correct, k))

    def vote_noise(self, row: Picks) -> float:
        """Return the variance of a weighted mean of marks, with a rate shrunk towards the problem's own by `_PRIOR` samples."""
        squares = float(np.sum(best_weights(self._sign * row.scores[self.field], self.k) ** 2))
        overall = (float(row.correct.sum()) + 0.5) / (row.correct.size + 1)
        rate = (_vote(self, row, self.k).value / squares + _PRIOR * overall) / (1 / squares + _PRIOR)
        return squares * rate * (1 - rate)
