"""Find the answer of a response: one reading and at most one alternative, without access to the gold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from markscheme.marking.reading import kinds
from markscheme.marking.reading.boxes import ExtractedAnswer, boxed_answer
from markscheme.marking.reading.clauses import (
    ASSERTED,
    BOUNDED,
    CONDITIONAL,
    DENIED,
    HEDGED,
    OPERATED,
    RETRACTED,
    clauses,
    mood_of,
    takes_back,
)
from markscheme.marking.reading.ending import is_cut_off
from markscheme.marking.reading.fields import json_answer
from markscheme.marking.reading.free_words import asked_words
from markscheme.marking.reading.grammar import CHOSEN, CONCLUDED, SAID, STATED, TYPESET, UNSAID, best, candidates
from markscheme.marking.reading.lexer import NEAR, lex, near_end
from markscheme.marking.reading.meaning import counts_another, says_two
from markscheme.marking.reading.numbers import ascii_digits
from markscheme.marking.reading.plainly import LINE, MOODY, is_plain, labelled, says_more
from markscheme.marking.reading.quantities import inside
from markscheme.marking.reading.sections import ResponseSections
from markscheme.marking.reading.statement import choice_texts
from markscheme.marking.reading.tags import closed_answer, finished_answer, tagged_answer
from markscheme.marking.reading.values import LETTERS, VALUE, Kind
from markscheme.marking.reading.words import WORD_PATTERN, announces, language_of, vocabulary
from markscheme.marking.reading.writings import as_prose, is_worded, other_writing

_TYPESET: Final = (json_answer, boxed_answer, tagged_answer, finished_answer)
_TAIL: Final = 1_500  # characters from the end in which a prose answer is searched
_AROUND: Final = 300
_SHORTEST: Final = 6  # the shortest text that can state another answer
_ENDLESS: Final = 5_000
_LONGEST_LINE: Final = 200
_LOOP: Final = 4
_LITTLE: Final = 20
_LASTING: Final = 1_000  # longer answers are not remembered
_ROUNDS: Final = 100
_BARE: Final = 300
_FEW_WORDS: Final = 40  # longest response that consists of an answer in words
_LABELLED: Final = re.compile(r"[:：#]")
_LETTER_SET: Final = re.compile(r"[A-J]{1,6}")
_LABEL: Final = re.compile(r"\(?[A-J]\)?")
_NEXT_CHOICE: Final = re.compile(r"\s*[*(]{0,3}[B-J][.):]")
_LETTERED: Final = re.compile(r"[^\W\d_]")
_WORD: Final = re.compile(WORD_PATTERN)
_CODE: Final = re.compile(r"__\w+__")
_COMMANDS: Final = re.compile(r"\\(?:begin|end)\s?\{[a-z]+\}|\\text\s?\{\s?[^{}\s]*\s?\}|\\[a-zA-Z]+")
_MARKED: Final = re.compile(r"__|[.!]\s|[?:#？。]|\d\s\d|[(\[][A-J][)\]]")
_NOT_ALL: Final = MOODY | kinds.ASK | kinds.REMARK | kinds.STEP | kinds.IS | kinds.IF


class Reading(Struct, frozen=True, gc=False):
    """The answer of a response, and how it is expressed."""

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
        """Return the position of the answer in the response."""
        return self.start, self.end


class _Wanted(Struct, frozen=True, gc=False):
    """What is searched in prose: the kind of value, the lowest rank, and the texts of the choices if known."""

    kind: Kind
    least: int = 0
    plainly: bool = False
    texts: Mapping[str, str] | None = None
    language: str = ""  # if known


def typeset_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """Return the last answer in an explicit form: a JSON field, a box, a tag, `Finish[…]`."""
    found, begin = None, start
    for find in _TYPESET:
        if (answer := find(text, begin, end)) is not None:
            found, begin = answer, answer.outer_end
            if end - begin < _SHORTEST:
                break
    return found or closed_answer(text, start, end)


def final_answer(sections: ResponseSections, kind: Kind) -> Reading | None:
    """Return the answer of a response; of a truncated one, only an answer stated before the cut."""
    reading = read_answer(sections, kind)
    if reading is None or reading.rank >= STATED:
        return reading
    named = kind.name in ("text", "word") and sections.start and sections.final.strip(" *\n") == reading.answer
    return reading if named or not is_cut_off(sections) else None  # a name alone after closed thinking is whole


def read_answer(sections: ResponseSections, kind: Kind) -> Reading | None:
    """Return the answer of a response, or `None`."""
    sections, texts = prepared(sections)
    if kind.name == "text":
        kind = kind._replace(given=asked_words(sections.statement))
    reading = _read(sections, kind, texts if kind.name == "letter" else {})
    return _by_choice(sections, kind, reading, texts) if texts else reading


def prepared(sections: ResponseSections) -> tuple[ResponseSections, dict[str, str]]:
    """Return a response with plain digits and without ornaments, positions unchanged, and the texts of its choices."""
    if not sections.text.isascii():
        sections = sections.undecorated()
        sections = replace(sections, text=ascii_digits(sections.text))
    known = sections.statement or sections.choices
    return sections, choice_texts(sections.choices, sections.statement) if known else {}


def _read(sections: ResponseSections, kind: Kind, texts: Mapping[str, str]) -> Reading | None:
    text, start, end = sections.text, sections.start, sections.end
    typeset = typeset_answer(text, start, end)
    if typeset is None:
        return _without_form(text, start, end, kind, texts)
    outer = typeset.outer_end or typeset.end
    more = end > outer + 1 and says_more(text, outer, end)
    mood = _mood_around(text, start, end, typeset, outer, more)
    if more and end - outer >= _SHORTEST and _LETTERED.search(text, outer, end):
        plainly = mood == ASSERTED
        later = _in_prose(text, outer, end, _Wanted(kind, STATED if plainly else CHOSEN, plainly))
        if later is not None:
            return later
    if mood in (RETRACTED, DENIED):
        return _in_prose(text, outer, end, _Wanted(kind))
    if mood != ASSERTED:
        return None
    reading = _of_typeset(text, start, typeset, kind)
    if kind.name == "letter" and not _LETTER_SET.fullmatch(reading.answer):
        return _in_prose(text, start, end, _Wanted(kind, CONCLUDED)) or reading
    return reading


def _without_form(text: str, start: int, end: int, kind: Kind, texts: Mapping[str, str]) -> Reading | None:
    """Find an answer without an explicit form: bare mathematics, sentences, the first line, or a few words."""
    if _CODE.search(text, max(start, end - 200), end):
        return None
    end = before_loop(text, start, start + len(text[start:end].rstrip()))
    free = kind.name in ("value", "text")
    if free and end - start < _BARE and (bare := _bare_answer(text, start, end)) is not None:
        return bare
    reading = _in_prose(text, start, end, _Wanted(kind, texts=texts))
    if reading is not None and kind.name == "word" and reading.rule == UNSAID:
        return None
    if not free and (reading is None or reading.rank < CHOSEN):
        reading = _in_first_line(text, start, end, kind) or reading
    return reading or (_all_of_it(text, start, end) if free and not texts else None)


def _in_first_line(text: str, start: int, end: int, kind: Kind) -> Reading | None:
    """Return the choice or word on the first line of a response, before its explanation."""
    begin = start + len(text[start : start + LINE]) - len(text[start : start + LINE].lstrip())
    line = text.find("\n", begin, min(end, begin + LINE))
    if line < 0 or not text[line:end].strip() or _NEXT_CHOICE.match(text, line, end):
        return None
    reading = _in_tail(text, begin, line, _Wanted(kind))
    found = candidates(lex(text, begin, line), kind)
    if reading is None or found[0].rule not in ("a line of its own", "a label") or reading.rule != found[0].rule:
        return None
    return replace(reading, rule="the first line", rank=STATED)


def _bare_answer(text: str, start: int, end: int) -> Reading | None:
    """Return a response that is one line of mathematics and nothing else."""
    said = text[start:end].strip(" \n\t∴⇒→").rstrip("\\")
    if not said or "\n" in said or _LABEL.fullmatch(said) or _MARKED.search(said):
        return None
    known = vocabulary(language_of(said))
    for word in _WORD.findall(_COMMANDS.sub(" ", said).lower()):
        if len(word) > 2 or word > "\u0400" or (len(word) == 2 and known.classes(word)):
            return None
    at = text.find(said, start)
    alternative = other_writing(said, "prose", said.endswith("!")) if said[0] != "(" else None
    return Reading(inside(said.strip("*` ")), at, at + len(said), "all of it", ASSERTED, alternative)


def _all_of_it(text: str, start: int, end: int) -> Reading | None:
    """Return a response of a few words as its answer: "The empty set"."""
    said = text[start:end].strip(" \n*`.")
    if not said or len(said) > _FEW_WORDS or "\n" in said or _MARKED.search(said):
        return None
    lexed = lex(said, 0, len(said))
    at = text.find(said, start)
    whole = Reading(said, at, at + len(said), "all of it", rank=SAID)
    return None if lexed.has(_NOT_ALL, 0, len(lexed.tokens)) else whole


@lru_cache(maxsize=1)  # a response may be read as several kinds of answer
def before_loop(text: str, start: int, end: int) -> int:
    """Return the end of a text before it repeats its last line over and over, if that line adds nothing new."""
    tail = text[max(start, end - _LONGEST_LINE * 3) : end].rstrip()
    line = tail[tail.rfind("\n") + 1 :]
    before = tail[: -len(line) - 1] if line else ""
    last = before[before.rfind("\n") + 1 :]
    if line and last.startswith(line) and last != line and before.endswith(f"{last}\n{last}"):
        return end - len(line)  # cut off in a repetition
    if not line or len(line) > _LONGEST_LINE or tail.count("\n" + line) < _LOOP:
        return end
    if any(map(str.isdigit, line)) or "boxed" in line:
        return end
    at = start + len(text[start:end].rstrip()) - len(line)
    rounds = (line + "\n") * _ROUNDS
    while text.startswith("\n" + rounds, at - len(rounds) - 1, at) and at - len(rounds) > start:
        at -= len(rounds)  # a long loop, faster than line by line
    while at > start and text.startswith(line, at):
        at = text.rfind("\n", start, max(start, at - 1)) + 1 if at > start + 1 else start
    return max(text.find("\n", at, end), at) if not text.startswith(line, at) else at


def _by_choice(
    sections: ResponseSections, kind: Kind, reading: Reading | None, texts: dict[str, str]
) -> Reading | None:
    """Treat the letter and the text of a choice as the same answer if the choices are known."""
    if kind.name != "letter":
        if reading is None or kind.name == "word":
            lettered = _read(sections, LETTERS, {})
            reading = lettered if reading is None or (lettered and lettered.rank > reading.rank) else reading
        letter = reading.answer.strip("()[]. ") if reading is not None else ""
        if reading is None or letter not in texts:
            return reading
        return replace(reading, answer=texts[letter], alternative=reading.alternative or letter)
    if reading is not None and set(reading.answer) <= texts.keys():
        return reading
    for said in (reading, _read(sections, VALUE, {})):
        if said is not None and (letter := _choice_said(said, texts)):
            return replace(said, answer=letter)
    return reading


def _choice_said(reading: Reading, texts: Mapping[str, str]) -> str:
    """Return the letter of the one choice with the text of a reading: `III` may be the text of C."""
    from markscheme.marking.equality import compare

    for said in filter(None, (reading.answer, reading.alternative)):
        letters = [letter for letter, text in texts.items() if said == text or compare(said, text).equal]
        if len(letters) == 1:
            return letters[0]
    return ""


def _of_typeset(text: str, start: int, typeset: ExtractedAnswer, kind: Kind) -> Reading:
    """Return the reading of a typeset answer: a list, a sentence, a number with its unit."""
    content, form, begin = typeset.content, typeset.form, typeset.start
    if form == "json" and content.startswith("[") and "," in content and text[begin - 1] not in ("'", '"'):
        return Reading(content, begin, typeset.end, "json", ASSERTED, content[1:-1].replace(",", ";"))
    prose = _prose_of(content, form, kind.name)
    language = ""
    if prose is not None and len(prose) < _LITTLE < begin - start:  # a word or two are too few to tell their language
        language = language_of(text[max(start, begin - NEAR) : begin].rpartition("\\")[0])
    meanings = _meanings if len(content) < _LASTING else _meanings.__wrapped__
    answer, alternative = meanings(content, prose, form, kind, language)
    return Reading(answer, begin, typeset.end, form, ASSERTED, alternative, typeset.parts)


def _prose_of(content: str, form: str, kind: str) -> str | None:
    """Return the words of a typeset answer that is to be read like a sentence, `None` for plain mathematics."""
    words = content
    if "\\" in content and (kind != "value" or is_worded(content)):
        words = as_prose(content, formulas=kind == "value")
    sentence = kind in ("letter", "word") or words != content or (form != "boxed" and not content.isdecimal())
    return words if sentence else None


@lru_cache(maxsize=4096)  # the samples of a problem repeat the same answers
def _meanings(content: str, prose: str | None, form: str, kind: Kind, language: str) -> tuple[str, str | None]:
    """Return a typeset answer and its alternative."""
    alternative = other_writing(content, form) if kind.name == "value" else None
    if prose is None:
        return content, alternative
    inner = _in_prose(prose, 0, len(prose), _Wanted(kind, language=language))
    lexed = lex(prose, 0, min(len(prose), _ENDLESS), language=language)
    two = kind is VALUE and says_two(lexed)
    alternative = None if two and form == "json" else alternative
    otherwise = lexed.has(kinds.BOUND, 0, 0) or two
    if inner is not None and kind is VALUE and inner.rank == SAID:
        otherwise = otherwise or counts_another(lexed, inner.answer)
    if inner is not None and inner.answer != content and not otherwise:
        alternative = alternative or inner.alternative or inner.answer
    if kind.name != "value":
        content = prose
    if kind.name in ("letter", "word") and alternative is not None:
        content, alternative = alternative, content
    return content, alternative


def _mood_around(text: str, start: int, end: int, typeset: ExtractedAnswer, outer: int, more: bool) -> str:
    """Return the mood of the sentence around a typeset answer, and whether `more` text retracts it."""
    opens = typeset.start
    if typeset.form == "json":  # the other fields do not describe the answer
        near = max(start, opens - _TAIL)
        start = max(near, text.rfind("\n", near, opens) + 1, *(text.rfind(mark, near, opens - 1) for mark in "{,"))
    if not more and is_plain(text[max(start, opens - 100, text.rfind("\n", start, opens)) : opens]):
        return ASSERTED  # nearly every box
    if outer - opens > _ENDLESS:
        return ASSERTED  # no answer in any mood
    line = max(start, text.rfind("\n", max(start, opens - _AROUND), opens) + 1, opens - _AROUND)
    lexed = lex(text, line, min(end, outer + _AROUND))
    at = next((at for at, token in enumerate(lexed.tokens) if token.start <= typeset.start < token.end), -1)
    parts = clauses(lexed)
    number = next((number for number, each in enumerate(parts) if each.first <= at <= each.last), None)
    if number is None:
        return ASSERTED
    clause = parts[number]
    mood = mood_of(lexed, clause, at, at)
    supposed = mood == CONDITIONAL and clause.kinds & kinds.WOULD  # else the condition may be part of the question
    if supposed or mood in (DENIED, OPERATED, HEDGED, BOUNDED) or clause.ender == kinds.ASKS:
        return mood
    rest = next((place for place in range(at, clause.last + 1) if lexed.tokens[place].start >= outer), None)
    after = [] if rest is None else [replace(clause, first=rest)]
    taken = any(takes_back(lexed, each) for each in (*after, *parts[number + 1 : number + 3]))
    return RETRACTED if taken else ASSERTED


def _in_prose(text: str, start: int, end: int, wanted: _Wanted) -> Reading | None:
    """Return the answer given in sentences; the end of the text is searched first."""
    said = labelled(text, start, end) if not wanted.texts else None
    if said is not None and wanted.kind is (LETTERS if said[0].isalpha() else VALUE):
        return Reading(*said, "the answer is", rank=STATED)
    line = text.rfind("\n", max(start, end - LINE), end) + 1
    if line > start and _LABELLED.search(text, line, end):  # perhaps in another language than the text
        reading = _in_tail(text, line, end, wanted)
        if reading is not None and reading.rank >= STATED:
            return reading
    begin, far = near_end(text, start, end), max(start, end - _TAIL)
    reading = _in_tail(text, begin, end, wanted)
    if begin == far or (reading is not None and (reading.rank >= STATED or not announces(text, far, begin))):
        return reading
    return _in_tail(text, far, end, wanted)


def _in_tail(text: str, start: int, end: int, wanted: _Wanted) -> Reading | None:
    kind = wanted.kind
    lexed = lex(text, start, end, wanted.texts, wanted.language)
    found = [each for each in candidates(lexed, kind, plainly=wanted.plainly) if each.rank >= wanted.least]
    chosen = best(found)
    if chosen is None:
        return None
    value = chosen.value
    begin, end = lexed.tokens[value.first].start, lexed.tokens[value.last].end
    alternative, parts = None, value.parts
    if kind.name == "value":
        alternative = other_writing(value.content, "prose", text[end : end + 1] == "!")
    elif kind.name == "text":
        alternative, parts = parts[0] if parts else None, ()
    side = value.content.rpartition("=")[2].strip()
    if kind.name == "value" and "=" in value.content and any(side == each.value.content for each in found):
        alternative = side  # "The answer: $x + 4 = 66$. Therefore, the value is 66."
    if kind.name != "letter" and _LABEL.fullmatch(value.content):  # "d = 26. So the answer is (C)."
        before = [each for each in found if each.mood == ASSERTED and each.value.last < value.first]
        if before and (said := before[-1].value.content) and not _LABEL.fullmatch(said):
            alternative = said
    return Reading(value.content, begin, end, chosen.rule, chosen.mood, alternative, parts, chosen.rank)
