r"""The answer of a response that marks none: what a person takes its last line to say.

Never more than the last few lines are looked at, and code is no conclusion.
"""

from __future__ import annotations

import re

from markscheme.marking.extraction.extracted import ExtractedAnswer, last_match
from markscheme.marking.extraction.number_words import NUMBER_RUN
from markscheme.marking.extraction.sentences import (
    MAX_SENTENCE,
    TELLING,
    UNDETERMINED,
    is_prose,
    right_hand_side,
    stated_value,
    undelimited,
)

_LINES = 6
"""How many lines from the end may be empty talk ("I hope this helps!") before the conclusion."""
_CODE = re.compile(r"__|\w\(['\"]|\)\.\w+\(|\bimport\s")
_DISPLAY_ENDS = {"\\]": "\\[", "$$": "$$"}
_EQUALS = re.compile(r"(?<![<>!\\])=")
_LISTED = re.compile(r",|\b(?:or|and)\b")
_NEXT_SENTENCE = re.compile(r"[.!?](?=\s+[A-Z])")
_SENTENCE_END = re.compile(r"[.!?](?=\s+\S)|。(?=.)|।(?=.)")


def concluded_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """What the last telling line says, or `None` when the last lines say nothing."""
    finish = _before_remarks(text, start, end)
    for _ in range(_LINES):
        finish = _without_spaces(text, start, finish)
        if finish <= start:
            return None
        begin = max(text.rfind("\n", start, finish) + 1, start)
        shown = max(begin, finish - MAX_SENTENCE)
        line = text[shown:finish].strip()
        rows = _ROWS_END.search(line)
        if rows is not None:
            return _of_rows(text, start, text.rindex("\\end{", shown, finish))
        if line in _DISPLAY_ENDS:
            opened = text.rfind(_DISPLAY_ENDS[line], max(start, begin - MAX_SENTENCE), begin)
            if opened >= 0:
                return right_hand_side(text, opened + 2, begin)
        if TELLING.search(line) or _SPELLED.match(line) or (begin == start and len(line) < 100):
            return None if _CODE.search(line) else _of_line(text, shown, finish)
        if UNDETERMINED.search(line):
            return None
        finish = begin
    return None


def _before_remarks(text: str, start: int, end: int) -> int:
    """Where the conclusion ends that a check or a source follows, "… is 47. We can check this: …"; else `end`."""
    begin = max(start, end - _REMARKS_REACH)
    for remark in _REMARKS.finditer(text, begin, end):
        before = text[max(start, remark.start() - 200) : remark.start() + 1].rstrip()
        if not _STATED_BEFORE.search(before[-160:]) or _CONCLUDES_AFTER.search(text, remark.end(), end):
            continue
        if all(number in before for number in _SAID_AFTER.findall(text, remark.end(), end)):
            return remark.start() + 1
    return end


_REMARKS_REACH = 800
_REMARKS = re.compile(
    r"[.\n]\s{0,3}(?:We\scan\s(?:check|verify)|Let(?:'s|\sus)\s(?:check|verify)|To\s(?:check|verify)(?:\s(?:this|our|the\sanswer))?,|Checking:"
    r"|This\s(?:information|figure|amount)\s(?:is|was|can\sbe)\sfound(?=[^.\n]{0,300}\.?\s*\Z))\b"
)
_CONCLUDES_AFTER = re.compile(
    r"(?i:\b(?:so|therefore|thus|hence)\b)(?![^.\n]*\bis\scorrect\b)[^.\n]*\d|\b(?:not|wrong|incorrect)\b"
)
_STATED_BEFORE = re.compile(
    r"\b(?:Therefore|Thus|Hence|So|[Tt]he)\b[^\n]{1,120}\b(?:is|are)\b[^\n]{0,40}\d[^\n]{0,20}\.\Z"
)
_SAID_AFTER = re.compile(r"\b(?:is|are|be|costs?|comes\sto)\s[^.\n\d=]{0,20}(\d[\d,]*)")


def emphasised_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """The one value that a response sets in bold within its sentences: what follows it explains or adds. `None` where there
    are several, or where a conclusion follows."""
    if text.find("**", start, end) < 0:
        return None
    values = list(_BOLD_VALUE.finditer(text, start, end))
    if len({value[1] for value in values}) != 1:
        return None
    if any(_DIGIT.search(line[0]) for line in _CONCLUDES_LATER.finditer(text, values[-1].end(), end)):
        return None
    return undelimited(text, *values[-1].span(1))


_BOLD_VALUE = re.compile(r"(?<=[\w=,:]\s)\*\*([-−]?[$€£]?\d[\d,.]*(?>\s?[%°])?(?:\s[A-Za-z]{1,15}){0,3}\.?)\*\*")
_CONCLUDES_LATER = re.compile(r"\b(?:[Tt]herefore|[Tt]hus|[Hh]ence|[Ss]o|[Ff]inally|[Tt]otal)\b[^\n]*")
_DIGIT = re.compile(r"\d")

