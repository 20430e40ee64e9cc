"""The exact distribution of a mean with Dirichlet weights.

With B = sum of D_j v_j and D ~ Dirichlet(w), P(B > t) is the probability that Q = sum of G_j (v_j - t) is positive, where
the G_j are independent gamma variables with shapes w_j. It is a contour integral of Q's moment generating function. If
all values are 0 or 1, B has a beta distribution, which the tests check.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from markscheme.statistics.arrays import Floats

_DIGITS = 23.0  # errors of the integral are about exp(-23) = 1e-10


def cdf(t: float, values: Floats, weights: Floats) -> float:
    """P(B <= t) for positive weights; accurate to about 1e-9."""
    distance = values - t
    if distance.max() <= 0:
        return 1.0
    if distance.min() >= 0:
        return 0.0
    distance /= np.abs(distance).max()  # only the sign of Q matters
    if weights @ distance <= 0:
        return 1.0 - _chance_positive(distance, weights)
    return _chance_positive(-distance, weights)


def quantile(q: float, values: Floats, weights: Floats) -> float:
    """Return the t with P(B <= t) = q."""
    total = float(weights.sum())
    mean = float(weights @ values) / total
    deviation = math.sqrt(float(weights @ (values - mean) ** 2) / total / (total + 1))
    if deviation == 0:
        return mean
    # Cantelli: at most 1/(1 + z²) is beyond z standard deviations on one side.
    reach = 1.01 * math.sqrt(max(q, 1 - q) / min(q, 1 - q)) * deviation
    low, high = max(float(values.min()), mean - reach), min(float(values.max()), mean + reach)
    normal = NormalDist()

    def error(t: float) -> float:  # as a z-score, which is nearly linear in t
        return normal.inv_cdf(min(max(cdf(t, values, weights), 1e-12), 1 - 1e-12)) - normal.inv_cdf(q)

    return root(error, low, high, tolerance=1e-6 * deviation)


def _chance_positive(distance: Floats, weights: Floats) -> float:
    """Return P(Q > 0) for a Q with a mean of at most 0 that takes both signs.

    It is the integral of exp(K(s)) / s along a vertical line right of zero, where K is Q's cumulant generating function.
    Near the saddle point the integrand hardly oscillates, and the trapezoidal rule converges geometrically.
    """
    edge = 1 / float(distance.max())  # K is infinite beyond

    def slope(s: float) -> float:  # K', times a positive factor that keeps it finite at the edge
        return float(np.sum(weights * distance / (1 - s * distance))) * (1 - s / edge)

    # The scale on which exp(K) varies; with many problems much smaller than the edge.
    width = 1 / math.sqrt(float(weights @ distance**2))
    saddle = root(slope, 0.0, edge * (1 - 1e-9), tolerance=0.01 * min(edge, width))
    # Stay away from the pole at zero if t is close to the mean; any line up to the edge gives the same integral.
    line = max(saddle, min(0.5 * edge, width))
    step = 2 * math.pi * min(line, edge - line) / _DIGITS
    tilt = 1 - line * distance

    def decay(y: float) -> float:
        return 0.5 * float(weights @ np.log1p((y * distance / tilt) ** 2))

    reach = step
    while decay(reach) < _DIGITS:
        reach *= 1.5
    # Even steps first, then growing ones, since with few problems the integrand has a long, smooth tail. With a million
    # equal problems it oscillates all the way.
    bend = 100 * step
    if abs(float(weights @ (np.arctan(reach * distance / tilt) - np.arctan(bend * distance / tilt)))) > math.pi:
        bend = max(bend, reach)
    x = np.arange(0.0, bend * math.asinh(reach / bend), step)
    total = 0.0
    for block in np.array_split(x, 1 + x.size * distance.size // 1_000_000):  # at most some tens of MB
        y = bend * np.sinh(block / bend)
        turns = np.outer(distance / tilt, y)
        angle = weights @ np.arctan(turns)
        modulus = np.exp(-0.5 * (weights @ np.log1p(turns * turns)))
        heights = modulus * (line * np.cos(angle) + y * np.sin(angle)) / (line * line + y * y)
        total += float(heights @ np.cosh(block / bend))
    first = 1 / line  # the node at zero has half the weight
    return step / math.pi * math.exp(-float(weights @ np.log(tilt))) * (total - 0.5 * first)


def root(f: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Return the zero of an increasing f between low and high, by the Illinois variant of false position."""
    f_low, f_high = f(low), f(high)
    if f_low >= 0:
        return low
    if f_high <= 0:
        return high
    last = 0
    while high - low > tolerance:
        guess = (low * f_high - high * f_low) / (f_high - f_low)
        if not low < guess < high:  # an end is the root to floating-point precision
            return min(max(guess, low), high)
        value = f(guess)
        if value == 0:
            return guess
        if value > 0:
            high, f_high = guess, value
            f_low = f_low / 2 if last > 0 else f_low
        else:
            low, f_low = guess, value
            f_high = f_high / 2 if last < 0 else f_high
        last = 1 if value > 0 else -1
    return (low + high) / 2
