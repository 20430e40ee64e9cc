"""The three quantile functions the statistics need, so that the core does without scipy.

All stand on the one integral in `weighted_mean`, accurate to about 1e-7 where it matters (levels up to 0.9999).
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from markscheme.statistics import weighted_mean

_ENDS = np.array([0.0, 1.0])


def normal(q: float) -> float:
    """The standard normal quantile."""
    return NormalDist().inv_cdf(q)


def beta(q: float, a: float, b: float) -> float:
    """The quantile of Beta(a, b): a mean of 0 and 1 with Dirichlet weights b and a."""
    return weighted_mean.quantile(q, _ENDS, np.array([b, a], dtype=float))


def student(q: float, df: float) -> float:
    """The quantile of Student's t, for q above one half."""
    if df > 1000:  # the first two terms of Fisher's expansion are exact to 1e-8 from here on
        z = normal(q)
        return z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)
    # P(|T| > t) is the chance that Beta(df/2, 1/2) falls below df / (df + t²).
    x = beta(2 * (1 - q), df / 2, 0.5)
    return math.sqrt(df * (1 - x) / x)
