"""POST JSON as cheaply as Python allows: the HTTP client that the backends share.

It uses aiohttp, by far the cheapest client (docs/performance/overhead.md). It neither retries nor limits the number of
requests; the scheduler does both. Failures are raised as `RequestFailed`, without secrets.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urljoin

import aiohttp
from yarl import URL

from markscheme.errors import first_line
from markscheme.models.addresses import check_addresses, environment_addresses, proxy_of
from markscheme.models.base import RequestFailed
from markscheme.models.bodies import BodyReader, body_lines, decode
from markscheme.models.failures import failed_body, failed_status, shorten
from markscheme.models.gathering import Clock, Gathering
from markscheme.models.replicas import Replica, Replicas
from markscheme.models.secrets import address_secrets, hide_url
from markscheme.models.streams import TYPE as STREAM_TYPE
from markscheme.models.streams import Stream
from markscheme.redaction import Scrubber, variable

CONNECT_TIMEOUT = 30.0
_JSON = {"Content-Type": "application/json"}
# Seconds to connect, including DNS, before any connection has succeeded, so that a wrong address is noticed early.
FIRST_CONTACT = 7.0
# Seconds to keep an idle connection: less than the 5 s after which uvicorn (vLLM, SGLang …) closes it.
KEEP_IDLE = 4.0
# A generation may be silent for half an hour. Keep-alive probes hold the connection and notice a dead host in two
# minutes.
_PROBES = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}

CALL_AGAIN = (1.0, 5.0, 20.0, 60.0)  # seconds before each retry of requests other than generations

T = TypeVar("T")


class Transport:
    """Posts to one or more servers. Create it anywhere; use it inside an event loop."""

    def __init__(
        self,
        urls: Sequence[str],
        headers: Mapping[str, str],
        key_variable: str | None = None,
        secrets: Iterable[str] = (),
        ending: str = "/v1",
        silence: float | None = None,
    ) -> None:
        check_addresses(urls, ending)
        self._ending = ending
        self._replicas = Replicas(urls)
        self._urls = {url: URL(url) for url in urls}
        self._proxies = {url: proxy_of(url) for url in urls}
        # Only encodings that `BodyReader` decompresses; aiohttp would offer all that are installed.
        self._headers = {"Accept-Encoding": "gzip, deflate", **headers}
        self._key_variable = key_variable
        self._scrub = Scrubber([variable(key_variable or ""), *address_secrets(urls), *secrets])
        # Seconds without a byte after which an attempt fails; without it, the caller decides how long to wait.
        self._usual = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=silence)
        self._earliest = aiohttp.ClientTimeout(total=None, connect=FIRST_CONTACT, sock_read=silence)
        self._session: aiohttp.ClientSession | None = None
        self._first: aiohttp.ClientSession | None = None
        self._reader = BodyReader()
        self.reached = False  # at least one connection has succeeded

    def route(self, key_variable: str | None) -> str:
        """Describe where requests go."""
        first, *others = self._urls
        source = next((f" (from {name})" for name, base in environment_addresses() if first.startswith(base)), "")
        parts = [hide_url(first) + source + (f" and {len(others)} more" if others else "")]
        parts += [f"key from {key_variable}"] if key_variable else []
        parts += [f"proxy {hide_url(proxy)}" for proxy in dict.fromkeys(self._proxies.values()) if proxy]
        return ", ".join(parts)

    async def ask(self, body: bytes, read: Callable[[Any], T], stream: Stream | None = None) -> T:
        """POST the body and return what `read` makes of the decoded JSON; raise `RequestFailed` for any failure.

        `stream` reads a streamed answer; a server that was asked for a stream may still send JSON. `read` may raise
        `KeyError`, `TypeError` and similar if the answer's form is wrong.
        """
        failed: list[tuple[Replica, RequestFailed]] = []
        replica: Replica | None = self._replicas.choose()
        while replica is not None:
            try:
                answer = await self._replicas.asked(replica, self._exchange(replica.url, body, read, stream))
            except RequestFailed as failure:
                failed.append((replica, failure))
                tried = [one for one, _ in failed]
                replica = self._replicas.another(tried) if failure.means.elsewhere else None
            else:
                self._replicas.answered(replica)
                for one, refusal in failed:
                    if refusal.kind == "bad_request":  # not the request's fault after all
                        self._replicas.failed(one, refusal)
                return answer
        raise self._for_people(failed[-1][1]) from None

    async def call(self, method: str, url: str, body: bytes | aiohttp.MultipartWriter | None = None) -> Any:
        """Send one request other than a generation (a file, a batch), with retries; return the decoded answer."""
        headers, delays = _JSON if isinstance(body, bytes) else None, iter(CALL_AGAIN)
        while True:
            try:
                async with self._opened(method, url, data=body, headers=headers) as answer:
                    return decode(await self._reader.read(answer))
            except RequestFailed as failure:
                await self._before_another(failure, method, delays)

    async def upload(self, url: str, fields: Mapping[str, str], name: str, content: bytes) -> Any:
        """Upload a file with form fields; return the decoded answer."""
        form = aiohttp.MultipartWriter("form-data")
        for field, value in fields.items():
            form.append(value).set_content_disposition("form-data", name=field)
        part = form.append(content, {"Content-Type": "application/jsonl"})
        part.set_content_disposition("form-data", name="file", filename=name)
        return await self.call("POST", url, form)

    async def lines(self, url: str) -> AsyncIterator[Any]:
        """Yield each decoded line of a file once, however often the connection breaks."""
        given, delays = 0, iter(CALL_AGAIN)
        while True:
            number = 0
            try:
                async with self._opened("GET", url) as answer:
                    async for line in body_lines(answer):
                        number += 1
                        if number > given:
                            decoded = decode(line)
                            given = number
                            yield decoded
            except RequestFailed as failure:
                await self._before_another(failure, "GET", delays)
            else:
                return

    @asynccontextmanager
    async def _opened(self, method: str, url: str, **options: Any) -> AsyncIterator[aiohttp.ClientResponse]:
        """Open a 2xx answer; errors while reading it are converted, too."""
        session, proxy = self._session or self._open(), next(iter(self._proxies.values()))
        try:
            async with session.request(
                method, url, allow_redirects=False, proxy=proxy, timeout=_CALL, **options
            ) as answer:
                if not 200 <= answer.status < 300:
                    raise self._failed_status(answer, await self._reader.read(answer))
                yield answer
        except (aiohttp.ClientError, OSError) as error:
            raise _failed_connection(hide_url(url), error, self.reached) from None

    async def _before_another(self, failure: RequestFailed, method: str, delays: Iterator[float]) -> None:
        """Wait until a busy or broken server may be asked again; raise the failure if that cannot help."""
        # Repeat a POST only if the server says that it did nothing: a batch that is created twice is paid twice. If no
        # connection ever succeeded, waiting does not help.
        again = failure.retryable and self.reached if method == "GET" else failure.kind in ("rate_limit", "overloaded")
        delay = next(delays, None) if again else None
        if delay is None or failure.asks_too_long:
            raise self._for_people(failure) from None
        await asyncio.sleep(failure.retry_after or delay)

    def read(self, answer: Any, read: Callable[[Any], T]) -> T:
        """Apply `read` to a decoded answer; raise `RequestFailed` if its form is wrong."""
        try:
            return read(answer)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise failed_body(answer, self._key_variable) from None

    def _for_people(self, failure: RequestFailed) -> RequestFailed:
        """Redact the message, then shorten it; in the other order half a key could survive the cut."""
        failure.args = (shorten(self._scrub(str(failure))),)
        failure.__traceback__ = failure.__context__ = None  # its frames hold the answer's body, up to 64 MB each
        if failure.fatal and not self._replicas.all_refuse():  # another server may come back
            failure.fatal, failure.retryable = False, True
        return failure

    async def _exchange(self, url: str, body: bytes, read: Callable[[Any], T], stream: Stream | None) -> T:
        session, sent = self._session or self._open(), time.monotonic()
        try:
            async with session.post(
                self._urls[url],
                data=body,
                headers=_JSON,
                allow_redirects=False,
                proxy=self._proxies[url],
                timeout=self._usual if self.reached else self._earliest,
            ) as answer:
                if stream is not None and answer.status == 200 and answer.content_type == STREAM_TYPE:
                    return self.read(await stream.read(answer, sent), read)
                content = await self._reader.read(answer)
        except aiohttp.SocketTimeoutError:
            silent = f"{hide_url(url)} sent nothing for {self._usual.sock_read:g} s"
            raise RequestFailed("timeout", silent, retryable=True) from None
        except (aiohttp.ClientError, OSError) as error:  # TimeoutError is an OSError
            raise _failed_connection(hide_url(url), error, self.reached) from None
        if not 200 <= answer.status < 300:
            raise self._failed_status(answer, content)
        return self.read(decode(content), read)

    def _failed_status(self, answer: aiohttp.ClientResponse, content: bytes) -> RequestFailed:
        headers: Mapping[str, str] = answer.headers
        if "Location" in headers:  # usually without the host
            with suppress(ValueError):  # or not an address at all
                headers = {**headers, "Location": urljoin(str(answer.url), headers["Location"])}
        failure = failed_status(answer.status, content, headers, self._key_variable)
        if answer.status == 404 and self._ending not in answer.url.path:
            failure.args = (f"perhaps the address should end in {self._ending}: {failure}",)
        return failure

    async def close(self) -> None:
        if self._session is not None and self._session.connector is not None:
            await self._session.connector.close()

    def _open(self) -> aiohttp.ClientSession:
        connector = _Connector(limit=0, keepalive_timeout=KEEP_IDLE, ttl_dns_cache=300, socket_factory=_socket)
        trace = aiohttp.TraceConfig()
        trace.on_connection_create_end.append(self._connected)
        self._session = self._on(connector, [trace])
        return self._session

    async def _connected(self, session: aiohttp.ClientSession, *_: Any) -> None:
        """Note the first connection, then use a session that no longer traces connections, which costs every request."""
        if not self.reached:
            self.reached = True
            self._first = session  # other requests still use it
            self._session = self._on(session.connector, [])

    def _on(self, connector: aiohttp.BaseConnector | None, traces: list[aiohttp.TraceConfig]) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=connector,
            connector_owner=False,
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            trace_configs=traces,
            auto_decompress=False,  # a small answer can hold gigabytes: `BodyReader` decompresses within limits
        )


_CALL = aiohttp.ClientTimeout(total=600, sock_connect=CONNECT_TIMEOUT)


def _failed_connection(url: str, error: Exception, reached: bool) -> RequestFailed:
    """Describe a failed connection; `reached` (whether any connection ever succeeded) determines the time limit."""
    if isinstance(error, aiohttp.ClientPayloadError | aiohttp.ServerDisconnectedError):
        return RequestFailed("connection", f"{url} closed the connection in the middle of an answer", retryable=True)
    if isinstance(error, TimeoutError):
        seconds = CONNECT_TIMEOUT if reached else FIRST_CONTACT
        return RequestFailed("timeout", f"no connection to {url} within {seconds:g} s", retryable=True)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return RequestFailed("connection", f"the host of {url} is not known", retryable=True)
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        reason = getattr(error.certificate_error, "verify_message", "") or str(error.certificate_error)
        sentence = f"{url} has a certificate that is not trusted ({reason}); trust it with SSL_CERT_FILE=FILE.pem"
        return RequestFailed("connection", sentence, retryable=False, fatal=True)
    if isinstance(error, aiohttp.InvalidURL | aiohttp.ClientSSLError):
        return RequestFailed("connection", f"cannot talk to {url}: {error}", retryable=False, fatal=True)
    if isinstance(error, aiohttp.ClientHttpProxyError):
        sentence = f"the proxy refuses to connect to {url}: {error.status} {error.message}"
        return RequestFailed("connection", sentence, retryable=error.status >= 500, fatal=error.status < 500)
    if isinstance(error, aiohttp.ClientConnectorError):
        reason = os.strerror(error.os_error.errno) if error.os_error.errno else str(error)
        through = " (the proxy)" if isinstance(error, aiohttp.ClientProxyConnectionError) else ""
        where = f"{error.host}:{error.port}{through}" if through else url
        return RequestFailed("connection", f"cannot connect to {where}: {reason}", retryable=True)
    if isinstance(error, aiohttp.ClientResponseError):  # its text repeats what was sent
        sentence = f"{url} did not answer in HTTP: {first_line(Exception(error.message))}"
        return RequestFailed("connection", sentence, retryable=True)
    reason = (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
    return RequestFailed("connection", f"the connection to {url} broke: {reason}", retryable=True)


class _Connector(aiohttp.TCPConnector):
    """Makes connections that gather; with an aiohttp that has no `_factory`, usual ones."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory: Any = partial(Gathering, loop=self._loop, clock=Clock(self._loop))


def _socket(address: Any) -> socket.socket:
    family, kind, protocol = address[:3]
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBES.items():
        option = getattr(socket, name, None)
        if option is not None:  # macOS and Windows lack some of them
            made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made
