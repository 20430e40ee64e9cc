"""Reads an answer: from text to one of the kinds in `answers`, or `Unreadable`.

The outside first (lists, relations, unions, brackets, matrices), then the expressions inside; brackets that only
group cost no recursion.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import Final

from markscheme.marking.equality.algebra import real_sets as sets
from markscheme.marking.equality.algebra.arithmetic import mul
from markscheme.marking.equality.algebra.exact import TooBig, Undefined, Unreadable, Value
from markscheme.marking.equality.algebra.programs import run
from markscheme.marking.equality.algebra.real_sets import RealSet
from markscheme.marking.equality.kinds import (
    Choice,
    Collection,
    Matrix,
    ParsedAnswer,
    Relation,
    Scalar,
    Sequence,
    as_set,
    combine,
)
from markscheme.marking.equality.read.arguments import tokenise
from markscheme.marking.equality.read.cleaning import clean
from markscheme.marking.equality.read.expressions import parse, read_number
from markscheme.marking.equality.read.phrases import read_phrase
from markscheme.marking.equality.read.relations import RelationReader
from markscheme.marking.equality.read.token_ranges import join_thousands, letters_for_words
from markscheme.marking.equality.read.vocabulary import CONNECTIVES, MATRICES
from markscheme.marking.equality.read.wording import in_words, undressed, words_of

MAX_LENGTH: Final = 50_000  # characters of an answer
MAX_CONTENT: Final = (
    12_500  # of them other than brackets: some 40 ms of reading; no gold of eleven benchmarks has 1,000
)
MAX_TOKENS: Final = 5_100  # other than brackets
MAX_DEPTH: Final = 12  # of lists in lists; brackets that only group do not count
MAX_ITEMS: Final = 100  # pairing items off is quadratic
_CUTTING: Final = frozenset({",", ";", "x"})
_SETS: Final = frozenset({"u", "set"})
_EXCEPTION: Final = re.compile(
    r"(?:[a-z]\s*(?:is|can be)\s+)?(?:all|any|every)?\s*real\s+(?:numbers?|values?)(?:\s+of\s+[a-z]|\s+[a-z])?\s+"
    r"(?:except|other than|but|besides|excluding)\s+(?:for\s+)?(?:[a-z]\s*=\s*)?([^a-zA-Z]{1,60})"
)
_LETTERED: Final = re.compile(
    r"(?:\\(?:text|textbf|mathrm|mathbf|textrm)\s*\{\s*)?\(?[A-Z]\s*[).:]{1,2}\s*(?:\}|\\[ ,;:]|~|\\q?quad|\s)*([^\s}].*)",
    re.DOTALL,
)
_IN_TEXT: Final = re.compile(r"\\text\s?\{([^{}\\]*[0-9/][^{}\\]*)\}")
_PROSE: Final = re.compile(r"[\w\s.,;:!?'’\"$%-]*")
_OUTWARD: Final = re.compile(r"^([\[\]])(.*)([\[\]])$", re.DOTALL)


def read(text: str) -> ParsedAnswer:
    """The answer that a text states."""
    if _is_too_long(text):
        raise Unreadable("too long")
    cleaned = clean(text)
    if not cleaned:
        raise Unreadable("nothing there")
    if _is_too_long(cleaned):
        raise Unreadable("too long")  # the LaTeX of some characters is
    phrase = read_phrase(cleaned)
    if phrase is not None:
        return _with_value(phrase, cleaned) if isinstance(phrase, Choice) and phrase.rest else phrase
    if (cleaned[0] in "[]" and cleaned[-1] in "[]" and cleaned.count("[") != cleaned.count("]")) or cleaned[0] == "]":
        # ]a, b[ is the French way to write (a, b).
        cleaned = _OUTWARD.sub(lambda m: ("[" if m[1] == "[" else "(") + m[2] + ("]" if m[3] == "]" else ")"), cleaned)
    if "&" in cleaned and "matrix" not in cleaned and "array" not in cleaned and "cases" not in cleaned:
        cleaned = cleaned.replace("\\&", " and ").replace("&", "")  # where lines are aligned
    if m := _IN_TEXT.fullmatch(cleaned):
        cleaned = m[1]
    exception = _EXCEPTION.fullmatch(undressed(cleaned)) if len(cleaned) < 300 else None
    if exception is not None:
        return sets.difference(sets.REALS, as_set(read("\\{" + exception[1] + "\\}")))
    tokens = tokenise(cleaned)
    if len(tokens) > MAX_TOKENS and sum(t.kind not in "(){}" for t in tokens) > MAX_TOKENS:
        raise Unreadable("too long")
    try:
        return Reader(join_thousands(tokens)).whole()
    except Unreadable:
        letters = letters_for_words(tokens)
        if letters != tokens:
            return Reader(letters).whole()
        if len(cleaned) < 300 and _PROSE.fullmatch(cleaned) and any(t.kind == "x" for t in tokens):
            return in_words(words_of(cleaned))
        raise


def _is_too_long(text: str) -> bool:
    """Whether reading would take more than some 40 ms; brackets that only group are cheap."""
    return len(text) > MAX_CONTENT and (
        len(text) > MAX_LENGTH or len(text) - sum(map(text.count, "(){}[]")) > MAX_CONTENT
    )


def _with_value(choice: Choice, text: str) -> Choice:
    r"""The choice with the value behind its letter, `\textbf{(A) }\frac12`; without one where that cannot be read."""
    m = _LETTERED.fullmatch(text)
    try:
        value = read(m[1]) if m else None
    except (Unreadable, Undefined, TooBig):
        return choice
    return choice if value is None or isinstance(value, Choice) else replace(choice, value=value)


class Reader(RelationReader):
    """Reads a range of any kind."""

    def whole(self) -> ParsedAnswer:
        return self.answer(self.label(), len(self.tokens), 0)

    def label(self) -> int:
        """Where the answer starts after a label in words: `Area:`, `The answer is`."""
        if len(self.tokens) > 2 and self.tokens[0].kind == "v" and self.tokens[1][:2] == ("x", "is"):
            return 2  # x is 5
        words: list[str] = []
        for k, (kind, text, _) in enumerate(self.tokens[:10]):
            if kind == ":" and words:
                return k + 1
            follows = words[-1:] in (["is"], ["are"]) and (kind != "x" or words[-2:-1] == ["answer"])
            if kind != "x" or follows:
                return k if follows else 0
            words.append(text.lower())
        return 0

    def answer(self, low: int, high: int, depth: int) -> ParsedAnswer:
        """The answer of a range."""
        if depth > MAX_DEPTH:
            raise Unreadable("lists nested too deeply")
        low, high = self.trim(low, high)
        if low >= high:
            raise Unreadable("nothing there")
        if high - low == 1 and self.tokens[low].kind == "n":
            return Scalar(read_number(self.tokens[low].text))
        kinds = {self.tokens[k].kind for k in self.level(low, high)}
        if not kinds.isdisjoint(_CUTTING) and (cuts := self.separators(low, high)):
            return self.collection(low, high, cuts, depth)
        if ":" in kinds and (said := self.ratio(low, high, depth)) is not None:
            return said
        if "r" in kinds and not ("u" in kinds and self.joins_conditions(low, high)):
            return self.relation(low, high, depth)
        if not kinds.isdisjoint(_SETS) or ("(" in kinds and self.has_union(low, high)):
            return self.set_expression(low, high, depth)
        if "begin" in kinds:
            return self.environment(low, high, depth)
        if self.tokens[low].kind in "({" and self.match.get(low) == high - 1:
            return self.bracketed(low, high, depth)
        if (start := self.scaled_matrix(low, high)) is not None:
            return _scaled(self.factor(low, start), self.answer(start, high, depth + 1))
        if self.is_named_point(low, high):
            return self.bracketed(low + 1, high, depth)
        if [t.text for t in self.tokens[high - 4 : high]] == ["^", "{", "T", "}"] and self.tokens[low].kind == "(":
            return self.transposed(self.answer(low, high - 4, depth + 1))
        return self.scalar(low, high)

    def scaled_matrix(self, low: int, high: int) -> int | None:
        """Where the brackets of a matrix start that stands behind a factor."""
        if self.tokens[high - 1].kind != ")" or self.tokens[high - 2].kind != "end":
            return None
        start = next((k for k in self.level(low, high) if self.match.get(k) == high - 1), low)
        inside = start > low and self.tokens[start].kind == "(" and self.tokens[start + 1].kind == "begin"
        return start if inside and self.match[start + 1] == high - 2 else None

    def is_named_point(self, low: int, high: int) -> bool:
        """P(2, 4)."""
        if not (
            self.tokens[low].kind == "v" and self.tokens[low].text.isupper() and self.match.get(low + 1) == high - 1
        ):
            return False
        return self.tokens[low + 1][:2] == ("(", "(") and any(
            self.tokens[k].kind == "," for k in self.level(low + 2, high - 1)
        )

    def transposed(self, answer: ParsedAnswer) -> ParsedAnswer:
        if isinstance(answer, Matrix):
            return Matrix(tuple(zip(*answer.rows, strict=True)))
        if isinstance(answer, Sequence):
            return Matrix(tuple((x,) for x in answer.items))
        raise Unreadable("a transpose of something else")

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

    def items(self, low: int, high: int, cuts: list[tuple[int, str]], depth: int) -> list[ParsedAnswer]:
        """What stands between the cuts; nothing at all between two of them is passed over."""
        if len(cuts) > MAX_ITEMS:
            raise Unreadable("too many items")
        bounds = itertools.pairwise([low - 1, *(k for k, _ in cuts), high])
        ranges = [self.trim(a + 1, b) for a, b in bounds]
        return [self.answer(a, b, depth + 1) for a, b in ranges if a < b]

    def collection(self, low: int, high: int, cuts: list[tuple[int, str]], depth: int) -> ParsedAnswer:
        items = self.items(low, high, cuts, depth)
        words = [w for _, w in cuts if w in ("and", "or")]
        joined = words[0] if words else ","
        if len(items) == 1:
            return items[0]
        real = [x for x in items if isinstance(x, RealSet)]
        if items and len(real) == len(items):
            return combine(real, joined)
        flat: list[ParsedAnswer] = []
        for x in items:
            # x = -2 or x = 1 ± √5
            named = x.right if isinstance(x, Relation) and x.left_name and isinstance(x.right, Collection) else x
            flat.extend(named.items if isinstance(named, Collection) and not named.braces else [named])
        return Collection(_grouped(flat), False, joined)

    def bracketed(self, low: int, high: int, depth: int) -> ParsedAnswer:
        left, right = self.tokens[low].text, self.tokens[high - 1].text
        if left in "⌊⌈|":
            return self.scalar(low, high)
        if left == "{":
            return self.braces(low + 1, high - 1, depth)
        items = self.items(low + 1, high - 1, self.separators(low + 1, high - 1), depth)
        if not items:
            raise Unreadable("brackets with nothing in them")
        if len(items) == 1 and left + right in ("()", "[]"):
            return items[0]
        rows = [x.items for x in items if isinstance(x, Sequence) and x.left == "["]
        if left == "[" and len(rows) == len(items) and len({len(r) for r in rows}) == 1:
            return Matrix(tuple(rows))
        return Sequence(tuple(items), left, right)

    def braces(self, low: int, high: int, depth: int) -> ParsedAnswer:
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

    def environment(self, low: int, high: int, depth: int) -> ParsedAnswer:
        begin = next(k for k in self.level(low, high) if self.tokens[k].kind == "begin")
        name = self.tokens[begin].text.rstrip("*")
        end = self.match.get(begin, -1)
        if [t.text for t in self.tokens[end + 1 : high]] == ["^", "{", "T", "}"]:
            return self.transposed(self.environment(low, high - 4, depth))
        if end != high - 1:
            raise Unreadable("something after a matrix")
        start = begin + 1
        if name == "array" and self.tokens[start].kind == "{":
            start = self.match[start] + 1
        rows = self.rows(start, end)
        if name in MATRICES:
            entries = tuple(tuple(self.answer(a, b, depth + 1) for a, b in row) for row in rows)
            if len({len(r) for r in entries}) != 1:
                raise Unreadable("rows of different lengths")
            if len(entries) == len(entries[0]) == 1 and low == begin:
                return entries[0][0]
            return Matrix(entries) if low == begin else _scaled(self.factor(low, begin), Matrix(entries))
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
        return run(parse(self.tokens, self.match, low, high))

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


def _grouped(items: list[ParsedAnswer]) -> tuple[ParsedAnswer, ...]:
    """p = 5, q = 2; p = 7, q = 2 is a list of two pairs."""
    names = [x.left_name if isinstance(x, Relation) else "" for x in items]
    width = names.index(names[0], 1) if names[0] in names[1:] else 0
    if width < 2 or "" in names or len(names) % width or names != names[:width] * (len(names) // width):
        return tuple(items)
    return tuple(Collection(tuple(items[k : k + width]), False) for k in range(0, len(items), width))


def _scaled(factor: Value, matrix: ParsedAnswer) -> Matrix:
    rows = matrix.rows if isinstance(matrix, Matrix) else ((matrix,),)
    if not all(isinstance(x, Scalar) for row in rows for x in row):
        raise Unreadable("a factor before a matrix of other things than numbers")
    return Matrix(tuple(tuple(Scalar(mul(factor, x.value)) for x in row if isinstance(x, Scalar)) for row in rows))
