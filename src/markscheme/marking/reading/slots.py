"""The slot of an announced answer: where it begins after "the answer is", and which value in it is meant."""

from __future__ import annotations

from typing import Final

from markscheme.marking.reading import kinds
from markscheme.marking.reading.clauses import LIGHT, Clause
from markscheme.marking.reading.free_words import said_after
from markscheme.marking.reading.lexer import Lexed
from markscheme.marking.reading.meaning import is_named, meant_value
from markscheme.marking.reading.quantities import Value
from markscheme.marking.reading.values import Kind, is_choice, value_in

_PHRASE: Final = 10  # tokens between "answer" and "is": "the answer to the second part of the problem is"


def slot_after(lexed: Lexed, at: int, last: int) -> int | None:
    """Return where the value announced by a word begins: after "is", a colon or an equals sign, at most a phrase away."""
    tokens = lexed.tokens
    for place in range(at + 1, min(last, at + _PHRASE) + 1):
        here = tokens[place].kinds
        if here & (kinds.COLON | kinds.EQUALS | kinds.IS):
            while place < last and tokens[place + 1].kinds & (kinds.COLON | kinds.EMPHASIS | kinds.IS):
                place += 1
            return place + 1 if place < last else None
        tasked = here & (kinds.NUMBER | kinds.FORMULA) and tokens[place - 1].kinds & kinds.WITHIN
        if tasked and lexed.has(kinds.IS | kinds.COLON, place + 1, min(last, at + _PHRASE) - 1):
            continue  # "the answer to 2 + 2 is 4"
        if here & kinds.COMMA or (here & (kinds.NUMBER | kinds.FORMULA | kinds.BOX) and place > at + 2):
            return None
        if here & (kinds.BOX | kinds.NUMBER) or (here & (kinds.LETTER | kinds.FORMULA) and is_choice(lexed, place)):
            return place if tokens[at].kinds & kinds.ANSWER else None
    return None


def value_in_slot(lexed: Lexed, kind: Kind, clause: Clause, slot: int, plainly: bool = False) -> Value | None:
    """Return the value in a slot: the one near its start, or the one its sentence means."""
    tokens, last = lexed.tokens, clause.last
    if kind.name == "value":
        if not plainly:  # "the answer is that the coefficient of x is 15"
            verbs = (at for at in range(last - 1, slot, -1) if tokens[at].kinds & kinds.IS)
            verb = next((at for at in verbs if tokens[at - 1].kinds & kinds.WORD), None)
            slot = verb + 1 if verb and value_in(lexed, kind, verb + 1, last) is not None else slot
        slot = _after_label(lexed, slot, last)
    if kind.name == "text":
        return said_after(lexed, kind, clause.first, slot, last)
    value = value_in(lexed, kind, slot, last)
    if value is None:
        return value
    words = content_words(lexed, slot, value.first)
    option = value.first == slot + 1 and tokens[slot].kinds & kinds.OPTION
    if kind.name == "value" and words < 3 and is_named(lexed, value, slot) and not option:
        return None  # "on page 5"; but "option 2" is a choice by number
    if plainly or kind.name == "letter":
        return value if words <= (0 if plainly else 3) else None
    first = words <= 2 and not (kind.name == "value" and _leads_on(lexed, value, slot, last))
    return value if first else meant_value(lexed, kind, clause, slot, last)


def _leads_on(lexed: Lexed, value: Value, slot: int, last: int) -> bool:
    """True if a value only leads to another one: "one ticket costs $7", "in 3 weeks she earns $7", "3 red + 4 blue = 7"."""
    tokens = lexed.tokens
    spelled = tokens[value.first].kinds & kinds.NUMERAL and not tokens[value.first].kinds & kinds.NUMBER
    if spelled and value.last < last and lexed.has(kinds.NUMBER, value.last + 2, last):
        return True
    within = value.first > slot and tokens[value.first - 1].kinds & kinds.WITHIN
    verb = value.last < last and tokens[value.last + 1].kinds & kinds.IS
    if verb or (within and lexed.has(kinds.COLON, slot - 2, slot - 1)):
        return True
    return lexed.has(kinds.EQUALS | kinds.SO, value.last + 1, last)


def _after_label(lexed: Lexed, slot: int, last: int) -> int:
    """Return where the value of `(B) 12`, `B. 12` or `C (8.5)` begins, after its label."""
    tokens, at = lexed.tokens, slot
    while at < last and tokens[at].kinds & (kinds.EMPHASIS | kinds.OPEN):
        at += 1
    if not tokens[at].kinds & kinds.LETTER or at + 2 > last:
        return slot
    gap = tokens[at + 1].start - tokens[at].end
    if tokens[at + 2].kinds & kinds.COMMA:
        return slot
    return at + 2 if lexed.said(at + 1, at + 1) in ("(" if gap == 1 else () if gap else ").:]") else slot


def content_words(lexed: Lexed, first: int, end: int) -> int:
    """Count the content words in tokens `first` up to `end`."""
    return sum(1 for token in lexed.tokens[first:end] if token.kinds & kinds.WORD and not token.kinds & LIGHT)
