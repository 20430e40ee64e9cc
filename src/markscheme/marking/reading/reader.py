r"""The answer of a response: one reading and at most one alternative, made without the gold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

from markscheme.marking.reading import kinds
from markscheme.marking.reading.boxes import boxed_answer
from markscheme.marking.reading.choices import choice_texts
from markscheme.marking.reading.clauses import ASSERTED, DENIED, HEDGED, OPERATED, RETRACTED, clauses, mood_of
from markscheme.marking.reading.ending import is_cut_off, thinks_on
from markscheme.marking.reading.extracted import ExtractedAnswer
from markscheme.marking.reading.fields import json_answer
from markscheme.marking.reading.grammar import (
    CHOSEN,
    CONCLUDED,
    SAID,
    STATED,
    TYPESET,
    UNSAID,
    Candidate,
    best,
    candidates,
)
from markscheme.marking.reading.lexer import Lexed, lex, near_end
from markscheme.marking.reading.meaning import opens_bounded, says_two
from markscheme.marking.reading.numbers import ascii_digits
from markscheme.marking.reading.quantities import inside
from markscheme.marking.reading.retractions import takes_back
from markscheme.marking.reading.sections import ResponseSections
from markscheme.marking.reading.tags import closed_answer, finished_answer, tagged_answer
from markscheme.marking.reading.values import LETTERS, VALUE, Kind
from markscheme.marking.reading.words import WORD_PATTERN, announces, english, language_of, vocabulary
from markscheme.marking.reading.writings import other_writing

_TYPESET: Final = (json_answer, boxed_answer, tagged_answer, finished_answer)
_TAIL: Final = 1_500  # characters from the end in which an answer in prose is looked for
_AROUND: Final = 300
_SHORTEST: Final = 6  # nothing that states an answer after another one is shorter
_LABELLED: Final = re.compile(r"[:：#]")
_GOES_ON: Final = 40  # characters after an answer that are not a farewell
_LAST_LINE: Final = 120  # characters of a last line that is read by itself first: "ANSWER: 72"
_LONGEST_LINE: Final = 200
_LOOP: Final = 4
_WORDS_INSIDE: Final = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|operatorname)\s?\{([^{}]*)\}")
_ROWS: Final = re.compile(r"\\begin\{[a-z]+\*?\}|\\end\{[a-z]+\*?\}|\\\\(?:\[[^\]]{0,9}\])?|&")
_IN_PROSE: Final = re.compile(r"\\text\s?\{[^{}]*[a-z]{2}|\\Rightarrow|\\implies|⇒")
_ARROW: Final = re.compile(r"\\Rightarrow|\\implies|⇒")
_SENTENCE: Final = 3  # words in a formula that make a sentence of it; fewer are a unit or a condition
_LETTER_SET: Final = re.compile(r"[A-J]{1,6}")
_NOT_ALL: Final = (
    kinds.NOT
    | kinds.BAD
    | kinds.HEDGE
    | kinds.BOUND
    | kinds.OPERATE
    | kinds.ASK
    | kinds.RETRACT
    | kinds.REMARK
    | kinds.STEP
    | kinds.IS
)
_NOT_PLAIN: Final = kinds.NOT | kinds.BAD | kinds.HEDGE | kinds.BOUND | kinds.OPERATE | kinds.IF | kinds.RETRACT
_ASCII_WORD: Final = re.compile(r"[a-z']+")
_CODE: Final = re.compile(r"__\w+__")
_BARE: Final = 300
_COMMANDS: Final = re.compile(r"\\(?:begin|end)\s?\{[a-z]+\}|\\text\s?\{\s?[^{}\s]*\s?\}|\\[a-zA-Z]+")
_MARKED: Final = re.compile(r"__|[.!?]\s|[:#？。]|\d\s\d|[(\[][A-J][)\]]")
_WORD: Final = re.compile(WORD_PATTERN)
_LABEL: Final = re.compile(r"\(?[A-J]\)?")
_LETTERED: Final = re.compile(r"[^\W\d_]")


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


def typeset_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """The last answer in a form made for it: a JSON field, a box, a tag, `Finish[…]`."""
    found, begin = None, start
    for find in _TYPESET:
        if (answer := find(text, begin, end)) is not None:
            found, begin = answer, answer.outer_end
            if end - begin < _SHORTEST:
                break
    return found or closed_answer(text, start, end)


def final_answer(sections: ResponseSections, kind: Kind) -> Reading | None:
    """The answer that a response gives; of one that was cut off, only if it was stated before."""
    reading = read_answer(sections, kind)
    if reading is None or reading.rank == TYPESET:
        return reading
    if reading.rank < STATED or (sections.end - reading.end > _GOES_ON and thinks_on(sections, reading.end)):
        return None if is_cut_off(sections) else reading
    return reading


def read_answer(sections: ResponseSections, kind: Kind) -> Reading | None:
    """The answer that a response gives, or `None`."""
    sections, texts = prepared(sections)
    reading = _read(sections, kind, texts if kind.name == "letter" else {})
    return _by_choice(sections, kind, reading, texts) if texts else reading


def prepared(sections: ResponseSections) -> tuple[ResponseSections, dict[str, str]]:
    """A response with plain digits and without ornaments, every place where it was, and the texts of its choices."""
    if not sections.text.isascii():
        sections = sections.undecorated()
        sections = sections._replace(text=ascii_digits(sections.text))
    return sections, choice_texts(
        sections.choices, sections.statement
    ) if sections.statement or sections.choices else {}


def _read(sections: ResponseSections, kind: Kind, texts: Mapping[str, str]) -> Reading | None:
    text, start, end = sections.text, sections.start, sections.end
    typeset = typeset_answer(text, start, end)
    if typeset is None:
        if _CODE.search(text, max(start, end - 200), end):
            return None
        end = before_loop(text, start, start + len(text[start:end].rstrip()))
        if (
            end - start < _BARE
            and kind.name in ("value", "text")
            and (bare := _bare_answer(text, start, end)) is not None
        ):
            return bare
        reading = _in_prose(text, start, end, kind, texts=texts)
        if reading is not None and kind.name == "word" and reading.rule == UNSAID:
            return None
        if (reading is None or reading.rank < CHOSEN) and kind.name in ("letter", "word"):
            reading = _in_first_line(text, start, end, kind) or reading
        return reading or (_all_of_it(text, start, end) if kind.name in ("value", "text") and not texts else None)
    outer = typeset.outer_end or typeset.end
    mood = _mood_around(text, start, end, typeset, outer)
    later = None
    if end - outer >= _SHORTEST and _LETTERED.search(text, outer, end):
        least = STATED if mood == ASSERTED else CHOSEN
        later = _in_prose(text, outer, end, kind, least, plainly=mood == ASSERTED)
    if later is not None:
        return later
    if mood in (RETRACTED, DENIED):
        return _in_prose(text, outer, end, kind)
    if mood != ASSERTED:
        return None
    reading = _of_typeset(typeset, kind, quoted=text[typeset.start - 1 : typeset.start] in ("'", '"'))
    if kind.name == "letter" and not _LETTER_SET.fullmatch(reading.answer):
        return _in_prose(text, start, end, kind, CONCLUDED) or reading
    return reading


def _in_first_line(text: str, start: int, end: int, kind: Kind) -> Reading | None:
    """The choice or word with which a response opens, on a line of its own, before it explains itself."""
    begin = start + len(text[start : start + _LAST_LINE]) - len(text[start : start + _LAST_LINE].lstrip())
    line = text.find("\n", begin, min(end, begin + _LAST_LINE))
    if line < 0 or not text[line:end].strip():
        return None
    found = [each for each in candidates(lex(text, begin, line), kind) if each.clause == 0 and each.mood == ASSERTED]
    if not found or found[0].rule not in ("a line of its own", "a label"):
        return None
    return _reading(lex(text, begin, line), found[0], kind)._replace(rule="the first line", rank=STATED)


def _bare_answer(text: str, start: int, end: int) -> Reading | None:
    """A response that is one line of mathematics and nothing else is its answer."""
    said = text[start:end].strip(" \n\t∴⇒→").rstrip("\\")
    if not said or "\n" in said or _LABEL.fullmatch(said) or _MARKED.search(said):
        return None
    own = vocabulary(language_of(said))
    for word in _WORD.findall(_COMMANDS.sub(" ", said).lower()):
        known = english().classes(word) or own.classes(word) & (kinds.NOT | kinds.BUT)  # "Nu 12, ci 8"
        if len(word) > 2 or word > "\u0400" or (len(word) == 2 and known):
            return None
    at = text.find(said, start)
    alternative = other_writing(said, "prose", said.endswith("!")) if said[0] != "(" else None
    return Reading(inside(said.strip("*` ")), at, at + len(said), "all of it", ASSERTED, alternative)


def _all_of_it(text: str, start: int, end: int) -> Reading | None:
    """A few words that say nothing else are the answer, "The empty set"."""
    said = text[start:end].strip(" \n*`.")
    if not said or len(said) > 40 or "\n" in said or _MARKED.search(said):
        return None
    lexed = lex(said, 0, len(said))
    if any(token.kinds & _NOT_ALL for token in lexed.tokens):
        return None
    at = text.find(said, start)
    return Reading(said, at, at + len(said), "all of it", rank=SAID)


def before_loop(text: str, start: int, end: int) -> int:
    """Where a text ends that says its last line over and over: before the loop, if that line says nothing new."""
    tail = text[max(start, end - _LONGEST_LINE * 3) : end].rstrip()
    line = tail[tail.rfind("\n") + 1 :]
    if not line or len(line) > _LONGEST_LINE or any(map(str.isdigit, line)) or "boxed" in line:
        return end
    if tail.count("\n" + line) < _LOOP:
        return end
    at = start + len(text[start:end].rstrip()) - len(line)
    while at > start and text.startswith(line, at):
        at = text.rfind("\n", start, max(start, at - 1)) + 1 if at > start + 1 else start
    return max(text.find("\n", at, end), at) if not text.startswith(line, at) else at


def _by_choice(
    sections: ResponseSections, kind: Kind, reading: Reading | None, texts: dict[str, str]
) -> Reading | None:
    """Letter and text of a choice are the same answer, where the choices are known."""
    if kind.name != "letter":
        if reading is None or kind.name == "word":
            lettered = _read(sections, LETTERS, {})
            reading = lettered if reading is None or (lettered and lettered.rank > reading.rank) else reading
        letter = reading.answer.strip("()[]. ") if reading is not None else ""
        if reading is None or letter not in texts:
            return reading
        return reading._replace(answer=texts[letter], alternative=reading.alternative or letter)
    if reading is not None and set(reading.answer) <= texts.keys():
        return reading
    named = _choice_said(reading, texts)
    if named is not None and reading is not None:
        return reading._replace(answer=named)
    other = _read(sections, VALUE, {})
    named = _choice_said(other, texts)
    return other._replace(answer=named) if other is not None and named is not None else reading


def _choice_said(reading: Reading | None, texts: Mapping[str, str]) -> str | None:
    """The letter of the one choice whose text a reading gives: `III` may be the text of C."""
    from markscheme.marking.equality import compare

    for said in (reading.answer, reading.alternative) if reading is not None else ():
        letters = [letter for letter, text in texts.items() if said and (said == text or compare(said, text).equal)]
        if len(letters) == 1:
            return letters[0]
    return None


def _of_typeset(typeset: ExtractedAnswer, kind: Kind, *, quoted: bool) -> Reading:
    content, start, end, form, *_ = typeset
    if form == "json" and not quoted and content.startswith("[") and "," in content:
        items = content[1:-1].replace(",", ";")
        return Reading(content, start, end, "json", ASSERTED, items)
    worded = content
    if "\\" in content and (kind.name != "value" or _IN_PROSE.search(content)):
        worded = _as_prose(content, formulas=kind.name == "value")
    alternative = other_writing(content, form) if kind.name == "value" else None
    if form != "boxed" or kind.name in ("letter", "word") or worded is not content:
        inner = _in_prose(worded, 0, len(worded), kind)
        if (
            inner is not None
            and not opens_bounded(worded)
            and inner.answer != content
            and not (kind is VALUE and says_two(worded))
        ):
            alternative = alternative or inner.alternative or inner.answer
    if kind.name != "value":
        content = worded
    if kind.name in ("letter", "word") and alternative is not None:
        content, alternative = alternative, content
    return Reading(content, start, end, form, ASSERTED, alternative, typeset.parts)


def _as_prose(content: str, *, formulas: bool) -> str:
    """A sentence that is set as a formula, as it would be written outside of one: its words bare, its `formulas` in signs."""
    content = _ROWS.sub("\n", content).replace("\\;", " ").replace("\\,", " ")
    words = sum(len(words.split()) for words in _WORDS_INSIDE.findall(content))
    if not formulas or (words < _SENTENCE and not _ARROW.search(content)):
        return _WORDS_INSIDE.sub(r" \1 ", content).strip(" $")
    lines = (_WORDS_INSIDE.sub(r"$ \1 $", _ARROW.sub("$ ⇒ $", line)) for line in content.split("\n"))
    return "\n".join(f"${line}$".replace("$$", "") for line in lines)


def _is_plain(lead: str) -> bool:
    """Whether no word of what leads to an answer could change how it is meant."""
    words = _ASCII_WORD.findall(lead.lower())
    moody, pairs = _moody()
    return lead.isascii() and moody.isdisjoint(words) and pairs.isdisjoint(pairwise(words))


@cache
def _moody() -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
    """The English words with which anything but an assertion is said, and the first two words of such phrases."""
    known, bits = english(), _NOT_PLAIN
    single = {word for word, classes in known.words.items() if classes & bits}
    return frozenset(single), frozenset(
        (words[0], words[1]) for words, classes in known.phrases.items() if classes & bits
    )


def _mood_around(text: str, start: int, end: int, typeset: ExtractedAnswer, outer: int) -> str:
    """The mood of the sentence around a typeset answer, and whether what follows takes it back."""
    opens = typeset.start
    if typeset.form == "json":  # what the other fields say is not about the answer
        near = max(start, opens - _TAIL)
        start = max(near, text.rfind("\n", near, opens) + 1, *(text.rfind(mark, near, opens - 1) for mark in "{,"))
    brief = end - outer < _SHORTEST and "?" not in text[outer:end]
    if brief and _is_plain(text[max(start, opens - 100, text.rfind("\n", start, opens)) : opens]):
        return ASSERTED  # nearly every box
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
            if mood in (DENIED, OPERATED, HEDGED) or clause.ender == kinds.ASKS:
                return mood
            rest = next((place for place in range(at, clause.last + 1) if lexed.tokens[place].start >= outer), None)
            after = [] if rest is None else [clause._replace(first=rest)]
            if any(takes_back(lexed, each) for each in (*after, *parts[number + 1 : number + 3])):
                return RETRACTED
            break
    return ASSERTED


def _in_prose(
    text: str,
    start: int,
    end: int,
    kind: Kind,
    least: int = 0,
    *,
    plainly: bool = False,
    texts: Mapping[str, str] | None = None,
) -> Reading | None:
    """The answer that sentences give, at least of a rank; looked for near the end first."""
    line = text.rfind("\n", max(start, end - _LAST_LINE), end) + 1
    if line > start and _LABELLED.search(text, line, end):
        reading = _in_tail(text, line, end, kind, least, plainly, texts)
        if reading is not None and reading.rank >= STATED:
            return reading
    begin, far = near_end(text, start, end), max(start, end - _TAIL)
    reading = _in_tail(text, begin, end, kind, least, plainly, texts)
    if begin == far or (reading is not None and (reading.rank >= STATED or not announces(text, far, begin))):
        return reading
    return _in_tail(text, far, end, kind, least, plainly, texts)


def _in_tail(
    text: str, start: int, end: int, kind: Kind, least: int, plainly: bool, texts: Mapping[str, str] | None
) -> Reading | None:
    lexed = lex(text, start, end, texts)
    found = [each for each in candidates(lexed, kind, plainly=plainly) if each.rank >= least]
    chosen = best(found)
    if chosen is None:
        return None
    reading = _reading(lexed, chosen, kind)
    if kind.name != "letter" and _LABEL.fullmatch(reading.answer):  # "d = 26. So the answer is (C)."
        before = [each for each in found if each.mood == ASSERTED and each.value.last < chosen.value.first]
        if before and (said := before[-1].value.content) and not _LABEL.fullmatch(said):
            return reading._replace(alternative=said)
    return reading


def _reading(lexed: Lexed, chosen: Candidate, kind: Kind) -> Reading:
    value, tokens = chosen.value, lexed.tokens
    start, end = tokens[value.first].start, tokens[value.last].end
    alternative = value.parts[0] if kind.name == "text" and value.parts else None
    if kind.name == "value":
        alternative = other_writing(value.content, "prose", lexed.text[end : end + 1] == "!")
    parts = value.parts if kind.name != "text" else ()
    return Reading(value.content, start, end, chosen.rule, chosen.mood, alternative, parts, chosen.rank)
