"""Find an answer of free words in a sentence: a name, a place, a thing.

A sentence that answers a question repeats most of the question and adds the answer: "Ann Lee won the race" answers "Who won
the race?". If the statement is known, the answer is the first stretch of words that it does not have. Without it, the answer
is what the sentence says of its subject, or the subject itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from markscheme.marking.reading import kinds
from markscheme.marking.reading.clauses import Clause
from markscheme.marking.reading.lexer import Lexed, lex
from markscheme.marking.reading.quantities import EDGES, Value
from markscheme.marking.reading.values import Kind, value_in

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
    if not statement:
        return frozenset()
    lexed = lex(statement, 0, len(statement))
    if any(token.kinds & kinds.OR for token in lexed.tokens):
        return frozenset()
    return frozenset(_PARTS.findall(statement.lower()))


def closeness(lexed: Lexed, kind: Kind, first: int, last: int) -> int:
    """Count the content words that a clause shares with the question."""
    return len({
        lexed.said(at, at).lower()
        for at in range(first, last + 1)
        if lexed.tokens[at].kinds & kinds.WORD and not lexed.tokens[at].kinds & _LIGHT and _is_given(lexed, kind, at)
    })  # fmt: skip


def denies(lexed: Lexed, kind: Kind, first: int, last: int) -> bool:
    """True if a clause denies what the question asks: "Saturn is not the largest planet"."""
    return any(lexed.tokens[at].kinds & kinds.NOT and not _is_given(lexed, kind, at) for at in range(first, last + 1))


def goes_on(lexed: Lexed, clause: Clause, value: Value) -> bool:
    """True for "He was …" after a first sentence about a name: it tells more about the person just named."""
    opens = next((token.kinds for token in lexed.tokens[clause.first : clause.last + 1] if token.kinds & kinds.WORD), 0)
    named = value.parts and value.parts[0][:1].isupper()
    return bool(named and opens & kinds.THIS and not clause.kinds & (kinds.SO | kinds.ANSWER))


def said_in(lexed: Lexed, kind: Kind, first: int, last: int) -> Value | None:
    """Return the answer in a stretch of a sentence."""
    return (new_words(lexed, kind, first, last) if kind.given else None) or _predicate(lexed, kind, first, last)


def said_after(lexed: Lexed, kind: Kind, first: int, slot: int, last: int) -> Value | None:
    """Return the answer announced before a slot: in the bold type that opened before it, or in its sentence."""
    tokens = lexed.tokens
    if sum(bool(token.kinds & kinds.EMPHASIS) for token in tokens[first:slot]) % 2:
        last = next((at for at in range(slot + 1, last + 1) if tokens[at].kinds & kinds.EMPHASIS), last + 1) - 1
    if kind.given and (value := new_words(lexed, kind, slot, last)) is not None:
        return value
    value, said = value_in(lexed, kind, slot, last), None
    if value is not None and tokens[slot - 1].kinds & (kinds.COLON | kinds.EMPHASIS):
        said = _predicate(lexed, kind, slot, last)
    return value if value is None or said is None or not said.parts else replace(value, parts=said.parts)


def new_words(lexed: Lexed, kind: Kind, first: int, last: int) -> Value | None:
    """Return the words that the question does not have: set apart, after the last verb "is", or the first ones."""
    tokens = lexed.tokens
    for begin, end in _set_apart(lexed, first, last):
        sentence = tokens[begin - 1].kinds & kinds.EMPHASIS and lexed.has(kinds.IS, begin, end)
        if not sentence and any(_is_new(lexed, kind, at) for at in range(begin, end + 1)):
            return value_in(lexed, kind, begin, end)
    verb = next((at for at in range(last - 1, first, -1) if tokens[at].kinds & kinds.IS), None)
    if verb is None or _is_all_new(lexed, kind, first, verb - 1):
        return _run(lexed, kind, first, last)
    opens = next((at for at in range(verb + 1, last + 1) if not _is_passed(lexed, at)), last)
    named = _is_capital(lexed, opens) and opens < last and _is_new(lexed, kind, opens + 1)
    said = _run(lexed, kind, verb + 1, last) if named or _is_new(lexed, kind, opens) else None
    return said or _run(lexed, kind, first, last)


def _set_apart(lexed: Lexed, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Return the stretches in bold type or quotes."""
    for form, signs in ((kinds.EMPHASIS, None), (kinds.OPEN | kinds.CLOSE, EDGES)):
        marks = [
            at
            for at in range(first, last + 1)
            if lexed.tokens[at].kinds & form and (signs is None or lexed.said(at, at) in signs)
        ]
        yield from (
            (begin + 1, end - 1) for begin, end in zip(marks[::2], marks[1::2], strict=False) if end > begin + 1
        )


