"""`markscheme data list | prepare | verify`: the official data sets in the data folder."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress

    from markscheme.datasets.catalogue import OfficialDataset, OfficialFile
    from markscheme.datasets.verify import BadGold, FileReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The three actions and their options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="what there is, from where, and whether it is here")
    preparing = actions.add_parser("prepare", help="fetch from the Hugging Face Hub, check, and keep")
    preparing.add_argument("names", nargs="*", metavar="NAME", help="data sets, such as gsm8k")
    preparing.add_argument("--all", action="store_true", help="every data set")
    preparing.add_argument("--force", action="store_true", help="fetch again what is there already")
    verifying = actions.add_parser("verify", help="check the files again, and mark every gold against itself")
    verifying.add_argument("names", nargs="*", metavar="NAME", help="data sets (default: whatever is here)")
    for action in (listing, preparing, verifying):
        action.add_argument(
            "--data-dir", type=Path, metavar="DIR", help="data folder (default: $MARKSCHEME_DATA, or the user cache)"
        )
        action.add_argument("--json", action="store_true", help="print only JSON")


def run(args: argparse.Namespace) -> int:
    """Do what was asked; 1 when `verify` finds something wrong."""
    from markscheme.datasets import locate

    folder = locate(args.data_dir)
    actions = {"list": _list, "prepare": _prepare, "verify": _verify}
    return actions[args.action](args, folder)


def _list(args: argparse.Namespace, folder: Path) -> int:
    from markscheme.datasets.catalogue import DATASETS
    from markscheme.datasets.verify import inspect

    listed = [(dataset, file, inspect(file, folder)[0]) for dataset in DATASETS.values() for file in dataset.files]
    if args.json:
        _print_json({"data_dir": str(folder), "files": [_described(*each) for each in listed]})
        return 0
    print(f"data folder: {folder}\n")
    _print_columns(
        ("name", "file", "rows", "state", "source"),
        [(d.name, f.name, f"{f.rows:,}", report.state, _short_source(f)) for d, f, report in listed],
    )
    return 0


def _described(dataset: OfficialDataset, file: OfficialFile, report: FileReport) -> dict[str, Any]:
    return {
        "dataset": dataset.name,
        "name": file.name,
        "rows": file.rows,
        "licence": dataset.licence,
        "sources": [str(source) for source in file.sources],
        "pinned": file.sources[0].pinned,
        "sha256": file.sha256,
        "sha256_fields": list(file.hashed),
        "state": report.state,
        "detail": report.detail,
        "file": report.file,
    }


def _short_source(file: OfficialFile) -> str:
    source = file.sources[0]
    return f"{source.repo}@{source.revision[:7]}" if source.pinned else f"{source.repo} (not pinned)"


def _prepare(args: argparse.Namespace, folder: Path) -> int:
    from markscheme.datasets.catalogue import DATASETS
    from markscheme.datasets.files import REMARKS
    from markscheme.datasets.prepare import prepare
    from markscheme.errors import UsageError

    if bool(args.names) == args.all:
        raise UsageError(f"Name what to prepare ({', '.join(DATASETS)}), or say --all.")
    done = []
    for dataset in _chosen(args.names):
        with _progress() as progress:
            prepared = prepare(dataset, folder, progress, force=args.force)
        done += prepared
        for file, action, note in prepared:
            if note:
                print(f"markscheme: {file.name}: {note}", file=sys.stderr)
            if not args.json:
                verb = "fetched" if action == "fetched" else "already there"
                print(f"{file.name}: {verb}, {file.rows:,} rows, {REMARKS[file.check]}")
    if args.json:
        _print_json({"data_dir": str(folder), "files": [each._asdict() for each in done]})
    else:
        print(f"data folder: {folder}")
    return 0


def _verify(args: argparse.Namespace, folder: Path) -> int:
    from markscheme.datasets.verify import inspect

    checked = []
    for dataset in _chosen(args.names):
        for file in dataset.files:
            report, rows = inspect(file, folder)
            checked.append((report, len(rows), _bad_golds(file, rows)))
    if args.json:
        files = [{"report": report, "golds": golds, "bad_golds": bad} for report, golds, bad in checked]
        _print_json({"data_dir": str(folder), "files": files})
    else:
        _print_verified(folder, checked)
    # Asked for by name, a missing file is a failure; asked for "whatever is here", it is only mentioned.
    wrong = {"differs", "unreadable"} | ({"missing", "stand-in"} if args.names else set())
    return 1 if any(report.state in wrong or bad for report, _, bad in checked) else 0


def _bad_golds(file: OfficialFile, rows: list[dict[str, Any]]) -> list[BadGold]:
    """Every gold of a file given to the marker as if a model had written it."""
    from markscheme.benchmarks import BENCHMARKS
    from markscheme.countdown.solver import solve
    from markscheme.datasets.verify import unmarkable_golds
    from markscheme.marking import mark

    def solution(numbers: tuple[int, ...], target: int) -> str | None:
        found = solve(numbers, target)
        return found.expression if found else None

    parts = (part for benchmark in BENCHMARKS.values() for part in (*benchmark.parts, *benchmark.pool))
    reader = next(part.to_problem for part in parts if part.file == file.name)
    return unmarkable_golds([reader(index, row) for index, row in enumerate(rows)], mark, solution)


def _print_verified(folder: Path, checked: Sequence[tuple[FileReport, int, list[BadGold]]]) -> None:
    print(f"data folder: {folder}\n")
    rows = [
        (report.name, report.state, f"{golds - len(bad):,} of {golds:,}" if golds else "", report.detail)
        for report, golds, bad in checked
    ]
    _print_columns(("file", "state", "golds marked", "detail"), rows)
    for report, _, golds in checked:
        for bad in golds:
            print(f"{report.name}, problem {bad.problem}: gold {bad.gold} is marked {bad.verdict}: {bad.why}")


def _chosen(names: Sequence[str]) -> list[OfficialDataset]:
    from markscheme.datasets.catalogue import DATASETS, find_dataset

    found = [find_dataset(name) for name in names] if names else list(DATASETS.values())
    return list(dict.fromkeys(found))


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _print_json(value: Any) -> None:
    import msgspec

    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value)).decode() + "\n")


def _print_columns(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
