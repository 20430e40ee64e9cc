"""Refuses requests of other sites' pages, and sets the headers that restrict what a page may load.

A page on the internet can make a browser send requests to localhost, and can point its own name at 127.0.0.1 (DNS
rebinding). So `Host` must be an address or name of this machine, and a request from another site's page is refused.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Awaitable, Callable
from hmac import compare_digest
from ipaddress import ip_address
from urllib.parse import urlsplit

from aiohttp import web

# Content-Security-Policy: nothing inline, nothing from elsewhere.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), clipboard-read=()",
}

# The token travels in a header: addresses are logged, and cookies are sent with forged requests.
TOKEN = "X-Markscheme-Token"

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::[0-9]{1,5})?", re.ASCII)  # a name or address, and a port

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def is_loopback(host: str) -> bool:
    """True if an address can only be reached from this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _place(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:  # half a bracket
        return None


class Guard:
    """Checks the headers of a request; `bound` is the address that the server listens on.

    `posts` are the addresses that accept POST, from a page of this server and with its token.
    """

    def __init__(self, bound: str, posts: frozenset[str] = frozenset(), token: str = "") -> None:
        self._posts, self._token = posts, token
        self._open = not is_loopback(bound)
        self._names = {"localhost", bound.lower()}
        if self._open:
            self._names |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    def refusal(self, request: web.Request) -> str | None:
        """Return why a request is refused, or None."""
        if not self._known(request.headers.get("Host", "")):
            return "This server only answers requests for its own name (a protection against DNS rebinding)."
        origin = request.headers.get("Origin")
        if origin is not None and _place(origin) != request.headers.get("Host"):
            return "This server does not answer requests from other sites."
        site = request.headers.get("Sec-Fetch-Site", "none")
        navigation = request.headers.get("Sec-Fetch-Mode") == "navigate" and request.method == "GET"
        if site not in ("none", "same-origin") and not navigation:
            return "This server does not answer requests from other sites."
        # A browser sends the origin with every POST, and asks before another site's page may send JSON or a header.
        if request.method == "POST" and (origin is None or request.content_type != "application/json"):
            return "Only a page of this server may send this request."
        given = request.headers.get(TOKEN, "").encode("utf-8", "replace")
        if request.method == "POST" and not (self._token and compare_digest(given, self._token.encode())):
            return "This request needs the token in the address that the command printed."
        return None

    def _known(self, host: str) -> bool:
        parts = _HOST.fullmatch(host)  # `urlsplit` reads `127.0.0.1:8000.evil.com` as 127.0.0.1
        if parts is None:
            return False
        name = parts[1].strip("[]").lower()
        if name in self._names:
            return True
        try:
            address = ip_address(name)
        except ValueError:
            return False
        # A numeric address cannot be rebound; on loopback only loopback addresses are valid.
        return self._open or address.is_loopback

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse the request, or answer it with the protective headers."""
        if request.method not in ("GET", "HEAD", *(("POST",) if request.path in self._posts else ())):
            return web.Response(status=405, text="Read-only.\n", headers={**HEADERS, "Allow": "GET, HEAD"})
        reason = self.refusal(request)
        if reason is not None:
            return web.Response(status=403, text=reason + "\n", headers=HEADERS)
        response = await handler(request)
        if not response.prepared:
            response.headers.update(HEADERS)
        return response
