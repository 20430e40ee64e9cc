"""Server-sent events: fold a streamed answer into the JSON that the same server sends without a stream.

Code that reads an answer therefore need not know how it arrived. A stream that breaks off is a failed attempt, never
half an answer. Events are decoded in groups: one by one they would cost more than the rest of the request.
"""

from __future__ import annotations

import asyncio
import re
import string
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any

import aiohttp
import msgspec

from markscheme.models.base import RequestFailed
from markscheme.models.bodies import decode, pieces
from markscheme.models.failures import failed_body, malformed
from markscheme.models.fields import as_object

TYPE = "text/event-stream"
FOLD_AT = 2**17  # bytes of events collected before they are folded
LARGEST_STREAM = 2**29  # most bytes of a whole stream, which is never held in memory; a chat token takes 200 to 300
# Most characters of text in a stream: two million tokens, several times what any model writes.
LARGEST_TEXT = 2**24
MOST_RUNS = 8  # most kinds of events in one portion that are merged before decoding
LONGEST_GAP = 100  # most bytes between two events: a blank line and the name of the second
# Pause between reads of a stream whose events arrive one by one: this share of the time so far, up to a limit in
# seconds. Waking up for every event costs more than everything else; meanwhile the packets wait in the kernel. Pauses end
# at multiples of TICK, so that many streams are read in one iteration of the event loop.
REST, LONGEST_REST, TICK = 0.1, 0.5, 0.02
SMALL = 2**15  # bytes; larger pieces are read at once
DEEPEST = 6  # most nested objects that are merged piece by piece: a tool call in a list in a delta has four

_TOKEN = re.compile(rb'"(?:content|text|reasoning|reasoning_content|thinking|arguments|partial_json|delta)": ?"[^"]')
# What may follow a text: a list, an object, another text of the same object. Names after it (`"model"`) are repeated in
# every event.
_ADDS_UP = re.compile(rb"""[\[{]|^[^}]*": ?"[^"]|"text": ?"[^"]""")
# what may precede a text: another text of the same object
_OTHER = re.compile(rb'"(?!(?:type|role|id|name)")\w+": ?"[^"]')
_BODY = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*')
_PIECE = re.compile(
    rb'"(?:content|reasoning|reasoning_content|text|thinking|partial_json)": ?"([^"\\]*(?:\\.[^"\\]*)*)"'
)
_NAMES = {"id", "type", "role", "name"}  # fields that are sent once, or repeated with every piece
TEXTS = ("content", "reasoning_content", "reasoning", "text")  # what a token of a chat or a completion adds to
_DIGITS = string.digits + string.ascii_lowercase  # one character per event of a stream: the length of its text
_AS_DIGITS = _DIGITS.encode().ljust(256, b"-")


class Fold(ABC):
    """Assembles the events of one answer."""

    unneeded: re.Pattern[bytes] | None = None  # lines that only repeat what a later event contains
    keeps_lengths = False  # whether merged events record the length of the text of each

    def __init__(self) -> None:
        self.size = 0
        self.ended = False

    def take(self, events: bytes) -> None:
        """Fold the next events, given as whole lines of the stream."""
        needed = self.unneeded.sub(b"", events) if self.unneeded else events
        lines = condensed(needed, lengths=self.keeps_lengths).split(b"\n")
        data = [line[5:].strip() for line in lines if line.startswith(b"data:")]
        written = [one for one in data if one and one != b"[DONE]"]
        self.ended = self.ended or (len(written) < len(data) and b"[DONE]" in data)
        try:
            decoded = msgspec.json.decode(b"[" + b",".join(written) + b"]")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            decoded = [decode(one) for one in written]
        for event in decoded:
            if isinstance(event, dict):
                if event.get("error"):
                    raise failed_body(event, None)
                self.add(event)
        if self.size > LARGEST_TEXT:
            raise malformed(f"the stream contains more than {LARGEST_TEXT >> 20} million characters")

    @abstractmethod
    def add(self, event: dict[str, Any]) -> None:
        """Fold one event; may raise `KeyError` and similar if its form is wrong."""

    @abstractmethod
    def answer(self) -> dict[str, Any]:
        """Return everything, in the form of an answer that was not streamed."""

    def merge(self, into: dict[str, Any], delta: dict[str, Any], depth: int = 0) -> None:
        """Add a piece: texts grow, and list items with an `index` grow separately."""
        for name, value in delta.items():
            if isinstance(value, str) and name not in _NAMES:
                self.size += len(value)
                into.setdefault(name, _Pieces()).append(value)
            elif isinstance(value, list):
                items = into.setdefault(name, [])
                self.size += len(value)
                for item in value:
                    at = item.pop("index", None) if isinstance(item, dict) else None
                    if type(at) is not int or depth > DEEPEST or not 0 <= at <= len(items):
                        items.append(item)
                        continue
                    if at == len(items):
                        items.append({})
                    self.merge(items[at], item, depth + 1)
            elif isinstance(value, dict) and depth < DEEPEST:
                self.merge(into.setdefault(name, {}), value, depth + 1)
            elif value not in (None, ""):
                into[name] = value


