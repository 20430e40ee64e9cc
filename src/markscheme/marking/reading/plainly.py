"""Recognize the two commonest ways to state an answer without lexing: a box after plain words, and `Answer: 72`."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final

from markscheme.marking.reading import kinds
from markscheme.marking.reading.words import english

MOODY: Final = kinds.NOT | kinds.BAD | kinds.HEDGE | kinds.BOUND | kinds.OPERATE | kinds.RETRACT
_WORD: Final = re.compile(r"[a-z']+")
_LABELLED: Final = re.compile(r"([A-Za-z]{1,9}(?: [A-Za-z]{1,9}){0,2}): ?(\d{1,9}|[B-J])")


@lru_cache(maxsize=4096)  # the responses of a model lead to their boxes in the same words
def is_plain(lead: str) -> bool:
    """True if no word before an answer could change its meaning."""
    words = _WORD.findall(lead.lower())
    single, phrases = _moody_words()
    if not lead.isascii() or not single.isdisjoint(words):
        return False
    said = f" {' '.join(words)} "
    return not any(phrase in said for pair in pairwise(words) if pair in phrases for phrase in phrases[pair])


@cache
def _moody_words() -> tuple[frozenset[str], dict[tuple[str, ...], list[str]]]:
    """Return the English words that express any mood but assertion, and such phrases by their last two words."""
    bits = MOODY | kinds.IF
    single = frozenset(word for word, classes in english().words.items() if classes & bits)
    phrases: dict[tuple[str, ...], list[str]] = {}
    for words, classes in english().phrases.items():
        if classes & bits and single.isdisjoint(words):
            phrases.setdefault(words[-2:], []).append(f" {' '.join(words)} ")
    return single, phrases


def labelled(text: str, line: int, end: int) -> tuple[str, int, int] | None:
    """Return the whole number or letter of a line such as "ANSWER: 72", with its position."""
    found = _LABELLED.fullmatch(text, line, end)
    return (found[2], *found.span(2)) if found is not None and _announces(found[1]) else None


@lru_cache(maxsize=1024)
def _announces(label: str) -> bool:
    """True if a label means "answer" and nothing else."""
    words = tuple(label.lower().split())
    classes = english().words.get(words[0], 0) if len(words) == 1 else english().phrases.get(words, 0)
    return bool(classes & kinds.ANSWER) and not classes & (MOODY | kinds.IF)
