"""Which GPUs each replica gets: disjoint groups of equal size, in order."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import NamedTuple

from markscheme.errors import UsageError, option

CUDA, HIP, ROCR = "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"
# Where Linux lists the processors that AMD's runtime can use, CPUs included.
AMD_NODES = Path("/sys/class/kfd/kfd/topology/nodes")

_DEVICE = re.compile(r"\d+|(?:GPU|MIG)-\S+")
# Options of vLLM and SGLang that each multiply the number of GPUs per server, with all their names.
_PARALLEL = (
    ("tensor-parallel-size", "tp-size", "tp"),
    ("pipeline-parallel-size", "pp-size", "pp"),
    ("prefill-context-parallel-size", "pcp"),
    ("data-parallel-size", "dp-size", "dp"),
)


class Visible(NamedTuple):
    """The GPUs this process may use, by index or UUID, and the variables that select them."""

    devices: tuple[str, ...]
    variables: tuple[str, ...] = (CUDA,)

    def only(self, devices: Sequence[str] | None) -> dict[str, str]:
        """Return the environment in which a server sees only these; `None` leaves it unchanged."""
        return {} if devices is None else dict.fromkeys(self.variables, ",".join(devices))


def visible_devices() -> Visible:
    """Return what the environment allows, else all GPUs."""
    # The first two mean the same to AMD's runtime, and vLLM refuses them if they differ; they count within the third.
    for variables in ((CUDA, HIP), (ROCR,)):
        if given := tuple(name for name in variables if name in os.environ):
            return Visible(_named(os.environ[given[0]]), given)
    if nvidia := _nvidia_devices():
        return Visible(nvidia)
    return Visible(_amd_devices(), (CUDA, HIP))


def _named(value: str) -> tuple[str, ...]:
    """Parse the list as drivers do: up to the first word that is not a device (`-1`, Slurm's `NoDevFiles`)."""
    devices: dict[str, None] = {}
    for word in value.split(","):
        if not _DEVICE.fullmatch(word.strip()):
            break
        devices[word.strip()] = None
    return tuple(devices)


def _nvidia_devices() -> tuple[str, ...]:
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
    except (OSError, subprocess.SubprocessError):  # a driver that does not answer counts as no GPU
        return ()
    return tuple(word for word in listed.split() if re.fullmatch(r"\d+", word))


def _amd_devices() -> tuple[str, ...]:
    gpus = 0
    for node in AMD_NODES.glob("*/properties"):
        with suppress(OSError):  # a container may not be allowed to read it
            gpus += re.search(r"^simd_count [1-9]", node.read_text(), re.MULTILINE) is not None  # 0 for a CPU
    return tuple(str(index) for index in range(gpus))


def gpus_of_server(arguments: Iterable[tuple[str, str]]) -> int:
    """Return the GPUs that one server with these arguments uses; if an option is repeated, the last one counts."""
    given = {name.replace("_", "-"): value for name, value in arguments}
    sizes = []
    for names in _PARALLEL:
        size = next((given[name] for name in names if name in given), "1")
        if not size.isdecimal() or int(size) < 1:
            raise UsageError(f"{option('server_arg')} {names[0]}={size} is not a positive whole number")
        if names[-1] == "dp" and "enable-dp-attention" in given:
            continue  # SGLang splits the attention among the GPUs of tensor parallelism, so they are the same ones
        sizes.append(int(size))
    return prod(sizes)


def device_groups(devices: Sequence[str], replicas: int, size: int | None) -> list[tuple[str, ...] | None]:
    """Return the GPUs of each replica; `None` lets the server choose (a single replica, or no GPU).

    Without a `size` the devices are divided evenly.
    """
    if replicas == 1 and size is None:
        return [None]
    if not devices and size in (None, 1):  # on a machine without GPUs, servers run on the CPU
        return [None] * replicas
    if size == 0:
        return [()] * replicas
    each = size or max(1, len(devices) // replicas)
    if replicas * each > len(devices):
        have = f"{len(devices)} are visible ({','.join(devices)})" if devices else "none is visible"
        raise UsageError(
            f"{option('replicas', replicas)} with {each} GPU{'s' if each > 1 else ''} each need {replicas * each} GPUs, "
            f"and {have}; lower {option('replicas')}, or see {CUDA}"
        )
    return [tuple(devices[start : start + each]) for start in range(0, replicas * each, each)]
