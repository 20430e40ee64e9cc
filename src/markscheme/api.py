"""`ms.run`: the whole job as one Python call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markscheme.benchmarks import Benchmark
from markscheme.config import make_config
from markscheme.reporting.summary import finish
from markscheme.running import execute, new_folder, prepare
from markscheme.runs import Run


def run(benchmark: str | Benchmark, *, model: str, out: str | Path | None = None, **options: Any) -> Run:
    """Ask a model every question of a benchmark (by name, path or as an object), mark every response, and return the run.

    `options` are those of `RunConfig`, by the same names as the command line's: `samples=16`, `temperature=0.8`,
    `limit=100` … The run folder is `out`, or a new one below `runs/`.
    """
    given = benchmark if isinstance(benchmark, Benchmark) else None
    config = make_config(benchmark=given.name if given else benchmark, model=model, **options)
    prepared = prepare(config, given)
    folder = Path(out) if out is not None else new_folder(prepared.benchmark.name, model)
    finished = execute(config, folder, prepared=prepared)
    finish(finished)
    return finished


def experiment(file: str | Path, *, out: str | Path | None = None, **options: Any) -> list[Run]:
    """Ask what an experiment's file still misses, and return its runs; `options` come before those of the file."""
    from markscheme.experiments import read_cells, run_cells

    cells = read_cells(Path(file), options)
    folder = Path(out) if out is not None else Path("runs") / Path(file).stem
    runs = [work() for _, work in run_cells(cells, folder, lambda *_: None)]
    for each in runs:
        finish(each)
    return runs
