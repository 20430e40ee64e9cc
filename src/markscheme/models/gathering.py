"""Connections that read a streamed answer at intervals instead of packet by packet.

A server sends one packet and one HTTP chunk for every token. Waking up for each would cost several times as much as the
rest of the request. After the first token, packets therefore wait in the kernel for a tenth of the time so far, or until
the shortest of the last streams ended. The chunks go past aiohttp's parser, which sees only the head and the end.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from typing import Any

from aiohttp import ClientPayloadError
from aiohttp.client_proto import ResponseHandler

# Pause between two reads of a stream: this share of the time so far, up to a limit in seconds. Pauses end at multiples
# of TICK, so that many streams are read in one iteration of the event loop.
REST, LONGEST_REST, TICK = 0.1, 1.0, 0.02
ENOUGH = 2**16  # bytes to collect before looking at them
LARGEST_CHUNK = 2**16  # bytes; larger ones are left to aiohttp
LAST = 32  # streams of which the shortest counts; one in LAST ends earlier and is noticed late
_END = b"0\r\n\r\n"
_BUFFER = bytearray(2**17)


class _Sizes(dict[bytes, int]):
    """Sizes of chunks by their hexadecimal form: the events of a stream have few different ones."""

    def __missing__(self, written: bytes) -> int:
        size = int(written, 16)
        if len(self) < 2**12:
            self[written] = size
        return size


_SIZES = _Sizes()

Take = Callable[[list[bytes], int], object]  # gets chunks, and about how many bytes they have


class Clock:
    """Calls resting connections when their pause is over."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due: dict[int, list[Gathering]] = {}
        self._durations: deque[float] = deque(maxlen=LAST)
        self.shortest = 0.0  # seconds from the first token to the end, once enough streams have ended

    def ended(self, seconds: float) -> None:
        """Note how long a stream took after its first token."""
        self._durations.append(seconds)
        self.shortest = min(self._durations) if len(self._durations) == LAST else 0.0

    def call(self, connection: Gathering, when: float) -> None:
        """Call `connection.pull` at about this time of the loop."""
        tick = int(when / TICK) + 1
        if tick not in self._due:
            self._due[tick] = []
            self._loop.call_at(tick * TICK, self._ring, tick)
        self._due[tick].append(connection)

    def _ring(self, tick: int) -> None:
        now = self._loop.time()
        for connection in self._due.pop(tick):
            connection.pull(now)


