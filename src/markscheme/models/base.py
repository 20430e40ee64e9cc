"""What a backend is: a `Model` with one async method that answers a request. It never sees a gold answer.

A backend module has `create(target, config) -> Model`; `target` is what stands behind the slash in `backend/target`.
Trouble with one request is a `RequestFailed`, which says whether another try can help; the scheduler does the trying.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from markscheme.types import FinishReason, Prompt, Sampling

if TYPE_CHECKING:
    from markscheme.models.batch_api import Batches


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


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """One answer to a request, as the model gave it."""

    text: str
    reasoning: str | None = None
    finish_reason: FinishReason | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    model: str | None = None
    metadata: dict[str, Any] = {}


class Model(ABC):
    """Answers requests. A backend derives from this; `answer` is all it must write, the rest has a default.

    Make one with `markscheme.models.load_model`.
    """

    name: str
    """What the display and the report call it."""

    concurrency: int | None = None
    """Requests in flight that are sensible when the user does not say; `None` lets the scheduler find out."""

    samples_per_request: int = 1
    """Samples of one prompt that cost less in one request than one by one; holds unless the user chooses."""

    own_sampling: bool = False
    """It does not use `Request.sampling`: the manifest then claims no temperature."""

    in_process: bool = False
    """It generates in this process: requests queue for one machine, and no timeout could end what it computes."""

    connects: bool = True
    """Each request is a connection of this process, and so an open file."""

    replicas: int = 1
    """Copies of the model that answer side by side."""

    first_log: int = 0
    """Number of its first server's log; set before `start`, where others log into the same folder."""

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
    async def answer(self, request: Request) -> Sequence[Completion]:
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


Kind = Literal[
    "rate_limit",  # 429
    "overloaded",  # 503, 529: busy, come back later
    "server_error",  # other 5xx, and 409 and 425
    "timeout",  # ours, or 408 and 504
    "connection",  # refused, reset, no such host
    "malformed",  # not JSON, cut off, or not the JSON that was promised
    "empty",  # well-formed, but without a single choice
    "auth",  # 401, 403: no request can succeed
    "quota",  # no money left: no request can succeed
    "not_found",  # 404: wrong address or model name
    "bad_request",  # 400, 422 and their like
    "context_length",  # the prompt does not fit this model
    "content_filter",  # the provider refuses this prompt
    "not stored",  # replay has no such output
    "bug",  # something in the replica that had it raised what it never should
    "lost",  # the replica that had it ended: another one is asked
    "gone",  # every replica has ended for good: no request can succeed
]
"""What went wrong with a request, by what can be done about it. Plug-ins may use names of their own."""


class RequestFailed(Exception):  # noqa: N818 - an event in the life of a request, not a bug
    """A request got no usable answer. `kind` is a short name for the report, the message is for people."""

    def __init__(
        self,
        kind: Kind | str,
        message: str,
        *,
        retryable: bool,
        fatal: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retryable = retryable
        self.fatal = fatal
        """No other request can succeed either (a wrong key, say): stop the run."""
        self.retry_after = retry_after
        """Seconds that the server asks us to wait."""
