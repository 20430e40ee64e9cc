"""One process's part in a run: the event loop in which it asks, keeps and marks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, TypeVar

import msgspec

from markscheme.config import RunConfig
from markscheme.marking import get_protocol
from markscheme.models.base import Model, Request
from markscheme.models.fleet.ranks import Ranks
from markscheme.running.batch_asking import BatchAsking, open_batches
from markscheme.running.budget import Budget
from markscheme.running.interrupts import Interrupts
from markscheme.running.limits import FIRST, AutoLimit, FixedLimit, Limit, RoomLimit, make_room, most_connections
from markscheme.running.live import Live
from markscheme.running.pace import Pace
from markscheme.running.plan import requests
from markscheme.running.recorder import Recorder
from markscheme.running.resume_state import ResumeState
from markscheme.running.retry import RetryPolicy
from markscheme.running.rounds import Rounds
from markscheme.running.scheduler import Scheduler, Sink
from markscheme.running.starting import start_model
from markscheme.runs.folder import Run
from markscheme.runs.journal import Journal
from markscheme.runs.usage import Price
from markscheme.types import Question, Sampling

MOST_AUTOMATIC = 1024
"""Requests in flight at one server that `auto` never exceeds: servers queue beyond it, they do not get faster."""

COUNTING = "numpy"
"""What closing the run will need. It loads (0.2 s) while the first answers are on their way."""


class Display(Protocol):
    """Shows how a run is doing; called a few times a second."""

    every: float
    """Seconds between two looks."""

    def show(self, live: Live) -> None:
        """Display the figures."""

    def say(self, line: str) -> None:
        """Tell the user something once."""


@dataclass
class Work:
    """One process's part in a run: what is asked, what of it is done, and who else is asking."""

    run: Run
    config: RunConfig
    questions: Sequence[Question]
    state: ResumeState
    price: Price | None = None
    display: Display | None = None
    ranks: Ranks | None = None
    rounds: Rounds | None = None
    budget: Budget | None = None

    @property
    def leads(self) -> bool:
        """Whether this process marks, reports and closes."""
        return self.ranks is None or self.ranks.first


class Asking:
    """Asks what is missing and keeps what arrives."""

    def __init__(self, work: Work, model: Model, sampling: Sampling) -> None:
        self._run, self._config, self._state, self._rounds = work.run, work.config, work.state, work.rounds
        self._model, self._sampling, self._display, self._ranks = model, sampling, work.display, work.ranks
        self._questions, self._budget, self._price = work.questions, work.budget, work.price
        self._writer = "responses.jsonl"
        if work.ranks is not None:
            self._questions = work.ranks.share(work.questions)
            self._writer = f"responses.{work.ranks.rank}.jsonl"
            samples, done = range(work.run.manifest.samples), work.state.answered
            missing = sum(not done.has(one.problem.key, sample) for one in self._questions for sample in samples)
            work.state.live.total = work.state.live.done + missing  # what this rank will see
        self._problems = {question.problem.key: question.problem for question in self._questions}
        self.interrupted = False
        self.server_model: str | None = None

    async def run(self) -> None:
        """Ask until nothing is left, something is fatal, or the user has had enough."""
        with Interrupts(self._state.live) as interrupts:
            try:
                if self._display is not None and (route := self._model.route()):
                    self._display.say(f"asking {route}")
                if await self._started(interrupts):
                    await self._settle()
                    await self._ask(interrupts)
                while self._rounds is not None and not self._ended(interrupts) and self._rounds.advance():
                    self._rounds.keep()
                    await self._ask(interrupts)
            finally:
                self.interrupted = interrupts.happened
                interrupts.closing()
                await self._model.close()

    def _ended(self, interrupts: Interrupts) -> bool:
        return interrupts.happened or (self._budget is not None and bool(self._budget.used_up))

    async def _started(self, interrupts: Interrupts) -> bool:
        showing = asyncio.create_task(self._show(self._state.live))
        try:
            return await start_model(self._model, self._run.path, self._state.live, interrupts)
        finally:
            showing.cancel()

    async def _settle(self) -> None:
        """Where only a started model knows what it is really asked for, the manifest says so from now on."""
        if (settled := await self._model.settle(self._sampling)) != self._sampling:
            self._sampling = settled
            self._run.manifest = msgspec.structs.replace(self._run.manifest, sampling=msgspec.to_builtins(settled))
            self._run.save_manifest(self._run.manifest)

    async def _ask(self, interrupts: Interrupts) -> None:
        """Ask for everything that is planned and missing."""
        protocol = get_protocol(self._run.manifest.protocol.partition("@")[0])
        live = self._state.live
        facts = Journal(self._run.path / self._writer)
        # A rank's marks are for its display; rank 0 marks everything at the end, since marks have one file.
        opinions = self._run.marks_journal(protocol.name) if self._ranks is None else None
        with facts, opinions or nullcontext():
            for phase in self._phases():
                recorder = Recorder(facts, opinions, self._problems, protocol, live)
                await self._ask_through(phase(recorder, live), facts, recorder, interrupts)
                if self._ended(interrupts):
                    break

    def _phases(self) -> Iterator[Callable[[Recorder, Live], Scheduler | BatchAsking]]:
        """The provider's batches where they are wanted or on their way, one request after the other where they are not."""
        if self._config.batch or open_batches(self._run.path):
            yield self._batch_asking
        if not self._config.batch:
            yield self._scheduler

    async def _ask_through(
        self, scheduler: Scheduler | BatchAsking, facts: Journal, recorder: Recorder, interrupts: Interrupts
    ) -> None:
        recorder.on_failure = scheduler.stop
        self._model.watch_room(scheduler.more_room)
        with interrupts.stopping(scheduler):
            beside = [
                asyncio.create_task(facts.keep_synced(scheduler.stop)),
                asyncio.create_task(self._show(self._state.live)),
                asyncio.create_task(_load_counting()),
            ]
            try:
                await scheduler.run()
            finally:
                await recorder.finish(hurry=interrupts.happened)
                for task in beside:
                    task.cancel()
                self.server_model = self.server_model or recorder.server_model

    def _batch_asking(self, recorder: Recorder, live: Live) -> BatchAsking:
        """Everything that is missing, or only what is on its way where no more is to be handed over."""
        asked = self._requests(1)
        if not self._config.batch:
            on_its_way = {cell for note in open_batches(self._run.path).values() for cell in note.cells}
            asked = (request for request in asked if (request.key, request.samples[0]) in on_its_way)
        return BatchAsking(
            self._model, asked, recorder.take, recorder.flush, self._run.path, self._state.answered, live
        )

    def _requests(self, step: int | None = None) -> Iterator[Request]:
        step = step or self._config.samples_per_request or self._model.samples_per_request
        wanted = self._rounds.missing() if self._rounds is not None else None
        return requests(self._run.manifest, self._questions, self._sampling, self._state.answered, step, wanted)

    def _scheduler(self, recorder: Recorder, live: Live) -> Scheduler:
        config = self._config
        sink: Sink = recorder.take
        if self._budget is not None:
            sink = self._budget.watching(recorder.take, self._price, lambda: scheduler.drain())
        scheduler = Scheduler(
            self._model,
            self._requests(),
            sink,
            limit=choose_limit(config, self._model, live.total - live.done),
            pace=Pace(config),
            retry=RetryPolicy(config.max_retries, config.retry_delay),
            timeout=None if self._model.in_process else config.request_timeout,
            live=live,
        )
        return scheduler

    async def _show(self, live: Live) -> None:
        with suppress(OSError):  # whoever closed our standard error did not mean to stop the run
            while self._display is not None:
                await asyncio.sleep(self._display.every)  # first: what starts at once has nothing to show
                self._display.show(live)


