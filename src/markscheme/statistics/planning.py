"""How many samples a question needs, before paying for them; and after: where a score's uncertainty comes from.

A difference between two models, measured on P problems with n samples each, has the variance (B + 2W/n) / P: W is what
sampling one answer adds, B how much the models' true difference varies from problem to problem. More samples shrink
only W/n. With few problems B alone may hide the difference, and then no number of samples will show it. B is hardly
ever known well before the comparison is made, so every answer comes with its range.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from markscheme.errors import UsageError
from markscheme.statistics import quantiles
from markscheme.statistics.clusters import standard_error
from markscheme.statistics.counts import Counts
from markscheme.statistics.intervals import Population, mean_interval
from markscheme.statistics.metrics import interval, metric

Floats = npt.NDArray[np.float64]

MORE = 4
"""Samples a problem that a table of variances adds."""
ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
CORRELATION = 0.85
"""Of two models' solve rates over problems, when nothing better is known; and what it may be, far and near relatives.

Single answers of 43 public models to GSM8K and hard MATH problems, 656 pairs within 8 points: the variance of a difference
is 0.84 to 1.6 times that of one answer, which these ends come to; the middle is for relatives.
"""
CORRELATIONS = (0.4, 0.99)
BETWEEN_SHARE = 0.6
"""Without a pilot: how much of the variance of one answer lies between problems (hard or easy) rather than in luck."""


class AnswerVariance(msgspec.Struct, frozen=True):
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
    """The smallest difference found with the asked power; 1 where none is."""
    power: float
    """The chance to find the difference that was asked for; and what it may be, since B is uncertain."""
    power_low: float
    power_high: float
    half_width: float
    """Of one model's score for problems drawn from a population, about; one half where nothing could be told."""
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
    samples_range: tuple[int | None, int | None]
    """With the smallest and the largest B that is plausible."""
    limit: float
    """The smallest difference that even unlimited samples could show; 1 where none is."""
    problems_needed: int
    """Problems that would suffice with 16 samples each."""
    tokens: float | None
    """For one model, at `samples` per problem."""
    spread: AnswerVariance
    between_difference: float
    between_range: tuple[float, float]
    """B, and what it may be: 80 % with two pilots, near and far relatives without."""
    pilots: int
    """Runs of the models that the plan stands on: two, one, or none."""
    rows: tuple[PlanRow, ...]


def assumed(mean: float = 0.5) -> AnswerVariance:
    """A benchmark of which nothing is known but about how often it is solved; one half is the worst case."""
    if not 0 < mean < 1:
        raise UsageError(f"the expected solve rate is a share between 0 and 1, not {mean}")
    total = mean * (1 - mean)
    return AnswerVariance(mean, (1 - BETWEEN_SHARE) * total, BETWEEN_SHARE * total)


def from_pilot(*pilots: Counts) -> AnswerVariance:
    """What first runs show, averaged. With one sample per problem the split is assumed: one answer cannot show it."""
    if len(pilots) > 1:
        each = [from_pilot(counts) for counts in pilots]
        mean, within, between = np.mean([(one.mean, one.within, one.between) for one in each], axis=0).tolist()
        return AnswerVariance(mean, within, between, each[0].source)
    n, c = pilots[0].n, pilots[0].c
    seen = n > 0
    if not seen.any():
        raise UsageError("the pilot has no responses to learn from")
    rates = c[seen] / n[seen]
    mean = float(rates.mean())
    # Nothing wrong (or right) in a pilot does not make it certain: half a problem of each is added.
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
    """How much the true difference of two models varies over problems, and what it may be."""

    value: float
    low: float
    high: float
    clusters: int | None = None
    """Independent groups of problems behind it, where problems come in families."""


