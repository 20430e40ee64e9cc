"""The whole job: from a config to a complete run folder, and from a broken-off one to the rest of it."""

from __future__ import annotations

import asyncio
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from markscheme.benchmarks import Benchmark
from markscheme.config import RunConfig
from markscheme.errors import JournalError, MarkschemeError, ModelError, UsageError
from markscheme.marking import get_protocol
from markscheme.models import load_model
from markscheme.models.addresses import with_environment
from markscheme.models.base import Model
from markscheme.models.fleet.ranks import Ranks
from markscheme.models.prices import price_of
from markscheme.models.secrets import hide_config, hide_spec
from markscheme.prompts import prompts_sha256
from markscheme.running.asking import Asking, Display, Work, choose_limit, run_async
from markscheme.running.budget import Budget
from markscheme.running.closing import close, forget_stale_marks, mark_the_rest, now
from markscheme.running.interrupts import Interrupts
from markscheme.running.prepare import Prepared, git_revision, package_versions, prepare
from markscheme.running.resume_state import ResumeState
from markscheme.running.resuming import checked_questions, grow, resumed_config
from markscheme.running.reuse import reuse_answers
from markscheme.running.rounds import Rounds, first_round
from markscheme.runs.folder import Manifest, Run
from markscheme.runs.lock import RunLock
from markscheme.runs.reserve import Reserve
from markscheme.runs.usage import Price
from markscheme.types import Question, Sampling

if TYPE_CHECKING:
    from markscheme.runs.snapshot import Snapshot

SEVERAL_SAMPLES_TEMPERATURE = 0.8
"""One sample is greedy by default; several greedy samples would be the same text several times."""


def execute(
    config: RunConfig,
    out: Path,
    display: Display | None = None,
    prepared: Prepared | None = None,
    ranks: Ranks | None = None,
    budget: Budget | None = None,
    reuse: Sequence[Run] = (),
) -> Run:
    """Ask, mark and keep everything; returns the finished run.

    Its manifest says how it ended: `complete`, `incomplete` (errors are missing data), `interrupted`. What stops a run
    for good (a refused key, a full disk) is raised, after everything that came back has been kept and counted.
    With `ranks`, which all of them must call this with, this process asks its share; the first marks and closes.
    `budget` is shared with other runs; what runs of `reuse` have got for the same request is copied, not asked.
    """
    config = with_environment(config)
    bench, questions, protocol = prepared or prepare(config)
    _check_ranks(config, ranks)
    model = load_model(config.model, config)
    samples = first_round(config, ranks)
    sampling = _sampling(config, samples, model, bench.default_sampling(config.prompt))
    manifest = _manifest(config, bench, questions, protocol.label, samples, sampling)
    # Whatever is wrong with the options is said before there is a folder.
    price = price_of(config)
    budget = budget or Budget(config.max_cost, config.max_tokens_total)
    budget.check(config, price)
    choose_limit(config, model, len(questions) * samples)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JournalError(f"cannot make the run folder {out}: {error.strerror}") from None
    with _lock(out, ranks):
        if ranks is None or ranks.first:
            run = Run.create(out, manifest, questions)
        if ranks is not None:
            _meet(ranks)
            run = Run.open(out)
        state = ResumeState(len(questions) * samples)
        if reuse and reuse_answers(run, questions, reuse):
            state = ResumeState(len(questions) * samples, run.snapshot(), run.manifest.protocol)
        work = Work(run, config, questions, state, price, display, ranks, budget=budget)
        if config.until is not None:
            work.rounds = Rounds(run, config, questions, work.state.live)
        asked = state.missing or work.rounds is not None or ranks is not None
        run_async(_carry_out(work, model if asked else None, sampling))
    return run


