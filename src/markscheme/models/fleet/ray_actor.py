"""One replica of a model on a Ray cluster: the part that runs on the worker.

Requests and answers travel in bundles. A Ray call costs the driver about half a millisecond, so a call per request
would cost more than ordinary HTTP. `exchange` takes all new requests and returns all finished answers, as soon as there
are any.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import MarkschemeError, first_line
from markscheme.models.backends import load_here
from markscheme.models.base import Completion, Model, Request, RequestFailed
from markscheme.types import Sampling

GATHER = 0.003  # seconds between the first answer of a bundle and its departure
LOOK = 3.0  # seconds after which a starting replica reports its progress


class Reply(msgspec.Struct, frozen=True):
    """The outcome of a request: completions, or the parts of the failure."""

    number: int
    completions: list[Completion] = []
    kind: str = ""
    message: str = ""
    then: dict[str, Any] = {}  # the other arguments of `RequestFailed`: whether a retry can help, and when

    @property
    def last(self) -> bool:
        """True if this replica cannot answer any more: its server is gone for good, or it has a bug."""
        return self.kind in ("gone", "bug")

    def failure(self) -> RequestFailed:
        """Rebuild the failure on the driver's side."""
        return RequestFailed(self.kind, self.message, **self.then)


class Bundle(msgspec.Struct, frozen=True):
    """What the driver sends: new requests with their numbers, and numbers of cancelled ones."""

    asked: list[tuple[int, Request]]
    dropped: list[int] = []


class Started(msgspec.Struct, frozen=True):
    """The state of a starting replica (ready, failed or in progress), and what only its model knows."""

    stands: bool = False
    failed: str = ""
    said: str = ""
    concurrency: int | None = None
    in_process: bool = False
    samples_per_request: int = 1
    own_seeds: bool = False


class ReplicaActor:
    """Holds a model and answers bundles of requests."""

    def __init__(self, spec: str, config: bytes) -> None:
        self._spec = spec
        self._config = msgspec.msgpack.decode(config, type=RunConfig)
        self._model: Model | None = None
        self._starting: asyncio.Task[Started] | None = None
        self._said = ""
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._replies: list[Reply] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._sending = False

    async def node(self) -> str:
        """Return the host name. This is the first call, which is answered once the actor has been placed."""
        return os.uname().nodename

    async def start(self, folder: str, place: int) -> bytes:
        """Begin to load the model or start its server; call `look` until it is ready."""
        self._starting = asyncio.create_task(self._start(folder, place))
        return await self.look()

    async def look(self) -> bytes:
        """Report the state of the start when it is over, or after a while."""
        assert self._starting is not None
        done, _ = await asyncio.wait([self._starting], timeout=LOOK)
        return msgspec.msgpack.encode(self._starting.result() if done else Started(said=self._said))

    async def _start(self, folder: str, place: int) -> Started:
        try:
            self._model = model = load_here(self._spec, self._config)
            model.first_log = place
            await model.start(_log_folder(folder), self._say)
        except MarkschemeError as error:  # sent as text, so that our errors need not be picklable
            return Started(failed=str(error))
        except Exception as error:  # noqa: BLE001 - a driver of CUDA, a library of the model: told to our driver
            return Started(failed=f"{type(error).__name__}: {first_line(error)}")
        return Started(
            stands=True,
            concurrency=model.concurrency,
            in_process=model.in_process,
            samples_per_request=model.samples_per_request,
            own_seeds=model.own_seeds,
        )

    def _say(self, text: str) -> None:
        self._said = text

    async def settle(self, sampling: bytes) -> bytes:
        """Return the sampling that the model really uses."""
        assert self._model is not None
        return msgspec.msgpack.encode(self._model.as_sent(msgspec.msgpack.decode(sampling, type=Sampling)))

    async def exchange(self, bundle: bytes) -> bytes:
        """Start new requests; return when some answers are there or nothing is left to wait for."""
        new = msgspec.msgpack.decode(bundle, type=Bundle)
        for number, request in new.asked:
            self._tasks[number] = asyncio.create_task(self._ask(number, request))
        for number in new.dropped:
            if (task := self._tasks.pop(number, None)) is not None:
                task.cancel()
        if not self._replies and self._tasks:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        replies, self._replies = self._replies, []
        return msgspec.msgpack.encode(replies)

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        if self._model is not None:
            await self._model.close()

    async def _ask(self, number: int, request: Request) -> None:
        assert self._model is not None
        try:
            completions: Sequence[Completion] = await self._model.generate(request)
        except RequestFailed as failure:
            then = {"retryable": failure.retryable, "fatal": failure.fatal, "retry_after": failure.retry_after}
            reply = Reply(number, [], failure.kind, str(failure), then)
        except Exception as bug:  # noqa: BLE001 - told to the driver, which gives this replica up
            reply = Reply(number, [], "bug", f"{type(bug).__name__}: {first_line(bug)}")
        else:
            reply = Reply(number, list(completions))
        self._tasks.pop(number, None)
        self._replies.append(reply)
        if not self._sending:
            self._sending = True
            asyncio.get_running_loop().call_later(GATHER, self._send)

    def _send(self) -> None:
        """Wake one call to deliver the answers; if nothing is left in flight, wake all of them."""
        self._sending = False
        number = 1 if self._tasks else len(self._waiting)
        for turn in self._waiting[:number]:
            if not turn.done():
                turn.set_result(None)
        del self._waiting[:number]


def _log_folder(folder: str) -> Path:
    """Return the run folder if this node can see it, else a local folder."""
    if (Path(folder) / "manifest.json").exists():
        return Path(folder)
    return Path(tempfile.mkdtemp(prefix="markscheme-"))
