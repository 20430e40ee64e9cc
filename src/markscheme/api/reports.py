"""`ms.report`, `ms.compare`, `ms.audit`, `ms.plan`, `ms.adjudicate` …: what is read from runs that are there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from markscheme.api.opinions import Adjudication, Audit, Graders
from markscheme.api.results import Comparison, Plan, Report
from markscheme.api.run import Run
from markscheme.errors import JournalError, UsageError
from markscheme.reporting.comparing import compare_folders, terms_of
from markscheme.reporting.gate import Gate, gate_from
from markscheme.reporting.planning import plan_from
from markscheme.reporting.settings import chosen, ordered
from markscheme.reporting.summary import summarize
from markscheme.reporting.table import make_table
from markscheme.runs import folder
from markscheme.statistics import Population

Runs = str | PathLike[str]
"""A run, or its folder; a folder of runs stands for those in it."""


def load(path: Runs) -> Run:
    """A run folder, opened."""
    place = path_of(path)
    if not (place / "manifest.json").exists() and (below := sorted(place.glob("*/manifest.json"))):
        raise JournalError(
            f"{place} holds {len(below)} runs: `markscheme report {place}` takes all, and this one of them"
        )
    return Run.open(place)


def report(
    *runs: Runs | Iterable[Runs],
    protocol: str | None = None,
    pass_k: int | Sequence[int] | None = None,
    metric: str | Iterable[str] = (),
    these_problems: bool = False,
    whole_benchmark: bool = False,
    cluster: str | None = None,
    where: str | Iterable[str] = (),
) -> Report:
    """The figures of runs with their intervals; further `metric`s by name: `maj@4`, `pass^4`, `best-of-4:SCORE`.

    `where` keeps runs with some settings: `"max_tokens=4096"`.
    """
    named = list(paths_of(runs))
    opened = chosen(_names(where) or (), folder.find_runs(named))
    if len(opened) > len(named):  # a folder of runs: nobody has put them in order
        opened = ordered(opened)
    if not opened:
        raise UsageError("name a run, or a folder of runs: ms.report(run), ms.report('runs')")
    names = list(dict.fromkeys(name for text in _names(metric) or () for name in text.split(",")))
    ks = (pass_k,) if isinstance(pass_k, int) else pass_k
    if ks and not all(isinstance(k, int) and k >= 1 for k in ks):
        raise UsageError(f"-k takes whole numbers from 1 up, not {', '.join(map(str, ks))}")
    if these_problems and whole_benchmark:
        raise UsageError("an interval is about exactly these problems or the whole benchmark: leave one of the two out")
    population: Population = "the whole benchmark" if whole_benchmark else _population(these_problems)
    summaries = [summarize(each, protocol, ks, names, population, cluster) for each in opened]
    return Report(make_table(summaries), opened)


def compare(
    *runs: Runs | Iterable[Runs],
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
    options = {"metric": metric, "protocol": protocol, "level": level, "seed": seed, "anyway": anyway}
    terms = terms_of(margin=margin, these_problems=these_problems, cluster=cluster, **options)
    compared = compare_folders(list(paths_of(runs)), terms)
    if len(compared) > 1:
        raise UsageError(f"these are runs of {len(compared)} benchmarks: compare those of one, or two folders of runs")
    return Comparison(compared[0])


def gate(
    policy: str | PathLike[str],
    *runs: Runs | Iterable[Runs],
    against: Runs | Iterable[Runs] = (),
    aa: Runs | Iterable[Runs] = (),
) -> Gate:
    """Pass, fail or inconclusive by a policy's limits: `.decision`, and `.checks` with what would decide each."""
    return gate_from(path_of(policy), *(list(paths_of([each])) for each in (runs, against, aa)))


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

    outputs = Outputs(path_of(source), named_benchmark(benchmark), data_dir)
    made = judge_all(
        outputs, _names(protocol), benchmark=outputs.benchmark, keep=show, workers=workers, think_end=think_end
    )
    return Audit(made, outputs.unmatched)


def benchmark_the_graders(source: Runs, *, protocol: str | Iterable[str] | None = None) -> Graders:
    """What every protocol gets wrong on labelled responses: a file of them, or a run that people have judged."""
    from markscheme.marking.bulk.graders import grade_graders, labelled

    place = path_of(source)
    return Graders(grade_graders(labelled(place), str(place), _names(protocol)))


def adjudicate(run: Runs, *, who: str, limit: int | None = None, seed: int = 0) -> Adjudication:
    """A random order of a run's responses for a person to judge, blind to the verdict; what is said is kept at once."""
    return Adjudication(load(run), who, seed, limit)


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
    from markscheme.benchmarks import benchmark as find_benchmark

    if not isinstance(detect, int | float):
        raise UsageError(f"--detect is a difference in points, such as 5, not {detect!r}")
    opened = [Run.open(each) for each in paths_of([pilot])]
    if problems is None and (name := named_benchmark(benchmark)) is not None:
        problems = len(find_benchmark(name, data_dir).problems)
    population = _population(these_problems)
    return Plan(plan_from(opened, problems, detect, power, level, solve_rate, population, cluster))


def path_of(run: Any) -> Path:
    """The folder of a run, which is named by its object or by its path."""
    try:
        return Path(run)
    except TypeError:
        raise UsageError(f"a run is named by its object or its folder, not by a {type(run).__name__}") from None


def paths_of(runs: Iterable[Any]) -> Iterator[Path]:
    """The folders of runs, some of which may be given as a list."""
    for each in runs:
        if isinstance(each, Iterable) and not isinstance(each, str | PathLike):
            yield from paths_of(each)
        else:
            yield path_of(each)


def named_benchmark(benchmark: Any) -> str | None:
    """A benchmark by name or path; where its own name finds it again, the object will do."""
    from markscheme.benchmarks import Benchmark

    if isinstance(benchmark, Benchmark):
        if benchmark.definition is None:
            raise UsageError(
                f"{benchmark.name} was made in Python, where nobody else finds it; name a file of its problems"
            )
        return benchmark.name
    if benchmark is not None and not isinstance(benchmark, str):
        raise UsageError(f"a benchmark is named by a text or a path, not by a {type(benchmark).__name__}")
    return benchmark


def _names(given: str | Iterable[str] | None) -> list[str] | None:
    return None if given is None else [given] if isinstance(given, str) else list(given)


def _population(these_problems: bool) -> Any:
    return "these problems" if these_problems else "problems drawn"
