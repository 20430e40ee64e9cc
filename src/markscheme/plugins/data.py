"""Benchmarks for the plug-ins: from the data folder, and fetched into it where a file is missing, as their users expect."""

from __future__ import annotations

import sys
from pathlib import Path

from markscheme.benchmarks import Benchmark, benchmark
from markscheme.datasets import locate

SAMPLES = {"countdown": "countdown-sample", "gsm8k": "gsm8k-sample", "math500": "math-sample"}


def ready(name: str, data_dir: str | Path | None = None, *, sample: bool = False) -> Benchmark:
    """A benchmark whose problems are at hand; `sample` takes the packaged set of the same kind instead."""
    if sample:
        return benchmark("aime-sample" if name.startswith("aime") else SAMPLES[name])
    bench = benchmark(name, data_dir)
    folder = locate(Path(data_dir) if data_dir is not None else None)
    pool = bench.pool_sources if bench.fewshot == 0 else ()  # examples that nobody asked for are not fetched
    wanted = [source for source in bench.sources if source.places and not source.borrowed and source not in pool]
    missing = [
        source
        for source in wanted
        if not any((folder / name).is_file() for name in (source.file, source.stand_in) if name)
    ]
    if missing:  # the same as `markscheme data prepare`: pinned, and checked before it is kept
        from markscheme.benchmarks.examining import examiner
        from markscheme.datasets.prepare import prepare

        print(f"markscheme: fetching {bench.name} into {folder}", file=sys.stderr)
        prepare(missing, folder, examiner(bench))
    return bench
