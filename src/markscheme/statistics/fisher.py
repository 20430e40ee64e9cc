"""Fisher's test for one problem: could two models with the same solve rate have split its correct samples like this?"""

from __future__ import annotations

from markscheme.statistics.estimators import hypergeometric


def fisher_p(c_a: int, n_a: int, c_b: int, n_b: int) -> float:
    """Two-sided mid-p: tables with the same totals that are less likely than the observed one, it counting half."""
    first, mass = hypergeometric(n_a + n_b, c_a + c_b, n_a)
    if mass.size == 1:  # no other table has these totals
        return 1.0
    here = mass[c_a - first]
    slack = 1e-9 * here
    less, same = mass[mass < here - slack].sum(), mass[abs(mass - here) <= slack].sum()
    return float(less + 0.5 * same)
