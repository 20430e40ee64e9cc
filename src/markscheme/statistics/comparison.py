"""Two models on the same problems: the difference with its interval, a p-value, and the problems that moved.

Problems are paired, and those without a value in both runs are left out. Whether two runs may be compared at all (same
data, prompt, protocol, sampling) is decided elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from markscheme.errors import UsageError
from markscheme.statistics import quantiles
from markscheme.statistics.clusters import standard_error
from markscheme.statistics.counts import Counts
from markscheme.statistics.difference import (
    Difference,
    FixedDifference,
    PairedDifference,
    macro_difference,
    p_value,
    paired,
    with_unseen,
)
from markscheme.statistics.estimators import hypergeometric
from markscheme.statistics.intervals import Interval, Population, check_level
from markscheme.statistics.metrics import interval, metric, per_problem

POWER = 0.8
NEAR_END = 0.1  # scores this close to 0 or 1 also get an odds ratio


class Moved(msgspec.Struct, frozen=True):
    """A problem whose solve rate differs."""

    key: str
    a: tuple[int, int]  # correct samples and samples of model A
    b: tuple[int, int]
    difference: float
    p_value: float  # of this problem alone (Fisher, mid-p)
    beyond_chance: bool  # significant among all problems, with a false discovery rate of at most 5 %


class Margin(msgspec.Struct, frozen=True, kw_only=True):
    """Non-inferiority and equivalence of B within a margin."""

    margin: float
    not_worse: bool  # the lower bound of the interval is above minus the margin
    not_worse_p: float  # one-sided, of the hypothesis that B is worse by the margin
    equivalent: bool  # both one-sided tests reject at 1 - level
    equivalent_p: float


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Model B against model A on the problems they share."""

    metric: str
    population: Population
    a: Interval
    b: Interval
    difference: Interval  # B minus A
    p_value: float  # two-sided, of no mean difference; below 1 - level exactly if the interval excludes zero
    probability_better: float  # that B's mean is above A's, given the data and a flat prior
    problems: int
    unshared: int  # left out because only one model has them, or too few samples of one came back
    better: int
    worse: int
    moved: tuple[Moved, ...]  # largest change first
    margin: Margin | None = None
    unseen: Interval | None = None  # if one problem in twenty is of a kind that was not drawn; for problems drawn
    detectable: float | None = None  # the smallest true difference with 80 % power; None if none up to 100 points
    odds_ratio: Interval | None = None  # B's odds over A's if a score is near 0 or 100 %, where points say little
    caveats: tuple[str, ...] = ()  # what the interval does not allow for


def compare(
    name: str,
    a: Counts,
    b: Counts,
    level: float = 0.95,
    population: Population = "problems drawn",
    margin: float | None = None,
) -> Comparison:
    """Compare model B with model A by a metric's name, over similar problems or on these exact ones."""
    check_level(level)
    one, two = shared(name, [a, b])
    difference = difference_of(name, one, two, population)
    change = per_problem(name, two) - per_problem(name, one)
    scores = [interval(name, part, level, population) for part in (one, two)]
    return Comparison(
        metric=name,
        population=population,
        a=scores[0],
        b=scores[1],
        problems=len(one.keys),
        unshared=len({*a.keys, *b.keys}) - len(one.keys),
        better=int(np.sum(change > 0)),
        worse=int(np.sum(change < 0)),
        moved=_moved(one, two),
        unseen=None if population == "these problems" else _with_unseen(name, one, two, difference, level),
        odds_ratio=_odds_ratio(name, one, two, difference, level, scores),
        caveats=_caveats(*scores),
        **tests_of(difference, level, len(one.keys), margin),
    )


class _Score(NamedTuple):
    """A figure of one run, with an interval at any level."""

    name: str
    counts: Counts
    population: Population

    @property
    def estimate(self) -> float:
        return self.at(0.95).estimate

    def bounds(self, level: float) -> tuple[float, float]:
        return (found := self.at(level)).low, found.high

    def at(self, level: float) -> Interval:
        return interval(self.name, self.counts, level, self.population)


