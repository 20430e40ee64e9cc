"""A page: what a command prints and what a result shows. Its parts are listed once, and every form is made from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, Literal, NamedTuple, Self

from markscheme.pages.forms import escape_latex, markdown_table
from markscheme.pages.terminal import print_table, say
from markscheme.redaction import printable

QUOTED = 160  # characters of a response that a terminal shows, from its end
MOST_ROWS, MOST_LINES = 20, 28  # rows of a table and lines in a repr
BAR = 120  # width of an interval bar in pixels


class Part(NamedTuple):
    """A piece of a page: a heading of level 1 or 2, a paragraph, list items, a quoted response or a table."""

    kind: Literal["title", "heading", "text", "items", "quote", "table"]
    content: Any


class Drawn(str):
    """A figure as text, which HTML draws as a bar of its interval too."""

    value: float | None
    low: float | None
    high: float | None
    signed: bool  # a difference: zero is in the middle of the bar

    @classmethod
    def of(cls, text: str, value: float | None, low: float | None, high: float | None, *, signed: bool = False) -> Self:
        """Return a figure as a cell of a table."""
        cell = cls(text)
        cell.value, cell.low, cell.high, cell.signed = value, low, high, signed
        return cell


def print_page(parts: Iterable[Part]) -> None:
    """Print a page at a terminal."""
    for kind, content in _safe(parts):
        if kind == "table":
            print_table("", content)
        elif kind == "items":
            for item in content:
                say(f"  {item}")
        elif kind == "quote":
            say("… " + one_line(content)[-QUOTED:], style="dim")
        else:
            say(content, style="" if kind == "text" else "bold")


def plain_page(parts: Iterable[Part]) -> str:
    """Return a page as a repr of one screen: the beginning of long tables, and at most one example."""
    lines: list[str] = []
    for kind, content in _safe(parts):
        lines += plain_table(content) if kind == "table" else content if kind == "items" else [content]
        if kind == "heading" or len(lines) > MOST_LINES:
            return "\n".join([*lines[:MOST_LINES], "… and more: .text()"])
    return "\n".join(lines)


def plain_table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the first rows as lines of text."""
    shown = [{name: _short(value) for name, value in row.items()} for row in rows[:MOST_ROWS]]
    shown.insert(0, {name: name for name in rows[0]})
    widths = {name: max(len(line[name]) for line in shown) for name in rows[0]}
    lines = ["  ".join(f"{line[name]:{width}}" for name, width in widths.items()).rstrip() for line in shown]
    left = len(rows) - MOST_ROWS
    return [*lines, f"… and {left} more: .rows(), .to_pandas()"] if left > 0 else lines


def _short(value: Any) -> str:
    text = "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 60 else f"{text[:40]}…{text[-19:]}"


def written_page(form: str, parts: Iterable[Part]) -> str:
    """Return a page as Markdown, or as LaTeX: tables as rows to paste, and everything else as comments."""
    lines = _markdown(_safe(parts)) if form == "markdown" else _latex(_safe(parts))
    return "\n".join(lines).strip("\n") + "\n"


def _markdown(parts: Iterable[Part]) -> Iterator[str]:
    marks = {"title": "## ", "heading": "### ", "text": ""}
    for kind, content in parts:
        if kind == "table":
            yield from markdown_table([{name: str(cell) for name, cell in row.items()} for row in content])
        elif kind == "items":
            yield from (f"- {item}" for item in content)
        elif kind == "quote":
            yield from ("```text", content.replace("```", "'''"), "```")
        else:
            yield marks[kind] + content
        yield ""


def _latex(parts: Iterable[Part]) -> Iterator[str]:
    for kind, content in parts:
        if kind == "table":
            yield f"% columns: {', '.join(name or 'row' for name in content[0])}"
            yield from (
                " & ".join(escape_latex(one_line(str(cell))) for cell in row.values()) + r" \\" for row in content
            )
        else:
            for line in content if kind == "items" else [content]:
                yield f"% {one_line(line)}"


_TAGS = {"title": "<div><b>{}</b></div>", "heading": "<h4>{}</h4>", "text": "<div><small>{}</small></div>"}


def html_page(parts: Iterable[Part]) -> str:
    """Return a page as HTML for a notebook: inline style, no scripts or external files, and everything is escaped."""
    return "".join(map(_html, (part for part in parts if part.content)))


def _html(part: Part) -> str:
    kind, content = part
    if kind == "table":
        head = _row("th", map(escape, content[0]))
        body = "".join(_row("td", map(_cell, row.values())) for row in content)
        return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
    if kind == "items":
        return f"<ul>{''.join(f'<li>{escape(str(item))}</li>' for item in content)}</ul>"
    return _TAGS.get(kind, "<pre>{}</pre>").format(escape(str(content)))


def _row(tag: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f'<{tag} style="text-align:left">{cell}</{tag}>' for cell in cells) + "</tr>"


def _cell(value: Any) -> str:
    text = escape("" if value is None else str(value))
    return f"{_bar(value)} {text}" if isinstance(value, Drawn) else text


def _bar(figure: Drawn) -> str:
    """Draw an interval on a line from 0 to 100 %; for differences zero is in the middle."""
    if figure.value is None or figure.low is None or figure.high is None:
        return ""
    zero, scale = (0.5, 0.5) if figure.signed else (0.0, 1.0)
    start, tick, end = (
        BAR * min(max(zero + scale * each, 0.0), 1.0) for each in (figure.low, figure.value, figure.high)
    )
    middle = f'<rect x="{BAR * zero:.1f}" y="0" width="1" height="12" fill="#888"/>' if zero else ""
    return (
        f'<svg width="{BAR + 2}" height="12"><rect x="1" y="5" width="{BAR}" height="1" fill="#bbb"/>{middle}'
        f'<rect x="{start + 1:.1f}" y="3" width="{max(end - start, 1):.1f}" height="5" fill="#56B4E9"/>'
        f'<rect x="{tick:.1f}" y="1" width="2" height="9" fill="#0072B2"/></svg>'
    )


def _safe(parts: Iterable[Part]) -> Iterator[Part]:
    """Leave out empty parts, and replace control characters, which a terminal would obey."""
    return (Part(part.kind, _printable(part.content)) for part in parts if part.content)


def _printable(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {name: _printable(cell) for name, cell in content.items()}
    if isinstance(content, list | tuple):
        return [_printable(each) for each in content]
    return content if content is None or isinstance(content, int | float) else printable(str(content))


def one_line(text: str) -> str:
    """Return the text with every run of white space as one space."""
    return " ".join(text.split())


def share(value: float | None) -> str:
    """Return a share as a percentage."""
    return "–" if value is None else f"{100 * value:.1f} %"