def difference_between(a: Counts, b: Counts) -> BetweenProblems:
    """From two piloted models, sampling noise taken off, with an 80 % range; clusters count as the units drawn."""
    theirs = set(b.keys)
    shared = [key for key in a.keys if key in theirs]
    one, two = a.select(shared), b.select(shared)
    enough = (one.independent >= 2) & (two.independent >= 2)
    if enough.sum() < 2:
        raise UsageError("two pilots need at least two shared problems with two samples each")
    kept = [key for key, has in zip(shared, enough, strict=True) if has]
    one, two = one.select(kept), two.select(kept)
    noise = sum(float(np.mean(metric("accuracy").noise(part))) for part in (one, two))
    change = two.c / two.n - one.c / one.n
    labels = one.clusters or two.clusters
    error, freedom = standard_error(change, labels)
    seen = error**2 * len(kept)
    # A variance of heavy-tailed differences is known less well than a normal one's; the fourth moment says how much.
    centred = change - change.mean()
    tails = float(np.mean(centred**4) / max(np.mean(centred**2), 1e-12) ** 2) if not labels else 3.0
    effective = max(1.0, 2 * freedom / max(0.5, tails - 1))
    wide = quantiles.normal(0.9) * math.sqrt(2 / effective)
    low, high = seen * math.exp(-wide), seen * math.exp(wide)
    return BetweenProblems(
        max(0.0, seen - noise), max(0.0, low - noise), max(0.0, high - noise), freedom + 1 if labels else None
    )


def assumed_between(spread: AnswerVariance) -> BetweenProblems:
    """Without two pilots: models that are near or far relatives."""
    near, far = (2 * spread.between * (1 - correlation) for correlation in reversed(CORRELATIONS))
    return BetweenProblems(2 * spread.between * (1 - CORRELATION), near, far)


class _Question(NamedTuple):
    """What is asked, and how sure one must be: everything but the variances and the samples."""

    problems: int
    detect: float
    power: float
    level: float
    population: Population
    clusters: int | None

    def critical(self, population: Population | None = None, problems: int | None = None) -> tuple[float, float]:
        """Standard errors that count as significant, and the degrees of freedom of the test."""
        tail = (1 + self.level) / 2
        if (population or self.population) == "these problems":
            return quantiles.normal(tail), math.inf
        freedom = (self.clusters or problems or self.problems) - 1
        return quantiles.student(tail, max(1, freedom)), max(1, freedom)

    def factor(self, problems: int | None = None) -> float:
        """How many standard errors a difference must be to be found with the asked power (noncentral t, approximated)."""
        critical, freedom = self.critical(problems=problems)
        return critical * (1 - 1 / (4 * freedom)) + quantiles.normal(self.power) * math.sqrt(
            1 + critical**2 / (2 * freedom)
        )

    def chance(self, error: float) -> float:
        """The power, for a standard error of the difference."""
        critical, freedom = self.critical()
        shift = self.detect / max(error, 1e-12) - critical * (1 - 1 / (4 * freedom))
        return NormalDist().cdf(shift / math.sqrt(1 + critical**2 / (2 * freedom)))

    def samples(self, between: float, within: float) -> int | None:
        """Samples per problem that suffice."""
        allowed = self.problems * (self.detect / self.factor()) ** 2  # the variance per problem that still shows it
        return max(1, math.ceil(2 * within / (allowed - between) - 1e-9)) if allowed > between else None

    def problems_needed(self, variance: float) -> int:
        """Problems that suffice at this variance each; the test then has their degrees of freedom, not today's."""
        needed = self.problems
        for _ in range(50):
            following = max(2, math.ceil(variance * (self.factor(needed) / self.detect) ** 2 - 1e-9))
            if following == needed:
                break
            needed = following
        return needed


