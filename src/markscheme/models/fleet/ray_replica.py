"""The life of one replica on a Ray cluster, as the driver sees it: waiting for room, starting, up, lost, placed again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import ModelError
from markscheme.models.base import Completion, Request
from markscheme.models.fleet.ray_actor import Started
from markscheme.models.fleet.ray_line import Line
from markscheme.models.fleet.ray_placement import Placement, reason_of
from markscheme.types import Sampling

GRACE = 10.0
"""Seconds beyond `--server-timeout` for a server's own word on why it did not start."""
LOOK = 5.0
"""Seconds between two looks at the cluster: whether its head is there, and while there is no room, whether there is hope."""
PAUSE = 1.0
"""Seconds between a start that failed and the next."""

_started = msgspec.msgpack.Decoder(Started)


class NoRoomError(ModelError):
    """The cluster has nothing free for this replica."""


class RayReplica:
    """One replica, through all the actors that it has been."""

    def __init__(
        self, place: int, config: RunConfig, changed: Callable[[RayReplica], None], hope: Callable[[], bool]
    ) -> None:
        """`changed` is told of every change of state; `hope` says whether any replica is up or on its way."""
        self._place, self._config, self._changed, self._hope = place, config, changed, hope
        self._left = config.server_restarts
        self._placement: Placement | None = None
        self._folder = ""
        self._actor: Any = None
        self._line: Line | None = None
        self._node = ""
        self._tasks: set[asyncio.Task[None]] = set()
        self.state: Literal["waiting", "starting", "up"] = "waiting"
        self.said = ""
        """What it says while it starts."""
        self.traits = Started()
        """What the model says of itself, once it is up."""
        self.gone: str | None = None

    @property
    def up(self) -> bool:
        """Whether it can be asked."""
        return self.state == "up"

    def start(self, placement: Placement, folder: str) -> asyncio.Task[None]:
        """Place it; the task ends when it stands, or raises `ModelError`."""
        self._placement, self._folder = placement, folder
        return self._do(self._bring_up())

    def try_again(self, why: str) -> None:
        """After a start that failed, or the loss of it."""
        self._do(self._place_again(why))

    def abandon(self, why: str) -> None:
        """Place it no more; what it has in flight fails, and so does what waits for a replica."""
        self._left, self.gone = 0, why
        if self._line is not None:
            self._line.end("gone", why)
        self._become("waiting", why)

    async def answer(self, request: Request) -> Sequence[Completion]:
        """Ask this replica, which is up."""
        assert self._line is not None
        reply = await self._line.ask(request)
        if reply.kind:
            raise reply.failure()
        return reply.completions

    async def settle(self, sampling: Sampling) -> Sampling:
        """What its model makes of the sampling; raises what Ray raises."""
        told = await self._actor.settle.remote(msgspec.msgpack.encode(sampling))
        return msgspec.msgpack.decode(told, type=Sampling)

    async def close(self) -> None:
        """Take the replica down, with its server."""
        if self._line is not None:
            self._line.close()  # first: a loss noticed from now on would place another replica
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._line is not None:
            assert self._placement is not None
            await self._placement.close(self._actor)
        self._let_go()

    def _do(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _become(self, state: Literal["waiting", "starting", "up"], said: str = "") -> None:
        if (state, said) != (self.state, self.said):
            self.state, self.said = state, said
            self._changed(self)

    async def _bring_up(self) -> None:
        """Through waiting and starting to up; a failure is a `ModelError`, and leaves nothing on the cluster."""
        assert self._placement is not None
        self._become("waiting")
        try:
            self._actor = self._placement.make()
            self._node = await self._placed(self._placement)
            self.traits = await self._stands()
        except asyncio.CancelledError:
            raise  # `close` lets go
        except Exception as error:  # what Ray and its actors may raise is not a closed list
            self._let_go()
            self._become("waiting")
            if isinstance(error, ModelError):
                raise
            raise ModelError(f"replica {self._place} was lost in its start: {reason_of(error)}") from None
        self._line = Line(self._actor, self._lost)
        self._become("up")

    async def _placed(self, placement: Placement) -> str:
        """Its node, once there was room. A cluster may grow, so that others suffice for the run is reason to wait on."""
        limit, clock = self._config.server_timeout, asyncio.get_running_loop().time
        hopeful = clock()
        placed = asyncio.ensure_future(_result(self._actor.node.remote()))
        try:
            while not (await asyncio.wait([placed], timeout=min(limit, LOOK)))[0]:
                if self._hope():
                    hopeful = clock()
                elif clock() - hopeful >= limit:
                    raise NoRoomError(
                        f"no room for replica {self._place} after {limit:g} s (--server-timeout); it needs "
                        f"{placement.needs}, and the cluster has {placement.free()}"
                    )
            return str(placed.result())
        finally:
            placed.cancel()

    async def _stands(self) -> Started:
        self._become("starting")
        try:
            async with asyncio.timeout(self._config.server_timeout + GRACE):
                told = _started.decode(await self._actor.start.remote(self._folder, self._place))
                while not (told.stands or told.failed):
                    self._become("starting", told.said)
                    told = _started.decode(await self._actor.look.remote())
        except TimeoutError:
            raise ModelError(
                f"replica {self._place} on {self._node} was not ready after {self._config.server_timeout:g} s "
                "(--server-timeout)"
            ) from None
        if told.failed:
            raise ModelError(f"replica {self._place} on {self._node}: {told.failed}")
        return told

    def _lost(self, kind: str, why: str) -> None:
        """Fail what was in flight, so that it is asked elsewhere, and place a new replica."""
        message = f"replica {self._place} on {self._node} was lost: {why}"
        line, self._line = self._line, None
        self._become("waiting")
        if line is not None:
            line.end(kind, message)
        self.try_again(message)

    async def _place_again(self, why: str) -> None:
        self._let_go()
        while self._left > 0:
            self._left -= 1
            try:
                await self._bring_up()
            except NoRoomError as error:
                why = f"{why}; {error}"
                break
            except ModelError as error:
                why = str(error)
                await asyncio.sleep(PAUSE)
            else:
                return
        else:
            why = f"{why}; it is not placed again (--server-restarts {self._config.server_restarts})"
        self.gone = why
        self._changed(self)

    def _let_go(self) -> None:
        actor, self._actor = self._actor, None
        # Of a cluster without a head nothing is killed: that would wait for the head.
        if actor is not None and self._placement is not None and self.gone is None:
            self._placement.kill(actor)


async def _result(reference: Any) -> Any:
    return await reference
