"""Several copies of one model as one: each request goes to the copy with the fewest in flight.

A copy that fails is left out for a while (`replicas.py`), and a copy that is down until it reports that it is up. While
all are down, requests wait for the first to come back. When all are gone for good the run stops, with the reason of the
last one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from markscheme.models.base import Completion, Request, RequestFailed
from markscheme.models.replicas import Replica, Replicas


class Member(Protocol):
    """One copy of the model."""

    @property
    def gone(self) -> str | None:
        """Why it will never answer again, or `None`."""

    async def generate(self, request: Request) -> Sequence[Completion]:
        """Answer like `Model.generate`; called only while the copy is up."""


class Group:
    """Asks the least busy member. Members count as up until `changed` says otherwise."""

    def __init__(self, members: Sequence[Member], clock: Callable[[], float] = time.monotonic) -> None:
        self._members = tuple(members)
        self._replicas = Replicas([str(place) for place in range(len(members))], clock)
        self._down: set[Replica] = set()
        self._last = members[0]  # the member that reported last
        self._settled = asyncio.Event()  # set if one is up or none ever will be
        self._settled.set()

    async def generate(self, request: Request) -> Sequence[Completion]:
        """Return the answer of one member; raise `RequestFailed`, which is fatal if no member is left."""
        while not self._settled.is_set():
            await self._settled.wait()
        self._check()
        replica = self._replicas.choose()
        try:
            completions = await self._replicas.asked(replica, self._members[int(replica.url)].generate(request))
        except RequestFailed:
            self._check()
            raise
        if replica not in self._down:  # an answer may arrive after the member was reported down
            self._replicas.answered(replica)
        return completions

    def changed(self, member: Member, *, up: bool) -> None:
        """Note that a member is up, down until further notice, or gone for good."""
        self._last = member
        replica = self._replicas.all[self._members.index(member)]
        if up:
            self._down.discard(replica)
            self._replicas.answered(replica)
        else:
            self._down.add(replica)
            self._replicas.leave_out(replica)
        if len(self._down) < len(self._members) or self._all_gone():
            self._settled.set()
        else:
            self._settled.clear()

    def _check(self) -> None:
        if len(self._down) == len(self._members) and self._all_gone():
            raise RequestFailed("gone", self._last.gone or "no replica is left", retryable=False, fatal=True) from None

    def _all_gone(self) -> bool:
        return all(member.gone is not None for member in self._members)
