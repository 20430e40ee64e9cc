"""HTML for notebooks: a response with its answer highlighted.

Plain HTML with inline style, without scripts or external files; everything that a model or a server wrote is escaped.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from markscheme.pages.terminal import gold_line

if TYPE_CHECKING:
    from markscheme.types import Mark, Problem, Response

LONGEST_END = 20_000  # characters shown of each end of a long text


def html_response(problem: Problem, response: Response, mark: Mark | None) -> str:
    """Return a response with its formulas rendered, its answer highlighted, its verdict and the reason."""
    from markscheme.view.mathml import to_mathml
    from markscheme.view.text import clock, render

    until = clock() + 1.0  # after that, formulas stay as source
    gold = gold_line(problem.gold)
    verdict = "not marked" if mark is None else f"{mark.verdict}: {mark.why}" if mark.why else str(mark.verdict)
    flags = f" ({', '.join(mark.flags)})" if mark is not None and mark.flags else ""
    colour = "#009E73" if mark is not None and mark.correct else "#D55E00"
    thinking = (
        f"<details><summary>thinking</summary>{_block(render(_ends(response.reasoning)[0], None, until))}</details>"
        if response.reasoning
        else ""
    )
    text = response.text if response.error is None else f"no answer: {response.error}"
    text, span = _ends(text, mark.span if mark is not None else None)
    return (
        '<div style="max-width:60em"><style>.markscheme .src{display:none}</style><div class="markscheme">'
        f"<b>{escape(problem.id)}</b>, sample {response.sample}{_block(render(problem.statement, None, until))}"
        f"<div><b>gold</b> {to_mathml(gold, False) or escape(gold)}</div><hr>{thinking}"
        f"{_block(render(text, span, until))}<hr>"
        f'<div><b style="color:{colour}">{escape(verdict)}</b>{escape(flags)}</div></div></div>'
    )


def _ends(text: str, span: tuple[int, int] | None = None) -> tuple[str, tuple[int, int] | None]:
    """Return the beginning and the end of a long text, and the position of the answer in them."""
    cut = len(text) - 2 * LONGEST_END
    if cut <= 0:
        return text, span
    gap = f"\n… {cut:,} characters are left out …\n"
    short = text[:LONGEST_END] + gap + text[-LONGEST_END:]
    moved = (span[0] - cut + len(gap), span[1] - cut + len(gap)) if span and span[0] >= LONGEST_END + cut else None
    return short, span if span and span[1] <= LONGEST_END else moved


def _block(html: str) -> str:
    return f'<div style="white-space:pre-wrap">{html}</div>'
