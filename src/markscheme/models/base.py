"""What a backend is: a `Model` with one async method that answers a request. It never sees a gold answer.

A backend module has `create(target, config) -> Model`; `target` is what stands behind the slash in `backend/target`.
Trouble with one request is a `RequestFailed`, which says whether another try can help; the scheduler does the trying.
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
    # What was said after the prompt, in a conversation that goes on; then there is one sample.
    turns: tuple[Turn, ...] = ()
    tools: tuple[ToolSpec, ...] = ()  # what the model may call
    ticket: str = ""  # by which a server knows it, where an earlier process has asked and left before the answer

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
    first_token: float | None = None  # seconds until it came, where the answer was streamed
    tool_calls: tuple[ToolCall, ...] = ()
    raw: tuple[dict[str, Any], ...] = ()  # see `Turn.raw`
    turns: tuple[Turn, ...] = ()  # of a whole conversation that came at once (a replay)


class Model(ABC):
    """Answers requests. A backend derives from this; `generate` is all it must write, the rest has a default.

    Make one with `markscheme.models.load_model`.
    """

    name: str  # what the display and the report call it

    def check(self, statements: Sequence[str]) -> None:  # noqa: B027 - most models take any question
        """Raise a `UsageError` for questions that this model can never answer; called before a run folder is made."""

    # Requests in flight that are sensible when the user does not say; `None` lets the scheduler find out.
    concurrency: int | None = None

    # Samples of one prompt that cost less in one request than one by one; holds unless the user chooses.
    samples_per_request: int = 1

    # Each sample of a request is drawn with its own seed; else they share the first, and may not be independent.
    own_seeds: bool = False

    own_sampling: bool = False  # it does not use `Request.sampling`: the manifest then claims no temperature

    # It generates in this process: requests queue for one machine, and no timeout could end what it computes.
    in_process: bool = False

    converses: bool = False  # it sends `Request.turns` and `Request.tools`

    # Answers come token by token, and it ends a try itself that stays silent for `--request-timeout`.
    streams: bool = False

    connects: bool = True  # each request is a connection of this process, and so an open file

    replicas: int = 1  # copies of the model that answer side by side

    # Is told under which name a server works on a request: by it a later process can fetch the answer.
    keep_ticket: Callable[[Request, str], None] | None = None

    first_log: int = 0  # number of its first server's log; set before `start`, where others log into the same folder

    @property
    def room(self) -> int | None:
        """Requests that can be in flight at this moment, where replicas come and go; `None` where that is not known."""
        return None

    @property
    def reached(self) -> bool:
        """Whether somebody listens at the other end; false only while that is not known."""
        return True

    def watch_room(self, grown: Callable[[], None]) -> None:  # noqa: B027 - of no use to most
        """`grown` is to be called whenever `room` has grown."""

    async def start(self, folder: Path, say: Callable[[str], None]) -> str | None:  # noqa: ARG002 - for those who need it
        """Called once, before the first request: start servers, with their logs in the folder and progress to `say`.

        Returns what is still worth saying when the run begins; raises `ModelError`.
        """
        return None

    def route(self) -> str:
        """Where requests go and with whose key, for the user to see before the first; empty where there is no way to go."""
        return ""

    @abstractmethod
    async def generate(self, request: Request) -> Sequence[Completion]:
        """Completions for `request.samples`, in that order; raises `RequestFailed`.

        Fewer than asked for is allowed (not every server knows `n`): the rest is asked again.
        """

    async def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of connections and processes."""

    def as_sent(self, sampling: Sampling) -> Sampling:
        """What it makes of the sampling that is asked for (an extra field in place of an option), for the manifest."""
        return Sampling() if self.own_sampling else sampling

    def batches(self) -> Batches | None:
        """Its provider's batch API, for `--batch`; none where there is none."""
        return None

    async def settle(self, sampling: Sampling) -> Sampling:
        """The same once it has started, for those who learn only then what is sent (the model is elsewhere)."""
        return sampling


