"""`ms.report`, `ms.compare`, `ms.audit`, `ms.plan`, `ms.adjudicate` …: functions that read existing runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from markscheme.api.opinions import Adjudication
from markscheme.api.options import plain_numbers
from markscheme.api.run import Run
from markscheme.benchmarks import Benchmark
from markscheme.benchmarks import benchmark as find_benchmark
from markscheme.benchmarks.errata import Errata, errata_of, read_errata, shipped_errata
from markscheme.errors import JournalError, UsageError, command, option
from markscheme.marking.protocol import get_protocol
from markscheme.reporting.comparing import Compared, check_points, terms_of
from markscheme.reporting.comparison import Comparison
from markscheme.reporting.errata import Suspects
from markscheme.reporting.errata import suspects as find_suspects
from markscheme.reporting.family import compare_folders, repeated
from markscheme.reporting.gate import Gate, gate_from
from markscheme.reporting.planning import Plan, designs_from, plan_from
from markscheme.reporting.report import Report
from markscheme.reporting.series import OverSteps, series_of
from markscheme.reporting.settings import chosen, ordered
from markscheme.reporting.summary import summarize
from markscheme.reporting.table import make_table
from markscheme.reporting.verifying import Verification, verify_run
from markscheme.runs import folder
from markscheme.runs.signing import sign as sign_manifest

if TYPE_CHECKING:
    from markscheme.marking.bulk.audit import Audit
    from markscheme.marking.bulk.graders import Graders
    from markscheme.marking.bulk.reproducing import ClaimOutputs, Reproduction

Runs = str | PathLike[str]  # a run or its folder; a folder of runs means all runs in it
Some = Runs | Iterable[Runs]


def load(path: Runs) -> Run:
    """Open a run folder."""
    place = path_of(path)
    if not (place / "manifest.json").exists() and (below := sorted(place.glob("*/manifest.json"))):
        report_all = command("report", place)
        raise JournalError(f"{place} holds {len(below)} runs: name one of them, or {report_all} for all")
    return Run.open(place)


@plain_numbers
def report(
    *runs: Some,
    protocol: str | None = None,
    pass_k: int | Sequence[int] | None = None,
    metric: str | Iterable[str] = (),
    these_problems: bool = False,
    whole_benchmark: bool = False,
    cluster: str | None = None,
    errata: str | PathLike[str] | None = None,
    repeats: bool = False,
    where: str | Iterable[str] = (),
) -> Report:
    """Report the figures of runs with their intervals; `metric` adds others: `maj@4`, `pass^4`, `best-of-4:SCORE`.

    With `repeats` the runs are repeats of one setting, and the interval of their mean holds for further runs too.
    `where` selects runs by their settings: `"max_tokens=4096"`.
    """
    named = list(paths_of(runs))
    opened = chosen(_names(where) or (), open_runs(named))
    if len(opened) > len(named):  # a folder of runs has no fixed order
        opened = ordered(opened)
    names = list(dict.fromkeys(name for text in _names(metric) or () for name in text.split(",")))
    ks = (pass_k,) if isinstance(pass_k, int) else pass_k
    if ks and not all(isinstance(k, int) and k >= 1 for k in ks):
        raise UsageError(f"{option('pass_k')} takes whole numbers from 1 up, not {', '.join(map(str, ks))}")
    if these_problems and whole_benchmark:
        raise UsageError(f"use either {option('these_problems')} or {option('whole_benchmark')}, not both")
    population: Any = "the whole benchmark" if whole_benchmark else _population(these_problems)
    known = read_errata(Path(errata)) if errata is not None else ()
    summaries = [summarize(each, protocol, ks, names, population, cluster, known) for each in opened]
    terms = terms_of(these_problems=these_problems, cluster=cluster, protocol=protocol)
    return Report(make_table(summaries, repeated(opened, terms) if repeats else None), opened)


def errata(benchmark: str | None = None) -> Errata:
    """Return golds that are known to be wrong, by benchmark: of one, or of all that come with the package."""
    return Errata(shipped_errata() if benchmark is None else {benchmark: errata_of(benchmark)})


@plain_numbers
def suspects(*runs: Some, least: int = 3) -> Suspects:
    """Return problems where at least this many models agree on an answer other than the gold, and more than on the gold."""
    if least < 1:
        raise UsageError(f"{option('least')} is a whole number from 1 up, not {least}")
    return Suspects(find_suspects(open_runs(runs), least), least)


def verify(
    *runs: Some,
    protocol: Any = None,
    workers: int | None = None,
    sign: str | PathLike[str] | None = None,
    signature: str | PathLike[str] | None = None,
) -> Verification:
    """Check that runs are unaltered, and that their marks and report can be reproduced.

    `protocol` is the source of one that the runs were marked with: a function, `file.py:function`, or several of them.
    `signature` is a public key that must have signed them. `sign` is a private key to sign those that hold.
    """
    for given in protocol if isinstance(protocol, list | tuple) else filter(None, [protocol]):
        get_protocol(given)
    places, keys = list(paths_of(runs)), Path(signature) if signature is not None else None
    if sign is not None and (packed := next((each for each in places if folder.folder_of(each) != Path(each)), None)):
        raise UsageError(f"{packed} is packed; sign the folder, then pack it: the signature is packed with it")
    opened = open_runs(places)
    verified = [verify_run(each, workers, keys) for each in opened]
    # A judge's replies are a run of their own.
    judges = [file.parent for each in opened for file in sorted(each.path.glob("judges/*/manifest.json"))]
    verified += [verify_run(Run.open(each), workers) for each in judges]
    if sign is not None:
        if failed := next((each.run for each in verified if not each.holds), None):
            raise JournalError(f"{failed} does not hold and is not signed; {command('verify', failed)} says why")
        for one in opened:
            sign_manifest(one.path, Path(sign))
    return Verification(verified, signed=sign is not None)


@plain_numbers
def compare(
    *runs: Some,
    metric: str = "accuracy",
    margin: float | None = None,
    cluster: str | None = None,
    protocol: str | None = None,
    level: float = 0.95,
    these_problems: bool = False,
    anyway: bool = False,
    seed: int = 0,
) -> Comparison:
    """Compare two runs problem by problem (the first is A), rank several, or compare two folders of runs by benchmark.

    `margin` is in percentage points.
    """
    options = {"metric": metric, "protocol": protocol, "level": level, "seed": seed, "anyway": anyway}
    terms = terms_of(margin=margin, these_problems=these_problems, cluster=cluster, **options)
    compared = compare_folders(list(paths_of(runs)), terms)
    last = compared[-1]
    if isinstance(last, Compared) and last.average:
        return Comparison(last, tuple(each for each in compared if isinstance(each, Compared)))
    if len(compared) > 1:
        raise UsageError(f"these are runs of {len(compared)} benchmarks: compare those of one, or two folders of runs")
    return Comparison(compared[0])


@plain_numbers
def gate(policy: str | PathLike[str], *runs: Some, against: Some = (), aa: Some = ()) -> Gate:
    """Decide whether runs pass a policy's limits: `.decision`, and `.checks` with what would settle each."""
    return gate_from(path_of(policy), *(list(paths_of([each])) for each in (runs, against, aa)))