def _is_all_new(lexed: Lexed, kind: Kind, first: int, last: int) -> bool:
    """True if the subject of a sentence is new: "Jess is the name of the cat"."""
    telling = [at for at in range(first, last + 1) if not _is_passed(lexed, at)]
    return bool(telling) and all(_is_new(lexed, kind, at) for at in telling)


def _is_passed(lexed: Lexed, at: int) -> bool:
    here = lexed.tokens[at].kinds
    return not here & _NEW or bool(here & _LIGHT)


def _run(lexed: Lexed, kind: Kind, first: int, last: int) -> Value | None:
    """Return the first new words outside of brackets, with their apposition as the alternative."""
    tokens, depth, begin, end = lexed.tokens, 0, -1, -1
    for at in range(first, last + 1):
        here = tokens[at].kinds
        if here & (kinds.OPEN | kinds.CLOSE) and lexed.said(at, at) in "()[]":
            depth += 1 if here & kinds.OPEN else -1
            if begin >= 0:
                break
        elif depth <= 0 and _is_new(lexed, kind, at) and (begin >= 0 or _may_open(lexed, at, first)):
            begin, end = (at if begin < 0 else begin), at
        elif begin >= 0 and not _joins(lexed, at, last):
            break
    if begin < 0 or all(token.kinds & (kinds.NUMERAL | kinds.NUMBER) for token in tokens[begin : end + 1]):
        return None
    while (name := _name_before(lexed, begin, first)) is not None:
        begin = name  # "Princess Beatrice", where the question has the title
    while end < last and (_is_name(lexed, end + 1) or (end + 2 <= last and _joins(lexed, end + 1, end + 2))):
        end += 1 if _is_name(lexed, end + 1) else 2
    value = Value(begin, end, _POSSESSIVE.sub("", lexed.said(begin, end).strip()))
    if end < last and tokens[end + 1].kinds & kinds.COMMA:
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


def _may_open(lexed: Lexed, at: int, first: int) -> bool:
    """True unless a word is the verb of a relative clause: "the science that studies sound"."""
    return at == first or not lexed.tokens[at - 1].kinds & kinds.THIS or lexed.said(at, at)[:1].isupper()


def _name_before(lexed: Lexed, begin: int, first: int) -> int | None:
    """Return the start of a name that goes on at a token, with at most two small words between them."""
    for at in range(begin - 1, max(first, begin - 3) - 1, -1):
        if _is_name(lexed, at):
            return at
        small = lexed.tokens[at].kinds & kinds.WORD and lexed.tokens[at].kinds & _LIGHT
        if not small or lexed.tokens[at].kinds & (kinds.IS | kinds.THIS | kinds.SO) or not _is_capital(lexed, begin):
            return None
    return None


def _is_capital(lexed: Lexed, at: int) -> bool:
    return lexed.said(at, at)[:1].isupper()


def _is_name(lexed: Lexed, at: int) -> bool:
    here = lexed.tokens[at].kinds
    return (
        bool(here & kinds.WORD)
        and lexed.said(at, at)[:1].isupper()
        and not here & (kinds.WITHIN | kinds.SO | kinds.STEP)
    )


def _is_given(lexed: Lexed, kind: Kind, at: int) -> bool:
    """True if the question has a word or a form of it."""
    words = _PARTS.findall(lexed.said(at, at).lower())
    return all(
        word in kind.given or (len(word) > _STEM and any(other.startswith(word[:_STEM]) for other in kind.given))
        for word in words
    )


