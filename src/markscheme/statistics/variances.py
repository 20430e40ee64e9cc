"""Variance components for plans: of one answer, between problems, and of the difference of two models.

They come from pilots, or are assumed. For a metric of several samples they follow from the fitted solve rates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from markscheme.errors import UsageError
from markscheme.statistics import quantiles, solve_rates
from markscheme.statistics.arrays import Floats
from markscheme.statistics.clusters import standard_error
from markscheme.statistics.counts import Counts
from markscheme.statistics.metric import CountMetric
from markscheme.statistics.metrics import metric

Noise = Callable[[int], float]  # sampling variance of a problem's value, by the number of samples

# Assumed correlation of two models' solve rates over problems, and its range from unrelated to closely related models.
# In single answers of 43 public models to GSM8K and hard MATH problems, 656 pairs within 8 points, the variance of a
# difference is 0.84 to 1.6 times that of one answer, which this range reproduces.
CORRELATION = 0.85
CORRELATIONS = (0.4, 0.99)
# Without a pilot: the share of the variance of one answer that is between problems.
BETWEEN_SHARE = 0.6


class AnswerVariance(msgspec.Struct, frozen=True):
    """The variance components of a model's answers."""

    mean: float
    # Of one answer to a given problem, on average: the mean of p(1 - p). Of pass@k, of its value from k samples.
    within: float
    between: float  # of the solve rate p over problems
    source: str = "assumed"


def assumed(mean: float = 0.5) -> AnswerVariance:
    """Return assumed components for an expected solve rate; one half is the worst case."""
    if not 0 < mean < 1:
        raise UsageError(f"the expected solve rate must be between 0 and 1, not {mean}")
    total = mean * (1 - mean)
    return AnswerVariance(mean, (1 - BETWEEN_SHARE) * total, BETWEEN_SHARE * total)


def from_pilot(*pilots: Counts) -> AnswerVariance:
    """Estimate the components from pilots, averaged. With one sample per problem the split is assumed."""
    if len(pilots) > 1:
        each = [from_pilot(counts) for counts in pilots]
        mean, within, between = np.mean([(one.mean, one.within, one.between) for one in each], axis=0).tolist()
        return AnswerVariance(mean, within, between, each[0].source)
    n, c = pilots[0].n, pilots[0].c
    seen = n > 0
    if not seen.any():
        raise UsageError("the pilot has no responses")
    rates = c[seen] / n[seen]
    mean = float(rates.mean())
    # Half a problem of each kind is added, since a pilot without errors does not prove a rate of 1.
    guarded = (float(rates.sum()) + 0.5) / (rates.size + 1)
    repeated = pilots[0].independent >= 2
    if repeated.sum() < 2:
        return msgspec.structs.replace(assumed(guarded), mean=mean, source="pilot, with an assumed split")
    m, k = n[repeated], c[repeated]
    singles = m * metric("accuracy").noise(pilots[0])[repeated]  # k (m - k) / (m (m - 1)) where samples are independent
    within = max(float(singles.mean()), 0.05 * guarded * (1 - guarded))
    between = max(0.0, float(np.var(k / m, ddof=1) - np.mean(singles / m)))
    return AnswerVariance(mean, within, between, "pilot")


class BetweenProblems(msgspec.Struct, frozen=True):
    """The variance of the true difference of two models over problems, with its range."""

    value: float
    low: float
    high: float
    clusters: int | None = None  # number of independent groups, if problems come in families


def difference_between(a: Counts, b: Counts, name: str = "accuracy") -> BetweenProblems:
    """Estimate it from two pilots, without sampling noise, with an 80 % range; clusters are the sampling units."""
    of = metric(name)
    theirs = set(b.keys)
    shared = [key for key in a.keys if key in theirs]
    one, two = a.select(shared), b.select(shared)
    enough = np.isfinite(of.noise(one)) & np.isfinite(of.noise(two))
    if enough.sum() < 2:
        need = "two" if of.k == 1 else str(of.k + 1)
        raise UsageError(f"two pilots need at least two shared problems with {need} samples each")
    kept = [key for key, has in zip(shared, enough, strict=True) if has]
    one, two = one.select(kept), two.select(kept)
    noise = sum(float(np.mean(of.noise(part))) for part in (one, two))
    change = of.values(two) - of.values(one)
    labels = one.clusters or two.clusters
    error, freedom = standard_error(change, labels)
    seen = error**2 * len(kept)
    # The variance of heavy-tailed differences is less certain, by their fourth moment.
    centred = change - change.mean()
    tails = float(np.mean(centred**4) / max(np.mean(centred**2), 1e-12) ** 2) if not labels else 3.0
    effective = max(1.0, 2 * freedom / max(0.5, tails - 1))
    wide = quantiles.normal(0.9) * math.sqrt(2 / effective)
    low, high = seen * math.exp(-wide), seen * math.exp(wide)
    return BetweenProblems(
        max(0.0, seen - noise), max(0.0, low - noise), max(0.0, high - noise), freedom + 1 if labels else None
    )


def assumed_between(spread: AnswerVariance) -> BetweenProblems:
    """Return an assumed value without two pilots."""
    near, far = (2 * spread.between * (1 - correlation) for correlation in reversed(CORRELATIONS))
    return BetweenProblems(2 * spread.between * (1 - CORRELATION), near, far)


def of_metric(name: str, pilots: Sequence[Counts], mean: float = 0.5) -> tuple[AnswerVariance, Noise]:
    """Return the variance components of a metric, and its sampling noise by the number of samples."""
    of = metric(name)
    if of.k == 1:
        known = from_pilot(*pilots) if pilots else assumed(mean)
        return known, lambda n: known.within / n
    if not isinstance(of, CountMetric):
        raise UsageError(f"a plan supports accuracy, pass@K, pass^K and g-pass@K:TAU, not {name}")
    rates, chances = _rates(pilots, mean)

    def noise(n: int) -> float:
        return float(chances @ solve_rates.moments(of.estimate, of.k, n, rates)[1]) if n >= of.k else math.inf

    truth = solve_rates.moments(of.estimate, of.k, of.k, rates)[0]
    average = float(chances @ truth)
    between = float(chances @ (truth - average) ** 2)
    return AnswerVariance(average, noise(of.k), between, "pilot" if pilots else "assumed"), noise


def _rates(pilots: Sequence[Counts], mean: float) -> tuple[Floats, Floats]:
    """Return solve rates and their probabilities, fitted to pilots, or a beta distribution with the usual spread."""
    if pilots:
        n, c = (np.concatenate([getattr(each, part) for each in pilots]) for part in "nc")
        mixture = solve_rates.fit(n[n > 0], c[n > 0])
        return mixture.rates, mixture.weight @ mixture.shares @ mixture.kernels
    assumed(mean)  # checks the range
    size = 1 / BETWEEN_SHARE - 1
    angles = (np.arange(2000) + 0.5) * math.pi / 4000
    logs = (2 * mean * size - 1) * np.log(np.sin(angles)) + (2 * (1 - mean) * size - 1) * np.log(np.cos(angles))
    chances = np.exp(logs - logs.max())
    return np.sin(angles) ** 2, chances / chances.sum()
