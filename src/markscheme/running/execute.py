"""The whole job: from a config to a complete run folder, and from a broken-off one to the rest of it."""

from __future__ import annotations

import asyncio
import platform
import sys
import threading
from collections import Counter
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from markscheme.accounting import Accounts
from markscheme.config import RunConfig
from markscheme.errors import JournalError, ModelError
from markscheme.marking import get_protocol, mark_many
from markscheme.models import load_model
from markscheme.models.base import Model
from markscheme.models.prices import price_of
from markscheme.models.secrets import hide_config, hide_spec
from markscheme.prompts import prompts_sha256
from markscheme.running.earlier import Earlier
from markscheme.running.evidence import git_revision, package_versions
from markscheme.running.interrupts import Interrupts
from markscheme.running.journal import Journal
from markscheme.running.limits import AutoLimit, FixedLimit, Limit, make_room, most_connections
from markscheme.running.live import Live
from markscheme.running.lock import RunLock
from markscheme.running.pace import Pace
from markscheme.running.plan import requests
from markscheme.running.prepare import Prepared, prepare
from markscheme.running.recorder import Recorder
from markscheme.running.resuming import check_questions, resumed_config
from markscheme.running.retry import RetryPolicy
from markscheme.running.scheduler import Scheduler
from markscheme.runs import Manifest, Run, write_atomically
from markscheme.scale.ranks import Ranks
from markscheme.scale.ranks import current as current_ranks
from markscheme.types import Mark, Problem, Question, Response, Sampling

SEVERAL_SAMPLES_TEMPERATURE = 0.8
"""One sample is greedy by default; several greedy samples would be the same text several times."""

MOST_AUTOMATIC = 1024
"""Requests in flight that `auto` never exceeds: servers queue beyond it, they do not get faster."""


REPORTING = "markscheme.reporting.summary"
"""What whoever asked will need next. It loads (numpy, 0.2 s) while the first answers are on their way."""


class Display(Protocol):
    """Shows how a run is doing; called a few times a second."""

    every: float
    """Seconds between two looks."""

    def show(self, live: Live) -> None:
        """Display the figures."""


def execute(config: RunConfig, out: Path, display: Display | None = None, prepared: Prepared | None = None) -> Run:
    """Ask, mark and keep everything; returns the finished run.

    Its manifest says how it ended: `complete`, `incomplete` (errors are missing data), `interrupted`. What stops a run
    for good (a refused key, a full disk) is raised, after everything that came back has been kept and counted.
    """
    bench, questions, protocol = prepared or prepare(config)
    model = load_model(config.model, config)
    sampling = _sampling(config, model)
    fewshot_ids = questions[0].prompt.fewshot_ids
    manifest = Manifest(
        config=hide_config(config),
        benchmark=bench.name,
        model=hide_spec(config.model),
        protocol=protocol.label,
        samples=config.samples,
        problems=len(questions),
        data=bench.files + (bench.pool_files if fewshot_ids else ()),
        prompt_sha256=prompts_sha256(question.prompt for question in questions),
        fewshot_ids=fewshot_ids,
        sampling=msgspec.to_builtins(sampling),
        started=_now(),
        packages=package_versions(),
        python=platform.python_version(),
        platform=platform.platform(),
        git_revision=git_revision(),
    )
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JournalError(f"cannot make the run folder {out}: {error.strerror}") from None
    ranks = current_ranks()
    with _lock(out, ranks):
        if ranks is None or ranks.first:
            run = Run.create(out, manifest, questions)
        if ranks is not None:
            _meet(ranks)
            run = Run.open(out)
        _finish(run, config, questions, model, sampling, display, ranks)
    return run