BatchLine = tuple[str, dict[str, Any]]  # a request's own id and its body
BatchResult = tuple[str, Any]  # a request's own id and the decoded answer, or the `RequestFailed` that came instead


class BatchState(NamedTuple):
    """How far a batch is."""

    ended: bool
    done: int
    refused: str = ""  # why nothing of it was answered, in the provider's words


class Batches(ABC):
    """A provider's batch API: many requests handed over in one piece and answered within a day, for half the price.

    Every method may raise `RequestFailed`.
    """

    most_requests: int
    most_bytes: int

    @abstractmethod
    def body(self, request: Request) -> dict[str, Any]:
        """What a request asks, as it would be asked by itself."""

    @abstractmethod
    def read(self, answer: Any, request: Request) -> Completion:
        """The completion in a decoded answer."""

    @abstractmethod
    async def submit(self, lines: Sequence[BatchLine], name: str) -> str:
        """Hand over; returns the provider's id. `name` is ours, by which `find` knows it again where that is possible."""

    @abstractmethod
    async def find(self, name: str, size: int, known: Collection[str]) -> str | None:
        """The id of a batch that was handed over without our hearing so; `known` are others of ours."""

    @abstractmethod
    async def state(self, batch: str) -> BatchState:
        """How far it is."""

    @abstractmethod
    def results(self, batch: str) -> AsyncIterator[BatchResult]:
        """What came of each request, in any order."""


class FailureKind(NamedTuple):
    """What a kind of failure says, by which retries, limits, replicas and the scheduler react to it."""

    # Failures in a row after which one of several servers is left out: one refused connection is enough, one 500
    # is not.
    #
    # Without this a server that refuses everything would get most requests: it always has the fewest in flight.
    out_after: int = 0
    elsewhere: bool = False  # it came at once and may be this server's alone: another is asked in the same breath
    busy: bool = False  # the server asks for less: backing off goes on although it answers others
    away: bool = False  # the server may be down for long
    shared: bool = False  # it strikes one request by chance but, without a single answer in between, all of them
    own: bool = False  # it is a problem's own, unless every problem has it: a prompt too long for the model, say


# By the name that the report has. Others say nothing to anybody: "not stored" (replay has no such output), "lost"
# (the replica that had it ended), "gone" (every replica has, for good), "bug" (in a replica), and what plug-ins call
# theirs.
KINDS = {
    "rate_limit": FailureKind(1, elsewhere=True, busy=True),  # 429
    "overloaded": FailureKind(3, elsewhere=True, busy=True),  # 503, 529: come back later
    "server_error": FailureKind(3),  # other 5xx, and 409 and 425
    "timeout": FailureKind(2, away=True, shared=True),  # ours, or 408 and 504
    "connection": FailureKind(1, elsewhere=True, away=True, shared=True),  # refused, reset, no such host
    "malformed": FailureKind(3),  # not JSON, cut off, or not the JSON that was promised
    "empty": FailureKind(3),  # well-formed, but without a single choice
    "auth": FailureKind(1, elsewhere=True),  # 401, 403: no request can succeed
    "quota": FailureKind(1, elsewhere=True),  # no money left: no request can succeed
    "not_found": FailureKind(1, elsewhere=True),  # 404: wrong address or model name
    "bad_request": FailureKind(3, elsewhere=True, shared=True),  # 400, 422 and their like
    "context_length": FailureKind(own=True),  # the prompt does not fit this model
    "content_filter": FailureKind(own=True),  # the provider refuses this prompt
}


# Seconds that a `Retry-After` may ask for; a longer one (a daily quota) is a failure that `resume` takes up later.
LONGEST_ASKED = 600.0


class RequestFailed(Exception):  # noqa: N818 - an event in the life of a request, not a bug
    """A request got no usable answer. `kind` is a short name for the report, the message is for people."""

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
