"""Populations of problems for the coverage simulation: how often a model solves a problem drawn at random."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Part(NamedTuple):
    """A share of the population whose solve rates follow Beta(a, b), or are all `a` where b is None."""

    share: float
    a: float
    b: float | None = None


SPREAD = {
    "uniform": [Part(1, 1, 1)],
    "middling": [Part(1, 2, 2)],
    "mostly solved": [Part(1, 5, 2)],
    "mostly not": [Part(1, 2, 8)],
    "near one": [Part(1, 19, 1)],
    "near zero": [Part(1, 0.5, 9.5)],
}
BIMODAL = {
    "solved or not": [Part(1, 0.3, 0.3)],
    "two camps": [Part(0.5, 0.1), Part(0.5, 0.9)],
    "one in 20 solved": [Part(0.95, 0.02), Part(0.05, 0.98)],
    "one in 7 solved": [Part(0.85, 0.02), Part(0.15, 0.98)],
    "one in 20 not": [Part(0.05, 0.02), Part(0.95, 0.98)],
    "saturated": [Part(1, 3, 0.1)],
}
POPULATIONS = {**SPREAD, **BIMODAL}


def draw(rng: np.random.Generator, parts: list[Part], shape: tuple[int, ...]) -> Floats:
    """Solve rates of problems drawn at random."""
    which = rng.choice(len(parts), p=[part.share for part in parts], size=shape)
    rates = np.empty(shape)
    for index, part in enumerate(parts):
        here = which == index
        rates[here] = part.a if part.b is None else rng.beta(part.a, part.b, int(here.sum()))
    return rates


def true_pass(parts: list[Part], k: int) -> float:
    """pass@k of the whole population, in closed form (k = 1: accuracy)."""
    missed = 0.0
    for share, a, b in parts:
        missed += share * ((1 - a) ** k if b is None else math.prod((b + j) / (a + b + j) for j in range(k)))
    return 1 - missed
