"""Where a value that has been announced ends: formulas in a row, a matrix, or plain text up to the end of the statement."""

from __future__ import annotations

import re

MAX_STATEMENT = 4_000
"""No stated value is longer; what follows is not looked at."""

_PLAIN_END = re.compile(
    r"\n|\*\*(?!(?<=[\w)]\*\*)(?:-?\d|[a-z]\b|\(-?[\da-z]+[)/*+-]))|\"\"\"|```|</|<\||<eo[a-z]>|(?<!\bMs)(?<!\bMr)(?<!\bMrs)(?<!\bDr)(?<!\bSt)(?<!\bsq)(?:[.?]|(?<!\\)!)(?=\s|$|\*|[\"”](?:\s|$))|[。।]|,\s(?=[a-z]{2,}|I\s)(?!and\b|or\b)|;\s(?![-\d.,;\s]{1,99}\])"
    r"|\s\(?(?:because|since|which|where|when|so|if|as|after|with|by|for\s(?:the|all|each|every|this))\b"
)
SEGMENT = re.compile(
    r"\$\$(.{1,2000}?)\$\$|\\\[(.{1,2000}?)\\\]|\\\((.{1,2000}?)\\\)|(?<!\\)\$((?>(?:[^$\\\n]|\\.){1,500}))\$"
    r"|\$([^$\n]{0,99}\\begin\{[^$]{1,2000})\$",
    re.DOTALL,
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
    bold = text.find("**", at, end)
    if bold >= 0 and text.count("**", text.rfind("\n", 0, at) + 1, at) % 2:
        end = bold  # **5**2 is no power
    stop = _PLAIN_END.search(text, at, end)
    return begin, stop.start() if stop else end


def _segment_at(text: str, at: int, end: int) -> re.Match[str] | None:
    """A formula between its delimiters; `$5 and $7` has none, for its dollars are money."""
    segment = SEGMENT.match(text, at, end)
    return None if segment is not None and segment[4] and is_money(segment[4]) else segment


_WORDS_IN_A_FORMULA = re.compile(r"\\(?:text|mbox|mathrm|operatorname)\s?\{[^{}]*\}")
_PROSE = re.compile(r"(?<![\\a-zA-Z{*^(])(?:[a-z]{3,}|to|or|is|in|of|at|by|so|he|we|it|on|as|if)(?![a-z(])")
_SENTENCE = re.compile(r"\s[a-z]{3,}\s++[a-z]{3,}\s")
_AMOUNT = re.compile(r"\d[\d,.]*+")
_UNFINISHED = "-−–+*/×÷=<>("


def is_money(inside: str) -> bool:
    """Whether what stands between two dollar signs is prose or half a sum: `5 and `, `100 - `; then they are prices."""
    if "\\" in inside:
        inside = _WORDS_IN_A_FORMULA.sub("", inside)
    if _SENTENCE.search(inside):
        return True
    bare = inside.rstrip()
    if inside[:1] == " ":
        return inside[1:2].isdigit() and bare[-1] in _UNFINISHED  # $ 2.200 - $ 1.980
    if not inside.removeprefix(".")[:1].isdigit():
        return False
    if _PROSE.search(inside, 1) or bare[-1] in _UNFINISHED:
        return True
    return len(bare) < len(inside) and (_AMOUNT.fullmatch(bare) is not None or bare[-1] in ",x")
