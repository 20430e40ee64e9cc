"""A chat-completions server on the loopback that costs almost nothing and misbehaves on demand.

Run it as `python perf/loopback.py --latency 1` (it prints its address), or use `Loopback` in a thread. It speaks just
enough HTTP/1.1 for well-behaved clients and counts what it was asked, so that a test can hold a client to its word.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import socket
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

Answer = Callable[[dict[str, Any]], str]  # the text to answer a request body with

BREAK = object()
FAULTS = ("429", "500", "reset", "stall", "malformed", "empty", "cut")

DEFAULT_TEXT = (
    "Let me work through this one step at a time. First I write down what is given, then I combine the quantities "
    "as the question asks, and at the end I check the result against the question.\n" * 4 + "ANSWER: 18"
)


class Plan:
    """How the server behaves."""

    def __init__(
        self,
        *,
        latency: float = 0.0,
        answer: Answer | None = None,
        text: str = DEFAULT_TEXT,
        faults: dict[str, float] | None = None,
        retry_after: float = 0.05,
        seed: int = 0,
        capacity: int | None = None,
        status: Callable[[dict[str, Any]], tuple[int, dict[str, Any]] | None] | None = None,
        hold: bool = False,
        events: Callable[[dict[str, Any]], Sequence[object]] | None = None,
        event_delay: float = 0.0,
        tokens: int = 0,
        writes: int = 1,
    ) -> None:
        self.latency = latency
        self.answer = answer
        self.text = text
        self.faults = faults or {}
        self.retry_after = retry_after
        self.random = random.Random(seed)
        self.capacity = capacity  # with more than this in flight it answers 429
        self.status = status  # a status and body to answer a request with, instead of an answer
        self.hold = hold  # no answer before `Loopback.release`
        self.events = events
        """The events of a request that asks for a stream, each with its own write: JSON, or text as it is; `BREAK` hangs up."""
        self.event_delay = event_delay
        self.bursts = _bursts(text, tokens, writes) if tokens else []
        """The text as so many events, in so many writes: for measurements, encoded once."""
        # Encoded once: the server's work must not hide the client's.
        self.fixed = self.encode(text, "loopback") if answer is None else b""

    def encode(self, text: str, model: str) -> bytes:
        body = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1700000000,
            "model": model,
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": text}, "text": text, "finish_reason": "stop"}
            ],
            "usage": {"prompt_tokens": 200, "completion_tokens": max(1, len(text) // 4), "total_tokens": 0},
        }
        return json.dumps(body).encode()

    def draw(self) -> str | None:
        """The fault of this request, if it is to have one."""
        point = self.random.random()
        for fault, share in self.faults.items():
            point -= share
            if point < 0:
                return fault
        return None


def _bursts(text: str, tokens: int, writes: int) -> list[bytes]:
    """A stream as vLLM sends it, an event a token, cut into chunks of HTTP."""
    size = max(1, len(text) // tokens)
    letters = [text[at : at + size] for at in range(0, len(text), size)]
    about = {
        "id": "chatcmpl-0123456789abcdef0123456789abcdef",
        "object": "chat.completion.chunk",
        "created": 1700000000,
    }
    about["model"] = "loopback"
    choices = [{"index": 0, "delta": {"content": part}, "logprobs": None, "finish_reason": None} for part in letters]
    choices.append({"index": 0, "delta": {"content": ""}, "logprobs": None, "finish_reason": "stop"})
    events = [{**about, "choices": [choice]} for choice in choices]
    events.append({**about, "choices": [], "usage": {"prompt_tokens": 200, "completion_tokens": len(letters)}})
    lines = [f"data: {json.dumps(event)}\n\n".encode() for event in events] + [b"data: [DONE]\n\n"]
    # The last three (finish reason, usage, end) go with the last token, so that 1,000 tokens can take 1,000 writes.
    lines[-4:] = [b"".join(lines[-4:])]
    step = -(-len(lines) // writes)
    chunks = [b"".join(lines[at : at + step]) for at in range(0, len(lines), step)]
    return [f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n" for chunk in chunks]


class _Connection(asyncio.Protocol):
    def __init__(self, server: Loopback) -> None:
        self._server = server
        self._plan = server.plan
        self._data = bytearray()
        self._transport: asyncio.Transport | None = None
        self._waiting = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.connections.add(transport)

    def connection_lost(self, _: Exception | None) -> None:
        if self._transport is not None:
            self._server.connections.discard(self._transport)
        self._server.in_flight -= self._waiting
        self._waiting = 0

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._data[:end]).lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self._data) < end + 4 + length:
                return
            body = bytes(self._data[end + 4 : end + 4 + length])
            del self._data[: end + 4 + length]
            self._ask(head, body)

    def _ask(self, head: bytes, body: bytes) -> None:
        server, plan = self._server, self._plan
        server.requests += 1
        if head.startswith(b"get "):  # a health check or a list of models
            self._send(b'{"object":"list","data":[{"id":"loopback","object":"model"}]}')
            return
        server.in_flight += 1
        self._waiting += 1
        server.most_in_flight = max(server.most_in_flight, server.in_flight)
        if server.seen is not None:
            server.seen.append((head, body))
        asked: dict[str, Any] = json.loads(body) if plan.answer or plan.status or plan.events or server.count else {}
        if server.count:
            server.asked[server.identity(asked)] += 1
        if plan.bursts and b'"stream":true' in body:
            asyncio.get_running_loop().call_later(plan.latency, self._burst, 0)
            return
        fault = plan.draw() if plan.faults else None
        if plan.capacity is not None and server.in_flight > plan.capacity:
            fault = "429"
        refusal = plan.status(asked) if plan.status else None
        loop = asyncio.get_running_loop()
        if refusal is not None:
            loop.call_soon(self._refuse, *refusal)
        elif fault is not None:
            server.faulted[fault] += 1
            self._misbehave(fault, asked)
        else:
            if plan.events is not None and asked.get("stream"):
                self._send(b"", headers="Transfer-Encoding: chunked\r\n", kind="text/event-stream")
                self._stream(list(plan.events(asked)), asked)
                return
            answer = self._body(asked)
            if plan.hold:
                server.held.append(partial(self._answer, answer, asked))
            elif plan.latency:
                loop.call_later(plan.latency, self._answer, answer, asked)
            else:
                self._answer(answer, asked)

    def _body(self, asked: dict[str, Any]) -> bytes:
        plan = self._plan
        return plan.encode(plan.answer(asked), str(asked.get("model"))) if plan.answer else plan.fixed

    def _answer(self, body: bytes, asked: dict[str, Any]) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._done()
        if self._server.count:
            self._server.answered[self._server.identity(asked)] += 1
        self._send(body)

    def _stream(self, events: list[object], asked: dict[str, Any]) -> None:
        assert self._transport is not None
        if self._transport.is_closing():
            return
        if events and events[0] == BREAK:
            self._done()
            self._transport.abort()
            return
        if not events:
            self._done()
            if self._server.count:
                self._server.answered[self._server.identity(asked)] += 1
            self._transport.write(b"0\r\n\r\n")
            return
        first, *rest = events
        data = first if isinstance(first, str) else f"data: {json.dumps(first)}\n\n"
        self._transport.write(f"{len(data.encode()):x}\r\n{data}\r\n".encode())
        asyncio.get_running_loop().call_later(self._plan.event_delay, self._stream, rest, asked)

    def _burst(self, number: int) -> None:
        assert self._transport is not None
        if self._transport.is_closing():
            return
        if number == 0:
            self._send(b"", headers="Transfer-Encoding: chunked\r\n", kind="text/event-stream")
        self._transport.write(self._plan.bursts[number])
        if number + 1 == len(self._plan.bursts):
            self._done()
            self._transport.write(b"0\r\n\r\n")
        else:
            asyncio.get_running_loop().call_later(self._plan.event_delay, self._burst, number + 1)

    def _refuse(self, status: int, body: dict[str, Any]) -> None:
        self._done()
        self._send(json.dumps(body).encode(), f"{status} Refused")

    def _misbehave(self, fault: str, asked: dict[str, Any]) -> None:
        assert self._transport is not None
        if fault == "stall":
            return  # never answers; the client must hang up
        self._done()
        if fault == "429":
            headers = f"Retry-After: {self._plan.retry_after:g}\r\n"
            self._send(b'{"error":{"message":"slow down"}}', "429 Too Many Requests", headers)
        elif fault == "500":
            self._send(b'{"error":{"message":"out of luck"}}', "500 Internal Server Error")
        elif fault == "reset":
            self._transport.abort()
        elif fault == "malformed":
            self._send(b"<html>Bad gateway, but politely</html>")
        elif fault == "empty":
            self._send(b'{"id":"x","choices":[]}')
        elif fault == "cut":  # a whole HTTP body with half a JSON document in it
            body = self._body(asked)
            self._send(body[: len(body) // 2])
        else:
            raise ValueError(f"no fault {fault!r}; there are {', '.join(FAULTS)}")

    def _done(self) -> None:
        self._server.in_flight -= 1
        self._waiting -= 1

    def _send(self, body: bytes, status: str = "200 OK", headers: str = "", kind: str = "application/json") -> None:
        assert self._transport is not None
        if not self._transport.is_closing():
            length = "" if "Transfer-Encoding" in headers else f"Content-Length: {len(body)}\r\n"
            head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{headers}{length}\r\n"
            self._transport.write(head.encode() + body)


class Loopback:
    """The server in a thread: `with Loopback(Plan(...)) as server: … server.url`."""

    def __init__(self, plan: Plan | None = None, *, count: bool = False, keep: bool = False, port: int = 0) -> None:
        self.plan = plan or Plan()
        self.count = count
        """Count by (prompt, seed) what was asked and what was answered."""
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.faulted: Counter[str] = Counter()
        self.requests = self.in_flight = self.most_in_flight = 0
        self.seen: list[tuple[bytes, bytes]] | None = [] if keep else None
        """Every request as it arrived, head and body, when it is to be kept."""
        self.connections: set[asyncio.Transport] = set()
        self.held: list[Callable[[], None]] = []
        self.port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @staticmethod
    def identity(asked: dict[str, Any]) -> str:
        """What makes a request the same question: its prompt and its seed."""
        return json.dumps([asked.get("messages", asked.get("prompt")), asked.get("seed")])

    @property
    def url(self) -> str:
        """The base address for `--base-url`."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve(ready.set)), daemon=True)
        self._thread.start()
        assert ready.wait(200)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def release(self) -> None:
        """Answer what `Plan(hold=True)` held back, and from now on everything at once."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._release)

    def _release(self) -> None:
        self.plan.hold = False
        for answer in self.held:
            answer()
        self.held.clear()

    def stop(self) -> None:
        """Hang up on everybody and stop listening; a second time changes nothing."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(10)
            self._loop = None

    async def serve(self, ready: Callable[[], None]) -> None:
        """Serve until stopped."""
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        listening = socket.create_server(("127.0.0.1", self.port), backlog=4096)
        self.port = listening.getsockname()[1]
        server = await self._loop.create_server(lambda: _Connection(self), sock=listening)
        ready()
        await self._stop.wait()
        server.close()
        for transport in list(self.connections):
            transport.abort()


def main() -> None:
    """Serve from the command line until killed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--size", type=int, help="characters of each answer")
    parser.add_argument("--tokens", type=int, default=0, help="events of each streamed answer")
    parser.add_argument("--writes", type=int, default=1, help="and the writes that send them")
    parser.add_argument("--event-delay", type=float, default=0.0, help="seconds between two writes")
    parser.add_argument("--fault", action="append", default=[], metavar="KIND=SHARE", help=", ".join(FAULTS))
    options = parser.parse_args()
    faults = {kind: float(share) for kind, _, share in (fault.partition("=") for fault in options.fault)}
    text = DEFAULT_TEXT
    if options.size:
        text = (DEFAULT_TEXT * (options.size // len(DEFAULT_TEXT) + 1))[-options.size :]
    plan = Plan(
        latency=options.latency,
        text=text,
        faults=faults,
        tokens=options.tokens,
        writes=options.writes,
        event_delay=options.event_delay,
    )
    server = Loopback(plan, port=options.port)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(server.serve(lambda: print(server.url, flush=True)))


if __name__ == "__main__":
    main()
