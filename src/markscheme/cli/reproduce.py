"""`markscheme reproduce`: recompute a published score from stored outputs and explain every difference."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.cli.page import call, show
from markscheme.errors import counted
from markscheme.pages.parts import Part
from markscheme.pages.terminal import gold_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markscheme.marking.bulk.reproducing import Figure, Reproduced, Reproduction

EXIT_NOT_REPRODUCED = 4
SAY_EVERY = 5.0


def run(args: argparse.Namespace) -> int:
    """Check a claim; return 0 if every figure is reproduced, else 4."""
    from markscheme.api.reports import reproduce

    made = call(reproduce, args, watch=_Progress().read)
    show(args, made, _parts(made, args.show))
    if args.out is not None:
        print(f"`markscheme view {args.out}` shows a run for each class of difference", file=sys.stderr)
    return 0 if made.reproduced else EXIT_NOT_REPRODUCED


class _Progress:
    """Show progress on standard error every few seconds: the file and the share that is read."""

    def __init__(self) -> None:
        self._said = time.monotonic()
        self._file, self._bytes = Path(), 0

    def read(self, file: Path, more: int) -> None:
        """More of a file was read."""
        if file != self._file:
            self._file, self._bytes = file, 0
        self._bytes += more
        if time.monotonic() - self._said > SAY_EVERY:
            self._said = time.monotonic()
            share = self._bytes / max(1, file.stat().st_size)
            print(f"{file}: {min(1.0, share):.0%} read", file=sys.stderr, flush=True)


def table_rows(made: Reproduction) -> list[dict[str, str]]:
    """Return the published table with the three recounts."""
    return [
        {
            "": row.name,
            "published": row.published,
            "by stored verdict": _cell(row, row.figures.get("stored")),
            "by published rule": _cell(row, _rule(row), label=True),
            "by math": _cell(row, row.figures["math"], interval=True),
            "reproduced": "yes" if row.reproduced else "no",
        }
        for row in made.rows
    ]


def _rule(row: Reproduced) -> Figure | None:
    return next((figure for name, figure in row.figures.items() if name not in ("stored", "math")), None)


def _cell(row: Reproduced, figure: Figure | None, *, interval: bool = False, label: bool = False) -> str:
    """Format a figure with one more digit than the published one, to show rounding."""
    if figure is None:
        return "–"
    digits = max(1, len(row.published.strip("% ").partition(".")[2])) if "/" not in row.published else 1
    text = f"{100 * figure.value:.{min(digits + 1, 6)}f}"
    if interval:
        text += f" ({100 * figure.low:.1f} to {100 * figure.high:.1f})"
    return f"{text} ({figure.by.partition('@')[0]})" if label else text


def account(row: Reproduced) -> list[str]:
    """Return the reasons why the figures differ, one per line."""
    classes = [f"{each.kind}: {counted(each.samples, 'sample')}, {each.points:.2f} points" for each in row.differing]
    return [*row.remarks, *classes, *([row.note] if row.note else [])]


def _parts(made: Reproduction, most: int) -> Iterator[Part]:
    yield Part("title", made.title)
    yield Part("text", f"Source: {made.source}." if made.source else "")
    yield Part("table", table_rows(made))
    yield Part("text", made.note)
    for row in made.rows:
        yield Part("text", f"{row.name} ({counted(row.samples, 'sample')} of {counted(row.problems, 'problem')}):")
        yield Part("items", account(row) or ["no verdict differs"])
        for each in (example for kind in row.differing for example in kind.examples[: max(0, most)]):
            yield Part("heading", f"{each.problem}, gold {gold_line(each.gold)}")
            yield Part("quote", each.ending)
            yield Part("items", [f"{name:18} {mark.verdict:11} {mark.why}" for name, mark in each.marks.items()])
    reproduced = sum(row.reproduced for row in made.rows)
    yield Part("text", f"{reproduced} of {len(made.rows)} published figures are reproduced to their last digit")
