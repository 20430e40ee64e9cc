"""Works out the Number Theory problems of math-sample by search."""

from itertools import count
from math import factorial, isqrt

from sample_files import Confirmations
from sympy import FiniteSet, isprime

CONFIRM = Confirmations()


@CONFIRM.of("math-sample/number_theory/01")
def to_base_six():
    return 500, 6  # the reader of golds turns the digits back into the number


@CONFIRM.of("math-sample/number_theory/02")
def base_seven_sum():
    return int("254", 7) + int("166", 7), 7


@CONFIRM.of("math-sample/number_theory/03")
def power_remainder():
    return 7**100 % 13


@CONFIRM.of("math-sample/number_theory/04")
def square_divisors():
    number = factorial(12)
    return sum(number % root**2 == 0 for root in range(1, isqrt(number) + 1))


@CONFIRM.of("math-sample/number_theory/05")
def square_remainders():
    return FiniteSet(*(n * n % 12 for n in range(1000)))


@CONFIRM.of("math-sample/number_theory/06")
def prime_divisors():
    return FiniteSet(*(p for p in range(2, 2**12) if isprime(p) and (2**12 - 1) % p == 0))


@CONFIRM.of("math-sample/number_theory/07")
def common_multiple():
    return next(n for n in count(16, 16) if all(n % k == 0 for k in range(1, 16 + 1)))


@CONFIRM.of("math-sample/number_theory/08")
def parity():
    terms = [n**n for n in range(1, 50 + 1)]
    assert terms[:3] == [1**1, 2**2, 3**3]
    return "odd" if sum(terms) % 2 else "even"


@CONFIRM.of("math-sample/number_theory/09")
def only_pair():
    (pair,) = [(x, y) for x in range(1, 1000) for y in range(1, 1000) if 23 * x + 31 * y == 1000]
    return pair


@CONFIRM.of("math-sample/number_theory/10")
def multiple_of_99():
    options = {"A": 40797, "B": 51273, "C": 62856, "D": 63063, "E": 81783}
    (letter,) = [letter for letter, number in options.items() if number % 99 == 0]
    return letter


@CONFIRM.of("math-sample/number_theory/11")
def dividing():
    # Beyond 43 there is nothing to find, as n + 5 would have to divide 48; the search goes well past it.
    return sum(n for n in range(1, 100_000) if (n**2 + 23) % (n + 5) == 0)


@CONFIRM.of("math-sample/number_theory/12")
def unknown_base():
    def value(digits, b):
        return sum(int(digit) * b**place for place, digit in enumerate(reversed(digits)))

    (found,) = [b for b in range(5, 1000) if value("14", b) * value("23", b) == value("344", b)]
    return found
