"""Reads equations, inequalities and expressions of sets."""

from __future__ import annotations

import functools
import itertools
from abc import abstractmethod
from fractions import Fraction

from markscheme.marking.equality.algebra import real_sets as sets
from markscheme.marking.equality.algebra.arithmetic import div
from markscheme.marking.equality.algebra.exact import Expr, Unreadable, generator
from markscheme.marking.equality.algebra.real_sets import RealSet
from markscheme.marking.equality.kinds import Clock, Collection, ParsedAnswer, Relation, Scalar, Sequence, Text, as_set
from markscheme.marking.equality.read.values import ValueReader


class RelationReader(ValueReader):
    """Reads a range with a relation or set operation in it; the sides are read by `answer`."""

    @abstractmethod
    def answer(self, low: int, high: int, depth: int) -> ParsedAnswer:
        """The answer of a range."""

    def relation(self, low: int, high: int, depth: int) -> ParsedAnswer:
        marks = [k for k in self.level(low, high) if self.tokens[k].kind == "r"]
        operators = [self.tokens[k].text for k in marks]
        if operators[0] == "≈" and len(set(operators)) == 1:
            return self.approximation(low, marks[0], high, depth)
        for arrow in ("⇒", "→"):
            if arrow in operators:
                return self.answer(marks[len(operators) - 1 - operators[::-1].index(arrow)] + 1, high, depth + 1)
        bounds = list(itertools.pairwise([low - 1, *marks, high]))
        ranges = [(a + 1, b) for a, b in bounds]
        if operators == ["∈"]:
            inside = self.answer(*ranges[1], depth + 1)
            if isinstance(inside, Sequence):
                inside = as_set(inside)
            name = self.name(*ranges[0])
            return RealSet(inside.pieces, name) if isinstance(inside, RealSet) else inside
        if "≈" in operators:
            # x = √2 ≈ 1.414: what comes before is meant.
            return self.answer(low, marks[operators.index("≈")], depth + 1)
        if set(operators) <= {"=", "≡"}:
            return self.equation(ranges, depth)
        if set(operators) <= {"<", ">", "≤", "≥"} or operators == ["≠"]:
            return self.inequality(ranges, operators, depth)
        raise Unreadable("a chain of different relations")

    def ratio(self, low: int, high: int, depth: int) -> ParsedAnswer | None:
        """a : b, or a condition and behind the colon the set it describes; None where the colon is of another kind."""
        marks = [k for k in self.level(low, high) if self.tokens[k].kind == ":"]
        bounds = list(itertools.pairwise([low - 1, *marks, high]))
        related = [any(self.tokens[k].kind == "r" for k in self.level(a + 1, b)) for a, b in bounds]
        if any(related):
            if related != [True, False] or self.tokens[marks[0] + 1].kind not in "({":
                return None
            described = self.answer(low, marks[0], depth + 1)
            named = as_set(self.answer(marks[0] + 1, high, depth + 1)) if isinstance(described, RealSet) else sets.EMPTY
            return described if isinstance(described, RealSet) and sets.same_set(named, described) else None
        if any(self.tokens[k].kind in ("x", "set", "u") for k in range(low, high)):
            return None
        parts = [self.scalar(a + 1, b) for a, b in bounds]
        values = [x.value for x in parts if isinstance(x, Scalar) and x.unit is None]
        if len(values) != len(parts):
            return None
        if not any(isinstance(v, Expr) for v in values):
            return Clock(tuple(Fraction(v) for v in values if not isinstance(v, Expr)))
        return Scalar(div(*values)) if len(values) == 2 else None

    def approximation(self, low: int, mark: int, high: int, depth: int) -> ParsedAnswer:
        if low == mark or self.name(low, mark):
            right = self.answer(mark + 1, high, depth + 1)
            return right if low == mark else Relation("=", Text("name"), right, self.name(low, mark))
        return self.answer(low, mark, depth + 1)

    def equation(self, ranges: list[tuple[int, int]], depth: int) -> ParsedAnswer:
        first, last = ranges[0], ranges[-1]
        left_name, right_name = self.name(*first), self.name(*last)
        if first[0] >= first[1]:
            return self.answer(*last, depth + 1)
        right = self.side(*last, right_name, depth)
        left = self.side(*first, left_name, depth)
        return Relation("=", left, right, left_name or _text(left), right_name or _text(right))

    def side(self, low: int, high: int, name: str, depth: int) -> ParsedAnswer:
        try:
            return self.answer(low, high, depth + 1)
        except Unreadable:
            # What cannot be read is taken for the name of what the other side says: \lim f(x) = 5.
            return Text(name or "".join(t.text for t in self.tokens[low:high]))

    def inequality(self, ranges: list[tuple[int, int]], operators: list[str], depth: int) -> ParsedAnswer:
        sides = [self.inequality_side(a, b, depth) for a, b in ranges]
        if operators == ["≠"] and isinstance(sides[0], Scalar) and isinstance(sides[1], Collection):
            apart = [self.solved(Relation("≠", sides[0], x)) for x in sides[1].items]
            if None not in apart:
                return functools.reduce(sets.intersection, (part for part in apart if part is not None))  # x ≠ ±5
        parts = [Relation(op, a, b) for a, op, b in zip(sides, operators, sides[1:], strict=False)]
        solved = [self.solved(part) for part in parts]
        known = [one for one in solved if one is not None]
        if len(known) == len(parts):
            return functools.reduce(sets.intersection, known)
        return parts[0] if len(parts) == 1 else Collection(tuple(parts), False, "and")

    def solved(self, part: Relation) -> RealSet | None:
        if not isinstance(part.left, Scalar) or not isinstance(part.right, Scalar):
            return None
        try:
            return sets.solve(part.left.value, part.operator, part.right.value)
        except Unreadable:
            return None  # bounds that are no real numbers: k ≤ i

    def inequality_side(self, low: int, high: int, depth: int) -> ParsedAnswer:
        name = self.name(low, high)
        return Scalar(generator(name)) if "(" in name else self.answer(low, high, depth + 1)

    def has_union(self, low: int, high: int) -> bool:
        return any(self.is_union(k, low, high) for k in self.level(low, high))

    def joins_conditions(self, low: int, high: int) -> bool:
        """Whether set operations stand between conditions: x < 2 ∪ x > 3, but not x ∈ A ∪ B."""
        kinds = "".join(
            "u" if self.tokens[k].kind == "u" else "r" if self.tokens[k].kind == "r" else ""
            for k in self.level(low, high)
        )
        return all("r" in part for part in kinds.split("u"))

    def is_union(self, k: int, low: int, high: int) -> bool:
        """A capital U between two brackets."""
        return (
            low < k < high - 1
            and self.tokens[k][:2] == ("v", "U")
            and self.tokens[k - 1].kind == ")"
            and self.tokens[k + 1].kind == "("
        )

    def set_expression(self, low: int, high: int, depth: int) -> ParsedAnswer:
        marks = [k for k in self.level(low, high) if self.tokens[k].kind == "u" or self.is_union(k, low, high)]
        if not marks:
            if high - low == 1 and self.tokens[low].text in ("R", "∅"):
                return sets.REALS if self.tokens[low].text == "R" else sets.EMPTY
            return self.words(low, high)
        bounds = list(itertools.pairwise([low - 1, *marks, high]))
        operands = [as_set(self.answer(a + 1, b, depth + 1)) for a, b in bounds]
        result = operands[0]
        for k, operand in zip(marks, operands[1:], strict=True):
            if self.tokens[k].text == "∩":
                result = sets.intersection(result, operand)
            elif self.tokens[k].text == "\\":
                result = sets.difference(result, operand)
            else:
                result = sets.union(result, operand)
        return result


def _text(answer: ParsedAnswer) -> str:
    return answer.words if isinstance(answer, Text) else ""
