"""What a backend is: one async method that answers a request. It never sees a gold answer.

A backend module has `create(target, config) -> Model`; `target` is what stands behind the slash in `backend/target`.
Trouble with one request is a `RequestFailed`, which says whether another try can help.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from markscheme.types import FinishReason, Prompt, Sampling


class Request(msgspec.Struct, frozen=True, kw_only=True):
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


class Model(Protocol):
    """Answers requests. Make one with `markscheme.models.load_model`."""

    name: str
    concurrency: int
    """How many requests at once are sensible when the user does not say."""

    async def answer(self, request: Request) -> Sequence[Completion]:
        """One completion for each of `request.samples`, in that order; raises `RequestFailed`."""

    async def close(self) -> None:
        """Let go of connections and processes."""


class RequestFailed(Exception):  # noqa: N818 - an event in the life of a request, not a bug
    """A request got no usable answer. `kind` is a short name for the report, the message is for people."""

    def __init__(
        self, kind: str, message: str, *, retryable: bool, fatal: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retryable = retryable
        self.fatal = fatal
        """No other request can succeed either (a wrong key, say): stop the run."""
        self.retry_after = retry_after
