"""A continuous queue over (problem, sample), without batches that wait for their slowest member.

Each attempt is a task. Whenever one ends, the next request starts at once, as far as the limit and the pace allow; a request
that waits for a retry does not count. Requests come from an iterator, so memory is needed only for what is in flight.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from markscheme.errors import ModelError, option
from markscheme.models.base import Completion, Model, Request, RequestFailed
from markscheme.running.limits import Limit
from markscheme.running.live import Live
from markscheme.running.pace import Pace
from markscheme.running.retry import RetryPolicy
from markscheme.types import Response, Turn

HOPELESS = 3  # requests given up in a row for a shared reason, after which the run stops

# Requests refused one by one before any answer, after which the run stops.
ALL_REFUSED = 50

# Seconds without a connection after which a server that never answered is considered absent.
PATIENCE = 60.0

# Seconds after the start of a run without a single connection, after which no server is expected.
UNREACHED = 7.5

# Requests started in one turn of the event loop. With 2,000 on a busy machine, the first connections were noticed only
# after their time limit.
A_TURN = 100

Sink = Callable[[list[Response]], None]  # must be fast


class Conversation(Protocol):
    """What follows a turn of the model."""

    async def ready(self, request: Request) -> Request:
        """Return the request with tool results or the user's next message, if the model spoke last."""

    def heard(self, turn: Turn) -> Turn:
        """Return the turn with the tool calls in it."""

    def further(self, request: Request, turn: Turn) -> Request | None:
        """Return the request that follows a turn, or None after the last turn."""


@dataclass(slots=True, eq=False)
class _Job:
    """A request and its attempts so far."""

    request: Request
    attempt: int = 0
    begun: float = 0.0  # when the first attempt was sent
    sent: float = 0.0  # when the last attempt was sent
    failed: float = 0.0  # when the attempt before it failed
    away: float | None = None  # start of the time without a connection
    in_a_row: int = 0  # failures since the server last answered any request
    asked_to_wait: bool = False  # the server asked to wait
    epoch: int = 0
    expected: float = 0.0  # tokens


