"""Rules for points, lists, sets, intervals and matrices."""
# ruff: noqa: ARG001 - the rules share one signature

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from markscheme.marking.equality.algebra import real_sets as sets
from markscheme.marking.equality.algebra.arithmetic import add, mul
from markscheme.marking.equality.algebra.exact import Expr, Unreadable, variables
from markscheme.marking.equality.algebra.numeric import approximate
from markscheme.marking.equality.kinds import Collection, Matrix, ParsedAnswer, Relation, Scalar, Sequence, as_set
from markscheme.marking.equality.units import Unit

if TYPE_CHECKING:
    from markscheme.marking.equality.rules.rulebook import Comparator


def sequences(comparator: Comparator, a: Sequence, b: Sequence) -> bool | None:
    if len(a.items) != len(b.items):
        return False
    if (a.left, a.right) != (b.left, b.right):
        # Of two items the brackets make a point or an interval; of more items they are a matter of taste.
        if not {a.left + a.right, b.left + b.right} <= {"()", "[]", "<>"}:
            return False
        if len(a.items) == 2 and "<" not in (a.left, b.left):
            return False
        comparator.flag("other brackets")
    return comparator.all(list(zip(a.items, b.items, strict=True)))


def collections(comparator: Comparator, a: Collection, b: Collection) -> bool | None:
    left, right = list(a.items), list(b.items)
    if a.braces or b.braces or all(isinstance(x, Sequence) for x in left):  # a repeated solution counts once
        left, right = _distinct(comparator, left), _distinct(comparator, right)
    if len(left) != len(right):
        return False
    return _matching(comparator, left, right)


def _distinct(comparator: Comparator, items: list[ParsedAnswer]) -> list[ParsedAnswer]:
    kept: list[ParsedAnswer] = []
    for x in items:
        if not any(comparator.fresh().same(x, y) for y in kept):
            kept.append(x)
    return kept


def _matching(comparator: Comparator, left: list[ParsedAnswer], right: list[ParsedAnswer]) -> bool | None:
    """True if the items pair off; None if some pair could not be decided."""
    undecided = False
    for x in left:
        maybe: int | None = None
        for k, y in enumerate(right):
            attempt = comparator.fresh()
            verdict = attempt.same(x, y)
            if verdict:
                comparator.flags.extend(f for f in attempt.flags if f not in comparator.flags)
                del right[k]
                break
            if verdict is None and maybe is None:
                maybe = k
        else:
            if maybe is None:
                return False
            del right[maybe]
            undecided = True
    return None if undecided else True


def collection_sequence(comparator: Comparator, a: Collection, b: Sequence) -> bool | None:
    """Compare x = 1, y = 2 with (1, 2), and a list with the same list in brackets; a set never equals a point."""
    if a.braces or len(a.items) != len(b.items):
        return False
    items = list(a.items)
    named = all(isinstance(x, Relation) and x.left_name for x in items)
    if comparator.flipped and not named:
        # The gold is a list of solutions, which may be in square brackets but is neither a point nor an interval.
        in_square = b.left + b.right == "[]" and not _is_interval(b)
        return in_square and collections(comparator, a, Collection(b.items, False))
    if b.left + b.right != "()" or any(_is_infinite(x) for x in b.items):
        return False  # an interval needs its brackets
    if named:
        items.sort(key=lambda x: x.left_name if isinstance(x, Relation) else "")
    verdict = comparator.all(list(zip(items, b.items, strict=True)))
    if verdict is not False:
        comparator.flag("other brackets")
    return verdict


def _is_interval(answer: Sequence) -> bool:
    try:
        as_set(answer)
    except Unreadable:
        return False
    return True


def _is_infinite(answer: ParsedAnswer) -> bool:
    return isinstance(answer, Scalar) and "∞" in variables(answer.value)


def as_sets(comparator: Comparator, a: ParsedAnswer, b: ParsedAnswer) -> bool | None:
    """Compare a list of intervals with their union, and x = … with a set of points."""
    try:
        x, y = as_set(a), as_set(b)
    except Unreadable:
        return False
    if x.variable and y.variable and x.variable != y.variable:
        return False
    return sets.same_set(x, y)


def collection_scalar(comparator: Comparator, a: Collection, b: Scalar) -> bool | None:
    """Accept amounts that add up (`137 and 1/2`, `18 dollars and 90 cents`) and one value in two forms (`3/4 or 0.75`)."""
    if len(b.letters) == len(a.items) and b.letters.isupper():
        # The choices A, C and D written as ACD.
        return sorted(b.letters) == sorted(x.letters if isinstance(x, Scalar) else "" for x in a.items)
    if a.joined == "or":
        return comparator.all([(x, b) for x in a.items]) if comparator.flipped else _said_twice(comparator, a, b)
    first, second = a.items if len(a.items) == 2 else (None, None)
    if a.joined != "and" or not isinstance(first, Scalar) or not isinstance(second, Scalar):
        return False
    if first.unit is None and second.unit is None:
        if not isinstance(first.value, int) or not isinstance(second.value, Fraction) or not 0 < second.value < 1:
            return False
        return comparator.values(first.value + second.value, b.value)
    if first.unit is None or second.unit is None or first.unit.dimensions != second.unit.dimensions or first.unit.word:
        return False
    total = add(mul(first.value, first.unit.factor), mul(second.value, second.unit.factor))
    return comparator.same(Scalar(total, Unit(first.unit.dimensions, Fraction(1))), b)


def _said_twice(comparator: Comparator, a: Collection, b: Scalar) -> bool | None:
    """True if the first item is the value and the others are its other forms or roundings."""
    if comparator.same(a.items[0], b) is not True:
        return False
    for item in a.items[1:]:
        if not isinstance(item, Scalar) or not (comparator.fresh().same(item, b) or _is_rounding(item, b)):
            return False
    return True


def _is_rounding(item: Scalar, exact: Scalar) -> bool:
    """True if an item is a decimal with at least two places and is the rounded value."""
    scale = Fraction(1, 100) if item.percent else Fraction(1)
    if isinstance(item.value, Expr) or not isinstance(item.value, Fraction):
        return False
    places = next((k for k in range(1, 13) if (item.value * 10**k).denominator == 1), 0)
    size = approximate(exact.value)
    if places < 2 - item.percent or size is None or abs(size.imag) > 1e-12:
        return False
    return abs(float(item.value * scale) - size.real) <= 0.51 * 10.0**-places * float(scale)


def matrices(comparator: Comparator, a: Matrix, b: Matrix) -> bool | None:
    if len(a.rows) != len(b.rows) or len(a.rows[0]) != len(b.rows[0]):
        return False
    return comparator.all([(x, y) for r, s in zip(a.rows, b.rows, strict=True) for x, y in zip(r, s, strict=True)])


def matrix_sequence(comparator: Comparator, a: Matrix, b: Sequence) -> bool | None:
    """Compare a column with the same numbers in a row: both are a vector."""
    if len(a.rows[0]) != 1 or len(a.rows) != len(b.items):
        return False
    verdict = comparator.all([(row[0], y) for row, y in zip(a.rows, b.items, strict=True)])
    if verdict is not False:
        comparator.flag("column written as a row")
    return verdict
