"""Find the value that a clause means if it names several: "needs 23 pounds to make 4 small beds" means 23.

Each number is weighted by the words right before and after it; the likeliest asserted one wins.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from markscheme.marking.reading import kinds
from markscheme.marking.reading.clauses import ASSERTED, Clause, mood_of
from markscheme.marking.reading.free_words import said_in
from markscheme.marking.reading.lexer import Lexed
from markscheme.marking.reading.quantities import Value
from markscheme.marking.reading.values import Kind, is_refused, value_in

_RESULT: Final = re.compile(r"\d[^=\n]{0,60}=\s?(?:<<[^<>\n]*>>)?\\?[$€£]?(\d[\d,]*(?:\.\d+)?)(?!\s*[-+*/×÷^]\s*[\d(])")
_DIGITS: Final = re.compile(r"\d[\d,]*(?:\.\d+)?")
_HALF: Final = 0.5
_LISTS: Final = kinds.WORD | kinds.COMMA | kinds.EMPHASIS
_RESULTS: Final = 4  # how many calculations back the source of a number is searched


def meant_value(lexed: Lexed, kind: Kind, clause: Clause, first: int, last: int) -> Value | None:
    """Return the likeliest value asserted by a clause with several."""
    if kind.name == "text":
        return said_in(lexed, kind, first, last)
    found: list[Value] = []
    at = first
    while at <= last and (value := value_in(lexed, kind, at, last)) is not None:
        found.append(value)
        at = value.last + 1
    if not found:
        return None
    if found[0].first - first < 2 and (kind.name == "word" or (kind.name == "letter" and is_label(lexed, found[0]))):
        return found[0]
    if kind.words and lexed.tokens[found[0].first].kinds & kinds.NOT:
        return found[0]  # "neither even nor odd"
    if len(found) > 1 and kind.name == "letter":
        found = [each for each in found if not is_refused(lexed, each.last, last)] or found
        if len(found) > 1 and lexed.has(kinds.NOT, found[-1].first - 2, found[-1].first - 1):  # "C, not B"
            found.pop()
    if len(found) > 1 and kind.name == "value":
        found = [each for each in found if mood_of(lexed, clause, each.first, each.last) == ASSERTED] or found
        results = _worked_out(lexed, clause)
        found.sort(key=lambda each: _weight(lexed, each, first, last, results))
    return found[-1]


def _worked_out(lexed: Lexed, clause: Clause) -> list[str]:
    """Return the results of the last calculations up to a clause, the latest first."""
    end = lexed.tokens[clause.last].end
    found = [_plain(result[1]) for result in _RESULT.finditer(lexed.text, max(lexed.tokens[0].start, end - 1_000), end)]
    return found[: -_RESULTS - 1 : -1]


def _plain(digits: str) -> str:
    digits = digits.replace(",", "")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _weight(lexed: Lexed, value: Value, first: int, last: int, results: list[str]) -> int:
    """Return how likely a number is to be the subject of its clause."""
    tokens, weight, place = lexed.tokens, 0, value.first - 1
    passed = kinds.EMPHASIS | kinds.OPEN | kinds.FILLER
    while place >= first and tokens[place].kinds & passed and not tokens[place].kinds & kinds.SO:
        place -= 1
    near = tokens[place].kinds if place >= first else 0
    if near & kinds.SO and place > first and not tokens[place - 1].kinds & kinds.WITHIN:
        weight += 5
    elif near & (kinds.EQUALS | kinds.IS):
        weight += -2 if place > first and tokens[place - 1].kinds & kinds.WITHIN else 4  # "to make 4 beds"
    elif near & kinds.COLON:
        weight += -2 if lexed.has(kinds.NUMBER, first, place - 1) else 3
    else:
        weight -= _circumstance(lexed, value.first, first)
    said = _DIGITS.search(value.content)
    if said is not None and _plain(said[0]) in results:
        weight += 3 if results[0] == _plain(said[0]) else 1
    if tokens[value.first].kinds & kinds.NUMERAL:
        worth = lexed.words.values.get(value.content.lower(), 0)
        weight -= 5 if 0 < worth < _HALF else 1  # the third throw
    if value.first > first and tokens[value.first - 1].kinds & kinds.EMPHASIS:
        weight += 3
    after = tokens[value.last + 1].kinds if value.last < last else 0
    if after & kinds.IS and value.first - first < 3:
        weight -= 4  # the subject: "So f(2) is 18"
    if lexed.has(kinds.EQUALS, value.last + 1, last):
        weight -= 5 if after & kinds.EQUALS else 3
    before = [token.kinds for token in tokens[first : value.first]]
    if sum(bool(each & kinds.OPEN) - bool(each & kinds.CLOSE) for each in before) > 0:
        weight -= 4  # in brackets
    if near & kinds.LABEL or (near and lexed.said(place, place) == "#"):
        weight -= 6  # page 34, team #12
    return weight


def _circumstance(lexed: Lexed, at: int, first: int) -> int:
    """Return how strongly a number belongs to a phrase such as "for 3" or "after giving away 40", directly or through a
    list.
    """
    for place in range(at - 1, max(first, at - 8) - 1, -1):
        here = lexed.tokens[place].kinds
        if here & kinds.IS:  # "after giving away 40"
            return 2 if place > first and lexed.tokens[place - 1].kinds & kinds.WITHIN else 0
        if here & (kinds.WITHIN | kinds.STEP) and not here & kinds.FILLER:
            return 3 if place == at - 1 else 2
        if here & (kinds.EQUALS | kinds.COLON | kinds.COMMA):
            return 0
    return 0


def is_named(lexed: Lexed, value: Value, first: int) -> bool:
    """True if a number or letter only names something: page 34, step B, Theorem (b); but option B is a choice."""
    at = value.first - 1
    while at > first and lexed.tokens[at].kinds & kinds.OPEN:
        at -= 1
    before = lexed.tokens[at].kinds if at >= first else 0
    lettered = lexed.tokens[value.first].kinds & kinds.LETTER
    return bool(before & kinds.LABEL) and not (lettered and before & (kinds.OPTION | kinds.ANSWER))


def is_label(lexed: Lexed, value: Value) -> bool:
    """True for a choice with the mark of a list of options: `B) 12`."""
    end = lexed.tokens[value.last].end
    return lexed.text[end : end + 1] in (")", ".", ":", "]")


def says_two(lexed: Lexed) -> bool:
    """True if a text gives two values for two things: "p is 3 and q is 35"."""
    said = {
        lexed.said(at + 1, at + 1)
        for at, token in enumerate(lexed.tokens[:-1])
        if (token.kinds & kinds.EQUALS or (token.kinds & kinds.IS))
        and lexed.tokens[at + 1].kinds & kinds.NUMBER
        and at
        and lexed.tokens[at - 1].kinds & (kinds.WORD | kinds.LETTER)
    }
    return len(said) > 1


def counts_another(lexed: Lexed, answer: str) -> bool:
    """True if a text counts something else beside the answer: "5 red and 6 blue balls"."""
    numbers = [at for at, token in enumerate(lexed.tokens) if token.kinds & kinds.NUMBER]
    lists = any(token.kinds & kinds.AND for token in lexed.tokens)  # "11 balls, 5 red and 6 blue"
    for one, two in pairwise(numbers):
        between, following = lexed.tokens[one + 1 : two], lexed.tokens[two + 1 : two + 2]
        named = between and between[0].kinds & kinds.WORD and all(token.kinds & _LISTS for token in between)
        joined = lexed.has(kinds.AND, one + 1, two - 1) or (not lists and lexed.tokens[two - 1].kinds & kinds.COMMA)
        of_these = following and following[0].kinds & kinds.WITHIN  # "5 apples, 3 of them red"
        said = lexed.said(one, one), lexed.said(two, two)
        if named and joined and not of_these and said[0] != said[1] and answer.split(" ")[0] in said:
            return True
    return False
