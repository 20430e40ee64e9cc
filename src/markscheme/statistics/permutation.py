"""P-values by exchanging labels: sign flips of paired differences, and Fisher's test for one problem.

Both are two-sided and mid-p: outcomes exactly as extreme as the observed one count half. The plain exact test counts
them whole, which for few moved problems means a false alarm in 1 or 2 % of cases where 5 % were promised.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from markscheme.statistics.estimators import hypergeometric

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_LARGEST_TABLE = 100_000_000  # cells of the exact computation: about a second
_DRAWS = 100_000
_DEALS = 10_000


def sign_flip_p(change: Floats, denominator: int | None = None, seed: int = 0) -> tuple[float, bool]:
    """How often random signs make the sum of the differences as large as it is; and whether that is exact.

    Under the hypothesis that the two models are interchangeable on every problem each difference could as well have
    the other sign. Flipping leaves the sum of squares alone, so this is also the studentised test and holds for large
    numbers of problems whenever the mean difference is zero. Exact when `denominator` makes all differences whole and
    the table of sums is small enough.
    """
    moved = change[change != 0]
    if moved.size == 0:
        return 1.0, True
    if denominator is not None:
        steps = np.rint(moved * denominator).astype(np.int64)
        steps //= np.gcd.reduce(steps)
        if int(np.abs(steps).sum()) * steps.size <= _LARGEST_TABLE:
            return _exact(np.abs(steps), abs(int(steps.sum()))), True
    return _drawn(np.abs(moved), abs(float(moved.sum())), seed), False


def _exact(steps: Ints, observed: int) -> float:
    """The same from the distribution of the sum of all steps with a plus sign, built one problem after the other."""
    total = int(steps.sum())
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    for step in steps.tolist():
        minus = 0.5 * chance
        chance = minus.copy()
        chance[step:] += minus[: total + 1 - step]
    # The signed sum is twice the plus part less the total.
    distance = np.abs(2 * np.arange(total + 1) - total)
    return float(min(1.0, chance[distance > observed].sum() + 0.5 * chance[distance == observed].sum()))


def _drawn(moved: Floats, observed: float, seed: int) -> float:
    rng = np.random.default_rng(seed)
    sizes, times = np.unique(np.round(moved, 12), return_counts=True)
    # Equal steps share one binomial draw, so the cost does not grow with the number of problems.
    sums = np.zeros(_DRAWS)
    for size, count in zip(sizes, times, strict=True):
        sums += size * (2.0 * rng.binomial(count, 0.5, _DRAWS) - count)
    distance = np.abs(sums)
    slack = 1e-9 * max(1.0, float(moved.sum()))
    beyond = np.sum(distance > observed + slack)
    level = np.sum(np.abs(distance - observed) <= slack)
    return float((beyond + 0.5 * level + 0.5) / (_DRAWS + 1))


def relabel_p(
    a: tuple[Ints, Ints], b: tuple[Ints, Ints], value: Callable[[Ints, Ints], Floats] | None = None, seed: int = 0
) -> tuple[float, bool]:
    """How often dealing each problem's samples to the two models anew makes them differ as much; and whether exactly.

    `a` and `b` are samples and correct samples per problem. For the hypothesis that no problem's solve rate differs,
    on these problems. `value` is the metric per problem, by default the share of correct samples; exact for that
    when each model has one number of samples for all problems.
    """
    (n_a, c_a), (n_b, c_b) = a, b
    if value is None and np.unique(n_a).size == 1 and np.unique(n_b).size == 1:
        return _exact_relabel(int(n_a[0]), c_a, int(n_b[0]), c_b), True
    metric = value or (lambda n, c: c / n)
    rng = np.random.default_rng(seed)
    correct, observed = c_a + c_b, abs(float(np.mean(metric(n_b, c_b) - metric(n_a, c_a))))
    distance = np.empty(_DEALS)
    for i in range(_DEALS):
        dealt = rng.hypergeometric(correct, n_a + n_b - correct, n_b)
        distance[i] = abs(float(np.mean(metric(n_b, dealt) - metric(n_a, correct - dealt))))
    slack = 1e-9
    beyond, level = np.sum(distance > observed + slack), np.sum(np.abs(distance - observed) <= slack)
    return float((beyond + 0.5 * level + 0.5) / (_DEALS + 1)), False


def _exact_relabel(n_a: int, c_a: Ints, n_b: int, c_b: Ints) -> float:
    """With equal numbers of samples only the total of B's correct samples matters: a sum of hypergeometrics."""
    chance, lowest = np.ones(1), 0
    totals, times = np.unique(c_a + c_b, return_counts=True)
    for total, count in zip(totals.tolist(), times.tolist(), strict=True):
        first, mass = hypergeometric(n_a + n_b, total, n_b)
        lowest += first * count
        for _ in range(count):
            chance = np.convolve(chance, mass)
    if chance.size == 1:  # all right or all wrong everywhere: no deal differs
        return 1.0
    expected = float(np.sum(c_a + c_b)) * n_b / (n_a + n_b)
    distance = np.abs(lowest + np.arange(chance.size) - expected)
    observed = abs(float(c_b.sum()) - expected)
    slack = 1e-9 * max(1.0, expected)
    beyond, level = distance > observed + slack, np.abs(distance - observed) <= slack
    return float(min(1.0, chance[beyond].sum() + 0.5 * chance[level].sum()))


def fisher_p(c_a: int, n_a: int, c_b: int, n_b: int) -> float:
    """Fisher's test, mid-p: tables with the same totals that are less likely than the observed one, it counting half."""
    first, mass = hypergeometric(n_a + n_b, c_a + c_b, n_a)
    if mass.size == 1:  # no other table has these totals
        return 1.0
    here = mass[c_a - first]
    slack = 1e-9 * here
    less, same = mass[mass < here - slack].sum(), mass[np.abs(mass - here) <= slack].sum()
    return float(less + 0.5 * same)
