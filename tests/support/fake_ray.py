"""Ray without Ray: actors are objects of this process, on a cluster with as much room as a test gives it.

Only what the driver's part of a run uses: `remote(Class).options(…).remote(…)`, calls that are awaited, `kill`, resources.
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace


class RayError(Exception):
    """The base of Ray's own."""


class FakeRay:
    """A cluster; `actors` are all that were ever made, in order."""

    exceptions = SimpleNamespace(RayError=RayError)

    def __init__(self, room: int = 100) -> None:
        self.room = room
        self.actors: list[FakeActor] = []
        self.refuse: Exception | None = None

    def remote(self, made: type) -> SimpleNamespace:
        def make(*args: object) -> FakeActor:
            if self.refuse is not None:
                raise self.refuse
            self.actors.append(FakeActor(made, args))
            self.place()
            return self.actors[-1]

        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=make))

    def place(self) -> None:
        """Give room to those who wait for it."""
        for actor in self.actors:
            if self.room > 0 and not actor.placed.is_set() and not actor.dead.is_set():
                self.room -= 1
                actor.placed.set()

    def grow(self, room: int) -> None:
        self.room += room
        self.place()

    def kill(self, actor: FakeActor) -> None:
        if not actor.dead.is_set():
            self.room += actor.placed.is_set()
            actor.dead.set()
            self.place()

    def get_runtime_context(self) -> SimpleNamespace:
        return SimpleNamespace(gcs_address="")

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 100.0}

    def available_resources(self) -> dict[str, float]:
        return {"CPU": float(self.room)}


class FakeActor:
    """A handle; every call waits until the actor is placed, and fails when it is dead."""

    def __init__(self, made: type, args: tuple[object, ...]) -> None:
        self.placed, self.dead = asyncio.Event(), asyncio.Event()
        self.calls: list[tuple[str, tuple[object, ...]]] = []
        self._made, self._args = made, args
        self._inner: object = None

    def __getattr__(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(remote=lambda *args: asyncio.ensure_future(self._call(name, args)))

    async def _call(self, name: str, args: tuple[object, ...]) -> object:
        dead = asyncio.ensure_future(self.dead.wait())
        work = asyncio.ensure_future(self._work(name, args))
        try:
            await asyncio.wait([work, dead], return_when=asyncio.FIRST_COMPLETED)
            if self.dead.is_set():
                raise RayError("ray::ReplicaActor() (pid=1)\n\tclass_name: ReplicaActor\nThe actor died.")
            return work.result()
        finally:
            dead.cancel()
            work.cancel()

    async def _work(self, name: str, args: tuple[object, ...]) -> object:
        await self.placed.wait()
        if self._inner is None:
            self._inner = self._made(*self._args)
        self.calls.append((name, args))
        return await getattr(self._inner, name)(*args)
