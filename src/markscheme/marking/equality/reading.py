"""Reads an answer: from text to one of the kinds in `answers`, or `Unreadable`.

The outside first (lists, relations, unions, brackets, matrices), then the expressions inside. Brackets are matched
once, so that every level is split without looking into its groups; redundant brackets cost no recursion.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from markscheme.marking.equality import sets
from markscheme.marking.equality.algebra import Expr, Value, mul, variables
from markscheme.marking.equality.annotations import BASE_WORDS, annotate, read_base
from markscheme.marking.equality.answers import (
    Answer,
    Based,
    Collection,
    Matrix,
    RealSet,
    Relation,
    Scalar,
    Sequence,
    Text,
)
from markscheme.marking.equality.cleaning import clean
from markscheme.marking.equality.evaluation import DEGREE, run, signs_in, substitute
from markscheme.marking.equality.expressions import Unreadable, parse, read_number
from markscheme.marking.equality.names import CONNECTIVES, MATRICES
from markscheme.marking.equality.phrases import read_phrase, without_article
from markscheme.marking.equality.tokens import Token, tokenise
from markscheme.marking.equality.units import Unit, read_unit

MAX_DEPTH: Final = 12  # of lists in lists; brackets that only group do not count
MAX_ITEMS: Final = 200
_PUNCTUATION: Final = frozenset({"{", "}", "(", ")", ",", ";", ".", ":", "$", "&"})
MAX_LENGTH: Final = 100_000
_DEGREES: Final = Unit((("deg", 1),), Fraction(1))
_DOLLARS: Final = Unit((("usd", 1),), Fraction(1))
_OUTWARD: Final = re.compile(r"^([\[\]])(.*)([\[\]])$", re.DOTALL)


def read(text: str, *, lists: bool = False) -> Answer:
    """The answer that a text states. With `lists`, a comma never separates thousands."""
    if len(text) > MAX_LENGTH:
        raise Unreadable("too long for an answer")
    cleaned = clean(text)
    if not cleaned:
        raise Unreadable("nothing there")
    phrase = read_phrase(cleaned)
    if phrase is not None:
        return phrase
    if (cleaned[0] in "[]" and cleaned[-1] in "[]" and cleaned.count("[") != cleaned.count("]")) or cleaned[0] == "]":
        # ]a, b[ is the French way to write (a, b).
        cleaned = _OUTWARD.sub(lambda m: ("[" if m[1] == "[" else "(") + m[2] + ("]" if m[3] == "]" else ")"), cleaned)
    tokens = tokenise(cleaned)
    return Reader(tokens if lists else join_thousands(tokens)).whole()


class Reader:
    """One answer's tokens with their matched brackets."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.match = _match(tokens)

    def whole(self) -> Answer:
        return self.answer(0, len(self.tokens), 0)

    def answer(self, low: int, high: int, depth: int) -> Answer:
        """The answer of a range."""
        if depth > MAX_DEPTH:
            raise Unreadable("lists nested too deeply")
        low, high = self.trim(low, high)
        if low >= high:
            raise Unreadable("nothing there")
        cuts = self.separators(low, high)
        if cuts:
            return self.collection(low, high, cuts, depth)
        relation = next((k for k in self.level(low, high) if self.tokens[k].kind == "r"), None)
        if relation is not None:
            return self.relation(low, high, depth)
        if any(self.tokens[k].kind in ("u", "set") or self.is_union(k, low, high) for k in self.level(low, high)):
            return self.set_expression(low, high, depth)
        begin = next((k for k in self.level(low, high) if self.tokens[k].kind == "begin"), None)
        if begin is not None:
            return self.environment(low, begin, high, depth)
        if self.tokens[low].kind in "({" and self.match.get(low) == high - 1:
            return self.bracketed(low, high, depth)
        return self.scalar(low, high)

    def words(self) -> Text:
        """The whole text as words."""
        found = " ".join(t.text.lower() for t in self.tokens if t.kind not in _PUNCTUATION)
        return Text(without_article(found))

    def level(self, low: int, high: int) -> Iterator[int]:
        """The positions of a range that are not inside brackets within it; each bracket counts at its start."""
        k = low
        while k < high:
            yield k
            k = self.match.get(k, k) + 1

    def trim(self, low: int, high: int) -> tuple[int, int]:
        """Without braces and brackets around the whole that only group, and without stray punctuation."""
        while low < high:
            kind, text, _ = self.tokens[low]
            if kind in (",", ";", ".", ":", "&", "\\\\"):
                low += 1
            elif self.tokens[high - 1].kind in (",", ";", ".", "&", "\\\\") or self.tokens[high - 1][:2] == ("o", "_"):
                high -= 1
            elif self.match.get(low) == high - 1 and (kind == "{" or (kind == "(" and text in "([")):
                if self.tokens[high - 1].text != {"{": "}", "(": ")", "[": "]"}[text]:
                    break
                if any(self.tokens[k].kind in (",", ";") for k in self.level(low + 1, high - 1)):
                    break
                low, high = low + 1, high - 1
            else:
                break
        return low, high

    def separators(self, low: int, high: int) -> list[tuple[int, str]]:
        """Where a list is cut, with the word or mark that cuts it."""
        cuts: list[tuple[int, str]] = []
        for k in self.level(low, high):
            kind, text, _ = self.tokens[k]
            if kind == ";" or (kind == "x" and text.lower() in CONNECTIVES and self.joins(k, low, high)):
                cuts.append((k, text.lower()))
            elif kind == ",":
                cuts.append((k, ","))
        return cuts

    def joins(self, k: int, low: int, high: int) -> bool:
        """Whether "and" or "or" stands between two values (not inside a phrase such as "one and a half")."""
        if k == low or k + 1 >= high:
            return self.tokens[k - 1].kind == "," if k > low else False
        return self.tokens[k - 1].kind != "x" or self.tokens[k + 1].kind != "x"

    def collection(self, low: int, high: int, cuts: list[tuple[int, str]], depth: int) -> Answer:
        if len(cuts) > MAX_ITEMS:
            raise Unreadable("too many items")
        items: list[Answer] = []
        start = low
        for k, _ in [*cuts, (high, "")]:
            if self.trim(start, k)[0] < self.trim(start, k)[1]:
                items.append(self.answer(start, k, depth + 1))
            start = k + 1
        words = [w for _, w in cuts if w in ("and", "or")]
        joined = words[0] if words else ","
        if len(items) == 1:
            return items[0]
        real = [x for x in items if isinstance(x, RealSet)]
        if items and len(real) == len(items):
            return _combine(real, joined)
        flat: list[Answer] = []
        for x in items:
            flat.extend(x.items if isinstance(x, Collection) and not x.braces else [x])
        return Collection(tuple(flat), False, joined)

    def relation(self, low: int, high: int, depth: int) -> Answer:
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

    def approximation(self, low: int, mark: int, high: int, depth: int) -> Answer:
        if low == mark or self.name(low, mark):
            right = self.answer(mark + 1, high, depth + 1)
            return right if low == mark else Relation("=", Text("name"), right, self.name(low, mark))
        return self.answer(low, mark, depth + 1)

    def equation(self, ranges: list[tuple[int, int]], depth: int) -> Answer:
        first, last = ranges[0], ranges[-1]
        left_name, right_name = self.name(*first), self.name(*last)
        if first[0] >= first[1]:
            return self.answer(*last, depth + 1)
        right = self.side(*last, right_name, depth)
        left = self.side(*first, left_name, depth)
        if isinstance(right, Text) and right_name and isinstance(left, Text):
            raise Unreadable("an equation between words")
        return Relation("=", left, right, left_name, right_name)

    def side(self, low: int, high: int, name: str, depth: int) -> Answer:
        try:
            return self.answer(low, high, depth + 1)
        except Unreadable:
            if name:
                return Text(name)
            raise

    def name(self, low: int, high: int) -> str:
        r"""What a side only names: `x`, `f(x)`, `AB`, `\angle ABC`, `\text{Area}`; else an empty text."""
        tokens = self.tokens[low:high]
        kinds = {t.kind for t in tokens}
        text = "".join(t.text for t in tokens)
        if not tokens or len(tokens) > 40:
            return ""
        if len(tokens) == 1 and tokens[0].kind == "v":
            return "" if text in ("π", "e", "i") else text
        if kinds & {"x", "angle", "?"} or tokens[0][:2] == ("c", "bar"):
            return text
        if tokens[0].kind == "v" and low + 1 < high and self.match.get(low + 1) == high - 1:
            return text if tokens[1][:2] == ("(", "(") and all(t.kind in "vno,()r" for t in tokens) else ""
        if kinds <= {"v"} and text.isupper():
            return text
        if tokens[0].kind == "|" and tokens[-1].kind == "|" and kinds <= {"|", "v"}:
            return text
        inner = {t.kind for t in tokens[1:-1]}
        if tokens[0][:2] == ("(", "(") and inner <= {"v", ","} and "," in inner:
            return text
        return ""

    def inequality(self, ranges: list[tuple[int, int]], operators: list[str], depth: int) -> Answer:
        sides = [self.answer(a, b, depth + 1) for a, b in ranges]
        values = [s.value if isinstance(s, Scalar) else None for s in sides]
        found: RealSet | None = None
        for left, operator, right in zip(values, operators, values[1:], strict=False):
            if left is None or right is None:
                found = None
                break
            solved = sets.solve(left, operator, right)
            if solved is None:
                found = None
                break
            found = solved if found is None else sets.intersection(found, solved)
        if found is not None:
            return found
        parts = [Relation(op, a, b) for a, op, b in zip(sides, operators, sides[1:], strict=False)]
        return parts[0] if len(parts) == 1 else Collection(tuple(parts), False, "and")

    def is_union(self, k: int, low: int, high: int) -> bool:
        """A capital U between two brackets."""
        return (
            low < k < high - 1
            and self.tokens[k][:2] == ("v", "U")
            and self.tokens[k - 1].kind == ")"
            and self.tokens[k + 1].kind == "("
        )

    def set_expression(self, low: int, high: int, depth: int) -> Answer:
        marks = [k for k in self.level(low, high) if self.tokens[k].kind == "u" or self.is_union(k, low, high)]
        if not marks:
            if high - low == 1 and self.tokens[low].text in ("R", "∅"):
                return sets.REALS if self.tokens[low].text == "R" else sets.EMPTY
            return self.words()
        bounds = list(itertools.pairwise([low - 1, *marks, high]))
        operands = [as_set(self.answer(a + 1, b, depth + 1)) for a, b in bounds]
        result = operands[0]
        for k, operand in zip(marks, operands[1:], strict=True):
            if self.tokens[k].text == "∩":
                result = sets.intersection(result, operand)
            elif self.tokens[k].text == "\\":
                result = sets.intersection(result, sets.complement(operand))
            else:
                result = sets.union(result, operand)
        return result

    def bracketed(self, low: int, high: int, depth: int) -> Answer:
        left, right = self.tokens[low].text, self.tokens[high - 1].text
        if left in "⌊⌈|":
            return self.scalar(low, high)
        if left == "{":
            return self.braces(low + 1, high - 1, depth)
        cuts = self.separators(low + 1, high - 1)
        items: list[Answer] = []
        start = low + 1
        for k, _ in [*cuts, (high - 1, "")]:
            if start < k:
                items.append(self.answer(start, k, depth + 1))
            start = k + 1
        if not items or len(items) > MAX_ITEMS:
            raise Unreadable("brackets with nothing or too much in them")
        if len(items) == 1 and left + right in ("()", "[]"):
            return items[0]
        rows = [x.items for x in items if isinstance(x, Sequence) and x.left == "["]
        if left == "[" and len(rows) == len(items) and len({len(r) for r in rows}) == 1:
            return Matrix(tuple(rows))
        return Sequence(tuple(items), left, right)

    def braces(self, low: int, high: int, depth: int) -> Answer:
        r"""`\{…\}`: a list of elements, or a condition after a bar or colon."""
        if low >= high:
            return sets.EMPTY
        bar = next((k for k in self.level(low, high) if self.tokens[k].kind in ("|", ":")), None)
        if bar is not None and bar + 1 < high:
            return self.answer(bar + 1, high, depth + 1)
        inner = self.answer(low, high, depth + 1)
        if isinstance(inner, Collection) and not inner.braces:
            return Collection(inner.items, True)
        return inner if isinstance(inner, RealSet) else Collection((inner,), True)

    def environment(self, low: int, begin: int, high: int, depth: int) -> Answer:
        name = self.tokens[begin].text.rstrip("*")
        end = self.match.get(begin, -1)
        if end < 0 or end != high - 1:
            raise Unreadable("something after a matrix")
        start = begin + 1
        if name == "array" and self.tokens[start].kind == "{":
            start = self.match[start] + 1
        rows = self.rows(start, end)
        if name in MATRICES:
            entries = tuple(tuple(self.answer(a, b, depth + 1) for a, b in row) for row in rows)
            if len({len(r) for r in entries}) != 1:
                raise Unreadable("rows of different lengths")
            return Matrix(entries) if low == begin else _scaled(self.factor(low, begin), entries)
        if low != begin:
            raise Unreadable("something before a system")
        # cases, aligned and their kin: one statement a row.
        items = tuple(self.answer(row[0][0], row[-1][1], depth + 1) for row in rows)
        return items[0] if len(items) == 1 else Collection(items, False, "and")

    def factor(self, low: int, high: int) -> Value:
        if self.tokens[high - 1][:2] == ("o", "*"):
            high -= 1
        if high - low == 1 and self.tokens[low][:2] == ("o", "-"):
            return -1
        return run(parse(self.tokens, low, high))

    def rows(self, low: int, high: int) -> list[list[tuple[int, int]]]:
        rows: list[list[tuple[int, int]]] = [[]]
        start = low
        for k in [*self.level(low, high), high]:
            kind = self.tokens[k].kind if k < high else "\\\\"
            if kind in ("&", "\\\\"):
                if start < k:
                    rows[-1].append((start, k))
                start = k + 1
                if kind == "\\\\" and k < high:
                    rows.append([])
        rows = [r for r in rows if r]
        if not rows or sum(map(len, rows)) > MAX_ITEMS:
            raise Unreadable("a matrix with nothing or too much in it")
        return rows

    def scalar(self, low: int, high: int) -> Answer:
        """One value with what stands around it: currency, unit, percent sign, base."""
        unit: Unit | None = None
        kinds = [self.tokens[k].kind for k in range(low, high)]
        if "$" in kinds:
            low, high, unit = self.currency(low, high), high - (kinds[-1] == "$"), _DOLLARS
        if "b" in kinds:
            return self.based(low, high)
        cut = next((k for k in self.level(low, high) if self.tokens[k].kind in ("x", "mod")), high)
        if cut == low:
            return self.after_words(low, high)
        if cut < high:
            word = self.tokens[cut].text.lower()
            if word in BASE_WORDS:
                return read_base(self.tokens[low:cut], "".join(t.text for t in self.tokens[cut + 1 : high]))
            number = self.scalar(low, cut)
            if not isinstance(number, Scalar):
                return self.words()
            return annotate(number, self.tokens[cut:high]) or self.words()
        percent = False
        while high - low > 1 and self.tokens[high - 1][:2] in (("o", "%"), ("o", "°")):
            percent = percent or self.tokens[high - 1].text == "%"
            unit = _DEGREES if self.tokens[high - 1].text == "°" else unit
            high -= 1
        if high - low > 2 and self.tokens[high - 2][:2] == ("o", "°") and self.tokens[high - 1].text in ("C", "F"):
            unit = read_unit("°" + self.tokens[high - 1].text)
            high -= 2
        return self.value(low, high, unit, percent)

    def value(self, low: int, high: int, unit: Unit | None, percent: bool) -> Answer:
        if high - low == 1 and self.tokens[low].kind == "n":
            return Scalar(read_number(self.tokens[low].text), unit, percent)
        program = parse(self.tokens, low, high)
        plus_minus, minus_plus = signs_in(program)
        if not plus_minus + minus_plus:
            return self.made(run(program), low, high, unit, percent)
        if plus_minus + minus_plus > 4:
            raise Unreadable("too many signs to choose")
        if minus_plus:
            ups = [1 if op in ("±", "sign ±") else -1 for op, _ in program if op in ("±", "sign ±", "∓", "sign ∓")]
            choices = [tuple(ups), tuple(-s for s in ups)]
        else:
            choices = list(itertools.product((1, -1), repeat=plus_minus))
        return Collection(tuple(self.made(run(program, s), low, high, unit, percent) for s in choices), False, "or")

    def made(self, value: Value, low: int, high: int, unit: Unit | None, percent: bool) -> Scalar:
        letters = ""
        if isinstance(value, Expr):
            if DEGREE in variables(value):
                value, unit = substitute(value, DEGREE, 1), unit or _DEGREES
            if all(self.tokens[k].kind == "v" and len(self.tokens[k].text) == 1 for k in range(low, high)):
                letters = "".join(self.tokens[k].text for k in range(low, high))
        return Scalar(value, unit, percent, letters)

    def currency(self, low: int, high: int) -> int:
        """Where the amount starts after a leading dollar sign; a sign before it moves behind it."""
        if self.tokens[low].kind == "$":
            return low + 1
        if self.tokens[low][:2] == ("o", "-") and low + 1 < high and self.tokens[low + 1].kind == "$":
            self.tokens[low + 1] = self.tokens[low]
            return low + 1
        return low

    def based(self, low: int, high: int) -> Answer:
        k = next(k for k in range(low, high) if self.tokens[k].kind == "b")
        if k != high - 1:
            raise Unreadable("something after a base")
        return read_base(self.tokens[low:k], self.tokens[k].text)

    def after_words(self, low: int, high: int) -> Answer:
        """An answer that starts with words: a label (`Area: 5`), a hedge (`about 5`), or words altogether."""
        k = low
        while k < high and self.tokens[k].kind in ("x", ":"):
            k += 1
        label = self.tokens[k - 1].kind == ":" or self.tokens[k - 1].text.lower() in (
            "is", "about", "approximately", "exactly", "are", "answer", "be", "or",
        )  # fmt: skip
        if label and k < high:
            return self.scalar(k, high)
        return self.words()