def resume(
    run: Run,
    changes: Mapping[str, Any] | None = None,
    display: Display | None = None,
    ranks: Ranks | None = None,
    budget: Budget | None = None,
    reuse: Sequence[Run] = (),
) -> Run:
    """Finish what is missing or errored; what is there is never asked again.

    `changes` are options by name. Those that say how to ask (a server's new address, another concurrency) are taken
    over; more samples or problems are added; one that changes what is asked is refused.
    """
    config = resumed_config(run, changes or {})
    price = price_of(config)
    budget = budget or _budget_left(run, config, price)
    budget.check(config, price)
    _check_ranks(config, ranks)
    first_round(config, ranks)  # refuses what cannot be
    with _lock(run.path, ranks):
        run = Run.open(run.path)  # another process may have finished it while we waited
        if ranks is None:
            grow(run, hide_config(config))
        run.manifest = msgspec.structs.replace(
            run.manifest,
            config=hide_config(config),
            protocol=get_protocol(run.manifest.protocol.partition("@")[0]).label,
            status="running",
            resumed=run.manifest.resumed + 1,
        )
        questions = checked_questions(run, config)
        if reuse:
            reuse_answers(run, questions, reuse)
        snapshot = run.snapshot()
        if ranks is None or ranks.first:
            _tell_damage(snapshot)
        state = ResumeState(int(snapshot.wanted.sum()), snapshot, run.manifest.protocol)
        work = Work(run, config, questions, state, price, display, ranks, budget=budget)
        if config.until is not None:
            work.rounds = Rounds(run, config, questions, state.live, snapshot.planned)
        model: Model | None = None
        more = state.missing or (work.rounds is not None and run_async(work.rounds.advance()))
        if ranks is not None or more:  # with nothing missing no model is needed, and no key for one
            model = load_model(config.model, config)
            choose_limit(config, model, state.missing)
        if ranks is None or ranks.first:  # only now: options that the model refuses are not kept
            run.save_manifest(run.manifest)
            if state.missing:
                forget_stale_marks(run)
        if ranks is not None:
            _meet(ranks)  # nobody writes before everybody has read what is there
            work.run = run = Run.open(run.path)
        run_async(_carry_out(work, model, msgspec.convert(run.manifest.sampling, Sampling)))
    return run


def new_folder(benchmark: str, model: str) -> Path:
    """A folder below `runs/` that is not there yet and says when, what and who. It is made when the run begins."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", hide_spec(model)).strip("-")[-40:]
    name = f"{stamp}-{benchmark}-{slug}"
    candidates = (Path("runs") / (name if number == 1 else f"{name}-{number}") for number in count(1))
    return next(folder for folder in candidates if not folder.exists())


def _budget_left(run: Run, config: RunConfig, price: Price | None) -> Budget:
    """A budget of which the run has spent something already."""
    budget = Budget(config.max_cost, config.max_tokens_total)
    if (spent := run.manifest.usage) is not None:
        budget.add(spent.prompt_tokens or 0, spent.completion_tokens or 0, price)
    return budget


def _tell_damage(snapshot: Snapshot) -> None:
    if damaged := snapshot.damaged + len(snapshot.torn):
        print(
            f"markscheme: {damaged} damaged lines in {snapshot.folder} are left out; what they held is asked again",
            file=sys.stderr,
        )


def _manifest(
    config: RunConfig, bench: Benchmark, questions: Sequence[Question], protocol: str, samples: int, sampling: Sampling
) -> Manifest:
    """What is asked, and with what it is made."""
    fewshot_ids = questions[0].prompt.fewshot_ids
    return Manifest(
        config=hide_config(config),
        benchmark=bench.name,
        model=hide_spec(config.model),
        protocol=protocol,
        samples=samples,
        problems=len(questions),
        data=bench.files + (bench.pool_files if fewshot_ids else ()),
        prompt_sha256=prompts_sha256(question.prompt for question in questions),
        fewshot_ids=fewshot_ids,
        sampling=msgspec.to_builtins(sampling),
        started=now(),
        packages=package_versions(),
        python=platform.python_version(),
        platform=platform.platform(),
        git_revision=git_revision(),
    )


def _check_ranks(config: RunConfig, ranks: Ranks | None) -> None:
    if ranks is not None and config.batch:
        raise UsageError("--batch hands everything over from one process; start it without torchrun")
    if ranks is not None and config.engine == "ray":
        raise UsageError(
            f"--engine ray feeds all replicas from one process, and torchrun has started {ranks.world}, each of which "
            "would place its own: leave one of the two out"
        )


def _lock(folder: Path, ranks: Ranks | None) -> RunLock:
    """Rank 0 holds the folder's own lock, and each other rank one for its part."""
    return RunLock(folder) if ranks is None or ranks.first else RunLock(folder, f"lock.{ranks.rank}")