@plain_numbers
def series(
    *runs: Some,
    metric: str = "accuracy",
    protocol: str | None = None,
    these_problems: bool = False,
    between: Sequence[int] = (),
) -> list[OverSteps]:
    """Return one series over training steps for each benchmark: `.series.points`, `.series.best`, `.sentence`."""
    return series_of(open_runs(runs), metric, protocol, _population(these_problems), between)


def audit(
    source: Runs,
    *,
    benchmark: str | None = None,
    protocol: str | Iterable[str] | None = None,
    data_dir: str | None = None,
    think_end: str = "</think>",
    workers: int | None = None,
    show: int = 10,
    root: Path | None = None,
) -> Audit:
    """Mark the same responses under every protocol: those of a run, a file of outputs, or a claim with its files in `root`."""
    from markscheme.marking.bulk.audit import audit as judge_all
    from markscheme.marking.bulk.outputs import Outputs

    place = Path(path_of(source))
    outputs: Outputs | ClaimOutputs
    if place.suffix == ".toml":
        from markscheme.marking.bulk.claims import load_claim
        from markscheme.marking.bulk.reproducing import ClaimOutputs

        outputs = ClaimOutputs(load_claim(place), root or place.parent)
    else:
        outputs = Outputs(place, named_benchmark(benchmark), data_dir)
    made = judge_all(
        outputs, _names(protocol), benchmark=outputs.benchmark, keep=show, workers=workers, think_end=think_end
    )
    return msgspec.structs.replace(made, unmatched=outputs.unmatched)


