"""Problems in families (contests, templates with variants): the family is the sampling unit.

The standard error is a jackknife over clusters, with Student's t for their number less one. The interval of a score is
on the logit scale, and never narrower than a bootstrap of clusters with one imagined cluster as far off as clusters
seem to differ. Chosen by measured coverage; see docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from markscheme.statistics import quantiles, weighted_mean
from markscheme.statistics.arrays import Floats

# The number of clusters above which a benchmark's own are used by default.
ENOUGH = 6
_FAR, _NEAR = 0.75, 0.25  # parts of the imagined cluster at either end, as in `intervals`
_UNSEEN = 0.3  # prior weight, in clusters, of clusters at the ends of the scale


def own_clusters(labels: Sequence[str | None]) -> tuple[str, ...]:
    """Return the clusters that a benchmark names for its problems if there are enough, else none."""
    known = tuple(label for label in labels if label is not None)
    return known if len(known) == len(labels) and ENOUGH <= len({*known}) < len(known) else ()


def sums(values: Floats, labels: Sequence[str]) -> tuple[Floats, Floats]:
    """Return the sum of the values of each cluster, and its number of problems."""
    _, places = np.unique(np.asarray(labels), return_inverse=True)
    totals: Floats = np.bincount(places, weights=values).astype(float)
    return totals, np.bincount(places).astype(float)


def standard_error(values: Floats, labels: Sequence[str] = ()) -> tuple[float, int]:
    """Return the jackknife standard error of the mean over problems, and its degrees of freedom.

    Without labels every problem is its own cluster, which gives the usual standard error.
    """
    totals, sizes = sums(values, labels) if labels else (values, np.ones(values.size))
    count = totals.size
    if count < 2:
        return math.inf, 1
    left_out = (totals.sum() - totals) / (sizes.sum() - sizes)
    return math.sqrt((count - 1) / count * float(np.sum((left_out - left_out.mean()) ** 2))), count - 1


def cluster_bounds(values: Floats, labels: Sequence[str], level: float) -> tuple[float, float]:
    """Return low and high of a mean of values in [0, 1] over problems in clusters."""
    mean = float(values.mean())
    error, freedom = standard_error(values, labels)
    if math.isinf(error):
        return 0.0, 1.0
    low, high = _bootstrap(*sums(values, labels), mean, (1 - level) / 2)
    if 0 < mean < 1:
        away = quantiles.student((1 + level) / 2, freedom) * error / (mean * (1 - mean))
        odds = math.log(mean / (1 - mean))
        low, high = min(low, _share(odds - away)), max(high, _share(odds + away))
    return (0.0 if mean <= 0 else min(low, mean)), (1.0 if mean >= 1 else max(high, mean))


def _share(odds: float) -> float:
    return 1 / (1 + math.exp(min(max(-odds, -700.0), 700.0)))


def _bootstrap(totals: Floats, sizes: Floats, mean: float, tail: float) -> tuple[float, float]:
    """Return low and high with Dirichlet weights for clusters, which may have different sizes."""
    count = totals.size
    usual = float(sizes.mean())
    apart = float(np.var(totals / sizes, ddof=1)) / (mean * (1 - mean)) if 0 < mean < 1 else 1.0
    reach = math.sqrt((count * min(1.0, apart) + _UNSEEN) / (count + _UNSEEN))
    ends = np.array([mean - mean * reach, mean + (1 - mean) * reach])
    points, spans = np.append(totals / sizes, ends), np.append(sizes, [usual, usual])

    def quantile(q: float, below: float, above: float) -> float:
        weights = np.append(np.ones(count), [below, above])

        def excess(t: float) -> float:
            # The weighted mean is below t if the sum of sizes times distances from t is negative.
            return weighted_mean.cdf(0.0, (points - t) * spans / spans.max(), weights) - q

        return weighted_mean.root(excess, float(points.min()), float(points.max()), tolerance=1e-7)

    return quantile(tail, _FAR, _NEAR), quantile(1 - tail, _NEAR, _FAR)
