r"""The last box of a response: braces balanced, unclosed boxes, `\boxed 73`, `\fbox{73}`; adjacent boxes as one list.

Scans backwards from the end and looks at each character a bounded number of times, so that a million unclosed boxes
cost no more than their length.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from markscheme.marking.reading.extracted import MAX_CONTENT, TRIES, ExtractedAnswer

_BRACE = re.compile(r"[{}]|\\[^a-zA-Z\s]?")
_BARE = re.compile(
    r"[-+]?\d[\d,]*(?:\.\d+)?|[-+]?\\[dt]?frac\s*(?:\{[^{}\n]*\}|\d)\s*(?:\{[^{}\n]*\}|\d)|\\?[A-Za-z]+(?:\{[^{}\n]*\})?|[^\s\\{}$.]"
)
_UNCLOSED_END = re.compile(r"\n|\$|\\\)|\\\]")
_SUBSCRIPT = re.compile(r"_(?:\{[^{}\n]{1,20}\}|\d{1,2})")
MAX_BOXES = 32  # more boxes in a row than any list of solutions has
_NEAR = 400  # how far before a box the box before it may begin to be read as one list with it


class Box(NamedTuple):
    """The content of a box, where it stands in the text, and where the command itself begins and ends."""

    content: str
    start: int
    end: int
    outer_start: int
    outer_end: int


def last_box(text: str, start: int, end: int) -> Box | None:
    """The last box with something in it, in `text[start:end]`."""
    stop = end
    for _ in range(TRIES):
        at = _last_command(text, start, stop)
        if at < 0:
            return None
        box = _box_at(text, at, stop, end)
        if box is not None and box.content.strip() not in _PLACEHOLDERS:
            return box
        stop = at
    return None


_PLACEHOLDERS = frozenset(("", "...", "…", "\\ldots", "\\dots", "answer", "\\text{answer}", "your answer", "\\cdot"))


def _last_command(text: str, start: int, stop: int) -> int:
    r"""Where the last `\boxed`, `\fbox`, or a `boxed{` that lost its backslash begins; -1 without one."""
    boxed = text.rfind("boxed", start, stop)
    if boxed > start and text[boxed - 1] == "\\":
        boxed -= 1
    elif boxed >= 0 and not text.startswith("{", boxed + 5):  # the word, in prose
        boxed = max(text.rfind("\\boxed", start, boxed), text.rfind("boxed{", start, boxed))
    # Only what follows the last \boxed can hold a later \fbox, and that is usually a few characters.
    framed = text.rfind("\\fbox", boxed if boxed >= 0 else start, stop)
    return framed if framed > boxed else boxed


def _box_at(text: str, at: int, stop: int, end: int) -> Box | None:
    """The box whose command begins at `at`; its brace is looked for up to `stop`, an unclosed one ends with its line."""
    inside = at + (6 if text.startswith("\\boxed", at) else 5)  # \fbox and boxed have five letters each
    while inside < stop and text[inside] in " \t\n*":
        inside += 1
    if not text.startswith("{", inside, stop):
        bare = _BARE.match(text, inside, stop)
        return Box(bare[0], bare.start(), bare.end(), at, bare.end()) if bare else None
    inside += 1
    close = closing_brace(text, inside, min(stop, inside + MAX_CONTENT))
    if close < 0:
        limit = min(stop, inside + MAX_CONTENT)
        broken = _UNCLOSED_END.search(text, inside, limit)
        close = broken.start() if broken else limit
        return Box(text[inside:close], inside, close, at, close)
    if text.startswith("_", close + 1, end):
        base = _SUBSCRIPT.match(text, close + 1, end)  # \boxed{52}_8: the base belongs to the number
        if base:
            return Box(text[inside:close] + base[0], inside, close, at, base.end())
    return Box(text[inside:close], inside, close, at, close + 1)


def closing_brace(text: str, at: int, end: int) -> int:
    """Where the group that was opened just before `at` closes, or -1."""
    close = text.find("}", at, end)
    if close < 0 or (text.find("{", at, close) < 0 and text.find("\\", at, close) < 0):
        return close  # nothing nested or escaped: nearly every box
    depth = 1
    for brace in _BRACE.finditer(text, at, end):
        sign = brace[0]
        if sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
            if depth == 0:
                return brace.start()
    return -1


# What stands between boxes that list one answer: "," ";" "and" "or" or a \quad among mathematics' own brackets and
# spaces, then perhaps the name of the next unknown ("x = \boxed{2}, y = \boxed{3}"). Spaces alone list nothing.
# Possessive quantifiers, because runs of spaces side by side could backtrack for ages.
_SPACE = r"(?>(?:[ \t$*]|\\[()\[\],;: ]|\n(?!\s*\n))*)"
_BETWEEN = re.compile(
    rf"{_SPACE}(?:[,;&、，；،]|\\q?quad|\\text\s?\{{\s*,?\s*(?:and|or)\s*\}}|(?:,\s*)?(?:and|or|und|oder|et|ou|y|o)\b|[和或且])"
    rf"(?:{_SPACE}(?:and\b|or\b|\\q?quad|\\text\s?\{{\s*(?:and|or)\s*\}})){{0,2}}"
    rf"{_SPACE}(?:(?:[A-Za-z]|\\[a-z]{{2,7}})(?:_\{{?\w\}}?)?(?:(?:\\left)?\([^()=\n]{{1,30}}\))?\s*=)?{_SPACE}"
)
_APPROXIMATELY = re.compile(
    rf"{_SPACE}(?:\\approx|≈|\\simeq|,?\s*(?:or\s+)?(?:which\s+is\s+)?(?:approximately|numerically|about|roughly))[^\n\\{{}}]{{0,20}}?{_SPACE}"
)


def last_boxes(text: str, start: int, end: int) -> tuple[Box, ...]:
    """The last box with the boxes before it that belong to the same list, in order; of an exact and an approximate
    value the exact one. Empty when there is no box."""
    last = last_box(text, start, end)
    if last is None:
        return ()
    near = max(start, last.outer_start - _NEAR)
    if text.rfind("box", near, last.outer_start) < 0:
        return (last,)
    boxes = [last]
    while len(boxes) < MAX_BOXES:
        first = boxes[-1]
        at = _last_command(text, max(start, first.outer_start - _NEAR), first.outer_start)
        before = _box_at(text, at, first.outer_start, end) if at >= 0 else None
        if before is None or before.outer_end == before.end or first.outer_start - before.outer_end > 60:
            break  # none, unclosed (so that it encloses the later one), or too far away
        gap = text[before.outer_end : first.outer_start]
        if len(boxes) == 1 and (_APPROXIMATELY.fullmatch(gap) or last.content.lstrip().startswith(("\\approx", "≈"))):
            return (before,)
        if not _BETWEEN.fullmatch(gap):
            break
        boxes.append(before)
    boxes.reverse()
    return tuple(boxes)


FORGOTTEN = 40  # in a shorter text than this before it, a box without its brace is one whose brace was forgotten


def boxed_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """What the last box, or the last list of boxes, holds."""
    last = text.rfind("box", start, end)
    if last < 0:
        return None
    plain = _plain_box(text, start, end, last - 1)
    if plain is not None:
        return plain
    boxes = last_boxes(text, start, end)
    if boxes and boxes[-1].outer_end == boxes[-1].end == end and boxes[-1].outer_start > FORGOTTEN:
        boxes = last_boxes(text, start, boxes[-1].outer_start)  # a longer text that ends within a box was cut off there
    if len(boxes) < 2:
        return _with_factor(text, start, end, boxes[0]) if boxes else None
    parts = tuple(box.content for box in boxes)
    return ExtractedAnswer(", ".join(parts), boxes[0].start, boxes[-1].end, "boxed", parts, boxes[-1].outer_end)


def _plain_box(text: str, start: int, end: int, at: int) -> ExtractedAnswer | None:
    r"""The last box, at `at`, where it is `\boxed{73}` and nothing near it could belong to it: most boxes, at a third of
    the cost."""
    if not text.startswith("\\boxed{", at, end) or at < start:
        return None
    inside = at + 7
    close = text.find("}", inside, end)
    content = text[inside:close] if close > 0 else ""
    if "{" in content or "\\" in content:
        close = closing_brace(text, inside, min(end, inside + MAX_CONTENT))
        content = text[inside:close] if close > 0 else ""
    if content.strip() in _PLACEHOLDERS or text[at - 1 : at] == "-":
        return None
    if text[close + 1 : close + 2] not in ("$", ".", "") and text[close + 1 : close + 4] != " \\]":
        return None
    if text.find("box", max(start, at - _NEAR), at) >= 0:
        return None
    return ExtractedAnswer(content, inside, close, "boxed", (), close + 1)


_FACTOR = re.compile(r"\s?(?:\\pi(?![a-zA-Z])|\\sqrt\{[^{}\n]{1,20}\}|\\?%)")
_BEFORE_A_SIGN = re.compile(r"(?:[$=(\[]|\\[(\[])\s?\Z")


def _with_factor(text: str, start: int, end: int, box: Box) -> ExtractedAnswer:
    r"""A box with the factor or sign that was left outside of it: `\boxed{12}\pi`, `$-\boxed{5}$`."""
    content, begin, finish = box.content, box.start, box.end
    follows = text[box.outer_end : box.outer_end + 2].lstrip()
    factor = _FACTOR.match(text, box.outer_end, end) if follows[:1] in ("\\", "%") and follows[:2] != "\\]" else None
    if factor is not None and box.outer_end > box.end:
        content, finish = content + factor[0], factor.end()
    at = box.outer_start
    if (
        at > start
        and text[at - 1] == "-"
        and (at - 1 == start or _BEFORE_A_SIGN.search(text[max(start, at - 5) : at - 1]))
    ):
        content, begin = f"-({content})", at - 1
    return ExtractedAnswer(content, begin, finish, "boxed", (), box.outer_end)
