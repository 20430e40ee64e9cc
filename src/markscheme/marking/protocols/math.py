r"""`math`: the final answer equals the gold answer as a mathematician means it.

Looks for the last explicit answer, else (unless the response was cut off) for what its last line concludes. Undecided
is `unmarkable`, never a guess.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from markscheme.marking.equality import AnswerComparison, compare
from markscheme.marking.equality.units import read_unit, unit_asked
from markscheme.marking.extraction.answer_forms import explicit_answer, extract_answer, implied_answer
from markscheme.marking.extraction.conclusions import is_in_words, meant_by
from markscheme.marking.extraction.endings import is_cut_off, is_left_behind, is_stub, may_be_whole
from markscheme.marking.extraction.extracted import ExtractedAnswer, trimmed
from markscheme.marking.extraction.numbers import ascii_digits
from markscheme.marking.extraction.rounding import places_asked
from markscheme.marking.extraction.sections import ResponseSections
from markscheme.marking.extraction.sentences import is_prose
from markscheme.marking.extraction.word_answers import word_class
from markscheme.marking.protocol import Assessment
from markscheme.marking.protocols._closed_answers import (
    by_last_word,
    by_letter,
    by_word,
    by_words_of_letter,
    ends_in_word,
    gold_letter,
    said_with_letter,
)
from markscheme.marking.protocols._numeric import is_endless, judged
from markscheme.marking.protocols._second_readings import (
    SECOND_READINGS,
    counted_number,
    grouped_digits,
    is_plain_box,
)
from markscheme.marking.restating import asks_to_work_out, is_same_writing, restates
from markscheme.types import Gold, Verdict


class _Asked(NamedTuple):
    """A gold answer, and what is known of it: the letter that it is, or the words it is one of."""

    answer: str
    letter: str | None
    words: tuple[str, ...]


@lru_cache(maxsize=16384)
def _asked(gold: str) -> _Asked:
    right = gold_answer(gold)
    return _Asked(right, gold_letter(right), word_class(right))


def gold_answer(gold: str) -> str:
    r"""The answer in a gold that comes as `\boxed{42}`, `<answer>42</answer>` or `#### 42`, or with solution text around it."""
    if "\\boxed" in gold or "<answer>" in gold or "####" in gold:
        answer = explicit_answer(gold, 0, len(gold))
        if answer is not None:
            return ascii_digits(answer.content)
    return ascii_digits(gold.strip())


def judge(sections: ResponseSections, gold: Gold) -> Assessment:
    """Correct, wrong, or why neither can be said."""
    found = _judged(sections, gold)
    if found.verdict is Verdict.CORRECT and sections.statement and _is_restated(sections, found, str(gold)):
        return found._replace(
            verdict=Verdict.WRONG, why="repeats a formula of the statement", flags=(*found.flags, "restated")
        )
    return found


def _is_restated(sections: ResponseSections, found: Assessment, gold: str) -> bool:
    """Whether a right answer only repeats what the statement asks to work out: `2 + 3` is not an answer to "Evaluate 2 + 3"."""
    answer, statement = found.answer or "", sections.statement
    if len(answer.strip("()[]. ")) < 2:  # the label of a choice
        return False
    return (
        restates(answer, statement) and asks_to_work_out(statement) and not is_same_writing(answer, gold_answer(gold))
    )


def _judged(sections: ResponseSections, gold: Gold) -> Assessment:
    right, letter, words = _asked(str(gold))
    if not sections.text.isascii():
        sections = sections.undecorated()
    if letter is not None or words:
        closed = by_letter(sections, letter) if letter is not None else by_word(sections, right, words)
        if closed is not None:
            if closed.verdict is Verdict.CORRECT or len(right) > 1 or not right.islower():
                return closed
            opened = _judge_value(sections, right)  # `e` may be a choice or a number
            return opened if opened.verdict is Verdict.CORRECT else closed
    return _judge_value(sections, right)


def _judge_value(sections: ResponseSections, right: str) -> Assessment:
    """The verdict on a response whose answer may be anything."""
    answer = extract_answer(sections)
    if (answer is None or answer.form == "concluded") and (word := by_last_word(sections, right)) is not None:
        return word
    implied = implied_answer(sections) if answer is None and may_be_whole(sections) else None
    if implied is not None and implied.content and not _restates(sections, implied):
        guess = _compared(sections, implied, right)
        return guess if guess.verdict is Verdict.CORRECT else _NOTHING
    if answer is None or not answer.content:
        return by_words_of_letter(sections, right) or _NOTHING
    verdict = _compared(sections, answer, right)
    if answer.form == "concluded" and verdict.verdict is Verdict.WRONG and is_stub(sections):
        return Assessment(Verdict.TRUNCATED, why="cut off before an answer")
    announced = answer.form in ("declared", "abroad")
    if announced and is_left_behind(sections, answer.end):
        return _NOTHING
    return _NOTHING if announced and _is_unsaid(sections, answer, verdict) and is_cut_off(sections) else verdict


def _restates(sections: ResponseSections, guess: ExtractedAnswer) -> bool:
    """Whether a guess is a number of the question, not one that came of a calculation."""
    number, text = guess.content, sections.text
    calculated = _WORKED_OUT.search(text[max(sections.start, guess.start - 60) : guess.start]) is not None
    if not number.isdecimal() or (calculated and text[guess.end : guess.end + 1] not in ("/", "(", "*", "^")):
        return False
    return re.search(rf"(?<![\w.,]){number}(?![\w.,]?\d)", sections.statement) is not None


_WORKED_OUT = re.compile(r"\d[^=\n]{0,40}(?:=|\bequals)\s?\$?\Z|=[^=\n]{0,40}\n{1,2}[a-zA-Z]\s?=\s?\Z")
"""`120 / 3 = ` before a number, or an equation and below it `x = `."""


def _is_unsaid(sections: ResponseSections, answer: ExtractedAnswer, verdict: Assessment) -> bool:
    """Whether an announcement, in a text that was cut off, has yet to say its answer: it is the heading of a solution in
    words ("Answer: Every crate on the cart …"), or what it says is cut off itself."""
    if answer.content in _OPENERS:
        return True
    if verdict.span is not None and verdict.span[0] >= answer.end:  # found behind the sentence that announces it
        return _BOLD_AT_END.match(sections.text, verdict.span[1], sections.end) is None
    opens = min(len(answer.content), sections.end - answer.end) > 30 and is_prose(answer.content)
    if verdict.verdict is not Verdict.WRONG:
        return opens and _SETS_OUT.match(answer.content) is not None
    return opens or not sections.text[answer.end : sections.end].strip()


_BOLD_AT_END = re.compile(r"[^\n*]{0,30}\*\*[.\s]*\Z")
"""`## Answer`, and below it `The crate holds **24 jars**`."""
_OPENERS = ("\\[", "$$", "\\(", "$")
_SETS_OUT = re.compile(r"(?:Given|If|Since|When|First|To|Let|We|In order|Suppose|Initially)\b")
"""How a solution opens, with a number of the problem in its first sentence."""


_MAX_SENTENCE = 1_500
"""No sentence that states an answer is longer; no gold of eleven benchmarks has 1,000 characters."""
_NOTHING = Assessment(Verdict.NO_ANSWER, why="no answer was stated")


def _compared(sections: ResponseSections, answer: ExtractedAnswer, right: str) -> Assessment:
    """The verdict on an answer that was found."""
    if is_endless(answer.content):
        return Assessment(Verdict.WRONG, answer.content, "longer than any answer", (answer.start, answer.end))
    if not answer.content.isascii():
        answer = answer._replace(content=ascii_digits(answer.content).strip("【】〔〕"))
    if answer.form == "concluded":
        answer = _whole(sections, right) or answer
    result = compare(answer.content, right)
    bare = answer.content.isdecimal() and answer.form != "concluded" and "!" not in right
    if not result.equal and not bare and len(answer.content) < _MAX_SENTENCE:
        answer, result = _read_again(sections, answer, right, result)
    if not result.equal and sections.statement:
        result = _as_asked(sections.statement, answer.content, right) or result
    if not result.equal and answer.form == "concluded" and (named := by_words_of_letter(sections, right)):
        return named
    if answer.form == "concluded" and not right.isdecimal():
        result = _with_its_unit(sections, answer, right) or result
    return judged(answer, result)


def _with_its_unit(sections: ResponseSections, answer: ExtractedAnswer, right: str) -> AnswerComparison | None:
    """The comparison of a number that was taken out of its sentence together with the unit behind it: "It takes 3 hours." is
    not 3 minutes, and 180 seconds are."""
    unit = _NEXT_WORD.match(sections.text, answer.end, min(answer.end + 20, sections.end))
    measure = read_unit(unit[1]) if unit is not None and answer.content[-1:].isdigit() else None
    if unit is None or measure is None or measure.word:
        return None
    amount = compare(rf"{answer.content}\text{{ {unit[1]}}}", right)
    return amount if amount.equal is not None else None


_NEXT_WORD = re.compile(r"\s?([A-Za-z]{3,12})\b")


def _as_asked(statement: str, answer: str, right: str) -> AnswerComparison | None:
    """The comparison in which an answer is right as the statement asks for it: rounded, or in its unit ($0.25 where cents
    are asked for)."""
    places, unit = places_asked(statement), unit_asked(statement)
    if places is not None and (rounded := compare(answer, right, places=places)).equal:
        return rounded
    return amount if unit and (amount := compare(answer, right, unit=unit)).equal else None


def _whole(sections: ResponseSections, right: str) -> ExtractedAnswer | None:
    """A last line that says just what the gold says is right as it stands, words and all."""
    begin = max(sections.start, sections.end - len(right) - 20)
    tail = sections.text[begin : sections.end].rstrip()
    line = tail.rfind("\n") + 1
    if line == 0 and begin > sections.start:
        return None  # its last line is longer
    whole = trimmed(sections.text, begin + line, begin + len(tail), "concluded")
    return whole if compare(whole.content, right).equal else None


def _read_again(
    sections: ResponseSections, answer: ExtractedAnswer, right: str, result: AnswerComparison
) -> tuple[ExtractedAnswer, AnswerComparison]:
    """Boxes that all say the same thing are one answer; a choice says what stands behind its letter; of a sentence,
    the value it states is the answer."""
    if answer.parts:
        results = [compare(part, right) for part in answer.parts]
        return (answer, results[-1]) if all(each.equal for each in results) else (answer, result)
    if is_plain_box(answer):
        return answer, result
    for reading in SECOND_READINGS:
        other = reading(sections, answer, right)
        if other is not None and (same := compare(other, right)).equal:
            return answer, same
    if ends_in_word(answer.content, right):
        return answer, AnswerComparison(True, "said of it", (), "string")
    if said_with_letter(sections, answer, right):
        return answer, AnswerComparison(True, "said with its letter", ("choice",), "string")
    if answer.form not in ("boxed", "json") and is_in_words(answer):
        meant = meant_by(sections.text, answer, sections.end)
        if meant.content and meant.content != answer.content:
            meant = meant._replace(content=ascii_digits(meant.content))
            said, number = (
                compare(meant.content, right),
                counted_number(meant) or grouped_digits(sections, meant, right),
            )
            return meant, said if said.equal or number is None else compare(number, right)
    return answer, result
