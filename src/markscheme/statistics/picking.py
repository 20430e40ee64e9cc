"""Metrics that pick one of k samples: majority vote and best of k, with what sampling adds to each.

For a vote, a problem's samples are given random weights (Bayesian bootstrap), k are drawn by these, and the pick is
looked at: how far its chance lies from the estimate, on average, is the noise. That holds for every k up to n, where
leaving out one sample does not.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError
from markscheme.statistics.counts import Counts, Picks
from markscheme.statistics.metric import Metric
from markscheme.statistics.voting import NO_ANSWER, Vote, best_of_k, best_weights, maj_at_k

Floats = npt.NDArray[np.float64]
_DRAWS = 100  # of weights per problem; only the mean over problems is used
_UNSEEN = 0.5  # samples' worth of weight for an answer that was not seen
_DRAWN = 3.0


class _PickMetric(Metric):
    """What both have in common: samples by problem, and a vote for each."""

    def _rows(self, counts: Counts) -> list[Picks]:
        if counts.picks is None:
            raise UsageError("this metric needs the single samples, and only counts are there")
        empty = Picks(np.zeros(0, bool), np.zeros(0, np.int64), {self.field: np.zeros(0)})
        return [counts.picks.get(key, empty) for key in counts.keys]

    def _vote(self, row: Picks) -> Vote:
        raise NotImplementedError

    def _noise(self, row: Picks) -> float:
        raise NotImplementedError

    def values(self, counts: Counts) -> Floats:
        """See `Metric`."""
        return np.array([self._vote(row).value for row in self._rows(counts)])

    def noise(self, counts: Counts) -> Floats:
        """See `Metric`."""
        return np.array([np.inf if row.correct.size < self.k else self._noise(row) for row in self._rows(counts)])

    def drawn_error(self, counts: Counts) -> float:
        """See `Metric`."""
        votes = [self._vote(row) for row in self._rows(counts)]
        errors = [vote.standard_error for vote in votes if vote.value == vote.value]
        return float(np.sqrt(np.sum(np.square(errors)))) / max(1, len(errors))

    def filled_in(self, counts: Counts, right: bool) -> Counts:
        """See `Metric`: the missing vote for the most frequent wrong answer, or the right one, and have the best score."""
        rows = {}
        for key, row, lost in zip(counts.keys, self._rows(counts), counts.missing.tolist(), strict=True):
            alike = (
                row.answers[(row.correct == right) & (row.answers != NO_ANSWER)] if row.answers.size else row.answers
            )
            answer = np.bincount(alike).argmax() if alike.size else row.answers.max(initial=NO_ANSWER) + 1
            rows[key] = Picks(
                np.append(row.correct, np.full(lost, right)),
                np.append(row.answers, np.full(lost, answer)) if row.answers.size or not self.field else row.answers,
                {name: np.append(column, np.full(lost, self._best)) for name, column in row.scores.items()},
            )
        return replace(counts.filled_in(right), picks=rows)

    _best = np.inf


class Majority(_PickMetric):
    """maj@k: the most voted answer of k is correct."""

    needs = "answers"

    def _vote(self, row: Picks) -> Vote:
        return _majority(row, self.k)

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
    shares = rng.dirichlet(np.append(sizes, _UNSEEN), _DRAWS)
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

    def _vote(self, row: Picks) -> Vote:
        return _best(row, self.k, self.field, self._sign)

    def _noise(self, row: Picks) -> float:
        return _best_noise(row, self.k, self.field, self._sign)


@lru_cache(maxsize=4096)
def _best(row: Picks, k: int, field: str, sign: float) -> Vote:
    return Vote(best_of_k(sign * row.scores[field], row.correct, k))


@lru_cache(maxsize=4096)
def _best_noise(row: Picks, k: int, field: str, sign: float) -> float:
    """The estimate is a weighted mean of marks: how often the samples that weigh are correct, and how much each weighs.

    That rate is the estimate, drawn towards the problem's own by `_DRAWN` samples: the few that weigh may be all alike.
    """
    squares = float(np.sum(best_weights(sign * row.scores[field], k) ** 2))
    overall = (float(row.correct.sum()) + 0.5) / (row.correct.size + 1)
    rate = (_best(row, k, field, sign).value / squares + _DRAWN * overall) / (1 / squares + _DRAWN)
    return squares * rate * (1 - rate)
