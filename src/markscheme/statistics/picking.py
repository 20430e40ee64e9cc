"""Metrics that pick one of k samples: majority vote and best of k, with what sampling adds to each.

A problem's samples are given random weights (Bayesian bootstrap), k are drawn by these, and the pick is looked at: how
far its chance lies from the estimate, on average, is the noise. That holds for every k up to n, where leaving out one
sample does not.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError
from markscheme.statistics.counts import Counts, Picks
from markscheme.statistics.metric import Metric
from markscheme.statistics.voting import NO_ANSWER, Vote, best_of_k, maj_at_k

Floats = npt.NDArray[np.float64]
_DRAWS = 200  # of weights per problem; only the mean over problems is used
_UNSEEN = 0.5  # samples' worth of weight for an answer that was not seen


class _PickMetric(Metric):
    """What both have in common: samples by problem."""

    def _rows(self, counts: Counts) -> list[Picks]:
        if counts.picks is None:
            raise UsageError("this metric needs the single samples, and only counts are there")
        empty = Picks(np.zeros(0, bool), np.zeros(0, np.int64), {self.field: np.zeros(0)})
        return [counts.picks.get(key, empty) for key in counts.keys]

    def noise(self, counts: Counts) -> Floats:
        """The mean squared distance between the estimate and the chance under random weights."""
        rng = np.random.default_rng(0)
        rows = zip(self._rows(counts), self.values(counts), strict=True)
        return np.array([np.inf if np.isnan(value) else self._noise(row, value, rng) for row, value in rows])

    def _noise(self, row: Picks, value: float, rng: np.random.Generator) -> float:
        raise NotImplementedError


class Majority(_PickMetric):
    """maj@k: the most voted answer of k is correct."""

    needs = "answers"

    def votes(self, counts: Counts) -> list[Vote]:
        """Each problem's value, with its standard error where it had to be drawn."""
        return [maj_at_k(row.answers, row.correct, self.k) for row in self._rows(counts)]

    def values(self, counts: Counts) -> Floats:
        """See `Metric`."""
        return np.array([vote.value for vote in self.votes(counts)])

    def drawn_error(self, counts: Counts) -> float:
        """See `Metric`."""
        errors = [vote.standard_error for vote in self.votes(counts) if vote.value == vote.value]
        return float(np.sqrt(np.sum(np.square(errors)))) / max(1, len(errors))

    def _noise(self, row: Picks, value: float, rng: np.random.Generator) -> float:
        answers, places = np.unique(row.answers, return_inverse=True)
        sizes = np.bincount(places).astype(float)
        worth = np.append(np.bincount(places, weights=row.correct) / sizes, 0.0 if row.correct.any() else 1.0)
        silent = np.append(answers == NO_ANSWER, False)
        shares = rng.dirichlet(np.append(sizes, _UNSEEN), _DRAWS)
        # Two votes by the same weights: the product of their misses is, on average, the square of the chance's.
        misses = []
        for _ in range(2):
            votes = np.where(silent, 0, rng.multinomial(self.k, shares))
            top = votes.max(axis=1, keepdims=True)
            tied = (votes == top) & (top > 0)
            misses.append(tied @ worth / np.maximum(tied.sum(axis=1), 1) - value)
        return max(0.0, float(np.mean(misses[0] * misses[1])))


class BestOf(_PickMetric):
    """best-of-k: the sample with the highest score of k is correct (the lowest, with a minus sign)."""

    needs = "scores"

    def __init__(self, k: int, field: str, sign: float) -> None:
        super().__init__(k)
        self.field, self._sign = field, sign

    def values(self, counts: Counts) -> Floats:
        """See `Metric`."""
        rows = self._rows(counts)
        return np.array([best_of_k(self._sign * row.scores[self.field], row.correct, self.k) for row in rows])

    def _noise(self, row: Picks, value: float, rng: np.random.Generator) -> float:
        scores = self._sign * row.scores[self.field]
        scores = np.where(np.isnan(scores), -np.inf, scores)
        right = row.correct.astype(float)
        if right.min() == right.max():  # another kind of sample was not seen: it may score like any of these
            scores, right = np.append(scores, np.median(scores)), np.append(right, 1 - right[0])
            weights = np.append(np.ones(scores.size - 1), _UNSEEN)
        else:
            weights = np.ones(scores.size)
        order = np.argsort(scores, kind="stable")
        ranked = scores[order]
        starts = np.flatnonzero(np.append(True, ranked[1:] > ranked[:-1]))  # ties are one level
        shares = rng.dirichlet(weights[order], _DRAWS)
        of_level = np.add.reduceat(shares, starts, axis=1)
        correct = np.add.reduceat(shares * right[order], starts, axis=1)
        below = np.cumsum(of_level, axis=1) ** self.k
        chance = np.sum(np.diff(below, prepend=0.0, axis=1) * correct / np.maximum(of_level, 1e-300), axis=1)
        return float(np.mean((chance - value) ** 2))
