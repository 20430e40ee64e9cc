"""Solve rates for the coverage simulation: none of these is what the intervals assume.

`SETS` are sets of problems as they may be; `FAMILIES` draw problems in clusters; `CHANGES` make model B of model A;
`LOSSES` leave samples out; `picked` draws answers and scores; `truth_of` and `picked_truth` are what an estimate is of.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import numpy.typing as npt

from markscheme.statistics import Counts, Picks, from_correct

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


def _all(lose: Callable[[np.random.Generator, Floats], Floats]) -> Callable[[np.random.Generator, Floats], tuple]:
    """Samples and correct ones, where what is lost does not look at the answer."""

    def draw(rng: np.random.Generator, p: Floats) -> tuple:
        n = lose(rng, p)
        return n, rng.binomial(n, p)

    return draw


def _wrong_ones(rng: np.random.Generator, p: Floats) -> tuple:
    """Of sixteen, one wrong answer in five is lost and one right in fifty: long, wrong answers run into time limits."""
    right = rng.binomial(16, p)
    c = rng.binomial(right, 0.98)
    return c + rng.binomial(16 - right, 0.8), c


# Samples that come back of sixteen, and the correct ones among them.
LOSSES: dict[str, Callable[[np.random.Generator, Floats], tuple]] = {
    "lost with difficulty": _all(lambda rng, p: rng.binomial(16, np.where(p < 0.5, 0.9, 0.99))),
    "3 in 10 lost": _all(lambda rng, p: rng.binomial(16, 0.7, p.shape)),
    "half lost if hard": _all(lambda rng, p: rng.binomial(16, np.where(p < 0.5, 0.5, 0.95))),
    "one sample if hard": _all(lambda rng, p: np.where(p < 0.6, 1, 16)),
    "2 or 64 samples": _all(lambda rng, p: np.where(p < 0.6, 2, 64)),
    "wrong ones lost": _wrong_ones,
}

_WRONG = (0.6, 0.3, 0.1)  # shares of three wrong answers


def picked(rng: np.random.Generator, chances: Floats, samples: int) -> Counts:
    """Runs with answers and scores: wrong answers spread over three, right ones score a little higher."""
    right = rng.random((chances.size, samples)) < chances[:, None]
    answers = np.where(right, 0, rng.choice([1, 2, 3], right.shape, p=_WRONG))
    scores = rng.normal(0, 1, right.shape) + right
    picks = {str(at): Picks(right[at], answers[at], {"score": scores[at]}) for at in range(chances.size)}
    return replace(from_correct(np.full(chances.size, samples), right.sum(axis=1)), picks=picks)


def picked_truth(name: str, chances: Floats) -> float:
    """The true maj@k or best-of-k over these rates: by every outcome, or by the distribution of the best score."""
    k = int(name.partition("@")[2] or name.removeprefix("best-of-").partition(":")[0])
    if not name.startswith("maj"):
        grid = np.linspace(-8, 9, 1701)
        below = np.array([0.5 * (1 + math.erf(x / math.sqrt(2))) for x in grid])
        above = np.interp(grid - 1, grid, below)  # of right answers, which score one more
        of_all = (1 - chances[:, None]) * below + chances[:, None] * above
        steps = chances[:, None] * np.diff(above, prepend=0.0)
        return float(np.mean(np.sum(k * of_all ** (k - 1) * steps, axis=1)))
    total = np.zeros(chances.size)
    for right, *wrong in product(range(k + 1), repeat=4):
        if right + sum(wrong) != k or right < max(wrong):
            continue
        ways = math.factorial(k) / math.prod(math.factorial(x) for x in (right, *wrong))
        of_wrong = math.prod(share**x for share, x in zip(_WRONG, wrong, strict=True))
        total += ways * of_wrong * chances**right * (1 - chances) ** (k - right) / (1 + wrong.count(right))
    return float(total.mean())


def truth_of(name: str, rates: Floats) -> float:
    """The mean of a count metric over rates, by its definition."""
    kind, _, k = name.replace("^", "@").partition("@")
    if kind == "accuracy":
        return float(rates.mean())
    power = int(k)
    return float(np.mean(rates**power if "^" in name else 1 - (1 - rates) ** power))
