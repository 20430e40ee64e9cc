r"""Whether a response breaks off: in the middle of a formula, a box, a list or a sentence.

Servers do not always say why they stopped. A text that breaks off has concluded nothing, so that only an answer that
was stated before counts. Looks at the last two thousand characters, and at nothing that a finished text may end in.
"""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.extraction.sections import ResponseSections

_WINDOW: Final = 2_000
_ENDS_OPEN: Final = re.compile(
    r"[,(\[{=+×·:;&\\<>≤≥^_/∈→⇒|－（【「《，、：；]\Z|(?<![\w)}\]*])[-*−]\Z|(?<=\s)[-−$]\Z|\\(?:frac|sqrt|cdot|times|left|right|text|boxed|begin|end|quad|leq|geq|approx|implies|Rightarrow)\Z"
)
_ENDS_WELL: Final = re.compile(r"(?:[.!?。！？।…\"'”’)\]}）】」』`%°$€£¥]|\\\]|\\\)|\$|:\)|\w\s?[²³])[*_~\s]*\Z")
_LIST_MARK: Final = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)]|\*\*\d{1,2}[.)]|#{1,6}|\*\*)\s*\Z")
_HEADING: Final = re.compile(
    r"\s*(?:#{1,6}\s(?![-$\\]?\d)|\*\*?(?:Step|Case|Part)\s|Step\s\d{1,2}\b|Case\s\d{1,2}\b)[^\n=]*\Z"
)
_WORDS: Final = re.compile(r"[^\W\d_]{2,}")
_SENTENCE_END: Final = re.compile(r"[.!?](?:\s|\Z)|[。！？।]")
_CONNECTING: Final = re.compile(
    r"\b(?:the|a|an|of|to|and|or|is|are|was|were|be|in|on|at|by|for|with|from|that|which|this|these|we|it|its|so|then|than|as|if|when"
    r"|because|since|has|have|had|will|can|must|let|where|but|each|both|into|using|also|have|get|gives|find|need|their|his|her|our)\Z",
    re.IGNORECASE,
)
_COMMANDS: Final = (("\\(", "\\)"), ("\\[", "\\]"), ("\\begin{", "\\end{"))
_OPENS_JSON: Final = re.compile(
    r"[^\n{]{0,120}\s{0,4}(?:```\s?(?:json)?\s{0,4})?\{\s{0,20}\"[a-z_ ]{1,30}\"\s?:", re.IGNORECASE
)
_SHORTEST: Final = 80
"""A shorter response is an answer as it stands: those that are cut off so early are hardly ever seen."""


def is_cut_off(sections: ResponseSections) -> bool:
    """Whether a response did not end by itself: as its server says, or as its text shows.

    A model that went on to invent a next question had ended before; what was cut off is the invention.
    """
    if sections.end < sections.sequel_end:
        return False
    return sections.cut_off or breaks_off(sections.text, sections.start, sections.end)