def _joins(lexed: Lexed, at: int, last: int) -> bool:
    """True for a token within a name: a hyphen, a quote, "of" before another capital."""
    here = lexed.tokens[at].kinds
    if not here & kinds.WORD:
        return (
            bool(here & (kinds.OTHER | kinds.OPEN | kinds.CLOSE)) and lexed.tokens[at].start == lexed.tokens[at - 1].end
        )
    capital = lexed.said(at - 1, at - 1)[:1].isupper() or lexed.tokens[at - 1].kinds & _LIGHT
    following = next((place for place in range(at, last + 1) if not lexed.tokens[place].kinds & _LIGHT), at)
    return bool(here & _LIGHT and not here & kinds.IS and capital) and lexed.said(following, following)[:1].isupper()


def _predicate(lexed: Lexed, kind: Kind, first: int, last: int) -> Value | None:
    """Return the words after the last "is" of a sentence, with the words before it as the alternative."""
    for at in range(last - 1, first - 1, -1):
        if lexed.tokens[at].kinds & kinds.IS:
            value = value_in(lexed, kind, at + 1, last)
            agent = _agent(lexed, kind, value, last) if value is not None and value.first == at + 1 else None
            subject = agent or (_subject(lexed, kind, first, at - 1) if value is not None else None)
            return value if value is None or subject is None else replace(value, parts=(subject.content,))
    value = value_in(lexed, kind, first, last)
    verb = next((at for at in range(first, last) if lexed.tokens[at].kinds == kinds.WORD | kinds.CONNECT), first)
    named = _after_name(lexed, first, last)
    verb = verb if named is None or verb == named + 1 else named
    alone = value is not None and not lexed.has(kinds.AND | kinds.OR | kinds.BUT, verb, value.last)
    subject = _subject(lexed, kind, first, verb - 1) if alone else None
    return value if value is None or subject is None else replace(value, parts=(subject.content,))


def _after_name(lexed: Lexed, first: int, last: int) -> int | None:
    """Return the verb after a name that opens a sentence: "traveled" in "So Train A traveled farther"."""
    begin = next(
        (at + 1 for at in range(last, first - 1, -1) if lexed.tokens[at].kinds & (kinds.SO | kinds.COLON)), first
    )
    for at in range(begin, last + 1):
        here, said = lexed.tokens[at].kinds, lexed.said(at, at)
        if here & kinds.COMMA or not here & (kinds.WORD | kinds.LETTER | kinds.NUMBER | kinds.OTHER | kinds.EMPHASIS):
            return None
        if here & kinds.WORD and said[:1].islower() and not here & (kinds.AND | kinds.WITHIN | kinds.FILLER):
            named = at > begin and not lexed.tokens[at - 1].kinds & _LIGHT
            return at if named and not lexed.said(at - 1, at - 1)[:1].islower() else None
    return None


def _subject(lexed: Lexed, kind: Kind, first: int, last: int) -> Value | None:
    """Return the words before a verb without their introduction: "Ann" in "so we see that Ann"."""
    begin = next((at + 1 for at in range(last, first - 1, -1) if lexed.tokens[at].kinds & _LEADS), first)
    return value_in(lexed, kind, begin, last) if begin <= last else None


def _agent(lexed: Lexed, kind: Kind, value: Value, last: int) -> Value | None:
    """Return the person or place between a verb and its prepositions: "Ann Lee" in "founded by Ann Lee in 1890"."""
    tokens, begin = lexed.tokens, value.first + 2
    if begin > last or tokens[value.first].kinds != kinds.WORD or not tokens[begin - 1].kinds & kinds.WITHIN:
        return None
    stops = kinds.WITHIN | kinds.COMMA | kinds.AND
    places = range(begin + 1, last + 1)
    end = next((at for at in places if tokens[at].kinds & stops and not tokens[at - 1].kinds & stops), last + 1)
    return value_in(lexed, kind, begin, end - 1)
