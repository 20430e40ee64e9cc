"""Answers that are announced in words: "The answer is …", "Answer: …", a heading and the value below it."""

from __future__ import annotations

import re

from markscheme.marking.extraction.extracted import TRIES, ExtractedAnswer, trimmed, unenclosed
from markscheme.marking.extraction.value_spans import SEGMENT, value_span

_LEAD = re.compile(
    r"(?:(?:answer|ANSWER|Answer)s?|(?<=[Ff])inal\s(?:value|result|number|count|total|amount|score))\b[*_]{0,3}"
    r"(?:"
    r"\s{1,3}(?:(?:to|for|of)\s[^.:\n]{1,80}?\s|\([^()\n]{1,30}\)\s)?(?:is|was|are|would\sbe|will\sbe|should\sbe|must\sbe|equals|comes\sout\sto)\b"
    r"|\s{0,2}(?:\([^()\n]{0,30}\)|in\s(?:a\s)?box(?:ed\sform(?:at)?)?)?\s{0,2}[*_\"]{0,3}\s{0,2}[:：=]"
    r"|\s{0,4}(?=\n)"
    r")"
    r"(?>(?:\n[ \t]{0,20}[-•]\s(?=[ \t]{0,20}\S)|[\s:：*_>=→}]|\"\"\"|```(?:[a-z]{1,10}(?=\n))?|<(?:b|strong|em)>(?=[\w$\\-])|(?:therefore|thus|then|simply|just|indeed|exactly|equal\sto|given\sby|as\sfollows|approximately|about"
    r"|the\sfinal\sanswer\sis|The\sfinal\sanswer\sis|the\sanswer\sis|The\sanswer\sis)\b,?){0,400})"
)
_FINAL_WORDS = ("inal value", "inal result", "inal number", "inal count", "inal total", "inal amount", "inal score")
"""Of "final value is", "Final result:": TheoremQA's and MathVista's models say these instead of "answer"."""
_LINE_START = re.compile(
    r"[#>*_\s\-\d.)]{0,200}+(?:(?:the|my|so|and|final|correct|short|The|My|So|FINAL|Final|Correct|Short)\s+)*"
)
_NOT_A_VALUE = re.compile(
    r"(?:correct|incorrect|verified|confirmed|right|wrong|not|in|an?\s+[a-z]{2,}|always|the|of|found|obtained|to|that|what|we|as|also"
    r"|our|your|same|still|consistent|valid|reasonable|clear|already|now|below|above|based|expressed|written|it|this|you"
    r"|(?:multipli|divid|add|reduc|increas|doubl|halv|squar|comput|calculat)i?ed)\b"
)


_IS_THE_ANSWER = re.compile(
    r"(?<!\S)([$\\]?[-\d][\d,]*(?:\.\d+)?|\$[^$\n]{1,40}\$)\sis\s(?:the|our)\s(?:final\s|correct\s)?\Z"
)
"""`So 80 is the answer`."""
_NOT_THE_ANSWER = re.compile(
    r"\b(?:first|second|third|fourth|next|previous|other|another|each|partial|no(?:\s[a-z]{3,12})?)\s\Z"
    r"|\b(?:check|verify|confirm)(?:ing)?\s(?:(?:our|the|this|that\sthe)\s)?\Z",
    re.IGNORECASE,
)


def declared_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """What the last "answer is …", "Answer: …" or answer heading states."""
    return _declared(text, start, end, plain=False)


def plainly_declared_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """The same for text behind a box, where only a plain value counts."""
    return _declared(text, start, end, plain=True)


