"""How `math` judges golds out of a few: a letter of a multiple-choice question, or a word such as yes, odd or Monday.

Knowing the kind of the gold says what to look for in a response; it never says which one to find.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from markscheme.marking.equality import compare
from markscheme.marking.extraction.answer_forms import explicit_answer, extract_answer
from markscheme.marking.extraction.choice_letters import chosen_letter, letter_in
from markscheme.marking.extraction.choices import choice_texts
from markscheme.marking.extraction.extracted import ExtractedAnswer
from markscheme.marking.extraction.sections import ResponseSections
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
    explicit = explicit_answer(text, start, end)
    if explicit is not None and explicit.form in ("json", "boxed", "tagged"):
        named = letter_in(explicit.content) or _choice_of(explicit.content, texts)
        if named is not None:
            return _chosen(explicit, named, letter)
        if explicit.form == "json":
            return None
    chosen = None if sections.cut_off and explicit is None else chosen_letter(text, start, end)
    if chosen is not None:
        return _chosen(chosen, chosen.content, letter)
    answer = explicit if explicit is not None else extract_answer(sections)
    named = None if answer is None else letter_in(answer.content) or _choice_of(answer.content, texts)
    return None if named is None or answer is None else _chosen(answer, named, letter)


def text_of_choice(sections: ResponseSections, content: str) -> str | None:
    """What stands behind the letter that an answer names, where the problem's choices are known."""
    texts = choice_texts(sections.choices, sections.statement)
    letter = letter_in(content) if texts else None
    return texts.get(letter) if letter is not None else None


def _choice_of(content: str, texts: dict[str, str]) -> str | None:
    """The letter of the one choice that says the same as the content."""
    same = [letter for letter, text in texts.items() if compare(content, text).equal]
    return same[0] if len(same) == 1 else None


def _chosen(answer: ExtractedAnswer, named: str, letter: str) -> Assessment:
    verdict, relation = (Verdict.CORRECT, "is") if set(named) == set(letter) else (Verdict.WRONG, "is not")
    return Assessment(verdict, answer.content, f"choice {named} {relation} {letter}", (answer.start, answer.end))


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
