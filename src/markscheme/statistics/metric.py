"""Metrics: a value per problem from its samples, and the sampling noise of each value."""

from __future__ import annotations

from typing import Literal

import numpy as np

from markscheme.errors import UsageError
from markscheme.statistics import batches, sequential
from markscheme.statistics.arrays import Floats
from markscheme.statistics.counts import Counts
from markscheme.statistics.fixed_set import ALIKE, Sampled, Spread, completed, sampled, spread
from markscheme.statistics.solve_rates import Estimator

_SHOWING = 5  # samples that are enough to show a problem's noise


class Metric:
    """A metric for one k. A new one overrides `values` and `noise`; intervals and comparisons follow from these."""

    # What it needs: counts, classes of equal answers, or the score column `field`.
    needs: Literal["counts", "answers", "scores"] = "counts"
    field = ""

    def __init__(self, k: int) -> None:
        if k < 1:
            raise UsageError(f"k must be a whole number of samples, at least 1, not {k}")
        self.k = k

    def values(self, counts: Counts) -> Floats:
        """Return the unbiased estimate for each problem, nan with fewer than k samples."""
        raise NotImplementedError

    def noise(self, counts: Counts) -> Floats:
        """Return the sampling variance of each problem's estimate, infinite if unknown."""
        raise NotImplementedError

    def drawn_error(self, counts: Counts) -> float:  # noqa: ARG002 - for metrics whose values are drawn
        """Return the Monte Carlo standard error of the mean; 0 if it is exact."""
        return 0.0

    def filled_in(self, counts: Counts, right: bool) -> Counts:
        """Return the counts if every missing sample were wrong, or right."""
        return counts.filled_in(right, self.k)

    def extremes(self, counts: Counts) -> tuple[Floats, Floats]:
        """Return each problem's value if every missing sample were wrong, and if right."""
        values = self.values(counts)
        wrong, right = (self.values(self.filled_in(counts, if_right)) for if_right in (False, True))
        return np.fmin(np.nan_to_num(wrong, nan=0.0), values), np.fmax(np.nan_to_num(right, nan=1.0), values)

    def expected(self, counts: Counts) -> Floats:
        """Return the values, imputed for problems with too few samples; nan without any.

        Their mean is the headline figure. Imputed values are within the extremes, so the headline is too.
        """
        values = self.values(counts)
        short = np.isnan(values) & (counts.n > 0)
        if not short.any() or np.isnan(values).all():
            return values
        return np.where(short, np.clip(self._expected(counts), *self.extremes(counts)), values)

    def _expected(self, counts: Counts) -> Floats:
        """Return imputed values for problems with fewer than k samples, before clipping to the extremes."""
        raise NotImplementedError

    def doubt(self, short: Counts, level: float) -> tuple[float, float]:  # noqa: ARG002 - for metrics with a model
        """Return low and high of the mean over problems with fewer than k samples."""
        low, high = self.extremes(short)
        return float(low.mean()), float(high.mean())

    def on_these(self, counts: Counts) -> Sampled | Spread:
        """Return the mean over these exact problems with its sampling distribution."""
        # A value from k of n samples is at most as uncertain as n/k independent ones (Hoeffding).
        noise = np.full(counts.n.size, np.inf) if counts.requests else self.noise(counts)
        return sampled(self.expected(counts), noise, np.maximum(counts.independent, 1) / self.k)


class CountMetric(Metric):
    """A metric of the numbers of samples and correct samples.

    `every` is False for pass@k and True for pass^k, which also have estimates for adaptive rounds and for requests.
    """

    def __init__(self, k: int, estimate: Estimator, every: bool | None = None) -> None:
        super().__init__(k)
        self.estimate, self._every = estimate, every

    def values(self, counts: Counts) -> Floats:
        """See `Metric`. Rounds are corrected for adaptive sampling; requests count as units, if there are at least k."""
        if self.k > 1 and self._every is not None and counts.requests and counts.independent.max() >= self.k:
            return batches.pass_rates(counts.batches(), self.k, self._every)
        if not counts.rounds:
            return self.estimate(counts.n, counts.c, self.k)
        if self.k == 1:
            return sequential.solve_rates(counts.rounds)
        if self._every is None:
            return np.full(len(counts.keys), np.nan)
        return sequential.pass_rates(counts.rounds, self.k, every=self._every)

    def noise(self, counts: Counts) -> Floats:
        """Return the jackknife variance over samples; for accuracy this is p(1-p)/(n-1) exactly."""
        if counts.rounds:
            return sequential.noise(counts.rounds) if self.k == 1 else np.full(len(counts.keys), np.inf)
        if counts.requests:
            return batches.noise(counts.batches()) if self.k == 1 else np.full(len(counts.keys), np.inf)
        n, c = counts.n, counts.c
        fewer = np.maximum(n - 1, 0)
        step = self.estimate(fewer, np.minimum(c, fewer), self.k) - self.estimate(fewer, np.maximum(c - 1, 0), self.k)
        mixed = (c > 0) & (c < n)
        variance = np.where(mixed, fewer * c * (n - c) / np.maximum(n, 1) ** 2 * step**2, 0.0)
        return np.where(fewer < self.k, np.inf, variance)

    def _expected(self, counts: Counts) -> Floats:
        if counts.rounds:
            return np.full(len(counts.keys), np.nan)
        plain = self.estimate(counts.n, counts.c, self.k)  # enough samples, but too few requests
        return np.where(np.isnan(plain), completed(self.estimate, self.k, counts.n, counts.c), plain)

    def doubt(self, short: Counts, level: float) -> tuple[float, float]:
        """See `Metric`."""
        return self.on_these(short).bounds(level)

    def on_these(self, counts: Counts) -> Sampled | Spread:
        """See `Metric`. Over rounds, the rates are modelled from all samples, the variance from those pass@k uses."""
        if counts.rounds and self.k == 1:
            return sequential.on_these(counts.rounds)
        if counts.rounds:
            modelled = spread(self.estimate, self.k, counts.n, counts.c, most=sequential.used(counts.rounds))
            return modelled._replace(estimate=float(np.nanmean(self.values(counts))))
        units = counts.independent
        modelled = spread(
            self.estimate, self.k, counts.n, counts.c, most=batches.worth(counts.batches()) if counts.requests else None
        )
        if (expected := self.expected(counts)).size and not np.isnan(expected).all():
            modelled = modelled._replace(estimate=float(np.nanmean(expected)))
        if self._every is None or units.min() < 2 * self.k or (counts.requests and self.k > 1):
            return modelled.cautious(1.0)
        # Not if hard problems may have far fewer samples: two equal samples show no noise (coverage was 78 %).
        if self.k == 1 and (units.max() <= ALIKE * units.min() or units.min() >= _SHOWING or counts.requests):
            return sampled(self.values(counts), self.noise(counts), units, modelled.variance)
        # With 2k samples the variance has an unbiased estimate without the mixtures: k samples and k more are independent.
        # It guards against three camps, which no pair of populations describes.
        once, twice = (self.estimate(counts.n, counts.c, k) for k in (self.k, 2 * self.k))
        hit, both = (once, twice) if self._every else (1 - once, 1 - twice)
        return modelled.cautious(0.5, least=float(np.sum(hit**2 - both)) / counts.n.size**2)
