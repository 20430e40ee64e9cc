r"""Find the last box of a response: balanced braces, unclosed boxes, `\boxed 73`, `\fbox{73}`, adjacent boxes as a
list.

Scans backwards from the end and looks at each character a bounded number of times, so that a million unclosed boxes
take linear time.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from markscheme.marking.reading.words import either, listed

MAX_CONTENT: Final = 100_000  # longest answer; a longer one is ignored
TRIES: Final = 64  # candidates examined, counted from the end
_BRACE: Final = re.compile(r"[{}]|\\[^a-zA-Z\s]?")
# The rest of a group with at most one level of groups in it, which most have.
_GROUP: Final = re.compile(
    r"[^{}\\]*+(?>(?:(?:\\[^a-zA-Z\s]?|\{[^{}\\]*+(?>(?:\\[^a-zA-Z\s]?[^{}\\]*+)*)\})[^{}\\]*+)*)\}"
)
_BARE: Final = re.compile(
    r"[-+]?\d[\d,]*(?:\.\d+)?|[-+]?\\[dt]?frac\s*(?:\{[^{}\n]*\}|\d)\s*(?:\{[^{}\n]*\}|\d)|\\?[A-Za-z]+(?:\{[^{}\n]*\})?|[^\s\\{}$.]"
)
_UNCLOSED_END: Final = re.compile(r"\n|\$|\\\)|\\\]")
_SUBSCRIPT: Final = re.compile(r"_(?:\{[^{}\n]{1,20}\}|\d{1,2})")
_FACTOR: Final = re.compile(r"\s?(?:\\pi(?![a-zA-Z])|\\sqrt\{[^{}\n]{1,20}\}|\\?%)")
_BEFORE_A_SIGN: Final = re.compile(r"(?:[$=(\[]|\\[(\[])\s?\Z")
_AFTER_PLAIN: Final = ("$", ".", "\\)", "\\]", " \\)", " \\]", "\n\\]")
_PLACEHOLDERS: Final = frozenset(listed("placeholders"))
_MAX_BOXES: Final = 32  # most boxes in one list
_NEAR: Final = 400  # how far apart two boxes of one list may begin
_GAP: Final = 60  # most characters between two boxes of a list
FORGOTTEN: Final = 40  # with less text before it, an unclosed box only lacks its brace

# What may separate the boxes of one list: "," ";" "and" or a \quad, with brackets and spaces of mathematics, then
# perhaps the name of the next unknown ("x = \boxed{2}, y = \boxed{3}"). Spaces alone do not make a list.
_SPACE: Final = re.compile(r"(?>(?:[ \t$*]|\\[()\[\],;: ]|\n(?!\s*\n))*)")
_JOIN: Final = re.compile(
    rf"[,;&、，；،]|\\q?quad|\\text\s?\{{\s*,?\s*{either('joins')}\s*\}}|(?:,\s*)?{either('joins')}(?![a-zA-Z])"
)
_UNKNOWN: Final = re.compile(
    r"(?:(?:[A-Za-z]|\\[a-z]{2,7})(?:_\{?\w\}?)?(?:(?:\\left)?\([^()=\n]{1,30}\))?\s*=)?(?>(?:[ \t$*]|\\[()\[\],;: ]|\n(?!\s*\n))*)"
)
_APPROXIMATELY: Final = re.compile(rf"(?:\\approx|≈|\\simeq|,?\s*{either('approximately')})[^\n\\{{}}]{{0,20}}\s*")


class ExtractedAnswer(Struct, frozen=True, gc=False):
    """An answer in the text. `parts` holds the boxes of a list in several boxes."""

    content: str
    start: int
    end: int
    form: str  # name of the rule: boxed, json, tagged …
    parts: tuple[str, ...] = ()
    outer_end: int = 0  # end of the enclosing form


def trimmed(text: str, start: int, end: int, form: str) -> ExtractedAnswer:
    """Return the answer without surrounding spaces."""
    content = text[start:end].lstrip()
    start = end - len(content)
    content = content.rstrip()
    return ExtractedAnswer(content, start, start + len(content), form)


class Box(Struct, frozen=True, gc=False):
    """The content of a box, its position, and the start and end of the command."""

    content: str
    start: int
    end: int
    outer_start: int
    outer_end: int


def last_box(text: str, start: int, end: int) -> Box | None:
    """Return the last non-empty box in `text[start:end]`."""
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


def _last_command(text: str, start: int, stop: int) -> int:
    r"""Return the start of the last `\boxed`, `\fbox`, or `boxed{` that lost its backslash, or -1."""
    boxed = text.rfind("boxed", start, stop)
    if boxed > start and text[boxed - 1] == "\\":
        boxed -= 1
    elif boxed >= 0 and not text.startswith("{", boxed + 5):  # the word "boxed" in prose
        boxed = max(text.rfind("\\boxed", start, boxed), text.rfind("boxed{", start, boxed))
    # A later \fbox can only follow the last \boxed, and that is usually a few characters.
    framed = text.rfind("\\fbox", boxed if boxed >= 0 else start, stop)
    return framed if framed > boxed else boxed


def _box_at(text: str, at: int, stop: int, end: int) -> Box | None:
    """Return the box whose command starts at `at`. Its brace is searched up to `stop`; an unclosed box ends with its
    line.
    """
    inside = at + (6 if text.startswith("\\boxed", at) else 5)  # \fbox and boxed both have five characters
    while inside < stop and text[inside] in " \t\n*":
        inside += 1
    if not text.startswith("{", inside, stop):
        bare = _BARE.match(text, inside, stop)
        return Box(bare[0], bare.start(), bare.end(), at, bare.end()) if bare else None
    inside += 1
    limit = min(stop, inside + MAX_CONTENT)
    close = closing_brace(text, inside, limit)
    if close < 0:
        broken = _UNCLOSED_END.search(text, inside, limit)
        close = broken.start() if broken else limit
        return Box(text[inside:close], inside, close, at, close)
    base = _SUBSCRIPT.match(text, close + 1, end)  # \boxed{52}_8: the base is part of the number
    content = text[inside:close] + (base[0] if base else "")
    return Box(content, inside, close, at, base.end() if base else close + 1)


def closing_brace(text: str, at: int, end: int) -> int:
    """Return the position of the brace that closes the group opened just before `at`, or -1."""
    if text.find("}", at, end) < 0:
        return -1
    if (group := _GROUP.match(text, at, end)) is not None:
        return group.end() - 1
    depth = 1
    for brace in _BRACE.finditer(text, at, end):
        depth += (brace[0] == "{") - (brace[0] == "}")
        if depth == 0:
            return brace.start()
    return -1


def _last_boxes(text: str, start: int, end: int) -> tuple[Box, ...]:
    """Return the last box with the earlier boxes of the same list, in order.

    Of an exact and an approximate value, only the exact one is returned.
    """
    last = last_box(text, start, end)
    boxes = [last] if last is not None else []
    while boxes and len(boxes) < _MAX_BOXES:
        first = boxes[-1]
        at = _last_command(text, max(start, first.outer_start - _NEAR), first.outer_start)
        before = _box_at(text, at, first.outer_start, end) if at >= 0 else None
        if before is None or before.outer_end == before.end or first.outer_start - before.outer_end > _GAP:
            break  # no box, an unclosed one (which encloses the later one), or too far away
        gap = text[before.outer_end : first.outer_start]
        if len(boxes) == 1 and (_is_approximate(gap) or first.content.lstrip().startswith(("\\approx", "≈"))):
            return (before,)
        if not _lists(gap):
            break
        boxes.append(before)
    return tuple(reversed(boxes))


def _is_approximate(gap: str) -> bool:
    space = _SPACE.match(gap)
    return _APPROXIMATELY.fullmatch(gap, space.end() if space else 0) is not None


def _lists(gap: str) -> bool:
    """True if the text between two boxes makes them one list: at most three joining marks or words."""
    at = 0
    for joins in range(4):
        space = _SPACE.match(gap, at)
        at = space.end() if space else at
        if joins and _UNKNOWN.fullmatch(gap, at):
            return True
        join = _JOIN.match(gap, at)
        if join is None:
            return False
        at = join.end()
    return False


def boxed_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """Return the content of the last box, or of the last list of boxes."""
    last = text.rfind("box", start, end)
    if last < 0:
        return None
    plain = _plain_box(text, start, end, last - 1)
    if plain is not None:
        return plain
    boxes = _last_boxes(text, start, end)
    if boxes and boxes[-1].outer_end == boxes[-1].end == end and boxes[-1].outer_start > FORGOTTEN:
        boxes = _last_boxes(
            text, start, boxes[-1].outer_start
        )  # a longer text that ends within a box was cut off there
    if len(boxes) < 2:
        return _with_factor(text, start, end, boxes[0]) if boxes else None
    parts = tuple(box.content for box in boxes)
    return ExtractedAnswer(", ".join(parts), boxes[0].start, boxes[-1].end, "boxed", parts, boxes[-1].outer_end)


def _plain_box(text: str, start: int, end: int, at: int) -> ExtractedAnswer | None:
    r"""Return the last box, at `at`, if it is a plain `\boxed{73}` with nothing attached.

    This is the fast path for most boxes, at a third of the cost.
    """
    if at < start or not text.startswith("\\boxed{", at, end) or text[at - 1 : at] == "-":
        return None
    close = closing_brace(text, at + 7, min(end, at + 7 + MAX_CONTENT))
    content = text[at + 7 : close] if close > 0 else ""
    if content.strip() in _PLACEHOLDERS or text.find("box", max(start, at - _NEAR), at) >= 0:
        return None
    if close + 1 < end and not text.startswith(_AFTER_PLAIN, close + 1):
        return None
    return ExtractedAnswer(content, at + 7, close, "boxed", (), close + 1)


def _with_factor(text: str, start: int, end: int, box: Box) -> ExtractedAnswer:
    r"""Return a box with the factor or sign left outside of it: `\boxed{12}\pi`, `$-\boxed{5}$`."""
    content, begin, finish, at = box.content, box.start, box.end, box.outer_start
    factor = _FACTOR.match(text, box.outer_end, end) if box.outer_end > box.end else None
    if factor is not None:
        content, finish = content + factor[0], factor.end()
    if at > start and text[at - 1] == "-":
        before = text[max(start, at - 5) : at - 1]
        if not before or _BEFORE_A_SIGN.search(before):
            content, begin = f"-({content})", at - 1
    return ExtractedAnswer(content, begin, finish, "boxed", (), box.outer_end)
