"""HTML for notebooks: tables with interval bars, and a response with its answer highlighted.

Plain HTML with inline style, without scripts or external files; everything that a model or a server wrote is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from markscheme.reporting.estimates import Estimate
from markscheme.reporting.figures import bounds
from markscheme.reporting.terminal import gold_line

if TYPE_CHECKING:
    from markscheme.types import Mark, Problem, Response

LONGEST_END = 20_000  # characters shown of each end of a long text
BAR = 120  # width of an interval bar in pixels


class Shift(NamedTuple):
    """A difference of two shares with its interval."""

    value: float
    low: float
    high: float


def interval_bar(value: float, low: float, high: float, *, zero: float = 0.0) -> str:
    """Draw an interval on a line from 0 to 100 %; for differences zero is in the middle."""
    scale = 1.0 if not zero else 0.5
    start, tick, end = (BAR * min(max(zero + scale * each, 0.0), 1.0) for each in (low, value, high))
    middle = f'<rect x="{BAR * zero:.1f}" y="0" width="1" height="12" fill="#888"/>' if zero else ""
    return (
        f'<svg width="{BAR + 2}" height="12"><rect x="1" y="5" width="{BAR}" height="1" fill="#bbb"/>{middle}'
        f'<rect x="{start + 1:.1f}" y="3" width="{max(end - start, 1):.1f}" height="5" fill="#56B4E9"/>'
        f'<rect x="{tick:.1f}" y="1" width="2" height="9" fill="#0072B2"/></svg>'
    )


def html_table(rows: Sequence[Mapping[str, Any]], caption: str = "", notes: Sequence[str] = ()) -> str:
    """Return rows as a table; a figure has a bar of its interval."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    head = _row("th", (escape(name) for name in columns))
    body = "".join(_row("td", (_cell(row.get(name, "")) for name in columns)) for row in rows)
    title = f'<caption style="text-align:left"><b>{escape(caption)}</b></caption>' if caption else ""
    foot = "".join(f"<div><small>{escape(note)}</small></div>" for note in notes)
    return f"<table>{title}<thead>{head}</thead><tbody>{body}</tbody></table>{foot}"


def _row(tag: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f'<{tag} style="text-align:left">{cell}</{tag}>' for cell in cells) + "</tr>"


def figure_text(figure: Estimate | Shift) -> str:
    """Return a figure with its interval as text."""
    if isinstance(figure, Shift):
        return f"{100 * figure.value:+.1f}  ({100 * figure.low:+.1f} to {100 * figure.high:+.1f})"
    return bounds(figure)


def _cell(value: Any) -> str:
    if not isinstance(value, Shift | Estimate):
        return escape(str(value))
    known = value.value is not None and value.low is not None and value.high is not None
    zero = 0.5 if isinstance(value, Shift) else 0.0
    bar = interval_bar(value.value, value.low, value.high, zero=zero) if known else ""  # type: ignore[arg-type]
    return f"{bar} {escape(figure_text(value))}"


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