def plan(
    problems: int,
    detect: float,
    power: float = 0.8,
    level: float = 0.95,
    spread: AnswerVariance | None = None,
    between: BetweenProblems | None = None,
    tokens_per_response: float | None = None,
    population: Population = "problems drawn",
) -> Plan:
    """Plan a comparison of two models on `problems` problems; `detect` is a share (0.05 is five points)."""
    if problems < 2 or not 0 < detect < 1 or not 0 < power < 1 or not 0 < level < 1:
        raise UsageError("a plan needs at least 2 problems, and shares between 0 and 1 to detect, for power and level")
    known = spread or assumed()
    varies = between or assumed_between(known)
    if population == "these problems":
        varies = BetweenProblems(0.0, 0.0, 0.0)
    question = _Question(problems, detect, power, level, population, varies.clusters)
    samples = question.samples(varies.value, known.within)
    return Plan(
        problems=problems,
        detect=detect,
        power=power,
        level=level,
        population=population,
        samples=samples,
        samples_range=(question.samples(varies.low, known.within), question.samples(varies.high, known.within)),
        limit=min(1.0, question.factor() * math.sqrt(varies.value / problems)),
        problems_needed=question.problems_needed(varies.value + 2 * known.within / 16),
        tokens=None if samples is None or tokens_per_response is None else problems * samples * tokens_per_response,
        spread=known,
        between_difference=varies.value,
        between_range=(varies.low, varies.high),
        pilots=2 if between is not None else int("pilot" in known.source),
        rows=tuple(_row(n, question, known, varies, tokens_per_response) for n in ROWS),
    )


def _row(
    n: int, question: _Question, spread: AnswerVariance, between: BetweenProblems, tokens: float | None
) -> PlanRow:
    problems = question.problems

    def error(varies: float) -> float:
        return math.sqrt((varies + 2 * spread.within / n) / problems)

    drawn = math.sqrt((spread.between + spread.within / n) / problems)
    these = math.sqrt(spread.within / n / problems)
    return PlanRow(
        samples=n,
        detectable=min(1.0, question.factor() * error(between.value)),
        power=question.chance(error(between.value)),
        power_low=question.chance(error(between.high)),
        power_high=question.chance(error(between.low)),
        half_width=min(0.5, question.critical("problems drawn")[0] * drawn),
        half_width_these=min(0.5, question.critical("these problems")[0] * these),
        tokens=None if tokens is None else problems * n * tokens,
    )


class VarianceTable(msgspec.Struct, frozen=True, kw_only=True):
    """The uncertainty of accuracy in its two parts: half-widths of the intervals now, and with more samples about."""

    from_problems: float
    """About the standard error if every problem's solve rate were known: no number of samples lowers it."""
    from_sampling: float
    """About the standard error on exactly these problems."""
    samples: float
    """Samples a problem, on average."""
    half_width: float
    """95 %, problems drawn; and with four more samples a problem; and with endless ones."""
    half_width_more: float
    half_width_endless: float
    these_half_width: float
    """95 %, exactly these problems; and with four more samples a problem."""
    these_half_width_more: float


def variance_table(counts: Counts) -> VarianceTable | None:
    """The table, or None where fewer than two problems have two samples: one answer shows no luck."""
    accuracy = metric("accuracy")
    values, noise = accuracy.values(counts), accuracy.noise(counts)
    seen = ~np.isnan(values)
    informative = seen & np.isfinite(noise)
    if informative.sum() < 2:
        return None
    samples = float(counts.n[seen].mean())
    drawn, these = interval("accuracy", counts), interval("accuracy", counts, population="these problems")
    kept = samples / (samples + MORE)
    # Never wider than now: problems that are nearly alike are trusted less than those that visibly differ.
    more, endless = (min(drawn.half_width, _with_noise(counts, values, noise, part)) for part in (kept, 0.0))
    return VarianceTable(
        from_problems=endless / quantiles.normal(0.975),
        from_sampling=these.half_width / quantiles.normal(0.975),
        samples=samples,
        half_width=drawn.half_width,
        half_width_more=max(more, endless),
        half_width_endless=endless,
        these_half_width=these.half_width,
        these_half_width_more=these.half_width * math.sqrt(kept),
    )


def _with_noise(counts: Counts, values: Floats, noise: Floats, part: float) -> float:
    """The half-width for problems drawn if only this part of the sampling variance were left in the values."""
    seen, shown = ~np.isnan(values), np.isfinite(noise)
    mean, spread = float(values[seen].mean()), float(values[seen].var(ddof=1))
    sampling = float(noise[shown & seen].mean())
    left = max(0.0, spread - sampling) + part * min(spread, sampling)
    shrunk = mean + (values - mean) * math.sqrt(left / spread) if spread else values
    return mean_interval(shrunk, noise=np.full(values.size, part * sampling), clusters=counts.clusters).half_width
