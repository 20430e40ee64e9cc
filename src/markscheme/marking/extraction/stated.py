r"""Where a response says its answer: boxed, tagged, behind `####`, stated in words, or as its conclusion.

The last explicit answer wins. Only when there is none is the last line read as a person would read it; that reading
is a guess, and callers must not make it for a response that was cut off.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from markscheme.marking.extraction.boxes import MAX_CONTENT, TRIES, Box, last_box, last_boxes

Way = Literal["boxed", "tagged", "hashes", "stated", "concluded"]


class Answer(NamedTuple):
    """An answer as it stands in the text. `parts` are the boxes of a list that stands in several boxes."""

    content: str
    start: int
    end: int
    way: Way
    parts: tuple[str, ...] = ()


def explicit_answer(text: str, start: int, end: int) -> Answer | None:
    """The last answer that is marked as one."""
    boxes = last_boxes(text, start, end)
    if not boxes:
        return _last_unboxed(text, start, end, overrides_a_box=False)
    last = boxes[-1]
    if end - last.outer_end > 5:  # "####1" is the shortest that could follow
        later = _last_unboxed(text, last.outer_end, end, overrides_a_box=True)
        if later is not None:
            return later
    if len(boxes) == 1:
        return _with_factor(text, start, end, last)
    parts = tuple(box.content for box in boxes)
    return Answer(", ".join(parts), boxes[0].start, last.end, "boxed", parts)


_FACTOR = re.compile(r"\s?(?:\\pi(?![a-zA-Z])|\\sqrt\{[^{}\n]{1,20}\}|\\?%)")
_BEFORE_A_SIGN = re.compile(r"(?:[$=(\[]|\\[(\[])\s?\Z")


def _with_factor(text: str, start: int, end: int, box: Box) -> Answer:
    r"""A box with the factor or sign that was left outside of it: `\boxed{12}\pi`, `$-\boxed{5}$`."""
    content, begin, finish = box.content, box.start, box.end
    factor = _FACTOR.match(text, box.outer_end, end) if box.outer_end > box.end else None
    if factor is not None:
        content, finish = content + factor[0], factor.end()
    at = box.outer_start
    if (
        at > start
        and text[at - 1] == "-"
        and (at - 1 == start or _BEFORE_A_SIGN.search(text[max(start, at - 5) : at - 1]))
    ):
        content, begin = f"-({content})", at - 1
    return Answer(content, begin, finish, "boxed")


def _last_unboxed(text: str, start: int, end: int, *, overrides_a_box: bool) -> Answer | None:
    tagged = tagged_answer(text, start, end)
    hashed = hashed_answer(text, start, end)
    stated = _stated(text, start, end, overrides_a_box)
    last = None
    for answer in (tagged, hashed, stated):
        if answer is not None and (last is None or answer.start >= last.start):
            last = answer
    return last


def tagged_answer(text: str, start: int, end: int) -> Answer | None:
    """The content of the last `<answer>…</answer>`, or of an `<answer>` that was left open."""
    stop = end
    for _ in range(TRIES):
        opened = text.rfind("<answer>", start, stop)
        if opened < 0:
            return None
        begin = opened + len("<answer>")
        limit = min(end, begin + MAX_CONTENT)
        closed = text.find("</answer>", begin, limit)
        finish = closed if closed >= 0 else limit
        if text[begin:finish].strip():
            return trimmed(text, begin, finish, "tagged")
        stop = opened
    return None


def hashed_answer(text: str, start: int, end: int) -> Answer | None:
    """A value behind the last `####`, or below it; `#### Step 3: …` is a heading, not an answer."""
    stop = end
    for _ in range(TRIES):
        at = text.rfind("####", start, stop)
        if at < 0:
            return None
        value = _HASH_VALUE.match(text, at + 4, end)
        if value is not None:
            begin = value.end()
            newline = text.find("\n", begin, min(end, begin + 200))
            finish = newline if newline >= 0 else end
            if finish - begin < 200:
                box = last_box(text, begin, finish)
                return trimmed(text, *((box.start, box.end) if box else (begin, finish)), "hashes")
        stop = at
    return None


_HASH_VALUE = re.compile(r"[ \t]*\n?[ \t]*(?=[*_$\\(\[{€£¥₹+\-−.]|\d|[A-Za-z](?:\s*=|\s*$))")

# ---- stated in words -------------------------------------------------------------------------------------------

_LEAD = re.compile(
    r"(?:answer|ANSWER|Answer)s?\b[*_]{0,3}"
    r"(?:"
    r"\s{1,3}(?:(?:to|for|of)\s[^.:\n]{1,80}?\s)?(?:is|was|are|would\sbe|will\sbe|should\sbe|must\sbe|equals|comes\sout\sto)\b"
    r"|\s{0,2}(?:\([^()\n]{0,30}\))?\s{0,2}[*_]{0,3}\s{0,2}[:：=]"
    r"|\s{0,4}(?=\n)"
    r")"
    r"(?:\n\s*[-•]\s(?=\s*\S)|[\s:：*_>=→}]|(?:therefore|thus|then|simply|just|indeed|exactly|equal\sto|given\sby|as\sfollows|approximately|about"
    r"|the\sfinal\sanswer\sis|The\sfinal\sanswer\sis|the\sanswer\sis|The\sanswer\sis)\b,?)*"
)
_LINE_START = re.compile(
    r"[#>*_\s\-\d.)]*(?:(?:the|my|so|and|final|correct|short|The|My|So|FINAL|Final|Correct|Short)\s+)*"
)
_NOT_A_VALUE = re.compile(
    r"(?:correct|incorrect|verified|confirmed|right|wrong|not|in|an?\s+[a-z]{2,}|always|the|of|found|obtained|to|that|what|we|as|also"
    r"|our|your|same|still|consistent|valid|reasonable|clear|already|now|below|above|based|expressed|written|it|this|you)\b"
)


_IS_THE_ANSWER = re.compile(
    r"(?<!\S)([$\\]?[-\d][\d,]*(?:\.\d+)?|\$[^$\n]{1,40}\$)\sis\s(?:the|our)\s(?:final\s|correct\s)?\Z"
)
"""`So 80 is the answer`."""
_NOT_THE_ANSWER = re.compile(
    r"\b(?:first|second|third|fourth|next|previous|other|another|each|partial)\s\Z"
    r"|\b(?:check|verify|confirm)(?:ing)?\s(?:(?:our|the|this|that\sthe)\s)?\Z",
    re.IGNORECASE,
)
MAX_STATEMENT = 4_000
"""No stated value is longer; what follows is not looked at."""


def _stated(text: str, start: int, end: int, overrides_a_box: bool) -> Answer | None:
    """What the last "answer is …", "Answer: …" or answer heading states. After a box, only a plain value counts."""
    stop = end
    for _ in range(TRIES):
        at = max(text.rfind("nswer", start, stop), text.rfind("NSWER", start, stop)) - 1
        if at < start:
            return None
        stop = at + 1
        said = _IS_THE_ANSWER.search(text[max(start, at - 60) : at])
        if said is not None and not overrides_a_box:
            begin = max(start, at - 60) + said.start(1)
            return trimmed(text, begin, begin + len(said[1]), "stated")
        lead = _LEAD.match(text, at, end)
        if lead is None or _NOT_THE_ANSWER.search(text[max(start, at - 24) : at]):
            continue
        if "\n" in lead[0] and not _is_heading(text, start, lead):
            continue
        begin, finish = value_span(text, lead.end(), end)
        if begin == finish or _NOT_A_VALUE.match(text, begin, finish):
            continue
        if overrides_a_box and not _PLAIN_VALUE.fullmatch(text, begin, finish):
            continue
        formula = _SEGMENT.fullmatch(text, begin, finish)
        if formula is not None:
            begin, finish = formula.span(formula.lastindex or 0)
        return trimmed(text, begin, finish, "stated")
    return None


def _is_heading(text: str, start: int, lead: re.Match[str]) -> bool:
    """Whether the words stand on a line of their own or end in a colon, so that what follows is on the next line."""
    first_line = lead[0].split("\n", 1)[0].rstrip(" *_")
    if first_line.endswith((":", "：", "is", "are", "be")):
        return True
    line = max(text.rfind("\n", start, lead.start()) + 1, start)
    return _LINE_START.fullmatch(text, line, lead.start()) is not None


_PLAIN_VALUE = re.compile(
    r"[\s$\\(\[{*]*[-+−]?[$€£¥₹]?\d[\d,]*(?:\.\d+)?(?:\s?/\s?\d+)?[%\s$\\)\]}*.]*|\$[^$\n]{1,60}\$|\\\([^\n]{1,60}?\\\)"
)
_PLAIN_END = re.compile(
    r"\n|\*\*|</|<\||[.!?](?=\s|$|\*)|。|,\s(?=[a-z]{2,}|I\s)(?!and\b|or\b)|;\s"
    r"|\s\(?(?:because|since|which|where|when|so|if|as|after|with|by|for\s(?:the|all|each|every|this))\b"
)
_SEGMENT = re.compile(
    r"\$\$(.{1,2000}?)\$\$|\\\[(.{1,2000}?)\\\]|\\\((.{1,2000}?)\\\)|(?<!\\)\$((?:[^$\\\n]|\\.){1,500}+)\$", re.DOTALL
)
_MORE = re.compile(r"\s{0,3}(?:,|;|and\b|or\b|,\s?and\b|,\s?or\b)\s{0,3}(?=[$\\])")


def value_span(text: str, at: int, end: int) -> tuple[int, int]:
    """The value that begins at `at`: formulas in a row, a matrix, or plain text up to the end of the statement."""
    begin, end = at, min(end, at + MAX_STATEMENT)
    segment = _segment_at(text, at, end)
    while segment is not None:
        finish = segment.end()
        more = _MORE.match(text, finish, end)
        segment = _segment_at(text, more.end(), end) if more else None
        if segment is None:
            if begin == at and text[begin : begin + 1] == "$" and text[finish : finish + 1].isdigit():
                break  # "$5 and $7": money, not a formula
            if text[finish : finish + 2] == "\\%":
                finish += 2
            elif text[finish : finish + 1] == "%":
                finish += 1
            return begin, finish
    if text.startswith("\\begin{", at, end):
        close = text.find("\\end{", at, end)
        brace = text.find("}", close, end) if close >= 0 else -1
        if brace >= 0:
            return begin, brace + 1
    stop = _PLAIN_END.search(text, at, end)
    return begin, stop.start() if stop else end


def _segment_at(text: str, at: int, end: int) -> re.Match[str] | None:
    """A formula between its delimiters; `$5 and $7` has none, for its dollars are money."""
    segment = _SEGMENT.match(text, at, end)
    return None if segment is not None and segment[4] and is_money(segment[4]) else segment


_WORDS_IN_A_FORMULA = re.compile(r"\\(?:text|mbox|mathrm|operatorname)\s?\{[^{}]*\}")
_MONEY = re.compile(
    r"\d.*(?<![\\a-zA-Z{])[a-z]{2,}.*|\d[\d,.]*(?:.*[-−–+*/×÷=<>(,x]|)\s+|\d.*[-−–+*/×÷=<>(]|.*\s[a-z]{3,}\s+[a-z]{3,}\s.*",
    re.DOTALL,
)


def is_money(inside: str) -> bool:
    """Whether what stands between two dollar signs is prose or half a sum: `5 and `, `100 - `; then they are prices."""
    if "\\" in inside:
        inside = _WORDS_IN_A_FORMULA.sub("", inside)
    return _MONEY.fullmatch(inside) is not None


def trimmed(text: str, start: int, end: int, way: Way) -> Answer:
    """The answer without the spaces around it."""
    content = text[start:end]
    start += len(content) - len(content.lstrip())
    content = content.strip()
    return Answer(content, start, start + len(content), way)
