"""What a provider's batch API does: many requests handed over in one piece and answered within a day, for half the price."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection, Sequence
from typing import Any, NamedTuple

from markscheme.models.base import Completion, Request

Line = tuple[str, dict[str, Any]]
"""A request's own id and its body."""

Result = tuple[str, Any]
"""A request's own id and the decoded answer, or the `RequestFailed` that came instead."""


class BatchState(NamedTuple):
    """How far a batch is."""

    ended: bool
    done: int
    refused: str = ""
    """Why nothing of it was answered, in the provider's words."""


class Batches(ABC):
    """The contract that the runner uses. Every method may raise `RequestFailed`."""

    most_requests: int
    most_bytes: int

    @abstractmethod
    def body(self, request: Request) -> dict[str, Any]:
        """What a request asks, as it would be asked by itself."""

    @abstractmethod
    def read(self, answer: Any, request: Request) -> Completion:
        """The completion in a decoded answer."""

    @abstractmethod
    async def submit(self, lines: Sequence[Line], name: str) -> str:
        """Hand over; returns the provider's id. `name` is ours, by which `find` knows it again where that is possible."""

    @abstractmethod
    async def find(self, name: str, size: int, known: Collection[str]) -> str | None:
        """The id of a batch that was handed over without our hearing so; `known` are others of ours."""

    @abstractmethod
    async def state(self, batch: str) -> BatchState:
        """How far it is."""

    @abstractmethod
    def results(self, batch: str) -> AsyncIterator[Result]:
        """What came of each request, in any order."""
