"""How `math` judges golds out of a few: a letter of a multiple-choice question, or a word such as yes, odd or Monday.

Knowing the kind of the gold says what to look for in a response; it never says which one to find.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from markscheme.marking.equality import compare
from markscheme.marking.extraction.answer_forms import explicit_answer, extract_answer
from markscheme.marking.extraction.choice_letters import announced_letter, letter_in, letter_of_lines, lone_letter
from markscheme.marking.extraction.choices import choice_texts
from markscheme.marking.extraction.endings import is_cut_off
from markscheme.marking.extraction.extracted import ExtractedAnswer
from markscheme.marking.extraction.sections import ResponseSections
from markscheme.marking.extraction.sentences import stated_value
from markscheme.marking.extraction.value_spans import value_span
from markscheme.marking.extraction.word_answers import said_word, word_answer, word_class
from markscheme.marking.protocol import Assessment
from markscheme.types import Verdict

_GOLD_LETTER: Final = re.compile(
    r"\\(?:text|textbf|mathrm|mathbf)\{\s?\(?([A-J])\)?\s?\}|\(?([A-J])\)?[.:)]?|([A-J]{2,5})"
)


@lru_cache(maxsize=4096)
def gold_letter(gold: str) -> str | None:
    """The letter of a gold that is one: `B`, `(B)`, `\\text{(B)}`."""
    letter = _GOLD_LETTER.fullmatch(gold)
    return (letter[1] or letter[2] or letter[3]) if letter else None


def by_letter(sections: ResponseSections, letter: str) -> Assessment | None:
    """The verdict on a response to a multiple-choice question; `None` when it names no choice in any way."""
    text, start, end = sections.text, sections.start, sections.end
    texts = choice_texts(sections.choices, sections.statement)
    lone = None if sections.cut_off else lone_letter(text, start, end)
    if lone is not None:
        return _chosen(lone, lone.content, letter)
    explicit = explicit_answer(text, start, end)
    named = None if explicit is None else letter_in(explicit.content)
    if explicit is not None and explicit.form in ("json", "boxed", "tagged", "hashes"):
        named = named or _choice_of(explicit.content, texts)
        if named is not None:
            return _chosen(explicit, named, letter)
        if explicit.form == "json":
            return None
    cut_off = explicit is None and is_cut_off(sections)
    chosen = None if sections.cut_off and explicit is None else announced_letter(text, start, end)
    if chosen is not None and cut_off and end - chosen.end > _FAREWELL:
        chosen = None  # what the working says of an option, not what it comes to
    if chosen is None and named is None and not cut_off:
        chosen = letter_of_lines(text, start, end)
    if chosen is not None:
        return _chosen(chosen, chosen.content, letter)
    answer = explicit if explicit is not None else extract_answer(sections)
    named = None if answer is None else letter_in(answer.content) or _choice_of(answer.content, texts)
    return None if named is None or answer is None else _chosen(answer, named, letter)


def text_of_choice(sections: ResponseSections, content: str, own: str | None = None) -> str | None:
    """What stands behind the letter that an answer names, where the problem's choices are known; its own words (`own`)
    count more than its letter where they are those of another choice."""
    texts = choice_texts(sections.choices, sections.statement)
    letter = letter_in(content) if texts else None
    if letter is None:
        return None
    return texts.get((_choice_of(own, texts) if own else None) or letter)


def _choice_of(content: str, texts: dict[str, str]) -> str | None:
    """The letter of the one choice that says the same as the content."""
    same = [letter for letter, text in texts.items() if compare(content, text).equal]
    return same[0] if len(same) == 1 else None


def _chosen(answer: ExtractedAnswer, named: str, letter: str) -> Assessment:
    verdict, relation = (Verdict.CORRECT, "is") if set(named) == set(letter) else (Verdict.WRONG, "is not")
    return Assessment(verdict, answer.content, f"choice {named} {relation} {letter}", (answer.start, answer.end))


def by_words_of_letter(sections: ResponseSections, right: str) -> Assessment | None:
    """A choice that is right because its text, as the problem or the response gives it, is the gold; else `None`."""
    letter = announced_letter(sections.text, sections.start, sections.end)
    if letter is None:
        return None
    stated = text_of_choice(sections, letter.content)
    if stated is None:
        same = said_with_letter(sections, letter, right, before=not right[:1].isdigit())
    else:
        same = compare(stated, right).equal is True
    span = (letter.start, letter.end)
    return Assessment(Verdict.CORRECT, letter.content, "the text of its letter", span, ("choice",)) if same else None


def said_with_letter(sections: ResponseSections, answer: ExtractedAnswer, right: str, *, before: bool = True) -> bool:
    """Whether an answer is a bare letter and its text, which is the gold, stands behind it, beside its letter further up,
    or in the sentence before: "It begins at 11:55 A.M. The answer is D." """
    bare = _BARE_LETTER.fullmatch(answer.content)
    if bare is None or choice_texts(sections.choices, sections.statement):
        return False
    text, start, end = sections.text, sections.start, sections.end
    marks = _BEHIND_LETTER.match(text, answer.end, end)
    behind = text[slice(*value_span(text, marks.end() if marks else answer.end, end))]
    listed = re.findall(_LISTED.format(bare[1]), text[max(start, answer.start - 4_000) : answer.start])
    if any(said.strip() and compare(said.strip(" ()"), right).equal for said in (behind, *listed[-2:])):
        return True
    near = text[max(start, answer.start - 400) : answer.start].replace("\\n", "\n").rstrip()
    sentences = [each for each in _SENTENCE.split(near) if each.strip()][-2:]
    if not before or len(sentences) < 2 or end - answer.end > _FAREWELL:
        return False
    said = sentences[0]
    ending = (
        re.search(rf"(?<!\w){re.escape(right)}(?:\s\w+){{0,2}}\W*\Z", said, re.IGNORECASE) if len(right) > 2 else None
    )
    if ending is not None:
        return _DENIES.search(said, 0, ending.start()) is None
    return compare(stated_value(said, 0, len(said)).content, right).equal is True


_BARE_LETTER: Final = re.compile(r"[\s(\[*_]*(?:choice\s\(?|option\s\(?)?([A-J])[\s)\].*_]*")
_BEHIND_LETTER: Final = re.compile(r"[\s*_)\]}.:,]{0,6}")
_LISTED: Final = r"(?<![A-Za-z]){0}[).:]\s+([^\n.]{{1,80}})"
_SENTENCE: Final = re.compile(r"(?<=[.!?*`])\s+(?=[A-Z])|\n")
_DENIES: Final = re.compile(r"\b(?:no|not|or|nor|neither|than)\b|n't", re.IGNORECASE)
_FAREWELL: Final = 100
"""Characters that may follow a letter whose text stands before it: a longer text says something else."""


def by_word(sections: ResponseSections, gold: str) -> Assessment | None:
    """The verdict on a response to a question that has a few words for answers; `None` when it says none of them."""
    members = word_class(gold)
    if not members:
        return None
    right = said_word(gold, members)
    text, start, end = sections.text, sections.start, sections.end
    explicit = explicit_answer(text, start, end)
    said = None if explicit is None else said_word(explicit.content, members)
    if explicit is None or said is None:
        explicit = None if sections.cut_off else word_answer(text, start, end, members)
        said = None if explicit is None else explicit.content.lower()
    if explicit is None or said is None or right is None:
        return None
    verdict, relation = (Verdict.CORRECT, "is") if said == right else (Verdict.WRONG, "is not")
    return Assessment(verdict, explicit.content, f"{said} {relation} {right}", (explicit.start, explicit.end))
