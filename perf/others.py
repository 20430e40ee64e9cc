"""Intervals that others print for a mean and its standard error, to hold ours against; by scipy."""

import math

from scipy import special

LEVEL = 0.95


def student(mean: float, error: float, freedom: int) -> tuple[float, float]:
    """Mean ± Student's t: what Inspect's and most papers' standard errors come to."""
    away = float(special.stdtrit(freedom, (1 + LEVEL) / 2)) * error
    return mean - away, mean + away


def _worth(mean: float, error: float, most: float) -> float:
    """As many independent coin flips as have this standard error; all there are where no error is seen."""
    return mean * (1 - mean) / error**2 if error and 0 < mean < 1 else most


def wilson(mean: float, error: float, most: float) -> tuple[float, float]:
    """Wilson's score interval with the number of samples that the standard error is worth."""
    size, z = _worth(mean, error, most), float(special.ndtri((1 + LEVEL) / 2))
    centre = (mean + z * z / (2 * size)) / (1 + z * z / size)
    away = z / (1 + z * z / size) * math.sqrt(mean * (1 - mean) / size + (z / (2 * size)) ** 2)
    return centre - away, centre + away


def exact(mean: float, error: float, most: float) -> tuple[float, float]:
    """Clopper and Pearson's interval with that number of samples: Korn and Graubard's, as surveys print it."""
    size, tail = _worth(mean, error, most), (1 - LEVEL) / 2
    right, wrong = mean * size, (1 - mean) * size
    low = float(special.betaincinv(right, wrong + 1, tail)) if right > 1e-9 else 0.0
    return low, float(special.betaincinv(right + 1, wrong, 1 - tail)) if wrong > 1e-9 else 1.0
