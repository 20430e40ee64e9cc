"""Which GPUs each replica gets: groups of equal size, in order, none in two groups."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from math import prod

from markscheme.errors import UsageError

VARIABLE = "CUDA_VISIBLE_DEVICES"

_PARALLEL = (
    ("tensor-parallel-size", "tp-size", "tp"),
    ("pipeline-parallel-size", "pp-size", "pp"),
    ("data-parallel-size", "dp-size", "dp"),
)
"""Options of vLLM and SGLang that each multiply the number of GPUs of one server, under all their names."""


def visible_devices() -> tuple[str, ...]:
    """The GPUs this process may use, by index or UUID: what the environment allows, else all that there are."""
    allowed = os.environ.get(VARIABLE)
    if allowed is not None:
        return tuple(word.strip() for word in allowed.split(",") if word.strip() not in ("", "-1"))
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    try:
        listed = subprocess.run(
            [program, "--query-gpu=index", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):  # a driver that does not answer is a machine without GPUs
        return ()
    return tuple(word for word in listed.split() if re.fullmatch(r"\d+", word))


def gpus_of_server(arguments: Mapping[str, str]) -> int:
    """GPUs that one server with these arguments spreads over."""
    sizes = []
    for names in _PARALLEL:
        given = next((arguments[name] for name in names if name in arguments), "1")
        if not given.isdecimal() or int(given) < 1:
            raise UsageError(f"--server-arg {names[0]}={given} is not a positive whole number")
        sizes.append(int(given))
    return prod(sizes)


def device_groups(devices: Sequence[str], replicas: int, size: int | None) -> list[tuple[str, ...] | None]:
    """The GPUs of each replica; `None` leaves the choice to the server (a single one, or no GPU here).

    Without a `size` the devices are divided evenly.
    """
    if replicas == 1 and size is None:
        return [None]
    if not devices and size in (None, 1):  # on a machine without GPUs servers run on its cores
        return [None] * replicas
    if size == 0:
        return [()] * replicas
    each = size or max(1, len(devices) // replicas)
    if replicas * each > len(devices):
        have = f"{len(devices)} are visible ({','.join(devices)})" if devices else "none is visible"
        raise UsageError(
            f"--replicas {replicas} with {each} GPU{'s' if each > 1 else ''} each need {replicas * each} GPUs, "
            f"and {have}; lower --replicas, or see {VARIABLE}"
        )
    return [tuple(devices[start : start + each]) for start in range(0, replicas * each, each)]
