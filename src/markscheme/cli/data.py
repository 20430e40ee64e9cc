"""`markscheme data`: list, download and verify the official data sets."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from markscheme.cli import complain
from markscheme.reporting.terminal import gold_line, print_json

if TYPE_CHECKING:
    from markscheme.benchmarks import Benchmark
    from markscheme.benchmarks.examining import Examined
    from markscheme.datasets import Source
    from markscheme.datasets.folder import FileReport


def run(args: argparse.Namespace) -> int:
    """Run the action; return 1 if `verify` finds a problem."""
    from markscheme.datasets import locate

    folder = locate(args.data_dir)
    actions = {"list": _list, "prepare": _prepare, "verify": _verify}
    return actions[args.action](args, folder)


def _list(args: argparse.Namespace, folder: Path) -> int:
    from markscheme.api.data import inspected

    listed = inspected(args.names, folder)
    if args.json:
        print_json({"data_dir": str(folder), "files": [_described(*each) for each in listed]})
        return 0
    rows = [
        {"name": bench.name, "file": source.file, "rows": f"{source.rows:,}" if source.rows else "?"}
        | {"state": report.state, "source": _short_source(source)}
        for bench, source, report in listed
    ]
    _print_columns(folder, rows)
    notes = {bench.name: bench.definition.unchecked for bench, *_ in listed if bench.definition}
    for name, note in notes.items():
        if note:
            print(f"{name}: {note}")
    return 0


def _described(bench: Benchmark, source: Source, report: FileReport) -> dict[str, Any]:
    return {
        "dataset": bench.name,
        "name": source.file,
        "rows": source.rows,
        "licence": bench.definition.licence if bench.definition else "",
        "sources": [str(place) for place in source.places],
        "pinned": bool(source.places) and source.places[0].pinned,
        "sha256": source.sha256,
        "sha256_fields": list(source.hashed),
        "unchecked": bench.definition.unchecked if bench.definition else "",
        "state": report.state,
        "detail": report.detail,
        "file": report.file,
    }


def _short_source(source: Source) -> str:
    if not source.places:
        return "your own file"
    place = source.places[0]
    if not place.pinned:
        return f"{place.name} (not pinned)"
    return f"{place.name}@{place.revision[:7]}" + ("" if source.sha256 else " (rows not checked)")


def _prepare(args: argparse.Namespace, folder: Path) -> int:
    from markscheme.benchmarks.examining import fetch, fetchable
    from markscheme.datasets.files import REMARKS
    from markscheme.errors import UsageError

    if bool(args.names) == args.all:
        names = ", ".join(bench.name for bench in fetchable([]))
        raise UsageError(f"name the benchmarks to prepare ({names}), or add --all")
    done = []
    for bench in fetchable(args.names):
        prepared = fetch(bench, folder, force=args.force)
        done += prepared
        for file, action, note in prepared:
            if note:
                complain(f"{file.name}: {note}")
            if not args.json:
                verb = "fetched" if action == "fetched" else "already there"
                print(f"{file.name}: {verb}, {file.rows:,} rows, {REMARKS[file.check]}")
    if args.json:
        print_json({"data_dir": str(folder), "files": [each._asdict() for each in done]})
    else:
        print(f"data folder: {folder}")
    return 0


def _verify(args: argparse.Namespace, folder: Path) -> int:
    from markscheme.api.data import verified

    checked = verified(args.names, folder)
    golds = [report.file.rows if report.file else 0 for report, _ in checked]
    if args.json:
        files = [
            {"report": report, "golds": count} | msgspec.structs.asdict(found)
            for (report, found), count in zip(checked, golds, strict=True)
        ]
        print_json({"data_dir": str(folder), "files": files})
    else:
        rows = [
            {"file": report.name, "state": report.state, "detail": report.detail}
            | {"golds marked": f"{count - len(found.bad_golds):,} of {count:,}" if count else ""}
            for (report, found), count in zip(checked, golds, strict=True)
        ]
        _print_columns(folder, rows)
        for report, found in checked:
            _print_found(report.name, found)
    # A missing file is an error only if it was named.
    wrong = {"differs", "unreadable"} | ({"missing", "stand-in"} if args.names else set())
    return 1 if any(report.state in wrong or found.bad_golds for report, found in checked) else 0


def _print_found(name: str, found: Examined) -> None:
    """Print how a file was read, two of its problems, and every oddity."""
    from markscheme.benchmarks.examining import gold_kind
    from markscheme.redaction import printable

    lines = [f"understood as {found.reading}"] if found.reading else []
    for problem in found.sample:
        asked = " ".join(problem.statement.split())
        lines.append(f"problem {problem.id}: gold {gold_line(problem.gold)} ({gold_kind(problem)}) to {asked[:160]!r}")
    for bad in found.bad_golds:
        lines.append(f"problem {bad.problem}: gold {bad.gold} is marked {bad.verdict}: {bad.why}")
    for line in [*lines, *found.oddities]:
        print(printable(f"{name}, {line}"))


def _print_columns(folder: Path, rows: list[dict[str, str]]) -> None:
    from markscheme.api.frames import text_table

    print(f"data folder: {folder}\n\n{text_table(rows, most=len(rows))}")
