"""Several copies of one model behind one name: each request goes to the copy with the fewest in flight.

A copy is anything with `answer`. One that fails is left out for a while (`replicas.py`), one that is known to be down
until it says that it is up again; with none left the run stops, and its message says why the last one went.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from markscheme.models.base import Completion, Request, RequestFailed
from markscheme.models.replicas import Replicas


class Member(Protocol):
    """One copy of the model."""

    @property
    def gone(self) -> str | None:
        """Why it will never answer again; `None` while there is hope."""

    async def answer(self, request: Request) -> Sequence[Completion]:
        """As `Model.answer`; while it is being started again it may wait."""


class Group:
    """Asks the least busy of its members."""

    def __init__(self, members: Sequence[Member], clock: Callable[[], float] = time.monotonic) -> None:
        self._members = tuple(members)
        self._replicas = Replicas([str(place) for place in range(len(members))], clock)

    async def answer(self, request: Request) -> Sequence[Completion]:
        """The answer of one member; raises `RequestFailed`, which is fatal when no member is left."""
        replica = self._replicas.choose()
        member = self._members[int(replica.url)]
        replica.in_flight += 1
        try:
            completions = await member.answer(request)
        except asyncio.CancelledError:
            self._replicas.failed(replica, RequestFailed("timeout", "", retryable=True))
            raise
        except RequestFailed as failure:
            if failure.kind != "bad_request":  # which is the request's own fault
                self._replicas.failed(replica, failure)
            if all(one.gone is not None for one in self._members):
                raise RequestFailed("connection", member.gone or str(failure), retryable=False, fatal=True) from None
            raise
        finally:
            replica.in_flight -= 1
        self._replicas.answered(replica)
        return completions

    def changed(self, member: Member, *, up: bool) -> None:
        """A member is known to be up, or down until further notice."""
        replica = self._replicas.all[self._members.index(member)]
        if up:
            self._replicas.answered(replica)
        else:
            self._replicas.leave_out(replica)
