"""A figure with its interval, as reports have it."""

from __future__ import annotations

import math

import msgspec

from markscheme.statistics import Counts, Interval, Population, interval
from markscheme.statistics.metrics import metric
from markscheme.types import Verdict


class Estimate(msgspec.Struct, frozen=True, omit_defaults=True):
    """A figure with its interval; the value is `null` where it is undefined, never 0 in its place."""

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    problems: int = 0  # problems that have all the samples it needs
    # Problems that have fewer; they count with what these let one expect, and without any not at all.
    undefined: int = 0
    # Over all problems, if every missing response were wrong; and if every one were right.
    if_wrong: float | None = None
    if_right: float | None = None
    lowest: float | None = None  # bounds that hold whatever the missing responses were
    highest: float | None = None
    drawn_error: float = 0.0  # standard error of the random draws behind the value; 0 where it is exact


def estimate(name: str, counts: Counts, population: Population = "problems drawn") -> Estimate:
    """A metric by name (`accuracy`, `pass@4` …) with its interval."""
    of = metric(name)
    # A problem has an accuracy after a single answer; without one it failed for reasons of its own.
    estimated = as_estimate(interval(name, counts, population=population), chosen=bool(counts.rounds) and of.k > 1)
    error = of.drawn_error(counts)
    return msgspec.structs.replace(estimated, drawn_error=error) if error else estimated


def as_estimate(figure: Interval, *, chosen: bool = False) -> Estimate:
    """An interval as reports have it.

    `chosen` says that how often a problem was asked depended on its answers. Then those without a value are not a
    random part of all, and the mean over the others would be of easier or harder ones: it is undefined.
    """
    same = ["if_wrong", "if_right", "lowest", "highest"]  # what an undefined figure has too
    value = None if math.isnan(figure.estimate) or (chosen and figure.undefined) else figure.estimate
    same += ["low", "high", "level", "problems", "undefined"] if value is not None else []
    return Estimate(value, **{name: getattr(figure, name) for name in same})


def rate(counts: Counts, verdict: Verdict, population: Population = "problems drawn") -> Estimate:
    """The share of a verdict among responses; that of `correct` is the accuracy, with the same interval."""
    if verdict is Verdict.CORRECT:
        return estimate("accuracy", counts, population)
    return as_estimate(
        msgspec.structs.replace(interval("accuracy", counts.of(verdict), population=population), undefined=0)
    )
