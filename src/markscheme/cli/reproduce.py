"""`markscheme reproduce`: a published score made again from stored outputs, every difference accounted for."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.cli.mark import at_least_one
from markscheme.reporting.terminal import console, gold_line, print_json, print_table

if TYPE_CHECKING:
    from markscheme.marking.bulk.reproducing import Figure, Reproduced, Reproduction

EXIT_NOT_REPRODUCED = 4
SAY_EVERY = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "claim",
        metavar="CLAIM.toml",
        type=Path,
        help="the published table and where its outputs are; see docs/claims.md",
    )
    add("--root", type=Path, metavar="DIR", help="the folder that `files` is below (default: that of the claim)")
    add("--row", metavar="NAME", help="only this row of the table")
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="write the differing samples there, a run folder for each class, for `view`",
    )
    add(
        "--show", type=int, default=0, metavar="N", help="differing samples shown of each class (default: 0, at most 3)"
    )
    add("--workers", type=at_least_one, metavar="N", help="answers worked on side by side")
    add("--format", choices=("table", "markdown", "latex", "json"), default="table", help="default: table")
    add("--json", action="store_true", help="the same as --format json")


def run(args: argparse.Namespace) -> int:
    """Check a claim; 0 if every figure is reproduced, else 4."""
    from markscheme.api.reports import reproduce

    made = reproduce(
        args.claim, root=args.root, row=args.row, workers=args.workers, out=args.out, watch=_Progress().read
    )
    if args.json or args.format == "json":
        print_json(made)
    elif args.format == "markdown":
        print("\n".join(as_markdown(made)))
    elif args.format == "latex":
        print("\n".join(_latex(made)))
    else:
        _print(made, args.show)
    if args.out is not None:
        print(f"`markscheme view {args.out}` has a page for each class of difference", file=sys.stderr)
    return 0 if made.reproduced else EXIT_NOT_REPRODUCED


class _Progress:
    """A line on standard error every few seconds: how much of which file is read."""

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
    """The table that a reader would look up: published, and the three ways to count it again."""
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
    """A figure with one digit more than the published one has, so that rounding can be followed."""
    if figure is None:
        return "–"
    digits = max(1, len(row.published.strip("% ").partition(".")[2])) if "/" not in row.published else 1
    text = f"{100 * figure.value:.{min(digits + 1, 6)}f}"
    if interval:
        text += f" ({100 * figure.low:.1f} to {100 * figure.high:.1f})"
    return f"{text} ({figure.by.partition('@')[0]})" if label else text


def account(row: Reproduced) -> list[str]:
    """Why the figures differ, a line a reason."""
    classes = [
        f"{each.kind}: {each.samples} sample{'s' * (each.samples > 1)}, {each.points:.2f} points"
        for each in row.differing
    ]
    return [*row.remarks, *classes, *([row.note] if row.note else [])]


def as_markdown(made: Reproduction) -> list[str]:
    """The table, and below it the account of each row."""
    from markscheme.reporting.table import markdown_table

    lines = [f"## {made.title}", "", *([f"Source: {made.source}.", ""] if made.source else [])]
    lines += [*markdown_table(table_rows(made)), *(["", made.note] if made.note else [])]
    for row in made.rows:
        if reasons := account(row):
            lines += ["", f"{row.name} ({row.samples} samples of {row.problems} problems):", ""]
            lines += [f"- {reason}" for reason in reasons]
    return lines


def _latex(made: Reproduction) -> list[str]:
    from markscheme.reporting.table import escape_latex

    rows = table_rows(made)
    lines = [f"% {made.title}; {made.source}", f"% columns: row, {', '.join(list(rows[0])[1:])}"]
    lines += [" & ".join(escape_latex(cell) for cell in row.values()) + r" \\" for row in rows]
    lines += [f"% {row.name}: {reason}" for row in made.rows for reason in account(row)]
    return [" ".join(line.splitlines()) for line in lines]


def _print(made: Reproduction, show: int) -> None:
    from rich.markup import escape

    screen = console()
    print_table(made.title + (f" ({made.source})" if made.source else ""), table_rows(made))
    for row in made.rows:
        screen.print(
            escape(f"\n{row.name}: {row.samples} samples of {row.problems} problems, {row.figure}"), style="bold"
        )
        for reason in account(row) or ["no verdict differs"]:
            screen.print(escape(f"  {reason}"), soft_wrap=True)
        for each in (example for kind in row.differing for example in kind.examples[: max(0, show)]):
            screen.print(
                escape(f"    {each.problem}, gold {gold_line(each.gold)}: … {' '.join(each.ending.split())[-160:]}")
            )
            for name, mark in each.marks.items():
                screen.print(escape(f"      {name:18} {mark.verdict:11} {mark.why}"), soft_wrap=True)
    if made.note:
        screen.print(escape(f"\n{made.note}"), soft_wrap=True)
    said = sum(row.reproduced for row in made.rows)
    screen.print(f"\n{said} of {len(made.rows)} published figures are reproduced to their last digit")
