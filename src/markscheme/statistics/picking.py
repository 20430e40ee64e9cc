"""Picking one answer out of k samples: majority vote over classes of equal answers, and best of k by a score.

Samples come as answer-class ids (equal answers share an id; -1 is no answer, which casts no vote) and whether each is
correct. Both estimates average over all ways to draw k of the n samples without replacement; ties are averaged.

The noise of a vote: a problem's samples are given random weights (Bayesian bootstrap), k are drawn by these, and the pick
is looked at; how far its chance lies from the estimate, on average, is the noise. That holds for every k up to n, where
leaving out one sample does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import msgspec
import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError
from markscheme.statistics.counts import Counts, Picks
from markscheme.statistics.metric import Metric

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

NO_ANSWER = -1
_EXACT_WORK = 2_000_000  # multiplications of the exact computation: some hundredths of a second
_LARGEST_EXACT = 500  # beyond this k the probabilities are too small for floating point
_DRAWS = 20_000
_WEIGHT_DRAWS = 100  # of weights per problem; only the mean over problems is used
_UNSEEN = 0.5  # samples' worth of weight for an answer that was not seen
_PRIOR = 3.0  # samples' worth of weight for a problem's own rate


class Vote(msgspec.Struct, frozen=True):
    """A problem's chance that the vote is correct."""

    value: float  # nan with fewer than k samples
    standard_error: float = 0.0  # 0 where the value is exact, else that of the Monte Carlo draws


