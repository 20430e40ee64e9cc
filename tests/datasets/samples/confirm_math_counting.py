"""Works out the Counting & Probability problems of math-sample by listing all cases."""

from itertools import combinations, pairwise, permutations, product

from sample_files import Confirmations
from sympy import Rational, Symbol, interpolate, isprime

CONFIRM = Confirmations()
DIE = range(1, 7)


def share(cases, event):
    """The part of equally likely cases for which `event` holds."""
    cases = list(cases)
    return Rational(sum(map(event, cases)), len(cases))


@CONFIRM.of("math-sample/counting_and_probability/01")
def two_numbers():
    numbers = range(1, 10 + 1)
    assert list(numbers)[:2] == [1, 2]
    return share(combinations(numbers, 2), lambda pair: pair[0] * pair[1] % 3 == 0)


@CONFIRM.of("math-sample/counting_and_probability/02")
def letters():
    return len(set(permutations("MARMALADE")))


@CONFIRM.of("math-sample/counting_and_probability/03")
def archer():
    hit, probability = Rational("0.8"), Rational(0)
    for shots in product([True, False], repeat=4):
        if sum(shots) == 3:
            probability += hit ** sum(shots) * (1 - hit) ** (4 - sum(shots))
    return probability


@CONFIRM.of("math-sample/counting_and_probability/04")
def beetle():
    def routes(x, y):
        if (x, y) == (3, 2) or x > 6 or y > 4:
            return 0
        return 1 if (x, y) == (6, 4) else routes(x + 1, y) + routes(x, y + 1)

    return routes(0, 0)


@CONFIRM.of("math-sample/counting_and_probability/05")
def three_dice():
    return share(product(DIE, repeat=3), lambda dice: sum(dice) == 10)


@CONFIRM.of("math-sample/counting_and_probability/06")
def ada_or_bo():
    ada = share(product(DIE, repeat=2), lambda dice: isprime(sum(dice)))
    assert ada != 1 - ada
    return "Ada" if ada > 1 - ada else "Bo"


@CONFIRM.of("math-sample/counting_and_probability/07")
def handshakes():
    def counted(n):
        guests = [(couple, partner) for couple in range(n) for partner in range(2)]
        return sum(a[0] != b[0] for a, b in combinations(guests, 2))

    return interpolate([(n, counted(n)) for n in range(1, 9)], Symbol("n"))


@CONFIRM.of("math-sample/counting_and_probability/08")
def subsets():
    numbers = range(1, 10 + 1)
    assert list(numbers)[:2] == [1, 2]
    chosen = (subset for size in range(3, 11) for subset in combinations(numbers, size))
    return sum(all(b - a > 1 for a, b in pairwise(subset)) for subset in chosen)


@CONFIRM.of("math-sample/counting_and_probability/09")
def likeliest():
    events = {
        "A": lambda tosses: tosses.count("H") >= 4,
        "B": lambda tosses: tosses[0] == tosses[1],
        "C": lambda tosses: tosses.count("H") == 2,
        "D": lambda tosses: all(a != b for a, b in pairwise(tosses)),
        "E": lambda tosses: "H" in tosses and tosses.index("H") == 1,
    }
    chances = {letter: share(product("HT", repeat=5), event) for letter, event in events.items()}
    assert len(set(chances.values())) == len(chances)
    return max(chances, key=lambda letter: chances[letter])


@CONFIRM.of("math-sample/counting_and_probability/10")
def banknotes():
    notes = [1] * 2 + [5] * 4 + [10] * 2
    return Rational(sum(notes), len(notes)), "dollars"


@CONFIRM.of("math-sample/counting_and_probability/11")
def larger_die():
    rolls = list(product(DIE, repeat=2))
    return Rational(sum(max(roll) for roll in rolls), len(rolls))
