"""`markscheme audit --benchmark-the-graders`: how wrong every protocol and judge is on labelled responses."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.reporting.terminal import console, print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from markscheme.marking.bulk.graders import ErrorRate, Grader, GraderErrors, GraderTable

Row = dict[str, str]


def benchmark_graders(args: argparse.Namespace) -> int:
    """Print the table of a file, or of a run that people have judged, as text, Markdown or JSON."""
    from markscheme.marking.bulk.graders import grade_graders, labelled
    from markscheme.reporting.table import markdown_table

    table = grade_graders(labelled(Path(args.source)), args.source, args.protocol)
    if args.json or args.format == "json":
        print_json(table)
    elif args.format == "markdown":
        parts = ["\n".join([f"{title.capitalize()}:", "", *markdown_table(rows)]) for title, rows in _tables(table)]
        print("\n\n".join([f"## {_headline(table)}", *parts]))
    else:
        screen = console()
        screen.print(_headline(table), markup=False, soft_wrap=True)
        screen.print()
        for title, rows in _tables(table):
            print_table(title, rows)
    return 0


def _headline(table: GraderTable) -> str:
    left_out = f", {table.left_out} without a label left out" if table.left_out else ""
    return f"{table.source}: {table.right} right and {table.wrong} wrong responses{left_out}"


def _tables(table: GraderTable) -> list[tuple[str, list[Row]]]:
    graders = sorted(table.graders, key=_worst)
    overall = [
        {
            "grader": f"{number} {each.protocol}",
            "judged": str(each.responses),
            "false positives": _shown(each.overall.false_positive),
            "false negatives": _shown(each.overall.false_negative),
            "undecided": str(each.undecided),
        }
        for number, each in enumerate(graders, start=1)
    ]
    splits: tuple[tuple[str, Callable[[Grader], dict[str, GraderErrors]]], ...] = (
        ("kind of gold", lambda grader: grader.by_gold),
        ("form of answer", lambda grader: grader.by_form),
    )
    parts = [
        (f"false positives + false negatives of all, by {title}", _split(graders, title, by)) for title, by in splits
    ]
    return [("wrong called right, and right not called right, with 95 % intervals", overall), *parts]


def _worst(grader: Grader) -> float:
    """The mean of both rates, so that the order does not depend on how many responses happen to be right."""
    return (grader.overall.false_positive.rate or 0) + (grader.overall.false_negative.rate or 0)


def _split(graders: list[Grader], title: str, by: Callable[[Grader], dict[str, GraderErrors]]) -> list[Row]:
    names = sorted(
        {name for each in graders for name in by(each)},
        key=lambda name: (-max(_size(by(each), name) for each in graders), name),
    )
    return [
        {title: name, "responses": str(max(_size(by(each), name) for each in graders))}
        | {str(number): _counts(by(each).get(name)) for number, each in enumerate(graders, start=1)}
        for name in names
    ]


def _size(parts: dict[str, GraderErrors], name: str) -> int:
    return parts[name].false_positive.of + parts[name].false_negative.of if name in parts else 0


def _counts(errors: GraderErrors | None) -> str:
    return "–" if errors is None else f"{errors.false_positive.errors}+{errors.false_negative.errors}"


def _shown(rate: ErrorRate) -> str:
    if rate.rate is None:
        return "–"
    return f"{100 * rate.rate:.1f} % [{100 * rate.low:.1f}, {100 * rate.high:.1f}]  {rate.errors} of {rate.of}"
