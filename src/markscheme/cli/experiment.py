"""`markscheme run` with several models, prompts or settings: what it will ask, one display, one table at the end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.cli.finishing import Reports
from markscheme.errors import UsageError

if TYPE_CHECKING:
    from markscheme.experiments import Cell, Estimate
    from markscheme.running.live import Live
    from markscheme.running.progress import Quiet


def run_experiment(args: argparse.Namespace, cells: Sequence[Cell], title: str) -> int:
    """Ask what every cell still misses; exit codes as those of a single run."""
    from markscheme.experiments import estimate, run_cells
    from markscheme.models.fleet.ranks import current
    from markscheme.running import new_folder, prepare
    from markscheme.running.progress import progress
    from markscheme.runs import find_runs

    if current() is not None:
        raise UsageError("an experiment is asked by one process; start it without torchrun")
    # Whatever is wrong with any of them stops us before the first is asked.
    prepared = [prepare(cell.config) for cell in cells]
    if args.out is None and title == "experiment":
        folder = new_folder("experiment", cells[0].config.model)
    else:
        folder = Path(args.out) if args.out else Path("runs") / title
    plan = [estimate(cell, folder, each) for cell, each in zip(cells, prepared, strict=True)]
    _say(plan, folder, json=args.json, dry=args.dry_run)
    if args.dry_run:
        return 0
    reports = Reports(json=args.json, quiet=True)
    with ExitStack() as stack:
        screen = stack.enter_context(progress(title, quiet=args.json))
        display = _Whole(screen, plan)
        stack.enter_context(reports)
        work = run_cells(cells, folder, display.begin, find_runs(args.reuse), prepared)
        for path, ask in work:
            reports.of(path, partial(ask))
            if reports.interrupted:
                break
    if not args.json:
        print_grid([run for run in find_runs([folder]) if run.path.name in {cell.folder for cell in cells}], cells)
        print(f"experiment folder: {folder}")
    return reports.exit_code


class _Whole:
    """One display for all runs: which of them it is, and how much of everything is done."""

    def __init__(self, screen: Quiet, plan: Sequence[Estimate]) -> None:
        self._screen, self._plan = screen, plan
        self._total = sum(each.there + each.requests for each in plan) or 1
        self._before, self._number, self._name = 0, 0, ""
        self.every = screen.every

    def begin(self, number: int, cell: Cell) -> _Whole:
        """The next run begins."""
        self._number = number
        self._before = sum(each.there + each.requests for each in self._plan[:number])
        self._before += sum(each.there for each in self._plan[number + 1 :])
        self._name = " · ".join(filter(None, (cell.config.benchmark, cell.model, cell.variation)))
        return self

    def show(self, live: Live) -> None:
        """The run's own figures, under a title that tells the whole."""
        share = 100 * (self._before + live.done) / self._total
        self._screen.title = f"{self._number + 1} of {len(self._plan)}, {share:.0f} %: {self._name}"
        self._screen.show(live)

    def say(self, line: str) -> None:
        """As the run says it."""
        self._screen.say(line)


def _say(plan: Sequence[Estimate], folder: Path, *, json: bool, dry: bool) -> None:
    """What it will ask, how many requests and tokens, and what it may cost."""
    from markscheme.reporting.terminal import print_json, print_table

    rows: list[dict[str, Any]] = [
        {
            "run": each.cell.folder,
            "problems": each.problems,
            "samples": each.cell.config.samples,
            "there": each.there,
            "to ask": each.requests,
            "prompt tokens, about": each.prompt_tokens,
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
    line = (
        f"{len(plan)} runs: {asked:,} responses to ask for, {there:,} are there; about {tokens:,} prompt tokens{cost}"
    )
    print(line, file=sys.stdout if dry else sys.stderr)


def print_grid(runs: Sequence[Any], cells: Sequence[Cell]) -> None:
    """One table: models and settings down, benchmarks across, each score with its interval."""
    from markscheme.reporting.summary import summarize
    from markscheme.reporting.terminal import print_table

    by_folder = {run.path.name: summarize(run) for run in runs}
    benchmarks = list(dict.fromkeys(each.benchmark for each in by_folder.values()))
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for cell in cells:
        row = rows.setdefault((cell.model, cell.variation), {"model": cell.model, "setting": cell.variation})
        summary = by_folder.get(cell.folder)
        if summary is not None and (value := summary.accuracy.value) is not None:
            low, high = summary.accuracy.low or 0.0, summary.accuracy.high or 0.0
            text = f"{100 * value:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
            row[summary.benchmark] = text + (f" ({summary.missing} missing)" if summary.missing else "")
    table = [{**{"model": "", "setting": ""}, **dict.fromkeys(benchmarks, ""), **row} for row in rows.values()]
    if not any(row["setting"] for row in table):
        table = [{name: value for name, value in row.items() if name != "setting"} for row in table]
    if table:
        print_table("accuracy, %, with 95 % intervals", table)