def resume(run: Run, changes: Mapping[str, Any] | None = None, display: Display | None = None) -> Run:
    """Finish what is missing or errored; what is there is never asked again.

    `changes` are options by name. Those that say how to ask (a server's new address, another concurrency) are taken
    over; one that changes what is asked is refused.
    """
    config = resumed_config(run, changes or {})
    ranks = current_ranks()
    with _lock(run.path, ranks):
        run = Run.open(run.path)  # another process may have finished it while we waited
        questions = run.questions()
        check_questions(run, questions)
        protocol = get_protocol(run.manifest.protocol.partition("@")[0])
        if ranks is None or ranks.first:
            run.save_manifest(
                msgspec.structs.replace(
                    run.manifest,
                    config=hide_config(config),
                    protocol=protocol.label,
                    status="running",
                    resumed=run.manifest.resumed + 1,
                )
            )
        model = load_model(config.model, config)
        if ranks is not None:
            _meet(ranks)  # nobody writes before everybody has read what is there
            run = Run.open(run.path)
        sampling = msgspec.convert(run.manifest.sampling, Sampling)
        _finish(run, config, questions, model, sampling, display, ranks)
    return run


def _lock(folder: Path, ranks: Ranks | None) -> RunLock:
    """Rank 0 holds the folder's own lock, and each other rank one for its part."""
    return RunLock(folder) if ranks is None or ranks.first else RunLock(folder, f"lock.{ranks.rank}")


def _meet(ranks: Ranks) -> None:
    if not ranks.meet():
        raise ModelError(f"rank {ranks.rank}: another rank ended before the run began; its message says why")


def _finish(
    run: Run,
    config: RunConfig,
    questions: Sequence[Question],
    model: Model,
    sampling: Sampling,
    display: Display | None,
    ranks: Ranks | None,
) -> None:
    accounts = Accounts(price_of(config))
    earlier = Earlier(run, run.manifest.protocol, accounts)
    if earlier.damaged and (ranks is None or ranks.first):
        print(
            f"markscheme: {earlier.damaged} damaged lines in {run.path} are left out; what they held is asked again",
            file=sys.stderr,
        )
    asking = _Asking(run, config, questions, model, sampling, earlier, accounts, display, ranks)
    status = "stopped"
    try:
        _run_async(asking.run())
        if ranks is not None:
            # Told to end, we do not wait for the others.
            asking.interrupted = asking.interrupted or not ranks.meet()
            if ranks.first:
                accounts = Accounts(price_of(config))
                earlier = Earlier(run, run.manifest.protocol, accounts)
        if ranks is None or ranks.first:
            _mark_the_rest(run, {question.problem.key: question.problem for question in questions}, earlier)
        status = "interrupted" if asking.interrupted else "complete"
    finally:
        if ranks is None or ranks.first:
            _close(run, status, asking.server_model, accounts)


class _Asking:
    """One process's part in a run: ask what is missing, keep what arrives."""

    def __init__(
        self,
        run: Run,
        config: RunConfig,
        questions: Sequence[Question],
        model: Model,
        sampling: Sampling,
        earlier: Earlier,
        accounts: Accounts,
        display: Display | None,
        ranks: Ranks | None = None,
    ) -> None:
        if ranks is not None:
            questions = ranks.share(questions)
            keys = [question.problem.key for question in questions]
            missing = sum(not earlier.answered.has(key, one) for key in keys for one in range(run.manifest.samples))
            earlier.live.total = earlier.live.done + missing  # what this rank will see
        self._writer = "responses.jsonl" if ranks is None else f"responses.{ranks.rank}.jsonl"
        self._ranks = ranks
        self._run, self._config, self._model, self._earlier = run, config, model, earlier
        self._accounts, self._display = accounts, display
        step = config.samples_per_request or int(getattr(model, "samples_per_request", 1))
        self._requests = requests(run.manifest, questions, sampling, earlier.answered, step)
        self.problems = {question.problem.key: question.problem for question in questions}
        self.interrupted = False
        self.server_model: str | None = None

    async def run(self) -> None:
        """Ask until nothing is left, something is fatal, or the user has had enough."""
        protocol = get_protocol(self._run.manifest.protocol.partition("@")[0])
        live = self._earlier.live
        facts = Journal(self._run.path / self._writer)
        # A rank's marks are for its display; rank 0 marks everything at the end, since marks have one file.
        opinions = Journal(self._run.marks_file(protocol.name)) if self._ranks is None else None
        try:
            with facts, opinions or nullcontext():
                recorder = Recorder(
                    facts, opinions, self.problems, protocol, self._earlier.marked, self._accounts, live
                )
                scheduler = self._scheduler(recorder, live)
                recorder.on_failure = scheduler.stop
                with Interrupts(scheduler, live) as interrupts:
                    beside = [
                        asyncio.create_task(facts.keep_synced()),
                        asyncio.create_task(self._show(live)),
                        asyncio.create_task(asyncio.to_thread(import_module, REPORTING)),
                    ]
                    try:
                        await scheduler.run()
                    finally:
                        await recorder.finish()
                        for task in beside:
                            task.cancel()
                        self.interrupted = interrupts.happened
                        self.server_model = recorder.server_model
        finally:
            await self._model.close()

    def _scheduler(self, recorder: Recorder, live: Live) -> Scheduler:
        config = self._config
        return Scheduler(
            self._model,
            self._requests,
            recorder.take,
            limit=_limit(config, self._model, live.total - live.done),
            pace=Pace(config),
            retry=RetryPolicy(config.max_retries, config.retry_delay),
            timeout=config.request_timeout,
            live=live,
        )

    async def _show(self, live: Live) -> None:
        while self._display is not None:
            self._display.show(live)
            await asyncio.sleep(self._display.every)


