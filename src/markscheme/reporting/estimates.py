"""A figure with its interval, as reports store it."""

from __future__ import annotations

import math

import msgspec

from markscheme.statistics import Counts, Interval, Population, interval
from markscheme.statistics.metrics import metric
from markscheme.types import Verdict


class Estimate(msgspec.Struct, frozen=True, omit_defaults=True):
    """A figure with its interval; the value is `null` if undefined, never 0 instead."""

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    problems: int = 0  # problems with all the samples it needs
    # Problems with fewer samples. Their value is estimated from these; a problem without any is left out.
    undefined: int = 0
    # Over all problems, if every missing response is wrong; and if every one is right.
    if_wrong: float | None = None
    if_right: float | None = None
    lowest: float | None = None  # bounds that hold for any content of the missing responses
    highest: float | None = None
    drawn_error: float = 0.0  # Monte Carlo standard error of the value; 0 if it is exact

    @property
    def signed(self) -> bool:
        """True for a difference, which is printed with its sign."""
        return False


class DifferenceEstimate(Estimate, frozen=True):
    """A difference of two figures."""

    @property
    def signed(self) -> bool:
        """True."""
        return True


def estimate(name: str, counts: Counts, population: Population = "problems drawn") -> Estimate:
    """Return a metric by name (`accuracy`, `pass@4` …) with its interval."""
    of = metric(name)
    # One answer is enough for an accuracy; a problem without any failed for other reasons.
    estimated = as_estimate(interval(name, counts, population=population), chosen=bool(counts.rounds) and of.k > 1)
    error = of.drawn_error(counts)
    return msgspec.structs.replace(estimated, drawn_error=error) if error else estimated


def as_estimate(figure: Interval, *, chosen: bool = False) -> Estimate:
    """Convert an interval.

    `chosen` means that the number of samples of a problem depended on its answers. Problems without a value are then
    not a random part of all, so the mean over the others is undefined.
    """
    same = ["if_wrong", "if_right", "lowest", "highest"]  # an undefined figure has these too
    value = None if math.isnan(figure.estimate) or (chosen and figure.undefined) else figure.estimate
    same += ["low", "high", "level", "problems", "undefined"] if value is not None else []
    return Estimate(value, **{name: getattr(figure, name) for name in same})


def bare(figure: Interval, kind: type[Estimate] = Estimate) -> Estimate:
    """Return only the value and the bounds, for figures that are shown next to others of the same kind."""
    return kind(figure.estimate, figure.low, figure.high)


def rate(counts: Counts, verdict: Verdict, population: Population = "problems drawn") -> Estimate:
    """Return the share of a verdict among responses; for `correct`, the accuracy with the same interval."""
    if verdict is Verdict.CORRECT:
        return estimate("accuracy", counts, population)
    return as_estimate(
        msgspec.structs.replace(interval("accuracy", counts.of(verdict), population=population), undefined=0)
    )
