"""Works out the Intermediate Algebra problems of math-sample, with sympy or by search."""

from itertools import pairwise

import sympy as sp
from sample_files import Confirmations
from sympy.calculus.util import function_range

CONFIRM = Confirmations()
x, y, n, k, a = sp.symbols("x y n k a")


@CONFIRM.of("math-sample/intermediate_algebra/01")
def complex_product():
    return sp.expand((3 - 2 * sp.I) * (1 + 4 * sp.I))


@CONFIRM.of("math-sample/intermediate_algebra/02")
def complex_quotient():
    # The a + bi that gives 5 + i when it is multiplied by 2 - 3i.
    re, im = sp.symbols("re im", real=True)
    error = sp.expand((2 - 3 * sp.I) * (re + im * sp.I) - (5 + sp.I))
    solution = sp.solve([sp.re(error), sp.im(error)], [re, im])
    return solution[re] + solution[im] * sp.I


@CONFIRM.of("math-sample/intermediate_algebra/03")
def rational_range():
    return function_range((x**2 + 1) / (x**2 + 4), x, sp.S.Reals)


@CONFIRM.of("math-sample/intermediate_algebra/04")
def root_domain():
    return sp.solveset((x - 3) / (x + 2) >= 0, x, sp.S.Reals)


@CONFIRM.of("math-sample/intermediate_algebra/05")
def remainder():
    return sp.rem(x**10, x**2 - x - 1, x)


@CONFIRM.of("math-sample/intermediate_algebra/06")
def tangent():
    # A tangent meets the circle in a double point.
    meeting = sp.expand((x - 5) ** 2 + (k * x) ** 2 - 9)
    return sp.FiniteSet(*sp.solve(sp.discriminant(meeting, x), k))


@CONFIRM.of("math-sample/intermediate_algebra/07")
def quartic():
    return sp.FiniteSet(*sp.real_roots(x**4 - 8 * x**2 - 4 * x + 3))


@CONFIRM.of("math-sample/intermediate_algebra/08")
def biquadratic():
    return sp.FiniteSet(*sp.real_roots(x**4 - 7 * x**2 + 10))


@CONFIRM.of("math-sample/intermediate_algebra/09")
def asymptote():
    curve = (2 * x**2 - 3 * x + 4) / (x + 1)
    slope = sp.limit(curve / x, x, sp.oo)
    return sp.Eq(y, slope * x + sp.limit(curve - slope * x, x, sp.oo))


@CONFIRM.of("math-sample/intermediate_algebra/10")
def power_sum():
    # The roots are the eigenvalues of the companion matrix, so their cubes add up to the trace of its cube.
    return (sp.Matrix.companion(sp.Poly(x**3 - 4 * x**2 + 5 * x - 7)) ** 3).trace()


@CONFIRM.of("math-sample/intermediate_algebra/11")
def closed_form():
    assert [m * 2 ** (m - 1) for m in (1, 2, 3, 4)] == [1 * 1, 2 * 2, 3 * 4, 4 * 8]
    return sp.summation(k * 2 ** (k - 1), (k, 1, n))


@CONFIRM.of("math-sample/intermediate_algebra/12")
def two_positive_roots():
    def holds(value):
        roots = sp.roots(x**2 - 2 * value * x + 3 * value + 4, x)
        return len(roots) == 2 and all(root.is_real and root > 0 for root in roots)

    # Whether it holds can change only where the discriminant, a root or the sum of the roots vanishes.
    edges = sorted({*sp.solve(a**2 - (3 * a + 4), a), *sp.solve(3 * a + 4, a), sp.Integer(0)})
    between = [edges[0] - 1, *((low + high) / 2 for low, high in pairwise(edges)), edges[-1] + 1]
    assert not any(holds(edge) for edge in edges)
    pieces = zip([-sp.oo, *edges], [*edges, sp.oo], between, strict=True)
    return sp.Union(*(sp.Interval.open(low, high) for low, high, inside in pieces if holds(inside)))


@CONFIRM.of("math-sample/intermediate_algebra/13")
def reciprocals():
    assert [(m, m + 3) for m in (1, 2, 3, 4)] == [(1, 4), (2, 5), (3, 6), (4, 7)]
    return sp.summation(1 / (n * (n + 3)), (n, 1, sp.oo))


@CONFIRM.of("math-sample/intermediate_algebra/14")
def degree():
    return sp.degree(sp.expand((x**3 - 2 * x) * (x**4 + 1) - x**7), x)