def breaks_off(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` stops before it has said what it was saying."""
    begin = max(start, end - _WINDOW)
    tail = text[begin:end].rstrip()
    if len(tail) < _SHORTEST:
        return False
    if _OPENS_JSON.match(text, start, end) and tail[-1] not in "}`":
        return True
    line = tail[tail.rfind("\n") + 1 :]
    if _in_formula(tail) or _in_box(tail):
        return True
    if _LIST_MARK.fullmatch(line) or (_HEADING.fullmatch(line) and "\n" in tail and "nswer" not in line):
        return "\n" in tail
    bare = line.rstrip("*_~ ") or line
    if _ENDS_OPEN.search(bare):
        return len(tail) > 40
    if not _ENDS_WELL.search(line) and _in_sentence(tail, line):
        return True
    return _concludes_nothing(tail)


def _in_formula(tail: str) -> bool:
    for opening, closing in _COMMANDS:
        opened = tail.rfind(opening)
        if opened >= 0 and opened > tail.rfind(closing):
            return True
    paragraph = tail[tail.rfind("\n\n") + 1 :]
    if "$" not in paragraph:
        return False
    if paragraph.replace("\\$", "").count("$$") % 2:
        return True
    marks = paragraph.replace("\\$", "").replace("$$", "")
    rest = marks[marks.rfind("$") + 1 :]
    # An odd dollar with a number behind it is a price; with LaTeX or a letter behind it, a formula that stays open.
    return (
        marks.count("$") % 2 == 1
        and not re.match(r"[\d.,]+(?:\s|[.)]|\Z)", rest)
        and not rest[:1].isspace()
        and rest != ""
    )


def _in_box(tail: str) -> bool:
    """Whether the last box runs to the end unclosed. A response that is nothing but such a box forgot the brace."""
    opened = max(tail.rfind("\\boxed{"), tail.rfind("\\fbox{"))
    if opened < 40:
        return False
    depth = 0
    for character in tail[opened:]:
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return False
    return "\n" not in tail[opened:]


def _in_sentence(tail: str, line: str) -> bool:
    """Whether the last line is prose without its full stop, in a text that otherwise sets them."""
    stop = _last_sentence_end(line)
    words = _WORDS.findall(line, stop)
    earlier = tail[: len(tail) - len(line) + stop]
    if "nswer" in line[stop:] or "####" in line or _RESULT_AT_END.search(line, stop):
        return False
    if _CONNECTING.search(line) or _OPENING.fullmatch(line, stop):
        return bool(earlier.strip()) or len(words) > 2
    if len(words) < 3:
        # "… is 60. The formula": after a full stop on the same line, or alone below formulas, words open a sentence.
        new = stop > 0 or (
            bool(words)
            and not _DIGIT.search(line)
            and (len(_STRUCTURED.findall(earlier)) > 3 or "," in line or len(earlier) > 200)
        )
        return bool(_BEGINS_A_STEP.match(line)) or (new and line[stop:].strip()[:1].isalpha())
    if not earlier.strip():
        return len(words) > 11
    lines = [other for other in earlier.split("\n") if len(_WORDS.findall(other)) > 3]
    if not lines:
        return stop > 0 or len(words) > 11
    ended = sum(1 for other in lines if _ENDS_WELL.search(other) or other.rstrip("* ").endswith(":"))
    return ended * 2 > len(lines)


_OPENING: Final = re.compile(
    r"[\s\-*]*(?:(?:Therefore|Thus|Hence|So|Next|Now|Then|First|Second|Third|Finally|Since|Here|Also|However|But|Substituting"
    r"|Simplifying|Given|Let|Using|For|If|When|We|This|The|It|In|From|By|To|Because|Note|Similarly|Adding|Solving)[,\s]*"
    r"(?:we|the|let|it|this|there|each|let's|find|need|to|know|in)?)\s*"
)
"""What only opens a sentence."""
_RESULT_AT_END: Final = re.compile(r"=\s?[-$€£]{0,2}[\d.,/]{1,20}\s?%?\Z")
_DIGIT: Final = re.compile(r"\d")
_BEGINS_A_STEP: Final = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)]|\*\*)\s")


def _last_sentence_end(line: str) -> int:
    last = 0
    for stop in _SENTENCE_END.finditer(line):
        last = stop.end()
    return last


_CONCLUDES: Final = re.compile(
    r"\b(?:therefore|thus|hence|so|finally|conclu\w+|answers?|final|total|altogether|in\sall|overall|result|means|consequently|must|only"
    r"|maximum|minimum|solutions?|is\s\*\*|should|equals|left|remain\w*|there\s(?:are|is))\b|因此|所以|故|綜上|综上|∴|\\therefore|####",
    re.IGNORECASE,
)
_STRUCTURED: Final = re.compile(r"\\\(|\\\[|\*\*[A-Z\d]|^[ \t]{0,12}\d{1,2}\.\s|^#{1,6}\s|\$\$", re.MULTILINE)


def _concludes_nothing(tail: str) -> bool:
    """Whether a worked solution in steps and formulas ends in one of them, without a word that draws a conclusion.

    Such solutions end in a box or in a "therefore"; of those that were cut where a sentence ends, most show only this.
    """
    body = tail.rstrip()
    if len(body) < _SHORT or len(_STRUCTURED.findall(body)) < 4:
        return False
    return _CONCLUDES.search(body, _last_paragraphs(body)) is None


_SHORT: Final = 300


def _last_paragraphs(body: str) -> int:
    """Where the last line of words begins: a formula that is displayed on its own belongs to the line before it."""
    at = len(body)
    for _ in range(6):
        at = max(body.rfind("\n", 0, at), 0)
        if not at or len(_WORDS.findall(re.sub(r"\\[a-zA-Z]+", "", body[at:]))) > 3:
            break
    return at
