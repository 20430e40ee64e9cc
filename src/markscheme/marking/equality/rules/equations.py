"""Rules for equations and inequalities."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from markscheme.marking.equality.algebra import real_sets as sets
from markscheme.marking.equality.algebra.arithmetic import add, div, mul, settle, sub
from markscheme.marking.equality.algebra.exact import Expr, Value, is_complete, variables
from markscheme.marking.equality.algebra.numeric import approximate, differ
from markscheme.marking.equality.kinds import ParsedAnswer, Relation, Scalar

if TYPE_CHECKING:
    from markscheme.marking.equality.rules.rulebook import Comparator


def relations(comparator: Comparator, a: Relation, b: Relation) -> bool | None:
    if a.operator in "<≤" and b.operator in ">≥":
        b = Relation(sets.FLIPPED[b.operator], b.right, b.left)
    elif a.operator in ">≥" and b.operator in "<≤":
        a = Relation(sets.FLIPPED[a.operator], a.right, a.left)
    if a.operator != b.operator:
        return False
    sides = (a.left, a.right, b.left, b.right)
    if all(isinstance(s, Scalar) and s.unit is None and not s.percent for s in sides):
        verdict = _proportional(comparator, a, b)
        if verdict is not False:
            return verdict
    if a.operator == "=" and not a.left_name and a.right_name:
        a = Relation("=", a.right, a.left, a.right_name)  # 4 cm = x
    if a.operator == "=" and a.left_name:
        if b.left_name and _same_name(a.left_name, b.left_name):
            return comparator.same(a.right, b.right)
        if a.left_name == b.right_name:
            return comparator.same(a.right, b.left)
    return comparator.all([(a.left, b.left), (a.right, b.right)])


def _same_name(a: str, b: str) -> bool:
    """True for x and x and for f(x) and y, False for x and y."""
    return a == b or ("(" in a and b == "y") or ("(" in b and a == "y")


def _proportional(comparator: Comparator, a: Relation, b: Relation) -> bool | None:
    """True if two equations are the same up to a non-zero factor (a positive one for inequalities)."""
    p, q = _difference(a), _difference(b)
    if not isinstance(p, Expr) or not isinstance(q, Expr):
        return False  # without a variable both sides have to be the same
    names = variables(p)
    if not names or names != variables(q) or p.den != q.den:
        return False
    top, bottom = (_coefficients(value, names, a.operator) for value in (p, q))
    if set(top) != set(bottom):
        return None if not (is_complete(p) and is_complete(q)) and differ(p, q, names) is False else False
    first = min(top)
    if a.operator != "=":
        factor = approximate(div(top[first], bottom[first]))
        if factor is None or factor.real <= 0:
            return False
    undecided = False
    for m in top:
        verdict = comparator.values(mul(top[m], bottom[first]), mul(bottom[m], top[first]))
        if verdict is False:
            return False
        undecided = undecided or verdict is None
    return None if undecided else True


def _difference(relation: Relation) -> Value | None:
    if not isinstance(relation.left, Scalar) or not isinstance(relation.right, Scalar):
        return None
    value = sub(relation.left.value, relation.right.value)
    return settle(value.terms, None, value.atoms) if isinstance(value, Expr) and relation.operator == "=" else value


def _coefficients(value: Expr, names: set[str], operator: str) -> dict[tuple[tuple[str, int | Fraction], ...], Value]:
    """Return the constant coefficient of every monomial in the variables.

    An equation is multiplied by the variables it divides by: y = 1/x is xy = 1. It is never divided, which loses solutions
    (x² = x is not x = 1). An inequality is not multiplied either, since the sign of the variable is unknown.
    """
    rows = [dict(mono) for mono in value.terms]
    below = {g: min(0, *(row.get(g, 0) for row in rows)) if operator == "=" else 0 for g in names}
    result: dict[tuple[tuple[str, int | Fraction], ...], Value] = {}
    for row, c in zip(rows, value.terms.values(), strict=True):
        powers = {g: e for g, e in row.items() if g[0] == "$"} | {g: row.get(g, 0) - below[g] for g in names}
        inside = tuple(sorted((g, e) for g, e in powers.items() if e))
        outside = settle({tuple((g, e) for g, e in row.items() if g not in names and g[0] != "$"): c}, None, None)
        result[inside] = add(result.get(inside, 0), outside)
    return result


def relation_other(comparator: Comparator, a: Relation, b: ParsedAnswer) -> bool | None:
    """Compare `x = 5` with 5: drop a side that only names the other. Any other equation is not its value."""
    if a.operator != "=":
        return False
    named: ParsedAnswer | None = None
    if a.left_name and not _occurs(a.left_name, a.right):
        named = a.right
    elif a.right_name and not _occurs(a.right_name, a.left):
        named = a.left
    elif isinstance(a.left, Scalar) and isinstance(a.right, Scalar) and _names_a_quantity(a.left.value):
        # m + n = 73 and AB·CD = 12 name a quantity, 21 + 49 = 70 is a sum, but x² = 5 asks for x. A gold that is the
        # equation of a curve, x² + y² = 25, or has zero on the right, asks for the equation.
        curve = comparator.flipped and ({"x", "y"} <= variables(a.left.value) or a.right.value == 0)
        named = None if variables(a.right.value) or curve else a.right
    elif not isinstance(a.left, Scalar) and isinstance(a.right, Scalar) and not variables(a.right.value):
        named = a.right  # a binomial coefficient as a column, and its value
    elif not isinstance(a.right, Scalar) and (isinstance(a.left, Scalar) or comparator.fresh().same(a.left, a.right)):
        named = a.right  # B⁻¹ = a matrix; an interval and its simplification
    if named is None or (not comparator.flipped and _is_curve(a, named)):
        return False
    verdict = comparator.same(named, b)
    if verdict is not False and isinstance(named, Scalar) and variables(named.value):
        comparator.flag("name dropped")
    return verdict


def _names_a_quantity(left: Value) -> bool:
    """True for a number, or for several variables with coefficients ±1, which are not the equation of a curve."""
    if not isinstance(left, Expr) or not variables(left):
        return True
    return len(variables(left)) != 1 and () not in left.terms and all(abs(c) == 1 for c in left.terms.values())


def _is_curve(equation: Relation, named: ParsedAnswer) -> bool:
    """True for `y = 2x + 3`, which is a line and not the expression `2x + 3`; `f(x) = 2x + 3` may be either."""
    names_y = equation.left_name == "y" if named is equation.right else equation.right_name == "y"
    return names_y and isinstance(named, Scalar) and "x" in variables(named.value)


def _occurs(name: str, answer: ParsedAnswer) -> bool:
    return isinstance(answer, Scalar) and name in variables(answer.value)
