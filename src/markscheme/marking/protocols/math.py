"""`math`: the final answer is mathematically equal to the gold answer.

The reader finds the answer without knowing the gold; equality compares the two. Undecided is `unmarkable`, never a
guess.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from markscheme.marking.equality import AnswerComparison, compare
from markscheme.marking.equality.units import unit_asked
from markscheme.marking.protocol import Assessment
from markscheme.marking.protocols.numeric import is_endless, judged
from markscheme.marking.reading import kinds
from markscheme.marking.reading.numbers import ascii_digits
from markscheme.marking.reading.reader import Reading, final_answer, typeset_answer
from markscheme.marking.reading.sections import ResponseSections
from markscheme.marking.reading.statement import places_asked
from markscheme.marking.reading.values import LETTERS, TEXT, VALUE, WORD_CLASSES, Kind
from markscheme.marking.reading.words import answering, english
from markscheme.marking.restating import asks_to_work_out, is_same_writing, restates
from markscheme.types import Gold, Verdict

_LETTER: Final = re.compile(
    r"\$?\\(?:text|textbf|mathrm|mathbf)\{\s?\(?([A-J])\)?\s?\}\$?|\$([A-J])\$\.?|\(?([A-J])\)?[.:)]?|([A-J]{2,5})|\(([a-j])\)|([a-e])"
)
_TEXT: Final = re.compile(r"\\(?:text|mbox|mathrm|textbf)\s?\{([^{}]*)\}")
_FORMULAS: Final = re.compile(r"\$[^$]*\$")
_LONG_WORD: Final = re.compile(r"[a-z]{3,}")
_LONG_NAME: Final = re.compile(r"(?=.*[^\W\d_]{3})[^\W\d_]+(?:[-'’][^\W\d_]+)*[.,]?")
_HALF: Final = Fraction(1, 2)
_MATHEMATICAL: Final = re.compile(r"[\d\\$=+^]")
# Words of one class that answer the same question.
_LONGEST_YES: Final = 10  # letters of "yes", "no", "true" or "false" in any language, and fewer
_GROUPS: Final = (("yes", "no"), ("true", "false"), ("none", "all", "unknown"))


class Asked(Struct, frozen=True, gc=False):
    """A gold answer and the kind of answer it asks for, which is all that the reader knows of it."""

    answer: str
    kind: Kind
    letter: str | None = None  # for a choice
    word: str | None = None  # for a small class: yes, true, Monday …

    @property
    def is_ambiguous(self) -> bool:
        """True for `e`, which may be a choice or a number."""
        return self.letter is not None and len(self.answer) == 1 and self.answer.islower()


@lru_cache(maxsize=16384)
def asked(gold: str) -> Asked:
    """Return the kind of answer that a gold asks for."""
    answer = gold_answer(gold)
    if (letter := _LETTER.fullmatch(answer)) is not None:
        return Asked(answer, LETTERS, letter[letter.lastindex or 0].upper())
    bare = _TEXT.sub(r"\1", answer).strip()
    if (word := _word_asked(answer, bare.lower())) is not None:
        return word
    brackets = not re.search(r"\w", bare)  # the brace to be closed
    sentence = "$" in bare and _LONG_WORD.search(_FORMULAS.sub("", bare))
    words = not _MATHEMATICAL.search(bare) and any(_LONG_NAME.fullmatch(each) for each in bare.split())
    whole = (english().values.get(each.strip("."), _HALF) for each in bare.lower().split())
    words = words and not all(each.denominator == 1 for each in whole)
    return Asked(answer, TEXT if brackets or sentence or words else VALUE)


def _word_asked(answer: str, bare: str) -> Asked | None:
    """Return what a gold such as yes, odd or Monday asks for: one of a few words."""
    classes = english().classes(bare)
    if not classes and (not bare.isascii() or (bare.isalpha() and 1 < len(bare) < _LONGEST_YES)):
        classes = answering(bare)
    group = next((words for words in english().groups if bare in words), None)
    if group is not None and not classes & (kinds.YES | kinds.NO | kinds.TRUE | kinds.FALSE):
        return Asked(answer, Kind("word", 0, group), word=bare)
    for names in _GROUPS:
        if name := next((name for name in names if classes & WORD_CLASSES[name]), None):
            return Asked(answer, Kind("word", sum(WORD_CLASSES[each] for each in names)), word=name)
    return None


def gold_answer(gold: str) -> str:
    r"""Return the answer in a gold given as `\boxed{42}`, `<answer>42</answer>`, `#### 42`, or with solution text
    around it.
    """
    if "####" in gold:
        gold = gold.rpartition("####")[2]
    elif "\\boxed" in gold or "<answer>" in gold:
        answer = typeset_answer(gold, 0, len(gold))
        gold = gold if answer is None else answer.content
    return ascii_digits(gold.strip())


def judge(sections: ResponseSections, gold: Gold) -> Assessment:
    """Judge as correct or wrong, or explain why the answer cannot be judged."""
    right = asked(str(gold))
    reading = final_answer(sections, right.kind)
    if right.is_ambiguous:
        reading = _letter_or_value(reading, final_answer(sections, VALUE))
    if reading is None:
        return Assessment(Verdict.NO_ANSWER, why="no answer was stated")
    if is_endless(reading.answer):
        return Assessment(Verdict.WRONG, reading.answer, "longer than any answer", reading.span)
    found = _compared(sections, reading, right)
    if found.verdict is Verdict.CORRECT and sections.statement and _is_restated(sections, found, right.answer):
        return replace(
            found, verdict=Verdict.WRONG, why="repeats a formula of the statement", flags=(*found.flags, "restated")
        )
    return found


def _letter_or_value(letter: Reading | None, value: Reading | None) -> Reading | None:
    """Return the stronger reading of an answer that may be a choice or a value, with the other as its alternative."""
    if letter is None or value is None:
        return letter or value
    first, second = (value, letter) if value.rank > letter.rank else (letter, value)
    return replace(first, alternative=second.answer)


def _compared(sections: ResponseSections, reading: Reading, right: Asked) -> Assessment:
    if right.letter is not None and not right.is_ambiguous:
        same = sorted(reading.answer.strip()) == sorted(right.letter)
        return Assessment.of(same, reading.answer, right.letter, reading.span)
    named = right.letter or right.word
    if named is not None and reading.answer.strip() == named:
        return Assessment.of(True, reading.answer, right.letter or right.answer, reading.span)
    return judged(reading, _comparison(sections, reading, right.answer))


def _comparison(sections: ResponseSections, reading: Reading, right: str) -> AnswerComparison:
    """Compare the answer or its alternative with the gold, in the form that the statement asks for."""
    result = compare(reading.answer, right)
    if result.equal:
        return result
    one = compare(reading.parts[0], right) if reading.parts else None
    if one is not None and one.equal and all(_is_same(part, reading.parts[0], right) for part in reading.parts[1:]):
        return one
    places = places_asked(sections.statement) if sections.statement else None
    unit = unit_asked(sections.statement) if sections.statement else None
    for said in filter(None, (reading.answer, reading.alternative)):
        if said is not reading.answer and (same := compare(said, right)).equal:
            return same
        if places is not None and (same := compare(said, right, places=places)).equal:
            return same
        if unit and (same := compare(said, right, unit=unit)).equal:
            return same
    return result


def _is_same(part: str, first: str, right: str) -> bool:
    """True if several values are all equal to the gold: "95 minutes or 1 hour and 35 minutes"."""
    return bool(compare(part, right).equal or compare(part, first).equal)


def _is_restated(sections: ResponseSections, found: Assessment, gold: str) -> bool:
    """True if a right answer only repeats the expression to evaluate: `2 + 3` does not answer "Evaluate 2 + 3"."""
    answer, statement = found.answer or "", sections.statement
    label = len(answer.strip("()[]. ")) < 2
    return (
        not label and not is_same_writing(answer, gold) and asks_to_work_out(statement) and restates(answer, statement)
    )
