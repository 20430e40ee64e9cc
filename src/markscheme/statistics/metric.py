"""What a metric is: a value per problem from its samples, and how far luck alone may have moved each value."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError
from markscheme.statistics import sequential
from markscheme.statistics.counts import Counts
from markscheme.statistics.fixed_set import ALIKE, Sampled, Spread, sampled, spread
from markscheme.statistics.solve_rates import Estimator, fit, moments

Floats = npt.NDArray[np.float64]
_SHOWING = 5  # samples that show a problem's noise well enough, whatever the others have


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

    def filled_in(self, counts: Counts, right: bool) -> Counts:
        """The counts if every missing sample were wrong, or right."""
        return counts.filled_in(right)

    def expected(self, counts: Counts) -> Floats:
        """The values, and for problems with too few samples what the others let one expect, nan without any sample."""
        return self.values(counts)

    def on_these(self, counts: Counts) -> Sampled | Spread:
        """The mean over exactly these problems, and how far off sampling may have put it."""
        # A value that takes k of n samples is at most as uncertain as n/k independent ones (Hoeffding).
        return sampled(self.values(counts), self.noise(counts), counts.n / self.k)


class CountMetric(Metric):
    """A metric of the number of samples and of correct ones.

    `every` says of pass@k and pass^k which it is: these have an estimate where problems were asked by need, in rounds.
    """

    def __init__(self, k: int, estimate: Estimator, every: bool | None = None) -> None:
        super().__init__(k)
        self.estimate, self._every = estimate, every

    def values(self, counts: Counts) -> Floats:
        """See `Metric`; of rounds, free of the bias of having been asked by need."""
        if not counts.rounds:
            return self.estimate(counts.n, counts.c, self.k)
        if self.k == 1:
            return sequential.solve_rates(counts.rounds)
        if self._every is None:
            return np.full(len(counts.keys), np.nan)
        return sequential.pass_rates(counts.rounds, self.k, every=self._every)

    def noise(self, counts: Counts) -> Floats:
        """By leaving out one sample at a time; for accuracy this is p(1-p)/(n-1) exactly."""
        if counts.rounds:
            return sequential.noise(counts.rounds) if self.k == 1 else np.full(len(counts.keys), np.inf)
        n, c = counts.n, counts.c
        fewer = np.maximum(n - 1, 0)
        step = self.estimate(fewer, np.minimum(c, fewer), self.k) - self.estimate(fewer, np.maximum(c - 1, 0), self.k)
        mixed = (c > 0) & (c < n)
        variance = np.where(mixed, fewer * c * (n - c) / np.maximum(n, 1) ** 2 * step**2, 0.0)
        return np.where(fewer < self.k, np.inf, variance)

    def expected(self, counts: Counts) -> Floats:
        """See `Metric`; too few samples still tell how often a problem is solved."""
        values = self.values(counts)
        guessed = np.isnan(values) & (counts.n > 0)
        if counts.rounds or not guessed.any() or np.isnan(values).all():
            return values
        mixture = fit(counts.n[counts.n > 0], counts.c[counts.n > 0])
        truth = moments(self.estimate, self.k, self.k, mixture.rates)[0]
        means = mixture.weight @ mixture.expect(np.broadcast_to(truth, mixture.likelihood.shape))
        mean_of = dict(zip(zip(mixture.n.tolist(), mixture.c.tolist(), strict=True), means, strict=True))
        expected = [mean_of[pair] for pair in zip(counts.n[guessed], counts.c[guessed], strict=True)]
        values[guessed] = np.clip(expected, 0, 1)  # a weighted mean of ones may be 1 + 4e-15
        return values

    def on_these(self, counts: Counts) -> Sampled | Spread:
        """See `Metric`.

        Over rounds, pass@k is about as certain as from the samples it uses; what the rates are is told by all samples,
        however they were chosen.
        """
        if counts.rounds and self.k == 1:
            return sequential.on_these(counts.rounds)
        if counts.rounds:
            modelled = spread(self.estimate, self.k, counts.n, counts.c, most=sequential.used(counts.rounds))
            return modelled._replace(estimate=float(np.nanmean(self.values(counts))))
        modelled = spread(self.estimate, self.k, counts.n, counts.c)
        if self._every is None or counts.n.min() < 2 * self.k:
            return modelled.cautious(1.0)
        # Not where hard problems may have far fewer samples: two that agree show no noise, and it is the hard ones' (78 %).
        if self.k == 1 and (counts.n.max() <= ALIKE * counts.n.min() or counts.n.min() >= _SHOWING):
            return sampled(self.values(counts), self.noise(counts), counts.n, modelled.variance)
        # With 2k samples the variance has an unbiased estimate, noisy but free of the mixtures: k hits and k more are
        # independent. Three camps, which are no pair of populations, vary more than these say.
        once, twice = (self.estimate(counts.n, counts.c, k) for k in (self.k, 2 * self.k))
        hit, both = (once, twice) if self._every else (1 - once, 1 - twice)
        return modelled.cautious(0.5, least=float(np.sum(hit**2 - both)) / counts.n.size**2)
