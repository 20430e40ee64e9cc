"""Show how a response was read: its last tokens and clauses, the candidates of each rule, and the winning reading.

Nothing is decided here. Everything comes from the functions that read a response during marking.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Final

import msgspec

from markscheme.marking.reading import kinds
from markscheme.marking.reading.clauses import clauses
from markscheme.marking.reading.ending import breaks_off, is_cut_off
from markscheme.marking.reading.grammar import CHOSEN, CONCLUDED, SAID, STATED, TYPESET, candidates
from markscheme.marking.reading.lexer import NEAR, lex, near_end
from markscheme.marking.reading.reader import Reading, before_loop, final_answer, prepared, read_answer
from markscheme.marking.reading.sections import ResponseSections
from markscheme.marking.reading.values import Kind

_RANKS: Final = {TYPESET: "typeset", STATED: "stated", CHOSEN: "chosen", CONCLUDED: "concluded", SAID: "said"}
_TOLD: Final = ("number", "letter", "formula", "box", "hashes")
_WIDTH: Final = 112
_LONGEST: Final = 1_000  # longest part of an answer that is shown


class ReadToken(msgspec.Struct, frozen=True):
    """A token: its text, its kind, and the lexicon classes of a word."""

    text: str
    kind: str
    classes: tuple[str, ...]
    span: tuple[int, int]


class ReadClause(msgspec.Struct, frozen=True):
    """A clause and, if its first word begins clauses (BUT, BECAUSE, IF), the classes of that word."""

    text: str
    opener: tuple[str, ...]
    span: tuple[int, int]


class ReadCandidate(msgspec.Struct, frozen=True):
    """A candidate that a rule found in a clause, and whether it won."""

    value: str
    rank: str
    rule: str
    mood: str
    clause: int
    span: tuple[int, int]
    won: bool


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """How a response was read. Spans are positions in the response; `str()` gives readable text."""

    kind: str  # the kind of answer: value, letter, word or text
    language: str
    span: tuple[int, int]  # the part of the response whose tokens are shown
    tokens: tuple[ReadToken, ...]
    clauses: tuple[ReadClause, ...]
    candidates: tuple[ReadCandidate, ...]
    answer: str | None = None
    alternative: str | None = None  # the same answer in another notation, also compared
    rule: str | None = None
    rank: str | None = None
    mood: str | None = None
    answer_span: tuple[int, int] | None = None
    counts: bool  # whether the reading is judged; in a truncated response, only earlier statements are
    cut_off: bool
    ending: str  # why the response counts as complete or truncated

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def explained(sections: ResponseSections, kind: Kind) -> Explanation:
    """Explain how the reader finds the answer of a response, for the given kind of answer."""
    reading = read_answer(sections, kind)
    plain, choices = prepared(sections)
    span = _window(plain, reading)
    lexed = lex(plain.text, *span, choices if kind.name == "letter" else None)
    cut_off = is_cut_off(sections)

    def place(first: int, last: int) -> tuple[str, tuple[int, int]]:
        return _written(lexed.said(first, last)), (lexed.tokens[first].start, lexed.tokens[last].end)

    tokens = []
    for at, token in enumerate(lexed.tokens):
        text, where = place(at, at)
        form = next(name for name, bit in kinds.FORMS.items() if token.kinds & bit)
        tokens.append(ReadToken(text, form, _classes(token.kinds), where))
    parts = []
    for clause in clauses(lexed):
        text, where = place(clause.first, clause.last)
        parts.append(ReadClause(text, _classes(clause.opener), where))
    found = []
    for each in candidates(lexed, kind):
        where = place(each.value.first, each.value.last)[1]
        won = reading is not None and (reading.span, reading.rule) == (where, each.rule)
        value = _written(each.value.content)
        found.append(ReadCandidate(value, _RANKS[each.rank], each.rule, each.mood, each.clause, where, won))
    return Explanation(
        kind=kind.name,
        language=lexed.language,
        span=span,
        tokens=tuple(tokens),
        clauses=tuple(parts),
        candidates=tuple(found),
        answer=_written(reading.answer[:_LONGEST]) if reading else None,
        alternative=_written(reading.alternative[:_LONGEST]) if reading and reading.alternative is not None else None,
        rule=reading.rule if reading else None,
        rank=_RANKS[reading.rank] if reading else None,
        mood=reading.mood if reading else None,
        answer_span=reading.span if reading else None,
        counts=final_answer(sections, kind) is not None,
        cut_off=cut_off,
        ending=_ending(sections, cut_off),
    )


def _window(sections: ResponseSections, reading: Reading | None) -> tuple[int, int]:
    """Return the end of the answer part, or the text around an answer that comes before it."""
    text, start = sections.text, sections.start
    end = before_loop(text, start, start + len(text[start : sections.end].rstrip()))
    begin = near_end(text, start, end)
    if reading is not None and start <= reading.start < begin:
        end = min(end, max(reading.start + NEAR // 2, min(reading.end, reading.start + NEAR)))
        begin = max(start, reading.start - NEAR // 2)
    return begin, max(begin, end)


def _classes(token: int) -> tuple[str, ...]:
    return tuple(name for name, bit in kinds.CLASSES.items() if token & bit)


def _written(text: str) -> str:
    """Return the text without lone surrogates, which cannot be encoded."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _ending(sections: ResponseSections, cut_off: bool) -> str:
    if not cut_off and not sections.final.strip():
        return "there is nothing to read"
    if sections.end < sections.sequel_end:
        return "ended before a question that the model invented"
    if sections.cut_off:
        return "the server stopped it, or its thinking never ended"
    if not cut_off:
        return "the server says that it ended" if sections.ended else "its last sentence is complete"
    if breaks_off(sections.text, sections.start, sections.end, ended=True):
        return "stops within a formula or a list, or after a word that something must follow"
    return "trails off: its last sentence is not complete, or concludes nothing"


