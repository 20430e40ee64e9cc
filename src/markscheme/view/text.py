"""A model's text as HTML: escaped, formulas rendered with their source beside them, the answer highlighted.

Long texts are cut into blocks that a browser lays out only when they come into view. The clock bounds the work: when
it runs out, what is left of the formulas stays as source.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from markupsafe import Markup

from markscheme.view.formulas import formulas
from markscheme.view.mathml import to_mathml
from markscheme.view.visible import visible

Span = tuple[int, int]

BLOCK = 4_000
"""Characters a block, more or less: some screens of text, laid out in a millisecond."""


def blocks(text: str, start: int, end: int, size: int = BLOCK) -> list[Span]:
    """Cut `text[start:end]` into pieces of at most `size`, at an empty line if there is one, else at any line end."""
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


def render(text: str, span: Span | None = None, until: float | None = None) -> Markup:
    """One block as HTML; `span` is the answer's place in it."""
    return Markup("").join(_pieces(text, span, until))


def render_plain(text: str, span: Span | None = None) -> Markup:
    """The same without looking for formulas."""
    return _marked(text, 0, len(text), span)


def _pieces(text: str, span: Span | None, until: float | None) -> Iterator[Markup]:
    at = 0
    for formula in formulas(text):
        if until is not None and time.monotonic() > until:
            break
        html = to_mathml(text[formula.inner_start : formula.inner_end], formula.display)
        if html is None:
            continue
        yield _marked(text, at, formula.start, span)
        source = _marked(text, formula.start, formula.end, span)
        shown = Markup(html)
        if _overlap(formula.start, formula.end, span) is not None:
            shown = Markup("<mark>{}</mark>").format(shown)
        kind = "m block" if formula.display else "m"
        yield Markup('<span class="{}">{}<code class="src">{}</code></span>').format(kind, shown, source)
        at = formula.end
    yield _marked(text, at, len(text), span)


def _marked(text: str, start: int, end: int, span: Span | None) -> Markup:
    overlap = _overlap(start, end, span)
    if overlap is None:
        return visible(text[start:end])
    low, high = overlap
    return Markup("{}<mark>{}</mark>{}").format(
        visible(text[start:low]), visible(text[low:high]), visible(text[high:end])
    )


def _overlap(start: int, end: int, span: Span | None) -> Span | None:
    if span is None:
        return None
    low, high = max(start, span[0]), min(end, span[1])
    return (low, high) if low < high else None
