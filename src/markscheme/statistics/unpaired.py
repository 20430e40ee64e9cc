"""Two models on different problems: the difference of two independent scores, with an interval of its own."""

from __future__ import annotations

from typing import NamedTuple

from markscheme.statistics.comparison import Comparison, as_interval, within
from markscheme.statistics.counts import Counts
from markscheme.statistics.difference import FixedDifference, p_value
from markscheme.statistics.intervals import Interval, Population, check_level
from markscheme.statistics.metrics import interval


class Score(NamedTuple):
    """A figure of one run, with its interval at any level."""

    name: str
    counts: Counts
    population: Population

    @property
    def estimate(self) -> float:
        """The figure."""
        return self.at(0.95).estimate

    def bounds(self, level: float) -> tuple[float, float]:
        """Low and high."""
        return (found := self.at(level)).low, found.high

    def at(self, level: float) -> Interval:
        """With its interval."""
        return interval(self.name, self.counts, level, self.population)


def compare_unpaired(
    name: str, a: Counts, b: Counts, level: float, population: Population, margin: float | None = None
) -> Comparison:
    """Compare model B with model A without a problem in common: the two intervals put together, distance by distance."""
    check_level(level)
    one, two = Score(name, a, population), Score(name, b, population)
    difference = FixedDifference(one, two)  # type: ignore[arg-type]  # it asks for `estimate` and `bounds` only
    above = difference.chance_above(0.0)
    return Comparison(
        metric=name,
        population=population,
        a=one.at(level),
        b=two.at(level),
        difference=as_interval(difference, level, len(a.keys) + len(b.keys)),
        p_value=p_value(difference),
        probability_better=above,
        problems=len(a.keys) + len(b.keys),
        unshared=0,
        better=0,
        worse=0,
        moved=(),
        margin=None if margin is None else within(difference, margin, level),
        caveats=(
            "the runs have different problems, so that one may have had the easier ones: this difference is of the "
            "two scores as they are, and wider than one between the same problems",
        ),
    )
