"""Typed conditions such as `tokens > 500 and verdict != correct and not (level = 5 or latency >= 2)`.

Fields are the columns of a run, the names of its protocols, and the fields that its problems are grouped by. Parsing is
linear in the text; an error is one sentence with the position.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from markscheme.errors import UsageError
from markscheme.runs.columns import FINISH, VERDICTS, Mask
from markscheme.runs.snapshot import Snapshot

# Field → column of the snapshot.
NUMBERS = {
    "tokens": "tokens",
    "prompt_tokens": "prompt_tokens",
    "reasoning_tokens": "reasoning_tokens",
    "bytes": "size",
    "latency": "latency",
    "attempts": "attempts",
}
DEEPEST = 30

_TOKEN = re.compile(
    r"""\s*(?:(?P<word>[\w@+.:/-]+)|(?P<text>"[^"]*"|'[^']*')|(?P<sign><=|>=|!=|[=<>~()])|(?P<odd>\S))"""
)
_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


def matching(condition: str, snapshot: Snapshot, protocol: str) -> Mask:
    """Return the rows for which a condition holds."""
    return _Parser(condition, snapshot, protocol).read()


def holds(snapshot: Snapshot, protocol: str, name: str, sign: str, value: str) -> Mask:
    """Return the rows for which a comparison holds; `verdict` is the one under `protocol`."""
    if name in NUMBERS or name == "sample":
        return _number_holds(snapshot, name, sign, value)
    codes, labels = _labelled(snapshot, protocol, name)
    if sign == "~":
        right = [label is not None and value.lower() in label.lower() for label in labels]
    elif sign in ("=", "!="):
        right = [(label is not None and label.lower() == value.lower()) == (sign == "=") for label in labels]
    else:
        right = [_ordered(label, sign, value) for label in labels]
    return np.asarray(np.array([*right, False], bool)[codes])


def _number_holds(snapshot: Snapshot, name: str, sign: str, value: str) -> Mask:
    try:
        limit = float(value)
    except ValueError:
        raise UsageError(f"{name} is a number, but {value!r} is not") from None
    if sign == "~":
        raise UsageError(f"{name} is a number, and `~` only searches text")
    column = snapshot.sample if name == "sample" else snapshot.rows[NUMBERS[name]]
    known = column >= 0  # unknown values are -1 or NaN and match nothing
    return np.asarray(_SIGNS[sign](column, limit) & known)


def _labelled(snapshot: Snapshot, protocol: str, name: str) -> tuple[Any, list[str | None]]:
    """Return the index of each row's label, and the labels."""
    if name == "verdict" or name in snapshot.protocols:
        codes = snapshot.verdict(protocol if name == "verdict" else name)
        return np.where(codes < 0, len(VERDICTS), codes), [*map(str, VERDICTS), "unmarked"]
    if name == "finish":
        codes = snapshot.rows["finish"].astype(int)
        return np.where(codes < 0, len(FINISH), codes), [*FINISH, None]
    if name == "error":
        return snapshot.rows["kind"].astype(int), [*snapshot.kinds]
    if name == "id":
        return snapshot.problem, [*snapshot.ids]
    if name in snapshot.groups:
        return snapshot.problem, [*snapshot.groups[name]]
    raise UsageError(f"{name!r} is not a field; the fields are {', '.join(fields(snapshot))}")


def _ordered(label: str | None, sign: str, value: str) -> bool:
    """Compare as numbers if both are, else as text."""
    if label is None:
        return False
    try:
        return bool(_SIGNS[sign](float(label), float(value)))
    except ValueError:
        return bool(_SIGNS[sign](label.lower(), value.lower()))


def fields(snapshot: Snapshot) -> list[str]:
    """Return the fields that a condition can use in this run."""
    return ["verdict", "id", "sample", *NUMBERS, "finish", "error", "disagree", *snapshot.protocols, *snapshot.groups]


class _Parser:
    def __init__(self, condition: str, snapshot: Snapshot, protocol: str) -> None:
        self._snapshot, self._protocol, self._depth = snapshot, protocol, 0
        self._tokens = [
            _Token(match.lastgroup or "", match[match.lastgroup or 0], match.start(match.lastgroup or 0))
            for match in _TOKEN.finditer(condition)
        ]
        self._end = len(condition)
        self._at = 0

    def read(self) -> Mask:
        mask = self._any()
        if self._at < len(self._tokens):
            raise self._wrong("`and`, `or` or the end")
        return mask

    def _any(self) -> Mask:
        return self._joined("or", operator.or_, lambda: self._joined("and", operator.and_, self._one))

    def _joined(self, word: str, join: Callable[[Mask, Mask], Mask], part: Callable[[], Mask]) -> Mask:
        mask = part()
        while self._take(word):
            mask = join(mask, part())
        return mask

    def _one(self) -> Mask:
        self._depth += 1
        if self._depth > DEEPEST:
            raise UsageError(f"parentheses and `not` are nested more than {DEEPEST} levels deep")
        if self._take("not"):
            mask = ~self._one()
        elif self._take("("):
            mask = self._any()
            if not self._take(")"):
                raise self._wrong("`)`")
        else:
            mask = self._comparison()
        self._depth -= 1
        return mask

    def _comparison(self) -> Mask:
        name = self._next("a field", lambda token: token.kind in ("word", "text"))
        if name == "disagree":
            return self._snapshot.disagree
        sign = self._next("=, !=, <, <=, >, >= or ~", lambda token: token.text in (*_SIGNS, "~"))
        return holds(self._snapshot, self._protocol, name, sign, self._next("a value", lambda _: True))

    def _take(self, word: str) -> bool:
        here = self._at < len(self._tokens) and self._tokens[self._at].text.lower() == word
        self._at += here
        return here

    def _next(self, expected: str, fits: Callable[[_Token], bool]) -> str:
        if self._at >= len(self._tokens) or not fits(token := self._tokens[self._at]):
            raise self._wrong(expected)
        self._at += 1
        return token.text.strip("\"'")

    def _wrong(self, expected: str) -> UsageError:
        if self._at < len(self._tokens):
            token = self._tokens[self._at]
            return UsageError(f"expected {expected} at {token.text!r}, character {token.start + 1} of the filter")
        return UsageError(f"expected {expected} at the end of the filter")
