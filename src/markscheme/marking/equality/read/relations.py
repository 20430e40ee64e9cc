"""Read equations, inequalities, ratios and set expressions. The sides are read by the `read` argument."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from markscheme.marking.equality.algebra import real_sets as sets
from markscheme.marking.equality.algebra.arithmetic import div
from markscheme.marking.equality.algebra.exact import Expr, Unreadable, Value, generator, variables
from markscheme.marking.equality.algebra.functions import TRIGONOMETRIC
from markscheme.marking.equality.algebra.numeric import approximate
from markscheme.marking.equality.algebra.real_sets import RealSet
from markscheme.marking.equality.kinds import Clock, Collection, ParsedAnswer, Relation, Scalar, Sequence, Text, as_set
from markscheme.marking.equality.read.expressions import read_number
from markscheme.marking.equality.read.tokens import Token
from markscheme.marking.equality.read.tree import Nodes, cut, flat
from markscheme.marking.equality.read.values import scalar, words

Read = Callable[[Nodes], ParsedAnswer]
_INEQUALITIES: Final = frozenset({"<", ">", "≤", "≥"})
_DERIVATIVE: Final = re.compile(
    r"frac\{d(?:\^\{\d\})?(?:[^\W\d_]+(?:\(\w\))?)?\}\{d[^\W\d_]+(?:\^\{\d\})?\}(?:\w(?:\(\w\))?)?|d[^\W\d_]+/d[^\W\d_]+"
)
_ROUNDED: Final = 0.02  # allowed difference of the sides of an equation if one is a decimal: π = 3.14, 2/3 = 0.67
_OF_A_NAME: Final = frozenset("fv{}()")
_SET_OPERATIONS: Final = {"∩": sets.intersection, "\\": sets.difference}


def relation(nodes: Nodes, read: Read) -> ParsedAnswer:
    """Read a level with relations in it."""
    marks = [k for k, node in enumerate(nodes) if node.kind == "r"]
    operators = [nodes[k].text for k in marks]
    sides = cut(nodes, marks)
    for arrow in ("⇒", "→"):
        if arrow in operators:
            place = max(k for k in marks if nodes[k].text == arrow)
            reached = read(nodes[place + 1 :])
            _refuse_unequal([_side(nodes[:place], "", read), reached])
            return reached
    if operators == ["∈"]:
        if sides[0] and (sides[0][0].kind == "n" or sides[0][0].text == "-"):
            raise Unreadable("a statement about a number, not a set")  # 8 ∈ S names no unknown, and -x another than x
        inside = read(sides[1])
        if isinstance(inside, Sequence):
            inside = as_set(inside)
        return RealSet(inside.pieces, name_of(sides[0])) if isinstance(inside, RealSet) else inside
    if "≈" in operators:
        mark = marks[operators.index("≈")]
        name = name_of(nodes[:mark])
        if set(operators) != {"≈"} or (mark and not name):
            return read(nodes[:mark])  # x = √2 ≈ 1.414
        value = read(nodes[mark + 1 :])
        return Relation("=", Text(name), value, name) if mark else value
    if set(operators) <= {"=", "≡"}:
        if "≡" in operators:  # `mod 7` belongs to the whole congruence, so the side is not a remainder
            sides = [
                [x._replace(kind="mod") if isinstance(x, Token) and x.text == "mod" else x for x in s] for s in sides
            ]
        return _equation(sides, read, checked="≡" not in operators) if sides[0] else read(sides[-1])
    if set(operators) <= _INEQUALITIES or operators == ["≠"]:
        return _inequality(sides, operators, read)
    raise Unreadable("a chain of different relations")


def name_of(nodes: Nodes) -> str:
    r"""Return what a side names: `x`, `f(x)`, `AB`, `\angle ABC`, `\text{Area}`; an empty text if it is not a name."""
    tokens = flat(nodes) if len(nodes) <= 40 else []
    kinds = {t.kind for t in tokens}
    if not tokens or len(tokens) > 40 or "begin" in kinds:
        return ""
    text = "".join(t.text for t in tokens)
    first, last = nodes[0], nodes[-1]
    if len(tokens) == 1 and first.kind == "v":
        return "" if text in ("π", "e", "i") else text
    inside = {t.kind for t in tokens[1:-1]}
    is_name = (
        (first.kind != "n" and not kinds.isdisjoint({"x", "angle", "?"}))  # 52 degrees is a value
        or first.text == "bar"
        or (first.text in ("frac", "d") and _DERIVATIVE.fullmatch(text))
        # f(x), f^{-1}(x)
        or (first.kind == "v" and last.text == "(" and (len(nodes) == 2 or (len(nodes) == 4 and nodes[1].text == "^")))
        # \cos A; of \ln x = 5 x is asked for
        or (first.text in TRIGONOMETRIC and len(kinds) <= 3 and kinds <= _OF_A_NAME)
        or (kinds <= {"v"} and (text.isupper() or text.startswith("Delta")))  # AB; Δp
        or kinds == {"v", ":"}  # S_1 : S_2
        or (first.kind == "|" and last.kind == "|" and kinds <= {"|", "v"})
        or (first.text == "(" and len(nodes) == 1 and "," in inside and inside <= {"v", ","})
    )
    return text if is_name else ""


def _equation(sides: list[Nodes], read: Read, *, checked: bool) -> ParsedAnswer:
    first, last = sides[0], sides[-1]
    names = (name_of(first), name_of(last))
    right = _side(last, names[1], read)
    left = _side(first, names[0], read)
    if checked:
        _refuse_unequal([left, *(_side(side, "", read) for side in sides[1:-1]), right])
        if len(sides) > 2 and isinstance(left, Scalar) and _is_substituted(left.value, sides[-2], right):
            return right
    said = (side.words if isinstance(side, Text) else "" for side in (left, right))
    left_name, right_name = (name or text for name, text in zip(names, said, strict=True))
    return Relation("=", left, right, left_name, right_name)


def _refuse_unequal(sides: list[ParsedAnswer]) -> None:
    """Refuse `3 = 5` and `7 → 5`. A decimal may be rounded: 1/3 = 0.33."""
    named = (side.right if isinstance(side, Relation) and side.left_name else side for side in sides)
    values = [x.value for x in named if isinstance(x, Scalar) and not (x.unit or x.percent or variables(x.value))]
    for a, b in itertools.pairwise(values):
        one, two = approximate(a), approximate(b)
        near = one is None or two is None or abs(one - two) <= _ROUNDED * max(abs(one), abs(two))
        if not near or (isinstance(a, int) and isinstance(b, int) and a != b):
            raise Unreadable("an equation of different numbers")


def _is_substituted(left: Value, before: Nodes, right: ParsedAnswer) -> bool:
    """True if a chain evaluates its left side, `3R = 3(46) = 138`: the value of R is a number of the side before the last.

    `2x = 4 + 6 = 10` still has to be solved for x.
    """
    if len(before) < 2 or not isinstance(right, Scalar) or variables(right.value) or len(variables(left)) != 1:
        return False
    solved = sets.solve(left, "=", right.value)
    numbers = {read_number(t.text) for t in flat(before) if t.kind == "n"}
    return solved is not None and any(p.low in numbers for p in solved.pieces if not isinstance(p.low, Expr))


def _side(nodes: Nodes, name: str, read: Read) -> ParsedAnswer:
    try:
        return read(nodes)
    except Unreadable:
        # An unreadable side is the name of the other: \lim f(x) = 5.
        return Text(name or "".join(t.text for t in flat(nodes)))


def _inequality(parts: list[Nodes], operators: list[str], read: Read) -> ParsedAnswer:
    sides = [Scalar(generator(name)) if "(" in (name := name_of(part)) else read(part) for part in parts]
    if operators == ["≠"] and isinstance(sides[0], Scalar) and isinstance(sides[1], Collection):
        steps = [Relation("≠", sides[0], x) for x in sides[1].items]  # x ≠ ±5
    else:
        steps = [Relation(op, a, b) for a, op, b in zip(sides, operators, sides[1:], strict=False)]
    solved = [one for step in steps if (one := _solved(step)) is not None]
    if len(solved) == len(steps):
        return functools.reduce(sets.intersection, solved)
    if operators == ["≠"]:
        return Relation("≠", sides[0], sides[1])
    return steps[0] if len(steps) == 1 else Collection(tuple(steps), False, "and")


def _solved(step: Relation) -> RealSet | None:
    if not isinstance(step.left, Scalar) or not isinstance(step.right, Scalar):
        return None
    try:
        return sets.solve(step.left.value, step.operator, step.right.value)
    except Unreadable:
        return None  # bounds that are not real numbers: k ≤ i


def ratio(nodes: Nodes, read: Read) -> ParsedAnswer | None:
    """Read a : b, a set and the condition after the colon, or a labelled amount; None for any other colon."""
    parts = cut(nodes, [k for k, node in enumerate(nodes) if node.kind == ":"])
    related = [any(node.kind == "r" for node in part) for part in parts]
    if any(related):
        if related != [True, False] or not parts[1] or parts[1][0].kind not in "({":
            return None
        described = read(parts[0])
        same = isinstance(described, RealSet) and sets.same_set(as_set(read(parts[1])), described)
        return described if same else None
    if any(t.kind in ("x", "set", "u") for t in flat(nodes)):
        name = name_of(parts[0])
        return Relation("=", Text(name), read(parts[1]), name) if name and len(parts) == 2 else None  # J: 4 hr
    values = [x.value for part in parts if isinstance(x := scalar(part), Scalar) and x.unit is None]
    if len(values) != len(parts):
        return None
    numbers = [Fraction(v) for v in values if not isinstance(v, Expr)]
    if len(numbers) == len(values):
        return Clock(tuple(numbers))
    return Scalar(div(*values)) if len(values) == 2 else None


def joins_conditions(nodes: Nodes) -> bool:
    """True if set operations are between conditions: x < 2 ∪ x > 3, but not x ∈ A ∪ B."""
    parts = cut(nodes, [k for k, node in enumerate(nodes) if node.kind == "u"])
    return all(any(node.kind == "r" for node in part) for part in parts)


def unions(nodes: Nodes) -> list[int]:
    """Return the positions of set operations: signs, or a capital U between two brackets."""
    inner = range(1, len(nodes) - 1)
    letters = {k for k in inner if nodes[k].text == "U" and nodes[k - 1].kind == "(" == nodes[k + 1].kind}
    return [k for k, node in enumerate(nodes) if node.kind == "u" or k in letters]


def set_expression(nodes: Nodes, read: Read) -> ParsedAnswer:
    """Read sets joined by ∪, ∩ and \\, or a single sign such as ∅."""
    marks = unions(nodes)
    if not marks:
        if len(nodes) > 1:
            return words(nodes)
        known = {"R": sets.REALS, "∅": sets.EMPTY}.get(nodes[0].text)
        return Text(f"set {nodes[0].text}") if known is None else known  # ℂ is not choice C
    result, *operands = (as_set(read(part)) for part in cut(nodes, marks))
    for k, operand in zip(marks, operands, strict=True):
        result = _SET_OPERATIONS.get(nodes[k].text, sets.union)(result, operand)
    return result
