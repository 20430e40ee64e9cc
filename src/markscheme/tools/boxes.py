"""The known sandboxes, best first, and how each is started. All are third-party.

In each of them, a program sees the Python installation read-only, has no network and none of our environment, cannot
signal our processes, and can only write a limited amount. It cannot start a process, except in a container, which ends
with it.
"""

from __future__ import annotations

import shutil
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from markscheme.tools.calls import call_filter, known_machine

FILES = 2**26  # bytes of its temporary folder
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
}
# The first argument is the memory in kilobytes. File sizes are in blocks of 512 bytes.
_LIMITED = 'ulimit -v "$0"; ulimit -f 65536; ulimit -c 0; ulimit -n 64; exec "$@"'
_SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache")


class Start(NamedTuple):
    """The command of a sandboxed program."""

    words: list[str]
    calls: bytes = b""  # a filter that the sandbox reads from the file descriptor FILTER
    end: tuple[str, ...] = ()  # a command that ends it, if killing our process does not


class Limits(NamedTuple):
    """The limits of a program."""

    seconds: float
    megabytes: int
    image: str  # of a container


# Returns how to start a Python script, or None if the sandbox is not installed.
Box = Callable[[Limits, str], Start | None]

FILTER = "<filter>"


def _python(limits: Limits, script: str) -> list[str]:
    return ["/bin/sh", "-c", _LIMITED, str(limits.megabytes * 1024), sys.executable, "-I", "-c", script]


def _folders() -> list[str]:
    """Return what a program may read: the system's programs and libraries, and this Python."""
    there = [name for name in _SYSTEM if Path(name).exists()]
    packages = (path for path in sys.path if path.endswith(("/site-packages", "/dist-packages")))
    pythons = dict.fromkeys((sys.base_prefix, sys.prefix, *packages))
    return [*there, *(folder for folder in pythons if not folder.startswith("/usr") and Path(folder).is_dir())]


def bubblewrap(limits: Limits, script: str) -> Start | None:
    program = shutil.which("bwrap")
    if program is None or not known_machine():
        return None
    words = [program, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
    words += ["--cap-drop", "ALL", "--clearenv", "--seccomp", FILTER]
    # The temporary folder first: it must not hide a Python installed below the host's.
    words += ["--size", str(FILES), "--tmpfs", "/tmp"]
    for name in _folders():
        words += ["--ro-bind", name, name]
    # No /proc: for the host's root it has writable kernel settings.
    words += ["--dev", "/dev", "--chdir", "/tmp"]
    words += ["--remount-ro", "/dev", "--remount-ro", "/"]  # both are in memory, without a limit
    for name, value in ENVIRONMENT.items():
        words += ["--setenv", name, value]
    return Start([*words, "--", *_python(limits, script)], call_filter(inside=True))


def nsjail(limits: Limits, script: str) -> Start | None:
    program = shutil.which("nsjail")
    if program is None:
        return None
    refused = "fork, vfork, clone3, memfd_create, shmget, io_uring_setup, add_key"
    words = [
        program,
        "--mode",
        "o",
        "--really_quiet",
        "--iface_no_lo",
        "--disable_proc",
        "--time_limit",
        "0",
        "--cwd",
        "/tmp",
    ]
    words += ["--rlimit_as", "max", "--rlimit_fsize", "32", "--rlimit_nofile", "64", "--rlimit_core", "0"]
    words += ["--mount", f"none:/tmp:tmpfs:size={FILES}"]
    # The flags of `clone` tell whether it starts a thread.
    words += ["--seccomp_string", f"ERRNO(1) {{ {refused}, clone(flags) {{ (flags & 65536) == 0 }} }} DEFAULT ALLOW"]
    for name in (*_folders(), "/dev/null", "/dev/urandom"):
        words += ["--bindmount_ro" if name != "/dev/null" else "--bindmount", name]
    for name, value in ENVIRONMENT.items():
        words += ["--env", f"{name}={value}"]
    return Start([*words, "--", *_python(limits, script)])


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
        inside = ["python3", "-I", "-c", script]
        return Start([*words, limits.image, *inside], end=(program, "rm", "--force", name))

    return container


def landlock(limits: Limits, script: str) -> Start | None:
    if sys.platform != "linux" or not known_machine():
        return None
    launcher = [sys.executable, "-I", str(Path(__file__).with_name("_landlock.py"))]
    confined = [*launcher, call_filter(inside=False).hex(), *_folders(), "--"]
    limited = _python(limits, script)
    at = limited.index(sys.executable)
    return Start([*limited[:at], *confined, *limited[at:]])


def nothing(limits: Limits, script: str) -> Start:
    """Start without a sandbox, with limits on memory and files only."""
    return Start(_python(limits, script))


BOXES: dict[str, Box] = {
    "bubblewrap": bubblewrap,
    "nsjail": nsjail,
    "podman": _container("podman"),
    "docker": _container("docker"),
    "landlock": landlock,
}
