"""The known sandboxes, best first, and how each is started. All are third-party.

In each of them, a program sees the Python installation read-only, has no network and none of our environment, cannot
start or signal processes, and can only write a limited amount.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from markscheme.tools.calls import call_filter

FILES = 2**26  # bytes of its temporary folder
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
}
# The first argument is the memory in kilobytes, the second seconds of CPU. File sizes are in blocks of 512 bytes.
_LIMITED = 'ulimit -v "$0"; ulimit -t "$1"; ulimit -f 65536; ulimit -c 0; ulimit -n 64; shift; exec "$@"'
_SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache")


class Start(NamedTuple):
    """The command of a sandboxed program."""

    words: list[str]
    end: tuple[str, ...] = ()  # a command that ends it, if killing our process does not


class Limits(NamedTuple):
    """The limits of a program."""

    seconds: float  # the time is measured outside; this ends a program that has outlived the run
    megabytes: int
    image: str  # of a container


# Returns how to start a Python script, or None if the sandbox is not installed.
Box = Callable[[Limits, str], Start | None]


def _confined(script: str, calls: bytes, folders: list[str] | None = None) -> list[str]:
    """Return the arguments of a Python that gives up system calls, and all files outside of `folders`, before a script."""
    confine = Path(__file__).with_name("_confine.py").read_text()
    return ["-I", "-c", confine, calls.hex(), *(folders or ()), script]


def _python(limits: Limits, *arguments: str) -> list[str]:
    cpu = math.ceil(limits.seconds) * (os.cpu_count() or 1)  # of all its threads
    return ["/bin/sh", "-c", _LIMITED, str(limits.megabytes * 1024), str(cpu), sys.executable, *arguments]


def _folders() -> list[str]:
    """Return what a program may read: the system's programs and libraries, and this Python."""
    there = [name for name in _SYSTEM if Path(name).exists()]
    packages = (path for path in sys.path if path.endswith(("/site-packages", "/dist-packages")))
    pythons = dict.fromkeys((sys.base_prefix, sys.prefix, *packages))
    return [*there, *(folder for folder in pythons if not folder.startswith("/usr") and Path(folder).is_dir())]


def bubblewrap(limits: Limits, script: str) -> Start | None:
    program, calls = shutil.which("bwrap"), call_filter(inside=True)
    if program is None or not calls:
        return None
    words = [program, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
    words += ["--cap-drop", "ALL", "--clearenv"]
    # The temporary folder first: it must not hide a Python installed below the host's.
    words += ["--size", str(FILES), "--tmpfs", "/tmp"]
    for name in _folders():
        words += ["--ro-bind", name, name]
    # No /proc: for the host's root it has writable kernel settings.
    words += ["--dev", "/dev", "--chdir", "/tmp"]
    words += ["--remount-ro", "/dev", "--remount-ro", "/"]  # both are in memory, without a limit
    for name, value in ENVIRONMENT.items():
        words += ["--setenv", name, value]
    return Start([*words, "--", *_python(limits, *_confined(script, calls))])


def nsjail(limits: Limits, script: str) -> Start | None:
    program, calls = shutil.which("nsjail"), call_filter(inside=True)
    if program is None or not calls:
        return None
    words = [program, "--mode", "o", "--really_quiet", "--iface_no_lo", "--disable_proc", "--time_limit", "0"]
    words += ["--cwd", "/tmp", "--mount", f"none:/tmp:tmpfs:size={FILES}"]
    words += ["--rlimit_as", "max", "--rlimit_fsize", "32", "--rlimit_nofile", "64", "--rlimit_core", "0"]
    for name in (*_folders(), "/dev/null", "/dev/urandom"):
        words += ["--bindmount_ro" if name != "/dev/null" else "--bindmount", name]
    for name, value in ENVIRONMENT.items():
        words += ["--env", f"{name}={value}"]
    return Start([*words, "--", *_python(limits, *_confined(script, calls))])


def _container(engine: str) -> Box:
    def container(limits: Limits, script: str) -> Start | None:
        program = shutil.which(engine)
        if program is None:
            return None
        name = f"markscheme-tool-{uuid.uuid4().hex[:16]}"
        words = [program, "run", "--rm", "--interactive", "--name", name, "--pull", "never", "--network", "none"]
        words += ["--read-only", "--tmpfs", f"/tmp:size={FILES}", "--workdir", "/tmp", "--user", "65534:65534"]
        words += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pids-limit", "64"]
        words += ["--memory", f"{limits.megabytes}m", "--memory-swap", f"{limits.megabytes}m"]
        # Podman's default for `nproc` is above the limit of most machines, and then nothing starts.
        words += ["--ulimit", "core=0", "--ulimit", f"fsize={2**25}", "--ulimit", "nofile=64", "--ulimit", "nproc=4096"]
        for variable, value in ENVIRONMENT.items():
            words += ["--env", f"{variable}={value}"] if variable != "PATH" else []
        # A container does not end with the program that started it.
        inside = ["timeout", "-s", "KILL", str(math.ceil(limits.seconds) + 60), "python3"]
        inside += _confined(script, call_filter(inside=True))
        return Start([*words, limits.image, *inside], end=(program, "rm", "--force", name))

    return container


def landlock(limits: Limits, script: str) -> Start | None:
    calls = call_filter(inside=False)
    return Start(_python(limits, *_confined(script, calls, _folders()))) if calls else None


def nothing(limits: Limits, script: str) -> Start:
    """Start without a sandbox, with limits on memory, time and files only."""
    return Start(_python(limits, "-I", "-c", script))


BOXES: dict[str, Box] = {
    "bubblewrap": bubblewrap,
    "nsjail": nsjail,
    "podman": _container("podman"),
    "docker": _container("docker"),
    "landlock": landlock,
}
