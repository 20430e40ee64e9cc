"""Where requests go: what the user says, else what the usual variables of each provider's clients say, else the provider.

Proxies are those of the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`), with `NO_PROXY` in the forms that curl and
requests understand: names, suffixes, ports, networks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec
from yarl import URL

from markscheme.config import RunConfig
from markscheme.errors import UsageError

OFFICIAL = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
# By backend; the first that is set counts.
VARIABLES = {"openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"), "anthropic": ("ANTHROPIC_BASE_URL",)}


def with_environment(config: RunConfig) -> RunConfig:
    """The options with the address that the environment names, where none was given: the manifest says what was asked."""
    backend = config.model.partition("/")[0]
    _, address = next(environment_addresses(backend), ("", ""))
    if config.base_url or address.rstrip("/") in ("", OFFICIAL.get(backend)):
        return config
    return msgspec.structs.replace(config, base_url=(address,))


def environment_addresses(backend: str | None = None) -> Iterator[tuple[str, str]]:
    """The variables that are set, with their addresses."""
    names = VARIABLES.get(backend, ()) if backend else (name for names in VARIABLES.values() for name in names)
    return ((name, address) for name in names if (address := os.environ.get(name, "").strip()))


def proxy_of(url: str) -> str | None:
    """The proxy that the environment names for this address."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    # A proxy's loopback is not ours, whether or not `no_proxy` says so.
    if host in ("localhost", "::1") or host.startswith("127.") or _bypassed(host, parts.port):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy:
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    if not is_address(proxy):  # not repeated: there may be a password in it
        raise UsageError(
            f"the environment names the proxy {proxy.partition('://')[0]}://… for {host}, which is no address of an http:// or "
            f"https:// proxy; set {parts.scheme.upper()}_PROXY to one, or NO_PROXY={host} to do without"
        )
    return proxy


def is_address(url: str) -> bool:
    """Whether an HTTP client can do something with it."""
    try:
        parts = urlsplit(url)
        (URL(url).raw_host or "").encode("idna")
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # half a bracket, a port beyond 65535, a name with nothing between two dots
        return False


def _bypassed(host: str, port: int | None) -> bool:
    if proxy_bypass(host) or (port and proxy_bypass(f"{host}:{port}")):
        return True
    try:
        address = ip_address(host)
        names = [name.strip() for name in getproxies().get("no", "").split(",") if "/" in name]
        return any(address in ip_network(name, strict=False) for name in names)
    except ValueError:  # a name, or a network that is none
        return False
