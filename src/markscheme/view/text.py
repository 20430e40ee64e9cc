"""Renders a model's text as HTML: escaped, with formulas and Markdown next to their source, and the answer highlighted.

Long texts are cut into blocks that a browser lays out when they come into view. After a time limit the rest is shown as
source.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator

from markupsafe import Markup

from markscheme.view.formulas import Formula, formulas
from markscheme.view.markdown import Edit, edits
from markscheme.view.mathml import to_mathml
from markscheme.view.visible import visible

Span = tuple[int, int]

_LINE_END = re.compile(r"(?:[ \t]*\n)?")
_PUNCTUATION = re.compile(r"[,.;:!?)]*")

BLOCK = 4_000  # characters per block: a few screens of text, laid out in a millisecond


def blocks(text: str, start: int, end: int, size: int = BLOCK) -> list[Span]:
    """Cut `text[start:end]` into pieces of at most `size` characters, at an empty line or a line end if possible."""
    cuts = []
    while end - start > size:
        low, high = start + size // 4, start + size
        cut = text.rfind("\n\n", low, high) + 2
        if cut == 1:
            cut = text.rfind("\n", low, high) + 1
        if cut == 0:
            cut = text.rfind(" ", low, high) + 1 or high
        cuts.append((start, cut))
        start = cut
    if end > start:
        cuts.append((start, end))
    return cuts


def clock() -> float:
    """Return the processor time of this thread, so that a busy machine renders as much as an idle one."""
    return time.thread_time()


def render(text: str, span: Span | None = None, until: float = math.inf) -> Markup:
    """Render one block; `span` is the place of the answer, `until` a time of `clock` after which the text stays plain."""
    return render_plain(text, span) if clock() > until else Markup("".join(_pieces(text, span, until)))


def render_plain(text: str, span: Span | None = None) -> Markup:
    """Render one block without formulas and Markdown."""
    return Markup(_marked(text, 0, len(text), span))


# Below are plain strings of HTML, for speed; all of them come from `visible`, `to_mathml` or this file.


def _pieces(text: str, span: Span | None, until: float) -> Iterator[str]:
    in_text = list(formulas(text))
    steps: list[Formula | Edit] = [*in_text, *edits(text, [(one.start, one.end) for one in in_text])]
    steps.sort(key=lambda step: (step.start, step.end))
    at = 0
    for step in steps:
        if isinstance(step, Edit):
            yield _marked(text, at, step.start, span)
            at = max(at, step.start)  # a display formula may include the line end
            yield f"{step.before}{_source(_marked(text, at, step.end, span))}{step.after}"
            at = max(at, step.end)
            continue
        html = to_mathml(text[step.inner_start : step.inner_end], step.display) if clock() <= until else None
        if html is None:
            continue
        yield _marked(text, at, step.start, span)
        shown, at = _formula(text, step, html, span), step.end
        if step.display:  # it is a block of its own, so the line end after it would be an empty line
            end = _LINE_END.match(text, at).end()  # type: ignore[union-attr]  # matches everywhere
            yield shown + _source(visible(text[at:end]))
        else:  # no line begins with the comma after a formula
            end = _PUNCTUATION.match(text, at).end()  # type: ignore[union-attr]
            yield f'<span class="glued">{shown}{_marked(text, at, end, span)}</span>' if end > at else shown
        at = end
    yield _marked(text, at, len(text), span)


def _formula(text: str, formula: Formula, html: str, span: Span | None) -> str:
    source = _source(_marked(text, formula.start, formula.end, span))
    if overlap(formula.start, formula.end, span) is not None:
        html = f"<mark>{html}</mark>"
    return f'<span class="{"m block" if formula.display else "m"}">{html}{source}</span>'


def _source(html: str) -> str:
    """Return HTML that only the raw view shows."""
    return f'<code class="src">{html}</code>' if html else ""


def _marked(text: str, start: int, end: int, span: Span | None) -> str:
    inside = overlap(start, end, span)
    if inside is None:
        return str(visible(text[start:end]))
    low, high = inside
    return f"{visible(text[start:low])}<mark>{visible(text[low:high])}</mark>{visible(text[high:end])}"


def overlap(start: int, end: int, span: Span | None) -> Span | None:
    """Return the part of `span` between two places of a text."""
    if span is None:
        return None
    low, high = max(start, span[0]), min(end, span[1])
    return (low, high) if low < high else None
