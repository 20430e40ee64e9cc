"""Read the trusted certificates at the first TLS connection, not when aiohttp is imported.

aiohttp makes two TLS contexts on import. Reading the certificates for them costs 40 ms of processor time, a fifth of a short
run, and most runs ask a server without TLS.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Unread(ssl.SSLContext):
    """A context that reads the certificates before its first connection."""

    def wrap_bio(self, *args: Any, **named: Any) -> ssl.SSLObject:
        return self._read().wrap_bio(*args, **named)

    def wrap_socket(self, *args: Any, **named: Any) -> ssl.SSLSocket:
        return self._read().wrap_socket(*args, **named)

    def _read(self) -> ssl.SSLContext:
        self.__class__ = ssl.SSLContext  # type: ignore[assignment]
        self.set_default_verify_paths()
        return self


def _later(self: ssl.SSLContext) -> None:
    self.__class__ = _Unread


@contextmanager
def certificates_when_used() -> Iterator[None]:
    """Let contexts made in here read the default certificates when they are first used."""
    ssl.SSLContext.set_default_verify_paths = _later  # type: ignore[method-assign]
    try:
        yield
    finally:
        del ssl.SSLContext.set_default_verify_paths
