"""The whole job: from a config to a complete run folder, and from an incomplete run to the rest of it."""

from __future__ import annotations

import asyncio
import platform
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import JournalError, MarkschemeError, ModelError, UsageError, command, option, os_reason
from markscheme.marking import get_protocol
from markscheme.models import load_model
from markscheme.models.addresses import with_environment
from markscheme.models.base import Model
from markscheme.models.fleet.ranks import current
from markscheme.models.prices import price_of
from markscheme.models.secrets import hide_config, hide_spec
from markscheme.prompts import prompts_sha256
from markscheme.running.asking import Asking, Display, Work
from markscheme.running.budget import Budget
from markscheme.running.closing import close, forget_stale_marks, mark_the_rest, now
from markscheme.running.conversation import check_talk
from markscheme.running.event_loop import run_async
from markscheme.running.interrupts import Interrupts, signals_kept
from markscheme.running.limits import choose_limit
from markscheme.running.live import Live
from markscheme.running.prepare import Prepared, git_revision, package_versions, platform_name, prepare
from markscheme.running.resuming import checked_questions, grow, object_digests, resumed_config
from markscheme.running.reuse import reuse_answers
from markscheme.running.rounds import Looks, Rounds, baseline_of, first_round
from markscheme.runs.folder import Manifest, Run, disk_reserve
from markscheme.runs.lock import RunLock
from markscheme.runs.usage import Price, Usage
from markscheme.tools import Tool, make_tools
from markscheme.types import Question, Sampling

if TYPE_CHECKING:
    from markscheme.runs.snapshot import Snapshot

# One sample is greedy by default; several greedy samples would be the same text several times.
SEVERAL_SAMPLES_TEMPERATURE = 0.8


def execute(
    config: RunConfig,
    out: Path,
    display: Display | None = None,
    prepared: Prepared | None = None,
    budget: Budget | None = None,
    reuse: Sequence[Run] = (),
    driven: bool = False,
) -> Run:
    """Make a run folder, ask and mark everything, and return the finished run.

    Its manifest says how it ended: `complete`, `incomplete` (errors are missing data) or `interrupted`. A failure that
    stops the run (a refused key, a full disk) is raised after everything that arrived is saved and counted.
    All of several ranks must call this with the same arguments; each asks its share, and the first marks and closes.
    `budget` is shared with other runs. Answers to the same request are copied from the runs in `reuse`. `driven` means
    that the caller looks at the answers and comes back for more samples.
    """
    config = with_environment(config)
    prepared = prepared or prepare(config)
    questions, label = prepared.questions, prepared.protocol.label
    # A mistake in the options is reported before there is a folder.
    samples, ranks = _check_ranks(config), current()
    model = load_model(config.model, config)
    tools = _checked_tools(config, prepared.benchmark.tools, model, questions, len(questions) * samples)
    sampling = _sampling(config, samples, model, prepared.benchmark.default_sampling(config.prompt))
    manifest = _manifest(config, prepared, samples, sampling, tools)
    if ranks.first and samples > 1 and sampling.temperature == 0:
        same = f"at temperature 0 the {samples} samples of a problem are all the same answer"
        print(f"markscheme: {same}; {option('temperature', 0.8)} makes them differ", file=sys.stderr)
    price, budget = _budget(config, budget)
    baseline = None if driven else baseline_of(config, questions, label)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JournalError(f"cannot make the run folder {out}: {os_reason(error)}") from None
    with _lock(out), _signals_kept():
        run = Run.create(out, manifest, questions) if ranks.first else Run(out, manifest)
        copied = bool(reuse) and reuse_answers(run, questions, reuse)
        # A new run is not counted, which would need numpy before the first request.
        live = Live.resumed(run.snapshot(), label) if copied else Live(len(questions) * samples)
        work = Work(run, config, questions, live, price, display, budget, tools)
        work.rounds = _rounds(work, baseline, ())
        return _go(work, model)


