"""The whole job: from a config to a complete run folder, and from a broken-off one to the rest of it."""

from __future__ import annotations

import asyncio
import platform
import re
import sys
from collections import Counter
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
from markscheme.models.fleet.ranks import ALONE, Ranks
from markscheme.models.prices import price_of
from markscheme.models.secrets import hide_config, hide_spec
from markscheme.prompts import prompts_sha256
from markscheme.running.asking import Asking, Display, Work, choose_limit, run_async
from markscheme.running.budget import Budget
from markscheme.running.closing import close, forget_stale_marks, mark_the_rest, now
from markscheme.running.conversation import check_talk
from markscheme.running.interrupts import Interrupts, signals_kept
from markscheme.running.live import Live
from markscheme.running.prepare import Prepared, git_revision, package_versions, prepare
from markscheme.running.resuming import checked_questions, grow, object_digests, resumed_config
from markscheme.running.reuse import reuse_answers
from markscheme.running.rounds import Looks, Rounds, baseline_of, first_round
from markscheme.runs.folder import Manifest, Run, disk_reserve
from markscheme.runs.lock import RunLock
from markscheme.runs.usage import Price, Usage
from markscheme.tools import make_tools
from markscheme.types import Question, Sampling

if TYPE_CHECKING:
    from markscheme.runs.snapshot import Snapshot

# One sample is greedy by default; several greedy samples would be the same text several times.
SEVERAL_SAMPLES_TEMPERATURE = 0.8
GREEDY = "at temperature 0 the {} samples of a problem are the same answer again and again; -t 0.8 makes them differ"


def execute(
    config: RunConfig,
    out: Path,
    display: Display | None = None,
    prepared: Prepared | None = None,
    ranks: Ranks = ALONE,
    budget: Budget | None = None,
    reuse: Sequence[Run] = (),
    driven: bool = False,
) -> Run:
    """Ask, mark and keep everything; returns the finished run.

    Its manifest says how it ended: `complete`, `incomplete` (errors are missing data), `interrupted`. What stops a run
    for good (a refused key, a full disk) is raised, after everything that came back has been kept and counted.
    With several `ranks`, which all of them must call this with, this process asks its share; the first marks and closes.
    `budget` is shared with other runs; what runs of `reuse` have got for the same request is copied, not asked.
    `driven` says that whoever calls looks at the answers and comes back for more samples.
    """
    config = with_environment(config)
    bench, questions, protocol, strata = prepared or prepare(config)
    # Whatever is wrong with the options is said before there is a folder.
    samples = _check_ranks(config, ranks)
    model = load_model(config.model, config)
    tools = make_tools(config, bench.tools)
    check_talk(config, model, questions, tools)
    sampling = _sampling(config, samples, model, bench.default_sampling(config.prompt))
    manifest = _manifest(config, bench, questions, protocol.label, samples, sampling)
    manifest = msgspec.structs.replace(manifest, tools={name: tool.where for name, tool in tools.items()})
    if strata:
        of = dict(zip((problem.key for problem in bench.problems), strata, strict=True))
        drawn = tuple(of[question.problem.key] for question in questions)
        manifest = msgspec.structs.replace(manifest, strata=dict(Counter(strata)), stratum=drawn)
    if ranks.first and samples > 1 and sampling.temperature == 0:
        print(f"markscheme: {GREEDY.format(samples)}", file=sys.stderr)
    price, budget = _budget(config, budget)
    baseline = None if driven else baseline_of(config, questions, protocol.label)
    choose_limit(config, model, len(questions) * samples)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JournalError(f"cannot make the run folder {out}: {error.strerror}") from None
    with _lock(out, ranks), signals_kept(ranks):
        run = Run.create(out, manifest, questions) if ranks.first else Run(out, manifest)
        copied = bool(reuse) and reuse_answers(run, questions, reuse)
        # Without answers nothing is counted, which would need numpy before the first request.
        live = Live.resumed(run.snapshot(), manifest.protocol) if copied else Live(len(questions) * samples)
        work = Work(run, config, questions, live, price, display, ranks, budget, tools)
        return _go(work, model, looks=None if baseline is None else Looks(run, config, questions, live, baseline))


