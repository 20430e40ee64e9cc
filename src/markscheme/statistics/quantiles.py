"""Quantile functions, so that the core does not need scipy; accurate to about 1e-7 for levels up to 0.9999."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from markscheme.statistics import weighted_mean

_ENDS = np.array([0.0, 1.0])


def normal(q: float) -> float:
    """Return the standard normal quantile."""
    return NormalDist().inv_cdf(q)


def beta(q: float, a: float, b: float) -> float:
    """Return the quantile of Beta(a, b): a mean of 0 and 1 with Dirichlet weights b and a."""
    return weighted_mean.quantile(q, _ENDS, np.array([b, a], dtype=float))


def share_bounds(rate: float, size: float, level: float, far: float = 0.75) -> tuple[float, float]:
    """Return low and high of a share: by default halfway between Jeffreys' interval (`far` 0.5) and Clopper-Pearson."""
    right, wrong, tail = rate * size, (1 - rate) * size, (1 - level) / 2
    low = 0.0 if rate <= 0 else min(rate, beta(tail, right + 1 - far, wrong + far))
    return low, 1.0 if rate >= 1 else max(rate, beta(1 - tail, right + far, wrong + 1 - far))


@lru_cache(maxsize=4096)  # a plan needs the same few many times
def student(q: float, df: float) -> float:
    """Return the quantile of Student's t, for q above one half."""
    if df > 1000:  # two terms of Fisher's expansion are exact to 1e-8
        z = normal(q)
        return z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)
    # P(|T| > t) is the chance that Beta(df/2, 1/2) falls below df / (df + t²).
    x = beta(2 * (1 - q), df / 2, 0.5)
    return math.sqrt(df * (1 - x) / x)


def detectable(level: float, power: float, freedom: float = math.inf) -> float:
    """Return the true difference that a test detects with this power, in standard errors (approximated noncentral t)."""
    critical = student((1 + level) / 2, freedom)
    return critical * (1 - 1 / (4 * freedom)) + normal(power) * math.sqrt(1 + critical**2 / (2 * freedom))


def student_cdf(t: float, df: float) -> float:
    """P(T <= t) for Student's t."""
    if math.isinf(t) or math.isnan(t):
        return 0.5 if math.isnan(t) else float(t > 0)
    if df > 1000:  # Wallace's normal approximation is exact to 1e-7
        return NormalDist().cdf(math.copysign((8 * df + 1) / (8 * df + 3) * math.sqrt(df * math.log1p(t * t / df)), t))
    tails = weighted_mean.cdf(df / (df + t * t), _ENDS, np.array([0.5, df / 2])) if t else 1.0
    return 1 - tails / 2 if t > 0 else tails / 2