def resume(
    run: Run,
    changes: Mapping[str, Any] | None = None,
    display: Display | None = None,
    budget: Budget | None = None,
    reuse: Sequence[Run] = (),
    driven: bool = False,
) -> Run:
    """Ask for what is missing or failed in a run, and for nothing twice.

    `changes` are options by name. They may change how to ask (another server or concurrency) or add samples or problems;
    a change of what is asked is refused.
    """
    config = resumed_config(run, changes or {})
    price, budget = _budget(config, budget, run.manifest.usage)
    _check_ranks(config)
    ranks = current()
    with _lock(run.path):
        run = Run.open(run.path)  # another process may have finished it while we waited
        if not ranks.several:
            grow(run, hide_config(config))
        objects = object_digests(config)  # first: it registers a protocol that is a Python object
        label = get_protocol(run.manifest.protocol.partition("@")[0]).label
        run.manifest = msgspec.structs.replace(
            run.manifest,
            config=hide_config(config),
            objects=objects,
            protocol=label,
            status="running",
            resumed=run.manifest.resumed + 1,
        )
        questions = checked_questions(run, config)
        if reuse:
            reuse_answers(run, questions, reuse)
        snapshot = run.snapshot()
        if ranks.first and (damaged := snapshot.damaged + len(snapshot.torn)):
            what = f"{damaged} damaged lines in {snapshot.folder} are left out"
            print(f"markscheme: {what}; what they held is asked again", file=sys.stderr)
        baseline = None if driven else baseline_of(config, questions, label)
        work = Work(run, config, questions, Live.resumed(snapshot, label), price, display, budget)
        work.rounds = _rounds(work, baseline, snapshot.planned)
        return _go(work, None, snapshot)


def _go(work: Work, model: Model | None, resumed: Snapshot | None = None) -> Run:
    """Ask for the missing responses. A resumed run has a snapshot, and loads a model only if responses are missing."""
    run, config, live, ranks = work.run, work.config, work.live, current()
    asked = ranks.several or live.missing
    if not asked and work.rounds is not None:
        asked = resumed is None or run_async(work.rounds.advance())
    if not asked:
        model = None
    elif model is None:
        model = load_model(config.model, config)
        work.tools = _checked_tools(config, tuple(run.manifest.tools), model, work.questions, live.missing)
    with _signals_kept():
        if resumed is not None and ranks.first:  # not earlier: options that the model refuses are not saved
            run.save_manifest(run.manifest)
            if live.missing:
                forget_stale_marks(run)
        if ranks.several:  # no process writes before all have read
            if not ranks.meet():
                raise ModelError(f"rank {ranks.rank}: another rank ended before the run began; its message says why")
            work.run = run = Run.open(run.path)
        run_async(_carry_out(work, model, msgspec.convert(run.manifest.sampling, Sampling)))
    return run


def new_folder(benchmark: str, model: str) -> Path:
    """Return a new path below `runs/`, named by time, benchmark and model: the same for all ranks.

    The folder is made when the run begins.
    """
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", hide_spec(model)).strip("-")[-40:]
    name = f"{stamp}-{benchmark}-{slug}"
    candidates = (Path("runs") / (name if number == 1 else f"{name}-{number}") for number in count(1))
    return current().agreed(next(folder for folder in candidates if not folder.exists()))


def holds_run(folder: Path) -> bool:
    """True if a run is in the folder; the same for all ranks."""
    return current().agreed((folder / "manifest.json").exists())


def _checked_tools(
    config: RunConfig, usual: tuple[str, ...], model: Model, questions: Sequence[Question], missing: int
) -> dict[str, Tool]:
    """Make the tools, and refuse what the model, the tools or this machine do not allow."""
    tools = make_tools(config, usual)
    check_talk(config, model, questions, tools)
    choose_limit(config, model, missing)
    return tools


def _rounds(work: Work, baseline: Run | None, planned: Sequence[Any]) -> Rounds | Looks | None:
    if work.config.until is not None:
        return Rounds(work.run, work.config, work.questions, work.live, planned)
    if baseline is not None:
        return Looks(work.run, work.config, work.questions, work.live, baseline)
    return None


def _budget(config: RunConfig, budget: Budget | None, spent: Usage | None = None) -> tuple[Price | None, Budget]:
    """Return the model's price and the budget: the shared one, or the run's own minus what is spent."""
    price = price_of(config)
    if budget is None:
        budget = Budget(config.max_cost, config.max_tokens_total)
        if spent is not None:
            budget.spend(spent, price)
    budget.check(config, price)
    return price, budget


def _manifest(
    config: RunConfig, prepared: Prepared, samples: int, sampling: Sampling, tools: Mapping[str, Tool]
) -> Manifest:
    bench, questions, strata = prepared.benchmark, prepared.questions, prepared.strata
    fewshot_ids = questions[0].prompt.fewshot_ids
    stratum = dict(zip((problem.key for problem in bench.problems), strata, strict=True)) if strata else {}
    return Manifest(
        config=hide_config(config),
        benchmark=bench.name,
        model=hide_spec(config.model),
        protocol=prepared.protocol.label,
        samples=samples,
        problems=len(questions),
        drawn_from=len(bench.problems) if config.limit_seed is not None and config.limit is not None else 0,
        strata=dict(Counter(strata)),
        stratum=tuple(stratum[each.problem.key] for each in questions) if strata else (),
        data=bench.files + (bench.pool_files if fewshot_ids else ()),
        prompt_sha256=prompts_sha256(question.prompt for question in questions),
        fewshot_ids=fewshot_ids,
        sampling=msgspec.to_builtins(sampling),
        tools={name: tool.where for name, tool in tools.items()},
        started=now(),
        packages=package_versions(),
        python=platform.python_version(),
        platform=platform_name(),
        git_revision=git_revision(),
        objects=object_digests(config),
    )


