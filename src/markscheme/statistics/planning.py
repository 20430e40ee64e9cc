"""Plan how many samples a comparison needs; and split the uncertainty of a score into its sources.

The difference of two models on P problems with n samples each has the variance (B + 2W/n) / P: W is the variance of one
answer, B that of the true difference over problems. More samples reduce only W/n. With few problems, B alone may hide
the difference whatever the number of samples. B is rarely known well in advance, so every answer comes with a range.

The cheapest design for one score has fewer samples per problem before fewer problems. The score is the mean solve rate over
all N problems of a benchmark. With n samples on m random problems its variance is (1/m - 1/N) B + W/(n m): a new problem
reduces both terms, a second sample of the same one only the second.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from statistics import NormalDist
from typing import NamedTuple

import msgspec
import numpy as np

from markscheme.errors import UsageError
from markscheme.statistics import quantiles
from markscheme.statistics.arrays import Floats
from markscheme.statistics.counts import Counts
from markscheme.statistics.intervals import Population, mean_interval
from markscheme.statistics.metrics import interval, metric
from markscheme.statistics.ranking import joint_level
from markscheme.statistics.variances import AnswerVariance, BetweenProblems, Noise, assumed_between, of_metric

MORE = 4  # further samples per problem in the table of variances
ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
DESIGNS = (1, 2, 4, 8, 16)  # numbers of samples per problem that designs try
MOST = 10**7  # largest number of samples per problem that a plan tries


class PlanRow(msgspec.Struct, frozen=True):
    """What n samples per problem buy."""

    samples: int
    detectable: float  # the smallest difference with the requested power; 1 if there is none
    power: float  # to detect the requested difference, and its range, since B is uncertain
    power_low: float
    power_high: float
    half_width: float  # approximate, of one score for similar problems; one half if unknown
    half_width_these: float  # approximate, of one score on these exact problems
    tokens: float | None  # for one model


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to: how many samples per problem show a difference of `detect` with this power?"""

    problems: int
    detect: float
    power: float
    level: float
    population: Population
    samples: int | None  # None if no number of samples is enough with these problems
    samples_range: tuple[int | None, int | None]  # with the smallest and the largest plausible B
    limit: float  # the smallest difference that unlimited samples would show; 1 if there is none
    problems_needed: int  # with 16 samples each, or as many as the metric takes
    tokens: float | None  # for one model, at `samples` per problem
    spread: AnswerVariance
    between_difference: float  # B
    between_range: tuple[float, float]  # its 80 % range with two pilots, else from closely related to unrelated models
    pilots: int  # pilot runs used: two, one or none
    rows: tuple[PlanRow, ...]
    metric: str = "accuracy"
    models: int = 2  # with more than two, every pair is compared simultaneously


class _Question(NamedTuple):
    """The question of a plan, without variances and samples."""

    problems: int
    detect: float
    power: float
    level: float
    population: Population
    clusters: int | None

    def critical(self, population: Population | None = None, problems: int | None = None) -> tuple[float, float]:
        """Return the critical value in standard errors, and the degrees of freedom of the test."""
        these = (population or self.population) == "these problems"
        freedom = math.inf if these else max(1, (self.clusters or problems or self.problems) - 1)
        return quantiles.student((1 + self.level) / 2, freedom), freedom

    def factor(self, problems: int | None = None) -> float:
        """Return the detectable difference in standard errors."""
        return quantiles.detectable(self.level, self.power, self.critical(problems=problems)[1])

    def chance(self, error: float) -> float:
        """Return the power for a standard error of the difference."""
        critical, freedom = self.critical()
        shift = self.detect / max(error, 1e-12) - critical * (1 - 1 / (4 * freedom))
        return NormalDist().cdf(shift / math.sqrt(1 + critical**2 / (2 * freedom)))

    def samples(self, between: float, noise: Noise, least: int) -> int | None:
        """Return the samples per problem that are enough, at least `least`."""
        # The largest variance per problem that still shows the difference.
        allowed = self.problems * (self.detect / self.factor()) ** 2 - between + 1e-12

        def enough(n: int) -> bool:
            return 2 * noise(n) <= allowed

        most = least
        while not enough(most):
            if allowed <= 0 or most > MOST:
                return None
            least, most = most + 1, 2 * most
        return least + bisect_left(range(least, most), True, key=enough)

    def problems_needed(self, variance: float) -> int:
        """Return the problems that are enough at this variance, with their own degrees of freedom."""
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
    name: str = "accuracy",
    models: int = 2,
    noise: Noise | None = None,
) -> Plan:
    """Plan a comparison of models; `detect` is a share (0.05 is five points).

    `spread` and `noise` are those of the metric `name`, as `of_metric` gives them.
    """
    if problems < 2 or not 0 < detect < 1 or not 0 < power < 1 or not 0 < level < 1:
        raise UsageError("a plan needs at least 2 problems, and a power and a level between 0 and 1")
    if models < 2:
        raise UsageError(f"a comparison needs two models or more, not {models}")
    if spread is None or (noise is None and name != "accuracy"):
        spread, noise = of_metric(name, ())
    known, k = spread, metric(name).k
    sampling: Noise = noise or (lambda n: known.within / n)
    varies = between or assumed_between(known)
    if population == "these problems":
        varies = BetweenProblems(0.0, 0.0, 0.0)
    each = level if models == 2 else joint_level(np.eye(models), level)
    question = _Question(problems, detect, power, each, population, varies.clusters)
    samples, fewest, most = (question.samples(b, sampling, k) for b in (varies.value, varies.low, varies.high))
    rows = [n for n in ROWS if n >= k] if k <= ROWS[4] else [k, 2 * k, 4 * k, 8 * k]
    return Plan(
        problems=problems,
        detect=detect,
        power=power,
        level=level,
        population=population,
        samples=samples,
        samples_range=(fewest, most),
        limit=min(1.0, question.factor() * math.sqrt(varies.value / problems)),
        problems_needed=question.problems_needed(varies.value + 2 * sampling(max(16, k))),
        tokens=None if samples is None or tokens_per_response is None else problems * samples * tokens_per_response,
        spread=known,
        between_difference=varies.value,
        between_range=(varies.low, varies.high),
        pilots=2 if between is not None else int("pilot" in known.source),
        rows=tuple(_row(n, question, level, known.between, sampling(n), varies, tokens_per_response) for n in rows),
        metric=name,
        models=models,
    )