async def _load_counting() -> None:
    """In a thread, and not while the first requests are being sent: Python runs one of the two at a time."""
    await asyncio.sleep(0.4)
    await asyncio.to_thread(import_module, COUNTING)


def choose_limit(config: RunConfig, model: Model, missing: int) -> Limit:
    """How many at once: the user's number, else the model's, else find out.

    Refuses more than files can be open, where each request is a connection.
    """
    chosen = config.concurrency or model.concurrency
    if chosen is None and model.room is not None:
        return RoomLimit(lambda: model.room)
    if isinstance(chosen, int):
        value = max(1, min(chosen, missing))
        if model.connects:
            make_room(value)
        return FixedLimit(value)
    highest = MOST_AUTOMATIC * model.replicas
    if model.connects:
        highest = min(highest, most_connections())
        make_room(highest)
    return AutoLimit(32 * model.replicas, highest, first=None if model.reached else FIRST)


T = TypeVar("T")


class Stop:
    """Ends work that goes on in another thread, also if it is called before that has begun."""

    def __init__(self) -> None:
        self._called = False
        self._cancel: Callable[[], object] | None = None

    def begin(self) -> None:
        """Called in the event loop by the task that is to be stopped."""
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        if self._called:
            task.cancel()

    def __call__(self) -> None:
        self._called = True
        if self._cancel is not None:
            with suppress(RuntimeError):  # its loop has just ended
                self._cancel()


STOP: ContextVar[Stop | None] = ContextVar("stop", default=None)
"""How whoever waits for a run in another thread ends it."""


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run in an event loop of our own; where one is running already (a notebook), in a thread with its own.

    An interrupt ends the work before it is passed on: nobody must go on writing when the lock is let go.
    """
    stop = STOP.get() or Stop()

    async def working() -> T:
        stop.begin()
        return await work

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(working())
    outcome: Future[T] = Future()

    def target() -> None:
        try:
            outcome.set_result(asyncio.run(working()))
        except BaseException as error:  # noqa: BLE001 - carried over to the caller's thread, whatever it is
            outcome.set_exception(error)

    threading.Thread(target=target, name="markscheme-run").start()
    try:
        return outcome.result()  # not Thread.join, which forgets a thread when it is interrupted
    finally:
        if not outcome.done():
            stop()
            wait([outcome])
