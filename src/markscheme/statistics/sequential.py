"""Adaptive sampling: which problems to sample again, and an interval that stays valid.

Rounds have sizes fixed in advance; within a round, more samples go to uncertain problems. Stopping and allocation depend
on the data, so the plain solve rate is biased: a problem with 4/4 is sampled less and keeps its lucky score. Here every
round samples every problem and gives an unbiased mean, and rounds are averaged by their fixed sizes, so the weights do
not depend on the data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from markscheme.errors import UsageError
from markscheme.statistics.arrays import Floats, Ints
from markscheme.statistics.counts import Round
from markscheme.statistics.fixed_set import Sampled, sampled
from markscheme.statistics.intervals import Interval

FIRST_ROUND = 4
# Each round multiplies the samples so far by this: few looks, and few samples beyond what was needed.
GROWTH = 1.5
LEAST = 2  # samples of every problem in every round, the fewest that show a variance
_KEPT_EVEN = 0.3  # share of a round that is spread evenly, so as not to chase the noise of early rounds


def sizes(max_samples: int, first: int = FIRST_ROUND) -> list[int]:
    """Return the mean samples per problem of each round, up to `max_samples` in total."""
    if first < LEAST:
        raise UsageError(f"the first round needs at least {LEAST} samples per problem, not {first}")
    if max_samples < first:
        raise UsageError(
            f"the maximum of samples ({max_samples}) must be at least the size of the first round ({first})"
        )
    rounds = [first]
    while size := next_size(sum(rounds), max_samples):
        rounds.append(size)
    return rounds


def next_size(spent: int, max_samples: int) -> int:
    """Return the mean samples per problem of the next round after `spent`; 0 if no further round fits."""
    size = min(max(LEAST, round(spent * (GROWTH - 1))), max_samples - spent)
    return size if size >= LEAST else 0


def allocate(rounds: Sequence[Round], size: int, problems: int) -> Ints:
    """Return the samples of each problem in the next round, `size` on average.

    They are proportional to the standard deviation of one answer (Neyman), from all rounds so far with one correct and
    one wrong answer added to every problem.
    """
    if not rounds:
        return np.full(problems, size, dtype=np.int64)
    n = np.sum([np.array(past.n) for past in rounds], axis=0)
    c = np.sum([np.array(past.c) for past in rounds], axis=0)
    need = np.sqrt((c + 1) * (n - c + 1) / ((n + 2) * (n + 3)))
    return _apportion(need, size * problems, _least(size))


def _least(size: int) -> int:
    """Return the fewest samples of a problem in a round of this size after the first."""
    return max(LEAST, math.floor(_KEPT_EVEN * size))


def _apportion(need: Floats, total: int, least: int) -> Ints:
    """Return whole numbers proportional to need, at least `least`, that add up to `total`."""
    share = np.full(need.size, float(least))
    above = np.ones(need.size, dtype=bool)
    while above.any():
        spare = total - least * int(np.sum(~above))
        share[above] = spare * need[above] / need[above].sum()
        short = above & (share < least)
        if not short.any():
            break
        share[short] = least
        above &= ~short
    whole = np.floor(share + 1e-9).astype(np.int64)
    first = np.argsort(-(share - whole), kind="stable")[: total - int(whole.sum())]
    whole[first] += 1
    return whole


def known(rounds: Sequence[Round], level: float = 0.95) -> Interval:
    """Return accuracy on these problems, with an interval that is valid if sampling stops by its width."""
    mean = on_these(rounds)
    low, high = mean.bounds(level)
    asked = sum(any(past.n[row] for past in rounds) for row in range(len(rounds[0].n)))
    return Interval(
        estimate=mean.estimate,
        low=low,
        high=high,
        level=level,
        method="these-problems",
        problems=asked,
        undefined=len(rounds[0].n) - asked,
    )


def on_these(rounds: Sequence[Round]) -> Sampled:
    """Return the mean over these problems with its sampling variance, from within each round and problem."""
    if not rounds:
        raise UsageError("there is no round yet, so there is nothing to estimate")
    n, weight, values, parts = _by_round(rounds)
    variance = parts.sum(axis=0)
    # The number of samples that would have at most this variance in a single round.
    alone = 1 / np.maximum(np.sum(weight**2 / np.maximum(n, 1), axis=0), 1e-300)
    asked = ~np.isnan(values)
    squares = float(np.sum((parts**2 / np.maximum(n - 1, 1))[:, asked]))
    mean = sampled(values, variance, alone)
    return mean._replace(freedom=float(variance[asked].sum()) ** 2 / squares) if squares > 0 else mean


def noise(rounds: Sequence[Round]) -> Floats:
    """Return the sampling variance of each problem's solve rate."""
    n, _, _, parts = _by_round(rounds)
    return np.where(n.sum(axis=0) > 0, parts.sum(axis=0), np.inf)


