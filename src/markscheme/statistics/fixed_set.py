"""Intervals for a score on exactly these problems, when nothing is to be said about others.

The problems are the population (AIME 2024 *is* its thirty problems) and only the model's sampling is random. More
samples narrow this interval without limit, whereas the one in `intervals` has a floor set by the number of problems.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt

from markscheme.statistics import quantiles
from markscheme.statistics.intervals import Interval, check_level

Floats = npt.NDArray[np.float64]


class Sampled(msgspec.Struct, frozen=True):
    """A mean over fixed problems with what is known of its sampling variance."""

    mean: float
    variance: float
    """Estimated without bias; nan where no problem has two samples."""
    freedom: float
    """Degrees of freedom of that estimate (Satterthwaite)."""
    samples: float
    """The number of independent coin flips that would be at least as noisy at any rate."""


def sampled(values: npt.ArrayLike, noise: npt.ArrayLike, n: npt.ArrayLike) -> Sampled:
    """From one value, its sampling variance and its number of samples per problem; problems without a value drop out."""
    y, v, size = (np.asarray(part, dtype=float) for part in (values, noise, n))
    kept = ~np.isnan(y)
    y, v, size = y[kept], v[kept], size[kept]
    total = float(v.sum())
    squares = float(np.sum(v**2 / np.maximum(size - 1, 1)))
    return Sampled(
        mean=float(y.mean()),
        variance=total / y.size**2 if math.isfinite(total) else math.nan,
        freedom=total**2 / squares if math.isfinite(total) and squares > 0 else math.inf,
        samples=y.size**2 / float(np.sum(1 / size)),
    )


def fixed_interval(found: Sampled, level: float, problems: int, undefined: int = 0) -> Interval:
    """A beta interval with as many samples as would give the observed variance.

    Independent problems of different difficulty are never noisier than equal ones, so where the variance cannot be
    seen (one sample each, or every sample alike) the plain binomial one is a safe stand-in.
    """
    check_level(level)
    mean, tail = found.mean, (1 - level) / 2
    size = found.samples
    if found.variance > 0 and 0 < mean < 1:
        # A variance estimated from little counts for less, as in a t interval.
        caution = quantiles.normal(1 - tail) / quantiles.student(1 - tail, max(1.0, found.freedom))
        size = mean * (1 - mean) / found.variance * caution**2
    right, wrong = mean * size, (1 - mean) * size
    low = 0.0 if mean <= 0 else min(mean, quantiles.beta(tail, right + 0.25, wrong + 0.75))
    high = 1.0 if mean >= 1 else max(mean, quantiles.beta(1 - tail, right + 0.75, wrong + 0.25))
    return Interval(
        estimate=mean,
        low=low,
        high=high,
        level=level,
        method="these-problems",
        problems=problems,
        undefined=undefined,
    )
