"""`ms.run`, `ms.experiment`, `ms.resume`, `ms.judge`: functions that ask a model, each also as a coroutine."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markscheme.api.awaiting import awaitable
from markscheme.api.opinions import Opinions
from markscheme.api.options import with_options
from markscheme.api.reports import Runs, Some, load, path_of, paths_of, report
from markscheme.api.run import Run, keep_stopped, shown_and_tracked
from markscheme.benchmarks import Benchmark, expand
from markscheme.config import NOT_FOR_JUDGES, make_config
from markscheme.errors import MarkschemeError, UsageError, counted, option
from markscheme.experiments import (
    STOPS_ONE_RUN,
    Cell,
    Forecast,
    begin_or_extend,
    forecast,
    forecasts,
    read_cells,
    run_cells,
    typed_cells,
)
from markscheme.models.base import Model
from markscheme.objects import named_objects
from markscheme.pages.frames import Columns, Frames, Listing, Rows
from markscheme.reporting.report import Report
from markscheme.reporting.summary import finish
from markscheme.running import Prepared, new_folder, prepare
from markscheme.running.judges import JudgeOptions, judge_file, judge_run
from markscheme.running.progress import progress as display
from markscheme.runs import folder
from markscheme.tracking import tracked


@with_options()
def run(
    benchmark: str | Path | Benchmark,
    *,
    model: Any,
    out: str | Path | None = None,
    reuse: Some = (),
    progress: bool = True,
    track: str | Sequence[str] = (),
    **options: Any,
) -> Run:
    """Ask a model every question of a benchmark (a name, path or object), mark every response, and return the run.

    `model` and `protocol` may be Python objects: a function from a prompt to an answer, sync or async, and a function
    `(response, gold)`.

    The run folder is `out`, or a new one below `runs/`. If `out` holds this run already, only what is missing is asked,
    so a cell may be run again. Answers to the same requests are taken from the runs in `reuse`. `track` names trackers
    such as `"wandb"`. `ms.dry_run` returns what it would ask; `ms.experiment` asks several models.
    """
    config, prepared = _prepared(benchmark, model, options)
    place = Path(out) if out is not None else new_folder(prepared.benchmark.name, config.model)
    others = folder.find_runs(paths_of([reuse]))
    with shown_and_tracked(prepared.benchmark.name, progress, track, place) as shown:
        return _finished(begin_or_extend(config, place, shown, prepared, reuse=others))


class Experiment(Frames, list[Run]):
    """The runs of an experiment; its repr and frames are those of their report."""

    failures: dict[str, MarkschemeError]
    """Runs that their server or model stopped, by folder. The same call asks for their missing responses."""

    def report(self, **options: Any) -> Report:
        """Return `ms.report(runs, …)`."""
        return report(self, **options)

    def rows(self) -> Rows:
        """Return one record per run."""
        return self.report().rows()

    def columns(self) -> Columns:
        """Return the type of each column."""
        return self.report().columns()

    def __repr__(self) -> str:
        return repr(self.report()) if self else "no run was finished"

    def _repr_html_(self) -> str | None:
        return self.report()._repr_html_() if self else None


@with_options()
def experiment(
    file: str | Path | None = None,
    *,
    model: str | Sequence[str] = (),
    benchmark: str | Sequence[str] = (),
    out: str | Path | None = None,
    reuse: Some = (),
    progress: bool = True,
    track: str | Sequence[str] = (),
    **options: Any,
) -> Experiment:
    """Ask several models, benchmarks, prompts or settings: those of an experiment's file, or those named here.

    Asks what is missing and returns the runs; `options` override those of the file. A server that fails, or
    a model that refuses a benchmark, stops only its own runs, which are in `.failures`.
    """
    cells, place = _cells(file, model, benchmark, out, options)
    runs, failures = Experiment(), dict[str, MarkschemeError]()
    with display(place.name, quiet=not progress) as shown:
        for path, ask in run_cells(forecasts(cells, place), shown, folder.find_runs(paths_of([reuse]))):
            try:
                with tracked(shown, track, path):
                    runs.append(_finished(ask()))
            except STOPS_ONE_RUN as failure:
                keep_stopped(failure)
                failures[str(path)] = failure
    if failures and not runs:
        raise next(iter(failures.values()))
    for name, why in failures.items():
        warnings.warn(f"{name}: {why}", stacklevel=2)
    runs.failures = failures
    return runs


@with_options()
def dry_run(
    what: str | Path | Benchmark | None = None,
    *,
    model: str | Sequence[str] = (),
    benchmark: str | Sequence[str] = (),
    out: str | Path | None = None,
    **options: Any,
) -> Listing:
    """Return what `ms.run` or `ms.experiment` would ask with the same arguments, and its highest cost; asks nothing."""
    if what is None or (not model and str(what).endswith(".toml")):
        cells, place = _cells(what, model, benchmark, out, options)
        return forecast_listing(forecasts(cells, place), place)
    config, prepared = _prepared(what, model, options)
    place = Path(out or "runs")
    return forecast_listing([forecast(Cell(str(place), config.model, "", config), place, prepared)], place)


def forecast_listing(plan: Sequence[Forecast], place: Path) -> Listing:
    """Return what the runs of an experiment would ask, one row each, with the total as a note."""
    counts = dict.fromkeys(("problems", "samples", "there", "to_ask", "prompt_tokens"), int)
    columns = {"run": str, "benchmark": str, "model": str, **counts, "cost_at_most": float}
    rows: list[dict[str, Any]] = []
    for each in plan:
        config = each.cell.config
        named = (each.cell.folder, config.benchmark, config.model, each.problems, config.samples)
        numbers = (each.there, each.requests, each.prompt_tokens, each.cost)
        rows.append(dict(zip(columns, (*named, *numbers), strict=True)))
    table = [
        {name: row[name] for name in ("run", "problems", "samples", "there")}
        | {"to ask": row["to_ask"], "prompt tokens (estimate)": row["prompt_tokens"]}
        | {"cost at most": "?" if (cost := row["cost_at_most"]) is None else f"${cost:.2f}"}
        for row in rows
    ]
    asked, there, tokens = (sum(row[name] for row in rows) for name in ("to_ask", "there", "prompt_tokens"))
    costs = [each.cost for each in plan if each.requests]
    most = "" if not costs or None in costs else f", at most ${sum(each or 0 for each in costs):.2f}"
    total = f"{counted(len(plan), 'run')}: {counted(asked, 'response')} to ask for, {there:,} already there"
    return Listing(
        rows,
        columns,
        f"what {place} would ask",
        table=table,
        notes=[f"{total}; about {counted(tokens, 'prompt token')}{most}"],
        content={"folder": str(place), "runs": table},
    )


@with_options()
def resume(run: Runs, *, progress: bool = True, track: str | Sequence[str] = (), **options: Any) -> Run:
    """Ask for the missing responses of a run. `samples=16` or `limit=200` add more."""
    return (run if isinstance(run, Run) else load(run)).resume(progress=progress, track=track, **options)


@with_options(NOT_FOR_JUDGES)
def judge(
    run: Runs,
    *,
    model: str,
    name: str = "",
    which: str = "open",
    share: float | None = None,
    votes: int | None = None,
    swap: bool = False,
    template: str = "",
    progress: bool = True,
    **options: Any,
) -> Opinions:
    """Ask a model about the responses that the marker left open; its verdicts become the protocol `judge:NAME`.

    With a file of labelled responses, it is asked about all of them, and `ms.benchmark_the_graders(file)` measures its errors.
    """
    for each in options:
        if each in NOT_FOR_JUDGES:
            instead = f"; {option('votes')} sets how often it is asked" if each == "samples" else ""
            raise UsageError(f"a judge is asked about existing responses: leave {option(each)} out{instead}")
    asked = JudgeOptions(name=name, which=which, share=share, swap=swap, template=template)
    config = {"model": model, **options, **({} if votes is None else {"samples": votes})}
    source = path_of(run)
    with display("judge", quiet=not progress) as shown:
        if not source.is_file():
            about = load(source)
            return Opinions(judge_run(about, asked, config, shown), about)
        if which == "all" or share is not None:
            both = f"{option('which')} and {option('share')}"
            raise UsageError(f"every labelled response of a file is judged; leave {both} out")
        return Opinions(judge_file(source, asked, config, shown), source)


run_async = awaitable(run)
experiment_async = awaitable(experiment)
resume_async = awaitable(resume)
judge_async = awaitable(judge)


def _finished(done: folder.Run) -> Run:
    finish(done)
    return Run(done.path, done.manifest)


def _prepared(benchmark: Any, model: Any, options: dict[str, Any]) -> tuple[Any, Prepared]:
    """Return the config of a run and everything about it that needs no model."""
    if callable(model) or isinstance(model, Model):
        model = named_objects({"model": model})["model"]
    if not isinstance(benchmark, str | Path | Benchmark) or not isinstance(model, str):
        raise UsageError(
            'ms.run asks one model the problems of one benchmark; ms.experiment(model=["…"], benchmark=["…"]) asks several'
        )
    given = benchmark if isinstance(benchmark, Benchmark) else None
    config = make_config(benchmark=given.name if given else benchmark, model=model, **named_objects(options))
    return config, prepare(config, given)


def _cells(
    file: Any, model: str | Sequence[str], benchmark: Any, out: Any, options: dict[str, Any]
) -> tuple[list[Cell], Path]:
    """Return the runs of an experiment and their folder."""
    models, benchmarks = ([each] if isinstance(each, str) else list(each) for each in (model, benchmark))
    options = named_objects(options)
    if file is not None:
        if models or benchmarks:
            raise UsageError(f"{file} names its models and benchmarks itself; leave the others out")
        return read_cells(Path(file), options), Path(out or Path("runs") / Path(file).stem)
    if not models or not benchmarks:
        raise UsageError('name a model and a benchmark: a file, or model=["…"], benchmark=["…"]')
    return typed_cells(models, expand(benchmarks), options), Path(out) if out else new_folder("experiment", models[0])
