"""What an answer can be, once read. Plain records; `reading` makes them and `judging` compares them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from markscheme.marking.equality.algebra.rational_functions import Expr, Value
from markscheme.marking.equality.read.units import Unit


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value, with the unit or percent sign behind it."""

    value: Value
    unit: Unit | None = None
    percent: bool = False
    letters: str = ""  # the plain letters it was written with, where they might be a word or a choice


@dataclass(frozen=True, slots=True)
class Text:
    """Words, in lower case without punctuation."""

    words: str


@dataclass(frozen=True, slots=True)
class Choice:
    """A letter of a multiple-choice question, with whatever was written behind it."""

    letter: str
    rest: str = ""
    value: Answer | None = None  # what is written behind the letter, where that is mathematics


@dataclass(frozen=True, slots=True)
class Based:
    """A number written in a base: its digits are the answer, not its value."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class Clock:
    """Numbers between colons: a time of day or a ratio, as the other side has it."""

    parts: tuple[Fraction, ...]
    half: str = ""  # "am" or "pm"


@dataclass(frozen=True, slots=True)
class Sequence:
    """Items in brackets: a point, a vector, or an interval of two ends."""

    items: tuple[Answer, ...]
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Collection:
    """Items in no order: a set in braces, or a list of solutions."""

    items: tuple[Answer, ...]
    braces: bool
    joined: str = ","  # "or", "and" when a word joins them


@dataclass(frozen=True, slots=True)
class Piece:
    """An interval. An end at infinity is open; written as closed, it is another answer."""

    low: Value
    high: Value
    low_closed: bool
    high_closed: bool


@dataclass(frozen=True, slots=True)
class RealSet:
    """A union of intervals, in order and apart. `variable` is the one an inequality was written in."""

    pieces: tuple[Piece, ...]
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Relation:
    """An equation or inequality. `left_name` says that the left side only names the right one: x = …, f(x) = …, Area = …"""

    operator: str
    left: Answer
    right: Answer
    left_name: str = ""
    right_name: str = ""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows of entries."""

    rows: tuple[tuple[Answer, ...], ...]


_KINDS: Final[dict[type, tuple[str, str]]] = {
    Scalar: ("a single value", "another value"),
    Text: ("words", "other words"),
    Choice: ("a choice", "another choice"),
    Based: ("a number in a base", "another number, or in another base"),
    Clock: ("a time or ratio", "another time or ratio"),
    Sequence: ("a point, vector or interval", "another point, vector or interval"),
    Collection: ("a list", "another list"),
    RealSet: ("a set of real numbers", "another set of real numbers"),
    Relation: ("an equation or inequality", "another equation or inequality"),
    Matrix: ("a matrix", "another matrix"),
}


def weight(answer: Answer) -> int:
    """How much an answer holds, in terms."""
    if isinstance(answer, Scalar):
        return len(answer.value.terms) + len(answer.value.den or ()) if isinstance(answer.value, Expr) else 1
    if isinstance(answer, Sequence | Collection):
        return sum(map(weight, answer.items))
    if isinstance(answer, Matrix):
        return sum(weight(x) for row in answer.rows for x in row)
    if isinstance(answer, Relation):
        return weight(answer.left) + weight(answer.right)
    return 2 * len(answer.pieces) if isinstance(answer, RealSet) else 1


def difference(answer: Answer, gold: Answer) -> str:
    """Why two unequal answers are not equal, in one clause."""
    if isinstance(answer, Relation) and answer.operator == "=" and not isinstance(gold, Relation):
        answer = answer.right  # x = 5 against 6: the value is what is wrong
    (own, other), (expected, _) = _KINDS[type(answer)], _KINDS[type(gold)]
    return other if own == expected else f"{own}, not {expected}"


Answer = Scalar | Text | Choice | Based | Clock | Sequence | Collection | RealSet | Relation | Matrix