def compare_unpaired(
    name: str, a: Counts, b: Counts, level: float, population: Population, margin: float | None = None
) -> Comparison:
    """Compare models on different problems: the difference of two independent scores (MOVER)."""
    check_level(level)
    one, two = _Score(name, a, population), _Score(name, b, population)
    difference = FixedDifference(one, two)  # type: ignore[arg-type]  # it uses `estimate` and `bounds` only
    problems = len(a.keys) + len(b.keys)
    return Comparison(
        metric=name,
        population=population,
        a=one.at(level),
        b=two.at(level),
        problems=problems,
        unshared=0,
        better=0,
        worse=0,
        moved=(),
        caveats=(
            "the runs have different problems, so one of them may have had the easier ones: this is the difference of the "
            "two scores, with a wider interval than on shared problems",
        ),
        **tests_of(difference, level, problems, margin),
    )


def tests_of(difference: Difference, level: float, problems: int, margin: float | None) -> dict[str, Any]:
    """Return the fields of a comparison that follow from the difference alone."""
    return {
        "difference": as_interval(difference, level, problems),
        "p_value": p_value(difference),
        "probability_better": difference.chance_above(0.0),
        "margin": None if margin is None else within(difference, margin, level),
        "detectable": detectable(difference, level),
    }


def difference_of(name: str, one: Counts, two: Counts, population: Population) -> Difference:
    """Return the difference on problems that both have a value for, rows in the same order."""
    these = population == "these problems"
    unit = metric(name).k / max(1.0, float(min(one.n.mean(), two.n.mean())))  # a value takes k of n samples
    clusters = () if these else one.clusters or two.clusters
    drawn = paired(per_problem(name, two) - per_problem(name, one), clusters, min(1.0, unit))
    if not these:
        return drawn
    a, b = (metric(name).on_these(part) for part in (one, two))
    # If samples show their noise, the narrower of two intervals would raise more false alarms.
    shown = min(one.independent.min(), two.independent.min()) >= 2 * metric(name).k or one.rounds or two.rounds
    return FixedDifference(a, b, None if shown else drawn)


def _with_unseen(name: str, one: Counts, two: Counts, difference: Difference, level: float) -> Interval:
    bounds = as_interval(difference, level, len(one.keys))
    assert isinstance(difference, PairedDifference)
    families = len(set(one.clusters or two.clusters))
    low, high = with_unseen(per_problem(name, one), per_problem(name, two), difference, level, families)
    return msgspec.structs.replace(bounds, low=max(-1.0, low), high=min(1.0, high), method="difference, unseen kinds")


def detectable(difference: Difference, level: float, power: float = POWER) -> float | None:
    """Return the smallest true difference with this power."""
    found = quantiles.detectable(level, power, max(1.0, difference.freedom)) * difference.error
    return found if found < 1 else None


def _odds_ratio(
    name: str, one: Counts, two: Counts, difference: Difference, level: float, scores: Sequence[Interval]
) -> Interval | None:
    """Return the odds ratio of both means, each with half a problem added on either side."""
    if all(NEAR_END < score.estimate < 1 - NEAR_END for score in scores):
        return None
    problems = len(one.keys)
    a, b = ((problems * score.estimate + 0.5) / (problems + 1) for score in scores)
    centre = math.log(b / (1 - b)) - math.log(a / (1 - a))
    if isinstance(difference, FixedDifference):
        # Distances on the scale of the odds; scores are independent.
        spans = [score.half_width / quantiles.normal((1 + level) / 2) for score in scores]
        error, freedom = math.hypot(*(w / (p * (1 - p)) for w, p in zip(spans, (a, b), strict=True))), math.inf
    else:
        # What each problem adds to the difference of both logarithms (the delta method), problems in pairs.
        change = per_problem(name, two) / (b * (1 - b)) - per_problem(name, one) / (a * (1 - a))
        error, freedom = standard_error(change, one.clusters or two.clusters)
        error = error or difference.error / math.sqrt(a * (1 - a) * b * (1 - b))  # where no problem differs
    away = quantiles.student((1 + level) / 2, min(freedom, 1e6)) * error if math.isfinite(error) else math.inf
    low, ratio, high = (math.exp(min(700.0, max(-700.0, at))) for at in (centre - away, centre, centre + away))
    return Interval(estimate=ratio, low=low, high=high, level=level, method="odds ratio", problems=problems)


def as_interval(difference: Difference, level: float, problems: int) -> Interval:
    """Return the difference with its interval."""
    low, high = difference.bounds(level)
    return Interval(
        estimate=difference.estimate, low=low, high=high, level=level, method="difference", problems=problems
    )