def _lines(told: Explanation) -> Iterator[str]:
    """Return the explanation as lines; control characters of the response are made visible."""
    yield f"asked for  {told.kind}"
    yield f"language   {told.language}"
    yield f"read       characters {told.span[0]:,} to {told.span[1]:,}"
    yield "\nclause  its words, with what the lexicon or the lexer says of them"
    for number, clause in enumerate(told.clauses):
        inside = [each for each in told.tokens if clause.span[0] <= each.span[0] < clause.span[1]]
        lines = wrap(" ".join(map(_with_classes, inside)), _WIDTH, break_long_words=False, break_on_hyphens=False)
        yield f"{number:>6}  " + f"\n{'':8}".join(lines)
    yield "\nclause  rank       rule                mood         value"
    rows = [(str(each.clause), each.rank, each.rule, each.mood, each.value, each.won) for each in told.candidates]
    if told.answer is not None and not any(each.won for each in told.candidates):
        rows.append(("-", told.rank or "", told.rule or "", told.mood or "", told.answer, True))
    for place, rank, rule, mood, value, won in rows:
        yield f"{place:>6}  {rank:<10} {rule:<19} {mood:<12} {_visible(value)}{'  <- the answer' if won else ''}"
    if not rows:
        yield "        no rule found a value"
    yield f"\nending     {'cut off' if told.cut_off else 'complete'}: {told.ending}"
    if told.answer is None or told.answer_span is None:
        yield "answer     none"
        return
    first, last = told.answer_span
    yield f"answer     {_visible(told.answer)}  ({told.rank}, {told.rule}, {told.mood}, characters {first:,} to {last:,})"
    if told.alternative is not None:
        yield f"or         {_visible(told.alternative)}"
    if not told.counts:
        yield "           does not count: the response was cut off, and this was not stated as its answer"


def _with_classes(token: ReadToken) -> str:
    """Return `answer‹ANSWER›` or `5‹number›`; words without a class and punctuation stay as they are."""
    notes = token.classes if token.classes or token.kind not in _TOLD else (token.kind,)
    return _visible(token.text) + (f"‹{' '.join(notes)}›" if notes else "")


def _visible(text: str) -> str:
    short = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return "".join(each if each.isprintable() else "⏎" if each == "\n" else "�" for each in short)
