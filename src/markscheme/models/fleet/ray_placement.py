"""What may be placed on a Ray cluster, and how: checked on the driver, before there is a run folder."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import UsageError, first_line, option
from markscheme.models.backends import ELSEWHERE, STARTED, WITHOUT_GPU, check_backend, load_here
from markscheme.models.fleet.devices import gpus_of_server
from markscheme.models.fleet.managed import server_arguments
from markscheme.models.fleet.ray_actor import ReplicaActor
from markscheme.models.openai import asks
from markscheme.models.secrets import hide_spec
from markscheme.types import Sampling

MOST_CALLS = 10_000  # most calls that may wait at one replica at the same time

CLOSING = 30.0  # seconds that a replica has to close its model and stop its server

# For workers without their own GPUs: GPUs that Ray does not count must stay visible to a server that finds them. It is
# set on the worker, because a running cluster does not see the driver's variables. A dedicated worker costs a second or
# two, so models that never use a GPU skip it.
FINDS_GPUS = {"env_vars": {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}}

LONGEST = 200  # characters of a reason

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def check(spec: str, config: RunConfig) -> str:
    """Refuse what cannot be placed; return the spec in a form that workers in another folder understand."""
    backend, _, target = spec.partition("/")
    if backend in ELSEWHERE or target.startswith(("http://", "https://")):
        raise UsageError(
            f"{option('engine', 'ray')} places replicas of a model; {hide_spec(spec)} is asked where it is, so leave {option('engine')} out"
        )
    check_backend(spec)
    if find_spec("ray") is None:
        raise UsageError(f"{option('engine', 'ray')} needs Ray: pip install 'markscheme[ray]'")
    if backend == "nanochat":
        raise UsageError(
            "nanochat's calculator works only in the main thread of a process, which Ray uses itself, so scores "
            f"would be lower; leave {option('engine')} out (torchrun uses one process per GPU)"
        )
    if backend in STARTED:
        _check_server(spec, config)
    elif backend in WITHOUT_GPU:
        load_here(spec, on_one_node(config))  # cheap, and refuses here what it would refuse on a node
    elif (gpus := config.gpus_per_replica or 0) > 1 and gpus % 1:
        raise UsageError(f"{option('gpus_per_replica', f'{gpus:g}')}: Ray can only split a single GPU")
    return f"{backend}/{_absolute(backend, target)}" if backend == "hf" or backend in STARTED else spec


def _check_server(spec: str, config: RunConfig) -> None:
    backend, _, target = spec.partition("/")
    if config.base_url:
        raise UsageError(
            f"{backend}/ starts its own servers; for those that run already use openai/ with {option('base_url')}"
        )
    if (gpus := config.gpus_per_replica or 0) % 1:
        raise UsageError(f"{option('gpus_per_replica', f'{gpus:g}')}: a server needs whole GPUs")
    gpus_of_server(server_arguments(config))
    # Created only to check the options that a replica will use to ask its server.
    asks(target, msgspec.structs.replace(config, base_url=("http://127.0.0.1/v1",))).as_sent(Sampling())


def on_one_node(config: RunConfig) -> RunConfig:
    """Return the options of one replica: a single copy, on what Ray assigns to it."""
    return msgspec.structs.replace(config, engine="local", replicas=1, gpus_per_replica=None, ray_address=None)


def _absolute(backend: str, target: str) -> str:
    """Make a local path absolute; names on the Hub and paths that exist only on the nodes stay."""
    if not target:
        raise UsageError(f"{backend} needs a model after the slash: {backend}/NAME, or the path of a checkpoint")
    path = Path(target).expanduser()
    if path.exists():
        return str(path.absolute())
    if target.startswith((".", "~")) or (backend == "llamacpp" and not path.is_absolute()):
        raise UsageError(
            f"{backend}/{target}: there is nothing at {path.absolute()}; for a path on the nodes, give it in full"
        )
    return target


class Placement:
    """Places the replicas of one model on a cluster."""

    def __init__(self, ray: Any, spec: str, config: RunConfig) -> None:
        self._ray, self._spec = ray, spec
        backend = spec.partition("/")[0]
        gpus = _gpus(ray, backend, config)
        self.needs = f"1 core and {gpus:g} GPU{'s' if gpus > 1 else ''}" if gpus else "1 core"
        """What Ray reserves for each replica, in words: one core, and the GPUs of its model."""
        self._class = ray.remote(ReplicaActor).options(
            num_cpus=1,
            num_gpus=gpus,
            max_concurrency=MOST_CALLS,
            scheduling_strategy="SPREAD",
            runtime_env=None if gpus or backend in WITHOUT_GPU else FINDS_GPUS,
        )
        self._config = msgspec.msgpack.encode(on_one_node(config))

    def make(self) -> Any:
        """Create an actor; Ray places it when there is room."""
        return self._class.remote(self._spec, self._config)

    async def close(self, actor: Any) -> None:
        """Let a ready actor stop its model, if it still can."""
        with suppress(TimeoutError, self._ray.exceptions.RayError):
            async with asyncio.timeout(CLOSING):
                await actor.close.remote()

    def kill(self, actor: Any) -> None:
        """Kill an actor, including one that waits for placement or is unreachable."""
        with suppress(self._ray.exceptions.RayError):
            self._ray.kill(actor)

    def free(self) -> str:
        """Describe what the cluster has free."""
        free = self._ray.available_resources()
        return f"{free.get('CPU', 0):g} free cores and {free.get('GPU', 0):g} free GPUs"


def _gpus(ray: Any, backend: str, config: RunConfig) -> float:
    if config.gpus_per_replica is not None:
        return config.gpus_per_replica
    there = ray.cluster_resources().get("GPU", 0) > 0
    if backend in STARTED:
        gpus = float(gpus_of_server(server_arguments(config)))
        return gpus if there or gpus > 1 else 0.0  # a cluster without GPUs serves from its CPUs
    return 1.0 if there and backend == "hf" else 0.0


def reason_of(error: BaseException) -> str:
    """Return why a Ray call failed. Ray's text begins with the place of the call; the reason is at the end."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, Exception):
        return f"{type(cause).__name__}: {first_line(cause)}"
    lines = [line.strip() for line in _COLOURS.sub("", str(error)).splitlines()]
    last = next((line for line in reversed(lines) if line), type(error).__name__)
    return last if len(last) <= LONGEST else last.partition(". ")[0][:LONGEST]  # the rest is advice
