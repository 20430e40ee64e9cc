"""Benchmarks for the plug-ins, read from the data folder. Missing files are fetched, as users of these tools expect."""

from __future__ import annotations

import sys
from pathlib import Path

from markscheme.benchmarks import Benchmark, benchmark
from markscheme.datasets import locate

SAMPLES = {"countdown": "countdown-sample", "gsm8k": "gsm8k-sample", "math500": "math-sample"}


def ready(name: str, data_dir: str | Path | None = None, *, sample: bool = False) -> Benchmark:
    """Return a benchmark with its problems available; `sample` uses the packaged problems of the same kind instead."""
    if sample:
        return benchmark("aime-sample" if name.startswith("aime") else SAMPLES[name])
    bench = benchmark(name, data_dir)
    folder = locate(Path(data_dir) if data_dir is not None else None)
    pool = bench.pool_sources if bench.fewshot == 0 else ()  # worked examples are only fetched on request
    wanted = [source for source in bench.sources if source.places and not source.borrowed and source not in pool]
    missing = [
        source
        for source in wanted
        if not any((folder / name).is_file() for name in (source.file, source.stand_in) if name)
    ]
    if missing:  # like `markscheme data prepare`: pinned, and checked before it is kept
        from markscheme.benchmarks.examining import examiner
        from markscheme.datasets.prepare import prepare

        print(f"markscheme: fetching {bench.name} into {folder}", file=sys.stderr)
        prepare(missing, folder, examiner(bench))
    return bench
