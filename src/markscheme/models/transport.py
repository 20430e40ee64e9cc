"""One POST of JSON, as cheaply as Python allows: the HTTP part that the backends share.

aiohttp, because it is the cheapest client by far (docs/performance/overhead.md). It does not try again and does not
bound the number of requests: both are the scheduler's business. Failures come out as `RequestFailed`, free of secrets.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec
from yarl import URL

from markscheme.errors import UsageError
from markscheme.models.base import RequestFailed
from markscheme.models.failures import failed_body, failed_status, malformed, shorten, text_of
from markscheme.models.fleet.replicas import ELSEWHERE, Replica, Replicas
from markscheme.models.secrets import Scrubber, hide_url

CONNECT_TIMEOUT = 30.0
KEEP_IDLE = 4.0
"""Seconds an idle connection is kept: less than the 5 s after which uvicorn (vLLM, SGLang …) closes it under us."""
LARGEST_BODY = 64 * 2**20
"""Bytes of an answer that are read: 32,000 tokens with log-probabilities fit, a server gone mad does not fill memory."""

_PROBES = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"""A generation may be silent for half an hour. Probes keep its connection alive and notice a dead host in two minutes."""

T = TypeVar("T")


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

    async def ask(self, body: bytes, read: Callable[[Any], T]) -> T:
        """What `read` makes of the decoded JSON answer; raises `RequestFailed`, the only way out for a failure.

        `read` may stumble (`KeyError`, `TypeError` …) over an answer that has not the promised form.
        """
        failed: list[tuple[Replica, RequestFailed]] = []
        replica: Replica | None = self._replicas.choose()
        while replica is not None:
            try:
                answer = await self._try(replica, body, read)
            except RequestFailed as failure:
                failed.append((replica, failure))
                tried = [one for one, _ in failed]
                replica = self._replicas.another(tried) if failure.kind in ELSEWHERE else None
            else:
                for one, refusal in failed:
                    if refusal.kind == "bad_request":  # not the request's fault, as it turns out
                        self._replicas.failed(one, refusal)
                return answer
        raise self._for_people(failed[-1][1]) from None

    async def _try(self, replica: Replica, body: bytes, read: Callable[[Any], T]) -> T:
        replica.in_flight += 1
        try:
            answer = self._read(await self._exchange(replica.url, body), read)
        except asyncio.CancelledError:  # the scheduler's time limit: this server kept us waiting
            self._replicas.failed(replica, RequestFailed("timeout", "", retryable=True))
            raise
        except RequestFailed as failure:
            if failure.kind != "bad_request":  # which may well be the request's own fault
                self._replicas.failed(replica, failure)
            raise
        finally:
            replica.in_flight -= 1
        self._replicas.answered(replica)
        return answer

    def _read(self, answer: Any, read: Callable[[Any], T]) -> T:
        try:
            return read(answer)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise failed_body(answer, self._key_variable) from None

    def _for_people(self, failure: RequestFailed) -> RequestFailed:
        """Free of secrets, and short: in this order, so that no half of a key is left at the cut."""
        failure.args = (shorten(self._scrub(str(failure))),)
        if failure.fatal and not self._replicas.all_refuse():  # another server may come back
            failure.fatal, failure.retryable = False, True
        return failure

    async def _exchange(self, url: str, body: bytes) -> Any:
        session = self._session or self._open()
        try:
            async with session.post(
                self._urls[url], data=body, allow_redirects=False, proxy=self._proxies[url]
            ) as answer:
                content = await _read(answer)
        except (aiohttp.ClientError, OSError) as error:  # TimeoutError is an OSError
            raise _failed_connection(hide_url(url), error) from None
        if not 200 <= answer.status < 300:
            raise failed_status(answer.status, content, answer.headers, self._key_variable)
        return decode(content)

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
        raise malformed(f"the answer is not JSON: {text_of(content)!r}" if content else "the answer is empty") from None


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
    host = parts.hostname or ""
    # A proxy's loopback is not ours, whether or not `no_proxy` says so.
    if host in ("localhost", "::1") or host.startswith("127.") or proxy_bypass(host):
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
