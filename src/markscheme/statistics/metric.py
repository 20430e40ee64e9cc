"""What a metric is: a value per problem from its samples, and how far luck alone may have moved each value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError
from markscheme.statistics import sequential
from markscheme.statistics.counts import Counts
from markscheme.statistics.fixed_set import Sampled, Spread, sampled, spread
from markscheme.statistics.solve_rates import fit, moments

Floats = npt.NDArray[np.float64]
Estimator = Callable[[npt.ArrayLike, npt.ArrayLike], Floats]


class Metric:
    """A metric for one k. A new one overrides `values` and `noise`; the intervals and comparisons follow from these."""

    needs: Literal["counts", "answers", "scores"] = "counts"
    """Beyond counts: which answers are equal, or the score column named `field`."""
    field = ""

    def __init__(self, k: int) -> None:
        if k < 1:
            raise UsageError(f"k must be a whole number of samples, at least 1, not {k}")
        self.k = k

    def values(self, counts: Counts) -> Floats:
        """The unbiased estimate for each problem, nan where fewer than k samples came back."""
        raise NotImplementedError

    def noise(self, counts: Counts) -> Floats:
        """The variance of each problem's estimate from sampling alone, infinite where it cannot be told."""
        raise NotImplementedError

    def drawn_error(self, counts: Counts) -> float:  # noqa: ARG002 - for metrics whose values are drawn
        """The standard error of random draws behind the mean; 0 where it is exact."""
        return 0.0

    def extremes(self, counts: Counts) -> tuple[Floats, Floats]:
        """Each problem's value if all its missing samples were wrong, and if all were right."""
        values = self.values(counts)
        return np.nan_to_num(values, nan=0.0), np.nan_to_num(values, nan=1.0)

    def expected(self, counts: Counts) -> Floats:
        """The values, and for problems with too few samples what the others let one expect, nan without any sample."""
        return self.values(counts)

    def on_these(self, counts: Counts) -> Sampled | Spread:
        """The mean over exactly these problems, and how far off sampling may have put it."""
        # A value that takes k of n samples is at most as uncertain as n/k independent ones (Hoeffding).
        return sampled(self.values(counts), self.noise(counts), counts.n / self.k)


class CountMetric(Metric):
    """A metric of the number of samples and of correct ones."""

    def __init__(self, k: int, estimate: Estimator) -> None:
        super().__init__(k)
        self.estimate = estimate

    def values(self, counts: Counts) -> Floats:
        """See `Metric`; of rounds, free of the bias of having been asked by need."""
        if not counts.rounds:
            return self.estimate(counts.n, counts.c)
        return sequential.solve_rates(counts.rounds) if self.k == 1 else self._of_rounds(counts)

    def _of_rounds(self, counts: Counts) -> Floats:
        return np.full(len(counts.keys), np.nan)

    def noise(self, counts: Counts) -> Floats:
        """By leaving out one sample at a time; for accuracy this is p(1-p)/(n-1) exactly."""
        if counts.rounds:
            return sequential.noise(counts.rounds) if self.k == 1 else np.full(len(counts.keys), np.inf)
        return sampling_noise(self.estimate, counts.n, counts.c)

    def extremes(self, counts: Counts) -> tuple[Floats, Floats]:
        """See `Metric`: the missing samples counted as wrong, and as right."""
        if counts.rounds:
            return super().extremes(counts)
        asked = counts.n + counts.missing
        wrong, right = self.estimate(asked, counts.c), self.estimate(asked, counts.c + counts.missing)
        return np.nan_to_num(wrong, nan=0.0), np.nan_to_num(right, nan=1.0)

    def expected(self, counts: Counts) -> Floats:
        """See `Metric`; too few samples still tell how often a problem is solved."""
        values = self.values(counts)
        guessed = np.isnan(values) & (counts.n > 0)
        if counts.rounds or not guessed.any() or np.isnan(values).all():
            return values
        mixture = fit(counts.n[counts.n > 0], counts.c[counts.n > 0])
        truth = np.array([moments(self.estimate, self.k, int(n), mixture.rates)[0] for n in mixture.n])
        means = mixture.weight @ mixture.expect(truth)
        of_pair = {
            pair: mean for *pair_, mean in zip(mixture.n, mixture.c, means, strict=True) for pair in [tuple(pair_)]
        }
        expected = [of_pair[pair] for pair in zip(counts.n[guessed], counts.c[guessed], strict=True)]
        values[guessed] = np.clip(expected, 0, 1)  # a weighted mean of ones may be 1 + 4e-15
        return values

    def on_these(self, counts: Counts) -> Sampled | Spread:
        """See `Metric`."""
        if counts.rounds:
            if self.k == 1:
                return sequential.on_these(counts.rounds)
            return sampled(self.values(counts), np.full(len(counts.keys), np.nan), np.ones(len(counts.keys)))
        return spread(self.estimate, self.k, counts.n, counts.c)


class PassMetric(CountMetric):
    """pass@k, or pass^k where `every` one of k must be correct."""

    def __init__(self, k: int, estimate: Estimator, every: bool) -> None:
        super().__init__(k, estimate)
        self._every = every

    def _of_rounds(self, counts: Counts) -> Floats:
        return sequential.pass_rates(counts.rounds, self.k, every=self._every)


def sampling_noise(estimate: Estimator, n: npt.ArrayLike, c: npt.ArrayLike) -> Floats:
    """The variance of each problem's estimate from sampling alone, by leaving out one sample at a time.

    Infinite where one sample fewer would leave the estimate undefined.
    """
    samples, correct = np.asarray(n, dtype=np.int64), np.asarray(c, dtype=np.int64)
    fewer = np.maximum(samples - 1, 0)
    step = estimate(fewer, np.minimum(correct, fewer)) - estimate(fewer, np.maximum(correct - 1, 0))
    mixed = (correct > 0) & (correct < samples)
    variance = np.where(mixed, fewer * correct * (samples - correct) / np.maximum(samples, 1) ** 2 * step**2, 0.0)
    return np.where(np.isnan(estimate(fewer, np.zeros_like(fewer))), np.inf, variance)
