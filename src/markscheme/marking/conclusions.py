r"""The answer of a response that marks none: what a person takes its last line to say.

A bare value is itself; in a sentence the emphasised value, the last formula or the number that was worked out last is
meant. Never more than the last few lines are looked at, and code is no conclusion.
"""

from __future__ import annotations

import re

from markscheme.marking.answers import Answer, trimmed

_CODE = re.compile(r"__|\w\(['\"]|\)\.\w+\(|\bimport\s")
_LINES = 6
"""How many lines from the end may be empty talk ("I hope this helps!") before the conclusion."""
_TELLING = re.compile(r"\d|\\[a-zA-Z]{2,}|\$|=|[½⅓⅔¼¾]")
_WORD = re.compile(
    r"(?<![\\A-Za-z{])[A-Za-z]{2,}|[\u0400-\u04ff\u0590-\u06ff\u0900-\u097f\u0e00-\u0e7f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]"
)
_TEXT = re.compile(r"\\(?:text|textbf|textit|textrm|mbox|mathrm|operatorname)\s?\{[^{}]*\}")
_MATH_WORDS = frozenset(
    [
        "or",
        "and",
        "sin",
        "cos",
        "tan",
        "cot",
        "sec",
        "csc",
        "log",
        "ln",
        "exp",
        "sqrt",
        "pi",
        "inf",
        "infty",
        "oo",
        "mod",
        "max",
        "min",
        "gcd",
        "lcm",
        "det",
        "cm",
        "mm",
        "km",
        "kg",
        "mg",
        "ml",
        "ft",
        "in",
        "mi",
        "lb",
        "oz",
        "am",
        "pm",
        "hr",
        "min",
        "sec",
        "deg",
        "text",
        "frac",
        "cup",
        "union",
    ]
)
_VALUE_AND_UNIT = re.compile(
    r"\s*[-+−]?[$€£¥₹]?\\?\$?[\d.,/]+\s*(?:%|\\%|[^\W\d_]+[23²³^]*){0,1}(?:\s+[^\W\d_]+){0,2}\s*\.?\s*"
)
_BOLD = re.compile(r"\*\*([^*\n]{1,200})\*\*")
_FORMULA = re.compile(
    r"\\\[(.{1,1000}?)\\\]|\\\(([^\n]{1,1000}?)\\\)|\$\$([^$]{1,1000})\$\$|\$([^$\n]{1,500}?)\$", re.DOTALL
)
_SENTENCE_END = re.compile(r"[.!?](?=\s+\S)|。(?=.)|।(?=.)")
NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.}])[-−]?(?:\\?[$€£¥₹]\s?)?"
    r"(?:\\[dt]?frac\{[^{}\n]{1,40}\}\{[^{}\n]{1,40}\}|\d+(?:,\d{3})*(?:\.\d+)?(?:\s?/\s?\d+)?\s?%?|\.\d+)"
    r"|\d+(?:,\d{3})*(?:\.\d+)?"
)


def concluded_answer(text: str, start: int, end: int) -> Answer | None:
    """What the last telling line says, or `None` when the last lines say nothing."""
    finish = end
    for _ in range(_LINES):
        finish = _without_spaces(text, start, finish)
        if finish <= start:
            return None
        begin = max(text.rfind("\n", start, finish) + 1, start)
        shown = max(begin, finish - MAX_LINE)
        line = text[shown:finish].strip()
        if line in _DISPLAY_ENDS:
            opened = text.rfind(_DISPLAY_ENDS[line], max(start, begin - MAX_LINE), begin)
            if opened >= 0:
                return _of_formula(text, opened + 2, begin)
        if _TELLING.search(line) or (begin == start and len(line) < 100):
            return None if _CODE.search(line) else _of_line(text, shown, finish)
        finish = begin
    return None


MAX_LINE = 2_000
"""Of a longer last line only the end is read."""


def _without_spaces(text: str, start: int, finish: int) -> int:
    """Where the text before `finish` ends in something to see; invisible megabytes are not worth a look."""
    window = text[max(start, finish - MAX_LINE) : finish]
    left = len(window.rstrip())
    return finish - len(window) + left if left else start


_DISPLAY_ENDS = {"\\]": "\\[", "$$": "$$"}


def _of_line(text: str, begin: int, finish: int) -> Answer:
    if finish - begin < 400 and not is_prose(text[begin:finish]):
        return _undelimited(text, begin, finish)
    sentence = begin
    for stop in _SENTENCE_END.finditer(text, begin, finish):
        if _TELLING.search(text, stop.end(), finish):
            sentence = stop.end()
    return picked(text, sentence, finish, begin)


