"""One process's part in a run: it asks, saves and marks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol

import msgspec

from markscheme.config import RunConfig
from markscheme.models.base import Model, Request
from markscheme.models.fleet.ranks import current
from markscheme.running.batch_asking import BatchAsking, open_batches
from markscheme.running.budget import Budget
from markscheme.running.conversation import Talk, talks
from markscheme.running.event_loop import STOP
from markscheme.running.interrupts import Interrupts
from markscheme.running.limits import choose_limit
from markscheme.running.live import Live
from markscheme.running.marker_process import start_marking
from markscheme.running.pace import Pace
from markscheme.running.recorder import Recorder
from markscheme.running.requests import requests
from markscheme.running.retry import RetryPolicy
from markscheme.running.rounds import Looks, Rounds
from markscheme.running.scheduler import Scheduler
from markscheme.runs.folder import Run
from markscheme.runs.journal import Journal
from markscheme.runs.turns import begun
from markscheme.runs.usage import Price
from markscheme.tools import Tool
from markscheme.types import Question, Sampling

COUNTING = "numpy"  # needed to close the run; it loads (0.2 s) while the first requests are in flight


class Display(Protocol):
    """Shows the progress of a run; called a few times per second."""

    every: float  # seconds between two calls

    def show(self, live: Live) -> None:
        """Show the figures."""

    def say(self, line: str) -> None:
        """Print a message."""


@dataclass
class Work:
    """What one process asks, and its state."""

    run: Run
    config: RunConfig
    questions: Sequence[Question]
    live: Live
    price: Price | None
    display: Display | None
    budget: Budget
    tools: dict[str, Tool] = field(default_factory=dict)
    rounds: Rounds | Looks | None = None


class Asking:
    """Asks for missing responses and saves what arrives."""

    def __init__(self, work: Work, model: Model, sampling: Sampling) -> None:
        self._work, self._model, self._sampling = work, model, sampling
        self._run, self._live, self._rounds = work.run, work.live, work.rounds
        ranks = current()
        self._questions = ranks.share(work.questions)
        self._writer = "responses.jsonl"
        if ranks.several:
            self._writer = f"responses.{ranks.rank}.jsonl"
            samples, done = range(work.run.manifest.samples), work.live.answered
            missing = sum(not done.has(one.problem.key, sample) for one in self._questions for sample in samples)
            self._live.total = self._live.done + missing  # what this rank will see
        self._problems = {question.problem.key: question.problem for question in self._questions}
        self.server_model: str | None = None

    async def run(self, interrupts: Interrupts) -> None:
        """Ask until nothing is missing, a failure is fatal, or the user stops the run."""
        display = self._work.display
        if (stop := STOP.get()) is not None:
            stop.finishes(interrupts.interrupt)
        showing = asyncio.create_task(_show(display, self._live))
        try:
            if display is not None and (route := self._model.route()):
                display.say(f"asking {route}")
            if await self._started(interrupts):
                await self._settle()
                await self._ask(interrupts)
            while self._rounds is not None and not self._ended(interrupts) and await self._rounds.advance():
                self._rounds.keep()
                await self._ask(interrupts)
        finally:
            showing.cancel()
            interrupts.closing()
            await self._model.close()

    def _ended(self, interrupts: Interrupts) -> bool:
        return interrupts.happened or bool(self._work.budget.used_up)

    async def _started(self, interrupts: Interrupts) -> bool:
        """Start the model's servers, if any; return False if a signal came first."""

        def say(text: str) -> None:
            self._live.servers = text

        still: str | None = await interrupts.unless_interrupted(self._model.start(self._run.path, say))
        self._live.servers = still or ""
        self._live.started = time.monotonic()  # loading weights does not count as time of the run
        return not interrupts.happened

    async def _settle(self) -> None:
        """Save the sampling that the started model really uses, if it differs."""
        if (settled := await self._model.settle(self._sampling)) != self._sampling:
            self._sampling = settled
            self._run.save_manifest(msgspec.structs.replace(self._run.manifest, sampling=msgspec.to_builtins(settled)))

    async def _ask(self, interrupts: Interrupts) -> None:
        """Ask for everything that is planned and missing."""
        protocol = self._run.manifest.protocol.partition("@")[0]
        start_marking()
        facts = Journal(self._run.path / self._writer)
        # A rank marks for its display only. Marks have one file, which rank 0 writes at the end.
        opinions = self._run.marks_journal(protocol) if not current().several else None
        turns = Journal(self._run.path / self._writer.replace("responses", "turns"))
        talking = talks(self._questions, self._work.tools) or self._work.config.background
        self._talk = Talk(turns, self._work.config, self._work.tools) if talking else None
        if self._talk is not None:
            self._model.keep_ticket = self._talk.ticket
        if (display := self._work.display) is not None:
            for name, tool in self._work.tools.items():
                display.say(f"tool {name} runs in {tool.where}")
        with facts, opinions or nullcontext(), turns if talking else nullcontext():
            self._journals = [facts, *([turns] if talking else [])]
            for phase in self._phases():
                recorder = Recorder(facts, opinions, self._problems, protocol, self._live)
                await self._ask_through(phase(recorder), recorder, interrupts)
                if self._ended(interrupts):
                    break

    def _phases(self) -> Iterator[Callable[[Recorder], Scheduler | BatchAsking]]:
        """Yield the batch API if it is wanted or has open batches, then single requests unless batches are wanted."""
        if self._work.config.batch or open_batches(self._run.path):
            yield self._batch_asking
        if not self._work.config.batch:
            yield self._scheduler

    async def _ask_through(
        self, scheduler: Scheduler | BatchAsking, recorder: Recorder, interrupts: Interrupts
    ) -> None:
        recorder.on_failure = scheduler.stop
        self._model.watch_room(scheduler.more_room)
        synced = (journal.keep_synced(scheduler.stop) for journal in self._journals)
        beside = [asyncio.create_task(each) for each in (*synced, _load_counting())]
        try:
            with interrupts.stopping(scheduler.stop, scheduler.drain):
                await scheduler.run()
        finally:
            self.server_model = self.server_model or recorder.server_model
            try:
                await recorder.finish(interrupts)
            finally:
                for task in beside:
                    task.cancel()

    def _batch_asking(self, recorder: Recorder) -> BatchAsking:
        """Ask for everything that is missing, or only fetch open batches if none are wanted."""
        asked = self._requests(1)
        if not self._work.config.batch:
            on_its_way = {cell for note in open_batches(self._run.path).values() for cell in note.cells}
            asked = (request for request in asked if (request.key, request.samples[0]) in on_its_way)
        return BatchAsking(self._model, asked, recorder, self._run.path, self._live)

    def _requests(self, step: int | None = None) -> Iterator[Request]:
        usual = 1 if self._talk is not None or self._rounds is not None else self._model.samples_per_request
        step = step or self._work.config.samples_per_request or usual
        wanted = self._rounds.missing() if self._rounds is not None else None
        done = self._live.answered
        left = begun(self._run.path, lambda *cell: not done.has(*cell)) if self._talk is not None else None
        return requests(self._run.manifest, self._questions, self._sampling, done, step, wanted, left)

    def _scheduler(self, recorder: Recorder) -> Scheduler:
        work, config, model = self._work, self._work.config, self._model
        lasting = model.streams or config.background  # these end a silent attempt themselves
        scheduler = Scheduler(
            model,
            self._requests(),
            work.budget.watching(recorder.take, work.price, lambda: scheduler.drain()),
            limit=choose_limit(config, model, self._live.total - self._live.done),
            pace=Pace(config),
            retry=RetryPolicy(config.max_retries, config.retry_delay),
            timeout=None if model.in_process else config.total_timeout if lasting else config.request_timeout,
            live=self._live,
            affordable=work.budget.affordable,
            conversation=self._talk,
        )
        return scheduler


async def _show(display: Display | None, live: Live) -> None:
    with suppress(OSError):  # a closed standard error does not stop the run
        while display is not None:
            await asyncio.sleep(display.every)  # first: there is nothing to show at once
            display.show(live)


async def _load_counting() -> None:
    """Import it in a thread after the first requests are sent: Python runs one thread at a time."""
    await asyncio.sleep(0.4)
    await asyncio.to_thread(import_module, COUNTING)
