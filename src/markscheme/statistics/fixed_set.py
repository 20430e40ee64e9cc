"""Intervals for a score on these exact problems.

The problems are the population (AIME 2024 *is* its thirty problems), and only the model's sampling is random. The
estimate is the unbiased one; its variance, and how that changes with the score, comes from the mixtures of
`solve_rates`. The interval is a score interval with a correction for skewness.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from markscheme.statistics import quantiles, solve_rates
from markscheme.statistics.arrays import ArrayLike, Bools, Floats, Ints
from markscheme.statistics.intervals import check_level

_ROOM = 4.0  # a bound is within this many standard errors of the estimate or of its expectation by the mixtures
_LEAST_VARIANCE = 0.25  # the smallest variance at a bound, as a share of that at the centre
_MODELLED = 15.0  # weight of the model, in problems that show noise; chosen by coverage and width
ALIKE = 1.5  # problems are pooled with those that have at most this many times their samples


class Spread(NamedTuple):
    """The sampling distribution of the mean of unbiased estimates over fixed problems."""

    estimate: float
    centre: float  # expectation of the truth by the mixtures
    doubt: float  # its variance
    variance: float  # of the estimate at the centre, and its slope in the truth
    variance_slope: float
    third: float  # third central moment, and its slope
    third_slope: float
    freedom: float  # degrees of freedom of the variance
    unsure: float  # relative standard deviation of the variance

    def cautious(self, deviations: float, least: float = 0.0) -> Spread:
        """Raise the variance by this many of its standard deviations: pairs of populations miss three camps, which vary more."""
        return self._replace(variance=max(self.variance * (1 + deviations * self.unsure), least))

    def bounds(self, level: float) -> tuple[float, float]:
        """Return low and high, which always include the estimate."""
        check_level(level)
        z = quantiles.normal((1 + level) / 2)
        # Student's quantile for an uncertain variance, by the first terms of Fisher's expansion.
        z += (z**3 + z) / (4 * self.freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * self.freedom**2)
        low, high = self._bound(-1, z), self._bound(1, z)
        return (0.0 if self.estimate <= 0 else low), (1.0 if self.estimate >= 1 else high)

    def _bound(self, side: int, z: float) -> float:
        reach = max(_ROOM, 1.5 * z)
        room, cap = reach * math.sqrt(self.variance), reach * math.sqrt(self.doubt)
        if side > 0:
            far = min(1.0, max(self.estimate + room, self.centre + cap))
        else:
            far = max(0.0, min(self.estimate - room, self.centre - cap))
        inside, outside = self.estimate, far
        for steps in (np.linspace(0, 1, 1001) ** 2, np.linspace(0, 1, 101)):  # the second refines what the first found
            truths = inside + steps * (outside - inside)
            excluded = np.flatnonzero(~self._holds(truths, side, z)[1:])
            if not excluded.size:
                return float(outside)
            inside, outside = truths[excluded[0]], truths[excluded[0] + 1]
        return float(outside)

    def _holds(self, truths: Floats, side: int, z: float) -> Bools:
        """True for each truth at which the estimate is likely enough, by a normal or a skewed distribution."""
        away = truths - self.centre
        variance = np.maximum(self.variance + self.variance_slope * away, _LEAST_VARIANCE * self.variance)
        error = np.sqrt(variance)
        skewness = np.clip((self.third + self.third_slope * away) / np.maximum(variance, 1e-300) ** 1.5, -1, 1)
        plain = np.abs(truths - self.estimate) <= z * error
        quantile = truths + (-side * z + skewness / 6 * (z * z - 1)) * error
        holds: Bools = plain | ((self.estimate - quantile) * side >= 0)
        return holds


def spread(estimate: solve_rates.Estimator, k: int, n: ArrayLike, c: ArrayLike, most: int | None = None) -> Spread:
    """Return the distribution of a metric's mean over these problems, from n samples and c correct ones of each.

    Problems with far fewer samples than others get populations of their own, since they may be the hard ones. One with
    fewer than k samples counts with its expected value by the mixtures. `most` is the number of samples of a problem
    that the estimate uses, if not all.
    """
    samples, correct = np.asarray(n, dtype=np.int64), np.asarray(c, dtype=np.int64)
    sums = np.zeros(8)
    for members in _strata(samples):
        sums += _sums(estimate, k, solve_rates.fit(samples[members], correct[members]), most or int(samples.max()))
    value, centre, doubt, variance, with_variance, third, with_third, unsure = sums.tolist()
    count = samples.size
    doubt = max(doubt, 1e-30)
    return Spread(
        estimate=float(np.clip(value / count, 0.0, 1.0)),
        centre=centre / count,
        doubt=doubt / count**2,
        variance=variance / count**2,
        variance_slope=with_variance / doubt / count,
        third=third / count**3,
        third_slope=with_third / doubt / count**2,
        freedom=min(1e6, max(3.0, 2 * variance**2 / max(unsure - with_variance**2 / doubt, 1e-300))),
        unsure=math.sqrt(max(unsure, 0.0)) / max(variance, 1e-300),
    )


def completed(estimate: solve_rates.Estimator, k: int, n: Ints, c: Ints) -> Floats:
    """Return the expected value of each problem with some samples but fewer than k; nan for the others.

    Only the missing samples are imputed, so the value is one that they could produce.
    """
    expected = np.full(n.size, np.nan)
    for members in _strata(n):
        short = members[(n[members] > 0) & (n[members] < k)]
        if not short.size:
            continue
        mixture = solve_rates.fit(n[members], c[members])
        for size in np.unique(n[short]).tolist():
            at = mixture.n == size
            values = np.zeros((at.size, mixture.rates.size))
            values[at] = solve_rates.completed(estimate, k, size, mixture.rates)[1][mixture.c[at]]
            of_count = np.zeros(size + 1)
            of_count[mixture.c[at]] = (mixture.weight @ mixture.expect(values))[at]
            rows = short[n[short] == size]
            expected[rows] = of_count[c[rows]]
    held: Floats = np.clip(expected, 0.0, 1.0)  # a weighted mean of ones may be 1 + 4e-15
    return held


def _strata(n: Ints) -> list[Ints]:
    """Group rows with about equal numbers of samples; those without any go with the largest group."""
    groups, left = [], np.flatnonzero(n > 0)
    while left.size:
        alike = n[left] * ALIKE >= n[left].max()
        groups.append(left[alike])
        left = left[~alike]
    silent = np.flatnonzero(n == 0)
    if not groups:
        return [silent]
    largest = max(range(len(groups)), key=lambda place: groups[place].size)
    groups[largest] = np.concatenate([groups[largest], silent])
    return groups


def _sums(estimate: solve_rates.Estimator, k: int, mixture: solve_rates.RateMixture, most: int) -> Floats:
    """Return the moments of sums over problems, which add up over independent groups."""
    n, times, weight = mixture.n, mixture.times, mixture.weight
    values = np.zeros(n.size)
    truth, variance, third, added = (np.zeros((n.size, mixture.rates.size)) for _ in range(4))
    for size in np.unique(n).tolist():
        at = n == size
        if size >= k:
            values[at] = estimate(n[at], mixture.c[at], k)
            moments = solve_rates.moments(estimate, k, min(size, max(k, most)), mixture.rates)
        else:
            moments, completed = solve_rates.completed(estimate, k, size, mixture.rates)
            added[at] = completed[mixture.c[at]]
        truth[at], variance[at], third[at] = moments
    expected, of_variance, of_third, more = (mixture.expect(part) for part in (truth, variance, third, added))
    sums = expected @ times
    centre = float(weight @ sums)
    own = mixture.expect(truth * truth) - expected**2  # of each problem, given the mixture
    # The variance of the imputed samples.
    own_more = (mixture.expect(added * added) - more**2) @ times
    extra = weight @ own_more + weight @ (more @ times - weight @ more @ times) ** 2

    def together(one: Floats, two: Floats, product: Floats) -> float:
        """Return the covariance of two sums over problems, between mixtures and within them."""
        within = (mixture.expect(product) - one * two) @ times
        return float(
            weight @ (within + (one @ times - weight @ (one @ times)) * (two @ times - weight @ (two @ times)))
        )

    return np.array(
        [
            times @ (values + weight @ more),
            centre,
            float(weight @ (own @ times) + weight @ (sums - centre) ** 2),
            float(weight @ (of_variance @ times)) + extra,
            together(expected, of_variance, truth * variance),
            float(weight @ (of_third @ times)),
            together(expected, of_third, truth * third),
            together(of_variance, of_variance, variance * variance),
        ]
    )


class Sampled(NamedTuple):
    """A mean over fixed problems with its estimated sampling variance, without a model of the counts."""

    estimate: float
    variance: float  # unbiased; nan if no problem has two samples
    freedom: float  # its degrees of freedom (Satterthwaite)
    samples: float  # the number of coin flips that would be at least as noisy at any rate

    def bounds(self, level: float) -> tuple[float, float]:
        """Return a beta interval with the number of samples that would give the observed variance.

        Problems of different difficulty are never noisier than equal ones, so the binomial variance is safe if none can
        be observed (one sample each, or all samples equal).
        """
        check_level(level)
        mean, size = self.estimate, self.samples
        if self.variance > 0 and 0 < mean < 1:
            # As in a t interval, allow for an uncertain variance.
            q = (1 + level) / 2
            caution = quantiles.normal(q) / quantiles.student(q, max(1.0, self.freedom))
            size = mean * (1 - mean) / self.variance * caution**2
        return quantiles.share_bounds(mean, size, level)


def sampled(values: ArrayLike, noise: ArrayLike, n: ArrayLike, modelled: float | None = None) -> Sampled:
    """Return the mean of one value per problem, from its sampling variance and number of samples; nan drops out.

    Problems that are always right or never show no variance. While few problems show any, a larger `modelled` variance
    of the mean is blended in. With many samples it matters less, since the mixtures use a grid of rates.
    """
    y, v, size = (np.asarray(part, dtype=float) for part in (values, noise, n))
    kept = ~np.isnan(y)
    y, v, size = y[kept], v[kept], size[kept]
    total = float(v.sum())
    squares = float(np.sum(v**2 / np.maximum(size - 1, 1)))
    # Below 1e-12 a variance is rounding error.
    seen = (total / y.size**2 if total > 1e-12 else 0.0) if math.isfinite(total) else math.nan
    freedom = total**2 / squares if math.isfinite(total) and squares > 0 else math.inf
    if modelled is not None:
        showing = total**2 / float(np.sum(v**2)) if seen else 0.0  # effective number of problems that show noise
        seen += _MODELLED / (showing + _MODELLED) * max(0.0, modelled - seen)
        freedom = math.inf
    return Sampled(float(y.mean()), seen, freedom, y.size**2 / float(np.sum(1 / size)))
