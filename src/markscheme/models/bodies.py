"""Read, decompress and decode the body of an answer, within limits and as leniently as possible.

A body of a few kilobytes can decompress to gigabytes. It is decompressed piece by piece, and a large body waits for its
turn, so the memory of all requests together stays bounded.
"""

from __future__ import annotations

import asyncio
import json
import math
import zlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import msgspec

from markscheme.models.base import RequestFailed
from markscheme.models.failures import malformed, text_of

# Most bytes of an answer: 32,000 tokens with log-probabilities fit, and a broken server cannot fill the memory.
LARGEST_BODY = 64 * 2**20
LARGE_BODY = 2**18  # bytes above which an answer waits for one of a few slots; 64 kB of text are already 16,000 tokens
LARGE_AT_ONCE = 2
PIECE = 2**16
MOST_CONTAINERS = 1_000_000
# More lists and objects than MOST_CONTAINERS must have at least this many bytes each: `[],[],…` takes twenty times its
# length in memory. Log-probabilities have an object and a list in at least 40 bytes.
DENSEST = 18
LONGEST_NUMBER = 300  # digits; we read no longer numbers, and Python takes quadratic time for them


class BodyReader:
    """Reads the answers to all requests of a transport."""

    def __init__(self) -> None:
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)

    async def read(self, answer: aiohttp.ClientResponse) -> bytes:
        """Return the decompressed body; raise `RequestFailed` if it is too long or damaged."""
        packed = "Content-Encoding" in answer.headers
        if not packed and answer.content_length is not None and answer.content_length <= LARGE_BODY:
            return await answer.read()
        content = bytearray()
        async with AsyncExitStack() as place:
            async for piece in pieces(answer):
                if len(content) <= LARGE_BODY < len(content) + len(piece):
                    await place.enter_async_context(self._large)
                content += piece
                if len(content) > LARGEST_BODY:
                    content.clear()  # a failure keeps its frames alive, and they keep the content
                    raise malformed(f"the answer is longer than {LARGEST_BODY >> 20} MB")
        return bytes(content)


def pieces(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Yield the decompressed body piece by piece."""
    packed = "Content-Encoding" in answer.headers
    return _unpacked(answer) if packed else answer.content.iter_chunked(PIECE)


async def body_lines(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Yield the decompressed body line by line."""
    rest = b""
    async for piece in pieces(answer):
        *whole, rest = (rest + piece).split(b"\n")
        for line in filter(None, whole):
            yield line
        if len(rest) > LARGEST_BODY:
            raise malformed("a line of the file is too long")
    if rest.strip():
        yield rest


async def _unpacked(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    coding = answer.headers["Content-Encoding"].strip().lower()
    if coding not in ("gzip", "x-gzip", "deflate", "identity", ""):
        raise malformed(f"the answer is packed as {coding[:40]!r}, which was not asked for")
    unpacker: Any = None  # `zlib` does not export the type of its objects
    async for packed in answer.content.iter_chunked(PIECE):
        rest = packed
        if coding in ("identity", ""):
            yield packed
            continue
        while rest:
            if unpacker is None or unpacker.eof:
                unpacker = _unpacker(coding, rest)
            try:
                piece = unpacker.decompress(rest, PIECE)
            except zlib.error as error:
                raise malformed(f"the answer is packed as {coding}, and that is damaged: {error}") from None
            rest = unpacker.unconsumed_tail or (unpacker.unused_data if unpacker.eof else b"")
            if unpacker.eof and not rest.strip(b"\0"):
                rest = b""
            if piece:
                yield piece
    if unpacker is not None and not unpacker.eof:
        raise malformed("the answer is cut off: its packed form has no end")


def _unpacker(coding: str, start: bytes) -> Any:
    """Return a decompressor. `deflate` means the zlib format, but some servers send the raw one."""
    if coding == "deflate":
        return zlib.decompressobj(zlib.MAX_WBITS if start[0] & 0x0F == 8 else -zlib.MAX_WBITS)
    return zlib.decompressobj(16 + zlib.MAX_WBITS)


def decode(content: bytes) -> Any:
    """Decode JSON as servers write it.

    Strict parsers refuse lone surrogates, a byte order mark, NaN and Infinity, raw line breaks in strings and text
    after the document. The answer was paid for, so a lone surrogate becomes a replacement character and NaN becomes
    `null`.
    """
    containers = content.count(b"[") + content.count(b"{") if len(content) > MOST_CONTAINERS else 0
    if containers > max(MOST_CONTAINERS, len(content) / DENSEST):
        # Asking again would cost the same and give the same.
        raise RequestFailed(
            "malformed", "the answer has millions of lists and objects, and little else", retryable=False
        )
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        text = content.decode(json.detect_encoding(content), "replace")
        lenient = json.dumps(_LENIENT.raw_decode(text.lstrip())[0], ensure_ascii=False)
        return msgspec.json.decode(lenient.encode("utf-8", "replace"))
    except (ValueError, RecursionError, msgspec.DecodeError):
        raise malformed(f"the answer is not JSON: {text_of(content)!r}" if content else "the answer is empty") from None


def _whole(digits: str) -> int | None:
    return int(digits) if len(digits) <= LONGEST_NUMBER else None


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


_LENIENT = json.JSONDecoder(parse_constant=lambda _: None, parse_int=_whole, parse_float=_finite, strict=False)
