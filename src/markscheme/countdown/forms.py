"""Decide whether two expressions are essentially the same, and write solutions.

Both work on shapes over numbers: nested sums and products with signs and exponents, without the order of writing.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from markscheme.countdown.expression import Tree, parse
from markscheme.countdown.shapes import Node, Shape, joined


class Solution(msgspec.Struct, frozen=True):
    """One solution, written so that no step is negative, and every step is whole if possible."""

    expression: str
    whole: bool  # every intermediate result is a whole number
    divides: bool  # it contains a division


def essentially_same(one: str, other: str) -> bool:
    """True if two expressions are the same solution as defined in `markscheme.countdown.solver`.

    Raises `ExpressionError` if one of them is not an expression.
    """
    first, second = parse(one), parse(other)
    return first.value == second.value and essence(_flat(first.tree)[1])[1] == essence(_flat(second.tree)[1])[1]


def _flat(tree: Tree) -> tuple[int, Shape]:
    """Return the sign and the shape of an expression, with nested sums and nested products flattened."""
    if isinstance(tree, int):
        return 1, tree
    if len(tree) == 2:
        sign, shape = _flat(tree[1])
        return -sign, shape
    operator, left, right = tree
    (left_sign, first), (right_sign, second) = _flat(left), _flat(right)
    turn = -1 if operator in "-/" else 1
    if operator in "+-":
        return 1, Node("+", joined("+", (left_sign, first), (turn * right_sign, second)))
    return left_sign * right_sign, Node("*", joined("*", (1, first), (turn, second)))


def essence(shape: Shape) -> tuple[int, str]:
    """Return the sign of an expression relative to a key that essentially equal expressions share, and the key.

    The sign is 0 if swapping equal numbers negates the expression, as in 3 - 3.
    """
    if isinstance(shape, int):
        return 1, str(shape)
    parts = [(exponent, *essence(part)) for exponent, part in shape.parts]
    if shape.op == "*":
        sign = 1
        for _, factor_sign, _ in parts:
            sign *= factor_sign
        return sign, "[" + "".join(sorted(("*" if exponent > 0 else "/") + key for exponent, _, key in parts)) + "]"
    terms = sorted((key, term_sign * sign) for sign, term_sign, key in parts)
    opposite = sorted((key, -sign) for key, sign in terms)
    sign = 0 if terms == opposite else 1 if terms > opposite else -1
    return sign, "(" + "".join("-±+"[sign + 1] + key for key, sign in max(terms, opposite)) + ")"


class _Written(NamedTuple):
    text: str
    top: int  # the value top/bottom is not negative…
    bottom: int
    sign: int  # …and the shape's own value is sign times that
    whole: bool
    divides: bool
    is_sum: bool


def write(shape: Shape) -> Solution:
    """Write the expression with large terms first, subtractions last, and divisions after multiplications.

    In that order no step is negative, since the sign of a negative sum moves outwards. If any order of the expression has
    only whole steps, this one has.
    """
    written = _write(shape)
    return Solution(written.text, written.whole, written.divides)


def _write(shape: Shape) -> _Written:
    if isinstance(shape, int):
        return _Written(str(shape), shape, 1, 1, True, False, False)
    parts = [(sign, _write(part)) for sign, part in shape.parts]
    parts.sort(key=lambda part: (-part[1].top / part[1].bottom, part[1].text))
    return _write_product(parts) if shape.op == "*" else _write_sum(parts)


def _write_sum(parts: list[tuple[int, _Written]]) -> _Written:
    top, bottom = 0, 1
    for sign, part in parts:
        top = top * part.bottom + sign * part.sign * part.top * bottom
        bottom *= part.bottom
    # Of a sum that is zero, either way round will do; the same one every time.
    turn = 1 if top > 0 else -1 if top < 0 else parts[0][0] * parts[0][1].sign
    added = [part.text for sign, part in parts if sign * part.sign * turn > 0]
    taken = [part.text for sign, part in parts if sign * part.sign * turn < 0]
    text = " - ".join([" + ".join(added), *taken])
    whole = all(part.whole for _, part in parts)
    return _Written(text, turn * top, bottom, turn, whole, any(part.divides for _, part in parts), True)


def _write_product(parts: list[tuple[int, _Written]]) -> _Written:
    top, bottom, sign = 1, 1, 1
    above, below = [], []
    for exponent, part in parts:
        text = f"({part.text})" if part.is_sum else part.text
        sign *= part.sign
        if exponent > 0:
            above.append(text)
            top, bottom = top * part.top, bottom * part.bottom
        else:
            below.append(text)
            top, bottom = top * part.bottom, bottom * part.top
    text = " / ".join([" * ".join(above), *below])
    whole = all(part.whole for _, part in parts) and top % bottom == 0
    return _Written(text, top, bottom, sign, whole, bool(below) or any(p.divides for _, p in parts), False)
