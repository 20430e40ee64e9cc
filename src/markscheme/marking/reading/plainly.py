"""Recognize the commonest ways to state an answer without lexing a response: a typeset answer among plain words, and a
last line such as `Answer: 72`.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final

from markscheme.marking.reading import kinds
from markscheme.marking.reading.lexer import lex
from markscheme.marking.reading.words import english, language_of

MOODY: Final = kinds.NOT | kinds.BAD | kinds.HEDGE | kinds.BOUND | kinds.OPERATE | kinds.RETRACT
# Classes of words that matter before a typeset answer, and after one.
_BEFORE: Final = kinds.NOT | kinds.BAD | kinds.HEDGE | kinds.UNKNOWN | kinds.WOULD
_AFTER: Final = MOODY | kinds.ANSWER | kinds.GOOD | kinds.NO | kinds.NONE | kinds.UNKNOWN | kinds.RESCALE
_WORD: Final = re.compile(r"[a-z']+")
_LABELLED: Final = re.compile(r"(\D{3,60}?[: ])(?:(-?\d{1,9})|\(([A-J])\)|([B-J]))\.?")
_LEADS: Final = kinds.SO | kinds.THIS | kinds.FILLER | kinds.COMMA | kinds.EMPHASIS
_LINKS: Final = kinds.IS | kinds.COLON
_LITTLE: Final = 300
LINE: Final = 120  # characters of a last line that is read first: "ANSWER: 72"
_NEXT: Final = 40  # characters that have the word right before an answer


@lru_cache(maxsize=4096)  # the responses of a model lead to their boxes in the same words
def is_plain(lead: str) -> bool:
    """True if no word before an answer could change its meaning."""
    plain = lead.isascii() and _lacks(lead, _BEFORE) and _lacks(lead[-_NEXT:], kinds.OPERATE | kinds.BOUND)
    return plain and language_of(lead) == "english"


def says_more(text: str, start: int, end: int) -> bool:
    """True if the text after a typeset answer may state another one, or take it back."""
    rest = text[start : min(end, start + _LITTLE + 1)]
    if len(rest) > _LITTLE or not rest.isascii() or "?" in rest or "#" in rest:
        return True
    if _WORD.search(rest) is None:
        return False
    return language_of(text[max(0, start - _LITTLE) : start + len(rest)]) != "english" or not _lacks(rest, _AFTER)


def _lacks(text: str, classes: int) -> bool:
    """True if a text has no English word or phrase of some classes."""
    words = _WORD.findall(text.lower())
    single, phrases = _words_of(classes)
    if not single.isdisjoint(words):
        return False
    said = f" {' '.join(words)} "
    return not any(phrase in said for pair in pairwise(words) if pair in phrases for phrase in phrases[pair])


@cache
def _words_of(classes: int) -> tuple[frozenset[str], dict[tuple[str, ...], list[str]]]:
    """Return the English words of some classes, and the phrases without such a word by their last two words."""
    single = frozenset(word for word, said in english().words.items() if said & classes)
    phrases: dict[tuple[str, ...], list[str]] = {}
    for words, said in english().phrases.items():
        if said & classes and single.isdisjoint(words):
            phrases.setdefault(words[-2:], []).append(f" {' '.join(words)} ")
    return single, phrases


def labelled(text: str, start: int, end: int) -> tuple[str, int, int] | None:
    """Return the whole number or letter of a last line such as "ANSWER: 72", with its position."""
    line = text.rfind("\n", max(start, end - LINE), end) + 1
    found = _LABELLED.fullmatch(text, line, end) if line > start else None
    if found is None or not _announces(found[1]):
        return None
    number = found.lastindex or 0
    return found[number], *found.span(number)


@lru_cache(maxsize=4096)  # as above
def _announces(lead: str) -> bool:
    """True if a lead such as "So the final answer is: " announces an answer, and nothing else."""
    link = named = False
    for token in lex(lead, 0, len(lead)).tokens:
        here = token.kinds
        if here & kinds.ANSWER and not named and not here & (MOODY | kinds.IF):
            named = True
        elif named and here & _LINKS and not here & ~(_LINKS | _LEADS | kinds.WORD | kinds.CONNECT | kinds.LIKELY):
            link = True
        elif not here & _LEADS or here & ~(_LEADS | kinds.WORD | kinds.CONNECT) or link:
            return False
    return link