def condensed(events: bytes, *, lengths: bool = False) -> bytes:
    """Merge each run of events that differ only in one piece of text into one event with all of its text.

    An answer of 1,000 tokens is 1,000 events of 200 bytes, of which four carry information. The bytes between the texts
    of two such events are always the same and are removed without decoding, at a fifth of the cost. With `lengths`, the
    merged event has the length of each text but the last in its field `event_lengths`.
    """
    at = 0
    for _ in range(MOST_RUNS):
        found = _PIECE.search(events, at)
        end = -1 if found is None else events.find(b"\n", found.end())
        if found is None or end < 0:
            break
        text = found.start(1)
        before = events[events.rfind(b"\n", 0, text) + 1 : text]
        following = events.find(before, end, end + len(before) + LONGEST_GAP)
        after = events[found.end(1) : end]
        alike = following >= 0 and b"data:" not in events[end:following] and before.count(b"[") < 2
        if alike and not _ADDS_UP.search(after) and not _OTHER.search(before, before.rfind(b"{")):
            name = events[found.start() : text]
            between = events[found.end(1) : following] + before.removesuffix(name)
            texts, rest = _run(events[text:].split(name), name, between)
            field = b'"event_lengths":"%b",' % _written_lengths(texts) if lengths else b""
            events = b"".join([events[: found.start()], field, name, *texts, rest])
            text += len(field)
        at = events.find(b"\n", text)
    return events


def _written_lengths(texts: list[bytes]) -> bytes:
    """Return the length of each text in characters as one digit each; `-` if that is not possible."""
    together = b"".join(texts)
    try:
        if not together.isascii() or b"\\" in together:
            return bytes(len(msgspec.json.decode(b'"%b"' % text)) for text in texts).translate(_AS_DIGITS)
        return bytes(map(len, texts)).translate(_AS_DIGITS)
    except ValueError:  # a text that is not JSON, or longer than a byte can say
        return b"-"


def _run(parts: list[bytes], name: bytes, between: bytes) -> tuple[list[bytes], bytes]:
    """Return the texts of a run but the last, and everything after them; `parts` are split at the field's name."""
    length = len(between)
    texts = [part[:-length] for part in parts[:-1]]
    if texts and between.join(texts) + between != b"".join(parts[:-1]):  # a different event comes in between
        own = (part.endswith(between) for part in parts)
        texts = texts[: next((number for number, same in enumerate(own) if not same), len(texts))]
    if b'"' in b"".join(texts):  # part of a text, or the end of one with something else after it
        whole = (_BODY.fullmatch(text) for text in texts)
        texts = texts[: next((number for number, same in enumerate(whole) if not same), len(texts))]
    return texts, name.join(parts[len(texts) :])


class ChatFold(Fold):
    """Folds chat completions and plain completions."""

    keeps_lengths = True

    def __init__(self) -> None:
        super().__init__()
        self._about: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {}

    def add(self, event: dict[str, Any]) -> None:
        for name in ("model", "usage"):
            if event.get(name):
                self._about[name] = event[name]
        for choice in event.get("choices") or ():
            at = choice.get("index") or 0
            if at not in self._choices and len(self._choices) > 4096:
                raise malformed("the stream has thousands of choices")
            into = self._choices.setdefault(at, {"message": {}})
            delta = choice.get("delta") or {}
            self.merge(into, {"event_lengths": _event_lengths(delta) + _event_lengths(choice)})
            self.merge(into["message"], delta)
            self.merge(into, {name: choice[name] for name in ("text", "logprobs") if choice.get(name)})
            into["finish_reason"] = choice.get("finish_reason") or into.get("finish_reason")

    def answer(self) -> dict[str, Any]:
        choices = [whole(choice) for _, choice in sorted(self._choices.items())]
        if not self.ended and not (choices and all(choice["finish_reason"] for choice in choices)):
            raise broken_off()
        return {**self._about, "choices": [{"text": "", **choice} for choice in choices]}


def _event_lengths(said: dict[str, Any]) -> str:
    """Remove and return the lengths of the texts that an event, or a run of events, adds."""
    before = said.pop("event_lengths", "")
    texts = [text for name in TEXTS if (text := said.get(name)) and isinstance(text, str)]
    if not texts and not before:
        return ""
    try:
        last = len(texts[0]) - sum(map(_DIGITS.index, before))
        return (before + _DIGITS[last]).replace("0", "") if len(texts) == 1 and last >= 0 else "-"
    except (IndexError, ValueError, TypeError):
        return "-"


