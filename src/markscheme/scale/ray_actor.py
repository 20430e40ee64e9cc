"""One replica of a model on a Ray cluster: the part that runs on the worker.

Requests and answers travel in bundles. A call of Ray costs the driver about half a millisecond, so that a call for each
request would cost more than the ordinary HTTP path; `exchange` takes whatever has to be asked now and comes back with
whatever is answered by then, as soon as there is something.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import MarkschemeError
from markscheme.models import load_model
from markscheme.models.base import Completion, Model, Request, RequestFailed

GATHER = 0.003
"""Seconds between the first answer of a bundle and its departure."""


class Reply(msgspec.Struct, frozen=True):
    """What became of a request: completions, or the failure in parts."""

    number: int
    completions: list[Completion] = []
    kind: str = ""
    message: str = ""
    retryable: bool = False
    fatal: bool = False
    retry_after: float | None = None

    def failure(self) -> RequestFailed:
        """The failure again, on the driver's side."""
        return RequestFailed(
            self.kind, self.message, retryable=self.retryable, fatal=self.fatal, retry_after=self.retry_after
        )


class Bundle(msgspec.Struct, frozen=True):
    """What the driver sends: new requests with their numbers, and numbers nobody waits for any more."""

    asked: list[tuple[int, Request]]
    dropped: list[int] = []


class Started(msgspec.Struct, frozen=True):
    """What the driver learns of a replica that stands, or why it does not."""

    node: str = ""
    concurrency: int | None = None
    failed: str = ""


class ReplicaActor:
    """Holds a model and answers bundles of requests."""

    def __init__(self, spec: str, config: bytes) -> None:
        self._spec = spec
        self._config = msgspec.msgpack.decode(config, type=RunConfig)
        self._model: Model | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._replies: list[Reply] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._sending = False

    async def start(self, folder: str, place: int) -> bytes:
        """Load the model, or start its server."""
        try:
            self._model = load_model(self._spec, self._config)
            start = getattr(self._model, "start", None)
            if start is not None:
                await start(_log_folder(folder), lambda _: None, first=place)
        except MarkschemeError as error:  # told in words: our errors need not survive being pickled
            return msgspec.msgpack.encode(Started(failed=str(error)))
        return msgspec.msgpack.encode(Started(node=os.uname().nodename, concurrency=self._model.concurrency))

    async def exchange(self, bundle: bytes) -> bytes:
        """Begin what is new; return with what is done, once there is something or nothing is left to wait for."""
        new = msgspec.msgpack.decode(bundle, type=Bundle)
        for number in new.dropped:
            if (task := self._tasks.pop(number, None)) is not None:
                task.cancel()
        for number, request in new.asked:
            self._tasks[number] = asyncio.create_task(self._ask(number, request))
        if not self._replies and self._tasks:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        replies, self._replies = self._replies, []
        return msgspec.msgpack.encode(replies)

    async def close(self) -> None:
        """Let go of the model and its server."""
        for task in self._tasks.values():
            task.cancel()
        if self._model is not None:
            await self._model.close()

    async def _ask(self, number: int, request: Request) -> None:
        assert self._model is not None
        try:
            completions: Sequence[Completion] = await self._model.answer(request)
        except RequestFailed as failure:
            reply = Reply(number, [], failure.kind, str(failure), failure.retryable, failure.fatal, failure.retry_after)
        except Exception as bug:  # noqa: BLE001 - told to the driver, which stops the run
            reply = Reply(number, [], "bug", f"{type(bug).__name__}: {bug}", fatal=True)
        else:
            reply = Reply(number, list(completions))
        self._tasks.pop(number, None)
        self._replies.append(reply)
        if not self._sending:
            self._sending = True
            asyncio.get_running_loop().call_later(GATHER, self._send)

    def _send(self) -> None:
        """Wake one call to carry what is there; with nothing left in flight, all of them."""
        self._sending = False
        number = 1 if self._tasks else len(self._waiting)
        for turn in self._waiting[:number]:
            if not turn.done():
                turn.set_result(None)
        del self._waiting[:number]


def _log_folder(folder: str) -> Path:
    """The run folder where this node sees it, else a folder of this node's own."""
    if (Path(folder) / "manifest.json").exists():
        return Path(folder)
    return Path(tempfile.mkdtemp(prefix="markscheme-"))
