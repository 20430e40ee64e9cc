"""The commands as functions, with the same names and options: `ms.run`, `ms.report`, `ms.compare`, `ms.audit`, `ms.plan` …

What a command prints, a function returns: an object with fields, a short repr, HTML for notebooks and data frames.
Everything works inside a running event loop; `run`, `resume` and `experiment` have variants to be awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from markscheme.api.notebook import display
from markscheme.api.results import Audit, Comparison, Graders, Plan, Report
from markscheme.api.run import Answer, Run
from markscheme.benchmarks import Benchmark
from markscheme.benchmarks import benchmark as find_benchmark
from markscheme.config import make_config
from markscheme.errors import JournalError
from markscheme.reporting.summary import finish
from markscheme.running import execute, new_folder, prepare
from markscheme.running.asking import STOP, Stop
from markscheme.running.judges import Judged, judge_options, judge_run
from markscheme.runs import folder
from markscheme.tracking import tracked

__all__ = [
    "Answer",
    "Audit",
    "Comparison",
    "Graders",
    "Plan",
    "Report",
    "Run",
    "audit",
    "benchmark_the_graders",
    "compare",
    "experiment",
    "experiment_async",
    "judge",
    "load",
    "plan",
    "report",
    "resume",
    "resume_async",
    "run",
    "run_async",
]

T = TypeVar("T")

Runs = str | Path | folder.Run
"""A run, or its folder; a folder of runs stands for those in it."""


def run(
    benchmark: str | Benchmark,
    *,
    model: str,
    out: str | Path | None = None,
    progress: bool = True,
    track: str | Sequence[str] = (),
    **options: Any,
) -> Run:
    """Ask a model every question of a benchmark (by name, path or as an object), mark every response, and return the run.

    `options` are those of `RunConfig`, by the same names as the command line's: `samples=16`, `temperature=0.8`,
    `limit=100` … The run folder is `out`, or a new one below `runs/`. `track` names trackers that are told: `"wandb"` …
    """
    given = benchmark if isinstance(benchmark, Benchmark) else None
    config = make_config(benchmark=given.name if given else benchmark, model=model, **options)
    prepared = prepare(config, given)
    place = Path(out) if out is not None else new_folder(prepared.benchmark.name, model)
    with tracked(display(prepared.benchmark.name, quiet=not progress), track, place) as shown, shown:
        finished = execute(config, place, shown, prepared)
    return _finished(finished)


def experiment(file: str | Path, *, out: str | Path | None = None, progress: bool = True, **options: Any) -> list[Run]:
    """Ask what an experiment's file still misses, and return its runs; `options` come before those of the file."""
    from markscheme.experiments import read_cells, run_cells

    cells = read_cells(Path(file), options)
    place = Path(out) if out is not None else Path("runs") / Path(file).stem
    with display(Path(file).stem, quiet=not progress) as shown:
        work = run_cells(cells, place, lambda *_: shown)
        return [_finished(ask()) for _, ask in work]


def load(path: str | Path) -> Run:
    """A run folder, opened."""
    if not (Path(path) / "manifest.json").exists() and (below := sorted(Path(path).glob("*/manifest.json"))):
        raise JournalError(f"{path} holds {len(below)} runs: ms.report({str(path)!r}) takes all, ms.load one of them")
    return Run.open(path)


def resume(run: Runs, *, progress: bool = True, **options: Any) -> Run:
    """Finish a run: ask for what is missing or failed. `samples=16` or `limit=200` ask for more."""
    return (run if isinstance(run, Run) else load(_path(run))).resume(progress=progress, **options)


def report(
    *runs: Runs,
    protocol: str | None = None,
    pass_k: Sequence[int] | None = None,
    metric: str | Iterable[str] = (),
    these_problems: bool = False,
    cluster: str | None = None,
) -> Report:
    """The figures of runs with their intervals; further `metric`s by name: `maj@4`, `pass^4`, `best-of-4:SCORE`."""
    from markscheme.reporting.summary import summarize
    from markscheme.reporting.table import make_table

    opened = folder.find_runs(map(_path, runs))
    names = [name for text in ([metric] if isinstance(metric, str) else metric) for name in text.split(",")]
    population = _population(these_problems)
    return Report(
        make_table([summarize(each, protocol, pass_k, names, population, cluster) for each in opened]), opened
    )