def _row(
    n: int,
    question: _Question,
    level: float,
    between: float,
    sampling: float,
    varies: BetweenProblems,
    tokens: float | None,
) -> PlanRow:
    problems, alone = question.problems, question._replace(level=level)  # one score needs no adjustment

    def error(variance: float) -> float:
        return math.sqrt((variance + 2 * sampling) / problems)

    drawn = math.sqrt((between + sampling) / problems)
    these = math.sqrt(sampling / problems)
    return PlanRow(
        samples=n,
        detectable=min(1.0, question.factor() * error(varies.value)),
        power=question.chance(error(varies.value)),
        power_low=question.chance(error(varies.high)),
        power_high=question.chance(error(varies.low)),
        half_width=min(0.5, alone.critical("problems drawn")[0] * drawn),
        half_width_these=min(0.5, alone.critical("these problems")[0] * these),
        tokens=None if tokens is None else problems * n * tokens,
    )


class VarianceTable(msgspec.Struct, frozen=True, kw_only=True):
    """The sources of uncertainty of accuracy: standard errors, and interval half-widths with more samples."""

    from_problems: float  # approximate standard error if every solve rate were known; more samples do not reduce it
    from_sampling: float  # approximate standard error on these exact problems
    samples: float  # mean samples per problem
    half_width: float  # 95 %, similar problems
    half_width_more: float  # with four more samples per problem
    half_width_endless: float  # with unlimited samples
    these_half_width: float  # 95 %, these exact problems
    these_half_width_more: float


def variance_table(counts: Counts) -> VarianceTable | None:
    """Return the table, or None if fewer than two problems have two samples, which show the sampling noise."""
    accuracy = metric("accuracy")
    values, noise = accuracy.values(counts), accuracy.noise(counts)
    seen = ~np.isnan(values)
    informative = seen & np.isfinite(noise)
    if informative.sum() < 2:
        return None
    samples = float(counts.n[seen].mean())
    drawn, these = interval("accuracy", counts), interval("accuracy", counts, population="these problems")
    kept = samples / (samples + MORE)
    # Never wider than now: intervals are more careful if problems look nearly equal.
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
    """Return the half-width for similar problems with only this part of the sampling variance left."""
    seen, shown = ~np.isnan(values), np.isfinite(noise)
    mean, spread = float(values[seen].mean()), float(values[seen].var(ddof=1))
    sampling = float(noise[shown & seen].mean())
    left = max(0.0, spread - sampling) + part * min(spread, sampling)
    shrunk = mean + (values - mean) * math.sqrt(left / spread) if spread else values
    return mean_interval(shrunk, noise=np.full(values.size, part * sampling), clusters=counts.clusters).half_width


class Design(msgspec.Struct, frozen=True):
    """A number of samples on a number of problems."""

    samples: int
    problems: int
    half_width: float  # approximate, of the score on the whole benchmark
    requests: int
    tokens: float | None = None


class Designs(msgspec.Struct, frozen=True, kw_only=True):
    """Designs that reach a half-width, cheapest first."""

    whole: int  # problems of the benchmark
    half_width: float
    level: float
    spread: AnswerVariance
    designs: tuple[Design, ...]


def designs(
    whole: int, half_width: float, spread: AnswerVariance, level: float = 0.95, tokens_per_response: float | None = None
) -> Designs:
    """Return, for each number of samples, the fewest problems that reach a half-width."""
    if whole < 2 or not 0 < half_width < 0.5 or not 0 < level < 1:
        raise UsageError(
            "a design needs at least 2 problems, a half-width below 50 points, and a level between 0 and 1"
        )
    z = quantiles.normal((1 + level) / 2)
    allowed = (half_width / z) ** 2
    least = math.ceil(spread.within / (whole * allowed) - 1e-9)  # needed even with all problems
    found = []
    for n in sorted({max(1, least), *(n for n in DESIGNS if n >= least)}):
        needed = (spread.between + spread.within / n) / (allowed + spread.between / whole)
        m = min(whole, max(2, math.ceil(needed - 1e-9)))
        reached = z * math.sqrt(max(0.0, (1 / m - 1 / whole) * spread.between) + spread.within / (n * m))
        tokens = None if tokens_per_response is None else n * m * tokens_per_response
        found.append(Design(n, m, reached, n * m, tokens))
    ways = tuple(sorted(found, key=lambda each: (each.requests, each.samples)))
    return Designs(whole=whole, half_width=half_width, level=level, spread=spread, designs=ways)