class Gathering(ResponseHandler):
    """A connection of aiohttp that splits a stream into chunks itself, and rests between reads once `gather` is called."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock) -> None:
        super().__init__(loop)
        self._clock = clock
        self._resting = False  # the clock will call `pull`
        self._begin()

    def _begin(self) -> None:
        """Forget the last answer."""
        self._head: bytes | None = b""  # until it is complete
        self._chunked = False
        self._raw: list[bytes] = []  # what was read and not looked at yet; small pieces would be out of the CPU's cache
        self._size = 0  # of that
        self._file = -1  # the socket, if it can be read without the transport
        self._rest = b""  # the start of an incomplete chunk, from the line feed before it
        self._sent: float | None = None  # the time of the request, while gathering
        self._first = 0.0  # the time of the first token
        self._take: Take | None = None
        self._renewed = 0.0

    def set_response_params(self, **params: Any) -> None:
        """Prepare for the next answer."""
        self._begin()
        super().set_response_params(**params)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Fail an answer that is not complete. aiohttp forgets to if a chunk is damaged, and its reader waits forever."""
        body = self._payload
        super().connection_lost(exc)
        if body is not None and not body.is_eof() and body.exception() is None:
            body.set_exception(ClientPayloadError("the connection ended in a chunk that cannot be read"))

    def data_received(self, data: bytes) -> None:
        """Take what has arrived: the head as it is, the chunks of a stream together."""
        if self._raw or self._rest:
            data = b"".join([self._rest, *self._raw, data])
            self._raw, self._rest = [], b""
        self._size = 0
        if self._head is not None:
            data = self._take_head(data)
        if self._chunked and data:
            self._split(data)
        else:
            super().data_received(data)
        if self._sent is not None:
            self._pause(self._sent)

    def _take_head(self, data: bytes) -> bytes:
        """Return what is not part of a stream's head; that goes to aiohttp at once."""
        assert self._head is not None
        before, self._head = len(self._head), self._head + data
        end = self._head.find(b"\r\n\r\n") + 4
        if end < 4:
            return data
        head, self._head = self._head[:end].lower(), None
        if b"\r\ntransfer-encoding: chunked\r\n" not in head or b"\r\ncontent-type: text/event-stream" not in head:
            return data
        super().data_received(data[: end - before])
        self._chunked = True
        return b"\n" + data[end - before :]

    def gather(self, sent: float, take: Take) -> None:
        """Rest between reads from now on, and give chunks to `take`; the request was sent at `sent` (`time.monotonic()`)."""
        self._sent, self._first, self._take = sent, self._loop.time(), take
        transport = self.transport
        if transport is not None and hasattr(os, "readv") and transport.get_extra_info("ssl_object") is None:
            self._file = transport.get_extra_info("socket").fileno()
        self._pause(sent)

    def pull(self, now: float) -> None:
        """Read what has arrived while resting; if nothing has, the server is slow: wait for its next packet."""
        self._resting = False
        transport, sent = self.transport, self._sent
        # If aiohttp has paused reading, it has enough for the moment and will resume.
        if sent is None or self._reading_paused or transport is None or transport.is_closing():
            return
        try:
            size = os.readv(self._file, (_BUFFER,)) if self._file >= 0 else 0
        except OSError:  # nothing there, or a lost connection, which the transport will notice
            size = 0
        data = bytes(memoryview(_BUFFER)[:size])
        self._size += size
        if size and self._chunked and self._size < ENOUGH and not data.endswith(_END):
            self._raw.append(data)
            self._rest_until(now, sent)
        else:
            self.data_received(data)
            if not size and self._sent is not None:
                self.start_timeout()
                transport.resume_reading()

    def _pause(self, sent: float) -> None:
        """Rest if there is more to come."""
        transport = self.transport
        if transport is None or transport.is_closing():
            return
        if self.should_close:
            transport.pause_reading()
            self._rest_until(self._loop.time(), sent)
        else:  # the answer is complete, and the connection is free
            self._sent = None
            self._clock.ended(self._loop.time() - self._first)
            transport.resume_reading()

    def _rest_until(self, now: float, sent: float) -> None:
        if self.read_timeout and now - self._renewed > self.read_timeout / 2:
            self._renewed = now
            self.start_timeout()  # aiohttp's limit for silence
        if not self._resting:
            self._resting = True
            pause = max(REST * (now - sent), self._first + self._clock.shortest - now)
            self._clock.call(self, now + min(pause, LONGEST_REST))

    def _split(self, data: bytes) -> None:
        """Pass on whole chunks; leave the end of the answer, and what is not as expected, to aiohttp."""
        parts = data.split(b"\r")
        whole = (len(parts) - 1) & ~1
        chunks = [part[1:] for part in parts[1:whole:2]]
        try:
            expected = list(map(_SIZES.__getitem__, parts[:whole:2])) == list(map(len, chunks))
        except ValueError:
            expected = False
        if not expected:  # chunk extensions, line breaks in a chunk
            self._chunked = False
            super().data_received(data[1:])
            return
        self._rest = b"\r".join(parts[whole:])
        ended = bool(chunks) and not chunks[-1]
        if len(chunks) > ended:
            if self._take is not None:
                self._take(chunks, len(data))
            else:
                together = b"".join(chunks)
                super().data_received(b"%x\r\n%b\r\n" % (len(together), together))
        if ended or len(self._rest) > LARGEST_CHUNK:
            rest, self._rest, self._chunked = self._rest, b"", False
            super().data_received(b"0\r\n\r" + rest if ended else rest[1:])
