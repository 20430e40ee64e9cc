"""Works out problems 01 to 18 of aime-sample, by brute force where the problem is finite and exactly elsewhere."""

from fractions import Fraction
from itertools import combinations, count, permutations, product
from math import factorial, gcd, lcm

import sympy as sp
from sample_files import Confirmations
from sympy import Point, sqrt

CONFIRM = Confirmations()


def numerator_plus_denominator(value):
    value = sp.Rational(value)
    return value.p + value.q


@CONFIRM.of("aime-sample/01")
def digit_sums():
    return sum(n == 19 * sum(map(int, str(n))) for n in range(100, 1000))


@CONFIRM.of("aime-sample/02")
def reciprocal():
    x = sp.Symbol("x")
    (root,) = [r for r in sp.solve(x - 1 / x - 3, x) if r > 1]
    return sp.radsimp(sp.expand(root**5) - 1 / sp.expand(root**5))


@CONFIRM.of("aime-sample/03")
def trapezoids():
    def height_of(chord):
        return sqrt(15**2 - sp.Rational(chord, 2) ** 2)

    areas = []
    for y in (height_of(24), -height_of(24)):
        corners = [(-9, height_of(18)), (9, height_of(18)), (12, y), (-12, y)]
        assert all(Point(corner).distance(Point(0, 0)) == 15 for corner in corners)
        areas.append(abs(sp.Polygon(*corners).area))
    return sum(areas)


@CONFIRM.of("aime-sample/04")
def triangles():
    draws = list(combinations(range(1, 10 + 1), 3))
    return numerator_plus_denominator(Fraction(sum(a + b > c for a, b, c in draws), len(draws)))


@CONFIRM.of("aime-sample/05")
def strings():
    return sum("101" not in "".join(string) for string in product(["0", "1"], repeat=11))


@CONFIRM.of("aime-sample/06")
def sequence():
    terms = [20, 25]  # terms 1 and 2
    while len(terms) < 100:
        terms.append(abs(terms[-1]) - terms[-2])
    return sum(terms)


@CONFIRM.of("aime-sample/07")
def divisible():
    return sum((n**2 + n + 1) % 91 == 0 for n in range(1, 2025 + 1))


@CONFIRM.of("aime-sample/08")
def least_value():
    # The function is convex, so where its gradient vanishes it is least.
    x, y = sp.symbols("x y", real=True)
    function = sqrt(x**2 + 16) + sqrt((x - y) ** 2 + 9) + sqrt((y - 20) ** 2 + 64)
    at = sp.nsolve([function.diff(x), function.diff(y)], [x, y], [5, 10], prec=40)
    return sp.nsimplify(function.subs({x: at[0], y: at[1]}), tolerance=1e-30)


@CONFIRM.of("aime-sample/09")
def kings():
    squares = list(product(range(4), range(4)))
    return sum(
        all(max(abs(a[0] - b[0]), abs(a[1] - b[1])) > 1 for a, b in combinations(placed, 2))
        for placed in combinations(squares, 4)
    )


@CONFIRM.of("aime-sample/10")
def factorials():
    return next(n for n in count(1) if factorial(n) % 6**100 == 0)


@CONFIRM.of("aime-sample/11")
def blocks():
    orders = list(permutations(range(6)))
    seen = sum(all(order[j] < order[i] for j in range(i)) for order in orders for i in range(6))
    return numerator_plus_denominator(Fraction(seen, len(orders)))


@CONFIRM.of("aime-sample/12")
def lattice_points():
    corners = [(0, 0), (40, 12), (16, 36)]

    def inside(x, y):
        sides = zip(corners, corners[1:] + corners[:1], strict=True)
        turns = [(bx - ax) * (y - ay) - (by - ay) * (x - ax) for (ax, ay), (bx, by) in sides]
        return all(turn > 0 for turn in turns) or all(turn < 0 for turn in turns)

    return sum(inside(x, y) for x in range(41) for y in range(37))


@CONFIRM.of("aime-sample/13")
def floor_equation():
    x = sp.Symbol("x", real=True)
    # Outside this range x² is larger than 6·floor(x) + 2 can be, or that is negative.
    roots = {(n, root) for n in range(-20, 21) for root in sp.solve(x**2 - 6 * n - 2 * (x - n), x)}
    return sp.expand(sum((root - 1) ** 2 for n, root in roots if sp.floor(root) == n))


@CONFIRM.of("aime-sample/14")
def balls():
    orders = list(combinations(range(1, 5 + 7 + 1), 5))  # at which draws the red balls come
    return numerator_plus_denominator(Fraction(sum(order[2] == 7 for order in orders), len(orders)))


@CONFIRM.of("aime-sample/15")
def triples():
    divisors = [d for d in range(1, 73) if 72 % d == 0]
    return sum(lcm(*t) == 72 and gcd(*t) == 1 for t in product(divisors, repeat=3))


@CONFIRM.of("aime-sample/16")
def interpolated():
    x = sp.Symbol("x")
    return sp.interpolate([(k, 3**k) for k in (0, 1, 2, 3, 4)], x).subs(x, 6)


@CONFIRM.of("aime-sample/17")
def bisector():
    x, y = sp.symbols("x y", real=True)
    b, c = Point(0, 0), Point(8, 0)
    (a,) = [Point(*at) for at in sp.solve([x**2 + y**2 - 7**2, (x - 8) ** 2 + y**2 - 9**2], [x, y]) if at[1] > 0]
    towards_both = (b - a) / a.distance(b) + (c - a) / a.distance(c)
    foot = a - towards_both * (a.y / towards_both.y)
    assert foot.y == 0
    return numerator_plus_denominator(sp.simplify(a.distance(foot) ** 2))


@CONFIRM.of("aime-sample/18")
def frog():
    def ways(at):
        if at == 16:
            return 1
        landings = (at + jump for jump in (1, 2, 3))
        return sum(ways(landing) for landing in landings if landing <= 16 and landing % 5 != 0)

    return ways(0)