def sure(rounds: Sequence[Round]) -> list[int]:
    """Return the samples that every problem is certain to get in each round."""
    first, *later = (past.planned for past in rounds)
    return [first, *(min(planned, _least(planned)) for planned in later)]


def used(rounds: Sequence[Round]) -> int:
    """Return the effective samples per problem of rounds weighted by their certain samples."""
    certain = np.array(sure(rounds), dtype=float)
    returned = np.maximum(np.array([past.n for past in rounds]), 1)
    return int(np.mean(certain.sum() ** 2 / (certain**2 @ (1 / returned))))


def pass_rates(rounds: Sequence[Round], k: int, every: bool = False) -> Floats:
    """Return pass@k of each problem (pass^k with `every`), corrected for adaptive sampling.

    Within a round, C(n-c, j)/C(n, j) is an unbiased estimate of j misses, and estimates of successive rounds multiply. k
    is split over the rounds in every way, weighted by the certain samples of each round, since real numbers of samples
    depend on the answers. nan if k exceeds these, or too few samples came back.
    """
    certain_of = sure(rounds)
    out = np.full(len(rounds[0].n), np.nan)
    if k > sum(certain_of):
        return out
    for problem in range(out.size):
        ways = np.ones(1)
        for certain, past in zip(certain_of, rounds, strict=True):
            n, c = past.n[problem], past.c[problem]
            ways = np.convolve(ways, _chances(certain, n, c if every else n - c))[: k + 1]
        out[problem] = ways[k] / math.comb(sum(certain_of), k)
    return out if every else 1 - out


def _chances(certain: int, n: int, hits: int) -> Floats:
    """Return, for j = 0 … certain, the ways to choose j slots times the probability that j of n samples all hit."""
    j = np.arange(certain)
    # With a missing sample, that j and every larger one are unknown.
    chance = np.where(j < n, np.maximum(hits - j, 0) / np.maximum(n - j, 1), np.nan)
    choose = np.array([float(math.comb(certain, i)) for i in range(certain + 1)])
    ways: Floats = choose * np.append(1.0, np.cumprod(chance))
    return ways


def solve_rates(rounds: Sequence[Round]) -> Floats:
    """Return each problem's solve rate, corrected for adaptive sampling; nan without an answer."""
    return _by_round(rounds)[2]


def _by_round(rounds: Sequence[Round]) -> tuple[Floats, Floats, Floats, Floats]:
    """Return samples and weights by round and problem, each problem's rate, and each round's part of its variance.

    A problem without an answer in a round (errors) uses its other rounds.
    """
    n, c = (np.array([getattr(past, part) for past in rounds], dtype=float) for part in "nc")
    weight = np.where(n > 0, np.array([[past.planned] for past in rounds], dtype=float), 0.0)
    weight /= np.maximum(weight.sum(axis=0), 1e-300)
    values = np.where(n.sum(axis=0) > 0, np.sum(weight * c / np.maximum(n, 1), axis=0), np.nan)
    return n, weight, values, weight**2 * _variance(n, c) / np.maximum(n, 1)


def _variance(n: Floats, c: Floats) -> Floats:
    """Return the variance of one answer by round and problem: unbiased with two samples, else pooled over rounds."""
    all_n, all_c = n.sum(axis=0), c.sum(axis=0)
    pooled = (all_c + 0.5) * (all_n - all_c + 0.5) / (all_n + 1) ** 2
    seen = c * (n - c) / np.maximum(n * (n - 1), 1)
    return np.where(n >= 2, seen, np.broadcast_to(pooled, n.shape))
