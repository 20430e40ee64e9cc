"""Find an answer of free words in a sentence: a name, a place, a thing.

A sentence that answers a question repeats most of the question and adds the answer: "Ann Lee won the race" answers "Who won
the race?". If the statement is known, the answer is the first stretch of words that it does not have. Without it, the answer
is what the sentence says of its subject, or the subject itself.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from markscheme.marking.reading import kinds
from markscheme.marking.reading.clauses import Clause
from markscheme.marking.reading.lexer import Lexed, lex
from markscheme.marking.reading.quantities import Value
from markscheme.marking.reading.values import Kind, set_apart, value_in

_PARTS: Final = re.compile(r"[^\W_]+")
_POSSESSIVE: Final = re.compile(r"['’]s\Z")
_STEM: Final = 5  # letters that two forms of a word share
_LIGHT: Final = (
    kinds.CONNECT | kinds.THIS | kinds.IS | kinds.WITHIN | kinds.FILLER | kinds.SO | kinds.ANSWER | kinds.AND | kinds.LIKELY
    | kinds.STEP | kinds.YES | kinds.NO | kinds.GOOD | kinds.RETRACT | kinds.BUT | kinds.RESULT | kinds.ALL | kinds.HEDGE | kinds.ASK
)  # fmt: skip
_NEW: Final = kinds.WORD | kinds.LETTER | kinds.NUMBER | kinds.FORMULA
_LEADS: Final = kinds.SO | kinds.COMMA | kinds.COLON | kinds.THIS


@lru_cache(maxsize=256)
def asked_words(statement: str) -> frozenset[str]:
    """Return the words of a question whose answer may be new to it; none if the question offers its answers."""
    offers = statement and lex(statement, 0, len(statement)).has(kinds.OR, 0, len(statement))
    return frozenset(() if offers else _PARTS.findall(statement.lower()))


def closeness(lexed: Lexed, kind: Kind, first: int, last: int) -> int:
    """Count the content words that a clause shares with the question."""
    content = (
        at
        for at in range(first, last + 1)
        if lexed.tokens[at].kinds & kinds.WORD and not lexed.tokens[at].kinds & _LIGHT
    )
    return len({lexed.said(at, at).lower() for at in content if _is_given(lexed, kind, at)})


def denies(lexed: Lexed, kind: Kind, first: int, last: int) -> bool:
    """True if a clause denies what the question asks: "Saturn is not the largest planet"."""
    return any(lexed.tokens[at].kinds & kinds.NOT and not _is_given(lexed, kind, at) for at in range(first, last + 1))


def goes_on(lexed: Lexed, clause: Clause, value: Value) -> bool:
    """True for "He was …" after a first sentence about a name: it tells more about the person just named."""
    named = value.parts and value.parts[0][:1].isupper()
    return bool(
        named and lexed.tokens[clause.first].kinds & kinds.THIS and not clause.kinds & (kinds.SO | kinds.ANSWER)
    )


def said_in(lexed: Lexed, kind: Kind, first: int, last: int) -> Value | None:
    """Return the answer in a stretch of a sentence."""
    return (_new_words(lexed, kind, first, last) if kind.given else None) or _predicate(lexed, kind, first, last)


def said_after(lexed: Lexed, kind: Kind, first: int, slot: int, last: int) -> Value | None:
    """Return the answer announced before a slot: in the bold type that opened before it, or in its sentence."""
    tokens = lexed.tokens
    if sum(bool(token.kinds & kinds.EMPHASIS) for token in tokens[first:slot]) % 2:
        last = next((at for at in range(slot + 1, last + 1) if tokens[at].kinds & kinds.EMPHASIS), last + 1) - 1
    if kind.given and (value := _new_words(lexed, kind, slot, last)) is not None:
        return value
    value = value_in(lexed, kind, slot, last)
    told = value is not None and tokens[slot - 1].kinds & (kinds.COLON | kinds.EMPHASIS)
    said = _predicate(lexed, kind, slot, last) if told else None
    return replace(value, parts=said.parts) if value is not None and said is not None else value


def _new_words(lexed: Lexed, kind: Kind, first: int, last: int) -> Value | None:
    """Return the words that the question does not have: set apart, after the last verb "is", or the first ones."""
    tokens = lexed.tokens
    for begin, end in set_apart(lexed, first, last):
        sentence = tokens[begin - 1].kinds & kinds.EMPHASIS and lexed.has(kinds.IS, begin, end)
        if not sentence and any(_is_new(lexed, kind, at) for at in range(begin, end + 1)):
            return value_in(lexed, kind, begin, end)
    verb = next((at for at in range(last - 1, first, -1) if tokens[at].kinds & kinds.IS), first)
    subject = [at for at in range(first, verb) if tokens[at].kinds & _NEW and not tokens[at].kinds & _LIGHT]
    about = subject and not all(_is_new(lexed, kind, at) for at in subject)  # unlike "Jess is the name of the cat"
    return (_run(lexed, kind, verb + 1, last) if about else None) or _run(lexed, kind, first, last)


def _run(lexed: Lexed, kind: Kind, first: int, last: int) -> Value | None:
    """Return the first new words outside of brackets, with their apposition as the alternative."""
    tokens, depth, begin, end = lexed.tokens, 0, -1, -1
    for at in range(first, last + 1):
        if tokens[at].kinds & (kinds.OPEN | kinds.CLOSE) and lexed.said(at, at) in "()[]":
            depth += 1 if tokens[at].kinds & kinds.OPEN else -1
            if begin >= 0:
                break
        elif depth <= 0 and _is_new(lexed, kind, at):
            begin, end = (at if begin < 0 else begin), at
        elif begin >= 0 and not _joins(lexed, at, last):
            break
    if begin < 0 or all(token.kinds & (kinds.NUMERAL | kinds.NUMBER) for token in tokens[begin : end + 1]):
        return None
    while begin > first and _is_name(lexed, begin - 1):
        begin -= 1  # "Princess Beatrice", where the question has the title
    while end < last and (_is_name(lexed, end + 1) or (end + 2 <= last and _joins(lexed, end + 1, end + 2))):
        end += 1 if _is_name(lexed, end + 1) else 2
    value = Value(begin, end, _POSSESSIVE.sub("", lexed.said(begin, end).strip()))
    if end + 1 < last and tokens[end + 1].kinds & kinds.COMMA:
        further = next((at for at in range(end + 2, last + 1) if not _is_new(lexed, kind, at)), last + 1)
        if further > end + 2:  # "Chicago, Illinois"
            value = replace(value, parts=(lexed.said(begin, further - 1).strip(),))
    return value


def _is_new(lexed: Lexed, kind: Kind, at: int) -> bool:
    here = lexed.tokens[at].kinds
    if not here & _NEW or _is_given(lexed, kind, at):
        return False
    capital = at > 0 and lexed.said(at, at)[:1].isupper()
    return not here & _LIGHT or (capital and not here & (kinds.SO | kinds.THIS | kinds.CONNECT))


def _is_name(lexed: Lexed, at: int) -> bool:
    here = lexed.tokens[at].kinds
    return (
        bool(here & kinds.WORD)
        and lexed.said(at, at)[:1].isupper()
        and not here & (kinds.WITHIN | kinds.SO | kinds.STEP)
    )


def _is_given(lexed: Lexed, kind: Kind, at: int) -> bool:
    """True if the question has a word or a form of it."""
    return all(
        word in kind.given or (len(word) > _STEM and any(other.startswith(word[:_STEM]) for other in kind.given))
        for word in _PARTS.findall(lexed.said(at, at).lower())
    )


def _joins(lexed: Lexed, at: int, last: int) -> bool:
    """True for a token within a name: a hyphen, a quote, "of" before another capital."""
    here = lexed.tokens[at].kinds
    if not here & kinds.WORD:
        attached = lexed.tokens[at].start == lexed.tokens[at - 1].end
        return attached and bool(here & (kinds.OTHER | kinds.OPEN | kinds.CLOSE))
    following = next((place for place in range(at, last + 1) if not lexed.tokens[place].kinds & _LIGHT), at)
    capital = lexed.said(at - 1, at - 1)[:1].isupper() and lexed.said(following, following)[:1].isupper()
    return capital and bool(here & _LIGHT and not here & kinds.IS)


def _predicate(lexed: Lexed, kind: Kind, first: int, last: int) -> Value | None:
    """Return the words after the last "is" of a sentence; the words before its verb are the alternative."""
    tokens = lexed.tokens
    verb = next((at for at in range(last - 1, first - 1, -1) if tokens[at].kinds & kinds.IS), -1)
    value = value_in(lexed, kind, max(verb + 1, first), last)
    if value is None:
        return None
    subject = None
    if verb >= 0:
        subject = _agent(lexed, kind, verb + 1, last) or _subject(lexed, kind, first, verb)
    elif (verb := _verb(lexed, first, last)) and not lexed.has(kinds.AND | kinds.OR | kinds.BUT, verb, value.last):
        subject = _subject(lexed, kind, first, verb)
    return value if subject is None else replace(value, parts=(subject.content,))


def _verb(lexed: Lexed, first: int, last: int) -> int:
    """Return the verb of a sentence: after a name, "traveled" in "So Train A traveled farther", or the first small word."""
    tokens = lexed.tokens
    begin = next((at + 1 for at in range(last, first - 1, -1) if tokens[at].kinds & (kinds.SO | kinds.COLON)), first)
    for at in range(begin, last + 1):
        here, said = tokens[at].kinds, lexed.said(at, at)
        if not here & (kinds.WORD | kinds.LETTER | kinds.NUMBER | kinds.OTHER | kinds.EMPHASIS):
            break
        if here & kinds.WORD and said[:1].islower() and not here & (kinds.AND | kinds.WITHIN | kinds.FILLER):
            if at > begin and not tokens[at - 1].kinds & _LIGHT and not lexed.said(at - 1, at - 1)[:1].islower():
                return at + (at < last and tokens[at + 1].kinds == kinds.WORD | kinds.CONNECT)  # "Green box has"
            break
    return next((at for at in range(first, last) if tokens[at].kinds == kinds.WORD | kinds.CONNECT), 0)


def _subject(lexed: Lexed, kind: Kind, first: int, verb: int) -> Value | None:
    """Return the words before a verb without their introduction: "Ann" in "so we see that Ann"."""
    begin = next((at + 1 for at in range(verb - 1, first - 1, -1) if lexed.tokens[at].kinds & _LEADS), first)
    return value_in(lexed, kind, begin, verb - 1) if begin < verb else None


def _agent(lexed: Lexed, kind: Kind, first: int, last: int) -> Value | None:
    """Return the person or place between a verb and its prepositions: "Ann Lee" in "founded by Ann Lee in 1890"."""
    tokens, stops = lexed.tokens, kinds.WITHIN | kinds.COMMA | kinds.AND
    if first + 2 > last or tokens[first].kinds != kinds.WORD or not tokens[first + 1].kinds & kinds.WITHIN:
        return None
    end = next((at for at in range(first + 3, last + 1) if tokens[at].kinds & stops), last + 1)
    return value_in(lexed, kind, first + 2, end - 1)
