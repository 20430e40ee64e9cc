"""Metrics by name: `accuracy`, `pass@4`, `pass^4`, `g-pass@4:0.5`, each with its estimator, noise and interval."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import get_args

import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError
from markscheme.statistics import sequential
from markscheme.statistics.counts import Counts
from markscheme.statistics.estimators import accuracy, g_pass_at_k, pass_at_k, pass_hat_k
from markscheme.statistics.fixed_set import fixed_interval, sampled
from markscheme.statistics.intervals import Interval, Population, mean_interval

Floats = npt.NDArray[np.float64]
Estimator = Callable[[npt.ArrayLike, npt.ArrayLike], Floats]
PLAIN = ("accuracy", "pass@1", "pass^1")
"""Three names of one number."""


def interval(metric: str, counts: Counts, level: float = 0.95, population: Population = "problems drawn") -> Interval:
    """The estimate and interval of a metric by name."""
    if population not in get_args(Population):
        raise UsageError(f"the population is 'problems drawn' or 'these problems', not {population!r}")
    values, spread = per_problem(metric, counts), noise(metric, counts)
    defined = ~np.isnan(values)
    if population == "problems drawn" or not defined.any():
        return mean_interval(values, level, spread)
    if counts.rounds and metric in PLAIN:
        return sequential.known(counts.rounds, level)
    if metric not in PLAIN and not np.all(np.isfinite(spread[defined])):
        # k samples or just as many: what sampling adds cannot be told, so the wider interval must do.
        return mean_interval(values, level, spread)
    return fixed_interval(sampled(values, spread, counts.n), level, int(defined.sum()), int((~defined).sum()))


def per_problem(metric: str, counts: Counts) -> Floats:
    """The metric's unbiased estimate for each problem, nan where too few samples came back."""
    if not counts.rounds:
        return estimator(metric)(counts.n, counts.c)
    if metric in PLAIN:
        return sequential.solve_rates(counts.rounds)
    if match := re.fullmatch(r"pass([@^])(\d+)", metric):
        return sequential.pass_rates(counts.rounds, int(match[2]), every=match[1] == "^")
    estimator(metric)  # an unknown name is refused here too
    return np.full(len(counts.keys), np.nan)


def noise(metric: str, counts: Counts) -> Floats:
    """The variance of each problem's estimate from sampling alone, infinite where it cannot be told."""
    if not counts.rounds:
        return sampling_noise(estimator(metric), counts.n, counts.c)
    return sequential.noise(counts.rounds) if metric in PLAIN else np.full(len(counts.keys), np.inf)


def sampling_noise(estimate: Estimator, n: npt.ArrayLike, c: npt.ArrayLike) -> Floats:
    """The variance of each problem's estimate from sampling alone, by leaving out one sample at a time.

    For accuracy this is p(1-p)/(n-1) exactly. Infinite where one sample fewer would leave the estimate undefined.
    """
    samples, correct = np.asarray(n, dtype=np.int64), np.asarray(c, dtype=np.int64)
    fewer = np.maximum(samples - 1, 0)
    step = estimate(fewer, np.minimum(correct, fewer)) - estimate(fewer, np.maximum(correct - 1, 0))
    mixed = (correct > 0) & (correct < samples)
    variance = np.where(mixed, fewer * correct * (samples - correct) / np.maximum(samples, 1) ** 2 * step**2, 0.0)
    return np.where(np.isnan(estimate(fewer, np.zeros_like(fewer))), np.inf, variance)


def estimator(metric: str) -> Estimator:
    """The per-problem estimator of a metric by name."""
    if metric == "accuracy":
        return accuracy
    if match := re.fullmatch(r"pass@(\d+)", metric):
        k = int(match[1])
        return lambda n, c: pass_at_k(n, c, k)
    if match := re.fullmatch(r"pass\^(\d+)", metric):
        k = int(match[1])
        return lambda n, c: pass_hat_k(n, c, k)
    if match := re.fullmatch(r"g-pass@(\d+):(\d*\.?\d+)", metric):
        k, tau = int(match[1]), float(match[2])
        return lambda n, c: g_pass_at_k(n, c, k, tau)
    raise UsageError(f"unknown metric {metric!r}; there are accuracy, pass@K, pass^K and g-pass@K:TAU")
