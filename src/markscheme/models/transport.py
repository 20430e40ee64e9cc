"""One POST of JSON, as cheaply as Python allows: the HTTP part that the backends share.

aiohttp, because it is the cheapest client by far (docs/performance/overhead.md). It does not try again and does not
bound the number of requests: both are the scheduler's business. Failures come out as `RequestFailed`, free of secrets.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec
from yarl import URL

from markscheme.errors import UsageError
from markscheme.models.base import RequestFailed
from markscheme.models.failures import failed_body, failed_status, malformed
from markscheme.models.replicas import Replicas
from markscheme.models.secrets import Scrubber, hide_url

CONNECT_TIMEOUT = 30.0
KEEP_IDLE = 4.0
"""Seconds an idle connection is kept: less than the 5 s after which uvicorn (vLLM, SGLang …) closes it under us."""
LARGEST_BODY = 64 * 2**20
"""Bytes of an answer that are read: 32,000 tokens with log-probabilities fit, a server gone mad does not fill memory."""

_PROBES = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"""A generation may be silent for half an hour. Probes keep its connection alive and notice a dead host in two minutes."""


class Transport:
    """Posts to one or more servers. Made anywhere, used inside an event loop."""

    def __init__(
        self,
        urls: Sequence[str],
        headers: Mapping[str, str],
        key_variable: str | None = None,
        secrets: Iterable[str] = (),
    ) -> None:
        for url in urls:
            if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
                raise UsageError(f"{hide_url(url)!r} is not an address; it should be like http://localhost:8000/v1")
        self._replicas = Replicas(urls)
        self._urls = {url: URL(url) for url in urls}
        self._proxies = {url: _proxy(url) for url in urls}
        self._headers = {"Content-Type": "application/json", **headers}
        self._key_variable = key_variable
        self._scrub = Scrubber(urls, [os.environ.get(key_variable or "", "").strip(), *secrets])
        self._session: aiohttp.ClientSession | None = None

    async def post(self, body: bytes) -> Any:
        """The decoded JSON answer; raises `RequestFailed`."""
        replica = self._replicas.choose()
        replica.in_flight += 1
        try:
            answer = await self._exchange(replica.url, body)
        except asyncio.CancelledError:  # the scheduler's time limit: this server kept us waiting
            self._replicas.failed(replica, RequestFailed("timeout", "", retryable=True))
            raise
        except RequestFailed as failure:
            self._replicas.failed(replica, failure)
            failure.args = (self._scrub(str(failure)),)
            raise
        finally:
            replica.in_flight -= 1
        self._replicas.answered(replica)
        return answer

    async def _exchange(self, url: str, body: bytes) -> Any:
        session = self._session or self._open()
        try:
            async with session.post(
                self._urls[url], data=body, allow_redirects=False, proxy=self._proxies[url]
            ) as answer:
                content = await _read(answer)
        except (aiohttp.ClientError, OSError) as error:  # TimeoutError is an OSError
            raise _failed_connection(hide_url(url), error) from None
        if answer.status != 200:
            raise failed_status(answer.status, content, answer.headers, self._key_variable)
        return decode(content)

    def unusable(self, answer: Any) -> RequestFailed:
        """The failure that an answer of the wrong shape stands for."""
        failure = failed_body(answer, self._key_variable)
        failure.args = (self._scrub(str(failure)),)
        return failure

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()

    def _open(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=0, keepalive_timeout=KEEP_IDLE, ttl_dns_cache=300, socket_factory=_socket
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT),
        )
        return self._session


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    size = answer.content_length
    if size is not None and size <= LARGEST_BODY and "Content-Encoding" not in answer.headers:
        return await answer.read()
    chunks, size = [], 0
    async for chunk in answer.content.iter_any():
        chunks.append(chunk)
        size += len(chunk)
        if size > LARGEST_BODY:
            raise malformed(f"the answer is longer than {LARGEST_BODY >> 20} MB")
    return b"".join(chunks)


def decode(content: bytes) -> Any:
    """JSON as servers write it: half of a surrogate pair, which strict readers refuse, becomes a replacement mark."""
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        text = content.decode("utf-8", "replace")
        return msgspec.json.decode(json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError, msgspec.DecodeError):
        shown = content[:200].decode("utf-8", "replace")
        raise malformed(f"the answer is not JSON: {shown!r}" if content else "the answer is empty") from None


def _failed_connection(url: str, error: Exception) -> RequestFailed:
    if isinstance(error, aiohttp.ClientPayloadError | aiohttp.ServerDisconnectedError):
        return RequestFailed("connection", f"{url} closed the connection in mid-answer", retryable=True)
    if isinstance(error, TimeoutError):
        return RequestFailed("timeout", f"no connection to {url} within {CONNECT_TIMEOUT:g} s", retryable=True)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return RequestFailed("connection", f"the host of {url} is not known", retryable=True)
    if isinstance(error, aiohttp.InvalidURL | aiohttp.ClientSSLError):
        return RequestFailed("connection", f"cannot talk to {url}: {error}", retryable=False, fatal=True)
    if isinstance(error, aiohttp.ClientConnectorError):
        reason = os.strerror(error.os_error.errno) if error.os_error.errno else str(error)
        return RequestFailed("connection", f"cannot connect to {url}: {reason}", retryable=True)
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return RequestFailed("connection", f"the connection to {url} broke: {reason}", retryable=True)


def _proxy(url: str) -> str | None:
    """The proxy that the environment names for this address, looked up once: aiohttp would do so for each request."""
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)


def _socket(address: Any) -> socket.socket:
    family, kind, protocol = address[:3]
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBES.items():
        option = getattr(socket, name, None)
        if option is not None:  # macOS and Windows know only some of them
            made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made
