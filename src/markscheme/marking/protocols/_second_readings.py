r"""Other readings of an answer that is not the gold as it stands: one table, read top to bottom, until one of them is.

Each gives what the answer says in that reading, or `None` where it does not apply. A reading that would make another
person's wrong answer right is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from markscheme.marking.equality import compare
from markscheme.marking.equality.units import with_unit_set_apart
from markscheme.marking.extraction.conclusions import concluded_answer
from markscheme.marking.extraction.extracted import ExtractedAnswer
from markscheme.marking.extraction.sections import ResponseSections
from markscheme.marking.extraction.sentences import UNDETERMINED, is_prose
from markscheme.marking.extraction.worked_boxes import worked_out
from markscheme.marking.protocols._closed_answers import text_of_choice

Reading = Callable[[ResponseSections, ExtractedAnswer, str], str | None]
"""Takes the response, its answer and the gold."""


def is_plain_box(answer: ExtractedAnswer) -> bool:
    """Whether an answer is a box of mathematics and nothing else, as most are: there is no other reading of it."""
    content = answer.content
    return (
        answer.form == "boxed"
        and "=" not in content
        and not _LETTERED.search(content)
        and not _GROUPED.fullmatch(content)
        and worked_out(content) is None
    )


_LETTERED = re.compile(r"[A-J]|[a-j][)\]]")


def _behind_letter(sections: ResponseSections, answer: ExtractedAnswer, _: str) -> str | None:
    """`(B) 12` says 12; where the choices are known, `B` says what stands behind it."""
    letter = _WITH_LETTER.match(answer.content)
    content = answer.content[letter.end() :].removesuffix("}" * ("\\text" in letter[0])) if letter is not None else None
    if sections.statement or sections.choices:
        return text_of_choice(sections, answer.content, content) or content
    return content


_WITH_LETTER = re.compile(r"[\s*_$]*(?:\\text\{)?[(\[]?(?:[A-Ja-j][)\]]|[A-J][.:])[\s*_]*(?=\S)")


def _worked_out(_: ResponseSections, answer: ExtractedAnswer, __: str) -> str | None:
    """Of a whole solution in a box, what it comes to; and of a sentence that is set as a formula."""
    return worked_out(answer.content) if answer.form == "boxed" or "\\text{" in answer.content else None


def _in_brackets(_: ResponseSections, answer: ExtractedAnswer, __: str) -> str | None:
    """`C (8.5)`; `[276,000]`, which is no pair; `56 (20+36)`."""
    bracketed = _LETTER_AND_BRACKETS.fullmatch(answer.content) if answer.form != "json" else None
    if bracketed is None or (bracketed[2] and answer.form == "concluded"):
        return None  # of what a sentence ends in, it may be an interval
    if bracketed[3]:
        return bracketed[3] if compare(bracketed[4], bracketed[3]).equal else None
    return bracketed[1] or bracketed[2]


_LETTER_AND_BRACKETS = re.compile(
    r"[A-J]\s?\(([^()]{1,200})\)\.?|\[([$€£]?\d{1,3}(?:,\d{3})+(?:\.\d+)?)\]|([$€£]?\d[\d,.]*)\s\(([\d.,\s+*/×-]+)\)"
)


def _value_of_chain(_: ResponseSections, answer: ExtractedAnswer, right: str) -> str | None:
    """Of `24x - 14y = 38`, `S_1:S_2 = 7:32` and `3R = 3(46) = 138` the value, where the gold is no equation; `x^2 = 5` does
    not say 5."""
    content = answer.content
    approximated = _APPROXIMATED.fullmatch(content) if right[:1].isdigit() and "." in right else None
    if approximated is not None:
        return approximated[1]  # the logarithm of 4 to 9 is about 0.63, and 0.63 is asked for
    left, equals, value = content.rpartition("=")
    if not equals or "=" in right or len(content) > 300 or left[-1:] in "<>!\\" or _ASSIGNED.search(left):
        return None
    if _CALCULATED.fullmatch(left.rpartition("=")[2]):
        return value
    unknowns = set(re.findall(r"(?<![\\a-zA-Z])[a-zA-Z](?:_\{?\w\}?)?(?![a-zA-Z])", left))
    if unknowns == {"x", "y"} and "^" in left and value.strip() == "1":
        return None  # the equation of a conic
    return value if len(unknowns) > 1 and not re.search(r"[<>\u2264\u2265]|\\[lg]e", left) else None


_APPROXIMATED = re.compile(r"(?![^≈]*(?:[,;]|\bor\b|\band\b))[^≈=]{1,60}?(?:\\approx|≈)\s?(\d+\.\d+)")
_ASSIGNED = re.compile(r"=[^=]*[,;]\s*\\?[a-zA-Z]\w?\s*\Z")
"""`x = 3, y`: one of several unknowns."""
_CALCULATED = re.compile(r"[\s$\\(]*\d(?:[\d\s.,$()%+*/×÷·x−-]|\\(?:cdot|times|div|left|right)\b)*")
"""A side that only calculates."""


def _factorial(sections: ResponseSections, answer: ExtractedAnswer, right: str) -> str | None:
    """`100!` where the gold has a factorial; elsewhere the sign is an exclamation."""
    behind = sections.text[answer.end : answer.end + 1]
    return answer.content + "!" if behind == "!" and "!" in right else None


def _small_letter(_: ResponseSections, answer: ExtractedAnswer, right: str) -> str | None:
    """Of `(d) 2` the letter, where the gold is a bare `d`."""
    letter = _LETTER_FIRST.fullmatch(answer.content) if len(right) == 1 and "a" <= right <= "j" else None
    return letter[1] if letter else None


_LETTER_FIRST = re.compile(r"[\s*_$]*(?:\\text\{)?\(?([a-j])\)(?![^\n]*\([a-j]\))[^\n]*")


def _counted(_: ResponseSections, answer: ExtractedAnswer, __: str) -> str | None:
    return counted_number(answer)


def counted_number(answer: ExtractedAnswer) -> str | None:
    """The number of `18元`, `3页`, `18 долларов`, `$480/week`, `48g` or `8 dozen eggs`: measures that equality does not know
    as units, or takes for factors. A box holds mathematics, where `48g` is a product, and `5 J/mol` is not just any 5."""
    content = answer.content
    if len(content) > 60 or answer.form == "boxed" or with_unit_set_apart(content) != content:
        return None
    measured = (_UNIT if content.isascii() else _MEASURED).fullmatch(content)
    return measured[1] if measured else None


_MEASURED = re.compile(r"([-−]?[$¥€£]?\d[\d,]*+(?>(?:\.\d+)?(?:/\d+)?))\s?[^\x00-\u03ff\u2000-\u2bff]{1,12}[.。]?")


_UNIT = re.compile(
    r"([-−]?[$]?\d[\d,]*(?:\.\d+)?)(?:(?<=\d)/(?:lbs?|kg|oz|hr|gal|mi|ft|yd|cm|km|ml)|\s?[A-Za-z]{1,12}/[A-Za-z]{1,12}|/(?!sqrt|sin|cos|tan|log|abs)[a-z]{3,12}|(?:\s?[A-Za-z]{1,12})?\sper\s[A-Za-z]{1,12}|\sdozen\b[^\d=]*|\s[A-Z]{3,4}|(?:g|kg|m|km|cm|mm|ml|ft|lbs|hrs|mph))\.?"
)


def grouped_digits(sections: ResponseSections, answer: ExtractedAnswer, _: str) -> str | None:
    """`1.080` and `1 080`, which most of Europe reads as 1080, where the answer was stated in such a language."""
    if not _is_abroad(sections, answer):
        return None
    content = answer.content
    if answer.form == "concluded" and len(content) == 3 and content.isdecimal():
        before = _GROUPS_BEFORE.search(sections.text[max(sections.start, answer.start - 16) : answer.start])
        return (before[0] + content).replace(" ", "") if before else None
    grouped = _GROUPED.fullmatch(content)
    if answer.form == "boxed" and not content.endswith("000"):
        return None  # a box holds mathematics, where a point is a decimal point
    return None if grouped is None else re.sub(r"[. ]", "", grouped[1]) + (f".{grouped[2]}" if grouped[2] else "")


def _is_abroad(sections: ResponseSections, answer: ExtractedAnswer) -> bool:
    """Whether an answer was stated in another European, Swahili or Indonesian text."""
    begin = max(sections.start, answer.start - 1_500)
    if answer.form == "abroad" or _ABROAD.search(sections.text, begin):
        return True
    return len(set(_OFTEN_ABROAD.findall(sections.text, begin))) > 2


def _counted_abroad(sections: ResponseSections, answer: ExtractedAnswer, right: str) -> str | None:
    """The number of `48 Gramm`, `104 saa` or `720 al año` in such a text."""
    measured = _FOREIGN_UNIT.fullmatch(answer.content) if right.isdecimal() and len(answer.content) < 40 else None
    return measured[1] if measured and _is_abroad(sections, answer) else None


_FOREIGN_UNIT = re.compile(
    r"([-−]?[$€£]?\d[\d,]*(?:\.\d+)?)\s(?:al\s|par\s|pro\s)?[A-Za-zÀ-ž]{3,14}(?:\s[a-zà-ž]{2,12}){0,2}\.?"
)
_GROUPED = re.compile(r"([-−]?[$€£]?[1-9]\d{0,2}(?:[. ]\d{3})+)(?:,(\d{1,2}))?(?:\s?\\?[$€£%]|\s[^\d]{1,20})?")
_GROUPS_BEFORE = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})* \Z")
_ABROAD = re.compile(
    r"\b(?:und|sind|[Ii]nsgesamt|tiene|dólares|donc|sont|são|totaal|zijn|[Вв]сего|она|рублей|долларов|[а-яё]{6,20})\b"
)
"""Words of languages in which a point or a space groups digits, and that no English text has: not "Los Angeles"."""
_OFTEN_ABROAD = re.compile(
    r"\b(?:ist|der|das|wir|für|los|las|una|que|para|por|entonces|les|des|une|pour|est|nous|você|uma|di|che|sono|het|een|dan|yang|kwa|ili|hivyo|jumla|gharama|dina|ieu"
    r"|adalah|untuk|dengan|jumlah|toplam|için|bir|và|của|là)\b"
)
"""Words of which an English text may have one."""


def _unscaled(_: ResponseSections, answer: ExtractedAnswer, right: str) -> str | None:
    """Of `$57 million` the 57, where the gold is a plain number: a question that is answered by 57 names the scale itself."""
    scaled = _SCALED.fullmatch(answer.content) if answer.form != "boxed" and right[-1:].isdigit() else None
    return scaled[1] if scaled else None


_SCALED = re.compile(
    r"([-−]?(?:US|S|C)?[$€£]?-?\d[\d,]*(?:\.\d+)?)\s(?:thousand|million|billion)(?:\s(?:USD|EUR|[a-z]+)){0,2}\.?"
)


def _list_in_field(sections: ResponseSections, answer: ExtractedAnswer, _: str) -> str | None:
    """The items of a JSON list, which has square brackets whatever it is."""
    if answer.form != "json" or not answer.content.startswith("[") or sections.text[answer.start - 1] in "\"'":
        return None
    return answer.content[1:-1].replace(",", ";")  # 1, 234 is not 1234


def _tuple_in_field(sections: ResponseSections, answer: ExtractedAnswer, right: str) -> str | None:
    items = _list_in_field(sections, answer, right)
    return None if items is None else f"({items})"


def _sentence_in_field(sections: ResponseSections, answer: ExtractedAnswer, _: str) -> str | None:
    """What a JSON field says in a sentence, "The sum is 5."."""
    content = answer.content
    if answer.form != "json" or not is_prose(content):
        return None
    if sections.text[answer.start] in "[{" or UNDETERMINED.search(content):
        return None
    told = concluded_answer(content, 0, len(content))
    if told is None or told.content == content:
        return None
    sentence = content[max(content.rfind(". ", 0, told.start), content.rfind("\n", 0, told.start)) + 1 :]
    supposed = _IN_A_CONDITION.search(content, 0, told.start) or _AND_ANOTHER.match(content, told.end)
    return None if supposed or _TELLS_NOT.search(sentence) else told.content


_IN_A_CONDITION = re.compile(r"(?:\A|[.\n]\s{0,3})(?:If|When)\s[^,.\n]*\Z")
_AND_ANOTHER = re.compile(r"\s(?:[a-z]+\s)?and\s\d")
"""`If the sum is 5, …`, `5 red and 6 blue balls`: something else than the answer, or only a part of it."""


_TELLS_NOT = re.compile(
    r"(?i)\b(?:not?|cannot|unknown|n?either|or|but|while|whose|such\sthat|unless|find|let|suppose|guess|try|perhaps|assuming)\b|n't"
    r"|\b(?:is|are|was|were)\s[^.\n]*\s(?:is|are|was|were)\s[^.\n]*\Z|\A\W*\d[^(=]*\band\s\d|\A(?:over|under|about|more|less|at)\s"
)
"""What makes a sentence no statement of one value."""


SECOND_READINGS: Final[tuple[Reading, ...]] = (
    _behind_letter,
    _worked_out,
    _in_brackets,
    _value_of_chain,
    _factorial,
    _small_letter,
    _counted,
    grouped_digits,
    _counted_abroad,
    _unscaled,
    _list_in_field,
    _tuple_in_field,
    _sentence_in_field,
)
