"""P-values by exchanging labels: sign flips of paired differences, and Fisher's test for one problem.

Both are two-sided and mid-p: outcomes exactly as extreme as the observed one count half. The plain exact test counts
them whole, which for few moved problems means a false alarm in 1 or 2 % of cases where 5 % were promised.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_LARGEST_TABLE = 100_000_000  # cells of the exact computation: about a second
_DRAWS = 100_000


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


def _exact(steps: npt.NDArray[np.int64], observed: int) -> float:
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


def fisher_p(c_a: int, n_a: int, c_b: int, n_b: int) -> float:
    """Fisher's test, mid-p: tables with the same totals that are less likely than the observed one, it counting half."""
    correct, total = c_a + c_b, n_a + n_b
    first, last = max(0, correct - n_b), min(correct, n_a)
    if first == last:  # no other table has these totals
        return 1.0
    j = np.arange(first, last, dtype=float)
    ratios = np.log(correct - j) + np.log(n_a - j) - np.log(j + 1) - np.log(total - correct - n_a + j + 1)
    log_mass = np.concatenate([[0.0], np.cumsum(ratios)])
    mass = np.exp(log_mass - log_mass.max())
    mass /= mass.sum()
    here = mass[c_a - first]
    slack = 1e-9 * here
    less = mass[mass < here - slack].sum()
    same = mass[np.abs(mass - here) <= slack].sum()
    return float(less + 0.5 * same)
