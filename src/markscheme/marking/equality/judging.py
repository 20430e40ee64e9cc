"""Compares two read answers, kind by kind. Symmetric: swapping the two never changes the verdict."""
# ruff: noqa: ARG001 - the rules share one signature

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from markscheme.marking.equality import sets
from markscheme.marking.equality.algebra import (
    PI,
    Expr,
    TooBig,
    Undefined,
    Value,
    div,
    is_complete,
    lift,
    mul,
    same,
    settle,
    sub,
    variables,
)
from markscheme.marking.equality.answers import (
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
from markscheme.marking.equality.evaluation import COMMON_LOG, substitute
from markscheme.marking.equality.expressions import Unreadable
from markscheme.marking.equality.functions import logarithm
from markscheme.marking.equality.numeric import approximate, differ
from markscheme.marking.equality.reading import as_set
from markscheme.marking.equality.units import angle, compatible


@dataclass(slots=True)
class Judge:
    """One comparison: what it noticed on the way, and what it could not decide."""

    flags: list[str] = field(default_factory=list)
    flipped: bool = False
    """Whether the first of the two is the gold: rules are written for one order of kinds only."""
    numeric: bool = False
    open: list[tuple[Value, Value]] = field(default_factory=list)
    """Pairs of values that agree numerically but not in canonical form: for computer algebra."""

    def flag(self, text: str) -> None:
        if text not in self.flags:
            self.flags.append(text)

    def same(self, a: Answer, b: Answer) -> bool | None:
        """Whether two answers are equal; None when it depends on the pairs in `open`."""
        a, b = _plain(a), _plain(b)
        rule = _RULES.get((type(a), type(b)))
        if rule is not None:
            return rule(self, a, b)
        rule = _RULES.get((type(b), type(a)))
        if rule is None:
            return False
        self.flipped = not self.flipped
        verdict = rule(self, b, a)
        self.flipped = not self.flipped
        return verdict

    def values(self, a: Value, b: Value) -> bool | None:
        """Whether two exact values are equal."""
        if not isinstance(a, Expr) and not isinstance(b, Expr):
            return a == b
        if same(a, b):
            return True
        names = variables(a) | variables(b)
        if COMMON_LOG in names:
            return self.logs(a, b)
        if is_complete(a) and is_complete(b):
            return False
        gap = differ(a, b, names)
        if gap:
            self.numeric = True
            return False
        self.open.append((a, b))
        return None

    def logs(self, a: Value, b: Value) -> bool | None:
        """Values with a bare `log`: equal if they are for base 10 or for base e."""
        verdicts: list[bool | None] = []
        for scale in (div(1, logarithm(10)), 1):
            verdicts.append(self.values(substitute(a, COMMON_LOG, scale), substitute(b, COMMON_LOG, scale)))
        return True if True in verdicts else (None if None in verdicts else False)

    def all(self, pairs: list[tuple[Answer, Answer]]) -> bool | None:
        """Whether every pair is equal."""
        undecided = False
        for a, b in pairs:
            verdict = self.same(a, b)
            if verdict is False:
                return False
            undecided = undecided or verdict is None
        return None if undecided else True


def _plain(answer: Answer) -> Answer:
    """A set of one element stands for the element."""
    while isinstance(answer, Collection) and len(answer.items) == 1:
        (answer,) = answer.items
    return answer


def _scalars(judge: Judge, a: Scalar, b: Scalar) -> bool | None:
    if a.letters and b.letters and a.letters != b.letters and max(len(a.letters), len(b.letters)) == 1:
        # Choice letters are often given in lower case; e and i are numbers.
        return a.letters.lower() == b.letters.lower() and a.letters.lower() not in "ei"
    if a.percent != b.percent:
        return _percent(judge, *((a, b) if a.percent else (b, a)))
    if a.unit is None or b.unit is None:
        if a.unit is not None or b.unit is not None:
            unit = a.unit or b.unit
            if unit is not None and angle(unit) == "deg":
                return _degrees(judge, *((a, b) if a.unit else (b, a)))
            verdict = judge.values(a.value, b.value)
            if verdict is not False:
                judge.flag("unit ignored")
            return verdict
        return judge.values(a.value, b.value)
    if not compatible(a.unit, b.unit):
        if {angle(a.unit), angle(b.unit)} == {"deg", "rad"}:
            return _degrees(judge, *((a, b) if angle(a.unit) == "deg" else (b, a)))
        return False
    if a.unit.dimensions != b.unit.dimensions:
        judge.flag("unit ignored")
        return judge.values(a.value, b.value)
    return judge.values(mul(a.value, a.unit.factor), mul(b.value, b.unit.factor))


def _degrees(judge: Judge, degrees: Scalar, other: Scalar) -> bool | None:
    """90° against 90 or against π/2 radians."""
    verdict = judge.values(degrees.value, other.value) if other.unit is None else False
    if verdict is not False:
        judge.flag("unit ignored")
        return verdict
    if other.unit is not None and angle(other.unit) == "rad":
        return judge.values(mul(degrees.value, div(PI, 180)), other.value)
    return False


def _percent(judge: Judge, percent: Scalar, number: Scalar) -> bool | None:
    """10% against 0.1, which it is, or against 10, where the question asked for a percentage."""
    verdict = judge.values(div(percent.value, 100), number.value)
    if verdict is not False:
        return verdict
    verdict = judge.values(percent.value, number.value) if number.unit is None else False
    if verdict:
        size = approximate(number.value)
        # Below one the sign matters: half a percent is not a half.
        if size is None or abs(size) <= 1:
            return False
        judge.flag("percent sign ignored")
    return verdict


def _texts(judge: Judge, a: Text, b: Text) -> bool | None:
    return a.words == b.words or a.words.replace(" ", "") == b.words.replace(" ", "")


def _text_scalar(judge: Judge, a: Text, b: Scalar) -> bool | None:
    return bool(b.letters) and a.words.replace(" ", "") == b.letters.lower()


def _choices(judge: Judge, a: Choice, b: Choice) -> bool | None:
    return a.letter == b.letter


def _choice_scalar(judge: Judge, a: Choice, b: Scalar) -> bool | None:
    return len(b.letters) == 1 and b.letters.upper() == a.letter


def _choice_text(judge: Judge, a: Choice, b: Text) -> bool | None:
    return b.words.replace(" ", "") in (a.letter.lower(), (a.letter + a.rest).lower().replace(" ", ""))


def _based(judge: Judge, a: Based, b: Based) -> bool | None:
    return a == b


def _based_scalar(judge: Judge, a: Based, b: Scalar) -> bool | None:
    """A gold's subscript is often dropped, since the problem states the base; an answer's is never to be ignored."""
    if judge.flipped and b.unit is None and not b.percent and isinstance(b.value, int) and str(b.value) == a.digits:
        judge.flag("base not stated")
        return True
    return False


def _clocks(judge: Judge, a: Clock, b: Clock) -> bool | None:
    if a.half or b.half:
        if _seconds(a) == _seconds(b):
            return True
        if bool(a.half) != bool(b.half) and _seconds(Clock(a.parts)) == _seconds(Clock(b.parts)):
            judge.flag("am or pm not stated")
            return True
        return False
    if a.parts == b.parts or (_seconds(a) is not None and _seconds(a) == _seconds(b)):
        return True
    return len(a.parts) == len(b.parts) and _ratio(a.parts) == _ratio(b.parts)


def _seconds(clock: Clock) -> Fraction | None:
    hours, minutes, *more = (*clock.parts, Fraction(0)) if len(clock.parts) == 1 else clock.parts
    seconds = more[0] if more else Fraction(0)
    if hours > 24 or minutes >= 60 or seconds >= 60 or len(more) > 1:
        return None
    if clock.half:
        hours = hours % 12 + (12 if clock.half == "pm" else 0)
    return hours * 3600 + minutes * 60 + seconds


def _ratio(parts: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    total = sum(parts)
    return tuple(p / total for p in parts) if total else parts


def _clock_scalar(judge: Judge, a: Clock, b: Scalar) -> bool | None:
    """The ratio 3:4 against 3/4."""
    if a.half or len(a.parts) != 2 or not a.parts[1] or a.parts[1] == 1:
        return False
    verdict = judge.values(a.parts[0] / a.parts[1], b.value)
    if verdict:
        judge.flag("ratio written as a fraction")
    return verdict


def _sequences(judge: Judge, a: Sequence, b: Sequence) -> bool | None:
    if len(a.items) != len(b.items):
        return False
    if (a.left, a.right) != (b.left, b.right):
        if len(a.items) == 2 and "<" not in (a.left, b.left):
            return False
        judge.flag("other brackets")
    return judge.all(list(zip(a.items, b.items, strict=True)))


def _collections(judge: Judge, a: Collection, b: Collection) -> bool | None:
    left, right = list(a.items), list(b.items)
    if a.braces or b.braces:
        left, right = _distinct(left), _distinct(right)
    if len(left) != len(right):
        return False
    return _matching(judge, left, right)


def _distinct(items: list[Answer]) -> list[Answer]:
    kept: list[Answer] = []
    for x in items:
        if not any(Judge().same(x, y) for y in kept):
            kept.append(x)
    return kept


def _matching(judge: Judge, left: list[Answer], right: list[Answer]) -> bool | None:
    """Whether the items pair off. Items that cannot be told apart from two others leave it undecided."""
    undecided = False
    for x in left:
        maybe: int | None = None
        for k, y in enumerate(right):
            attempt = Judge(flipped=judge.flipped)
            verdict = attempt.same(x, y)
            if verdict:
                judge.flags.extend(f for f in attempt.flags if f not in judge.flags)
                del right[k]
                break
            if verdict is None and maybe is None:
                maybe = k
                judge.open.extend(attempt.open)
        else:
            if maybe is None:
                return False
            del right[maybe]
            undecided = True
    return None if undecided else True


def _collection_sequence(judge: Judge, a: Collection, b: Sequence) -> bool | None:
    """x = 1, y = 2 against (1, 2); a list against the same list in brackets; never a set against a point."""
    if a.braces:
        return False
    if any(isinstance(x, Sequence) for x in a.items):
        return _collection_set(judge, a, b)
    if len(a.items) != len(b.items):
        return False
    items = list(a.items)
    named = all(isinstance(x, Relation) and x.left_name for x in items)
    if judge.flipped and not named:
        return False  # a list of solutions is not a point
    if named:
        items.sort(key=lambda x: x.left_name if isinstance(x, Relation) else "")
    verdict = judge.all(list(zip(items, b.items, strict=True)))
    if verdict is not False:
        judge.flag("other brackets")
    return verdict


def _collection_set(judge: Judge, a: Collection, b: Answer) -> bool | None:
    """Intervals in a row against their union; x = … against a set of points."""
    return _as_sets(judge, a, b)


def _as_sets(judge: Judge, a: Answer, b: Answer) -> bool | None:
    try:
        x, y = as_set(a), as_set(b)
    except Unreadable:
        return False
    if x.variable and y.variable and x.variable != y.variable:
        return False
    return sets.same_set(x, y)


def _matrices(judge: Judge, a: Matrix, b: Matrix) -> bool | None:
    if len(a.rows) != len(b.rows) or len(a.rows[0]) != len(b.rows[0]):
        return False
    return judge.all([(x, y) for r, s in zip(a.rows, b.rows, strict=True) for x, y in zip(r, s, strict=True)])


def _matrix_sequence(judge: Judge, a: Matrix, b: Sequence) -> bool | None:
    """A column against the same numbers in a row: a vector either way."""
    if len(a.rows[0]) != 1 or len(a.rows) != len(b.items):
        return False
    verdict = judge.all([(row[0], y) for row, y in zip(a.rows, b.items, strict=True)])
    if verdict is not False:
        judge.flag("column written as a row")
    return verdict


def _relations(judge: Judge, a: Relation, b: Relation) -> bool | None:
    if a.operator in "<≤" and b.operator in ">≥":
        b = Relation(sets.FLIPPED[b.operator], b.right, b.left)
    elif a.operator in ">≥" and b.operator in "<≤":
        a = Relation(sets.FLIPPED[a.operator], a.right, a.left)
    if a.operator != b.operator:
        return False
    sides = (a.left, a.right, b.left, b.right)
    if all(isinstance(s, Scalar) for s in sides):
        verdict = _proportional(judge, a, b)
        if verdict is not False:
            return verdict
    if a.operator != "=":
        return False
    if a.left_name and b.left_name and _same_name(a.left_name, b.left_name):
        return judge.same(a.right, b.right)
    return False


def _same_name(a: str, b: str) -> bool:
    """f(x) and y name the same thing; x and y do not."""
    if a == b:
        return True
    return ("(" in a and b == "y") or ("(" in b and a == "y")


def _proportional(judge: Judge, a: Relation, b: Relation) -> bool | None:
    """Whether the equations are the same up to a non-zero factor (a positive one for inequalities)."""
    p, q = _difference(a), _difference(b)
    if p is None or q is None:
        return False
    if not isinstance(p, Expr) or not isinstance(q, Expr):
        return False if (p == 0) != (q == 0) else p == q
    names = variables(p)
    if names != variables(q):
        return False
    # Multiplied through by their denominators, the equations compare coefficient by coefficient.
    top, bottom = _coefficients(p, names), _coefficients(q, names)
    if set(top) != set(bottom):
        return None if not (is_complete(p) and is_complete(q)) and differ(p, q, names) is False else False
    first = min(top)
    if a.operator != "=":
        factor = approximate(div(top[first], bottom[first]))
        if factor is None or factor.real <= 0:
            return False
    undecided = False
    for m in top:
        verdict = judge.values(mul(top[m], bottom[first]), mul(bottom[m], top[first]))
        if verdict is False:
            return False
        undecided = undecided or verdict is None
    return None if undecided else True


def _difference(relation: Relation) -> Value | None:
    if not isinstance(relation.left, Scalar) or not isinstance(relation.right, Scalar):
        return None
    value = sub(relation.left.value, relation.right.value)
    return settle(value.terms, None, value.atoms) if isinstance(value, Expr) and relation.operator == "=" else value


def _coefficients(value: Expr, names: set[str]) -> dict[tuple[tuple[str, int | Fraction], ...], Value]:
    """The constant coefficient of every monomial in the variables, with common and negative powers divided out."""
    from markscheme.marking.equality.algebra import add

    rows = [dict(m) for m in value.terms]
    shift = {g: min(r.get(g, 0) for r in rows) for g in {g for r in rows for g in r if g in names}}
    result: dict[tuple[tuple[str, int | Fraction], ...], Value] = {}
    for row, c in zip(rows, value.terms.values(), strict=True):
        inside = tuple(
            sorted(
                (g, e - shift.get(g, 0)) for g, e in row.items() if (g in names or g[0] == "$") and e != shift.get(g, 0)
            )
        )
        for g, low in shift.items():
            if g not in row and low:
                inside = tuple(sorted((*inside, (g, -low))))
        outside = settle({tuple((g, e) for g, e in row.items() if g not in names and g[0] != "$"): c}, None, None)
        result[inside] = add(result.get(inside, 0), outside)
    return result


def _relation_other(judge: Judge, a: Relation, b: Answer) -> bool | None:
    """`x = 5` against 5: a side that only names the other is dropped; any other equation is not its value."""
    if a.operator != "=":
        return False
    named: Answer | None = None
    if a.left_name and not _occurs(a.left_name, a.right):
        named = a.right
    elif a.right_name and not _occurs(a.right_name, a.left):
        named = a.left
    elif isinstance(a.left, Scalar) and isinstance(a.right, Scalar) and _names_a_quantity(a.left.value):
        # m + n = 73 and AB·CD = 12 name a quantity; x² = 5 asks for x. 21 + 49 = 70 is a sum.
        named = None if variables(a.right.value) else a.right
    if named is None:
        return False
    verdict = judge.same(named, b)
    if verdict is not False and isinstance(named, Scalar) and variables(named.value):
        judge.flag("name dropped")
    return verdict


def _names_a_quantity(left: Value) -> bool:
    """A number, or a combination of several variables that is no equation of a curve: all coefficients ±1."""
    if not isinstance(left, Expr):
        return True
    return len(variables(left)) != 1 and () not in left.terms and all(abs(c) == 1 for c in left.terms.values())


def _occurs(name: str, answer: Answer) -> bool:
    return isinstance(answer, Scalar) and name in variables(answer.value)


Rule = Callable[[Judge, "Answer", "Answer"], bool | None]
_RULES: Final[dict[tuple[type, type], Callable[..., bool | None]]] = {
    (Scalar, Scalar): _scalars,
    (Text, Text): _texts,
    (Text, Scalar): _text_scalar,
    (Choice, Choice): _choices,
    (Choice, Scalar): _choice_scalar,
    (Choice, Text): _choice_text,
    (Based, Based): _based,
    (Based, Scalar): _based_scalar,
    (Clock, Clock): _clocks,
    (Clock, Scalar): _clock_scalar,
    (Sequence, Sequence): _sequences,
    (Collection, Collection): _collections,
    (Collection, Sequence): _collection_sequence,
    (Collection, RealSet): _collection_set,
    (Sequence, RealSet): _as_sets,
    (RealSet, RealSet): _as_sets,
    (Matrix, Matrix): _matrices,
    (Matrix, Sequence): _matrix_sequence,
    (Relation, Relation): _relations,
    **{
        (Relation, kind): _relation_other
        for kind in (Scalar, Sequence, Collection, RealSet, Matrix, Text, Based, Clock, Choice)
    },
}

__all__ = ["Judge", "TooBig", "Undefined", "lift"]
