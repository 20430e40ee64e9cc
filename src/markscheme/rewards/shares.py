"""Shares of rollouts with the prompt as the cluster: the answers of a group succeed or fail together."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from functools import reduce
from operator import add
from typing import NamedTuple

import msgspec

from markscheme.statistics.quantiles import normal, share_bounds

LEVEL = 0.95
_LEAST = 0.02  # no alarm for a smaller rise, however certain
# Each step tests about nine signals; over 1,000 steps, one run in a hundred has a false alarm. (The windows share most of
# their steps, so they add little.)
_BAR = normal(1 - 0.01 / 9_000)


class Share(msgspec.Struct, frozen=True):
    """A share with its interval."""

    value: float
    low: float
    high: float
    of: int


class Tally(NamedTuple):
    """How many rollouts show a signal, with what the spread between prompts needs. Tallies of several steps add up."""

    times: int = 0
    of: int = 0
    prompts: int = 0
    squares: int = 0  # sums over prompts: of a prompt's times², times x rollouts, and rollouts²
    products: int = 0
    sizes: int = 0

    @classmethod
    def by_prompt(cls, shown: Iterable[tuple[str, bool]]) -> Tally:
        """Count pairs of a prompt and whether the rollout shows the signal."""
        groups: dict[str, list[bool]] = defaultdict(list)
        for prompt, shows in shown:
            groups[prompt].append(shows)
        pairs = ((sum(each), len(each)) for each in groups.values())
        return cls.total(cls(c, n, 1, c * c, c * n, n * n) for c, n in pairs)

    @classmethod
    def total(cls, tallies: Iterable[Tally]) -> Tally:
        return reduce(lambda one, two: cls(*map(add, one, two)), tallies, cls())

    @property
    def rate(self) -> float:
        return self.times / self.of if self.of else 0.0

    @property
    def spread(self) -> float:
        """The sum over prompts of squared deviations from the rate."""
        return self.squares - 2 * self.rate * self.products + self.rate**2 * self.sizes

    @property
    def share(self) -> Share:
        """The share with its 95 % interval."""
        low, high = share_bounds(self.rate, self.of / _inflation(self), LEVEL)
        return Share(self.rate, low, high, self.of)


def _inflation(*tallies: Tally) -> float:
    """Return how much larger the variance is than if every rollout had a prompt of its own.

    Before there is evidence, the rollouts of a prompt count as one.
    """
    alone = sum(each.of * each.rate * (1 - each.rate) for each in tallies)
    size = sum(each.sizes for each in tallies) / max(1, sum(each.of for each in tallies))
    return max(1.0, (sum(each.spread for each in tallies) + size) / (alone + 1))


def is_rise(before: Tally, now: Tally, bar: float = _BAR) -> bool:
    """True if a share rose by more than chance and enough to matter.

    The signed root of the likelihood ratio, since a difference in standard errors is too large where cases are rare.
    """
    if not before.of or not now.of or now.rate - before.rate <= _LEAST:
        return False
    ratio = _likelihood(before) + _likelihood(now) - _likelihood(Tally.total([before, now]))
    return 2 * ratio > bar**2 * _inflation(before, now)


def _likelihood(tally: Tally) -> float:
    """Return the logarithm of the likelihood of a share at its own rate."""
    return sum(count * math.log(count / tally.of) for count in (tally.times, tally.of - tally.times) if count)
