"""Keys for read answers: two answers with the same key are equal. The reverse holds only where forms are canonical."""

from __future__ import annotations

from markscheme.marking.equality.algebra.rational_functions import Value, form
from markscheme.marking.equality.kinds import (
    Answer,
    Based,
    Choice,
    Clock,
    Collection,
    Matrix,
    RealSet,
    Relation,
    Scalar,
    Sequence,
    Text,
)
from markscheme.marking.equality.read.units import Unit


def key(answer: Answer) -> str | None:
    """The key of a read answer, or None where there is no cheap one."""
    if isinstance(answer, Scalar):
        return "=" + _amount(answer.value, answer.unit) + ("%" if answer.percent else "")
    if isinstance(answer, Text):
        return "'" + answer.words.replace(" ", "")
    if isinstance(answer, Choice):
        return "?" + answer.letter
    if isinstance(answer, Based):
        return f"{answer.digits}_{answer.base}"
    if isinstance(answer, Clock):
        return ":".join(map(str, answer.parts)) + answer.half
    if isinstance(answer, Relation):
        inner = key(answer.right) if answer.operator == "=" and answer.left_name else None
        return None if inner is None else f"{answer.left_name}{inner}"
    return _key_of_many(answer)


def _key_of_many(answer: Sequence | Collection | RealSet | Matrix) -> str | None:
    if isinstance(answer, RealSet):
        ends = ((p.low_closed, form(p.low), form(p.high), p.high_closed) for p in answer.pieces)
        return "∪".join(f"{'[' if a else '('}{low},{high}{']' if b else ')'}" for a, low, high, b in ends) or "∅"
    if isinstance(answer, Matrix):
        rows = [[key(x) for x in row] for row in answer.rows]
        return "&".join("|".join(k or "" for k in row) for row in rows) if all(None not in r for r in rows) else None
    keys = [key(x) for x in answer.items]
    if None in keys:
        return None
    if isinstance(answer, Collection):
        return "{" + ";".join(sorted(k for k in keys if k is not None)) + "}" if not answer.braces else None
    return answer.left + ";".join(k or "" for k in keys) + answer.right


def _amount(value: Value, unit: Unit | None) -> str:
    if unit is None:
        return form(value)
    return f"{form(value)}|{unit.word}{unit.factor}" + "".join(f"{base}{power}" for base, power in unit.dimensions)
