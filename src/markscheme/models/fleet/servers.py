"""One server process: started on a free port, watched, restarted within a limit, and always stopped.

`keeper.py`, a small program, holds the process and ends it with all its children when this process ends, in whatever
way. Requests are sent elsewhere (`models/`); here a server is only up, down, or gone for good.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from markscheme.errors import ModelError, option
from markscheme.models.fleet import keeper
from markscheme.models.fleet.guarded_process import GuardedProcess
from markscheme.models.fleet.ports import free_port, is_shared, is_taken, listens_below
from markscheme.redaction import Scrubber

LOOPBACK = "127.0.0.1"
GRACE = 10.0  # seconds that a server has to end by itself
LOOK_EVERY = 0.2
PORTS = 3  # attempts with another port before an occupied port is a failure
LONGEST_PAUSE = 30.0
LOG_SHOWN = 400

_TAKEN = re.compile(r"address already in use|errno 98|port \d+ is (?:already )?(?:in use|taken)", re.IGNORECASE)
_STEERING = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"  # titles and other strings
    r"|\x1b[ -/]*[0-~]?"
)


@dataclass(frozen=True)
class Program:
    """A kind of server, and how to start it."""

    name: str  # the backend's name, also used in messages
    command: Sequence[str]  # the command, before host, port and the user's options
    health: str = "/health"  # path that answers 200 once the server is ready
    key_variable: str | None = None  # environment variable with the key that the server requires
    spreads: bool = False  # whether it uses every visible GPU rather than a stated number
    options: Sequence[str] = ()  # the user's options, as on a command line
    hide: Scrubber = Scrubber()  # noqa: RUF009 - never changed; takes out of a text what must not be written down


class _PortTakenError(ModelError):
    """Another server uses the same port."""


class Server:
    """A server that should stay up as long as the run lasts."""

    def __init__(
        self,
        program: Program,
        log: Path,
        *,
        environment: Mapping[str, str],
        start_limit: float,
        restarts: int,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._program, self._log, self._say = program, log, say
        self._environment, self._start_limit, self._restarts = environment, start_limit, restarts
        self._process: GuardedProcess | None = None
        self._watching: asyncio.Task[None] | None = None
        self._log_from = 0
        self.url = ""  # its address; the port changes with each start
        self.gone: str | None = None  # why it will not come back
        self.on_change: Callable[[bool], None] = lambda _: None
        """Called with whether it is up on each change after the start, and once when it has stopped for good."""

    async def start(self) -> None:
        """Start it and return when it is up; raise `ModelError` otherwise. From then on it is watched."""
        await self._bring_up()
        self._watching = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """Stop it, with everything it started."""
        try:
            if self._watching is not None:
                self._watching.cancel()
                await asyncio.wait([self._watching])
        finally:
            await self._take_down()

    async def _watch(self) -> None:
        """Restart it whenever it dies. Report any failure of this loop, expected or not, since requests may be waiting."""
        try:
            self.gone = await self._keep_up()
        except Exception as bug:  # noqa: BLE001
            self.gone = f"{self._program.name} can no longer be watched ({type(bug).__name__}: {bug})"
        self.on_change(False)

    async def _keep_up(self) -> str:
        """Return why it is not restarted any more."""
        pause = 1.0
        why = await self._death()
        for _ in range(self._restarts):
            self._say(f"{why}; starting it again")
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE, 2 * pause)
            try:
                await self._bring_up()
            except ModelError as error:
                why = str(error)
                continue
            self._say("")
            self.on_change(True)
            why = await self._death()
        return f"{why}; it is not started again ({option('server_restarts')} {self._restarts})"

    async def _death(self) -> str:
        """Wait until it ends, and describe how."""
        assert self._process is not None
        while self._process.poll() is None:
            await asyncio.sleep(LOOK_EVERY)
        self.on_change(False)
        return f"{self._program.name} ended ({self._ending()})"

    async def _bring_up(self) -> None:
        """Start it and wait until it is healthy; use another port if this one was taken meanwhile."""
        try:
            for _ in range(PORTS - 1):
                port = free_port()
                try:
                    await self._try(port)
                except ModelError as error:
                    if not (isinstance(error, _PortTakenError) or is_taken(port) or _TAKEN.search(self._logged())):
                        raise
                    self._say(f"{self._program.name} found port {port} taken; trying another")
                else:
                    return
            await self._try(free_port())
        except OSError as error:  # a full disk, too many open files …
            raise ModelError(f"{self._program.name} cannot be started: {error}") from None

    async def _try(self, port: int) -> None:
        """Start it on a port and wait until it is healthy; on failure raise and leave nothing running."""
        self._process = process = self._spawn(port)
        try:
            await self._wait(process, port)
        except BaseException:
            await self._take_down()
            raise
        self.url = f"http://127.0.0.1:{port}/v1"

    def _spawn(self, port: int) -> GuardedProcess:
        command = [*self._program.command, "--host", LOOPBACK, "--port", str(port), *self._program.options]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", **self._environment}
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log:
            log.write(f"== markscheme starts: {shlex.join(map(self._program.hide, command))}\n".encode())
            log.flush()
            self._log_from = log.tell()
            return GuardedProcess(command, log, environment, GRACE, self._program.hide.secrets)

    async def _wait(self, process: GuardedProcess, port: int) -> None:
        began = time.monotonic()
        url = f"http://127.0.0.1:{port}{self._program.health}"
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
            while not (await _answers(session, url) and listens_below(port, process.pid)):
                self._check_start(process, time.monotonic() - began)
                await asyncio.sleep(LOOK_EVERY)
        if is_shared(port, process.pid):
            raise _PortTakenError(f"{self._program.name} got a port that another server uses too ({port})")

    def _check_start(self, process: GuardedProcess, seconds: float) -> None:
        """Raise if it has ended or taken too long, else report its progress."""
        if process.poll() is not None:
            raise ModelError(f"{self._program.name} ended before it was ready ({self._ending()})")
        if seconds > self._start_limit:
            raise ModelError(
                f"{self._program.name} was not ready after {self._start_limit:g} s ({option('server_timeout')}); {self._log_end()}"
            )
        self._say(f"{self._program.name} is starting, {seconds:.0f} s: {self._last_line()[:80]}")

    async def _take_down(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.release()
        deadline = time.monotonic() + GRACE + keeper.KILLING + 5
        while process.poll() is None:
            if time.monotonic() >= deadline:
                process.kill()
                return
            await asyncio.sleep(LOOK_EVERY / 4)

    def _ending(self) -> str:
        """Describe how it ended and its last output."""
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
        lines = [_plain(line) for line in self._logged().splitlines()]
        return next((line for line in reversed(lines) if line), "")

    def _logged(self) -> str:
        """Return the end of its output since the last start."""
        with suppress(OSError), self._log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_from, size - 8192))
            return log.read().decode("utf-8", "replace")
        return ""


def _plain(line: str) -> str:
    """Remove colours and other control sequences."""
    return "".join(letter for letter in _STEERING.sub("", line) if letter.isprintable()).strip()


async def _answers(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(url) as answer:
            return answer.status in (200, 401)  # a server that asks for a key is ready, too
    except (aiohttp.ClientError, OSError):
        return False