def compare(
    *runs: Runs,
    metric: str = "accuracy",
    margin: float | None = None,
    cluster: str | None = None,
    protocol: str | None = None,
    level: float = 0.95,
    these_problems: bool = False,
    anyway: bool = False,
    seed: int = 0,
) -> Comparison:
    """Two runs problem by problem (the first is A), several ranked, or two folders of runs over their benchmarks.

    `margin` is in points, as on the command line.
    """
    from markscheme.reporting.comparing import Terms, compare_macro, compare_runs

    terms = Terms(
        metric=metric,
        protocol=protocol,
        level=level,
        seed=seed,
        population=_population(these_problems),
        anyway=anyway,
        cluster=cluster,
        margin=None if margin is None else margin / 100,
    )
    sides = [folder.find_runs([_path(each)]) for each in runs]
    opened = [run for side in sides for run in side]
    if len(sides) == 2 and len(opened) > 2:
        return Comparison(compare_macro(sides[0], sides[1], terms), opened)
    return Comparison(compare_runs(opened, terms), opened)


def audit(
    source: Runs,
    *,
    benchmark: str | None = None,
    protocol: str | Iterable[str] | None = None,
    data_dir: str | None = None,
    think_end: str = "</think>",
    workers: int | None = None,
    show: int = 10,
) -> Audit:
    """Every protocol on the same responses: those of a run, or of a file of stored outputs."""
    from markscheme.marking.bulk.audit import audit as judge_all
    from markscheme.marking.bulk.outputs import Outputs

    outputs = Outputs(_path(source), benchmark, data_dir)
    names = [protocol] if isinstance(protocol, str) else list(protocol) if protocol is not None else None
    made = judge_all(outputs, names, benchmark=outputs.benchmark, keep=show, workers=workers, think_end=think_end)
    return Audit(made)


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
) -> Judged:
    """A model's opinion on what the marker left open, kept as marks of `judge:NAME`; `options` as those of `ms.run`."""
    asked = judge_options(name, which, share, swap, template)
    config = {"model": model, **options, **({} if votes is None else {"samples": votes})}
    with display("judge", quiet=not progress) as shown:
        return judge_run(folder.Run.open(_path(run)), asked, config, shown)


def benchmark_the_graders(source: Runs, *, protocol: str | Iterable[str] | None = None) -> Graders:
    """What every protocol gets wrong on labelled responses: a file of them, or a run that people have judged."""
    from markscheme.marking.bulk.graders import grade_graders, labelled

    names = [protocol] if isinstance(protocol, str) else list(protocol) if protocol is not None else None
    return Graders(grade_graders(labelled(_path(source)), str(_path(source)), names))


def plan(
    *,
    detect: float,
    benchmark: str | None = None,
    problems: int | None = None,
    power: float = 0.8,
    level: float = 0.95,
    pilot: Runs | Sequence[Runs] = (),
    solve_rate: float | None = None,
    these_problems: bool = False,
    cluster: str | None = None,
    data_dir: str | None = None,
) -> Plan:
    """How many samples show a difference of `detect` points, learnt from one or two pilot runs where there are some."""
    from markscheme.reporting.planning import plan_from

    pilots = [pilot] if isinstance(pilot, str | Path | folder.Run) else pilot
    opened = [Run.open(_path(each)) for each in pilots]
    if problems is None and benchmark is not None:
        problems = len(find_benchmark(benchmark, data_dir).problems)
    population = _population(these_problems)
    return Plan(plan_from(opened, problems, detect, power, level, solve_rate, population, cluster))


async def run_async(benchmark: str | Benchmark, *, model: str, out: str | Path | None = None, **options: Any) -> Run:
    """`run`, to be awaited. Cancelled, it stops asking and keeps what has come."""
    return await _in_thread(partial(run, benchmark, model=model, out=out, **options))


async def experiment_async(file: str | Path, *, out: str | Path | None = None, **options: Any) -> list[Run]:
    """`experiment`, to be awaited."""
    return await _in_thread(partial(experiment, file, out=out, **options))


async def resume_async(run: Runs, **options: Any) -> Run:
    """`resume`, to be awaited."""
    return await _in_thread(partial(resume, run, **options))


async def _in_thread(work: Callable[[], T]) -> T:
    """The work in a thread; cancelling stops it, and waits until it has written down what it has."""
    stop = Stop()
    token = STOP.set(stop)  # the thread gets a copy of the context
    try:
        task = asyncio.ensure_future(asyncio.to_thread(work))
    finally:
        STOP.reset(token)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop()
        await asyncio.wait([task])
        raise


def _path(run: Runs) -> Path:
    return run.path if isinstance(run, folder.Run) else Path(run)


def _population(these_problems: bool) -> Any:
    return "these problems" if these_problems else "problems drawn"


def _finished(finished: folder.Run) -> Run:
    finish(finished)
    return Run(finished.path, finished.manifest)