def reproduce(
    claim: str | Path,
    *,
    root: str | Path | None = None,
    row: str | None = None,
    workers: int | None = None,
    out: str | Path | None = None,
    watch: Callable[[Path, int], None] = lambda *_: None,
) -> Reproduction:
    """Reproduce a published table from its stored outputs in `root` (default: the folder of the claim's file).

    `out` is a folder for the differing samples, as run folders. `watch` is called with each file and the bytes read of it.
    """
    from markscheme.marking.bulk.claim_pages import write_pages
    from markscheme.marking.bulk.claims import load_claim, named
    from markscheme.marking.bulk.reproducing import Reproduction, reproduce_entry

    wanted = named(load_claim(Path(claim)), row)
    rows = []
    for entry in wanted.rows:
        made, differing = reproduce_entry(entry, Path(root or Path(claim).parent), workers=workers, watch=watch)
        rows.append(made)
        if out is not None:
            write_pages(Path(out), entry.name, differing)
    head = {name: getattr(wanted, name) for name in ("title", "source", "repository", "note")}
    return Reproduction(**head, rows=rows)


def benchmark_the_graders(source: Runs, *, protocol: str | Iterable[str] | None = None) -> Graders:
    """Measure the errors of every protocol on labelled responses: a file of them, or a run that people have judged."""
    from markscheme.marking.bulk.graders import grade_graders, labelled

    place = path_of(source)
    return grade_graders(labelled(place), str(place), _names(protocol))


def adjudicate(run: Runs, *, who: str, limit: int | None = None, seed: int = 0) -> Adjudication:
    """Return a run's responses in random order for a person to judge without seeing the verdict."""
    return Adjudication(load(run), who, seed, limit)


@plain_numbers
def plan(
    *,
    detect: float | None = None,
    half_width: float | None = None,
    metric: str = "accuracy",
    models: int = 2,
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
    """Return how many samples show a difference of `detect` points, based on one or two pilot runs if given.

    With `half_width` instead: the fewest requests that measure one score to ± that many points.
    """
    if (detect is None) == (half_width is None):
        difference, one_score = option("detect", "POINTS"), option("half_width", "POINTS")
        both = "" if detect is None else ", not both"
        raise UsageError(f"name what to plan for: {difference} (a difference) or {one_score} (one score){both}")
    check_points("detect", detect)
    check_points("half_width", half_width)
    opened = [Run.open(each) for each in paths_of([pilot])]
    if problems is None and (name := named_benchmark(benchmark)) is not None:
        problems = len(find_benchmark(name, data_dir).problems)
    if detect is None:
        return Plan(designs_from(opened, problems, half_width or 0.0, level, solve_rate))
    population = _population(these_problems)
    return Plan(plan_from(opened, problems, detect, power, level, solve_rate, population, cluster, metric, models))


def path_of(run: Any) -> Path:
    """Return the folder of a run that is given as an object or a path."""
    try:
        return Path(run)
    except TypeError:
        raise UsageError(f"a run is named by its object or its folder, not by a {type(run).__name__}") from None


def paths_of(runs: Iterable[Any]) -> Iterator[Path]:
    """Yield the folders of runs, some of which may be in lists."""
    for each in runs:
        if isinstance(each, Iterable) and not isinstance(each, str | PathLike):
            yield from paths_of(each)
        else:
            yield path_of(each)


def open_runs(runs: Iterable[Any]) -> list[folder.Run]:
    """Open the runs that were named, of which there must be one."""
    if not (named := list(paths_of(runs))):
        raise UsageError("name a run, or a folder of runs, such as 'runs'")
    return folder.find_runs(named)


def named_benchmark(benchmark: Any) -> str | None:
    """Return the name or path of a benchmark; an object needs a name by which it can be found again."""
    if isinstance(benchmark, Benchmark):
        if benchmark.definition is None:
            raise UsageError(f"{benchmark.name} exists only in this process; name a file of its problems instead")
        return benchmark.name
    if benchmark is not None and not isinstance(benchmark, str | PathLike):
        raise UsageError(f"a benchmark must be a string or a path, not a {type(benchmark).__name__}")
    return None if benchmark is None else str(benchmark)


def _names(given: str | Iterable[str] | None) -> list[str] | None:
    return None if given is None else [given] if isinstance(given, str) else list(given)


def _population(these_problems: bool) -> Any:
    return "these problems" if these_problems else "problems drawn"
