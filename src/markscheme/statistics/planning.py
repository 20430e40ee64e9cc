"""How many samples a question needs, before paying for them.

A difference between two models, measured on P problems with n samples each, has the variance (B + 2W/n) / P: W is what
sampling one answer adds, B how much the models' true difference varies from problem to problem. More samples shrink
only W/n. With few problems B alone may hide the difference, and then no number of samples will show it.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import msgspec
import numpy as np

from markscheme.errors import UsageError
from markscheme.statistics import quantiles
from markscheme.statistics.counts import Counts
from markscheme.statistics.intervals import Population

ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
CORRELATION = 0.85
"""Of two models' solve rates over problems, when nothing better is known."""
BETWEEN_SHARE = 0.6
"""Without a pilot: how much of the variance of one answer lies between problems (hard or easy) rather than in luck."""


class Spread(msgspec.Struct, frozen=True):
    """Where the variance of a model's answers lies."""

    mean: float
    within: float
    """Of one answer to a given problem, on average: the mean of p(1 - p)."""
    between: float
    """Of the solve rate p over problems."""
    source: str = "assumed"


class PlanRow(msgspec.Struct, frozen=True):
    """What n samples per problem buy."""

    samples: int
    detectable: float
    """The smallest difference found with the asked power."""
    power: float
    """The chance to find the difference that was asked for."""
    half_width: float
    """Of one model's score for problems drawn from a population, about."""
    half_width_these: float
    """Of one model's score on these problems only, about."""
    tokens: float | None
    """For one model."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to: how many samples per problem show a difference of `detect` with this power?"""

    problems: int
    detect: float
    power: float
    level: float
    population: Population
    samples: int | None
    """None if no number of samples suffices with so few problems."""
    limit: float
    """The smallest difference that even unlimited samples could show."""
    problems_needed: int
    """Problems that would suffice with 16 samples each."""
    tokens: float | None
    """For one model, at `samples` per problem."""
    spread: Spread
    between_difference: float
    rows: tuple[PlanRow, ...]


def assumed(mean: float = 0.5) -> Spread:
    """A benchmark of which nothing is known but about how often it is solved; one half is the worst case."""
    if not 0 < mean < 1:
        raise UsageError(f"the expected solve rate is a share between 0 and 1, not {mean}")
    total = mean * (1 - mean)
    return Spread(mean, (1 - BETWEEN_SHARE) * total, BETWEEN_SHARE * total)


def from_pilot(counts: Counts) -> Spread:
    """What a first run shows. With one sample per problem the split is assumed, since one answer cannot show it."""
    n, c = counts.n, counts.c
    seen = n > 0
    if not seen.any():
        raise UsageError("the pilot has no responses to learn from")
    rates = c[seen] / n[seen]
    mean = float(rates.mean())
    # Nothing wrong (or right) in a pilot does not make it certain: half a problem of each is added.
    guarded = (float(rates.sum()) + 0.5) / (rates.size + 1)
    repeated = n >= 2
    if repeated.sum() < 2:
        return msgspec.structs.replace(assumed(guarded), mean=mean, source="pilot, with an assumed split")
    m, k = n[repeated], c[repeated]
    singles = k * (m - k) / (m * (m - 1))
    within = max(float(singles.mean()), 0.05 * guarded * (1 - guarded))
    between = max(0.0, float(np.var(k / m, ddof=1) - np.mean(singles / m)))
    return Spread(mean, within, between, "pilot")


def difference_between(a: Counts, b: Counts) -> float:
    """How much the true difference of two piloted models varies over problems, sampling noise taken off."""
    theirs = set(b.keys)
    shared = [key for key in a.keys if key in theirs]
    one, two = a.select(shared), b.select(shared)
    kept = (one.n >= 2) & (two.n >= 2)
    if kept.sum() < 2:
        raise UsageError("two pilots need at least two shared problems with two samples each")
    noise, rates = [], []
    for part in (one, two):
        n, c = part.n[kept], part.c[kept]
        noise.append(c * (n - c) / (n * n * (n - 1)))
        rates.append(c / n)
    return max(0.0, float(np.var(rates[1] - rates[0], ddof=1) - np.mean(noise[0] + noise[1])))


def plan(
    problems: int,
    detect: float,
    power: float = 0.8,
    level: float = 0.95,
    spread: Spread | None = None,
    between_difference: float | None = None,
    tokens_per_response: float | None = None,
    population: Population = "problems drawn",
) -> Plan:
    """Plan a comparison of two models on `problems` problems; `detect` is a share (0.05 is five points)."""
    if problems < 2 or not 0 < detect < 1 or not 0 < power < 1 or not 0 < level < 1:
        raise UsageError("a plan needs at least 2 problems, and shares between 0 and 1 to detect, for power and level")
    known = spread or assumed()
    between = 2 * known.between * (1 - CORRELATION) if between_difference is None else between_difference
    if population == "these problems":
        between = 0.0
    factor = _factor(problems, power, level, population)
    allowed = problems * (detect / factor) ** 2  # the variance per problem that still shows the difference
    samples = math.ceil(2 * known.within / (allowed - between) - 1e-9) if allowed > between else None
    return Plan(
        problems=problems,
        detect=detect,
        power=power,
        level=level,
        population=population,
        samples=samples,
        limit=factor * math.sqrt(between / problems),
        problems_needed=math.ceil((between + 2 * known.within / 16) * (factor / detect) ** 2),
        tokens=None if samples is None or tokens_per_response is None else problems * samples * tokens_per_response,
        spread=known,
        between_difference=between,
        rows=tuple(
            _row(n, problems, detect, power, level, known, between, tokens_per_response, population) for n in ROWS
        ),
    )


def _factor(problems: int, power: float, level: float, population: Population) -> float:
    """How many standard errors a difference must be to be found with this power."""
    return _critical(problems, level, population) + quantiles.normal(power)


def _critical(problems: int, level: float, population: Population) -> float:
    tail = (1 + level) / 2
    return quantiles.student(tail, problems - 1) if population == "problems drawn" else quantiles.normal(tail)


def _row(
    n: int,
    problems: int,
    detect: float,
    power: float,
    level: float,
    spread: Spread,
    between: float,
    tokens: float | None,
    population: Population,
) -> PlanRow:
    error = math.sqrt((between + 2 * spread.within / n) / problems)
    critical = _critical(problems, level, population)
    drawn = math.sqrt((spread.between + spread.within / n) / problems)
    these = math.sqrt(spread.within / n / problems)
    return PlanRow(
        samples=n,
        detectable=_factor(problems, power, level, population) * error,
        power=NormalDist().cdf(detect / error - critical),
        half_width=_critical(problems, level, "problems drawn") * drawn,
        half_width_these=_critical(problems, level, "these problems") * these,
        tokens=None if tokens is None else problems * n * tokens,
    )