def _declared(text: str, start: int, end: int, *, plain: bool, looped: bool = False) -> ExtractedAnswer | None:
    stop = end
    final = text.find("inal ", start, end) >= 0
    for _ in range(TRIES):
        at = max(text.rfind("nswer", start, stop), text.rfind("NSWER", start, stop)) - 1
        if final:
            at = max(at, *(text.rfind(word, start, stop) for word in _FINAL_WORDS))
        if at < start:
            return None
        stop = at + 1
        said = _IS_THE_ANSWER.search(text[max(start, at - 60) : at])
        if said is not None and not plain:
            begin = max(start, at - 60) + said.start(1)
            return trimmed(text, begin, begin + len(said[1]), "declared")
        lead = _LEAD.match(text, at, end)
        if lead is None or _NOT_THE_ANSWER.search(text[max(start, at - 24) : at]):
            continue
        if "\n" in lead[0] and not _is_heading(text, start, lead):
            continue
        begin, finish = value_span(text, lead.end(), end)
        bracketed = _IN_ANGLES.match(text, begin, end)
        if bracketed is not None:
            if bracketed[1].lower() in _PLACEHOLDERS:
                continue
            begin, finish = bracketed.span(1)
        quoted = _QUOTED.match(text, begin, end)
        if quoted is not None:
            begin, finish = quoted.span(1)
        if _OR_ANOTHER.match(text, finish, end) is not None:
            return ExtractedAnswer("", finish, finish, "declared")
        if text.startswith("?\n", finish, end):  # the question once more, and its answer on the next line
            begin, finish = value_span(text, finish + 2, end)
        if not text[begin:finish].strip(" _") or _NOT_A_VALUE.match(text, begin, finish):
            continue
        if finish == end and _is_unfinished_repeat(text, start, at, begin, end):
            continue
        if plain and not _PLAIN_VALUE.fullmatch(text, begin, finish):
            continue
        taken_back = _TAKEN_BACK.match(text, finish, end)
        if taken_back is not None and text.count(taken_back[0].strip(), finish, end) < _ROUNDS:
            # What is said then counts; where nothing is, nothing was answered.
            return None if _DIGIT.search(text, finish, end) else ExtractedAnswer("", finish, finish, "declared")
        formula = SEGMENT.fullmatch(text, begin, finish)
        if formula is not None:
            begin, finish = formula.span(formula.lastindex or 0)
        answer = unenclosed(text, at, trimmed(text, begin, finish, "declared"))
        if answer.content.endswith(".)") and "(" not in answer.content:  # the note that it stands in ends there
            answer = answer._replace(content=answer.content[:-2], end=answer.end - 2)
        return answer
    if looped:
        return None  # one loop is passed over; a text of many has no answer, and would be read once for each
    before = _before_loop(text, start, stop, end)
    return _declared(text, start, before, plain=plain, looped=True) if before >= 0 else None


def _before_loop(text: str, start: int, at: int, end: int) -> int:
    """Where the lines begin that a text repeats to its end, `This answer is correct.` over and over; -1 where it does not.
    Once, `This answer is wrong.` takes an answer back; a hundred times it is noise, and TheoremQA's own labels say so."""
    at = max(text.rfind("\n", start, at), start)
    lines = [line.strip() for line in text[at : at + 200].split("\n")[1:-1] if line.strip()][:4]
    if not lines or text.count(lines[0], at, end) < _ROUNDS:
        return -1
    while (line := text.rfind("\n", start, at)) >= 0 and text[line:at].strip() in (*lines, ""):
        at = line
    return at


_OR_ANOTHER = re.compile(r"\s\(if\s[^()\n]{1,200}\),?\sor\s[$€£]?\d[\d,.]*")
"""`5 (if it is full) or 6 (if it is not)`: no single answer."""
_ROUNDS = TRIES // 4
"""Lines that are repeated so often are a loop."""
_DIGIT = re.compile(r"\d")
_QUOTED = re.compile(r"\\?[\"“]([^\"“”\n]{0,200}?)[.,]?\\?[\"”](?=[`.,;}*)]|\s(?!and\b|or\b)|\s?\Z)")
"""`The answer is "12."`, `**answer**: "12"`, `\\"answer\\": \\"12\\"`."""
_IN_ANGLES = re.compile(r"<([^<>/=,\n]{1,60})>(?=[.*\n]|\s?\Z)")
"""`The answer is <16>.`: models that take the marks of a template for part of it; `<1, 2>` is a vector."""


_PLACEHOLDERS = frozenset(("number", "answer", "value", "integer", "your answer", "final answer", "result"))
"""What a template says where the answer should stand."""
_TAKEN_BACK = re.compile(
    r"[.,!…*\s]{0,6}(?:(?:[Hh]mm|[Ww]ait|[Oo]h|[Oo]ops),?\s)?(?:(?:[Nn]o[,:]|[Nn]o,?\s(?:sorry|wait)\b|[Ss]orry[,:]|actually\b)[^\n]{0,30}?\d"
    r"|,?\swhich\sis\s(?:not\s(?:the\s)?(?:correct|right)|incorrect|wrong)\b|I\smade\san?\s(?:mistake|error)\b|[Tt]h(?:at|is)(?:\sanswer)?(?:'s|\sis|\swas)\s(?:wrong|incorrect|not\sright)\b)"
)
"""`The answer is 12. No, sorry: 13.`, `… 12. Hmm, I made a mistake. It should be 13.`: what is said then counts."""


def _is_unfinished_repeat(text: str, start: int, at: int, begin: int, end: int) -> bool:
    """Whether the text breaks off within what it said before: `The answer is [3, 2].` many times, then `The answer is [`."""
    said = text[at:end].rstrip()
    if len(said) > 200:
        return False
    before = text.rfind(said, start, at)
    # A whole repetition ends where the earlier statement ends; an unfinished one goes on in the earlier place.
    return (before >= 0 and text[before + len(said) : before + len(said) + 1] not in ("", "\n", ".", " ")) or (
        begin == end and before >= 0
    )


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
