"""Run an untrusted Python script in the first sandbox that works here, with limits on everything.

The time is measured outside. The script prints a zero byte before the code that counts, and another after it has ended by
itself. If it never begins, the sandbox is at fault, not the script.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from markscheme.errors import ModelError, UsageError, nearest, option
from markscheme.tools.boxes import BOXES, ENVIRONMENT, FILES, Box, Limits, Start, nothing

LARGEST_OUTPUT = 2**16  # bytes of output at which a program is killed
# Files in its temporary folder at which a program is killed: 10,000 take 10 MB, which no other limit counts.
MOST_FILES, LOOK = 10_000, 0.5  # counted every LOOK seconds
TRIES = 3  # tries to start a sandbox: a machine may be out of processes for a moment
_PROBE = "import os; os.write(1, b'\\0' + str(6 * 7).encode())"


class Ended(NamedTuple):
    """How a script ended."""

    output: bytes
    status: int | None  # None if it was killed
    why: str = ""  # why it was killed
    begun: bool = True
    whole: bool = True  # it ended by itself


class Sandbox:
    """Runs each script in a new sandbox."""

    def __init__(self, name: str, box: Box, limits: Limits) -> None:
        self.name, self._box, self._limits = name, box, limits

    async def run(self, script: str, given: bytes, before: int = 0) -> Ended:
        """Run a script with `given` on its standard input until it ends, prints too much or its time is up.

        Each step before that code may take as long again.
        """
        for attempt in range(TRIES):
            try:
                ended = await self._once(script, given, before)
            except OSError as error:
                ended = Ended((error.strerror or str(error)).encode(), None, begun=False)
            if ended.begun or before:
                return ended
            await asyncio.sleep(attempt)
        raise ModelError(f"the sandbox of tools ({self.name}) does not start: {_first_line(ended.output)}")

    async def _once(self, script: str, given: bytes, before: int) -> Ended:
        start = self._box(self._limits._replace(seconds=self._limits.seconds * (1 + before)), script)
        assert start is not None, "it was there when it was chosen"
        loop, output = asyncio.get_running_loop(), asyncio.StreamReader()
        with tempfile.TemporaryDirectory(prefix="markscheme-tool-") as folder:
            reading, writing = os.pipe()
            # Not the process's own pipe: waiting for the process would wait for all holders of its other end.
            pipe, _ = await loop.connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(output), os.fdopen(reading, "rb", 0)
            )
            try:
                process = await asyncio.create_subprocess_exec(
                    *start.words,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=writing,
                    stderr=asyncio.subprocess.STDOUT,
                    env=ENVIRONMENT,
                    cwd=folder,
                    start_new_session=True,
                )
            except BaseException:
                pipe.close()
                raise
            finally:
                os.close(writing)
            counting = asyncio.create_task(_end_if_many_files(process))
            try:
                ended = await self._watched(process, output, given, before)
                return ended._replace(why="it made too many files", whole=False) if counting.done() else ended
            finally:
                counting.cancel()
                await _end(process, start)
                pipe.close()

    async def _watched(
        self, process: asyncio.subprocess.Process, output: asyncio.StreamReader, given: bytes, before: int
    ) -> Ended:
        assert process.stdin is not None
        seconds = self._limits.seconds
        kept = bytearray()

        def ended(status: int | None, why: str = "") -> Ended:
            begun = kept.startswith(b"\0")
            whole = begun and len(kept) > 1 and kept.endswith(b"\0") and not why
            return Ended(bytes(kept[begun : len(kept) - whole][:LARGEST_OUTPUT]), status, why, begun, whole)

        try:
            async with asyncio.timeout(seconds * (1 + before)) as limit:
                with suppress(ConnectionError):
                    process.stdin.write(given)
                    process.stdin.close()
                while piece := await output.read(LARGEST_OUTPUT):
                    if not kept:
                        limit.reschedule(asyncio.get_running_loop().time() + seconds)
                    kept += piece
                    if len(kept) > LARGEST_OUTPUT:
                        return ended(None, "it printed too much")
                return ended(await process.wait())
        except TimeoutError:
            return ended(None, f"it took longer than {seconds:g} s")


async def _end_if_many_files(process: asyncio.subprocess.Process) -> None:
    """Kill the sandbox if the program in it makes too many files."""
    while True:
        await asyncio.sleep(LOOK)
        with suppress(OSError):
            inside = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            folder = os.statvfs(f"/proc/{inside[0]}/root/tmp") if inside else None
            # of that size: before it is mounted, this would be the host's folder
            if folder and folder.f_blocks * folder.f_frsize == FILES and folder.f_files - folder.f_ffree > MOST_FILES:
                os.killpg(process.pid, 9)
                return


async def _end(process: asyncio.subprocess.Process, start: Start) -> None:
    """Kill the sandbox and everything in it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, 9)
    assert process.stdin is not None
    if process.stdin.transport.get_write_buffer_size():
        process.stdin.transport.abort()  # else a process that inherited the other end would block the wait
    if start.end:
        cleaning = await asyncio.create_subprocess_exec(
            *start.end, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
        )
        await cleaning.wait()
    await process.wait()


def choose_sandbox(name: str, limits: Limits, *, unsafe: bool) -> Sandbox:
    """Return the sandbox of that name, or with `auto` the first that works here; refuse if none does."""
    if name not in ("auto", *BOXES):
        raise UsageError(f"there is no sandbox {name!r}; {nearest(name, BOXES, 'there are ' + ', '.join(BOXES))}")
    reasons = []
    for each, box in BOXES.items() if name == "auto" else [(name, BOXES[name])]:
        why = _why_not(box, limits)
        if not why:
            return Sandbox(each, box, limits)
        reasons.append(f"{each}: {why}")
    if unsafe:
        return Sandbox("no sandbox", nothing, limits)
    raise UsageError(
        f"tools run code that the model writes, but no sandbox works here ({'; '.join(reasons)}): install bubblewrap "
        f"(`bwrap`), or give {option('unsafe_tools')} to run it without one"
    )


def _why_not(box: Box, limits: Limits) -> str:
    """Return why a sandbox cannot be used, by trying it: many machines have one that they do not allow."""
    start = box(limits, _PROBE)
    if start is None:
        return "not installed"
    try:
        done = subprocess.run(
            start.words, input=b"", capture_output=True, env=ENVIRONMENT, timeout=60, check=False, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return getattr(error, "strerror", None) or "it does not answer"
    return "" if done.stdout == b"\x0042" else _first_line(done.stderr or done.stdout) or "it does not start"


def _first_line(output: bytes) -> str:
    return output.decode("utf-8", "replace").strip("\0 \n").partition("\n")[0][:200]
