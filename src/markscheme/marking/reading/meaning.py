"""Which value a clause means, where it names several: "needs 23 pounds to make 4 small beds" means 23.

Each number gets a weight from what is right before and after it, and the likeliest that the clause asserts wins.
"""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.reading.clauses import ASSERTED, Clause, mood_of
from markscheme.marking.reading.lexer import CLOSE, COLON, COMMA, EMPHASIS, EQUALS, NUMBER, OPEN, WORD, Lexed
from markscheme.marking.reading.quantities import Value
from markscheme.marking.reading.values import Kind, is_refused, value_in
from markscheme.marking.reading.words import BIT

_IS, _SO, _STEP, _WITHIN, _FILLER, _LABEL = (BIT[name] for name in ("IS", "SO", "STEP", "WITHIN", "FILLER", "LABEL"))
_RESULT: Final = re.compile(r"\d[^=\n]{0,60}=\s?(?:<<[^<>\n]*>>)?\\?[$€£]?(\d[\d,]*(?:\.\d+)?)(?!\s*[-+*/×÷^]\s*[\d(])")
_DIGITS: Final = re.compile(r"\d[\d,]*(?:\.\d+)?")
_RESULTS: Final = 4  # how many calculations back a number may have been worked out


def meant_value(lexed: Lexed, kind: Kind, clause: Clause, first: int, last: int) -> Value | None:
    """The value that a clause means, of several: the likeliest that it asserts."""
    if kind.name == "text":
        return _predicate(lexed, kind, first, last)
    found: list[Value] = []
    at = first
    while at <= last and (value := value_in(lexed, kind, at, last)) is not None:
        found.append(value)
        at = value.last + 1
    if kind.name == "word" and found and found[0].first - first < 2:
        return found[0]
    if kind.name == "letter" and found and found[0].first - first < 2 and is_label(lexed, found[0]):
        return found[0]
    if len(found) > 1 and kind.name == "letter":
        found = [each for each in found if not is_refused(lexed, each.last, last)] or found
    if len(found) > 1 and kind.name == "value":
        asserted = [each for each in found if mood_of(lexed, clause, each.first, each.last) == ASSERTED]
        found = asserted or found
        results = _worked_out(lexed, clause)
        weights = [_weight(lexed, each, first, last, results) for each in found]
        return [each for each, weight in zip(found, weights, strict=True) if weight == max(weights)][-1]
    return found[-1] if found else None


def _predicate(lexed: Lexed, kind: Kind, first: int, last: int) -> Value | None:
    """Of a sentence the words after its last "is"; the words before it are what it says them of."""
    for at in range(last - 1, first - 1, -1):
        if lexed.tokens[at].kind == WORD and lexed.tokens[at].classes & _IS:
            value = value_in(lexed, kind, at + 1, last)
            subject = value_in(lexed, kind, first, at - 1) if value is not None and at > first else None
            return value if value is None or subject is None else value._replace(parts=(subject.content,))
    return value_in(lexed, kind, first, last)


def _worked_out(lexed: Lexed, clause: Clause) -> list[str]:
    """The results of the last calculations up to a clause, the latest first."""
    end = lexed.tokens[clause.last].end
    found = [_plain(result[1]) for result in _RESULT.finditer(lexed.text, max(lexed.tokens[0].start, end - 1_000), end)]
    return found[: -_RESULTS - 1 : -1]


def _plain(digits: str) -> str:
    digits = digits.replace(",", "")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _weight(lexed: Lexed, value: Value, first: int, last: int, results: list[str]) -> int:
    """How likely a number in a clause is what the clause is about."""
    tokens = lexed.tokens
    before = tokens[value.first - 1] if value.first > first else None
    after = tokens[value.last + 1] if value.last < last else None
    weight = 0
    place = value.first - 1
    while place >= first and (
        tokens[place].kind in (EMPHASIS, OPEN)
        or (tokens[place].kind == WORD and tokens[place].classes & _FILLER and not tokens[place].classes & _SO)
    ):
        place -= 1
    near = tokens[place] if place >= first else None
    if near is not None:
        if near.kind == WORD and near.classes & _SO and place > first:
            weight += 5
        elif near.kind == WORD and near.classes & _IS and place > first and tokens[place - 1].classes & _WITHIN:
            weight -= 2  # "to make 4 beds"
        elif near.kind == EQUALS or (near.kind == WORD and near.classes & _IS):
            weight += 4
        elif near.kind == COLON:
            weight += -2 if any(token.kind == NUMBER for token in tokens[first:place]) else 3
    if weight == 0:
        weight -= _circumstance(lexed, value.first, first)
    said = _DIGITS.search(value.content)
    if said is not None and _plain(said[0]) in results:
        weight += 3 if results.index(_plain(said[0])) == 0 else 1
    if tokens[value.first].kind == WORD and tokens[value.first].classes & BIT["NUMBER"]:
        weight -= 1
    if before is not None and before.kind == EMPHASIS:
        weight += 3
    if after is not None and after.kind == WORD and after.classes & _IS and value.first - first < 3:
        weight -= 4  # the subject: "So f(2) is 18"
    if after is not None and after.kind == EQUALS:
        weight -= 5
    elif any(token.kind == EQUALS for token in tokens[value.last + 1 : last + 1]):
        weight -= 3
    if sum((token.kind == OPEN) - (token.kind == CLOSE) for token in tokens[first : value.first]) > 0:
        weight -= 4  # in brackets
    if near is not None and ((near.kind == WORD and near.classes & _LABEL) or lexed.said(place, place) == "#"):
        weight -= 6  # page 34, team #12
    return weight


def _circumstance(lexed: Lexed, at: int, first: int) -> int:
    """How much a number belongs to a phrase such as "for 3" or "after giving away 40", or is listed with one that does."""
    for place in range(at - 1, max(first, at - 8) - 1, -1):
        token = lexed.tokens[place]
        if token.kind == WORD and token.classes & (_WITHIN | _STEP) and not token.classes & (_IS | _FILLER):
            return 3 if place == at - 1 else 2
        if token.kind in (EQUALS, COLON, COMMA):
            return 0
        if token.kind == WORD and token.classes & _IS:
            before = lexed.tokens[place - 1] if place > first else None  # "after giving away 40"
            return 2 if before is not None and before.kind == WORD and before.classes & _WITHIN else 0
    return 0


def is_named(lexed: Lexed, value: Value, first: int) -> bool:
    """Whether a number only names something: page 34, step 2."""
    before = lexed.tokens[value.first - 1] if value.first > first else None
    return before is not None and before.kind == WORD and bool(before.classes & _LABEL)


def is_label(lexed: Lexed, value: Value) -> bool:
    """Whether a choice is at the head of its line as in a list of options: `B) 12`."""
    end = lexed.tokens[value.last].end
    return lexed.text[end : end + 1] in (")", ".", ":", "]")