def _limit(config: RunConfig, model: Model, missing: int) -> Limit:
    """How many at once: the user's number, else the model's, else find out."""
    chosen = config.concurrency or model.concurrency
    if isinstance(chosen, int):
        value = max(1, min(chosen, missing))
        make_room(value)
        return FixedLimit(value)
    highest = min(MOST_AUTOMATIC, most_connections())
    make_room(highest)
    return AutoLimit(highest=highest)


def _mark_the_rest(run: Run, problems: Mapping[str, Problem], earlier: Earlier) -> None:
    """Marks that are missing: of an earlier process that was killed, or that fell behind the answers."""
    if len(earlier.marked) >= run.manifest.problems * run.manifest.samples:
        return
    protocol = run.manifest.protocol.partition("@")[0]

    def unmarked() -> Iterable[tuple[Response, Problem]]:
        for response in run.responses():
            if response.key in problems and not earlier.marked.has(response.key, response.sample):
                yield response, problems[response.key]

    with Journal(run.marks_file(protocol)) as opinions:
        batch: list[Mark] = []
        for opinion in mark_many(unmarked(), protocol):
            batch.append(opinion)
            if len(batch) >= 256:
                opinions.write(batch)
                batch.clear()
        opinions.write(batch)


def _close(run: Run, status: str, server: str | None, accounts: Accounts) -> None:
    counts = Counter(str(head.verdict) for head in run.mark_heads(run.manifest.protocol))
    missing = run.manifest.problems * run.manifest.samples - counts.total() + counts["error"]
    ended = status if missing or status == "stopped" else "complete"
    ledger = accounts.ledger()
    write_atomically(run.path / "usage.json", msgspec.json.format(msgspec.json.encode(ledger), indent=1))
    run.save_manifest(
        msgspec.structs.replace(
            run.manifest,
            ended=_now(),
            status="incomplete" if ended == "complete" and missing else ended,
            counts=dict(counts),
            server_model=server or run.manifest.server_model,
            usage=ledger.total,
        )
    )


T = TypeVar("T")


def _run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run in an event loop of our own; where one is running already (a notebook), in a thread with its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    outcome: list[T] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - carried over to the caller's thread, whatever it is
            failure.append(error)

    thread = threading.Thread(target=target, name="markscheme-run")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


def _sampling(config: RunConfig, model: Model) -> Sampling:
    if getattr(model, "own_sampling", False):
        return Sampling()
    default = 0.0 if config.samples == 1 else SEVERAL_SAMPLES_TEMPERATURE
    return Sampling(
        temperature=default if config.temperature is None else config.temperature,
        top_p=config.top_p,
        top_k=config.top_k,
        max_tokens=config.max_tokens,
        stop=config.stop,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
