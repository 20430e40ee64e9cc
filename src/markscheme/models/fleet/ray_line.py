"""The driver's line to one actor: requests go out and answers come back in bundles (`ray_actor.py`).

A line belongs to one actor. When the actor is lost the line ends, and what comes over it afterwards is not taken: it is
being asked elsewhere by then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from markscheme.models.base import Request, RequestFailed
from markscheme.models.fleet.ray_actor import Bundle, Reply
from markscheme.models.fleet.ray_placement import reason_of

_replies = msgspec.msgpack.Decoder(list[Reply])


class Line:
    """Requests in flight at one actor."""

    def __init__(self, actor: Any, on_loss: Callable[[str, str], None]) -> None:
        """`on_loss` is told of which kind the failure is that the requests in flight should have, and why."""
        self._actor, self._on_loss = actor, on_loss
        self._number = 0
        self._pending: dict[int, asyncio.Future[Reply]] = {}
        self._asked: dict[int, Request] = {}  # not sent yet
        self._dropped: list[int] = []
        self._calls: set[asyncio.Task[None]] = set()
        self._sending = False
        self._ended = False

    async def ask(self, request: Request) -> Reply:
        """What became of a request; raises the failure with which the line ended."""
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
        """Fail what is in flight; another try can help, at another replica."""
        self._ended = True
        pending, self._pending, self._asked = self._pending, {}, {}
        for future in pending.values():
            if not future.done():
                future.set_exception(RequestFailed(kind, message, retryable=True))

    def close(self) -> None:
        """Forget it: whoever closes the model has nothing in flight any more."""
        self._ended = True
        for call in self._calls:
            call.cancel()

    def _drop(self, number: int) -> None:
        """Nobody waits for it any more: it is not sent, or not computed to its end for nobody."""
        if self._pending.pop(number, None) is not None and self._asked.pop(number, None) is None:
            self._dropped.append(number)
            self._send_soon()

    def _send_soon(self) -> None:
        """At the end of this turn of the event loop, everything that has come up in it."""
        if not self._sending:
            self._sending = True
            asyncio.get_running_loop().call_soon(self._send)

    def _send(self) -> None:
        self._sending = False
        # Those cancelled in this very turn are about to be dropped.
        asked = [(number, one) for number, one in self._asked.items() if not self._pending[number].cancelled()]
        # What has been sent needs a call with which the answers can come back.
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