class Scheduler:
    """Asks every request of an iterator; `run` returns when all are answered, given up or dropped by a stop."""

    def __init__(
        self,
        model: Model,
        requests: Iterator[Request],
        sink: Sink,
        *,
        limit: Limit,
        pace: Pace,
        retry: RetryPolicy,
        timeout: float | None,
        live: Live,
        affordable: Callable[[], float] = lambda: float("inf"),
        conversation: Conversation | None = None,
    ) -> None:
        self._model, self._requests, self._sink = model, requests, sink
        self._conversation = conversation
        self._limit, self._pace, self._retry, self._timeout, self._live = limit, pace, retry, timeout, live
        self._affordable = affordable  # requests in flight that the budget allows
        self._due: deque[_Job] = deque()
        self._waiting: dict[asyncio.TimerHandle, _Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake: asyncio.TimerHandle | None = None
        self._unreached: asyncio.TimerHandle | None = None
        self._exhausted = False
        self._draining = False
        self._last_answer = float("-inf")
        self._given_up = 0  # in a row, for a shared reason
        self._refused = 0  # each for its own reason
        self._down = False  # a request failed more than once since the last answer
        self._failure: BaseException | None = None
        self._over = asyncio.Event()

    async def run(self) -> None:
        """Ask everything; raise what stopped it (`ModelError`, `JournalError` or a bug)."""
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._fill()
        try:
            await self._over.wait()
        finally:
            self._exhausted = self._draining = True
            if self._unreached is not None:
                self._unreached.cancel()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._failure is not None:
            raise self._failure

    def drain(self) -> None:
        """Start nothing more; `run` returns when the requests in flight have come back."""
        self._exhausted = self._draining = True
        for timer in self._waiting:
            timer.cancel()
        self._waiting.clear()
        self._due.clear()
        self._live.retrying = 0
        self._end_if_idle()

    def stop(self, failure: BaseException | None = None) -> None:
        """Drop everything in flight; `run` raises `failure` if there is one."""
        self._failure = self._failure or failure
        self.drain()
        self._over.set()

    def more_room(self) -> None:
        """Use a higher limit now, not after the next answer."""
        self._fill()

    def _fill(self) -> None:
        """Start as many requests as are allowed now."""
        most = len(self._tasks) + A_TURN
        while len(self._tasks) < min(self._limit.value, self._affordable()):
            delay = 0.0 if self._pace.unlimited else self._pace.wait(self._loop.time())
            if delay > 0 or len(self._tasks) >= most:
                if self._wake is None:
                    self._wake = self._loop.call_later(delay, self._woken)
                break
            job = self._next()
            if job is None:
                break
            job.expected = self._pace.start(job.request, self._loop.time())
            task = self._loop.create_task(self._attempt(job))
            self._tasks.add(task)
            task.add_done_callback(self._ended)
        self._live.in_flight = len(self._tasks)
        self._live.limit = self._limit.value
        self._end_if_idle()

    def _woken(self) -> None:
        self._wake = None
        self._fill()

    def _next(self) -> _Job | None:
        if self._due:
            return self._due.popleft()
        if self._exhausted:
            return None
        request = next(self._requests, None)
        if request is None:
            self._exhausted = True
            return None
        return _Job(request)

    def _end_if_idle(self) -> None:
        if self._exhausted and not self._tasks and not self._waiting and not self._due:
            self._over.set()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.stop(error)
        else:
            self._fill()

    async def _attempt(self, job: _Job) -> None:
        if self._conversation is not None:
            job.request = await self._conversation.ready(job.request)
        started = job.sent = self._loop.time()
        job.attempt += 1
        if job.attempt == 1:
            job.begun = job.failed = started
        job.epoch = self._limit.epoch
        try:
            async with asyncio.timeout(self._timeout):
                completions = await self._model.generate(job.request)
        except RequestFailed as failure:
            self._failed(job, failure)
        except TimeoutError:
            limit = "in time" if self._timeout is None else f"within {self._timeout:g} s"
            self._failed(job, RequestFailed("timeout", f"no answer {limit}", retryable=True))
        else:
            now = self._loop.time()
            self._pace.finish(job.expected, completions, now)
            self._answered(job, completions, now - started)

    def _answered(self, job: _Job, completions: Sequence[Completion], latency: float) -> None:
        request = job.request
        completions = completions[: len(request.samples)]
        self._last_answer = self._loop.time()
        self._given_up = 0
        if self._down:
            self._hurry()
        tokens = [one.completion_tokens for one in completions if one.completion_tokens is not None]
        self._limit.answered(latency, sum(tokens) if tokens else None, job.epoch)
        if not completions:
            self._failed(job, RequestFailed("empty", "the model returned no completion", retryable=True))
            return
        if self._conversation is not None and not completions[0].turns:
            turn = self._conversation.heard(turn_of(completions[0], latency))
            if (more := self._conversation.further(request, turn)) is not None:
                if not self._draining:  # else `resume` continues
                    self._due.appendleft(_Job(more))
                return
            if request.turns or turn.tool_calls:
                completions = [as_conversation(completions[0], (*request.turns, turn))]
        self._keep(job, completions, latency)
        if len(completions) < len(request.samples) and not self._draining:  # not every server supports `n`
            given = len(completions)
            rest = msgspec.structs.replace(request, samples=request.samples[given:], seeds=request.seeds[given:])
            self._due.append(_Job(rest))

    def _failed(self, job: _Job, failure: RequestFailed) -> None:
        self._limit.failed(failure.kind, self._loop.time() - job.sent, job.epoch)
        if failure.fatal:
            self.stop(ModelError(str(failure)))
            return
        if self._unreached is None and not self._model.reached:
            left = self._began + UNREACHED - self._loop.time()
            self._unreached = self._loop.call_later(max(0.0, left), self._nobody_listens, failure)
        if self._is_not_there(job, failure):
            self._give_up(job, failure)
            return
        answers_others = self._last_answer >= job.failed and not failure.means.busy
        job.failed = self._loop.time()
        job.in_a_row = 1 if answers_others else job.in_a_row + 1
        job.asked_to_wait = failure.means.busy or failure.retry_after is not None
        self._down = self._down or job.in_a_row > 1
        delay = self._retry.delay(failure, job.attempt, job.in_a_row)
        if delay is None:
            self._give_up(job, failure)
        elif not self._draining:  # else `resume` asks it
            self._live.trouble = str(failure)
            self._later(job, delay)

    def _hurry(self) -> None:
        """Retry now what backed off while the server was away; the limit spreads the requests."""
        self._down = False
        for timer, job in list(self._waiting.items()):
            if job.in_a_row > 1 and not job.asked_to_wait:
                timer.cancel()
                del self._waiting[timer]
                self._due.append(job)
        self._live.retrying = len(self._waiting)

    def _nobody_listens(self, failure: RequestFailed) -> None:
        if not self._model.reached:
            message = (
                f"{failure}; no server has ever answered there: start it, or check the address ({option('base_url')})"
            )
            self.stop(ModelError(message))

    def _is_not_there(self, job: _Job, failure: RequestFailed) -> bool:
        """True if a server never answered. Counted from the first failure: one that dies during its first answers was there."""
        now = self._loop.time()
        if failure.kind != "connection":
            job.away = None
            return False
        if job.away is None or now - job.sent > PATIENCE:
            job.away = now
        return self._last_answer < 0 and now - job.away > PATIENCE

    def _later(self, job: _Job, delay: float) -> None:
        def due() -> None:
            del self._waiting[timer]
            self._live.retrying = len(self._waiting)
            self._due.append(job)
            self._fill()

        timer = self._loop.call_later(delay, due)
        self._waiting[timer] = job
        self._live.retrying = len(self._waiting)

    def _keep(self, job: _Job, outcomes: Sequence[Completion | RequestFailed], latency: float | None = None) -> None:
        created = now()
        self._sink(
            [
                make_response(job.request, index, outcome, job.attempt, created, latency, self._model.own_seeds)
                for index, outcome in enumerate(outcomes)
            ]
        )

    def _give_up(self, job: _Job, failure: RequestFailed) -> None:
        self._keep(job, [failure] * len(job.request.samples))
        if failure.means.own:
            self._refused += 1
            if self._refused >= ALL_REFUSED and self._last_answer < 0:
                self.stop(ModelError(f"{failure} (and so it was with each of the first {self._refused} requests)"))
        elif _shared(failure) and self._last_answer < job.begun:
            self._given_up += 1
            if self._given_up >= HOPELESS:
                self.stop(ModelError(f"{failure} ({self._given_up} requests in a row, {job.attempt} tries each)"))


def _shared(failure: RequestFailed) -> bool:
    """True if other requests would fail for the same reason, such as a used-up quota."""
    return failure.means.shared or failure.asks_too_long


def make_response(
    request: Request,
    index: int,
    outcome: Completion | RequestFailed,
    attempts: int,
    created: str,
    latency: float | None = None,
    own_seed: bool = False,
) -> Response:
    """Return what is saved of an answer, or of the failure in its place."""
    if isinstance(outcome, RequestFailed) and outcome.kind == "content_filter":
        # A content filter's refusal is an answer without text, even if it comes as a 400.
        refusal = {"filter": str(outcome)}
        outcome = Completion(
            text="", finish_reason="content_filter", prompt_tokens=0, completion_tokens=0, metadata=refusal
        )
    if isinstance(outcome, RequestFailed):
        fields: dict[str, Any] = {"error": str(outcome), "error_kind": outcome.kind}
    else:
        fields = msgspec.structs.asdict(outcome)
        del fields["tool_calls"], fields["raw"]  # the metadata of a single turn have them
        if outcome.turns:
            latency = _total(outcome.turns, "latency")
    return Response(
        key=request.key,
        sample=request.samples[index],
        problem_id=request.problem_id,
        latency=None if latency is None else round(latency, 4),
        seed=request.seeds[index if own_seed else 0],  # the seed really used shows which samples are independent
        attempts=attempts,
        created=created,
        **fields,
    )


_ADDED = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")


def as_conversation(last: Completion, turns: tuple[Turn, ...]) -> Completion:
    """Return the last answer with all turns and their tokens."""
    cut_off = {"finish_reason": "length"} if turns[-1].tool_calls else {}  # the calls are not answered
    totals = {name: _total(turns, name) for name in _ADDED}
    return msgspec.structs.replace(last, turns=turns, first_token=turns[0].first_token, **totals, **cut_off)


def _total(turns: Sequence[Turn], name: str) -> Any:
    said = (turn for turn in turns if turn.role == "assistant")
    numbers = [number for turn in said if (number := getattr(turn, name)) is not None]
    return sum(numbers) if numbers else None


def turn_of(said: Completion, latency: float | None) -> Turn:
    """Return a completion as a turn."""
    same = ("text", "reasoning", "tool_calls", "finish_reason", *_ADDED, "raw", "first_token")
    fields = {name: getattr(said, name) for name in same}
    return Turn(role="assistant", latency=None if latency is None else round(latency, 4), **fields)


def now() -> str:
    """Return the time as responses have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
