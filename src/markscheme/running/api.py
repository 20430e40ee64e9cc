"""`ms.run`: the whole job as one Python call."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

from markscheme.benchmarks import benchmark as find_benchmark
from markscheme.config import check_pass_k, make_config
from markscheme.models.secrets import hide_spec
from markscheme.running.execute import execute
from markscheme.runs import Run


def run(benchmark: str, *, model: str, out: str | Path | None = None, **options: Any) -> Run:
    """Ask a model every question of a benchmark, mark every response, and return the run.

    `options` are those of `RunConfig`, by the same names as the command line's: `samples=16`, `temperature=0.8`,
    `limit=100` … The run folder is `out`, or a new one below `runs/`.
    """
    from markscheme.reporting.summary import save_report, summarize

    config = make_config(benchmark=benchmark, model=model, **options)
    check_pass_k(config)
    folder = Path(out) if out is not None else new_folder(find_benchmark(benchmark, config.data_dir).name, model)
    finished = execute(config, folder)
    save_report(finished, summarize(finished))
    return finished


def new_folder(benchmark: str, model: str) -> Path:
    """A folder below `runs/` that says when, what and who."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", hide_spec(model)).strip("-")[-40:]
    return Path("runs") / f"{stamp}-{benchmark}-{slug}"