_NEXT_SECTION = re.compile(
    r"\n[\s*_#>]{0,6}(?:Explanation|Note|Check|Verif|Reason|Justif|Proof|Step-by-step)", re.IGNORECASE
)


def meant_by(text: str, answer: ExtractedAnswer, end: int) -> ExtractedAnswer:
    """The value that an answer in words states: of "Answer: Ann has 7 cups. She needs 5 more." what its last sentence says."""
    number = _COUNT_FIRST.match(answer.content) if answer.form == "hashes" else None
    if number is not None:  # #### 480 more than the model 3000
        return ExtractedAnswer(number[0], answer.start, answer.start + number.end(), answer.form)
    if answer.form not in _ANNOUNCED or _VALUE_FIRST.fullmatch(answer.content):
        return stated_value(text, answer.start, answer.end)
    section = _NEXT_SECTION.search(text, answer.end, end)
    concluded = concluded_answer(text, answer.start, section.start() if section else end)
    return concluded or stated_value(text, answer.start, answer.end)


def is_in_words(answer: ExtractedAnswer) -> bool:
    """Whether an answer has to be looked for in what it says: a sentence, or the beginning of one ("In total, …")."""
    return is_prose(answer.content) or (answer.form in _ANNOUNCED and _WORDS_ONLY.fullmatch(answer.content) is not None)


_ANNOUNCED = ("declared", "abroad")
_WORDS_ONLY = re.compile(r"[A-Za-z]{2,}(?: [a-z]+){0,6}")
_COUNT_FIRST = re.compile(r"[-−]?[$€£]?\d[\d,]*(?:\.\d+)?(?=\s[a-z\d])(?![^\n]*=)")
_VALUE_FIRST = re.compile(r"[\s$\\(*]{0,6}[-+−]?[$€£¥₹]?\d(?:(?!\sis\s|\sare\s|=)[^\n])*")

_SPELLED = re.compile(
    rf"\W{{0,4}}(?:(?:Therefore|Thus|So|Hence|In\stotal)\b[^\n]{{0,200}}?|[^\n]{{0,200}}?\bthere\s(?:are|is)\s(?:a\stotal\sof\s|only\s)?){NUMBER_RUN.pattern}",
    re.IGNORECASE,
)
"""A conclusion whose number is a word: `Therefore, Ann makes two trips in total.`, `Then there are three pens left.`"""
_ROWS_END = re.compile(
    r"\\end\{(?:align|aligned|gather|gathered|equation|eqnarray|split|multline|alignat)\*?\}\s*(?:\\\]|\$\$)?[\s.]*\Z"
)
_ROW_BEGINS = re.compile(r"\\\\(?!\s*\Z)|\\begin\{(?:align|gather|equation|eqn|split|multline)[^{}]*\}")


def _of_rows(text: str, start: int, finish: int) -> ExtractedAnswer:
    """What the last row of aligned formulas comes to; a matrix in it keeps its rows."""
    shown = max(start, finish - MAX_SENTENCE)
    matrix = text.rfind("\\begin{", shown, finish)
    in_matrix = matrix >= 0 and "matrix" in text[matrix : matrix + 16]
    row = shown
    for begins in _ROW_BEGINS.finditer(text, shown, matrix if in_matrix else finish):
        row = begins.end()
    return right_hand_side(text, row, finish)


def _without_spaces(text: str, start: int, finish: int) -> int:
    """Where the text before `finish` ends in something to see; invisible megabytes are not worth a look."""
    window = text[max(start, finish - MAX_SENTENCE) : finish]
    left = len(window.rstrip())
    return finish - len(window) + left if left else start


def _of_line(text: str, begin: int, finish: int) -> ExtractedAnswer:
    """A bare value is itself; of sentences the last that tells something states it."""
    line = text[begin:finish]
    if finish - begin < 400 and not is_prose(line):
        chained = len(_EQUALS.findall(line)) > 1 and not _LISTED.search(line)  # L = 4*5 = 20
        return right_hand_side(text, begin, finish) if chained else undelimited(text, begin, finish)
    sentence, telling = begin, last_match(TELLING, text, begin, finish) or last_match(NUMBER_RUN, text, begin, finish)
    for stop in _SENTENCE_END.finditer(text, begin, finish):
        if telling is None or stop.end() > telling.start():
            break
        sentence = stop.end()
    told = _NEXT_SENTENCE.search(text, telling.end(), finish) if telling is not None else None
    if told is not None and UNDETERMINED.search(text, told.end(), finish):
        told = None  # … so that it cannot be determined
    return stated_value(text, sentence, told.end() if told is not None else finish)