def resume(
    run: Run,
    changes: Mapping[str, Any] | None = None,
    display: Display | None = None,
    ranks: Ranks = ALONE,
    budget: Budget | None = None,
    reuse: Sequence[Run] = (),
    driven: bool = False,
) -> Run:
    """Finish what is missing or errored; what is there is never asked again.

    `changes` are options by name. Those that say how to ask (a server's new address, another concurrency) are taken
    over; more samples or problems are added; one that changes what is asked is refused.
    """
    config = resumed_config(run, changes or {})
    price, budget = _budget(config, budget, run.manifest.usage)
    _check_ranks(config, ranks)
    with _lock(run.path, ranks):
        run = Run.open(run.path)  # another process may have finished it while we waited
        if not ranks.several:
            grow(run, hide_config(config))
        run.manifest = msgspec.structs.replace(
            run.manifest,
            config=hide_config(config),
            objects=object_digests(config),
            protocol=get_protocol(run.manifest.protocol.partition("@")[0]).label,
            status="running",
            resumed=run.manifest.resumed + 1,
        )
        questions = checked_questions(run, config)
        if reuse:
            reuse_answers(run, questions, reuse)
        snapshot = run.snapshot()
        if ranks.first:
            _tell_damage(snapshot)
        live = Live.resumed(snapshot, run.manifest.protocol)
        baseline = None if driven else baseline_of(config, questions, run.manifest.protocol)
        looks = None if baseline is None else Looks(run, config, questions, live, baseline)
        return _go(Work(run, config, questions, live, price, display, ranks, budget), None, snapshot, looks)


def _go(work: Work, model: Model | None, snapshot: Snapshot | None = None, looks: Looks | None = None) -> Run:
    """The one way of every run: ask for what is missing. A resumed one comes with its snapshot, and without a model yet."""
    run, config, live, ranks = work.run, work.config, work.live, work.ranks
    work.rounds = looks
    if config.until is not None:
        work.rounds = Rounds(run, config, work.questions, live, snapshot.planned if snapshot else ())
    asked = ranks.several or live.missing
    if not asked and work.rounds is not None:
        asked = snapshot is None or run_async(work.rounds.advance())
    if not asked:
        model = None  # with nothing missing no model is needed, and no key for one
    elif model is None:
        model = load_model(config.model, config)
        work.tools = make_tools(config, tuple(run.manifest.tools))
        check_talk(config, model, work.questions, work.tools)
        choose_limit(config, model, live.missing)
    with signals_kept(ranks):
        if snapshot is not None and ranks.first:  # only now: options that the model refuses are not kept
            run.save_manifest(run.manifest)
            if live.missing:
                forget_stale_marks(run)
        if ranks.several:
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


def _budget(config: RunConfig, budget: Budget | None, spent: Usage | None = None) -> tuple[Price | None, Budget]:
    """The price of the model, and what may be spent: shared with other runs, or the run's own without what is gone."""
    price = price_of(config)
    if budget is None:
        budget = Budget(config.max_cost, config.max_tokens_total)
        if spent is not None:
            budget.spend(spent, price)
    budget.check(config, price)
    return price, budget


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
        drawn_from=len(bench.problems) if config.limit_seed is not None and config.limit is not None else 0,
        data=bench.files + (bench.pool_files if fewshot_ids else ()),
        prompt_sha256=prompts_sha256(question.prompt for question in questions),
        fewshot_ids=fewshot_ids,
        sampling=msgspec.to_builtins(sampling),
        started=now(),
        packages=package_versions(),
        python=platform.python_version(),
        platform=platform.platform(),
        git_revision=git_revision(),
        objects=object_digests(config),
    )