def as_set(answer: Answer) -> RealSet:
    """An answer as a set of real numbers: intervals, points, unions; raises `Unreadable` for anything else."""
    if isinstance(answer, RealSet):
        return answer
    if isinstance(answer, Sequence) and len(answer.items) == 2 and answer.left in "([" and answer.right in ")]":
        low, high = answer.items
        if isinstance(low, Scalar) and isinstance(high, Scalar):
            return sets.interval(low.value, high.value, answer.left == "[", answer.right == "]")
    if isinstance(answer, Collection):
        if answer.braces:
            values = [x.value for x in answer.items if isinstance(x, Scalar)]
            if len(values) == len(answer.items):
                return sets.points(values)
        else:
            return _combine([as_set(x) for x in answer.items], "or")
    raise Unreadable("not a set of real numbers")


def _combine(parts: list[RealSet], joined: str) -> RealSet:
    """Inequalities in one sentence: all of them hold, or any; a comma or "and" between disjoint ones means any."""
    result = parts[0]
    if joined != "or":
        for p in parts[1:]:
            result = sets.intersection(result, p)
        if result.pieces:
            return result
        result = parts[0]
    for p in parts[1:]:
        result = sets.union(result, p)
    return result


def _scaled(factor: Value, rows: tuple[tuple[Answer, ...], ...]) -> Matrix:
    entries: list[tuple[Answer, ...]] = []
    for row in rows:
        if not all(isinstance(x, Scalar) for x in row):
            raise Unreadable("a factor before a matrix of other things than numbers")
        entries.append(tuple(Scalar(mul(factor, x.value)) for x in row if isinstance(x, Scalar)))
    return Matrix(tuple(entries))


