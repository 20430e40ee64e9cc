"""`markscheme run` with several models, prompts or settings: a forecast, one display, one table at the end."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.cli import complain
from markscheme.cli.finishing import Reports
from markscheme.cli.page import show
from markscheme.errors import MarkschemeError, UsageError
from markscheme.tracking import tracked

if TYPE_CHECKING:
    from markscheme.experiments import Cell
    from markscheme.reporting.summary import Summary
    from markscheme.runs import Run


def run_experiment(args: argparse.Namespace, cells: Sequence[Cell], title: str) -> int:
    """Ask for everything that is missing; exit codes as for a single run."""
    from markscheme.api.asking import forecast_listing
    from markscheme.experiments import STOPS_ONE_RUN, forecasts, run_cells
    from markscheme.models.fleet.ranks import join
    from markscheme.running import new_folder
    from markscheme.running.progress import progress
    from markscheme.runs import find_runs

    if join().several:
        raise UsageError("an experiment runs in one process: start it without torchrun")
    named = args.out is not None or title != "experiment"
    folder = Path(args.out or Path("runs") / title) if named else new_folder("experiment", cells[0].config.model)
    plan = forecasts(cells, folder)
    listing = forecast_listing(plan, folder)
    if args.dry_run:
        show(args, listing)
        return 0
    print(*listing.notes, file=sys.stderr)
    place = [] if named else ["--out", str(folder)]
    again = shlex.join(["markscheme", *args.typed, *place])
    reports, failures = Reports(args, quiet=True, again=again), dict[Path, MarkschemeError]()
    with progress(title, quiet=args.json) as screen, reports:
        for path, ask in run_cells(plan, screen, find_runs(args.reuse)):
            try:
                with tracked(screen, args.track, path):  # each run is logged when it is done
                    reports.of(path, ask)
            except STOPS_ONE_RUN as failure:
                failures[path] = failure
                screen.say(f"failed: {failure}")
            if reports.interrupted:
                break
    if not args.json:
        print_grid([each.path for each in plan])
        print(f"experiment folder: {folder}")
    for path, reason in failures.items():
        complain(f"{path.name} failed: {reason}")
    return next(iter(failures.values())).exit_code if failures else reports.exit_code


def print_grid(paths: Sequence[Path]) -> None:
    """Print one table: models and settings as rows, benchmarks and their mean as columns, with intervals and ranks."""
    from markscheme.reporting.pivot import pivot
    from markscheme.reporting.summary import summarize
    from markscheme.reporting.table import make_table
    from markscheme.runs import Run

    runs = [Run.open(path) for path in dict.fromkeys(paths) if (path / "manifest.json").exists()]
    if not runs:
        return
    ranks = _ranks(runs)

    def mark(summary: Summary) -> str:
        rank = f" · {ranks[summary.run, False]}" if (summary.run, False) in ranks else ""
        return rank + (f" ({summary.missing} missing)" if summary.missing else "")

    pivot(make_table([summarize(run) for run in runs]), "accuracy", mark, " · rank" if ranks else "").print()


def _ranks(runs: Sequence[Run]) -> dict[tuple[str, bool], str]:
    """Return the possible ranks, such as 1–3, by folder; those of averages (True) by the first folder."""
    from markscheme.errors import MarkschemeError
    from markscheme.reporting.comparing import Terms, open_ranks
    from markscheme.reporting.family import compare_by_benchmark

    by_folder: dict[tuple[str, bool], str] = {}
    with suppress(MarkschemeError):  # one run, or no problem that all runs have a value for
        for compared in compare_by_benchmark(runs, Terms(anyway=True)):
            by_folder |= {(compared.runs[name], compared.average): rank for name, rank in open_ranks(compared).items()}
    return by_folder