def _check_ranks(config: RunConfig, ranks: Ranks) -> int:
    """Refuse what several processes cannot do; the samples per problem that a run begins with."""
    if ranks.several and config.batch:
        raise UsageError("--batch hands everything over from one process; start it without torchrun")
    if ranks.several and config.engine == "ray":
        raise UsageError(
            f"--engine ray feeds all replicas from one process, and torchrun has started {ranks.world}, each of which "
            "would place its own: leave one of the two out"
        )
    return first_round(config, ranks)


def _lock(folder: Path, ranks: Ranks) -> RunLock:
    """Rank 0 holds the folder's own lock, and each other rank one for its part."""
    return RunLock(folder) if ranks.first else RunLock(folder, f"lock.{ranks.rank}")


def _meet(ranks: Ranks) -> None:
    if not ranks.meet():
        raise ModelError(f"rank {ranks.rank}: another rank ended before the run began; its message says why")


async def _carry_out(work: Work, model: Model | None, sampling: Sampling) -> None:
    """Ask what is missing, mark what is not marked, and close the run however it ends."""
    run, ranks = work.run, work.ranks
    asking = Asking(work, model, sampling) if model is not None and not work.budget.used_up else None
    with Interrupts(work.live) as interrupts:
        try:
            with disk_reserve(run.path, run.manifest.problems) if ranks.first else nullcontext():
                if work.rounds is not None:
                    work.rounds.keep()
                if asking is not None:
                    await asking.run(interrupts)
                if ranks.several and not await interrupts.unless_interrupted(ranks.met()):
                    interrupts.happened = True  # the others do not come any more, or we do not wait for them
                if ranks.first:
                    problems = {question.problem.key: question.problem for question in work.questions}
                    await mark_the_rest(run, problems, interrupts)
        except BaseException as end:
            status = "interrupted" if isinstance(end, KeyboardInterrupt | asyncio.CancelledError) else "stopped"
            if isinstance(end, ModelError) and not ranks.several and run.discard():  # typed again, it begins anew
                raise
            if ranks.first:
                with suppress(JournalError):  # what stopped us is the news
                    _close(work, status, asking)
                if isinstance(end, MarkschemeError):
                    raise _stopped(run, end) from None
            raise
        if ranks.first:
            _close(work, "interrupted" if interrupts.happened else "complete", asking)
            if model is not None and work.budget.used_up:
                print(f"markscheme: {work.budget.used_up}, so nothing more was asked", file=sys.stderr)


def _close(work: Work, status: str, asking: Asking | None) -> None:
    if not (work.run.path / "problems.jsonl").exists():  # somebody removed it, and we know what it held
        work.run.save_questions(work.questions)
    before = None if asking is not None else work.run.manifest.ended  # nothing was asked: it took no longer than it did
    close(work.run, status, asking.server_model if asking else None, work.price, before)


def _stopped(run: Run, failure: MarkschemeError) -> MarkschemeError:
    """The same failure, which also says what is kept and how to go on."""
    if not run.path.exists():
        return type(failure)(f"{failure}; where it is now, `markscheme resume` goes on with what came until then")
    snapshot = run.snapshot()
    kept = f"{snapshot.answered} of {snapshot.expected} responses are kept"
    stopped = type(failure)(f"{failure}. {kept}; `markscheme resume {run.path}` asks for the rest")
    stopped.stopped_run = run
    return stopped


def _sampling(config: RunConfig, samples: int, model: Model, usual: Sampling) -> Sampling:
    """What is asked for: the user's word, else the benchmark's, else greedy for one sample and not for several."""
    both = {name: (getattr(config, name), getattr(usual, name)) for name in Sampling.__struct_fields__}
    chosen: dict[str, Any] = {name: default if own in (None, ()) else own for name, (own, default) in both.items()}
    if chosen["temperature"] is None:
        chosen["temperature"] = 0.0 if samples == 1 else SEVERAL_SAMPLES_TEMPERATURE
    return model.as_sent(Sampling(**chosen))
