"""What a backend is: a `Model` with one async method that answers a request. It never sees a gold answer.

A backend module has `create(target, config) -> Model`; `target` is the part after the slash in `backend/target`. A
request that fails raises `RequestFailed`, which says whether a retry can help. The scheduler does the retrying.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from markscheme.types import FinishReason, Message, Prompt, Sampling, ToolCall, ToolSpec, Turn


class Request(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One prompt, to be answered once for each sample index."""

    benchmark: str
    problem_id: str
    key: str
    statement: str
    prompt: Prompt
    samples: tuple[int, ...]
    seeds: tuple[int, ...]
    sampling: Sampling
    # The turns after the prompt in a conversation that goes on. Such a request has one sample.
    turns: tuple[Turn, ...] = ()
    tools: tuple[ToolSpec, ...] = ()  # tools that the model may call
    ticket: str = ""  # the server's id for this request, if an earlier process sent it and stopped before the answer

    @property
    def messages(self) -> tuple[Message | Turn, ...]:
        """The whole conversation so far."""
        return (*self.prompt.messages, *self.turns)


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """One answer to a request, as the model gave it."""

    text: str
    reasoning: str | None = None
    finish_reason: FinishReason | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    model: str | None = None
    metadata: dict[str, Any] = {}
    first_token: float | None = None  # seconds until the first token, if the answer was streamed
    tool_calls: tuple[ToolCall, ...] = ()
    raw: tuple[dict[str, Any], ...] = ()  # see `Turn.raw`
    turns: tuple[Turn, ...] = ()  # all turns of a conversation that arrived at once (a replay)


class Model(ABC):
    """Answers requests. Subclasses must write only `generate`; everything else has a default.

    Make one with `markscheme.models.load_model`.
    """

    name: str  # name in the display and the report

    def check(self, statements: Sequence[str]) -> None:  # noqa: B027 - most models take any question
        """Raise a `UsageError` for questions that this model can never answer; called before a run folder is made."""

    # Sensible number of requests in flight if the user sets none; `None` lets the scheduler find it.
    concurrency: int | None = None

    # Samples of one prompt that are cheaper in one request than one by one; the user may set another number.
    samples_per_request: int = 1

    # Each sample of a request has its own seed. Otherwise they share the first and may not be independent.
    own_seeds: bool = False

    own_sampling: bool = False  # ignores `Request.sampling`, so the manifest records no temperature

    # Generates in this process: requests queue for one machine, and a timeout could not stop the computation.
    in_process: bool = False

    converses: bool = False  # sends `Request.turns` and `Request.tools`

    # Answers arrive token by token, and the model itself ends an attempt that is silent for `--request-timeout`.
    streams: bool = False

    connects: bool = True  # each request needs a connection of this process, and so an open file

    replicas: int = 1  # copies of the model that answer in parallel

    # Called with the server's id for a request, so that a later process can fetch the answer.
    keep_ticket: Callable[[Request, str], None] | None = None

    first_log: int = 0  # number of its first server log; set before `start` if other models log into the same folder

    @property
    def room(self) -> int | None:
        """Return the number of requests that can be in flight now, if replicas come and go; `None` if unknown."""
        return None

    @property
    def reached(self) -> bool:
        """False until a connection has succeeded, for models where that is known."""
        return True

    def watch_room(self, grown: Callable[[], None]) -> None:  # noqa: B027 - of no use to most
        """Register `grown`, which is called whenever `room` grows."""

    async def start(self, folder: Path, say: Callable[[str], None]) -> str | None:  # noqa: ARG002 - for those who need it
        """Start servers before the first request, with logs in `folder` and progress reported to `say`.

        Return a sentence to show when the run begins, if any. Raise `ModelError` on failure.
        """
        return None

    def route(self) -> str:
        """Describe where requests go and whose key they use; empty for models that send none."""
        return ""

    @abstractmethod
    async def generate(self, request: Request) -> Sequence[Completion]:
        """Return completions for `request.samples`, in that order, or raise `RequestFailed`.

        Returning fewer is allowed, since not every server supports `n`; the rest is asked again.
        """

    async def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Release connections and processes."""

    def as_sent(self, sampling: Sampling) -> Sampling:
        """Return the sampling that is really sent (an extra field may replace an option), for the manifest."""
        return Sampling() if self.own_sampling else sampling

    def batches(self) -> Batches | None:
        """Return the provider's batch API for `--batch`, if it has one."""
        return None

    async def settle(self, sampling: Sampling) -> Sampling:
        """Return the same as `as_sent` after the start, for models that only know it then."""
        return sampling


