"""`ms.run`, `ms.experiment`, `ms.resume`, `ms.judge`: what asks a model, each with a variant to be awaited."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from markscheme.api.awaiting import awaitable
from markscheme.api.frames import Columns, Frames, Listing, Rows
from markscheme.api.opinions import Opinions
from markscheme.api.reports import Runs, load, path_of, paths_of, report
from markscheme.api.results import Report
from markscheme.api.run import Run, keep_stopped, shown_and_tracked
from markscheme.benchmarks import Benchmark, expand
from markscheme.config import NOT_FOR_JUDGES, make_config
from markscheme.errors import ModelError, UsageError
from markscheme.experiments import Cell, begin_or_extend, forecast, places, read_cells, run_cells, typed_cells
from markscheme.models.base import Model
from markscheme.objects import named_objects
from markscheme.reporting.summary import finish
from markscheme.running import new_folder, prepare
from markscheme.running.judges import JudgeOptions, judge_file, judge_run
from markscheme.running.progress import progress as display
from markscheme.runs import folder
from markscheme.tracking import tracked


def run(
    benchmark: str | Path | Benchmark,
    *,
    model: Any,
    out: str | Path | None = None,
    reuse: Runs | Iterable[Runs] = (),
    progress: bool = True,
    track: str | Sequence[str] = (),
    **options: Any,
) -> Run:
    """Ask a model every question of a benchmark (by name, path or as an object), mark every response, and return the run.

    `model` and `protocol` may be Python objects: a function from a prompt to an answer, sync or async, and a function
    `(response, gold)`.

    The run folder is `out`, or a new one below `runs/`; where `out` holds this run already, only what it lacks is asked,
    so a cell may be run again. `reuse` names runs whose answers to the same requests are taken. `track` names trackers
    that are told: `"wandb"` … `ms.dry_run` says before what it would ask; `ms.experiment` asks several models.
    """
    config, prepared = _prepared(benchmark, model, options)
    place = Path(out) if out is not None else new_folder(prepared.benchmark.name, config.model)
    others = folder.find_runs(paths_of([reuse]))
    with shown_and_tracked(prepared.benchmark.name, progress, track, place) as shown:
        return _finished(begin_or_extend(config, place, shown, prepared, reuse=others))


class Experiment(Frames, list[Run]):
    """The runs of an experiment; shown and handed on as their report."""

    failures: dict[str, ModelError]
    """Runs that a server stopped, by folder: the same call asks for what they miss."""

    def report(self, **options: Any) -> Report:
        """The same as `ms.report(runs, …)`."""
        return report(self, **options)

    def rows(self) -> Rows:
        """One record a run."""
        return self.report().rows()

    def columns(self) -> Columns:
        """The type of each column."""
        return self.report().columns()

    def __repr__(self) -> str:
        return repr(self.report()) if self else "no run was finished"

    def _repr_html_(self) -> str | None:
        return self.report()._repr_html_() if self else None


def experiment(
    file: str | Path | None = None,
    *,
    model: str | Sequence[str] = (),
    benchmark: str | Sequence[str] = (),
    out: str | Path | None = None,
    reuse: Runs | Iterable[Runs] = (),
    progress: bool = True,
    track: str | Sequence[str] = (),
    **options: Any,
) -> Experiment:
    """Several models, benchmarks, prompts or temperatures: what a file of an experiment names, or what is named here.

    Asks what is missing and returns the runs; `options` come before those of the file. A server that fails costs its own
    runs only, which are then in `.failures`.
    """
    cells, place = _cells(file, model, benchmark, out, options)
    runs, failures = Experiment(), {}
    with display(place.name, quiet=not progress) as shown:

        def begin(number: int, cell: Cell) -> Any:
            shown.title = f"{number + 1} of {len(cells)}: {cell.folder}"
            return shown

        for path, ask in run_cells(cells, place, begin, folder.find_runs(paths_of([reuse]))):
            try:
                with tracked(shown, track, path):  # told of each run when it is done
                    runs.append(_finished(ask()))
            except ModelError as failure:  # one server that is away must not cost the others their night
                keep_stopped(failure)
                failures[str(path)] = failure
    if failures and not runs:
        raise next(iter(failures.values()))
    for name, why in failures.items():
        warnings.warn(f"{name}: {why}", stacklevel=3)
    runs.failures = failures
    return runs


def dry_run(
    what: str | Path | Benchmark | None = None,
    *,
    model: str | Sequence[str] = (),
    benchmark: str | Sequence[str] = (),
    out: str | Path | None = None,
    **options: Any,
) -> Listing:
    """What `ms.run` or `ms.experiment` with the same arguments would ask, and what it may cost; nothing is asked."""
    file = isinstance(what, str) and what.endswith(".toml") and not model
    if isinstance(what, Benchmark) or (what is not None and not file):
        config, prepared = _prepared(what, model, options)
        cells, ready, place = [Cell("", config.model, "", config)], [prepared], Path(out or "runs")
        paths = [place]
    else:
        cells, place = _cells(what, model, benchmark, out, options)
        paths, ready = places(cells, place), [prepare(cell.config) for cell in cells]
    plan = [forecast(*each) for each in zip(cells, paths, ready, strict=True)]
    rows = [
        {
            "run": each.cell.folder or str(place),
            "benchmark": each.cell.config.benchmark,
            "model": each.cell.config.model,
        }
        | {"problems": each.problems, "samples": each.cell.config.samples, "there": each.there, "to_ask": each.requests}
        | {"prompt_tokens": each.prompt_tokens, "cost_at_most": each.cost}
        for each in plan
    ]
    counts = dict.fromkeys(("problems", "samples", "there", "to_ask", "prompt_tokens"), int)
    columns = {"run": str, "benchmark": str, "model": str, **counts, "cost_at_most": float}
    return Listing(rows, columns, f"{sum(each.requests for each in plan):,} responses to ask for")


def resume(run: Runs, *, progress: bool = True, track: str | Sequence[str] = (), **options: Any) -> Run:
    """Finish a run: ask for what is missing or failed. `samples=16` or `limit=200` ask for more."""
    return (run if isinstance(run, Run) else load(run)).resume(progress=progress, track=track, **options)


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
    """A model's opinion on what the marker left open, kept as marks of `judge:NAME`; `options` as those of `ms.run`.

    Of a file of labelled responses it is asked about all, and `ms.benchmark_the_graders(file)` then says how wrong it is.
    """
    for option in options:
        if option in NOT_FOR_JUDGES:
            raise UsageError(f"a judge is asked about responses that are there: leave {option} out")
    asked = JudgeOptions(name=name, which=which, share=share, swap=swap, template=template)
    config = {"model": model, **options, **({} if votes is None else {"samples": votes})}
    source = path_of(run)
    with display("judge", quiet=not progress) as shown:
        if not source.is_file():
            about = load(source)
            return Opinions(judge_run(about, asked, config, shown), about)
        if which == "all" or share is not None:
            raise UsageError("of a file of labelled responses all are judged; leave --which and --share out")
        return Opinions(judge_file(source, asked, config, shown), source)


run_async = awaitable(run)
experiment_async = awaitable(experiment)
resume_async = awaitable(resume)
judge_async = awaitable(judge)


def _prepared(benchmark: Any, model: Any, options: dict[str, Any]) -> tuple[Any, Any]:
    """The checked options of one run, and its questions; a benchmark may be one that only this program knows."""
    given = benchmark if isinstance(benchmark, Benchmark) else None
    if callable(model) or isinstance(model, Model):
        model = named_objects({"model": model})["model"]
    if not isinstance(model, str) or not (given or isinstance(benchmark, str)):
        raise UsageError(
            "ms.run asks one model the questions of one benchmark, which is a name, a path or a ms.Benchmark; "
            'ms.experiment(model=["…"], benchmark=["…"]) asks several'
        )
    config = make_config(benchmark=given.name if given else benchmark, model=model, **_one_k(options))
    return config, prepare(config, given)


def _cells(file: Any, model: Any, benchmark: Any, out: Any, options: dict[str, Any]) -> tuple[list[Cell], Path]:
    """The runs of an experiment and the folder that they lie in."""
    models, benchmarks = ([each] if isinstance(each, str) else list(each) for each in (model, benchmark))
    options = _one_k(options)
    if file is not None:
        if models or benchmarks:
            raise UsageError(f"{file} names its models and benchmarks itself; leave the others out")
        return read_cells(Path(file), options), Path(out or Path("runs") / Path(file).stem)
    if not models or not benchmarks:
        raise UsageError('say whom to ask what: a file, or model=["…"], benchmark=["…"]')
    return typed_cells(models, expand(benchmarks), options), Path(out) if out else new_folder("experiment", models[0])


def _one_k(options: dict[str, Any]) -> dict[str, Any]:
    k = options.get("pass_k")
    return named_objects({**options, "pass_k": (k,)} if isinstance(k, int) else options)


def _finished(finished: folder.Run) -> Run:
    finish(finished)
    return Run(finished.path, finished.manifest)