def _meet(ranks: Ranks) -> None:
    if not ranks.meet():
        raise ModelError(f"rank {ranks.rank}: another rank ended before the run began; its message says why")


async def _carry_out(work: Work, model: Model | None, sampling: Sampling) -> None:
    """Ask what is missing, mark what is not marked, and close the run however it ends."""
    run, ranks = work.run, work.ranks
    spent = work.budget.used_up if work.budget is not None else ""
    asking = Asking(work, model, sampling) if model is not None and not spent else None
    with Interrupts(work.state.live) as interrupts:
        try:
            with Reserve(run.path, run.manifest.problems) if work.leads else nullcontext():
                if work.rounds is not None:
                    work.rounds.keep()
                if asking is not None:
                    await asking.run(interrupts)
                if ranks is not None and not await interrupts.unless_told(ranks.met()):
                    interrupts.happened = True  # the others do not come any more, or we do not wait for them
                if work.leads:
                    problems = {question.problem.key: question.problem for question in work.questions}
                    await mark_the_rest(run, problems, interrupts)
        except BaseException as end:
            status = "interrupted" if isinstance(end, KeyboardInterrupt | asyncio.CancelledError) else "stopped"
            if isinstance(end, ModelError) and ranks is None and run.discard():  # typed again, it begins anew
                raise
            if work.leads:
                with suppress(JournalError):  # what stopped us is the news
                    _close(work, status, asking)
                if isinstance(end, MarkschemeError):
                    raise _stopped(run, end) from None
            raise
        if work.leads:
            _close(work, "interrupted" if interrupts.happened else "complete", asking)
            if model is not None and work.budget is not None and work.budget.used_up:
                print(f"markscheme: {work.budget.used_up}, so nothing more was asked", file=sys.stderr)


def _close(work: Work, status: str, asking: Asking | None) -> None:
    if not (work.run.path / "problems.jsonl").exists():  # somebody removed it, and we know what it held
        work.run.save_questions(work.questions)
    close(work.run, status, asking.server_model if asking else None, work.price)


def _stopped(run: Run, failure: MarkschemeError) -> MarkschemeError:
    """The same failure, which also says what is kept and how to go on."""
    if not run.path.exists():
        return type(failure)(f"{failure}; where it is now, `markscheme resume` goes on with what came until then")
    snapshot = run.snapshot()
    kept = f"{snapshot.answered} of {snapshot.expected} responses are kept"
    told = type(failure)(f"{failure}. {kept}; `markscheme resume {run.path}` asks for the rest")
    told.stopped_run = run
    return told


def _sampling(config: RunConfig, samples: int, model: Model, usual: Sampling) -> Sampling:
    """What is asked for: the user's word, else the benchmark's, else greedy for one sample and not for several."""
    default = 0.0 if samples == 1 else SEVERAL_SAMPLES_TEMPERATURE
    given = [each for each in (config.temperature, usual.temperature, default) if each is not None]
    asked = Sampling(
        temperature=given[0],
        top_p=usual.top_p if config.top_p is None else config.top_p,
        top_k=usual.top_k if config.top_k is None else config.top_k,
        max_tokens=usual.max_tokens if config.max_tokens is None else config.max_tokens,
        stop=config.stop or usual.stop,
    )
    return model.as_sent(asked)
