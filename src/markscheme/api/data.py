"""`ms.data`: the official data sets in the data folder, like `markscheme data list | prepare | verify`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markscheme.api.frames import Listing
from markscheme.benchmarks import Benchmark
from markscheme.benchmarks.examining import Examined, examined, fetch, fetchable, own_sources
from markscheme.datasets import Source, locate
from markscheme.datasets.folder import FileReport, inspect
from markscheme.errors import UsageError


def list(*names: str, data_dir: str | Path | None = None) -> Listing:
    """List the data files of benchmarks with their source and state; without a name, of all that ship."""
    folder = _folder(data_dir)
    rows = [
        {"benchmark": bench.name, "file": source.file, "rows": source.rows, "state": report.state}
        | {"source": str(source.places[0]) if source.places else "a file of yours"}
        for bench, source, report in inspected(names, folder)
    ]
    columns = {"benchmark": str, "file": str, "rows": int | None, "state": str, "source": str}
    return Listing(rows, columns, f"data folder: {folder}")


def prepare(*names: str, data_dir: str | Path | None = None, force: bool = False) -> Listing:
    """Fetch data from the Hugging Face Hub, check it and keep it."""
    if not names:
        raise UsageError("name what to prepare: ms.data.prepare('gsm8k')")
    folder = _folder(data_dir)
    rows = [
        {"file": file.name, "done": action, "rows": file.rows, "note": note}
        for bench in fetchable(names)
        for file, action, note in fetch(bench, folder, force=force)
    ]
    return Listing(rows, {"file": str, "done": str, "rows": int, "note": str}, f"data folder: {folder}")


def verify(*names: str, data_dir: str | Path | None = None) -> Listing:
    """Check the files again, and mark every gold against itself."""
    folder = _folder(data_dir)
    rows = [
        {"file": report.name, "state": report.state, "golds": report.file.rows if report.file else 0}
        | {"bad_golds": len(found.bad_golds), "oddities": len(found.oddities)}
        for report, found in verified(names, folder)
    ]
    columns = {"file": str, "state": str, "golds": int, "bad_golds": int, "oddities": int}
    return Listing(rows, columns, f"data folder: {folder}")


def inspected(names: Sequence[str], folder: Path) -> Sequence[tuple[Benchmark, Source, FileReport]]:
    """Return each file of the named benchmarks, or of all that ship, with its state."""
    return [(bench, source, inspect(source, folder)) for bench in fetchable(names) for source in own_sources(bench)]


def verified(names: Sequence[str], folder: Path) -> Sequence[tuple[FileReport, Examined]]:
    """Return the state of each file and what was found in its rows."""
    from markscheme.marking import mark

    return [
        (report, examined(bench, source, folder, mark) if report.file else Examined())
        for bench, source, report in inspected(names, folder)
    ]


def _folder(data_dir: str | Path | None) -> Path:
    return locate(Path(data_dir) if data_dir is not None else None)
