"""`ms.run`: the whole job as one Python call."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from markscheme.benchmarks import Benchmark
from markscheme.config import make_config
from markscheme.models.secrets import hide_spec
from markscheme.running.execute import execute
from markscheme.running.prepare import prepare
from markscheme.runs.folder import Run


def run(benchmark: str | Benchmark, *, model: str, out: str | Path | None = None, **options: Any) -> Run:
    """Ask a model every question of a benchmark (by name, path or as an object), mark every response, and return the run.

    `options` are those of `RunConfig`, by the same names as the command line's: `samples=16`, `temperature=0.8`,
    `limit=100` … The run folder is `out`, or a new one below `runs/`.
    """
    from markscheme.reporting.summary import save_report, summarize

    given = benchmark if isinstance(benchmark, Benchmark) else None
    config = make_config(benchmark=given.name if given else benchmark, model=model, **options)
    prepared = prepare(config, given)
    folder = Path(out) if out is not None else new_folder(prepared.benchmark.name, model)
    finished = execute(config, folder, prepared=prepared)
    save_report(finished, summarize(finished))
    return finished


def new_folder(benchmark: str, model: str) -> Path:
    """A folder below `runs/` that is not there yet and says when, what and who. It is made when the run begins."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", hide_spec(model)).strip("-")[-40:]
    name = f"{stamp}-{benchmark}-{slug}"
    candidates = (Path("runs") / (name if number == 1 else f"{name}-{number}") for number in count(1))
    return next(folder for folder in candidates if not folder.exists())