def within(difference: Difference, margin: float, level: float) -> Margin:
    """Test non-inferiority and equivalence (two one-sided tests) for a margin given as a share."""
    if not 0 < margin < 1:
        raise UsageError(f"a margin must be between 0 and 100 points, not {100 * margin:g}")
    not_worse_p = 1 - difference.chance_above(-margin)
    equivalent_p = max(not_worse_p, difference.chance_above(margin))
    return Margin(
        margin=margin,
        not_worse=difference.bounds(level)[0] > -margin,
        not_worse_p=not_worse_p,
        equivalent=equivalent_p < 1 - level,
        equivalent_p=equivalent_p,
    )


def macro_comparison(
    name: str, pairs: Sequence[tuple[Counts, Counts]], level: float, population: Population, margin: float | None = None
) -> tuple[Interval, float, Margin | None]:
    """Return the unweighted mean difference over benchmarks: interval, p-value and margin."""
    both = [shared(name, pair) for pair in pairs]
    difference = macro_difference([difference_of(name, one, two, population) for one, two in both])
    tested = None if margin is None else within(difference, margin, level)
    return as_interval(difference, level, sum(len(one.keys) for one, _ in both)), p_value(difference), tested


def _caveats(a: Interval, b: Interval) -> tuple[str, ...]:
    """Return what missing responses could change."""
    caveats = []
    if (a.if_wrong, b.if_wrong) != (None, None):
        (a_low, a_high), (b_low, b_high) = map(_extremes, (a, b))
        caveats.append(
            "responses are missing, and the interval assumes they are like the others of the same problem; the "
            f"difference would be {100 * (b_low - a_high):+.1f} if all missing responses of B are wrong and those of A "
            f"right, and {100 * (b_high - a_low):+.1f} the other way round"
        )
    return tuple(caveats)


def _extremes(score: Interval) -> tuple[float, float]:
    if score.if_wrong is None or score.if_right is None:
        return score.estimate, score.estimate
    return score.if_wrong, score.if_right


def shared(name: str, runs: Sequence[Counts]) -> list[Counts]:
    """Select the problems for which every run has a value, in the order of the first."""
    theirs = set.intersection(*(set(counts.keys) for counts in runs))
    keys = [key for key in runs[0].keys if key in theirs]
    parts = [counts.select(keys) for counts in runs]
    kept = ~np.any(np.isnan([per_problem(name, part) for part in parts]), axis=0)
    if not kept.any():
        raise UsageError(f"no problem has a value of {name} in all runs, so there is nothing to compare")
    return [part.select([key for key, has in zip(keys, kept, strict=True) if has]) for part in parts]


def _moved(a: Counts, b: Counts) -> tuple[Moved, ...]:
    rows = []
    for key, n_a, c_a, n_b, c_b in zip(a.keys, a.n.tolist(), a.c.tolist(), b.n.tolist(), b.c.tolist(), strict=True):
        difference = c_b / n_b - c_a / n_a
        if difference:
            rows.append((key, (c_a, n_a), (c_b, n_b), difference, fisher_p(c_a, n_a, c_b, n_b)))
    rows.sort(key=lambda row: (-abs(row[3]), row[4], row[0]))
    limit = _false_discovery_limit([row[4] for row in rows], len(a.keys))
    return tuple(Moved(*row, beyond_chance=row[4] <= limit) for row in rows)


def fisher_p(c_a: int, n_a: int, c_b: int, n_b: int) -> float:
    """Return Fisher's two-sided mid-p value for equal solve rates: the observed table counts half."""
    first, mass = hypergeometric(n_a + n_b, c_a + c_b, n_a)
    if mass.size == 1:  # no other table has these totals
        return 1.0
    here = mass[c_a - first]
    slack = 1e-9 * here
    return float(mass[mass < here - slack].sum() + 0.5 * mass[abs(mass - here) <= slack].sum())


def _false_discovery_limit(p_values: list[float], tests: int, rate: float = 0.05) -> float:
    """Return the largest significant p-value among `tests` by Benjamini and Hochberg; -1 if there is none."""
    ordered = sorted(p_values)
    kept = [p for rank, p in enumerate(ordered, start=1) if p <= rate * rank / tests]
    return max(kept, default=-1.0)
