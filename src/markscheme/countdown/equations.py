"""Find the equations of a text: stretches of digits, operators and brackets, without the words and marks around them.

A function before a bracket (`sqrt(3+5)`) belongs to the stretch, so that it is refused instead of skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_UNICODE: Final = "×÷·∙⋅−–—‐‑∕⁄✕✖⨯∗＊＋－／﹢﹣➕➖➗＝（）［］｛｝０-９"
_INVISIBLE: Final = "\u200b\u200c\u200d\u2060\ufeff"
_OPERATOR: Final = rf"(?:[-+*/{_UNICODE}xX:^%]|\\(?:times|div|cdot|ast|over|frac))"
# An operator between two operands.
CALCULATES: Final = re.compile(
    rf"[\d)\]}}][\s)\]}}{_INVISIBLE}]{{0,20}}+{_OPERATOR}[\s(\[{{{_INVISIBLE}-]{{0,20}}+[\d\\]|\\[dt]?frac\s?\{{?\s?[\d(]"
)
_STRETCH: Final = re.compile(
    rf"(?:[\d\s+*/()\[\]{{}}=.,^%\-{_UNICODE}{_INVISIBLE}]"
    r"|\\(?:times|div|cdot|ast|[dt]?frac|left|right|big|Big|quad|[(),;:! \[\]])(?![a-zA-Z])|(?<=[\d)\]\s])[xX](?=[\s\d(\[]))+"
)
# Between two equations: `3, 5, 2. (3+5)*2 = 16.`
_BREAK: Final = re.compile(r"[.,;](?=\s|\Z)|(?<![-+*/(\[{=×÷])\n(?!\s?[-+*/)\]}=×÷])")
_LEADING: Final = re.compile(r"(?:[\s.,;:)\]}*/=]|\d{1,2}[.)]\s(?=\s?[\d(*])|-\s(?=\s?[\d(*]))*")
# Greedy, not possessive: nothing follows it, and Python before 3.11.5 misreads possessive groups whose alternatives give up.
_TRAILING: Final = " \t\n.,;:*([{+-/=" + _INVISIBLE
_NAMES: Final = (
    r"\\?(?:sqrt|cbrt|root|log|ln|abs|exp|sin|cos|tan|max|min|floor|ceil|round|pow|fact|factorial|mod|gcd|lcm)(?![a-z])"
)
_FUNCTION_BEFORE: Final = re.compile(rf"(?:{_NAMES}|[√∛∜|⌊⌈])[\d\s]{{0,3}}\Z|\\?[A-Za-z]{{1,12}}(?=\Z)")
_FUNCTION_AFTER: Final = re.compile(rf"\s{{0,3}}(?:{_NAMES}|[√∛∜|⌊⌈])")
_WRAPPERS: Final = frozenset(("boxed", "fbox", "text", "textbf", "mathbf", "mathrm", "displaystyle", "left", "right"))
# Changes the number before it; a `!` after a result is enthusiasm.
_FACTORIAL: Final = re.compile(r"!(?=\s?(?:[-+/=)}$`]|\*(?!\*)|\\[\])]))|[²³⁴]|\s?(?:mod|choose)\b")
# Turns the equation before it into code: `2_`, `2e0`, `2j`, `2 if 1 else 0`. An underscore may also end emphasis.
_CODE: Final = re.compile(r"_\w*|(?<=\d)[A-Za-z]\w*|\s?if\b[^\n]{0,80}?\belse\b")
_BOLD_END: Final = re.compile(r"\*\*(?=\s?[=.,]|\s*\Z)")
MAX_LENGTH: Final = 2_000  # only the end of a longer passage is searched


def equations(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the equations in a passage, the last one first."""
    start = max(start, end - MAX_LENGTH)
    for stretch in reversed(list(_STRETCH.finditer(text, start, end))):
        if CALCULATES.search(text, *stretch.span()):
            yield from _parts(text, start, *stretch.span())


def _parts(text: str, floor: int, start: int, end: int) -> Iterator[tuple[int, int]]:
    breaks = [stop.span() for stop in _BREAK.finditer(text, start, end)]
    begins, ends = [start, *(stop for _, stop in breaks)], [*(stop for stop, _ in breaks), end]
    for begin, finish in reversed(list(zip(begins, ends, strict=True))):
        if not CALCULATES.search(text, begin, finish):
            continue
        before = _function_before(text, floor, start) if begin == start else 0
        if before:
            begin -= before
        else:
            leading = _LEADING.match(text, begin, finish)
            begin = leading.end() if leading else begin
            bold = _BOLD_END.search(text, begin, finish) if text.startswith("**", begin - 2) else None
            finish = bold.start() if bold else finish  # **(3 + 5) * 2** = 16
        function = _FUNCTION_AFTER.match(text, finish) if finish == end and _goes_on(text, begin, finish) else None
        if function is not None:
            yield begin, function.end()
            continue
        finish = begin + len(text[begin:finish].rstrip(_TRAILING))
        after = _FACTORIAL.match(text, finish) or _code_after(text, begin, finish)
        if begin < finish:
            yield begin, after.end() if after else finish + _exclaims(text, begin, finish)


def _code_after(text: str, begin: int, finish: int) -> re.Match[str] | None:
    code = _CODE.match(text, finish)
    emphasis = code is not None and code[0].strip("_") == "" and "_" in text[max(0, begin - 200) : begin]
    return None if emphasis else code


def _exclaims(text: str, begin: int, finish: int) -> bool:
    """True if a `!` after the equation belongs to its last operand: `3 * 4!`, but not `3 * 4 = 12!`."""
    side = max(text.rfind("=", begin, finish) + 1, begin)
    return text.startswith("!", finish) and CALCULATES.search(text, side, finish) is not None


def _function_before(text: str, floor: int, start: int) -> int:
    """Return the length of the function name right before a stretch that is its argument; 0 for prose."""
    if text[start] not in "([{0123456789":
        return 0
    name = _FUNCTION_BEFORE.search(text[max(floor, start - 16) : start])
    if name is None or (text[start] not in "([{" and name[0][-1].isalpha() and not re.fullmatch(_NAMES, name[0])):
        return 0
    return 0 if name[0].lstrip("\\") in _WRAPPERS else len(name[0])


def _goes_on(text: str, begin: int, finish: int) -> bool:
    return text[begin:finish].rstrip(" \n" + _INVISIBLE)[-1:] in "+-*/([{×÷·−∗"
