"""`markscheme audit --benchmark-the-graders`: error rates of every protocol and judge on labelled responses."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.cli.page import Part, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from markscheme.marking.bulk.graders import ErrorRate, Grader, GraderErrors, GraderTable


def benchmark_graders(args: argparse.Namespace) -> int:
    """Print the table of a file, or of a run with labels by people."""
    from markscheme.marking.bulk.graders import grade_graders, labelled

    table = grade_graders(labelled(Path(args.source)), args.source, args.protocol)
    show(args, table, _parts(table))
    return 0


def _parts(table: GraderTable) -> Iterator[Part]:
    left_out = f", {table.left_out} without a label left out" if table.left_out else ""
    yield Part("title", f"{table.source}: {table.right} right and {table.wrong} wrong responses{left_out}")
    graders = sorted(table.graders, key=_worst)
    yield Part("text", "Wrong responses called right, and right ones not called right, with 95 % intervals:")
    yield Part("table", [
        {
            "grader": f"{number} {each.protocol}",
            "judged": str(each.responses),
            "false positives": _rate(each.overall.false_positive),
            "false negatives": _rate(each.overall.false_negative),
            "undecided": str(each.undecided),
        }
        for number, each in enumerate(graders, start=1)
    ])  # fmt: skip
    splits: dict[str, Callable[[Grader], dict[str, GraderErrors]]] = {
        "kind of gold": lambda grader: grader.by_gold,
        "form of answer": lambda grader: grader.by_form,
    }
    for title, by in splits.items():
        yield Part("text", f"False positives + false negatives, by {title}:")
        yield Part("table", _split(graders, title, by))


def _worst(grader: Grader) -> float:
    """Return the mean of both rates, which does not depend on how many responses are right."""
    return (grader.overall.false_positive.rate or 0) + (grader.overall.false_negative.rate or 0)


def _split(graders: list[Grader], title: str, by: Callable[[Grader], dict[str, GraderErrors]]) -> list[dict[str, str]]:
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


def _rate(rate: ErrorRate) -> str:
    if rate.rate is None:
        return "–"
    return f"{100 * rate.rate:.1f} % [{100 * rate.low:.1f}, {100 * rate.high:.1f}]  {rate.errors} of {rate.of}"
