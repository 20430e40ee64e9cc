"""Servers that markscheme starts: what `vllm/`, `sglang/`, `transformers/` and `llamacpp/` share.

Each replica is a process with its own GPUs and port; requests use the ordinary OpenAI client. A backend module adds
only what is special about its server (`Program` in `servers.py`).
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import UsageError, option
from markscheme.models.base import Completion, Model, Request
from markscheme.models.fleet.devices import device_groups, gpus_of_server, visible_devices
from markscheme.models.fleet.group import Group
from markscheme.models.fleet.servers import LOOPBACK, Program, Server
from markscheme.models.openai import asks
from markscheme.models.secrets import known_secrets
from markscheme.models.served import Served
from markscheme.redaction import Scrubber, variable
from markscheme.types import Sampling


def find_program(name: str) -> str | None:
    """Find a program: next to this Python, where packages install theirs, else on the path."""
    return shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)


def is_installed(package: str) -> bool:
    """Return whether the package is installed. A mere folder of that name in the working directory does not count."""
    spec = find_spec(package)
    return spec is not None and spec.origin is not None


def server_arguments(config: RunConfig) -> list[tuple[str, str]]:
    """Parse `--server-arg` into names and values, in order; some server options may be repeated.

    Names stay as written, since some servers want dashes and others underscores.
    """
    arguments: list[tuple[str, str]] = []
    for given in config.server_arg:
        name, equals, value = given.partition("=")
        name = name.strip().lstrip("-")
        if not name or " " in name:
            raise UsageError(
                f"{option('server_arg')} {given!r} is not KEY=VALUE or KEY; repeat the option for each argument"
            )
        if name in ("host", "port"):
            raise UsageError(
                f"{option('server_arg')} {name} is chosen by markscheme; to use your own server see {option('base_url')}"
            )
        arguments.append((name, value if equals else ""))
    return arguments


def as_flags(arguments: Iterable[tuple[str, str]]) -> list[str]:
    """Format the options for a command line; one without a value is a switch."""
    return [word for name, value in arguments for word in ([f"--{name}", value] if value else [f"--{name}"])]


class _Copy:
    """One server and the client that asks it."""

    def __init__(self, server: Server, connect: Callable[[str], Served]) -> None:
        self.server, self._connect = server, connect
        self._client: Served | None = None
        self._url = ""

    @property
    def gone(self) -> str | None:
        return self.server.gone

    async def generate(self, request: Request) -> Sequence[Completion]:
        if self._client is None or self._url != self.server.url:
            former, self._url = self._client, self.server.url
            self._client = self._connect(self._url)
            if former is not None:
                await former.close()
        return await self._client.generate(request)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()


class Managed(Model):
    """A model behind servers that we start."""

    converses = True

    def __init__(self, program: Program, target: str, config: RunConfig) -> None:
        self.name = f"{program.name}/{target}"
        if config.base_url:
            raise UsageError(
                f"{self.name} starts its own server; for one that runs already use openai/{target} with {option('base_url')}"
            )
        self.replicas = config.replicas
        hide = Scrubber([*known_secrets(config), variable(program.key_variable or "")])
        self._program = replace(program, options=as_flags(server_arguments(config)), hide=hide)
        self._config = msgspec.structs.replace(config, api_key_env=config.api_key_env or program.key_variable)
        given = {name.replace("_", "-"): value for name, value in server_arguments(config)}
        self._asked_for = given.get("served-model-name") or target
        self._key = given.get("api-key")
        visible = visible_devices()
        groups = device_groups(visible.devices, config.replicas, _group_size(config, program.spreads))
        self._environments = [visible.only(group) for group in groups]
        self._client = self._connect(f"http://{LOOPBACK}/v1")  # created now, so that a wrong option is noticed now
        self.streams = self._client.streams
        self._copies: list[_Copy] = []
        self._group: Group | None = None

    async def start(self, folder: Path, say: Callable[[str], None]) -> None:
        """Start every server in parallel; raise `ModelError` if one does not come up."""
        progress: dict[int, str] = {}

        def tell(place: int, text: str) -> None:
            progress[place] = text
            lines = [
                f"server {place}: {text}" if self.replicas > 1 else text for place, text in progress.items() if text
            ]
            say(lines[0] + (f" (and {len(lines) - 1} more)" if len(lines) > 1 else "") if lines else "")

        for place, environment in enumerate(self._environments):
            server = Server(
                self._program,
                folder / "servers" / f"{self.first_log + place}.log",
                environment=environment,
                start_limit=self._config.server_timeout,
                restarts=self._config.server_restarts,
                say=partial(tell, place),
            )
            self._copies.append(_Copy(server, self._connect))
        self._group = group = Group(self._copies)
        for copy in self._copies:
            copy.server.on_change = lambda up, copy=copy: group.changed(copy, up=up)  # type: ignore[misc]
        starting = [asyncio.create_task(copy.server.start()) for copy in self._copies]
        try:
            await asyncio.wait(starting, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            # If one fails, or the caller is cancelled, stop the others. Only once: a second cancellation would leave a
            # server that is being stopped to its keeper.
            for task in starting:
                task.cancel()
            await asyncio.wait(starting)
            failures = [task.exception() for task in starting if not task.cancelled()]
        for failure in failures:
            if failure is not None:
                raise failure

    async def generate(self, request: Request) -> Sequence[Completion]:
        assert self._group is not None, "the servers have not been started"
        return await self._group.generate(request)

    async def close(self) -> None:
        try:
            await asyncio.gather(*(copy.close() for copy in self._copies))
        finally:
            await asyncio.gather(*(copy.server.stop() for copy in self._copies))

    def as_sent(self, sampling: Sampling) -> Sampling:
        return self._client.as_sent(sampling)

    def _connect(self, url: str) -> Served:
        return asks(self._asked_for, msgspec.structs.replace(self._config, base_url=(url,)), key=self._key)


def _group_size(config: RunConfig, spreads: bool) -> int | None:
    """Return the GPUs per server; `None` for an even share."""
    if config.gpus_per_replica is not None:
        if config.gpus_per_replica != int(config.gpus_per_replica):
            raise UsageError(f"{option('gpus_per_replica', f'{config.gpus_per_replica:g}')}: a server needs whole GPUs")
        return int(config.gpus_per_replica)
    if spreads or config.replicas == 1:
        return None
    return gpus_of_server(server_arguments(config))
