r"""The answer of a response: one reading and at most one alternative, made without the gold."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from markscheme.marking.extraction.extracted import ExtractedAnswer
from markscheme.marking.extraction.json_replies import json_answer
from markscheme.marking.extraction.marked import closed_answer, finished_answer, tagged_answer
from markscheme.marking.extraction.sections import ResponseSections
from markscheme.marking.reading.boxes import boxed_answer
from markscheme.marking.reading.clauses import ASSERTED, clauses, mood_of
from markscheme.marking.reading.grammar import CHOSEN, STATED, TYPESET, Candidate, best, candidates, takes_back
from markscheme.marking.reading.lexer import Lexed, lex
from markscheme.marking.reading.values import Kind


class Reading(NamedTuple):
    """What a response gives as its answer, and how it says so."""

    answer: str
    start: int
    end: int
    rule: str
    mood: str = ASSERTED
    alternative: str | None = None
    parts: tuple[str, ...] = ()
    rank: int = TYPESET

    @property
    def span(self) -> tuple[int, int]:
        """Position of the answer in the response."""
        return self.start, self.end


_TYPESET: Final = (json_answer, boxed_answer, tagged_answer, finished_answer)
_TAIL: Final = 1_500
_AROUND: Final = 300
_COMMAND: Final = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|operatorname)\s?\{([^{}]*)\}")
_LETTER_SET: Final = re.compile(r"[A-J]{1,6}")
_LABEL: Final = re.compile(r"\(?[A-J]\)?")
_LETTERS: Final = re.compile(r"[^\W\d_]")


def typeset_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """The last answer in a form made for it: a JSON field, a box, a tag, `Finish[…]`."""
    found, begin = None, start
    for find in _TYPESET:
        if (answer := find(text, begin, end)) is not None:
            found, begin = answer, answer.outer_end
    return found or closed_answer(text, start, end)


def read_answer(sections: ResponseSections, kind: Kind) -> Reading | None:
    """The answer that a response gives, or `None`."""
    text, start, end = sections.text, sections.start, sections.end
    typeset = typeset_answer(text, start, end)
    if typeset is None:
        return _in_prose(text, max(start, end - _TAIL), end, kind)
    outer = typeset.outer_end or typeset.end
    mood = _mood_around(text, start, end, typeset, outer)
    later = None
    if end - outer >= 6 and _LETTERS.search(text, outer, end):
        later = _in_prose(
            text,
            max(outer, end - _TAIL),
            end,
            kind,
            least=STATED if mood == ASSERTED else CHOSEN,
            plainly=mood == ASSERTED,
        )
    if later is not None:
        return later
    if mood != ASSERTED:
        if mood == "retracted" or mood == "denied":
            return _in_prose(text, max(outer, end - _TAIL), end, kind)
        return None
    reading = _of_typeset(typeset, kind)
    if kind == "letter" and not _LETTER_SET.fullmatch(reading.answer):
        return _in_prose(text, max(start, end - _TAIL), end, kind, least=CHOSEN) or reading
    return reading


def _of_typeset(typeset: ExtractedAnswer, kind: Kind) -> Reading:
    content = typeset.content
    alternative = None
    if typeset.form == "json" and content.startswith("[") and "," in content:
        return Reading(content[1:-1], typeset.start, typeset.end, "json", ASSERTED, f"({content[1:-1]})")
    if kind == "value" and (result := _result(content)) is not None:
        alternative = result
    if kind != "value":
        content = _COMMAND.sub(r" \1 ", content).replace("\\;", " ").replace("\\,", " ").strip(" $")
    if typeset.form != "boxed" or kind in ("letter", "word") or "\\text" in content:
        inner = _in_prose(content, 0, len(content), kind)
        if inner is not None:
            alternative = alternative or inner.answer
    if kind in ("letter", "word") and alternative is not None:
        content, alternative = alternative, content
    return Reading(content, typeset.start, typeset.end, typeset.form, ASSERTED, alternative, typeset.parts)


def _mood_around(text: str, start: int, end: int, typeset: ExtractedAnswer, outer: int) -> str:
    """The mood of the sentence around a typeset answer, and whether what follows takes it back."""
    opens = max(start, typeset.start - 12)
    line = max(start, text.rfind("\n", max(start, opens - _AROUND), opens) + 1, opens - _AROUND)
    lexed = lex(text, line, min(end, outer + _AROUND))
    found = [at for at, token in enumerate(lexed.tokens) if token.start <= typeset.start < token.end]
    if not found:
        return ASSERTED
    at = found[0]
    parts = clauses(lexed)
    for number, clause in enumerate(parts):
        if clause.first <= at <= clause.last:
            mood = mood_of(lexed, clause, at, at)
            if mood in ("denied", "operated", "hedged"):
                return mood
            if any(takes_back(lexed, each) for each in parts[number + 1 : number + 3]):
                return "retracted"
            break
    return ASSERTED


def _in_prose(text: str, start: int, end: int, kind: Kind, least: int = 0, *, plainly: bool = False) -> Reading | None:
    lexed = lex(text, start, end)
    found = [each for each in candidates(lexed, kind, plainly=plainly) if each.rank >= least]
    chosen = best(found)
    if chosen is None:
        return None
    reading = _reading(lexed, chosen, kind)
    if kind != "letter" and _LABEL.fullmatch(reading.answer):  # "d = 26. So the answer is (C)."
        before = [each for each in found if each.mood == ASSERTED and each.value.last < chosen.value.first]
        if before and (said := before[-1].value.content) and not _LABEL.fullmatch(said):
            return reading._replace(alternative=said)
    return reading


_NOTE: Final = re.compile(r"<<[^<>\n]{0,200}>>")
_EQUALS: Final = re.compile(r"(?<![<>!\\=])=(?!=)|\\approx|≈")
_UNKNOWN: Final = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z](?:_\{?\w\}?)?(?![a-zA-Z])")
_COMPUTED: Final = re.compile(r"\d[^=]{0,80}?(?:[-+*/×÷·x^(]|\\times|\\cdot|\\div|\\frac)|\\frac|\\log|\\binom")


def _result(content: str) -> str | None:
    """What a calculation comes to: of `21 + 49 = 70` the 70. `2x = 10` is an equation, and does not say 10."""
    content = _NOTE.sub("", content)
    sides = _EQUALS.split(content)
    if len(sides) < 2 or len(content) > 400 or "," in sides[-1]:
        return None
    unknowns = (
        set(_UNKNOWN.findall(sides[-2])) - {"x"}
        if "x" in sides[-2] and " x " in sides[-2]
        else set(_UNKNOWN.findall(sides[-2]))
    )
    if (not unknowns and _COMPUTED.search(sides[-2])) or len(unknowns) > 1 or (len(sides) > 2 and not unknowns):
        return sides[-1].strip(" $.\\")
    return None


def _reading(lexed: Lexed, chosen: Candidate, kind: Kind) -> Reading:
    value = chosen.value
    tokens = lexed.tokens
    return Reading(
        value.content,
        tokens[value.first].start,
        tokens[value.last].end,
        chosen.rule,
        chosen.mood,
        _result(value.content) if kind == "value" else None,
        rank=chosen.rank,
    )