def is_prose(line: str) -> bool:
    """Whether a line is a sentence around a value, rather than a value (with its unit)."""
    if _VALUE_AND_UNIT.fullmatch(line):
        return False
    words = 0
    for word in _WORD.finditer(_TEXT.sub("", line)):
        if word[0].lower() not in _MATH_WORDS:
            words += 1
            if words >= 2:
                return True
    return words == 1 and not line[:1].isdigit() and _TELLING.search(line) is not None


def picked(text: str, begin: int, end: int, context: int | None = None) -> Answer:
    """The value meant by the sentence `text[begin:end]`: in bold, else its last formula, else a number, else all of it."""
    begin = max(begin, end - MAX_LINE)
    bold = _last(_BOLD, text, begin, end)
    if bold is not None and _TELLING.search(bold[1]):
        begin, end = bold.span(1)
        if not is_prose(bold[1]):
            return _undelimited(text, begin, end)
    formula = None
    for formula in _FORMULA.finditer(text, begin, end):
        last = formula
    if formula is not None and not (last[4] and re.search(r"(?<![\\a-zA-Z{])[a-z]{2,}", last[4])):
        group = next(index for index in range(1, 5) if last[index] is not None)
        # a number behind the formula ("of which 3 …") is not the answer more than the formula is
        return _of_formula(text, *last.span(group))
    number = _number_worked_out_last(text, begin, end, begin if context is None else context)
    if number is not None:
        return trimmed(text, *number, "concluded")
    return trimmed(text, begin, end, "concluded")


def _last(pattern: re.Pattern[str], text: str, begin: int, end: int) -> re.Match[str] | None:
    found = None
    for found in pattern.finditer(text, begin, end):  # noqa: B007 - the last one is what is wanted
        pass
    return found


def _of_formula(text: str, begin: int, end: int) -> Answer:
    """The right-hand side of `21 + 49 = 70`; but `x = 70` and `y = 2x + 3` stay whole, for they may be the answer."""
    equals = text.rfind("=", begin, end)
    if equals > begin and text[equals - 1] not in "<>!\\" and not _NAME.fullmatch(text, begin, equals):
        begin = equals + 1
    return _undelimited(text, begin, end)


_NAME = re.compile(r"[\s&{]*\\?[A-Za-z]{1,8}(?:_\{?\w+\}?)?(?:\([^()=]{1,12}\))?'{0,3}[\s&}]*")


_COUNTED = re.compile(
    r"([-−]?\d[\d,]*(?:\.\d+)?)\s?[\u0400-\u04ff\u0590-\u06ff\u0900-\u097f\u0e00-\u0e7f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]+"
)
"""A number with a measure word of a script in which the comparison knows no units: `3页`."""


def _undelimited(text: str, begin: int, end: int) -> Answer:
    found = trimmed(text, begin, end, "concluded")
    content, start = found.content, found.start
    while content and content[0] in "*_>#- \t" and not (content[0] == "-" and content[1:2] != " "):
        content, start = content[1:], start + 1
    content = content.rstrip(" \t.,;:。*_")
    counted = _COUNTED.fullmatch(content)
    if counted:
        return Answer(counted[1], start, start + len(counted[1]), "concluded")
    for opened, closed in (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$")):
        if content.startswith(opened) and content.endswith(closed) and len(content) > len(opened) + len(closed):
            inside = content[len(opened) : -len(closed)]
            if opened not in inside:
                return trimmed(text, start + len(opened), start + len(opened) + len(inside), "concluded")
    return Answer(content, start, start + len(content), "concluded")


def _number_worked_out_last(text: str, begin: int, end: int, context: int) -> tuple[int, int] | None:
    """Of several numbers in the sentence the one that the last calculation gave; else the last number.

    "Mark needs 23 pounds to make 4 small beds and 3 large beds" means 23 when "8 + 15 = 23" stands before.
    """
    numbers = [found.span() for found in NUMBER.finditer(text, begin, end)]
    if len(numbers) < 2:
        return numbers[0] if numbers else None
    results = [found[1] for found in _RESULT.finditer(text, max(0, context - 4000), end)]
    if results:
        value = _bare(results[-1])
        for span in reversed(numbers):
            if _bare(text[slice(*span)]) == value:
                return span
    return numbers[-1]


_RESULT = re.compile(r"=\s*(?:<<[^<>\n]*>>)?\s*\\?[$€£]?\s*(?:<<[^<>\n]*>>)?([\d,]*\.?\d+)(?!\s*[-+*/×÷\d])")


def _bare(number: str) -> str:
    digits = number.replace(",", "").strip(" $\\€£¥₹%")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits
