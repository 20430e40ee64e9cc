"""Where requests go: the user's address, else the environment's, else the provider's own.

Proxies come from the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`). `NO_PROXY` takes the forms that curl and
requests understand: names, suffixes, ports and networks.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec
from yarl import URL

from markscheme.config import RunConfig
from markscheme.errors import UsageError
from markscheme.models.secrets import hide_url

OFFICIAL = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
# By backend. The first variable that is set wins.
VARIABLES = {"openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"), "anthropic": ("ANTHROPIC_BASE_URL",)}


def with_environment(config: RunConfig) -> RunConfig:
    """Fill in the address in the environment if none was given, so the manifest is accurate."""
    backend = config.model.partition("/")[0]
    _, address = next(environment_addresses(backend), ("", ""))
    if config.base_url or address.rstrip("/") in ("", OFFICIAL.get(backend)):
        return config
    return msgspec.structs.replace(config, base_url=(address,))


def environment_addresses(backend: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield each variable that is set, with its address."""
    names = VARIABLES.get(backend, ()) if backend else (name for names in VARIABLES.values() for name in names)
    return ((name, address) for name in names if (address := os.environ.get(name, "").strip()))


def proxy_of(url: str) -> str | None:
    """Return the proxy that the environment names for this address."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    # A proxy's loopback is not ours, even with `no_proxy`.
    if host in ("localhost", "::1") or host.startswith("127.") or _bypassed(host, parts.port):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy:
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    if not is_address(proxy):  # do not repeat it: it may contain a password
        raise UsageError(
            f"the environment names the proxy {proxy.partition('://')[0]}://… for {host}, which is not an http:// or "
            f"https:// proxy address; set {parts.scheme.upper()}_PROXY to one, or NO_PROXY={host} to use none"
        )
    return proxy


def check_addresses(urls: Iterable[str], ending: str) -> None:
    """Refuse what is not the address of a server; `ending` is the usual end of such an address."""
    for url in urls:
        if not is_address(url):
            example = f"http://localhost:8000{ending}"
            raise UsageError(f"{hide_url(url)!r} is not the address of a server; it should be like {example}")


def is_address(url: str) -> bool:
    """Return whether an HTTP client can use this address."""
    try:
        parts = urlsplit(url)
        (URL(url).raw_host or "").encode("idna")
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an unclosed bracket, a port above 65535, an empty label in the name
        return False


def _bypassed(host: str, port: int | None) -> bool:
    if proxy_bypass(host) or (port and proxy_bypass(f"{host}:{port}")):
        return True
    try:
        address = ip_address(host)
        names = [name.strip() for name in getproxies().get("no", "").split(",") if "/" in name]
        return any(address in ip_network(name, strict=False) for name in names)
    except ValueError:  # a host name, or an invalid network
        return False
