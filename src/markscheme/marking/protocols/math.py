r"""`math`: the final answer equals the gold answer as a mathematician means it.

Looks for the last explicit answer, else (unless the response was cut off) for what its last line concludes. Undecided
is `unmarkable`, never a guess.
"""

from __future__ import annotations

import re
from functools import lru_cache

from markscheme.marking.equality import AnswerComparison, compare
from markscheme.marking.equality.units import unit_asked
from markscheme.marking.extraction.answer_forms import explicit_answer, extract_answer, implied_answer
from markscheme.marking.extraction.conclusions import is_in_words, meant_by
from markscheme.marking.extraction.endings import may_be_whole
from markscheme.marking.extraction.extracted import ExtractedAnswer, trimmed
from markscheme.marking.extraction.numbers import ascii_digits
from markscheme.marking.extraction.rounding import places_asked
from markscheme.marking.extraction.sections import ResponseSections
from markscheme.marking.protocol import Assessment
from markscheme.marking.protocols._closed_answers import (
    by_letter,
    by_word,
    by_words_of_letter,
    gold_letter,
    said_with_letter,
    text_of_choice,
)
from markscheme.marking.protocols._numeric import is_endless
from markscheme.types import Gold, Verdict


@lru_cache(maxsize=16384)
def gold_answer(gold: str) -> str:
    r"""The answer in a gold that comes as `\boxed{42}` or `<answer>42</answer>`, or with solution text around it."""
    if "\\boxed" in gold or "<answer>" in gold:
        answer = explicit_answer(gold, 0, len(gold))
        if answer is not None:
            return ascii_digits(answer.content)
    return ascii_digits(gold.strip())


def judge(sections: ResponseSections, gold: Gold) -> Assessment:
    """Correct, wrong, or why neither can be said."""
    right = gold_answer(str(gold))
    letter = gold_letter(right)
    closed = by_letter(sections, letter) if letter is not None else by_word(sections, right)
    if closed is not None:
        return closed
    answer = extract_answer(sections)
    if answer is None and may_be_whole(sections):
        return _if_right(sections, right)
    if answer is None or not answer.content:
        return by_words_of_letter(sections, right) or Assessment(Verdict.NO_ANSWER, why="no answer was stated")
    if is_endless(answer.content):
        return Assessment(Verdict.WRONG, answer.content, "longer than any answer", (answer.start, answer.end))
    if not answer.content.isascii():
        answer = answer._replace(content=ascii_digits(answer.content))
    if answer.form == "concluded":
        answer = _whole(sections, right) or answer
    result = compare(answer.content, right)
    if not result.equal and not answer.content.isdecimal():
        answer, result = _read_again(sections, answer, right, result)
    if not result.equal and (places := places_asked(sections.statement)) is not None:
        rounded = compare(answer.content, right, places=places)
        result = rounded if rounded.equal else result
    if not result.equal and (unit := unit_asked(sections.statement)):
        amount = compare(answer.content, right, unit=unit)  # $0.25 where cents are asked for
        result = amount if amount.equal else result
    if not result.equal and answer.form == "concluded" and (named := by_words_of_letter(sections, right)):
        return named
    unreadable = result.equal is None and result.why.startswith("the answer cannot be read")  # the response's fault
    undecided = result.equal is None and not unreadable
    verdict = Verdict.UNMARKABLE if undecided else Verdict.CORRECT if result.equal else Verdict.WRONG
    return Assessment(verdict, answer.content, result.why, (answer.start, answer.end), result.flags)


def _if_right(sections: ResponseSections, right: str) -> Assessment:
    """The verdict on a text that may have ended or not: right if the value it ends in is the gold."""
    answer = implied_answer(sections)
    if (
        answer is None
        or is_endless(answer.content)
        or not (result := compare(ascii_digits(answer.content), right)).equal
    ):
        return Assessment(Verdict.NO_ANSWER, why="no answer was stated")
    return Assessment(Verdict.CORRECT, answer.content, result.why, (answer.start, answer.end), result.flags)


def _whole(sections: ResponseSections, right: str) -> ExtractedAnswer | None:
    """A short response that says just what the gold says is right as it stands, words and all."""
    if sections.end - sections.start > len(right) + 20:
        return None
    whole = trimmed(sections.text, sections.start, sections.end, "concluded")
    return whole if compare(whole.content, right).equal else None


