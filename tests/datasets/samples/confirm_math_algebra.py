"""Works out the Algebra problems of math-sample, with sympy or by search."""

from fractions import Fraction

import sympy as sp
from sample_files import Confirmations

CONFIRM = Confirmations()
x, y = sp.symbols("x y")


@CONFIRM.of("math-sample/algebra/01")
def function_values():
    def f(t):
        return 3 * t**2 - 5 * t + 7

    return f(4) - f(-2)


@CONFIRM.of("math-sample/algebra/02")
def slope():
    return sp.Line((-4, 1), (5, 13)).slope


@CONFIRM.of("math-sample/algebra/03")
def absolute_value():
    return sp.solveset(sp.Abs(2 * x - 3) <= 11, x, sp.S.Reals)


@CONFIRM.of("math-sample/algebra/04")
def quadratic_inequality():
    return sp.solveset(x**2 - 3 * x > 10, x, sp.S.Reals)


@CONFIRM.of("math-sample/algebra/05")
def two_equations():
    (solution,) = sp.linsolve([3 * x + 2 * y - 4, 5 * x - y - 11], [x, y])
    return tuple(solution)


@CONFIRM.of("math-sample/algebra/06")
def perpendicular():
    given = sp.Line((0, 5), (3, 5 - 1))  # y = -x/3 + 5 at x = 0 and at x = 3
    return sp.Eq(given.perpendicular_line(sp.Point(1, -2)).equation(x, y), 0)


@CONFIRM.of("math-sample/algebra/07")
def quadratic():
    return sp.solveset(x**2 - 6 * x + 2, x)


@CONFIRM.of("math-sample/algebra/08")
def product():
    # A cubic is fixed by its values at four places.
    return sp.interpolate([(n, (2 * n - 3) * (n**2 + n - 1)) for n in range(4)], x)


@CONFIRM.of("math-sample/algebra/09")
def cubic():
    return sp.FiniteSet(*(n for n in range(-30, 31) if n**3 - 4 * n**2 - 11 * n + 30 == 0))


@CONFIRM.of("math-sample/algebra/10")
def decimals():
    left, right = sp.Rational("0.6") * x - sp.Rational("0.13"), sp.Rational("0.2") * x + sp.Rational("0.17")
    (solution,) = sp.solve(left - right, x)
    return solution


@CONFIRM.of("math-sample/algebra/11")
def boats():
    fee, hour = sp.symbols("fee hour")
    known = [fee + 3 * hour - sp.Rational("19.50"), fee + 5 * hour - sp.Rational("27.50")]
    return (fee + 8 * hour).subs(sp.solve(known)), "dollars"


@CONFIRM.of("math-sample/algebra/12")
def courier():
    speeds = {2 * d / (Fraction(d, 8) + Fraction(d, 20)) for d in range(1, 9)}
    assert len(speeds) == 1, "the length of the road must not matter"
    return sp.Rational(speeds.pop())


@CONFIRM.of("math-sample/algebra/13")
def integers_below():
    return sp.FiniteSet(*(n for n in range(-100, 100) if n**2 < 3 * n + 5))


@CONFIRM.of("math-sample/algebra/14")
def arithmetic_sequence():
    sequences = [
        [first + step * n for n in range(40)]
        for first in range(-200, 200)
        for step in range(-20, 20)
        if first + step * (7 - 1) == 31 and first + step * (19 - 1) == 103
    ]
    assert len(sequences) == 1
    return sum(sequences[0])


@CONFIRM.of("math-sample/algebra/15")
def proportions():
    quotients = set()
    for c in (1, 2, -7):
        b = Fraction(5 * c, 4)
        a = Fraction(3, 2) * b
        quotients.add((a + b) / (b + c))
    assert len(quotients) == 1
    return sp.Rational(quotients.pop())
