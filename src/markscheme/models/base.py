"""What a backend is: one async method that answers a request. It never sees a gold answer.

A backend module has `create(target, config) -> Model`; `target` is what stands behind the slash in `backend/target`.
Trouble with one request is a `RequestFailed`, which says whether another try can help; the scheduler does the trying.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import msgspec

from markscheme.types import FinishReason, Prompt, Sampling


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


class Model(Protocol):
    """Answers requests. Make one with `markscheme.models.load_model`.

    A model that does not use `Request.sampling` says so with a further attribute, `own_sampling = True`: the manifest
    then claims no temperature. One that sends something else (an extra field in place of an option) has a method
    `as_sent(sampling) -> Sampling`, for the manifest. One that answers several samples of a prompt at less cost than
    one by one says how many with `samples_per_request`, which holds unless the user chooses. One that generates in
    this process says `in_process = True`: its requests queue for one machine, and no timeout could end what it
    computes. One whose requests are not each a connection of this process says `connects = False`.

    One with servers to start has `async start(folder, say)`, called once before the first request: logs go into the
    folder, progress to `say`; it returns what is still worth saying when the run begins, if anything. One that learns
    only by its start what is sent (its model is elsewhere) has `async settle(sampling) -> Sampling` for that.
    """

    name: str
    concurrency: int | None
    """How many requests at once are sensible when the user does not say; `None` lets the scheduler find out."""

    async def answer(self, request: Request) -> Sequence[Completion]:
        """Completions for `request.samples`, in that order; raises `RequestFailed`.

        Fewer than asked for is allowed (not every server knows `n`): the rest is asked again.
        """

    async def close(self) -> None:
        """Let go of connections and processes."""


def as_sent(model: Model, asked: Sampling) -> Sampling:
    """What a model really makes of the sampling that is asked for."""
    if getattr(model, "own_sampling", False):
        return Sampling()
    sent: Callable[[Sampling], Sampling] | None = getattr(model, "as_sent", None)
    return sent(asked) if sent else asked


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
