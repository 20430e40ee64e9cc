"""`ms.data`: the official data sets in the data folder, as `markscheme data list | prepare | verify` has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markscheme.api.frames import Frames, Rows
from markscheme.api.notebook import html_table
from markscheme.benchmarks import Benchmark
from markscheme.benchmarks.examining import bad_golds, fetch, fetchable, own_sources
from markscheme.datasets import Source, locate
from markscheme.datasets.verify import inspect
from markscheme.errors import UsageError


class Files(Frames):
    """The files of some benchmarks, a record each."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def rows(self) -> Rows:
        """One record a file."""
        return self._rows

    def __repr__(self) -> str:
        return "\n".join(
            "  ".join(str(value) for value in row.values() if value not in (None, "")) for row in self._rows
        )

    def _repr_html_(self) -> str:
        return html_table(self._rows)


def list(*names: str, data_dir: str | Path | None = None) -> Files:
    """What there is, from where, and whether it is here; without a name, all benchmarks that ship."""
    folder = _folder(data_dir)
    return Files([_row(bench, source, folder) for bench in fetchable(names) for source in own_sources(bench)])


def prepare(*names: str, data_dir: str | Path | None = None, force: bool = False) -> Files:
    """Fetch from the Hugging Face Hub, check, and keep."""
    if not names:
        raise UsageError("name what to prepare: ms.data.prepare('gsm8k')")
    folder, rows = _folder(data_dir), []
    for bench in fetchable(names):
        done = fetch(bench, folder, force=force)
        rows += [{"file": file.name, "done": action, "rows": file.rows, "note": note} for file, action, note in done]
    return Files(rows)


def verify(*names: str, data_dir: str | Path | None = None) -> Files:
    """Check the files again, and mark every gold against itself."""
    from markscheme.marking import mark

    folder, rows = _folder(data_dir), []
    for bench in fetchable(names):
        for source in own_sources(bench):
            report = inspect(source, folder)
            golds = report.file.rows if report.file is not None else 0
            bad = bad_golds(bench, source, folder, mark) if golds else []
            rows.append({"file": report.name, "state": report.state, "golds": golds, "bad_golds": len(bad)})
    return Files(rows)


def _folder(data_dir: str | Path | None) -> Path:
    return locate(Path(data_dir) if data_dir is not None else None)


def _row(bench: Benchmark, source: Source, folder: Path) -> dict[str, Any]:
    report = inspect(source, folder)
    hub = str(source.hubs[0]) if source.hubs else "a file of yours"
    return {"benchmark": bench.name, "file": source.file, "rows": source.rows, "state": report.state, "source": hub}
