"""Works out the Prealgebra problems of math-sample, in exact arithmetic."""

from datetime import date, timedelta

from sample_files import Confirmations
from sympy import Rational, sqrt

CONFIRM = Confirmations()


@CONFIRM.of("math-sample/prealgebra/01")
def pencils():
    return 10 * Rational("1.50") * 100 / 6, "cents"


@CONFIRM.of("math-sample/prealgebra/02")
def postcard():
    return 12 * Rational("7.5"), "cm^2"


@CONFIRM.of("math-sample/prealgebra/03")
def sugar():
    return 2 * Rational("0.15") + Rational("0.15") / 2


@CONFIRM.of("math-sample/prealgebra/04")
def mixed_numbers():
    return 2 + Rational(3, 4) + 1 + Rational(5, 6)


@CONFIRM.of("math-sample/prealgebra/05")
def stadium():
    return sum(25 for _section in range(48) for _row in range(36))


@CONFIRM.of("math-sample/prealgebra/06")
def powers():
    return 6 * 6 * 6 * 6 * 6 + 5 * 5 * 5 * 5 * 5 * 5


@CONFIRM.of("math-sample/prealgebra/07")
def percentages():
    (found,) = [n for n in range(10_000) if Rational(15, 100) * (Rational(80, 100) * n) == 54]
    return found


@CONFIRM.of("math-sample/prealgebra/08")
def part_of_a_day():
    start, end = timedelta(hours=9, minutes=20), timedelta(hours=12 + 4, minutes=20)
    return Rational((end - start).seconds, timedelta(days=1).total_seconds())


@CONFIRM.of("math-sample/prealgebra/09")
def weekday():
    a_tuesday = date(2030, 1, 1)
    assert a_tuesday.strftime("%A") == "Tuesday"
    return (a_tuesday + timedelta(days=100)).strftime("%A")


@CONFIRM.of("math-sample/prealgebra/10")
def largest():
    options = {
        "A": Rational(7, 9),
        "B": Rational("0.77"),
        "C": Rational(76, 100),
        "D": Rational(10, 13),
        "E": sqrt(Rational("0.6")),
    }
    return max(options, key=lambda letter: options[letter])


@CONFIRM.of("math-sample/prealgebra/11")
def triangle_angles():
    (angles,) = [(2 * part, 3 * part, 7 * part) for part in range(180) if 2 * part + 3 * part + 7 * part == 180]
    return max(angles)


@CONFIRM.of("math-sample/prealgebra/12")
def tram():
    metres, seconds = 72 * 1000, 60 * 60
    return Rational(metres, seconds), "m/s"


@CONFIRM.of("math-sample/prealgebra/13")
def decimal_product():
    return Rational("0.9") * Rational("4.5")


@CONFIRM.of("math-sample/prealgebra/14")
def order_of_operations():
    return 7 - Rational(3 * (2 - 6) ** 2, 8)
