"""Works out the Geometry problems of math-sample in coordinates."""

import cmath

import sympy as sp
from sample_files import Confirmations
from sympy import Point, Rational, Triangle, pi

CONFIRM = Confirmations()


@CONFIRM.of("math-sample/geometry/01")
def box_diagonal():
    return Point(0, 0, 0).distance(Point(3, 5, 8))


@CONFIRM.of("math-sample/geometry/02")
def ring():
    square = sp.Polygon((0, 0), (6, 0), (6, 6), (0, 6))
    centre = square.centroid
    outer, inner = centre.distance(square.vertices[0]), centre.distance(square.sides[0])
    return pi * (outer**2 - inner**2)


@CONFIRM.of("math-sample/geometry/03")
def extended_sides():
    a, b, c, d = (cmath.exp(2j * cmath.pi * corner / 15) for corner in range(4))
    # From E one sees B in the direction of A and C in the direction of D.
    angle = cmath.phase((d - c) / (a - b))
    return sp.nsimplify(abs(angle) * 180 / cmath.pi, tolerance=1e-9)


@CONFIRM.of("math-sample/geometry/04")
def clock_hands():
    minutes = 3 * 60 - 10
    hour_hand = Rational(minutes * 360, 12 * 60)
    minute_hand = Rational(minutes * 360, 60) % 360
    apart = abs(hour_hand - minute_hand)
    return min(apart, 360 - apart)


@CONFIRM.of("math-sample/geometry/05")
def cube():
    cm = 1
    (edge,) = [edge for edge in range(1, 100) if 6 * edge**2 == 294 * cm**2]
    return edge**3, "cm^3"


@CONFIRM.of("math-sample/geometry/06")
def rhombus_area():
    one, other = sp.Matrix([6, 0]), 6 * sp.Matrix([sp.cos(60 * pi / 180), sp.sin(60 * pi / 180)])
    return abs(sp.Matrix.hstack(one, other).det())


@CONFIRM.of("math-sample/geometry/07")
def pizza():
    t = sp.Symbol("t")
    angle = 72 * pi / 180
    speed = sp.sqrt(sp.diff(10 * sp.cos(t), t) ** 2 + sp.diff(10 * sp.sin(t), t) ** 2)
    return 10 + 10 + sp.integrate(sp.simplify(speed), (t, 0, angle))


@CONFIRM.of("math-sample/geometry/08")
def centroid():
    corners = [(1, 2, -3), (4, 0, 7), (-2, 1, 5)]
    return tuple(Rational(sum(axis), 3) for axis in zip(*corners, strict=True))


@CONFIRM.of("math-sample/geometry/09")
def circle():
    # Thales: a point of the circle sees the diameter under a right angle.
    x, y = sp.symbols("x y")
    to_one_end, to_other_end = sp.Matrix([x - (-1), y - 2]), sp.Matrix([x - 5, y - 10])
    return sp.Eq(to_one_end.dot(to_other_end), 0)


@CONFIRM.of("math-sample/geometry/10")
def foot_and_incentre():
    x, y = sp.symbols("x y")
    distances = [x**2 + y**2 - 10**2, (x - 21) ** 2 + y**2 - 17**2]
    (apex,) = [Point(*xy) for xy in sp.solve(distances, [x, y]) if xy[1] > 0]
    triangle = Triangle(Point(0, 0), Point(21, 0), apex)
    return triangle.altitudes[apex].points[1].distance(triangle.incenter)


@CONFIRM.of("math-sample/geometry/11")
def obtuse():
    def possible(x):
        is_triangle = x < 7 + 10 and x > 10 - 7
        return is_triangle and (7**2 + 10**2 - x**2) < 0  # the sign of the cosine opposite x

    (letter,) = [letter for letter, x in {"A": 9, "B": 12, "C": 14, "D": 17, "E": 19}.items() if possible(x)]
    return letter


@CONFIRM.of("math-sample/geometry/12")
def rhombus():
    corners = [Point(16, 0) / 2, Point(0, 30) / 2, Point(-16, 0) / 2, Point(0, -30) / 2]
    return sp.Polygon(*corners).perimeter


@CONFIRM.of("math-sample/geometry/13")
def inscribed_circle():
    triangle = Triangle(Point(0, 0), Point(5, 0), Point(0, 12))
    return triangle.incircle.area / triangle.area
