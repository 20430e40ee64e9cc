"""Comparing while asking: is B better than A on these problems, and may one stop? Honest however often one looks.

Samples are added to every problem alike, so the difference d with its variance V is a Brownian motion in information 1/V,
whether both models are asked on or only B. The evidence is the likelihood ratio of a gain of `margin` against none (Wald's
sequential test): at most one run in twenty of a model that is not better ever reaches 20. Looks are a few samples apart,
so the ratio jumps over its bound; the bound is lowered by that jump's mean (Siegmund), which the simulation confirms.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from markscheme.errors import UsageError
from markscheme.statistics import quantiles
from markscheme.statistics.comparison import difference_of, shared
from markscheme.statistics.counts import Counts
from markscheme.statistics.difference import FixedDifference
from markscheme.statistics.fixed_set import Sampled, Spread
from markscheme.statistics.intervals import Interval

ERROR = 0.05
"""Of calling B better when it is not, whatever one looked at; the same on the other side of the interval."""
MISSED = 0.2
"""Of giving up though B is better by the margin: the power of a usual plan is the rest."""
FIRST, GROWTH = 2, 1 / 8
_JUMP = 0.583  # standard deviations of a step by which a sum of normal steps goes beyond a bound, on average
_TRUSTED = 0.7  # of that, where an error would be to call B better: variances are estimated too

Outcome = Literal["better", "not better by the margin", "open"]


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """What is known after some looks."""

    difference: Interval
    """B minus A on exactly these problems. Each end is wrong in at most 5 % of runs, whenever one stops."""
    margin: float
    """The smallest gain that matters, as a share."""
    evidence: float
    """How much likelier a gain of the margin makes what was seen than no gain."""
    outcome: Outcome
    """`better` exactly where the interval lies above zero."""
    looks: int
    samples: int
    """Of each problem, at the last look."""


def schedule(first: int, most: int) -> list[int]:
    """Samples per problem at each look."""
    looks = [first]
    while (samples := next_look(looks[-1], most)) > looks[-1]:
        looks.append(samples)
    return looks


def next_look(samples: int, most: int) -> int:
    """Samples per problem at the look after this one; as many as there are where no more are allowed."""
    return max(samples, min(most, samples + max(1, round(samples * GROWTH))))


def look(a: Counts, b: Counts, margin: float, first: int = FIRST, both: bool = False) -> Looked:
    """Whether B is better than A. `both` says that A was asked on with B; else it is a run that was there before."""
    if not 0 < margin < 1:
        raise UsageError(f"a margin is a share between 0 and 1 (points / 100), not {margin}")
    one, two = shared("accuracy", [a, b])
    difference = difference_of("accuracy", one, two, "these problems")
    assert isinstance(difference, FixedDifference)
    samples = max(1, round(float(two.n.mean())))
    looks = [each for each in schedule(first, samples) if each <= samples]
    before = looks[-2] / looks[-1] if len(looks) > 1 else 0.0
    below, above = (_information(difference, side, both, before) for side in (0, 1))
    d = difference.estimate

    def ratio(information: float) -> float:
        return (margin * d - margin**2 / 2) * information

    def reach(information: float, step: float) -> float:
        """How far the end of the interval is from d: where the ratio of a shift by the margin would reach its bound."""
        return (math.log(1 / ERROR) - _TRUSTED * _JUMP * margin * math.sqrt(step)) / (margin * information) + margin / 2

    low, high = d - reach(*below), d + reach(*above)
    given_up = ratio(above[0]) <= _JUMP * margin * math.sqrt(above[1]) - math.log(1 / MISSED)
    outcome: Outcome = "better" if low > 0 else "not better by the margin" if given_up else "open"
    return Looked(
        difference=Interval(
            estimate=d,
            low=max(-1.0, low),
            high=min(1.0, high),
            level=1 - 2 * ERROR,
            method="always-valid",
            problems=len(one.keys),
        ),
        margin=margin,
        evidence=math.exp(min(700.0, ratio(below[0]))),
        outcome=outcome,
        looks=len(looks),
        samples=samples,
    )


def _information(difference: FixedDifference, side: int, both: bool, before: float) -> tuple[float, float]:
    """1/V on one side of the difference, and how much of it came since the last look; an interval tells V."""
    # What makes the difference low is a high A and a low B.
    fixed, growing = _variance(difference.a, 1 - side), _variance(difference.b, side)
    if both:
        fixed, growing = 0.0, fixed + growing
    now = 1 / (fixed + growing)
    return now, now - (1 / (fixed + growing / before) if before else 0.0) if before else 0.0


def _variance(part: Sampled | Spread, side: int) -> float:
    distance = abs(part.bounds(0.95)[side] - part.estimate)
    return max((distance / quantiles.normal(0.975)) ** 2, 1e-12)