class MessageFold(Fold):
    """Folds Anthropic's messages."""

    def __init__(self) -> None:
        super().__init__()
        self._message: dict[str, Any] = {}
        self._blocks: list[dict[str, Any]] = []

    def add(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "message_start":
            self._message = event["message"]
        elif kind == "content_block_start":
            self._blocks.append({})
            self.merge(self._blocks[event["index"]], event["content_block"])
        elif kind == "content_block_delta":
            piece = {name: value for name, value in event["delta"].items() if name != "type"}
            if "citation" in piece:
                piece = {"citations": [piece["citation"]]}
            self.merge(self._blocks[event["index"]], piece)
        elif kind == "message_delta":
            usage = {**as_object(self._message.get("usage")), **as_object(event.get("usage"))}
            self._message = {**self._message, **event["delta"], "usage": usage}
        elif kind == "message_stop":
            self.ended = True

    def answer(self) -> dict[str, Any]:
        if not self.ended:
            raise broken_off()
        blocks = [whole(block) for block in self._blocks]
        for block in blocks:
            if (written := block.pop("partial_json", None)) is not None:
                try:
                    block["input"] = msgspec.json.decode(written)
                except (msgspec.DecodeError, RecursionError):
                    block["input"] = written
        return {**self._message, "content": blocks}


class Stream:
    """One streamed request: its fold and the time of its first token."""

    def __init__(self, fold: Callable[[], Fold]) -> None:
        self._fold = fold
        self.first_token: float | None = None

    async def read(self, answer: aiohttp.ClientResponse, sent: float) -> dict[str, Any]:
        """Read the whole answer to a request sent at `sent` (`time.monotonic()`); raise `RequestFailed`."""
        fold, read = self._fold(), 0
        kept: list[bytes] = []
        size, last = 0, sent
        self.first_token = None
        if type(answer.content) is aiohttp.StreamReader:
            answer.content.__class__ = _Joined
        try:
            async for piece in pieces(answer):
                read += len(piece)
                size += len(piece)
                kept.append(piece)
                if self.first_token is None and _TOKEN.search(piece):
                    self.first_token = round(time.monotonic() - sent, 4)
                if size > FOLD_AT and b"\n" in piece:
                    together = b"".join(kept)
                    cut = together.rfind(b"\n") + 1
                    fold.take(together[:cut])
                    kept, size = [together[cut:]], len(together) - cut
                last = await _rested(answer, sent, last) if self.first_token and len(piece) < SMALL else last
                if read > LARGEST_STREAM or size > LARGEST_TEXT:
                    raise malformed(f"the stream is longer than {LARGEST_STREAM >> 20} MB, or has an endless line")
            fold.take(b"".join(kept))
            return fold.answer()
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise malformed("an event of the stream does not have the documented form") from None


async def _rested(answer: aiohttp.ClientResponse, sent: float, last: float) -> float:
    """Pause to let events gather if the last ones came quickly; return the time from which to wait for the next."""
    now = time.monotonic()
    rest = min(REST * (now - sent), LONGEST_REST)
    transport = answer.connection and answer.connection.transport  # None once the answer is complete
    if not transport or now - last > rest or not transport.is_reading():
        return now
    transport.pause_reading()
    try:
        await asyncio.sleep(TICK - (now + rest) % TICK + rest)
    finally:
        transport.resume_reading()
    return time.monotonic()


class _Joined(aiohttp.StreamReader):
    """Joins everything received into one piece before returning it: aiohttp takes 4 µs for each, and chunks are events.

    It changes nothing in versions of aiohttp that store chunks differently.
    """

    __slots__ = ()

    def _read_nowait(self, n: int) -> bytes:
        buffer = getattr(self, "_buffer", None)
        if isinstance(buffer, deque) and len(buffer) > 1 and not getattr(self, "_buffer_offset", 1):
            together = b"".join(buffer)
            buffer.clear()
            buffer.append(together)
        return super()._read_nowait(n)

    def begin_http_chunk_receiving(self) -> None:
        """Ignore chunk boundaries, which only `readchunk` needs."""

    end_http_chunk_receiving = begin_http_chunk_receiving


class _Pieces(list[str]):
    """The pieces of a growing text, joined once at the end."""


def whole(value: Any) -> Any:
    """Return a merged value with its texts joined."""
    if isinstance(value, _Pieces):
        return "".join(value)
    if isinstance(value, dict):
        return {name: whole(item) if isinstance(item, dict | list) else item for name, item in value.items()}
    return [whole(item) if isinstance(item, dict) else item for item in value]


def broken_off() -> RequestFailed:
    """Return the failure of a stream that ended cleanly before the answer did."""
    return RequestFailed("connection", "the stream broke off before the answer had ended", retryable=True)
