"""Sequential comparison: is B better than A on these problems, and may sampling stop? Valid at every look.

Every problem gets the same number of samples, so the difference d with variance V is a Brownian motion in information
1/V, whether both models are sampled or only B. The evidence is the likelihood ratio of a gain of `margin` against none
(Wald's sequential test): if B is not better, it reaches 20 in at most one run in twenty. Looks are some samples apart,
so the ratio overshoots its bound; the bound is lowered by the mean overshoot (Siegmund), which simulation confirms.
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

ERROR = 0.05  # of calling B better when it is not, over all looks; the same for the other end of the interval
MISSED = 0.2  # of stopping for futility though B is better by the margin
FIRST, GROWTH = 2, 1 / 8
_JUMP = 0.583  # mean overshoot of a sum of normal steps, in standard deviations of a step
_TRUSTED = 0.7  # part of the overshoot used for calling B better, since variances are estimated too
_FLIPS = 2.0  # imagined coin flips; without them, 4.8 to 6 % of runs with two camps of problems were false alarms

Outcome = Literal["better", "not better by the margin", "open"]


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """The state after some looks."""

    difference: Interval  # B minus A on these exact problems; each end is wrong in at most 5 % of runs, at any stop
    margin: float  # the smallest gain that matters, as a share
    evidence: float  # likelihood ratio of a gain of the margin against no gain
    outcome: Outcome  # `better` exactly if the interval is above zero
    looks: int
    samples: int  # per problem, at the last look


def schedule(first: int, most: int) -> list[int]:
    """Return the samples per problem at each look."""
    looks = [first]
    while (samples := next_look(looks[-1], most)) > looks[-1]:
        looks.append(samples)
    return looks


def next_look(samples: int, most: int) -> int:
    """Return the samples per problem at the next look; the same number if no more are allowed."""
    return max(samples, min(most, samples + max(1, round(samples * GROWTH))))


def look(a: Counts, b: Counts, margin: float, first: int = FIRST, both: bool = False) -> Looked:
    """Decide whether B is better than A. With `both`, A is sampled along with B; else it is a finished run."""
    if not 0 < margin < 1:
        raise UsageError(f"a margin must be a share between 0 and 1 (points / 100), not {margin}")
    one, two = shared("accuracy", [a, b])
    difference = difference_of("accuracy", one, two, "these problems")
    assert isinstance(difference, FixedDifference)
    d, samples = difference.estimate, max(1, round(float(two.n.mean())))
    looks = [each for each in schedule(first, samples) if each <= samples]
    grown = looks[-1] / looks[-2] if len(looks) > 1 else 1.0

    def information(side: int) -> tuple[float, float]:
        """Return 1/V on one side of the difference, and the mean overshoot since the last look."""
        if both:
            fixed, growing = 0.0, _unbiased(one) + _unbiased(two)
        else:  # a high A and a low B make the difference low
            fixed, growing = _of_interval(difference.a, 1 - side), _of_interval(difference.b, side)
        now = 1 / (fixed + growing)
        return now, _JUMP * margin * math.sqrt(max(0.0, now - 1 / (fixed + growing * grown)))

    def reach(side: int) -> float:
        """Return the distance from d at which the likelihood ratio of a shift by the margin reaches its bound."""
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
    """Return the unbiased sampling variance of the accuracy on these problems, plus that of two coin flips.

    Answers that all agree show no noise, hence the coin flips. A problem with one sample is assumed to be as noisy as
    the others. With two sampled models the errors of the estimates cancel; with one, there would be too many false
    alarms near 100 % (6.8 %).
    """
    units, noise = counts.independent, metric("accuracy").noise(counts)
    shown = np.isfinite(noise)
    single = float(np.mean((noise * units)[shown])) if shown.any() else 0.25
    each = np.where(shown, noise, single / np.maximum(units, 1))
    return float(each.mean()) / units.size + _FLIPS * 0.25 / float(units.sum()) ** 2


def _of_interval(part: Sampled | Spread, side: int) -> float:
    """Return the variance implied by one side of an interval, which is larger than the unbiased one for few samples."""
    distance = abs(part.bounds(0.95)[side] - part.estimate)
    return max((distance / quantiles.normal(0.975)) ** 2, 1e-12)
