"""Solve rates for the coverage simulation: none of these is what the intervals assume.

`SETS` are sets of problems as they may be; `FAMILIES` draw problems in clusters; `CHANGES` make model B of model A.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]


def camps(share: float, low: float, high: float) -> Draw:
    """Two kinds of problems; `share` of them the hard kind."""
    return lambda rng, shape: np.where(rng.random(shape) < share, low, high)


SETS: dict[str, Draw] = {
    "uniform": lambda rng, shape: rng.random(shape),
    "alike, half": lambda rng, shape: np.full(shape, 0.5),
    "alike, one in ten": lambda rng, shape: np.full(shape, 0.1),
    "alike, hardly ever": lambda rng, shape: np.full(shape, 0.004),
    "saturated": lambda rng, shape: np.full(shape, 0.99),
    "saturated, some hard": lambda rng, shape: 1 - 0.6 * rng.random(shape) ** 12,
    "bimodal 2/98": camps(0.5, 0.02, 0.98),
    "bimodal 0.5/99": camps(0.5, 0.005, 0.99),
    "U-shaped": lambda rng, shape: np.sin(math.pi / 2 * rng.random(shape)) ** 6,
    "hard, some easy": lambda rng, shape: np.where(rng.random(shape) < 0.8, 0.003, rng.random(shape)),
    "never or sometimes": camps(0.9, 0.0, 0.3),
    "one in 7 solved": camps(0.85, 0.02, 0.98),
    "one in 20 not": camps(0.05, 0.02, 0.98),
    "three camps": lambda rng, shape: rng.choice([0.05, 0.5, 0.95], shape),
}


def _logistic(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


# Rates of `families` clusters with `size` problems each.
FAMILIES: dict[str, Callable[[np.random.Generator, int, int], Floats]] = {
    "templates with variants": lambda rng, families, size: np.repeat(
        rng.choice([0.1, 0.5, 0.97], (families, 1)), size, 1
    ),
    "contests": lambda rng, families, size: _logistic(
        rng.normal(0, 0.7, (families, 1)) + rng.normal(0, 1.5, (families, size))
    ),
    "easy contests": lambda rng, families, size: _logistic(
        rng.normal(3, 1, (families, 1)) + rng.normal(0, 1, (families, size))
    ),
}


def _odds(p: Floats, shift: Floats | float) -> Floats:
    return p / (p + (1 - p) * np.exp(-shift))


# How model B's solve rates follow from model A's.
CHANGES: dict[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "same model": lambda p, rng: p,
    "all a little better": lambda p, rng: _odds(p, 0.8),
    "some better, some worse": lambda p, rng: _odds(p, rng.standard_t(4, p.shape) + 0.4),
    "equal means, skewed": lambda p, rng: np.where(rng.random(p.shape) < 0.1, 0.05, 0.55),
    "sparse gains": lambda p, rng: np.where(rng.random(p.shape) < 0.05, np.minimum(1, p + 0.8), p),
}
