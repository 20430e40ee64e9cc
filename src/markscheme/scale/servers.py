"""One server process: started on a free port, watched, started again within a limit, always taken down.

The process itself is held by `keeper.py`, a small program that ends it and all its children when this process ends, in
whatever way. Requests go elsewhere (`models/`); here a server is only up, down, or gone for good.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from markscheme.errors import ModelError
from markscheme.scale import keeper
from markscheme.scale.devices import VARIABLE
from markscheme.scale.kept import Kept
from markscheme.scale.ports import free_port, is_taken, listens_below

GRACE = 10.0
"""Seconds a server has to end by itself when it is told to."""
LOOK_EVERY = 0.2
PORTS = 3
"""Ports that are tried before a server that finds its port taken is a failure."""
LONGEST_PAUSE = 30.0
LOG_SHOWN = 400

_TAKEN = re.compile(r"address already in use|errno 98|port \d+ is (?:already )?(?:in use|taken)", re.IGNORECASE)


@dataclass(frozen=True)
class Launch:
    """How one kind of server is started."""

    program: str
    """What it is called in messages."""
    command: Callable[[int], Sequence[str]]
    """The command line for a port."""
    health: str
    """Path that answers 200 once requests can be answered."""


class Server:
    """A server that should be up as long as the run lasts."""

    def __init__(
        self,
        launch: Launch,
        log: Path,
        *,
        devices: Sequence[str] | None = None,
        start_limit: float,
        restarts: int,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._launch, self._log, self._say = launch, log, say
        self._devices, self._start_limit, self._restarts = devices, start_limit, restarts
        self._process: Kept | None = None
        self._watching: asyncio.Task[None] | None = None
        self._group: int | None = None  # the server's process group, while it is up
        self._log_from = 0
        self.url = ""
        """Where it listens; another port after each start."""
        self.settled = asyncio.Event()
        """Set while it is up, and when it is gone for good."""
        self.gone: str | None = None
        """Why it will not come back."""
        self.on_change: Callable[[bool], None] = lambda _: None
        """Told whether it is up, whenever that changes after the start; and once more when it is gone for good."""

    async def start(self) -> None:
        """Return when it is up; raises `ModelError` when it does not come up. From then on it is watched."""
        await self._bring_up()
        self.settled.set()
        self._watching = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """Take it down, with everything it started."""
        if self._watching is not None:
            self._watching.cancel()
            with suppress(asyncio.CancelledError):
                await self._watching
        await self._take_down()

    async def _watch(self) -> None:
        """Start it again when it dies, until it has died too often."""
        left, pause = self._restarts, 1.0
        while True:
            assert self._process is not None
            while self._process.poll() is None:
                await asyncio.sleep(LOOK_EVERY)
            self._sweep(self._process)
            self.settled.clear()
            self.on_change(False)
            why = f"{self._launch.program} ended ({self._ending()})"
            while True:
                if left == 0:
                    self.gone = f"{why}; it is not started again (--server-restarts {self._restarts})"
                    self.settled.set()
                    self.on_change(False)
                    return
                left -= 1
                self._say(f"{why}; starting it again")
                await asyncio.sleep(pause)
                pause = min(LONGEST_PAUSE, 2 * pause)
                try:
                    await self._bring_up()
                except ModelError as error:
                    why = str(error)
                else:
                    break
            self._say("")
            self.settled.set()
            self.on_change(True)

    async def _bring_up(self) -> None:
        """Start it and wait until it is healthy; with another port if somebody was quicker with this one."""
        for attempt in range(1, PORTS + 1):
            port = free_port()
            self._spawn(port)
            try:
                await self._wait(port)
            except ModelError:
                if attempt < PORTS and (is_taken(port) or _TAKEN.search(self._logged())):
                    self._say(f"{self._launch.program} found port {port} taken; trying another")
                    continue
                raise
            else:
                self.url = f"http://127.0.0.1:{port}/v1"
                self._group = min(keeper.descendants(self._process.pid), default=None) if self._process else None
                return

    def _spawn(self, port: int) -> None:
        command = list(self._launch.command(port))
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        if self._devices is not None:
            environment[VARIABLE] = ",".join(self._devices)
        try:
            self._log.parent.mkdir(parents=True, exist_ok=True)
            with self._log.open("ab") as log:
                log.write(f"== markscheme starts: {shlex.join(command)}\n".encode())
                log.flush()
                self._log_from = log.tell()
                self._process = Kept(command, log, environment, GRACE)
        except OSError as error:
            raise ModelError(f"{self._launch.program} cannot be started: {error}") from None

    async def _wait(self, port: int) -> None:
        """Until it is healthy; raises, and leaves nothing running, when it ends first or takes too long."""
        assert self._process is not None
        began = time.monotonic()
        url = f"http://127.0.0.1:{port}{self._launch.health}"
        try:
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
                while not (await _answers(session, url) and listens_below(port, self._process.pid)):
                    self._check_start(self._process, time.monotonic() - began)
                    await asyncio.sleep(LOOK_EVERY)
        except BaseException:
            await self._take_down()
            raise

    def _check_start(self, process: Kept, seconds: float) -> None:
        """Raise when it has ended or taken too long, else tell how it is doing."""
        if process.poll() is not None:
            raise ModelError(f"{self._launch.program} ended before it was ready ({self._ending()})")
        if seconds > self._start_limit:
            raise ModelError(
                f"{self._launch.program} was not ready after {self._start_limit:g} s (--server-timeout); {self._log_end()}"
            )
        self._say(f"{self._launch.program} is starting, {seconds:.0f} s: {self._last_line()[:80]}")

    async def _take_down(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.release()
        deadline = time.monotonic() + GRACE + keeper.KILLING + 5
        try:
            while process.poll() is None and time.monotonic() < deadline:
                await asyncio.sleep(LOOK_EVERY / 4)
        finally:
            if process.poll() is None and time.monotonic() >= deadline:
                process.kill()
            self._sweep(process)

    def _sweep(self, process: Kept) -> None:
        """If somebody killed the keeper, its server died with it but not the server's children."""
        if (process.returncode or 0) < 0 and self._group is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._group, signal.SIGKILL)

    def _ending(self) -> str:
        """How it ended and what it said last."""
        code = (self._process.returncode if self._process is not None else None) or 0
        if code > 128 or code < 0:
            number = code - 128 if code > 0 else -code
            with suppress(ValueError):
                return f"killed by {signal.Signals(number).name}; {self._log_end()}"
        return f"exit code {code}; {self._log_end()}"

    def _log_end(self) -> str:
        last = self._last_line()
        return f"its log {self._log} ends: {last[-LOG_SHOWN:]}" if last else f"its log {self._log} is empty"

    def _last_line(self) -> str:
        lines = [line.strip() for line in self._logged().splitlines()]
        return next((line for line in reversed(lines) if line), "")

    def _logged(self) -> str:
        """The end of what it has written since its last start."""
        with suppress(OSError), self._log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_from, size - 8192))
            return log.read().decode("utf-8", "replace")
        return ""


async def _answers(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(url) as answer:
            return answer.status == 200
    except (aiohttp.ClientError, OSError):
        return False
