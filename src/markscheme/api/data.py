"""`ms.data` and `markscheme data`: list, download and verify the official data sets in the data folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from markscheme.benchmarks import Benchmark
from markscheme.benchmarks.examining import (
    Examined,
    examined,
    fetch,
    fetchable,
    gold_kind,
    own_sources,
)
from markscheme.datasets import Source, locate
from markscheme.datasets.files import REMARKS
from markscheme.datasets.folder import FileReport, inspect
from markscheme.errors import UsageError, command, counted, option
from markscheme.pages.frames import Listing
from markscheme.pages.terminal import gold_line

DONE = {"there": "already there", "fetched": "fetched"}


def list(*names: str, data_dir: str | Path | None = None) -> Listing:
    """List the data files of benchmarks with their source and state; without a name, of all that ship."""
    folder = locate(data_dir)
    found = [*_inspected(names, folder)]
    rows = [
        {"benchmark": bench.name, "file": source.file, "rows": source.rows, "state": report.state}
        | {"source": str(source.places[0]) if source.places else "a file of yours"}
        for bench, source, report in found
    ]
    unchecked = {bench.name: bench.definition.unchecked for bench, *_ in found if bench.definition}
    return Listing(
        rows,
        {"benchmark": str, "file": str, "rows": int | None, "state": str, "source": str},
        f"data folder: {folder}",
        table=[row | {"source": _short(source)} for row, (_, source, _) in zip(rows, found, strict=True)],
        notes=[f"{name}: {note}" for name, note in unchecked.items() if note],
        content={"data_dir": str(folder), "files": [_described(*each) for each in found]},
    )


def _described(bench: Benchmark, source: Source, report: FileReport) -> dict[str, Any]:
    about = bench.definition
    return {
        "dataset": bench.name,
        "name": source.file,
        "rows": source.rows,
        "licence": about.licence if about else "",
        "sources": [str(place) for place in source.places],
        "pinned": bool(source.places) and source.places[0].pinned,
        "sha256": source.sha256,
        "sha256_fields": [*source.hashed],
        "unchecked": about.unchecked if about else "",
        "state": report.state,
        "detail": report.detail,
        "file": report.file,
    }


def _short(source: Source) -> str:
    if not source.places:
        return "your own file"
    place = source.places[0]
    if not place.pinned:
        return f"{place.name} (not pinned)"
    return f"{place.name}@{place.revision[:7]}" + ("" if source.sha256 else " (rows not checked)")


def prepare(*names: str, data_dir: str | Path | None = None, force: bool = False, all: bool = False) -> Listing:
    """Fetch data from the Hugging Face Hub, check it and keep it; with `all` that of every packaged benchmark."""
    if bool(names) == all:
        both = f"; {option('all', True)} takes no names" if names else ""
        listed = command("data list")
        raise UsageError(f"name the benchmarks to prepare ({listed} lists them), or use {option('all', True)}{both}")
    folder = locate(data_dir)
    done = [each for bench in fetchable(names) for each in fetch(bench, folder, force=force)]
    return Listing(
        [{"file": file.name, "done": action, "rows": file.rows, "note": note} for file, action, note in done],
        {"file": str, "done": str, "rows": int, "note": str},
        f"data folder: {folder}",
        table=[],
        notes=[
            f"{file.name}: {DONE[action]}, {counted(file.rows, 'row')}, {REMARKS[file.check]}"
            + (f"; {note}" * bool(note))
            for file, action, note in done
        ],
        content={"data_dir": str(folder), "files": [each._asdict() for each in done]},
    )


def verify(*names: str, data_dir: str | Path | None = None) -> Verified:
    """Check the files again, and mark every gold against itself."""
    from markscheme.marking import mark

    folder = locate(data_dir)
    checked = [
        (report, examined(bench, source, folder, mark) if report.file else Examined())
        for bench, source, report in _inspected(names, folder)
    ]
    return Verified(checked, folder, named=bool(names))


class Verified(Listing):
    """What was found in each file."""

    def __init__(self, checked: Sequence[tuple[FileReport, Examined]], folder: Path, *, named: bool) -> None:
        golds = [report.file.rows if report.file else 0 for report, _ in checked]
        both = [(report, found, count) for (report, found), count in zip(checked, golds, strict=True)]
        super().__init__(
            [
                {"file": report.name, "state": report.state, "golds": count}
                | {"bad_golds": len(found.bad_golds), "oddities": len(found.oddities)}
                for report, found, count in both
            ],
            {"file": str, "state": str, "golds": int, "bad_golds": int, "oddities": int},
            f"data folder: {folder}",
            table=[
                {"file": report.name, "state": report.state, "detail": report.detail}
                | {"golds marked": f"{count - len(found.bad_golds):,} of {count:,}" if count else ""}
                for report, found, count in both
            ],
            notes=[f"{report.name}, {line}" for report, found in checked for line in _found(found)],
            content={
                "data_dir": str(folder),
                "files": [
                    {"report": report, "golds": count} | msgspec.structs.asdict(found) for report, found, count in both
                ],
            },
        )
        # A missing file is an error only if it was named.
        wrong = {"differs", "unreadable"} | ({"missing", "stand-in"} if named else set())
        self.exit_code = int(any(report.state in wrong or found.bad_golds for report, found in checked))
        """1 if a gold, or a file that was named or is there, is not as it should be."""


def _found(found: Examined) -> Iterator[str]:
    """Yield how a file was read, two of its problems, and every oddity."""
    if found.reading:
        yield f"read as {found.reading}"
    for problem in found.sample:
        asked = " ".join(problem.statement.split())
        yield f"problem {problem.id}: gold {gold_line(problem.gold)} ({gold_kind(problem)}) to {asked[:160]!r}"
    for bad in found.bad_golds:
        yield f"problem {bad.problem}: gold {bad.gold} is marked {bad.verdict}: {bad.why}"
    yield from found.oddities


def _inspected(names: Sequence[str], folder: Path) -> Iterator[tuple[Benchmark, Source, FileReport]]:
    """Yield each file of the named benchmarks, or of all that ship, with its state."""
    return ((bench, source, inspect(source, folder)) for bench in fetchable(names) for source in own_sources(bench))
