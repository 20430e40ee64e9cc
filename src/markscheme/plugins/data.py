"""Benchmarks for the plug-ins: from the data folder, and fetched into it where a file is missing, as their users expect."""

from __future__ import annotations

import sys
from pathlib import Path

from markscheme.benchmarks import Benchmark, benchmark
from markscheme.datasets import locate
from markscheme.errors import DataError

SAMPLES = {"countdown": "countdown-sample", "gsm8k": "gsm8k-sample", "math500": "math-sample"}


def ready(name: str, data_dir: str | Path | None = None, *, sample: bool = False) -> Benchmark:
    """A benchmark whose problems are at hand; `sample` takes the packaged set of the same kind instead."""
    if sample:
        return benchmark("aime-sample" if name.startswith("aime") else SAMPLES[name])
    bench = benchmark(name, data_dir)
    try:
        _ = bench.problems, bench.fewshot_pool
    except DataError:
        missing = _missing(bench)
        if not missing:
            raise
        _fetch(missing, locate(bench.data_dir))
        return benchmark(name, data_dir)
    return bench


def _missing(bench: Benchmark) -> list[str]:
    folder = locate(bench.data_dir)
    files = [part.file for part in (*bench.parts, *bench.pool) if not part.packaged]
    return [file for file in files if not (folder / file).is_file()]


def _fetch(files: list[str], folder: Path) -> None:
    """The same as `markscheme data prepare`: pinned, and checked before it is kept."""
    from rich.console import Console
    from rich.progress import Progress

    from markscheme.datasets.catalogue import DATASETS
    from markscheme.datasets.prepare import prepare

    for name in dict.fromkeys(file.partition("/")[0] for file in files):
        print(f"markscheme: fetching {name} into {folder}", file=sys.stderr)
        with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
            prepare(DATASETS[name], folder, progress)
