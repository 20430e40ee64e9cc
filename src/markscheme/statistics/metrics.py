"""Metrics by name: `accuracy`, `pass@4`, `pass^4`, `g-pass@4:0.5`, each with its estimator, noise and interval."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError
from markscheme.statistics.counts import Counts
from markscheme.statistics.estimators import accuracy, g_pass_at_k, pass_at_k, pass_hat_k
from markscheme.statistics.fixed_set import fixed_interval, sampled
from markscheme.statistics.intervals import Interval, mean_interval

Floats = npt.NDArray[np.float64]
Estimator = Callable[[npt.ArrayLike, npt.ArrayLike], Floats]
Population = Literal["problems drawn", "these problems"]
"""What a score is about: problems like these, of which these were drawn; or these problems and no others."""


def interval(metric: str, counts: Counts, level: float = 0.95, population: Population = "problems drawn") -> Interval:
    """The estimate and interval of a metric by name."""
    estimate = estimator(metric)
    values, noise = estimate(counts.n, counts.c), sampling_noise(estimate, counts.n, counts.c)
    defined = ~np.isnan(values)
    if population == "problems drawn" or not defined.any():
        return mean_interval(values, level, noise)
    if population != "these problems":
        raise UsageError(f"the population is 'problems drawn' or 'these problems', not {population!r}")
    if metric != "accuracy" and not np.all(np.isfinite(noise[defined])):
        # k samples or just as many: what sampling adds cannot be told, so the wider interval must do.
        return mean_interval(values, level, noise)
    return fixed_interval(sampled(values, noise, counts.n), level, int(defined.sum()), int((~defined).sum()))


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


def per_problem(metric: str, counts: Counts) -> Floats:
    """The metric's unbiased estimate for each problem, nan where too few samples came back."""
    return estimator(metric)(counts.n, counts.c)


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