BatchLine = tuple[str, dict[str, Any]]  # our id of a request, and its body
BatchResult = tuple[str, Any]  # our id of a request, and the decoded answer or a `RequestFailed`


class BatchState(NamedTuple):
    ended: bool
    done: int
    refused: str = ""  # why none of it was answered, in the provider's words


class Batches(ABC):
    """A provider's batch API: many requests submitted together and answered within a day at half the price.

    Every method may raise `RequestFailed`.
    """

    most_requests: int
    most_bytes: int

    @abstractmethod
    def body(self, request: Request) -> dict[str, Any]:
        """Return the body of a request, as if it were sent alone."""

    @abstractmethod
    def read(self, answer: Any, request: Request) -> Completion:
        """Return the completion in a decoded answer."""

    @abstractmethod
    async def submit(self, lines: Sequence[BatchLine], name: str) -> str:
        """Submit the requests and return the provider's id. `name` is ours; `find` uses it if the API keeps names."""

    @abstractmethod
    async def find(self, name: str, size: int, known: Collection[str]) -> str | None:
        """Return the id of a batch that was submitted although no answer reached us; `known` are our other batches."""

    @abstractmethod
    async def state(self, batch: str) -> BatchState:
        """Return the state of a batch."""

    @abstractmethod
    def results(self, batch: str) -> AsyncIterator[BatchResult]:
        """Yield the result of each request, in any order."""


class FailureKind(NamedTuple):
    """How retries, limits, replicas and the scheduler react to a kind of failure."""

    # Consecutive failures after which one of several servers is left out: one refused connection is enough, one 500 is
    # not. Without this, a server that refuses everything would get most requests, since it always has the fewest in
    # flight.
    out_after: int = 0
    elsewhere: bool = False  # came at once and may concern this server only: try another server immediately
    busy: bool = False  # the server asks for less load: keep backing off even while it answers other requests
    away: bool = False  # the server may be down for a long time
    shared: bool = False  # harmless for one request, but a common cause if nothing at all was answered in between
    # concerns this problem only, unless every problem has it: for example, a prompt that is too long for the
    # model
    own: bool = False


# By the name in the report. Kinds that are not listed have no special meaning: "not stored" (replay has no such
# output), "lost" (the replica that had the request ended), "gone" (every replica ended for good), "bug" (an exception
# in a replica), and those of plug-ins.
KINDS = {
    "rate_limit": FailureKind(1, elsewhere=True, busy=True),  # 429
    "overloaded": FailureKind(3, elsewhere=True, busy=True),  # 503, 529: come back later
    "server_error": FailureKind(3),  # other 5xx, and 409 and 425
    "timeout": FailureKind(2, away=True, shared=True),  # our own, or 408 and 504
    "connection": FailureKind(1, elsewhere=True, away=True, shared=True),  # refused, reset, unknown host
    "malformed": FailureKind(3),  # not JSON, cut off, or not the documented form
    "empty": FailureKind(3),  # well-formed, but without a choice
    "auth": FailureKind(1, elsewhere=True),  # 401, 403: no request can succeed
    "quota": FailureKind(1, elsewhere=True),  # no credit left: no request can succeed
    "not_found": FailureKind(1, elsewhere=True),  # 404: wrong address or model name
    "bad_request": FailureKind(3, elsewhere=True, shared=True),  # 400, 422 and similar
    "context_length": FailureKind(own=True),  # the prompt does not fit this model
    "content_filter": FailureKind(own=True),  # the provider refuses this prompt
}


# Longest `Retry-After`, in seconds, that is waited for. A longer one, such as a daily quota, is left to `resume`.
LONGEST_ASKED = 600.0


class RequestFailed(Exception):  # noqa: N818 - an event in the life of a request, not a bug
    """A request got no usable answer. `kind` is a short name for the report; the message is for people."""

    def __init__(
        self, kind: str, message: str, *, retryable: bool, fatal: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.means = KINDS.get(kind, FailureKind())
        self.retryable = retryable
        self.fatal = fatal
        """No other request can succeed either (a wrong key, say): stop the run."""
        self.retry_after = retry_after
        """Seconds that the server asks us to wait."""
        self.asks_too_long = (retry_after or 0) > LONGEST_ASKED
