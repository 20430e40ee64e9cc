"""A model whose replicas are spread over a Ray cluster; the ordinary scheduler feeds them from the one queue.

A replica that is lost, with its worker or its whole node, fails what it had in flight; the scheduler asks that elsewhere,
and a new replica is placed. Answers of a lost replica are never taken, so that no sample comes twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import ModelError, UsageError
from markscheme.models import STARTED
from markscheme.models.base import Completion, Request, RequestFailed
from markscheme.models.group import Group
from markscheme.models.managed import server_arguments
from markscheme.models.openai import OpenAI
from markscheme.scale.devices import gpus_of_server
from markscheme.scale.ray_actor import Bundle, ReplicaActor, Reply, Started
from markscheme.scale.ray_cluster import connect
from markscheme.types import Sampling

ELSEWHERE = ("openai", "anthropic", "http", "replay")
"""Backends that ask what is there already: nothing of theirs can be placed on a cluster."""

OWN_SAMPLING = ("solver",)
MOST_CALLS = 10_000
"""Calls that may wait at one replica at the same time."""
CLOSING = 30.0
"""Seconds a replica has to take its server down."""

_started = msgspec.msgpack.Decoder(Started)
_replies = msgspec.msgpack.Decoder(list[Reply])


def create(spec: str, config: RunConfig) -> RayModel:
    """The model, to be started on the cluster."""
    backend, _, target = spec.partition("/")
    if backend in ELSEWHERE or target.startswith(("http://", "https://")):
        raise UsageError(f"--engine ray places replicas of a model; {spec} is asked where it is, so leave --engine out")
    return RayModel(spec, config)


class RayModel:
    """Replicas on a cluster behind one name."""

    concurrency: int | None = None

    def __init__(self, spec: str, config: RunConfig) -> None:
        self.name = spec
        self.own_sampling = spec.partition("/")[0] in OWN_SAMPLING
        self.replicas = config.replicas
        self.on_room: Callable[[], None] = lambda: None
        """Called when more requests than before can be in flight."""
        self._config = config
        self._ray, self._ours = connect(config.ray_address)
        self._each: int | None = None
        self._copies = [_Copy(self, place) for place in range(config.replicas)]
        self._group = Group(self._copies)
        for copy in self._copies:
            self._group.changed(copy, up=False)  # until it stands

    @property
    def room(self) -> int | None:
        """Requests that the replicas which stand can take; `None` where servers say so themselves."""
        up = sum(copy.up for copy in self._copies)
        return None if self._each is None else max(1, up * self._each)

    async def start(self, folder: Path, say: Callable[[str], None]) -> None:
        """Place every replica; return when the first one stands. The others join when they do."""
        say(f"placing {self.replicas} replicas, {self.wanted()} each")
        options = {**self._resources(), "max_concurrency": MOST_CALLS, "scheduling_strategy": "SPREAD"}
        local = msgspec.structs.replace(
            self._config, engine="local", replicas=1, gpus_per_replica=None, ray_address=None
        )
        make = self._ray.remote(ReplicaActor).options(**options)
        packed = msgspec.msgpack.encode(local)
        coming = [copy.start(lambda: make.remote(self.name, packed), str(folder.resolve())) for copy in self._copies]
        done, _ = await asyncio.wait(coming, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()  # raises what kept it from standing
        for copy, task in zip(self._copies, coming, strict=True):
            task.add_done_callback(copy.came)
        self._each = next((copy.concurrency for copy in self._copies if copy.up), None)

    async def answer(self, request: Request) -> Sequence[Completion]:
        """Ask the least busy replica."""
        return await self._group.answer(request)

    async def close(self) -> None:
        """Take every replica down."""
        await asyncio.gather(*(copy.close() for copy in self._copies))
        if self._ours:
            self._ray.shutdown()

    def changed(self, copy: _Copy, *, up: bool) -> None:
        """A replica has come or gone."""
        self._group.changed(copy, up=up)
        if up:
            self.on_room()

    def as_sent(self, sampling: Sampling) -> Sampling:
        """What a server of ours is really asked for, for the manifest."""
        if self.name.partition("/")[0] not in STARTED:
            return sampling
        nowhere = msgspec.structs.replace(self._config, base_url=("http://127.0.0.1/v1",))
        return OpenAI(self.name, nowhere).as_sent(sampling)

    def _resources(self) -> dict[str, float]:
        """What Ray sets aside for each replica: one core, and the GPUs that its model spreads over."""
        gpus = self._config.gpus_per_replica
        if gpus is None:
            backend = self.name.partition("/")[0]
            there = self._ray.cluster_resources().get("GPU", 0) > 0
            if backend in STARTED:
                gpus = float(gpus_of_server(server_arguments(self._config)))
                gpus = gpus if there or gpus > 1 else 0.0  # a cluster without GPUs serves from its cores
            else:
                gpus = 1.0 if there and backend in ("hf", "nanochat") else 0.0
        return {"num_cpus": 1, "num_gpus": gpus}

    def wanted(self) -> str:
        """The same in words."""
        resources = self._resources()
        gpus = f" and {resources['num_gpus']:g} GPUs" if resources["num_gpus"] else ""
        return f"1 core{gpus}"


class _Copy:
    """The driver's end of one replica."""

    def __init__(self, model: RayModel, place: int) -> None:
        self._model, self._place = model, place
        self._left = model._config.server_restarts
        self._actor: Any = None
        self._make: Callable[[], Any] = lambda: None
        self._folder = ""
        self._number = 0
        self._pending: dict[int, asyncio.Future[Reply]] = {}
        self._asked: list[tuple[int, Request]] = []
        self._dropped: list[int] = []
        self._calls = 0
        self._sending = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._settled = asyncio.Event()
        self.node = ""
        self.concurrency: int | None = None
        self.up = False
        self.gone: str | None = None

    def start(self, make: Callable[[], Any], folder: str) -> asyncio.Task[None]:
        """Place it; the task ends when it stands, or raises `ModelError`."""
        self._make, self._folder = make, folder
        return self._do(self._bring_up())

    def came(self, task: asyncio.Task[None]) -> None:
        """The end of that task, where others stand already: a failure is another try, not the end of the run."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._do(self._place_again(str(error)))

    def _do(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _bring_up(self) -> None:
        self._actor = actor = self._make()
        limit = self._model._config.server_timeout
        try:
            async with asyncio.timeout(limit):
                told = _started.decode(await actor.start.remote(self._folder, self._place))
        except TimeoutError:
            raise ModelError(
                f"replica {self._place} of {self._model.name} did not stand after {limit:g} s (--server-timeout); "
                f"it needs {self._model.wanted()}, and the cluster has {_resources_of(self._model._ray)}"
            ) from None
        except self._ray_errors() as error:
            raise ModelError(f"replica {self._place} of {self._model.name} was lost: {_first_line(error)}") from None
        if told.failed:
            raise ModelError(f"replica {self._place}: {told.failed}")
        self.node, self.concurrency, self.up = told.node, told.concurrency, True
        self._settled.set()
        self._model.changed(self, up=True)

    async def answer(self, request: Request) -> Sequence[Completion]:
        """Ask this replica; one that is being placed again is waited for."""
        await self._settled.wait()
        if self.gone is not None:
            raise RequestFailed("connection", self.gone, retryable=True)
        self._number += 1
        number = self._number
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._pending[number] = future
        self._asked.append((number, request))
        self._send_soon()
        try:
            reply = await future
        finally:
            if self._pending.pop(number, None) is not None:  # cancelled: nobody waits for it any more
                self._dropped.append(number)
        if reply.kind:
            raise reply.failure()
        return reply.completions

    def _send_soon(self) -> None:
        """At the end of this turn of the event loop, everything that has come up in it."""
        if not self._sending:
            self._sending = True
            asyncio.get_running_loop().call_soon(self._send)

    def _send(self) -> None:
        self._sending = False
        if not self.up:
            return
        bundle = msgspec.msgpack.encode(Bundle(self._asked, self._dropped))
        self._asked, self._dropped = [], []
        self._calls += 1
        self._do(self._exchange(self._actor, bundle))

    async def _exchange(self, actor: Any, bundle: bytes) -> None:
        try:
            replies = _replies.decode(await actor.exchange.remote(bundle))
        except self._ray_errors() as error:
            if actor is self._actor and self.up:
                self._lost(_first_line(error))
            return
        finally:
            self._calls -= 1
        if actor is not self._actor:
            return  # of a replica that was given up: asked elsewhere by now
        for reply in replies:
            future = self._pending.pop(reply.number, None)
            if future is not None and not future.done():
                future.set_result(reply)
        if self._pending and self._calls == 0:
            self._send_soon()  # there must always be a call for the answers to come back with

    def _lost(self, why: str) -> None:
        """Fail what was in flight, so that it is asked elsewhere, and place a new replica."""
        self.up = False
        self._settled.clear()
        self._model.changed(self, up=False)
        message = f"replica {self._place} on {self.node} was lost: {why}"
        pending, self._pending, self._asked, self._dropped = self._pending, {}, [], []
        for future in pending.values():
            if not future.done():
                future.set_exception(RequestFailed("connection", message, retryable=True))
        self._do(self._place_again(message))

    async def _place_again(self, why: str) -> None:
        while self._left > 0:
            self._left -= 1
            with suppress(*self._ray_errors()):
                self._model._ray.kill(self._actor)  # it may live on behind a broken connection
            try:
                await self._bring_up()
            except ModelError as error:
                why = str(error)
                await asyncio.sleep(1.0)
            else:
                return
        self.gone = f"{why}; it is not placed again (--server-restarts {self._model._config.server_restarts})"
        self._settled.set()

    async def close(self) -> None:
        """Take the replica down, with its server."""
        for task in list(self._tasks):
            task.cancel()
        actor, self._actor = self._actor, None
        if actor is None:
            return
        errors = self._ray_errors()
        if self.up and self._model.name.partition("/")[0] in STARTED:
            with suppress(TimeoutError, *errors):
                async with asyncio.timeout(CLOSING):
                    await actor.close.remote()
        with suppress(*errors):
            self._model._ray.kill(actor)

    def _ray_errors(self) -> tuple[type[Exception], ...]:
        return (self._model._ray.exceptions.RayError,)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _resources_of(ray: Any) -> str:
    free = ray.available_resources()
    return f"{free.get('CPU', 0):g} free cores and {free.get('GPU', 0):g} free GPUs"