def _check_ranks(config: RunConfig) -> int:
    """Refuse what several processes cannot do; return the samples per problem that a run begins with."""
    first, ranks = first_round(config), current()
    if ranks.several and config.batch:
        raise UsageError(f"{option('batch')} submits everything from one process; start it without torchrun")
    if ranks.several and config.engine == "ray":
        raise UsageError(
            f"{option('engine', 'ray')} feeds all replicas from one process, but torchrun has started {ranks.world}; "
            "leave one of the two out"
        )
    if ranks.several and (config.until is not None or config.until_better is not None):
        raise UsageError(
            f"{option('until' if config.until is not None else 'until_better')} looks at all answers after each round, so "
            "only one process may ask: start it without torchrun"
        )
    return first


def _lock(folder: Path) -> RunLock:
    """Return the folder's lock for rank 0, and a lock for its part for each other rank."""
    return RunLock(folder) if current().first else RunLock(folder, f"lock.{current().rank}")


def _signals_kept() -> AbstractContextManager[None]:
    # A rank that waits in a call of torch cannot handle a signal and has to die.
    return nullcontext() if current().several else signals_kept()


async def _carry_out(work: Work, model: Model | None, sampling: Sampling) -> None:
    """Ask what is missing, mark what is not marked, and close the run however it ends."""
    run, ranks = work.run, current()
    asking = Asking(work, model, sampling) if model is not None and not work.budget.used_up else None
    with Interrupts(work.live) as interrupts:
        try:
            with disk_reserve(run.path, run.manifest.problems) if ranks.first else nullcontext():
                if work.rounds is not None:
                    work.rounds.keep()
                if asking is not None:
                    await asking.run(interrupts)
                if ranks.several and not await interrupts.unless_interrupted(ranks.met()):
                    interrupts.happened = True  # the other ranks have ended, or we do not wait for them
                if ranks.first:
                    problems = {question.problem.key: question.problem for question in work.questions}
                    await mark_the_rest(run, problems, interrupts)
        except BaseException as end:
            status = "interrupted" if isinstance(end, KeyboardInterrupt | asyncio.CancelledError) else "stopped"
            if isinstance(end, ModelError) and not ranks.several and run.discard():  # nothing came: it can begin again
                raise
            if ranks.first:
                with suppress(JournalError):  # the first failure is the one to report
                    _close(work, status, asking)
                if isinstance(end, MarkschemeError):
                    raise _stopped(run, end) from None
            raise
        if ranks.first:
            _close(work, "interrupted" if interrupts.happened else "complete", asking)
            if model is not None and work.budget.used_up:
                print(f"markscheme: {work.budget.used_up}, so nothing more was asked", file=sys.stderr)


def _close(work: Work, status: str, asking: Asking | None) -> None:
    if not (work.run.path / "problems.jsonl").exists():  # it was removed, but we know what it held
        work.run.save_questions(work.questions)
    before = None if asking is not None else work.run.manifest.ended  # without asking, the duration stays
    close(work.run, status, asking.server_model if asking else None, work.price, before)


def _stopped(run: Run, failure: MarkschemeError) -> MarkschemeError:
    """Return the same failure with what is kept and how to go on."""
    if not run.path.exists():
        return type(failure)(f"{failure}; if the folder was moved, `resume` there asks for the rest")
    snapshot = run.snapshot()
    kept = f"{snapshot.answered} of {snapshot.expected} responses are kept"
    stopped = type(failure)(f"{failure}. {kept}; {command('resume', run.path)} asks for the rest")
    stopped.stopped_run = run
    return stopped


def _sampling(config: RunConfig, samples: int, model: Model, usual: Sampling) -> Sampling:
    """Return the user's sampling, else the benchmark's, else greedy for one sample and not for several."""
    both = {name: (getattr(config, name), getattr(usual, name)) for name in Sampling.__struct_fields__}
    chosen: dict[str, Any] = {name: default if own in (None, ()) else own for name, (own, default) in both.items()}
    if chosen["temperature"] is None:
        chosen["temperature"] = 0.0 if samples == 1 else SEVERAL_SAMPLES_TEMPERATURE
    return model.as_sent(Sampling(**chosen))
