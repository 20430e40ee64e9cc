"""Server-sent events: fold a streamed answer into the JSON that the same server sends without a stream.

Code that reads an answer therefore need not know how it arrived. A stream that breaks off is a failed attempt, never
half an answer. Events are decoded in groups: one by one they would cost more than the rest of the request.
"""

from __future__ import annotations

import re
import string
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from typing import Any

import aiohttp
import msgspec

from markscheme.models.base import RequestFailed
from markscheme.models.bodies import decode, pieces
from markscheme.models.failures import failed_body, malformed
from markscheme.models.fields import as_object
from markscheme.models.gathering import Gathering

TYPE = "text/event-stream"
FOLD_AT = 2**16  # bytes of events collected before they are folded; memory for larger pieces is slow to get
LARGEST_STREAM = 2**29  # most bytes of a whole stream, which is never held in memory; a chat token takes 200 to 300
# Most characters of text in a stream: two million tokens, several times what any model writes.
LARGEST_TEXT = 2**24
MOST_RUNS = 8  # most kinds of events in one portion that are merged before decoding
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
DIGITS = string.digits + string.ascii_lowercase  # one character per event of a stream: the length of its text
_AS_DIGITS = DIGITS.encode().ljust(256, b"-")


class Fold(ABC):
    """Assembles the events of one answer."""

    unneeded: re.Pattern[bytes] | None = None  # lines that only repeat what a later event contains
    keeps_lengths = False  # whether merged events record the length of the text of each

    def __init__(self) -> None:
        self.size = 0
        self.ended = False

    def take(self, pieces: Sequence[bytes]) -> None:
        """Fold the next events, given as whole lines of the stream. It is fastest if each piece is an event."""
        between = b""
        if self.unneeded or (pieces and _several(pieces[len(pieces) // 2])):  # presumably, so do most others
            together = b"".join(pieces)
            if self.unneeded:
                together = self.unneeded.sub(b"", together)
            pieces, between = list(filter(None, together.split(b"\n"))), b"\n"
        lines = between.join(condensed(pieces, lengths=self.keeps_lengths)).split(b"\n")
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


def _several(piece: bytes) -> bool:
    """True if a piece has more than one event."""
    return 0 <= piece.find(b"\n\n") < len(piece) - 2


def condensed(lines: Sequence[bytes], *, lengths: bool = False) -> list[bytes]:
    """Merge each run of events that differ only in one piece of text into one event with all of its text.

    An answer of 1,000 tokens is 1,000 events of 200 bytes, of which four carry information. What surrounds the texts is
    always the same and is removed without decoding, at a fifth of the cost. With `lengths`, the merged event has the
    length of each text in its field `event_lengths`.
    """
    merged: list[bytes] = []
    at = 0
    for _ in range(MOST_RUNS):
        searched = ((place, _PIECE.search(lines[place])) for place in range(at, len(lines)))
        start, found = next((one for one in searched if one[1]), (len(lines), None))
        merged += lines[at:start]
        at = start
        if found is None:
            break
        first = lines[at]
        texts = _run(lines[at:], first[: found.start(1)], first[found.end(1) :])
        if len(texts) > 1:
            texts, written = _written_lengths(texts)
            field = b'"event_lengths":"%b",' % written if lengths else b""
            first = b"".join(
                [first[: found.start()], field, first[found.start() : found.start(1)], *texts, first[found.end(1) :]]
            )
        merged.append(first)
        at += max(1, len(texts))
    return [*merged, *lines[at:]]


def _run(lines: Sequence[bytes], before: bytes, after: bytes) -> list[bytes]:
    """Return the texts of the leading lines that begin with `before` and end with `after`."""
    if before.count(b"[") > 1 or _ADDS_UP.search(after) or _OTHER.search(before, before.rfind(b"{")):
        return []
    size, left, right = len(before) + len(after), len(before), -len(after)

    def differs(number: int) -> bool:
        line = lines[number]
        return len(line) < size or not (line.startswith(before) and line.endswith(after))

    end = next((number + 1 for number in reversed(range(len(lines))) if not differs(number)), 1)
    texts = [line[left:right] for line in lines[:end]]
    together = (after + before).join(texts)
    if len(lines) > 1 and not b"".join(lines[:end]).startswith(together, left):  # faster than to compare each line
        texts = texts[: next(filter(differs, range(end)), end)]
    return texts


def _written_lengths(texts: list[bytes]) -> tuple[list[bytes], bytes]:
    """Return the texts that are whole, and the length of each in characters as one digit; `-` if that is not possible."""
    try:
        decoded = msgspec.json.decode(b'["%b"]' % b'","'.join(texts), type=list[str])
        if len(decoded) == len(texts):
            return texts, bytes(map(len, decoded)).translate(_AS_DIGITS)
    except ValueError:  # half a character, a text that is not JSON, or one longer than a byte can say
        pass
    return list(takewhile(_BODY.fullmatch, texts)), b"-"


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
    merged = said.pop("event_lengths", None)
    if isinstance(merged, str):
        return merged.replace("0", "")
    texts = [text for name in TEXTS if (text := said.get(name)) and isinstance(text, str)]
    if len(texts) == 1 and len(texts[0]) < len(DIGITS):
        return DIGITS[len(texts[0])]
    return "-" if texts else ""


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
        self._new = fold
        self.first_token: float | None = None

    async def read(self, answer: aiohttp.ClientResponse, sent: float) -> dict[str, Any]:
        """Read the whole answer to a request sent at `sent` (`time.monotonic()`); raise `RequestFailed`."""
        self._fold, self._kept = self._new(), list[bytes]()
        self._size = self._read = 0
        self.first_token = None
        gathers = "Content-Encoding" not in answer.headers
        try:
            async for piece in pieces(answer):
                self.take([piece], len(piece))
                if self.first_token is None and _TOKEN.search(piece):
                    self.first_token = round(time.monotonic() - sent, 4)
                    connection = answer.connection  # none once the answer is complete
                    if gathers and connection is not None and isinstance(connection.protocol, Gathering):
                        connection.protocol.gather(sent, partial(self._gathered, answer.content))
            self._fold.take(self._kept)
            return self._fold.answer()
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise malformed("an event of the stream does not have the documented form") from None

    def take(self, pieces: Sequence[bytes], size: int) -> None:
        """Keep the next pieces of the body; fold them if they are many."""
        self._kept += pieces
        self._size += size
        self._read += size
        if self._size > FOLD_AT:
            whole, end, rest = self._kept.pop().rpartition(b"\n")
            if end:
                self._fold.take([*self._kept, whole + end])
                self._kept, self._size = [], len(rest)
            if rest:
                self._kept.append(rest)
        if self._read > LARGEST_STREAM or self._size > LARGEST_TEXT:
            raise malformed(f"the stream is longer than {LARGEST_STREAM >> 20} MB, or has an endless line")

    def _gathered(self, body: aiohttp.StreamReader, pieces: Sequence[bytes], size: int) -> None:
        """Take pieces that arrive while another task reads `body`; an error is raised in that task."""
        try:
            self.take(pieces, size)
        except Exception as error:  # noqa: BLE001 - carried to that task
            body.set_exception(error)


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
