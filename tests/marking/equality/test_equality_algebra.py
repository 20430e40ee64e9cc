"""The exact arithmetic underneath: canonical forms, special values, and the bounds that keep it safe."""

from fractions import Fraction

import pytest

from markscheme.marking.equality import compare
from markscheme.marking.equality.algebra import exact
from markscheme.marking.equality.algebra.arithmetic import add, div, int_power, mul, same, sub
from markscheme.marking.equality.algebra.exact import Expr, TooBig, Undefined, form, fresh_effort, generator
from markscheme.marking.equality.algebra.functions import FUNCTIONS, binomial, factorial
from markscheme.marking.equality.algebra.numeric import approximate, differ
from markscheme.marking.equality.algebra.powers import factor, power, sqrt

x, y = generator("x"), generator("y")
sin, cos, tan, ln, exp = (FUNCTIONS[name] for name in ("sin", "cos", "tan", "ln", "exp"))


@pytest.fixture(autouse=True)
def _effort():
    fresh_effort()


def test_roots_of_numbers_when_equal_then_have_one_form():
    assert form(sqrt(12)) == form(mul(2, sqrt(3)))
    assert form(div(1, add(1, sqrt(2)))) == form(sub(sqrt(2), 1))
    assert form(mul(power(4, Fraction(1, 3)), power(2, Fraction(1, 3)))) == "2"
    assert form(sqrt(-4)) == form(mul(2, exact.IMAGINARY))
    assert power(-8, Fraction(1, 3)) == -2


def test_rational_functions_when_equal_then_cancel():
    assert same(div(sub(mul(x, x), mul(y, y)), sub(x, y)), add(x, y))
    assert same(add(div(1, x), div(1, y)), div(add(x, y), mul(x, y)))
    assert not same(div(1, add(x, 1)), div(1, add(x, 2)))


def test_special_angles_when_exact_then_show():
    assert sin(mul(exact.PI, Fraction(1, 6))) == Fraction(1, 2)
    assert same(tan(mul(exact.PI, Fraction(1, 12))), sub(2, sqrt(3)))


def test_logarithms_and_powers_when_exact_then_show():
    assert same(ln(12), add(mul(2, ln(2)), ln(3)))
    assert same(div(ln(8), ln(2)), 3)
    assert same(exp(mul(exact.IMAGINARY, exact.PI)), -1)
    assert same(power(2, add(x, 1)), mul(2, power(2, x)))
    assert same(power(power(2, x), 2), power(4, x))


def test_huge_powers_when_made_then_stay_symbols_and_compare():
    tower = power(9, power(9, 9))
    assert isinstance(tower, Expr)
    assert same(tower, power(3, 2 * 9**9))
    assert not same(tower, power(9, 9**8))
    assert not same(factorial(2004), factorial(2006))
    assert factorial(5) == 120
    assert binomial(10, 3) == 120


def test_values_without_meaning_when_made_then_are_refused():
    for make in (lambda: div(1, 0), lambda: power(0, -1), lambda: ln(0), lambda: div(1, sub(mul(x, 2), add(x, x)))):
        with pytest.raises(Undefined):
            make()


def test_expansions_when_too_large_then_are_refused_before_they_are_made():
    wide = x
    for k in range(40):
        wide = add(wide, generator(f"z{k}"))
    with pytest.raises(TooBig):
        int_power(wide, 30)
    fresh_effort()
    with pytest.raises(TooBig):
        int_power(2, 10**9)


IDENTITIES = {
    "angles": [
        (r"\sin^2 x+\cos^2 x", "1"), (r"\cos 2x", r"1-2\sin^2 x"), (r"\sin(x+y)", r"\sin x\cos y+\cos x\sin y"),
        (r"\sec^2 x", r"1+\tan^2 x"), (r"\frac{1-\cos 2x}{\sin 2x}", r"\tan x"), (r"\sin 3x", r"3\sin x-4\sin^3 x"),
        (r"\cos^2\frac{x}{2}", r"\frac{1+\cos x}{2}"), (r"\frac{\sin x}{1+\cos x}", r"\tan\frac{x}{2}"),
        (r"\cos(\frac{\pi}{2}-x)", r"\sin x"), (r"\arccos\frac{3}{5}", r"\arcsin\frac45"),
    ],
    "powers": [
        (r"e^{2\ln 3}", "9"), (r"e^{x\ln 2}", "2^x"), (r"2^{\log_2 5}", "5"), (r"3^{2x}\cdot 9", "9^{x+1}"),
        (r"\cosh^2 x-\sinh^2 x", "1"), (r"\frac{e^{ix}+e^{-ix}}{2}", r"\cos x"),
    ],
    "roots": [
        (r"\sqrt{3+2\sqrt2}", r"1+\sqrt2"), (r"\sqrt{7-4\sqrt3}", r"2-\sqrt3"), (r"\sqrt{5+2\sqrt6}", r"\sqrt2+\sqrt3"),
        (r"\frac{1}{1+\sqrt[3]{2}}", r"\frac{1-\sqrt[3]{2}+\sqrt[3]{4}}{3}"), (r"\sqrt{x^2+2x+1}", "|x+1|"),
    ],
    "factorials": [
        (r"\frac{(n+2)!}{n!}", "(n+1)(n+2)"), (r"\binom{n}{2}", r"\frac{n(n-1)}{2}"), ("n(n-1)(n-2)!", "n!"),
        (r"\frac{(2n)!}{n!n!}", r"\binom{2n}{n}"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", IDENTITIES)
def test_identities_when_they_hold_then_are_shown_and_when_they_are_off_by_one_then_not(kind):
    for left, right in IDENTITIES[kind]:
        assert compare(left, right, time_limit=20).equal is True, (left, right)
        assert compare(left, f"{right}+1", time_limit=20).equal is False, (left, right)


@pytest.mark.parametrize("n", [1, 2, 97, 360, 2**61 - 1, 1000003 * 999983, 1000000007 * 998244353, 3**20 * 7])
def test_factors_when_multiplied_then_give_the_number(n):
    product = 1
    for p, k in factor(n):
        product *= p**k
    assert product == n


def test_numerical_values_when_compared_then_only_ever_show_a_difference():
    assert differ(sin(x), cos(x), {"x"}) is True
    assert differ(sqrt(add(1, mul(x, x))), sqrt(add(mul(x, x), 1)), {"x"}) is False
    assert approximate(sub(sqrt(2), Fraction(14142135623730950488, 10**19))) is None  # cancels: no digit is left


def test_work_when_it_adds_up_then_is_stopped():
    value = add(x, 1)
    with pytest.raises(TooBig):  # noqa: PT012
        for _ in range(100):
            value = add(mul(value, add(x, y)), div(1, add(value, y)))
