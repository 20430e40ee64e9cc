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
from markscheme.statistics.counts import Counts
from markscheme.statistics.intervals import Population, mean_interval
from markscheme.statistics.metrics import interval, metric
from markscheme.statistics.ranking import joint_level
from markscheme.statistics.variances import (
    AnswerVariance,
    BetweenProblems,
    Noise,
    assumed,
    assumed_between,
    difference_between,
    from_pilot,
    of_metric,
)

__all__ = [
    "AnswerVariance", "BetweenProblems", "Plan", "PlanRow", "VarianceTable", "assumed", "assumed_between",
    "difference_between", "from_pilot", "of_metric", "plan", "variance_table",
]  # fmt: skip

Floats = npt.NDArray[np.float64]

MORE = 4  # samples a problem that a table of variances adds
ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
MOST = 10**7  # samples of a problem that a plan looks at


class PlanRow(msgspec.Struct, frozen=True):
    """What n samples per problem buy."""

    samples: int
    detectable: float  # the smallest difference found with the asked power; 1 where none is
    power: float  # the chance to find the difference that was asked for; and what it may be, since B is uncertain
    power_low: float
    power_high: float
    # Of one model's score for problems drawn from a population, about; one half where nothing could be told.
    half_width: float
    half_width_these: float  # of one model's score on these problems only, about
    tokens: float | None  # for one model


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
    """Problems that would suffice with 16 samples each, or as many as the metric takes."""
    tokens: float | None
    """For one model, at `samples` per problem."""
    spread: AnswerVariance
    between_difference: float
    between_range: tuple[float, float]
    """B, and what it may be: 80 % with two pilots, near and far relatives without."""
    pilots: int
    """Runs of the models that the plan stands on: two, one, or none."""
    rows: tuple[PlanRow, ...]
    metric: str = "accuracy"
    models: int = 2
    """With more than two, every pair is compared, and all comparisons hold together."""


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

    def samples(self, between: float, noise: Noise, least: int) -> int | None:
        """Samples per problem that suffice, from `least` on."""
        # The variance per problem that still shows it.
        allowed = self.problems * (self.detect / self.factor()) ** 2 - between + 1e-12

        def enough(n: int) -> bool:
            return 2 * noise(n) <= allowed

        most = least
        while not enough(most):
            if allowed <= 0 or most > MOST:
                return None
            least, most = most + 1, 2 * most
        while least < most:
            middle = (least + most) // 2
            least, most = (least, middle) if enough(middle) else (middle + 1, most)
        return least

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
    name: str = "accuracy",
    models: int = 2,
    noise: Noise | None = None,
) -> Plan:
    """Plan a comparison of models on `problems` problems; `detect` is a share (0.05 is five points).

    `spread` and `noise` are those of the metric `name`, as `of_metric` gives them.
    """
    if problems < 2 or not 0 < detect < 1 or not 0 < power < 1 or not 0 < level < 1:
        raise UsageError("a plan needs at least 2 problems, and shares between 0 and 1 to detect, for power and level")
    if models < 2:
        raise UsageError(f"a comparison needs two models or more, not {models}")
    if spread is None or (noise is None and name != "accuracy"):
        spread, noise = of_metric(name, ())
    known, k = spread, metric(name).k
    luck: Noise = noise or (lambda n: known.within / n)
    varies = between or assumed_between(known)
    if population == "these problems":
        varies = BetweenProblems(0.0, 0.0, 0.0)
    each = level if models == 2 else joint_level(np.eye(models), level)
    question = _Question(problems, detect, power, each, population, varies.clusters)
    samples, fewest, most = (question.samples(b, luck, k) for b in (varies.value, varies.low, varies.high))
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
        problems_needed=question.problems_needed(varies.value + 2 * luck(max(16, k))),
        tokens=None if samples is None or tokens_per_response is None else problems * samples * tokens_per_response,
        spread=known,
        between_difference=varies.value,
        between_range=(varies.low, varies.high),
        pilots=2 if between is not None else int("pilot" in known.source),
        rows=tuple(_row(n, question, level, known.between, luck(n), varies, tokens_per_response) for n in rows),
        metric=name,
        models=models,
    )


def _row(
    n: int,
    question: _Question,
    level: float,
    problems_differ: float,
    luck: float,
    between: BetweenProblems,
    tokens: float | None,
) -> PlanRow:
    problems, alone = question.problems, question._replace(level=level)  # one score is no comparison

    def error(varies: float) -> float:
        return math.sqrt((varies + 2 * luck) / problems)

    drawn = math.sqrt((problems_differ + luck) / problems)
    these = math.sqrt(luck / problems)
    return PlanRow(
        samples=n,
        detectable=min(1.0, question.factor() * error(between.value)),
        power=question.chance(error(between.value)),
        power_low=question.chance(error(between.high)),
        power_high=question.chance(error(between.low)),
        half_width=min(0.5, alone.critical("problems drawn")[0] * drawn),
        half_width_these=min(0.5, alone.critical("these problems")[0] * these),
        tokens=None if tokens is None else problems * n * tokens,
    )


class VarianceTable(msgspec.Struct, frozen=True, kw_only=True):
    """The uncertainty of accuracy in its two parts: half-widths of the intervals now, and with more samples about."""

    # About the standard error if every problem's solve rate were known: no number of samples lowers it.
    from_problems: float
    from_sampling: float  # about the standard error on exactly these problems
    samples: float  # samples a problem, on average
    half_width: float  # 95 %, problems drawn; and with four more samples a problem; and with endless ones
    half_width_more: float
    half_width_endless: float
    these_half_width: float  # 95 %, exactly these problems; and with four more samples a problem
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