_LETTERED = re.compile(r"[A-J]|[a-j][)\]]")
_WITH_LETTER = re.compile(r"[\s*_$]*(?:\\text\{)?[(\[]?(?:[A-Ja-j][)\]]|[A-J][.:])[\s*_]*(?=\S)")


_IN_BRACKETS = re.compile(r"[A-J]\s?\(([^()]{1,200})\)\.?")
"""`C (8.5)`."""


def _value_of_chain(content: str, right: str) -> str | None:
    """Of `24x - 14y = 38`, `S_1:S_2 = 7:32` and `3R = 3(46) = 138` the value, where the gold is no equation; `x^2 = 5` does
    not say 5."""
    left, equals, value = content.rpartition("=")
    if not equals or "=" in right or len(content) > 300 or left[-1:] in "<>!\\":
        return None
    if _CALCULATED.fullmatch(left.rpartition("=")[2]):
        return value
    unknowns = set(re.findall(r"(?<![\\a-zA-Z])[a-zA-Z](?:_\{?\w\}?)?(?![a-zA-Z])", left))
    return value if len(unknowns) > 1 and not re.search(r"[<>\u2264\u2265]|\\[lg]e", left) else None


_CALCULATED = re.compile(r"[\s$\\(]*\d[\d\s.,$()%+*/×÷·x−-]*")
"""A side that only calculates."""
_MEASURED = re.compile(r"([-−]?[$¥€£]?\d[\d,]*+(?>(?:\.\d+)?(?:/\d+)?))\s?[^\x00-\u024f\u2000-\u2bff]{1,12}[.。]?")


_UNIT = re.compile(
    r"([-−]?[$]?\d[\d,]*(?:\.\d+)?)(?:\s?(?:[A-Za-z]{1,12})?(?:/|\sper\s)[A-Za-z]{1,12}|\sdozen\b[^\d=]*|(?:g|kg|m|km|cm|mm|ml|ft|lbs|hrs|mph))\.?"
)
_GROUPED = re.compile(r"([-−]?[$€£]?\d{1,3}(?:\.\d{3})+)(?:\s[^\d]{1,20})?")


def _grouped(answer: ExtractedAnswer) -> str | None:
    """`1.080`, which most of Europe reads as 1080, where the answer was announced in such a language."""
    grouped = _GROUPED.fullmatch(answer.content) if answer.form == "abroad" else None
    return grouped[1].replace(".", "") if grouped else None


def _counted(answer: ExtractedAnswer) -> str | None:
    """The number of `18元`, `3页`, `18 долларов`, `$480/week`, `48g` or `8 dozen eggs`: measures that equality does not know
    as units, or takes for factors. A box holds mathematics, where `48g` is a product."""
    content = answer.content
    if len(content) > 60 or answer.form == "boxed":
        return None
    measured = (_UNIT if content.isascii() else _MEASURED).fullmatch(content)
    return measured[1] if measured else None


def _read_again(
    sections: ResponseSections, answer: ExtractedAnswer, right: str, result: AnswerComparison
) -> tuple[ExtractedAnswer, AnswerComparison]:
    """Boxes that all say the same thing are one answer; a choice says what stands behind its letter; of a sentence,
    the value it states is the answer."""
    if answer.parts:
        results = [compare(part, right) for part in answer.parts]
        return (answer, results[-1]) if all(each.equal for each in results) else (answer, result)
    if answer.form == "boxed" and "=" not in answer.content and not _LETTERED.search(answer.content):
        return answer, result  # mathematics, and nothing else: most boxes
    letter = _WITH_LETTER.match(answer.content)
    content = answer.content[letter.end() :].removesuffix("}" * ("\\text" in letter[0])) if letter is not None else None
    if sections.statement or sections.choices:
        content = text_of_choice(sections, answer.content, content) or content
    bracketed = _IN_BRACKETS.fullmatch(answer.content)
    for other in (
        content,
        bracketed and bracketed[1],
        _value_of_chain(answer.content, right),
        _counted(answer),
        _grouped(answer),
    ):
        if other is not None and (same := compare(other, right)).equal:
            return answer, same
    if said_with_letter(sections, answer, right):
        return answer, AnswerComparison(True, "said with its letter", ("choice",), "string")
    if answer.form not in ("boxed", "json") and is_in_words(answer):
        meant = meant_by(sections.text, answer, sections.end)
        if meant.content and meant.content != answer.content:
            meant = meant._replace(content=ascii_digits(meant.content))
            said, number = compare(meant.content, right), _counted(meant)
            return meant, said if said.equal or number is None else compare(number, right)
    return answer, result
