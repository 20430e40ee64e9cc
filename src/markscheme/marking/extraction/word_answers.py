r"""Answers that are one of a few words: yes or no, true or false, even or odd or neither, a day, a shape.

Asked only where the gold is such a word: then the response is read for which of its class it says, and a text that
names two of them without choosing says nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from markscheme.marking.extraction.extracted import ExtractedAnswer, last_match

WORD_CLASSES: Final = (
    ("yes", "no"),
    ("true", "false"),
    ("even", "odd", "neither"),
    ("increasing", "decreasing"),
    ("valid", "invalid"),
    ("linear", "nonlinear"),
    ("north", "east", "south", "west"),
    ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
     "december"),
    ("circle", "ellipse", "parabola", "hyperbola", "line", "two lines", "point", "empty"),
    ("rational", "irrational"),
    ("acute", "right", "obtuse"),
    ("scalene", "isosceles", "equilateral"),
    ("converges", "diverges"), ("convergent", "divergent"),
)  # fmt: skip
_NATIVE: Final = {"是": "yes", "否": "no", "不是": "no", "对": "true", "错": "false", "正确": "true", "错误": "false"}


def word_class(gold: str) -> tuple[str, ...]:
    """The class that a gold word belongs to; empty for any other gold."""
    word = gold.strip().strip(".").lower().removeprefix("\\text{").removesuffix("}").strip()
    word = _NATIVE.get(word, word)
    return next((members for members in WORD_CLASSES if word in members), ())


_NO_MORE: Final = (
    r"(?!\s(?:one|matter)\b)(?:(?<=\Ano)"
    r"|(?<!no(?=\s(?!(?:such|longer|because|since|as|it|they|he|she|you|we|there|the|this|that|but|and|in|due)\b)[a-z])))"
)
"""Of "no one flipped it" the no is no answer, nor of "as no switch was touched"; that of "No integers work" is."""


@lru_cache(maxsize=256)
def _patterns(members: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    words = "|".join(members)
    return (
        re.compile(rf"(?<![\w/-])({words})(?![\w/-]){_NO_MORE if 'no' in members else ''}", re.IGNORECASE),
        # [Yes], **No**, "(True)": a word set apart for the reader, as LLMDrift's and BIG-Bench's prompts ask for it.
        re.compile(
            rf"(?:[\[(（【]|\*\*|\"|“)\s?(?:answer:\s?)?({words})\s?[.!]?(?:[\])）】]|\*\*|\"|”)", re.IGNORECASE
        ),
        # "Yes, because …", "No." as the first word of a line or sentence.
        re.compile(
            rf"(?:^|\n|[.!?]\s|\b(?:so|thus|therefore|hence),?\s)[\s*_#>\-]{{0,6}}({words})(?=[\s.,;:!*_\n]|\Z)(?!\s(?:solution|matter|one\b|two\b|more|such|real|integer|number|way))",
            re.IGNORECASE,
        ),
    )


_DENIAL: Final = re.compile(
    r"(?:\bnot|n't|\bneither|\bnor|\bnever|\bday\safter|\b(?:days?\s)?before)\s(?:an?\s|the\s|be\s|say\s)?\Z",
    re.IGNORECASE,
)


def said_word(content: str, members: tuple[str, ...]) -> str | None:
    """The one word of the class that a short text says; `None` when it says none or several."""
    said = {
        match[1].lower()
        for match in _patterns(members)[0].finditer(content)
        if not _DENIAL.search(content, max(0, match.start() - 20), match.start())
    }
    if "neither" in said:
        return "neither"
    return said.pop() if len(said) == 1 else None


def word_answer(text: str, start: int, end: int, members: tuple[str, ...]) -> ExtractedAnswer | None:
    """The word that is set apart last, else the one the last line says, else the one that a line opens with."""
    _, apart, opening = _patterns(members)
    begin = max(start, end - _REACH)
    last = last_match(apart, text, begin, end) or (
        last_match(apart, text, start, min(end, start + 400)) if begin > start else None
    )
    if last is not None:
        return ExtractedAnswer(last[1], *last.span(1), "word")
    finish = begin + len(text[begin:end].rstrip())
    line = max(text.rfind("\n", begin, finish) + 1, finish - 600, begin)
    word = said_word(text[line:finish], members)
    if word is not None and len(members) > 2:
        return ExtractedAnswer(word, line, finish, "word")
    opened = last_match(opening, text, line, finish) or opening.match(text, start, min(end, start + 400))
    opened = opened or last_match(opening, text, begin, finish)
    if opened is not None:
        return ExtractedAnswer(opened[1], *opened.span(1), "word")
    return ExtractedAnswer(word, line, finish, "word") if word is not None else None


_REACH: Final = 4_000
