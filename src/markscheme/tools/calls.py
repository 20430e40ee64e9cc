"""The kernel's filter of system calls for untrusted programs: no new process, and no memory outside its limit."""

from __future__ import annotations

import platform
import struct

_MACHINES = {
    # audit number of the machine, `clone` (which also starts threads), then refused calls: those that start a process, and
    # those with memory outside all limits (memfd_create, shmget, io_uring_setup, add_key)
    "x86_64": (0xC000003E, 56, (57, 58, 319, 29, 425, 248)),
    "aarch64": (0xC00000B7, 220, (279, 194, 425, 217)),
}
_OUTSIDE = {
    # socket, ptrace, process_vm_readv and _writev, kill, tkill, pidfd_send_signal, pidfd_open, unshare, setns
    "x86_64": (41, 101, 310, 311, 62, 200, 424, 434, 272, 308),
    "aarch64": (198, 117, 270, 271, 129, 130, 424, 434, 97, 268),
}
_CLONE3, _CLONE_THREAD = 435, 0x10000
_ALLOW, _REFUSE, _UNKNOWN, _KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000  # EPERM, ENOSYS


def known_machine() -> bool:
    """True if there is a filter for this machine."""
    return platform.machine() in _MACHINES


def call_filter(*, inside: bool) -> bytes:
    """Return the filter as the kernel reads it. A program `inside` namespaces cannot reach other processes anyway."""
    machine, clone, refused = _MACHINES[platform.machine()]
    steps = [(0x20, 0, 0, 4), (0x15, 1, 0, machine), (0x06, 0, 0, _KILL), (0x20, 0, 0, 0)]
    steps += [(0x35, 0, 1, 0x40000000), (0x06, 0, 0, _REFUSE)]  # calls with another numbering
    for number in refused if inside else (*refused, *_OUTSIDE[platform.machine()]):
        steps += [(0x15, 0, 1, number), (0x06, 0, 0, _REFUSE)]
    steps += [
        (0x15, 0, 1, _CLONE3),
        (0x06, 0, 0, _UNKNOWN),
    ]  # glibc falls back to the older call, whose flags can be checked
    steps += [(0x15, 0, 3, clone), (0x20, 0, 0, 16), (0x45, 1, 0, _CLONE_THREAD), (0x06, 0, 0, _REFUSE)]
    steps += [(0x06, 0, 0, _ALLOW)]
    return b"".join(struct.pack("HBBI", *step) for step in steps)
