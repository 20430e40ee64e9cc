"""Works out the Precalculus problems of math-sample with sympy."""

import sympy as sp
from sample_files import Confirmations
from sympy import I, Matrix, Rational, cos, pi, sin, sqrt

CONFIRM = Confirmations()
x, y, z = sp.symbols("x y z")


@CONFIRM.of("math-sample/precalculus/01")
def inverse():
    return Matrix([[3, 5], [1, 2]]).inv()


@CONFIRM.of("math-sample/precalculus/02")
def cross_product():
    return Matrix([1, 2, -1]).cross(Matrix([3, 0, 2]))


@CONFIRM.of("math-sample/precalculus/03")
def matrix_power():
    return Matrix([[1, 1], [0, 2]]) ** 6


@CONFIRM.of("math-sample/precalculus/04")
def nearest_multiple():
    t = sp.Symbol("t")
    gap = Matrix([3, 4]) - t * Matrix([1, 2])
    (nearest,) = sp.solve(sp.diff(gap.dot(gap), t), t)
    return nearest * Matrix([1, 2])


@CONFIRM.of("math-sample/precalculus/05")
def sine_and_cosine():
    return sin(75 * pi / 180) + cos(75 * pi / 180)


@CONFIRM.of("math-sample/precalculus/06")
def inverse_functions():
    return sp.asin(Rational(1, 2)) + sp.atan(-sqrt(3))


@CONFIRM.of("math-sample/precalculus/07")
def turned_and_reflected():
    point = sp.expand(6 * (cos(pi / 6) + I * sin(pi / 6)))
    moved = sp.conjugate(sp.expand(point * I))
    theta = sp.arg(moved) % (2 * pi)
    assert 0 <= theta < 2 * pi
    return sp.Abs(moved), theta


@CONFIRM.of("math-sample/precalculus/08")
def smallest_angle():
    # With u = exp(ix), sin 4x = cos 5x becomes a polynomial equation, whose roots on the unit circle are all angles.
    u = sp.Symbol("u")
    equation = sp.expand(2 * u**5 * ((u**4 - u**-4) / (2 * I) - (u**5 + u**-5) / 2))
    angles = [sp.deg(sp.arg(root)) % 360 for root in sp.Poly(equation, u).nroots(n=30)]
    return sp.nsimplify(min(angle for angle in angles if angle > 0), tolerance=1e-20)


@CONFIRM.of("math-sample/precalculus/09")
def complex_power():
    return sp.expand((1 + I * sqrt(3)) ** 5)


@CONFIRM.of("math-sample/precalculus/10")
def plane():
    corners = sp.Point3D(1, 0, 0), sp.Point3D(0, 2, 0), sp.Point3D(0, 0, 3)
    return sp.Eq(sp.Plane(*corners).equation(x, y, z), 0)


@CONFIRM.of("math-sample/precalculus/11")
def wave_range():
    # On the unit circle 3·(sine) - 4·(cosine) is extreme where (sine, cosine) is parallel to (3, -4).
    s, c = sp.symbols("s c")
    extremes = [3 * at[s] - 4 * at[c] + 1 for at in sp.solve([s**2 + c**2 - 1, 3 * c + 4 * s], [s, c], dict=True)]
    return sp.Interval(min(extremes), max(extremes))


@CONFIRM.of("math-sample/precalculus/12")
def fourth_powers():
    s, theta = sp.symbols("s theta")
    power_sum = sin(theta) ** 4 + cos(theta) ** 4
    known = [(sin(2 * angle), sp.simplify(power_sum.subs(theta, angle))) for angle in (0, pi / 12, pi / 4)]
    fitted = sp.interpolate(known, s)
    assert sp.simplify(power_sum - fitted.subs(s, sin(2 * theta))) == 0
    return fitted


@CONFIRM.of("math-sample/precalculus/13")
def conic():
    # 2r + r cos θ = 6, so 2r = 6 - x, and squared 4(x² + y²) = (6 - x)².
    curve = sp.Poly(2**2 * (x**2 + y**2) - (6 - x) ** 2, x, y)
    a, b, c = curve.coeff_monomial(x**2), curve.coeff_monomial(x * y), curve.coeff_monomial(y**2)
    if b**2 - 4 * a * c < 0:
        return "circle" if (a, b) == (c, 0) else "ellipse"
    return "parabola" if b**2 == 4 * a * c else "hyperbola"


@CONFIRM.of("math-sample/precalculus/14")
def dot_product():
    return sum(a * b for a, b in zip((4, -1, 3), (2, 5, 6), strict=True))
