"""`markscheme run` with several models, prompts or settings: a forecast, one display, one table at the end."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.cli import complain
from markscheme.cli.finishing import Reports
from markscheme.errors import MarkschemeError, UsageError, counted
from markscheme.reporting.terminal import print_json, print_table
from markscheme.tracking import tracked

if TYPE_CHECKING:
    from markscheme.experiments import Cell, Forecast
    from markscheme.reporting.summary import Summary
    from markscheme.running.live import Live
    from markscheme.running.progress import Quiet
    from markscheme.runs import Run


def run_experiment(args: argparse.Namespace, cells: Sequence[Cell], title: str) -> int:
    """Ask for everything that is missing; exit codes as for a single run."""
    from markscheme.experiments import STOPS_ONE_RUN, forecast, places, run_cells
    from markscheme.models.fleet.ranks import join
    from markscheme.running import new_folder, prepare
    from markscheme.running.progress import progress
    from markscheme.runs import find_runs

    if join().several:
        raise UsageError("an experiment runs in one process: start it without torchrun")
    # A mistake in any of them is reported before the first is asked.
    prepared = [prepare(cell.config) for cell in cells]
    if args.out is None and title == "experiment":
        folder = new_folder("experiment", cells[0].config.model)
    else:
        folder = Path(args.out) if args.out else Path("runs") / title
    paths = places(cells, folder)
    plan = [forecast(cell, path, each) for cell, path, each in zip(cells, paths, prepared, strict=True)]
    _say(plan, folder, json=args.json, dry=args.dry_run)
    if args.dry_run:
        return 0
    place = [] if args.out or title != "experiment" else ["--out", str(folder)]
    again = shlex.join(["markscheme", *args.typed, *place])
    reports, failures = Reports(args, quiet=True, again=again), dict[Path, MarkschemeError]()
    with ExitStack() as stack:
        screen = stack.enter_context(progress(title, quiet=args.json))
        display = _Whole(screen, plan)
        stack.enter_context(reports)
        work = run_cells(cells, folder, display.begin, find_runs(args.reuse), prepared)
        for path, ask in work:
            try:
                with tracked(screen, args.track, path):  # each run is logged when it is done
                    reports.of(path, partial(ask))
            except STOPS_ONE_RUN as failure:
                failures[path] = failure
                screen.say(f"failed: {failure}")
            if reports.interrupted:
                break
    if not args.json:
        print_grid(paths)
        print(f"experiment folder: {folder}")
    for path, reason in failures.items():
        complain(f"{path.name} failed: {reason}")
    return next(iter(failures.values())).exit_code if failures else reports.exit_code


class _Whole:
    """One display for all runs: which one is being asked, and how much of the whole is done."""

    def __init__(self, screen: Quiet, plan: Sequence[Forecast]) -> None:
        self._screen, self._plan = screen, plan
        self._total = sum(each.there + each.requests for each in plan) or 1
        self._before, self._number, self._name = 0, 0, ""
        self.every = screen.every

    def begin(self, number: int, cell: Cell) -> _Whole:
        """Switch to the next run."""
        self._number = number
        self._before = sum(each.there + each.requests for each in self._plan[:number])
        self._before += sum(each.there for each in self._plan[number + 1 :])
        self._name = " · ".join(filter(None, (cell.config.benchmark, cell.model, cell.variation)))
        return self

    def show(self, live: Live) -> None:
        """Show the figures of the run, with the overall progress in the title."""
        share = 100 * (self._before + live.done) / self._total
        self._screen.title = f"{self._number + 1} of {len(self._plan)}, {share:.0f} %: {self._name}"
        self._screen.show(live)

    def say(self, line: str) -> None:
        """Pass on a line of the run."""
        self._screen.say(line)


def _say(plan: Sequence[Forecast], folder: Path, *, json: bool, dry: bool) -> None:
    """Print what would be asked: requests, tokens and the highest cost."""
    rows: list[dict[str, Any]] = [
        {
            "run": each.cell.folder,
            "problems": each.problems,
            "samples": each.cell.config.samples,
            "there": each.there,
            "to ask": each.requests,
            "prompt tokens (estimate)": each.prompt_tokens,
            "cost at most": "?" if each.cost is None else f"${each.cost:.2f}",
        }
        for each in plan
    ]
    if dry and json:
        print_json({"folder": str(folder), "runs": rows})
        return
    if dry:
        print_table(f"what {folder} would ask", rows, fold="run")
    asked, there = sum(each.requests for each in plan), sum(each.there for each in plan)
    costs = [each.cost for each in plan if each.requests]
    cost = "" if not costs or None in costs else f", at most ${sum(each or 0 for each in costs):.2f}"
    tokens = sum(each.prompt_tokens for each in plan)
    line = f"{counted(len(plan), 'run')}: {asked:,} responses to ask for, {there:,} already there; about {tokens:,} prompt tokens{cost}"
    print(line, file=sys.stdout if dry else sys.stderr)


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
