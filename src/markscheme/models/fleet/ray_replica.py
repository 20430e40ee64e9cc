"""One replica on a Ray cluster, as the driver sees it: its states and its requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import ModelError, option
from markscheme.models.base import Completion, Request, RequestFailed
from markscheme.models.fleet.ray_actor import Bundle, Reply, Started
from markscheme.models.fleet.ray_placement import Placement, reason_of
from markscheme.types import Sampling

GRACE = 10.0  # seconds on top of `--server-timeout` for a server to say why it did not start
# Seconds between two checks of the cluster's head and, while there is no room, of other replicas.
LOOK = 5.0
PAUSE = 1.0  # seconds between a failed start and the next

_started = msgspec.msgpack.Decoder(Started)
_replies = msgspec.msgpack.Decoder(list[Reply])


class NoRoomError(ModelError):
    """The cluster has nothing free for this replica."""


class RayReplica:
    """One replica, through all of its successive actors."""

    def __init__(
        self, place: int, config: RunConfig, changed: Callable[[RayReplica], None], hope: Callable[[], bool]
    ) -> None:
        """`changed` is called on every change of state; `hope` returns whether any replica is up or starting."""
        self._place, self._config, self._changed, self._hope = place, config, changed, hope
        self._left = config.server_restarts
        self._placement: Placement | None = None
        self._folder = ""
        self._actor: Any = None
        self._line: Line | None = None
        self._node = ""
        self._tasks: set[asyncio.Task[None]] = set()
        self.state: Literal["waiting", "starting", "up"] = "waiting"
        self.said = ""  # its progress while it starts
        self.traits = Started()  # what the model reports about itself once it is up
        self.gone: str | None = None

    @property
    def up(self) -> bool:
        return self.state == "up"

    def start(self, placement: Placement, folder: str) -> asyncio.Task[None]:
        """Place it; the task ends when it is ready, or raises `ModelError`."""
        self._placement, self._folder = placement, folder
        return self._do(self._bring_up())

    def try_again(self, why: str) -> None:
        """Place it again after a failed start or a loss."""
        self._do(self._place_again(why))

    def abandon(self, why: str) -> None:
        """Stop placing it; its requests in flight fail, and so do those that wait for a replica."""
        self._left, self.gone = 0, why
        if self._line is not None:
            self._line.end("gone", why)
        self._become("waiting", why)

    async def generate(self, request: Request) -> Sequence[Completion]:
        assert self._line is not None
        reply = await self._line.ask(request)
        if reply.kind:
            raise reply.failure()
        return reply.completions

    async def settle(self, sampling: Sampling) -> Sampling:
        """Return the sampling that its model really uses; raise what Ray raises."""
        report = await self._actor.settle.remote(msgspec.msgpack.encode(sampling))
        return msgspec.msgpack.decode(report, type=Sampling)

    async def close(self) -> None:
        if self._line is not None:
            self._line.close()  # first, because a loss noticed now would place another replica
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
        """Wait for placement, then for the start; on failure raise `ModelError` and leave nothing on the cluster."""
        assert self._placement is not None
        self._become("waiting")
        try:
            self._actor = self._placement.make()
            self._node = await self._placed(self._placement)
            self.traits = await self._stands()
        except asyncio.CancelledError:
            raise  # `close` cleans up
        except Exception as error:  # Ray and its actors may raise anything
            self._let_go()
            self._become("waiting")
            if isinstance(error, ModelError):
                raise
            raise ModelError(f"replica {self._place} was lost while starting: {reason_of(error)}") from None
        self._line = Line(self._actor, self._lost)
        self._become("up")

    async def _placed(self, placement: Placement) -> str:
        """Return its node once there is room. While other replicas suffice, keep waiting: a cluster may grow."""
        limit, clock = self._config.server_timeout, asyncio.get_running_loop().time
        hopeful = clock()
        placed = asyncio.ensure_future(_result(self._actor.node.remote()))
        try:
            while not (await asyncio.wait([placed], timeout=min(limit, LOOK)))[0]:
                if self._hope():
                    hopeful = clock()
                elif clock() - hopeful >= limit:
                    raise NoRoomError(
                        f"no room for replica {self._place} after {limit:g} s ({option('server_timeout')}); it needs "
                        f"{placement.needs}, and the cluster has {placement.free()}"
                    )
            return str(placed.result())
        finally:
            placed.cancel()

    async def _stands(self) -> Started:
        self._become("starting")
        try:
            async with asyncio.timeout(self._config.server_timeout + GRACE):
                report = _started.decode(await self._actor.start.remote(self._folder, self._place))
                while not (report.stands or report.failed):
                    self._become("starting", report.said)
                    report = _started.decode(await self._actor.look.remote())
        except TimeoutError:
            raise ModelError(
                f"replica {self._place} on {self._node} was not ready after {self._config.server_timeout:g} s "
                f"({option('server_timeout')})"
            ) from None
        if report.failed:
            raise ModelError(f"replica {self._place} on {self._node}: {report.failed}")
        return report

    def _lost(self, kind: str, why: str) -> None:
        """Fail the requests in flight, so that they are asked elsewhere, and place a new replica."""
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
            why = f"{why}; it is not placed again ({option('server_restarts')} {self._config.server_restarts})"
        self.gone = why
        self._changed(self)

    def _let_go(self) -> None:
        actor, self._actor = self._actor, None
        # Kill nothing on a cluster without a head: the call would wait for the head.
        if actor is not None and self._placement is not None and self.gone is None:
            self._placement.kill(actor)


async def _result(reference: Any) -> Any:
    return await reference


class Line:
    """Requests in flight at one actor: requests and answers travel in bundles (`ray_actor.py`).

    When the actor is lost the line ends, and later answers are ignored: the requests are being asked elsewhere.
    """

    def __init__(self, actor: Any, on_loss: Callable[[str, str], None]) -> None:
        """`on_loss` gets the kind of failure for the requests in flight, and the reason."""
        self._actor, self._on_loss = actor, on_loss
        self._number = 0
        self._pending: dict[int, asyncio.Future[Reply]] = {}
        self._asked: dict[int, Request] = {}  # not sent yet
        self._dropped: list[int] = []
        self._calls: set[asyncio.Task[None]] = set()
        self._sending = False
        self._ended = False

    async def ask(self, request: Request) -> Reply:
        """Return the outcome of a request; raise the failure with which the line ended."""
        self._number += 1
        number = self._number
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._pending[number] = future
        self._asked[number] = request
        self._send_soon()
        try:
            return await future
        except asyncio.CancelledError:
            self._drop(number)
            raise

    def end(self, kind: str, message: str) -> None:
        """Fail what is in flight; a retry at another replica can help."""
        self._ended = True
        pending, self._pending, self._asked = self._pending, {}, {}
        for future in pending.values():
            if not future.done():
                future.set_exception(RequestFailed(kind, message, retryable=True))

    def close(self) -> None:
        """Drop the line; a model is closed only when nothing is in flight."""
        self._ended = True
        for call in self._calls:
            call.cancel()

    def _drop(self, number: int) -> None:
        """Cancel a request: do not send it, or stop computing it."""
        if self._pending.pop(number, None) is not None and self._asked.pop(number, None) is None:
            self._dropped.append(number)
            self._send_soon()

    def _send_soon(self) -> None:
        """Send everything that came up in this iteration of the event loop, at its end."""
        if not self._sending:
            self._sending = True
            asyncio.get_running_loop().call_soon(self._send)

    def _send(self) -> None:
        self._sending = False
        # Requests cancelled in this iteration are about to be dropped.
        asked = [(number, one) for number, one in self._asked.items() if not self._pending[number].cancelled()]
        # Answers need a pending call to come back with.
        silent = not self._calls and len(self._pending) > len(self._asked)
        if self._ended or not (asked or self._dropped or silent):
            return
        bundle = msgspec.msgpack.encode(Bundle(asked, self._dropped))
        for number, _ in asked:
            del self._asked[number]
        self._dropped = []
        call = asyncio.create_task(self._exchange(bundle))
        self._calls.add(call)
        call.add_done_callback(self._over)

    def _over(self, call: asyncio.Task[None]) -> None:
        self._calls.discard(call)
        if self._pending and not self._calls:
            self._send_soon()

    async def _exchange(self, bundle: bytes) -> None:
        try:
            replies = _replies.decode(await self._actor.exchange.remote(bundle))
        except Exception as error:  # noqa: BLE001 - whatever it was, this actor cannot be talked to
            self._lose("lost", reason_of(error))
            return
        for reply in replies:
            if not reply.last and (future := self._pending.pop(reply.number, None)) is not None and not future.done():
                future.set_result(reply)
        if last := next((reply for reply in replies if reply.last), None):
            self._lose("bug" if last.kind == "bug" else "lost", last.message)

    def _lose(self, kind: str, why: str) -> None:
        if not self._ended:
            self._on_loss(kind, why)
