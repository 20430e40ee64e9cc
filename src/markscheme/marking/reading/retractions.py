"""Detect sentences that retract the previous answer: "This is wrong", "That cannot be right"."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from markscheme.marking.reading import kinds
from markscheme.marking.reading.clauses import Clause
from markscheme.marking.reading.lexer import Lexed, Token
from markscheme.marking.reading.quantities import Value

# Words that add nothing to the value before them.
LIGHT: Final = (
    kinds.FILLER | kinds.SO | kinds.LIKELY | kinds.THIS | kinds.OPTION | kinds.NOT | kinds.HEDGE | kinds.BOUND | kinds.OPERATE
    | kinds.APPROX | kinds.ANSWER | kinds.GOOD | kinds.BAD
)  # fmt: skip
_STEM: Final = 8  # letters shared by the forms of a long word


def beginnings(lexed: Lexed, first: int, last: int) -> set[str]:
    """Return the first letters of each word, which its forms share."""
    return {lexed.said(at, at).lower()[:_STEM] for at in range(first, last + 1)}


def takes_back(lexed: Lexed, clause: Clause, named: Collection[str] = ()) -> bool:
    """True if a clause without a value calls the previous answer wrong: "This answer is wrong", "That is not right".

    Words that start like one of `named` are the topic of the question, and judge nothing.
    """
    subject, denied = True, False
    contrary = lexed.tokens[clause.first].kinds & kinds.BUT
    for place, token in enumerate(lexed.tokens[clause.first : clause.last + 1]):
        here = token.kinds
        if not here & kinds.WORD or (contrary and not place and not here & kinds.RETRACT):
            continue
        if contrary and place and here & kinds.NOT and clause.first + place == clause.last:
            return subject  # "but it isn't"
        if here & (kinds.ASK | kinds.OTHERS):
            return False
        if here & kinds.RETRACT and _says_wrong(lexed, token):
            return True
        denied = denied or bool(here & kinds.NOT)
        if here & kinds.NO and token.end == lexed.tokens[clause.last].end:
            return subject  # "Wait, no."
        if here & (kinds.THIS | kinds.ANSWER | kinds.RETRACT):
            subject = True
        elif subject and (here & kinds.BAD or (denied and here & kinds.GOOD)):
            if lexed.text[token.start : token.end].lower()[:_STEM] not in named:
                return True
        elif not here & (kinds.IS | kinds.NOT | LIGHT):
            subject = False
    return False


def _says_wrong(lexed: Lexed, token: Token) -> bool:
    """True if a retraction phrase means "wrong" without further words: "this is wrong", not "wait"."""
    here, said = token.kinds, lexed.text[token.start : min(token.end, token.start + 40)].lower()
    parts = said.split()
    if len(parts) == 1 and not said.isascii():  # a script without spaces
        parts = [said[first:last] for first in range(len(said)) for last in range(first + 1, len(said) + 1)]
    for part in parts:
        here |= lexed.words.words.get(part, 0)
    return bool(here & kinds.BAD or (here & kinds.NOT and here & kinds.GOOD))


def is_unsaid(lexed: Lexed, clause: Clause, value: Value) -> bool:
    """True if a value is only something that cannot be found: "it is impossible to find f(0)"."""
    unknown = False
    for token in lexed.tokens[clause.first : value.first]:
        unknown = (unknown or bool(token.kinds & kinds.UNKNOWN)) and not (unknown and token.kinds & kinds.IS)
    return unknown
