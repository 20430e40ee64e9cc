"""A model whose replicas are spread over a Ray cluster; the ordinary scheduler feeds them from one queue.

If a replica is lost, with its worker or its whole node, its requests in flight fail. The scheduler repeats them
elsewhere, and a new replica is placed. Answers of a lost replica are never accepted, so no sample arrives twice.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from markscheme.config import RunConfig
from markscheme.errors import ModelError
from markscheme.models.base import Completion, Model, Request, RequestFailed
from markscheme.models.fleet.group import Group
from markscheme.models.fleet.ray_cluster import Head, connect
from markscheme.models.fleet.ray_placement import Placement, check
from markscheme.models.fleet.ray_replica import LOOK, NoRoomError, RayReplica
from markscheme.types import Sampling

# Replicas that may crash with the same request in flight before the request, or the model, counts as the cause.
BREAKS = 3


def create(spec: str, config: RunConfig) -> RayModel:
    """Create the model; `start` places it on the cluster."""
    return RayModel(spec, check(spec, config), config)


class RayModel(Model):
    """Replicas on a cluster under one name."""

    connects = False  # a replica is one connection, however many requests are in flight

    def __init__(self, name: str, spec: str, config: RunConfig) -> None:
        self.name = name
        self.replicas = config.replicas
        self._room_grown: Callable[[], None] = lambda: None
        self._spec, self._config = spec, config
        self._ray: Any = None
        self._ours = False
        self._needs = ""
        self._say: Callable[[str], None] = lambda _: None
        self._copies = [RayReplica(place, config, self._changed, self._hope) for place in range(config.replicas)]
        self._group = Group(self._copies)
        for copy in self._copies:
            self._group.changed(copy, up=False)  # until it is ready
        self._breaks: Counter[tuple[str, int]] = Counter()
        self._watching: asyncio.Task[None] | None = None

    @property
    def room(self) -> int | None:
        """Requests that the ready replicas can take; `None` if their servers decide."""
        each = [copy.traits.concurrency for copy in self._copies if copy.traits.stands]
        if not each or each[0] is None:
            return None
        return max(1, sum(copy.traits.concurrency or 1 for copy in self._copies if copy.up))

    def watch_room(self, grown: Callable[[], None]) -> None:
        self._room_grown = grown

    async def start(self, folder: Path, say: Callable[[str], None]) -> str:
        """Place every replica; return when the first is ready. The others join later."""
        self._ray, self._ours = connect(self._config.ray_address)
        placement = Placement(self._ray, self._spec, self._config)
        self._say, self._needs = say, placement.needs
        say(self._standing())
        self._watching = asyncio.create_task(self._watch(Head(self._ray)))
        starts = {copy.start(placement, str(folder.resolve())): copy for copy in self._copies}
        coming = set(starts)
        while coming and not any(map(_stood, starts)):
            await asyncio.wait({*coming, self._watching}, return_when=asyncio.FIRST_COMPLETED)
            if self._watching.done():
                self._watching.result()
            coming = {task for task in coming if not task.done()}
        if not any(map(_stood, starts)):
            errors = [error for task in starts if (error := task.exception()) is not None]
            raise min(errors, key=lambda error: isinstance(error, NoRoomError))  # any other reason says more
        for task, copy in starts.items():
            task.add_done_callback(partial(_came, copy))
        traits = next(copy.traits for task, copy in starts.items() if _stood(task))
        self.in_process, self.own_seeds = traits.in_process, traits.own_seeds
        self.samples_per_request = traits.samples_per_request
        return self._standing()

    async def generate(self, request: Request) -> Sequence[Completion]:
        which = request.key, request.samples[0]
        try:
            completions = await self._group.generate(request)
        except RequestFailed as failure:
            if failure.kind != "bug":
                raise
            self._breaks[which] += 1
            if self._breaks[which] < BREAKS:
                raise
            message = f"{failure} (the same request was in flight when {BREAKS} replicas crashed, so the replicas are not the cause)"
            raise RequestFailed("bug", message, retryable=False, fatal=True) from None
        self._breaks.pop(which, None)
        return completions

    async def _watch(self, head: Head) -> None:
        """Watch the head: without it a cluster is lost although replicas may still answer, so end the run while it can
        be closed.
        """
        try:
            while True:
                await asyncio.sleep(LOOK)
                await asyncio.to_thread(head.there)
        except ModelError as error:
            for copy in self._copies:
                copy.abandon(str(error))
            raise

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        await asyncio.gather(*(copy.close() for copy in self._copies))
        if self._ours:
            self._ray.shutdown()

    async def settle(self, sampling: Sampling) -> Sampling:
        """Ask a replica for the sampling that its model really uses."""
        for copy in self._copies:
            with suppress(self._ray.exceptions.RayError):  # just lost: another replica knows as well
                if copy.up:
                    return await copy.settle(sampling)
        return sampling

    def _changed(self, copy: RayReplica) -> None:
        self._group.changed(copy, up=copy.up)
        self._say(self._standing())
        if copy.up:
            self._room_grown()

    def _hope(self) -> bool:
        return any(copy.state != "waiting" for copy in self._copies)

    def _standing(self) -> str:
        """Describe how many replicas are ready and what the others do; empty if all are ready."""
        up = sum(copy.up for copy in self._copies)
        if up == self.replicas:
            return ""
        gone = sum(copy.gone is not None for copy in self._copies)
        waiting = sum(copy.state == "waiting" for copy in self._copies) - gone
        parts = [f"{up} of {self.replicas} replicas ready"]
        if waiting:
            parts.append(f"{waiting} waiting for room ({self._needs} each)")
        if gone:
            parts.append(f"{gone} gone for good")
        parts += [f"replica {place}: {copy.said}" for place, copy in enumerate(self._copies) if copy.said][:1]
        return ", ".join(parts)


def _stood(task: asyncio.Task[None]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


def _came(copy: RayReplica, task: asyncio.Task[None]) -> None:
    """Handle the end of a start while other replicas are ready: a failure means another attempt, not the end of the
    run.
    """
    if not task.cancelled() and (error := task.exception()) is not None:
        copy.try_again(str(error))
