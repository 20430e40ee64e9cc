"""The kinds of answer: plain records that `read` makes and `rules` compares."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Final

from markscheme.marking.equality.algebra import real_sets as sets
from markscheme.marking.equality.algebra.arithmetic import mul
from markscheme.marking.equality.algebra.exact import Unreadable, Value, form
from markscheme.marking.equality.algebra.real_sets import RealSet
from markscheme.marking.equality.units import Unit


@dataclass(frozen=True, slots=True)
class Scalar:
    value: Value
    unit: Unit | None = None
    percent: bool = False
    letters: str = ""  # the plain letters it was written with, if they might be a word or a choice


@dataclass(frozen=True, slots=True)
class Text:
    words: str
    subject: str = ""  # "Ann" in "Ann is taller"


@dataclass(frozen=True, slots=True)
class Choice:
    """A letter of a multiple-choice question with the text after it."""

    letter: str
    rest: str = ""
    value: ParsedAnswer | None = None  # the text after the letter, if it can be read


@dataclass(frozen=True, slots=True)
class Based:
    """A number in a base. Its digits are the answer, not its value."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class Clock:
    """Numbers between colons: a time of day or a ratio."""

    parts: tuple[Fraction, ...]
    half: str = ""  # "am" or "pm"


@dataclass(frozen=True, slots=True)
class Sequence:
    """Items in brackets: a point, a vector or an interval."""

    items: tuple[ParsedAnswer, ...]
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Collection:
    """Unordered items: a set in braces or a list of solutions."""

    items: tuple[ParsedAnswer, ...]
    braces: bool
    joined: str = ","  # or the word between them: "or", "and"


@dataclass(frozen=True, slots=True)
class Relation:
    """An equation or inequality. `left_name` is set if the left side only names the right one: x = …, f(x) = …, Area = …"""

    operator: str
    left: ParsedAnswer
    right: ParsedAnswer
    left_name: str = ""
    right_name: str = ""


@dataclass(frozen=True, slots=True)
class Matrix:
    rows: tuple[tuple[ParsedAnswer, ...], ...]


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


def difference(answer: ParsedAnswer, gold: ParsedAnswer) -> str:
    if isinstance(answer, Relation) and answer.operator == "=" and not isinstance(gold, Relation):
        answer = answer.right  # x = 5 against 6: the value is wrong
    (own, other), (expected, _) = _KINDS[type(answer)], _KINDS[type(gold)]
    return other if own == expected else f"{own}, not {expected}"


ParsedAnswer = Scalar | Text | Choice | Based | Clock | Sequence | Collection | RealSet | Relation | Matrix


def as_set(answer: ParsedAnswer) -> RealSet:
    """Convert an answer to a set of real numbers. Raises `Unreadable` if it is not one."""
    if isinstance(answer, RealSet):
        return answer
    if isinstance(answer, Relation) and answer.operator == "=" and answer.left_name:
        return RealSet(as_set(Collection((answer.right,), True)).pieces, answer.left_name)  # x < 0 or x = 1
    if isinstance(answer, Sequence) and len(answer.items) == 2 and answer.left in "([" and answer.right in ")]":
        low, high = answer.items
        if isinstance(low, Scalar) and isinstance(high, Scalar):
            return sets.interval(_number(low), _number(high), answer.left == "[", answer.right == "]")
    if isinstance(answer, Collection):
        if answer.braces:
            values = [_number(x) for x in answer.items if isinstance(x, Scalar)]
            if len(values) == len(answer.items):
                return sets.points(values)
        else:
            return combine([as_set(x) for x in answer.items], "or")
    raise Unreadable("not a set of real numbers")


def combine(parts: list[RealSet], joined: str) -> RealSet:
    """Join the inequalities of one sentence. A comma or "and" means the intersection, or the union if that is empty."""
    if joined != "or" and (both := reduce(sets.intersection, parts)).pieces:
        return both
    return reduce(sets.union, parts)


def _number(scalar: Scalar) -> Value:
    return mul(scalar.value, Fraction(1, 100)) if scalar.percent else scalar.value


def key(answer: ParsedAnswer) -> str | None:
    """Return a text that two answers share only if they are equal, or None if there is no cheap one."""
    if isinstance(answer, Scalar):
        return f"={form(answer.value)}|{answer.unit or ''}{'%' if answer.percent else ''}"
    if isinstance(answer, Text):
        return f"{answer.subject}'" + answer.words.replace(" ", "")
    if isinstance(answer, Choice):
        return "?" + answer.letter
    if isinstance(answer, Based | Clock):
        return repr(answer)
    if isinstance(answer, RealSet):
        return "∪".join(f"{form(p.low)},{form(p.high)},{p.low_closed}{p.high_closed}" for p in answer.pieces) or "∅"
    if isinstance(answer, Relation):
        inner = key(answer.right) if answer.operator == "=" and answer.left_name else None
        return None if inner is None else f"{answer.left_name}{inner}"
    if isinstance(answer, Matrix):
        answer = Sequence(tuple(Sequence(row, "", "") for row in answer.rows), "&", "&")
    keys = [inner for x in answer.items if (inner := key(x)) is not None]
    if len(keys) < len(answer.items) or (isinstance(answer, Collection) and answer.braces):
        return None
    if isinstance(answer, Collection):
        return "{" + ";".join(sorted(keys)) + "}"
    return answer.left + ";".join(keys) + answer.right