def maj_at_k(classes: npt.ArrayLike, correct: npt.ArrayLike, k: int) -> Vote:
    """maj@k of one problem: how often the most voted class of k samples is correct; no vote at all is not correct."""
    labels, right = _samples(classes, correct)
    if k < 1:
        raise UsageError(f"k must be at least 1, not {k}")
    if labels.size < k:
        return Vote(math.nan)
    sizes, worth = _classes(labels, right)
    if not worth.any():
        return Vote(0.0)
    # About k/2 · log k ways to tie, half a circle of n points, a product over sizes.
    if k > _LARGEST_EXACT or k * math.log2(k + 1) * labels.size * len({*sizes.tolist()}) / 4 > _EXACT_WORK:
        return drawn_vote(labels, right, k)
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
    coefficient of a product of polynomials, one per class, looked at on the unit circle. The factor 1/(t + 1) is the
    integral of y^t over [0, 1]; with y on the terms of degree v, Gauss's rule makes that integral exact.
    """
    sizes, worth, rate = np.array(class_sizes), np.array(class_worth), k / n
    half = np.arange((n + 1) // 2 + 1)  # of the circle: the other half is its mirror image
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
            # Up to v - 1 votes in full, v votes with the weight of a tie, more not at all.
            padded = np.concatenate([terms[other], np.zeros((k + 1, halves.size))])
            up_to = np.concatenate([np.zeros((1, halves.size)), np.cumsum(padded, axis=0)])
            product = product * (up_to[votes] + nodes[:, None] * padded[votes]) ** count
        # The coefficient of degree k - v, by the inverse transform.
        chance = np.sum(halves * (product * powers[k - votes].conj()).real, axis=1)
        value += float(weights * _binomial(size, rate, k)[votes] @ chance) * float(worth[sizes == size].sum())
    return float(min(1.0, max(0.0, value / _binomial(n, rate, k)[k])))


@lru_cache(maxsize=4096)
def _ties(most: int, k: int) -> tuple[Ints, Floats, Floats]:
    """Numbers of votes from 1 to `most`, each with the nodes and weights of Gauss's rule on [0, 1] that its ties need."""
    rules = [(votes, np.polynomial.legendre.leggauss(k // votes // 2 + 1)) for votes in range(1, most + 1)]
    votes = np.concatenate([np.full(nodes.size, number) for number, (nodes, _) in rules])
    return (
        votes,
        np.concatenate([(nodes + 1) / 2 for _, (nodes, _) in rules]),
        np.concatenate([weights / 2 for _, (_, weights) in rules]),
    )


def _binomial(size: int, rate: float, highest: int) -> Floats:
    """The binomial probabilities 0 … min(size, highest), in logarithms so that nothing overflows."""
    j = np.arange(min(size, highest) + 1)
    if rate == 1.0:
        return np.where(j == size, 1.0, 0.0)
    steps = np.log(np.maximum(size - j[:-1], 1)) - np.log(j[1:]) + math.log(rate) - math.log1p(-rate)
    logs: Floats = size * math.log1p(-rate) + np.concatenate([[0.0], np.cumsum(steps)])
    return np.exp(logs)


def drawn_vote(labels: Ints, right: npt.NDArray[np.bool_], k: int, seed: int = 0) -> Vote:
    """The same by random draws, where there are too many ways to vote to go through."""
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
    return min(1.0, float(best_weights(rank, k) @ right))  # the weights may sum to 1 + 2e-16


def best_weights(scores: Floats, k: int) -> Floats:
    """How often each sample is the best of k, over all ways to draw k; those with the same score share."""
    _, level, ties = np.unique(np.where(np.isnan(scores), -np.inf, scores), return_inverse=True, return_counts=True)
    # All k at or below a level: C(m, k) / C(n, k). The best sits on a level when that holds for it but not below it.
    at_or_below = np.cumsum(ties)
    j = np.arange(k)
    within = np.prod(np.maximum(at_or_below[:, None] - j, 0) / (scores.size - j), axis=1)
    weights: Floats = (np.diff(within, prepend=0.0) / ties)[level]
    return weights


def _samples(classes: npt.ArrayLike, correct: npt.ArrayLike) -> tuple[Ints, npt.NDArray[np.bool_]]:
    labels, right = np.asarray(classes), np.asarray(correct, dtype=bool)
    if labels.shape != right.shape or labels.ndim != 1 or (labels.size and labels.dtype.kind not in "iu"):
        raise UsageError("answer classes and marks must be two lists with one whole number and one mark per sample")
    return labels.astype(np.int64), right


def classes_of(answers: Sequence[str | None]) -> Ints:
    """Class ids from canonical answers: equal strings share an id, None is no answer."""
    ids: dict[str, int] = {}
    return np.array([NO_ANSWER if a is None else ids.setdefault(a, len(ids)) for a in answers], dtype=np.int64)


class _PickMetric(Metric):
    """What both have in common: samples by problem, and a vote for each."""

    def _rows(self, counts: Counts) -> list[Picks]:
        if counts.picks is None:
            raise UsageError("this metric needs the single samples, and only counts are there")
        empty = Picks(np.zeros(0, bool), np.zeros(0, np.int64), {self.field: np.zeros(0)})
        return [counts.picks.get(key, empty) for key in counts.keys]

    def _vote(self, row: Picks, k: int) -> Vote:
        raise NotImplementedError

    def _noise(self, row: Picks) -> float:
        raise NotImplementedError

    def values(self, counts: Counts) -> Floats:
        return np.array([self._vote(row, self.k).value for row in self._rows(counts)])

    def _expected(self, counts: Counts) -> Floats:
        """See `Metric`: the vote of as many as there are."""
        return np.array([self._vote(row, max(1, min(self.k, row.correct.size))).value for row in self._rows(counts)])

    def noise(self, counts: Counts) -> Floats:
        return np.array([np.inf if row.correct.size < self.k else self._noise(row) for row in self._rows(counts)])

    def drawn_error(self, counts: Counts) -> float:
        votes = [self._vote(row, self.k) for row in self._rows(counts)]
        errors = [vote.standard_error for vote in votes if vote.value == vote.value]
        return float(np.sqrt(np.sum(np.square(errors)))) / max(1, len(errors))

    def filled_in(self, counts: Counts, right: bool) -> Counts:
        """See `Metric`: the missing vote for the most frequent wrong answer, or the right one, and have the best score."""
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


class Majority(_PickMetric):
    """maj@k: the most voted answer of k is correct."""

    needs = "answers"

    def _vote(self, row: Picks, k: int) -> Vote:
        return _majority(row, k)

    def _noise(self, row: Picks) -> float:
        return _majority_noise(row, self.k)


# Rows are told apart by identity: a comparison asks for the same ones again and again.
@lru_cache(maxsize=4096)
def _majority(row: Picks, k: int) -> Vote:
    return maj_at_k(row.answers, row.correct, k)


@lru_cache(maxsize=4096)
def _majority_noise(row: Picks, k: int) -> float:
    rng = np.random.default_rng(row.correct.size)
    answers, places = np.unique(row.answers, return_inverse=True)
    sizes = np.bincount(places).astype(float)
    worth = np.append(np.bincount(places, weights=row.correct) / sizes, 0.0 if row.correct.any() else 1.0)
    silent = np.append(answers == NO_ANSWER, False)
    shares = rng.dirichlet(np.append(sizes, _UNSEEN), _WEIGHT_DRAWS)
    # Two votes by the same weights: the product of their misses is, on average, the square of the chance's.
    misses = []
    for _ in range(2):
        votes = np.where(silent, 0, rng.multinomial(k, shares))
        top = votes.max(axis=1, keepdims=True)
        tied = (votes == top) & (top > 0)
        misses.append(tied @ worth / np.maximum(tied.sum(axis=1), 1) - _majority(row, k).value)
    return max(0.0, float(np.mean(misses[0] * misses[1])))


class BestOf(_PickMetric):
    """best-of-k: the sample with the highest score of k is correct (the lowest, with a minus sign)."""

    needs = "scores"

    def __init__(self, k: int, field: str, sign: float) -> None:
        super().__init__(k)
        self.field, self._sign, self._best = field, sign, sign * np.inf

    def _vote(self, row: Picks, k: int) -> Vote:
        return _best(row, k, self.field, self._sign)

    def _noise(self, row: Picks) -> float:
        return _best_noise(row, self.k, self.field, self._sign)


@lru_cache(maxsize=4096)
def _best(row: Picks, k: int, field: str, sign: float) -> Vote:
    return Vote(best_of_k(sign * row.scores[field], row.correct, k))


@lru_cache(maxsize=4096)
def _best_noise(row: Picks, k: int, field: str, sign: float) -> float:
    """The estimate is a weighted mean of marks: how often the samples that weigh are correct, and how much each weighs.

    That rate is the estimate, drawn towards the problem's own by `_PRIOR` samples: the few that weigh may be all alike.
    """
    squares = float(np.sum(best_weights(sign * row.scores[field], k) ** 2))
    overall = (float(row.correct.sum()) + 0.5) / (row.correct.size + 1)
    rate = (_best(row, k, field, sign).value / squares + _PRIOR * overall) / (1 / squares + _PRIOR)
    return squares * rate * (1 - rate)
