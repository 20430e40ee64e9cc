"""Works out problems 19 to 36 of aime-sample, by brute force where the problem is finite and exactly elsewhere."""

from fractions import Fraction
from itertools import combinations, count, pairwise, permutations, product
from math import comb, factorial, isqrt

import sympy as sp
from confirm_aime_first import numerator_plus_denominator
from sample_files import Confirmations
from sympy import Point

CONFIRM = Confirmations()


@CONFIRM.of("aime-sample/19")
def alternating_sum():
    return sum((-1) ** k * comb(12, k) * (2 * k + 5) ** 11 for k in range(0, 12 + 1))


@CONFIRM.of("aime-sample/20")
def tangent_chord():
    # The larger circle is centred at the origin, T is its rightmost point, and the chord is vertical.
    touching = Point(25, 0)
    height = sp.Symbol("height")
    at = 25 - 2 * 9
    upper = max(sp.solve(at**2 + height**2 - 25**2, height))
    return abs(sp.Triangle(touching, Point(at, upper), Point(at, -upper)).area)


@CONFIRM.of("aime-sample/21")
def right_triangles():
    # A right triangle with legs a, b has inradius (a + b - c)/2; its legs are longer than the diameter, and from
    # (a - 24)(b - 24) = 288 neither is longer than 312. Equal legs would make c irrational.
    found = 0
    for a, b in combinations(range(2 * 12 + 1, 2 * 12 + 2 * 12**2 + 1), 2):
        c = isqrt(a * a + b * b)
        found += c * c == a * a + b * b and a + b - c == 2 * 12
    return found


@CONFIRM.of("aime-sample/22")
def painted_grid():
    cells = list(product(range(2), range(5)))
    neighbours = [
        (i, j) for i, a in enumerate(cells) for j, b in enumerate(cells) if abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1
    ]
    return sum(
        len(set(colours)) == 3 and all(colours[i] != colours[j] for i, j in neighbours)
        for colours in product("RYB", repeat=10)
    )


@CONFIRM.of("aime-sample/23")
def unit_roots():
    # |z + w|² = 2 + 2 cos(angle between them), which sympy compares with 1 exactly.
    far_enough = [2 + 2 * sp.cos(2 * sp.pi * step / 30) > 1 for step in range(30)]
    return sum(bool(far_enough[(i - j) % 30]) for i in range(30) for j in range(30) if i != j)


@CONFIRM.of("aime-sample/24")
def power_sums():
    a, b, c = sp.symbols("a b c")
    known = [a + b + c - 6, a**2 + b**2 + c**2 - 26, a**3 + b**3 + c**3 - 90]
    (result,) = {sp.simplify(sum(v**4 for v in solution)) for solution in sp.solve(known, [a, b, c])}
    return result


@CONFIRM.of("aime-sample/25")
def tilings():
    pieces = [[(0, 0), (0, 1)], [(0, 0), (1, 0)], [(0, 0), (0, 1), (1, 0), (1, 1)]]

    def ways(free, square_used):
        if not free:
            return int(square_used)
        column, row = min(free)  # the first free cell must be covered by the next piece
        total = 0
        for piece in pieces:
            covered = frozenset((column + dx, row + dy) for dx, dy in piece)
            if covered <= free:
                total += ways(free - covered, square_used or len(piece) == 4)
        return total

    return ways(frozenset(product(range(10), range(2))), square_used=False)


@CONFIRM.of("aime-sample/26")
def cube_walk():
    chance = {(0, 0, 0): Fraction(1)}
    for _ in range(7):
        after: dict[tuple[int, ...], Fraction] = {}
        for corner, probability in chance.items():
            for axis in range(3):
                moved = tuple(1 - c if i == axis else c for i, c in enumerate(corner))
                after[moved] = after.get(moved, Fraction(0)) + probability / 3
        chance = after
    return numerator_plus_denominator(chance[1, 1, 1])


@CONFIRM.of("aime-sample/27")
def boxes():
    # With a ≤ b ≤ c, the condition ab + bc + ca = 6(a + b + c) forces b ≤ 12, and then fixes c.
    volumes = []
    for b in range(1, 13):
        for a in range(1, b + 1):
            for c in range(b, 1000):
                surface, edges = 2 * (a * b + b * c + c * a), 4 * (a + b + c)
                if surface == 3 * edges:
                    volumes.append(a * b * c)
    return max(volumes)


@CONFIRM.of("aime-sample/28")
def near_permutations():
    numbers = (1, 2, *range(3, 8 + 1))
    return sum(all(abs(a - k) <= 2 for k, a in enumerate(order, 1)) for order in permutations(numbers))


@CONFIRM.of("aime-sample/29")
def final_zeros():
    terms = [(k**2 + 1) * factorial(k) for k in (1, 2, 3, *range(4, 20 + 1))]
    digits = str(sum(terms))
    return len(digits) - len(digits.rstrip("0"))


@CONFIRM.of("aime-sample/30")
def incomparable_sets():
    elements = (1, 2, 3, 4, 5)
    subsets = [set(chosen) for size in range(6) for chosen in combinations(elements, size)]
    return sum(not a <= b and not b <= a for a, b in product(subsets, repeat=2))


@CONFIRM.of("aime-sample/31")
def power_plus_number():
    return next(n for n in count(1) if (3**n + n) % 1000 == 0)


@CONFIRM.of("aime-sample/32")
def circle_in_gap():
    x, y, r = sp.symbols("x y r", real=True)
    # The centres are 5, 12 and 13 apart: a right triangle.
    assert (2 + 3) ** 2 + (2 + 10) ** 2 == (3 + 10) ** 2
    centres = [(0, 0, 2), (2 + 3, 0, 3), (0, 2 + 10, 10)]
    touching = [(x - cx) ** 2 + (y - cy) ** 2 - (r + radius) ** 2 for cx, cy, radius in centres]
    (radius,) = [at[r] for at in sp.solve(touching, [x, y, r], dict=True) if at[r] > 0]
    return numerator_plus_denominator(radius)


@CONFIRM.of("aime-sample/33")
def inverse_squares():
    total = sum(1 / sp.sin(k * sp.pi / 35).evalf(50) ** 2 for k in range(1, 34 + 1))
    return sp.nsimplify(total, tolerance=1e-30)


@CONFIRM.of("aime-sample/34")
def photograph():
    people = range(8)  # 2i and 2i + 1 are a couple
    return sum(all(a // 2 != b // 2 for a, b in pairwise(row)) for row in permutations(people)) % 1000


@CONFIRM.of("aime-sample/35")
def consecutive_sums():
    def ways(n):
        return [range(a, b) for a in range(1, n) for b in range(a + 2, n + 1) if (a + b - 1) * (b - a) == 2 * n]

    assert [list(way) for way in ways(9)] == [[2, 3, 4], [4, 5]]
    return next(n for n in count(1) if len(ways(n)) == 7)


@CONFIRM.of("aime-sample/36")
def tetrahedron():
    # Every edge is as long as the opposite one; the Cayley–Menger determinant is 288 times the squared volume.
    a, b, c = 5**2, 6**2, 7**2
    rows = [[0, 1, 1, 1, 1], [1, 0, a, b, c], [1, a, 0, c, b], [1, b, c, 0, a], [1, c, b, a, 0]]
    return sp.Matrix(rows).det() / 288
