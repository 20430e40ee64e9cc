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
import numpy as np

from markscheme.errors import UsageError
from markscheme.statistics import quantiles
from markscheme.statistics.comparison import difference_of, shared
from markscheme.statistics.counts import Counts
from markscheme.statistics.difference import FixedDifference
from markscheme.statistics.fixed_set import Sampled, Spread
from markscheme.statistics.intervals import Interval
from markscheme.statistics.metrics import metric

ERROR = 0.05  # of calling B better when it is not, whatever one looked at; the same on the other side of the interval
MISSED = 0.2  # of giving up though B is better by the margin: the power of a usual plan is the rest
FIRST, GROWTH = 2, 1 / 8
_JUMP = 0.583  # standard deviations of a step by which a sum of normal steps goes beyond a bound, on average
_TRUSTED = 0.7  # of that, where an error would be to call B better: variances are estimated too
_FLIPS = 2.0  # imagined; with none, 4.8 to 6 % of runs of two camps of problems were called better by mistake

Outcome = Literal["better", "not better by the margin", "open"]


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """What is known after some looks."""

    # B minus A on exactly these problems. Each end is wrong in at most 5 % of runs, whenever one stops.
    difference: Interval
    margin: float  # the smallest gain that matters, as a share
    evidence: float  # how much likelier a gain of the margin makes what was seen than no gain
    outcome: Outcome  # `better` exactly where the interval lies above zero
    looks: int
    samples: int  # of each problem, at the last look


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
    d, samples = difference.estimate, max(1, round(float(two.n.mean())))
    looks = [each for each in schedule(first, samples) if each <= samples]
    grown = looks[-1] / looks[-2] if len(looks) > 1 else 1.0

    def information(side: int) -> tuple[float, float]:
        """1/V on one side of the difference, and the mean jump over a bound since the last look."""
        if both:
            fixed, growing = 0.0, _unbiased(one) + _unbiased(two)
        else:  # what makes the difference low is a high A and a low B
            fixed, growing = _of_interval(difference.a, 1 - side), _of_interval(difference.b, side)
        now = 1 / (fixed + growing)
        return now, _JUMP * margin * math.sqrt(max(0.0, now - 1 / (fixed + growing * grown)))

    def reach(side: int) -> float:
        """How far the end of the interval is from d: where the ratio of a shift by the margin would reach its bound."""
        known, jump = information(side)
        return (math.log(1 / ERROR) - _TRUSTED * jump) / (margin * known) + margin / 2

    low, high = d - reach(0), d + reach(1)
    (below, _), (above, jump) = information(0), information(1)
    given_up = (margin * d - margin**2 / 2) * above <= jump - math.log(1 / MISSED)
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
        evidence=math.exp(min(700.0, (margin * d - margin**2 / 2) * below)),
        outcome=outcome,
        looks=len(looks),
        samples=samples,
    )


def _unbiased(counts: Counts) -> float:
    """The sampling variance of the accuracy on these problems, estimated without bias, and a little more.

    Answers that all agree show no noise, so the variance of two coin flips among all samples is added. A problem with one
    sample is taken to be as noisy as the others. Where both models are asked, the errors of the two estimates cancel; with
    one of them it would call a model better too early near 100 % (6.8 %).
    """
    units, noise = counts.independent, metric("accuracy").noise(counts)
    shown = np.isfinite(noise)
    single = float(np.mean((noise * units)[shown])) if shown.any() else 0.25
    each = np.where(shown, noise, single / np.maximum(units, 1))
    return float(each.mean()) / units.size + _FLIPS * 0.25 / float(units.sum()) ** 2


def _of_interval(part: Sampled | Spread, side: int) -> float:
    """The variance that one side of an interval tells: more than the unbiased one where little is known."""
    distance = abs(part.bounds(0.95)[side] - part.estimate)
    return max((distance / quantiles.normal(0.975)) ** 2, 1e-12)
