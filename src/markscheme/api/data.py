"""`ms.data`: the official data sets in the data folder, as `markscheme data list | prepare | verify` has them."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.api.frames import Frames, Rows
from markscheme.api.notebook import html_table
from markscheme.benchmarks import Benchmark, benchmark, benchmarks
from markscheme.datasets import Source, locate
from markscheme.datasets.verify import inspect
from markscheme.errors import UsageError

if TYPE_CHECKING:
    from rich.progress import Progress


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
    return Files([_row(bench, source, folder) for bench in chosen(names) for source in own(bench)])


def prepare(*names: str, data_dir: str | Path | None = None, force: bool = False) -> Files:
    """Fetch from the Hugging Face Hub, check, and keep."""
    from markscheme.benchmarks.examining import examiner
    from markscheme.datasets.prepare import prepare as fetch

    if not names:
        raise UsageError("name what to prepare: ms.data.prepare('gsm8k')")
    folder, rows = _folder(data_dir), []
    for bench in chosen(names):
        with silent() as progress:
            done = fetch(own(bench), folder, progress, examiner(bench), force=force)
            for lender, source in lent(bench):
                done += fetch([source], folder, progress, examiner(lender), force=force)
        rows += [{"file": file.name, "done": action, "rows": file.rows, "note": note} for file, action, note in done]
    return Files(rows)


def verify(*names: str, data_dir: str | Path | None = None) -> Files:
    """Check the files again, and mark every gold against itself."""
    from markscheme.benchmarks.examining import bad_golds
    from markscheme.marking import mark

    folder, rows = _folder(data_dir), []
    for bench in chosen(names):
        for source in own(bench):
            report = inspect(source, folder)
            golds = report.file.rows if report.file is not None else 0
            bad = bad_golds(bench, source, folder, mark) if golds else []
            rows.append({"file": report.name, "state": report.state, "golds": golds, "bad_golds": len(bad)})
    return Files(rows)


def chosen(names: Sequence[str]) -> builtins.list[Benchmark]:
    """The benchmarks that are meant; without a name, every one whose problems are fetched."""
    if names:
        return [*{bench.name: bench for bench in map(benchmark, names)}.values()]
    whole = (bench for bench in benchmarks().values() if bench.definition and bench.name == bench.definition.name)
    return [bench for bench in whole if any(source.hubs for source in bench.sources)]


def own(bench: Benchmark) -> builtins.list[Source]:
    """The files of this benchmark, not those that it borrows from another one."""
    return [source for source in bench.sources if not source.borrowed]


def lent(bench: Benchmark) -> builtins.list[tuple[Benchmark, Source]]:
    """The files that it borrows, with the benchmarks that they belong to."""
    pairs = (source.borrowed.split(":") for source in bench.sources if source.borrowed)
    lenders = ((benchmark(name).definition, benchmark(name), part) for name, part in pairs)
    return [(lender, definition.data[part]) for definition, lender, part in lenders if definition]


def silent() -> Progress:
    """Progress of a download that shows nothing."""
    from rich.progress import Progress

    return Progress(disable=True)


def _folder(data_dir: str | Path | None) -> Path:
    return locate(Path(data_dir) if data_dir is not None else None)


def _row(bench: Benchmark, source: Source, folder: Path) -> dict[str, Any]:
    report = inspect(source, folder)
    hub = str(source.hubs[0]) if source.hubs else "a file of yours"
    return {"benchmark": bench.name, "file": source.file, "rows": source.rows, "state": report.state, "source": hub}
