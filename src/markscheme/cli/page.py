"""Print a result on a terminal, as Markdown, as LaTeX or as JSON: a command lists the parts of its page once."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from markscheme.redaction import printable
from markscheme.reporting.terminal import console, literal, print_json, print_table

Row = Mapping[str, str]
QUOTED = 160  # characters of a response that a terminal shows, from its end


class Part(NamedTuple):
    """A piece of a page: a heading of level 1 or 2, a paragraph, list items, a quoted response or a table."""

    kind: Literal["title", "heading", "text", "items", "quote", "table"]
    content: Any


def show(args: argparse.Namespace, result: Any, parts: Iterable[Part]) -> None:
    """Print a result in the form that `--format` or `--json` asks for."""
    form = "json" if args.json else getattr(args, "format", "table")
    if form == "json":
        print_json(result)
        return
    shown = [Part(part.kind, _printable(part.content)) for part in parts if part.content]
    if form == "table":
        _print(shown)
    else:
        lines = _markdown(shown) if form == "markdown" else _latex(shown)
        print("\n".join(lines).strip("\n"))


def _printable(content: Any) -> Any:
    """Replace control characters, which a terminal would obey."""
    if isinstance(content, Mapping):
        return {name: _printable(cell) for name, cell in content.items()}
    if isinstance(content, list | tuple):
        return [_printable(each) for each in content]
    return printable(str(content))


def _print(parts: Iterable[Part]) -> None:
    screen = console()
    for kind, content in parts:
        if kind == "table":
            print_table("", content)
        elif kind == "items":
            for item in content:
                screen.print(literal(f"  {item}"), soft_wrap=True)
        elif kind == "quote":
            screen.print(literal("… " + one_line(content)[-QUOTED:]), style="dim", soft_wrap=True)
        else:
            screen.print(literal(content), style="" if kind == "text" else "bold", soft_wrap=True)


def _markdown(parts: Iterable[Part]) -> Iterator[str]:
    from markscheme.reporting.sheets import markdown_table

    marks = {"title": "## ", "heading": "### ", "text": ""}
    for kind, content in parts:
        if kind == "table":
            yield from markdown_table(content)
        elif kind == "items":
            yield from (f"- {item}" for item in content)
        elif kind == "quote":
            yield from ("```text", content.replace("```", "'''"), "```")
        else:
            yield marks[kind] + content
        yield ""


def _latex(parts: Iterable[Part]) -> Iterator[str]:
    """Write tables as rows to paste, and everything else as comments."""
    from markscheme.reporting.sheets import escape_latex

    for kind, content in parts:
        if kind == "table":
            yield f"% columns: {', '.join(name or 'row' for name in content[0])}"
            yield from (" & ".join(escape_latex(one_line(cell)) for cell in row.values()) + r" \\" for row in content)
        else:
            for line in content if kind == "items" else [content]:
                yield f"% {one_line(line)}"


def one_line(text: str) -> str:
    """Return the text with every run of white space as one space."""
    return " ".join(text.split())


def share(value: float | None) -> str:
    """Return a share as a percentage."""
    return "–" if value is None else f"{100 * value:.1f} %"


def pick(args: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    """Return these arguments as keywords."""
    return {name: getattr(args, name) for name in names}