def join_thousands(tokens: list[Token]) -> list[Token]:
    """1,234.5 as one number, except inside brackets, where a comma separates."""
    if not any(t.kind == "," for t in tokens):
        return tokens
    joined: list[Token] = []
    depth = 0
    last = 0  # digits of the group that a next one may follow
    for k, token in enumerate(tokens):
        kind, text, spaced = token
        if kind == "n" and last and not spaced and len(text.partition(".")[0]) == 3:
            joined[-2:] = [Token("n", joined[-2].text + text, joined[-2].spaced)]
            last = 3 if text.isdigit() else 0
            continue
        depth += (kind == "(") - (kind == ")")
        joined.append(token)
        starts = kind == "," and not spaced and not depth and k > 0 and tokens[k - 1].kind == "n" and len(joined) > 1
        if starts and last == 0:
            before = joined[-2].text
            last = len(before) if before.isdigit() and len(before) <= 3 and before[0] != "0" else 0
        elif not starts:
            last = 0
    return joined


def _match(tokens: list[Token]) -> dict[int, int]:
    """Position of every opening bracket to that of its partner. Round and square ones may pair up: [a, b)."""
    match: dict[int, int] = {}
    stack: list[tuple[int, str]] = []
    for k, (kind, _, _) in enumerate(tokens):
        if kind in ("(", "{", "begin"):
            stack.append((k, kind))
        elif kind in (")", "}", "end"):
            if not stack or stack[-1][1] != {")": "(", "}": "{", "end": "begin"}[kind]:
                raise Unreadable("brackets do not match")
            match[stack.pop()[0]] = k
    if stack:
        raise Unreadable("a bracket is not closed")
    return match


__all__ = ["Based", "Reader", "as_set", "read"]
