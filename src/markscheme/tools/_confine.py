"""A program that confines itself and then runs a script: `_confine.py FILTER FOLDER… SCRIPT`.

seccomp blocks system calls. If there are folders, Landlock hides all other files. Either ends the process if it fails.
"""

import ctypes
import os
import signal
import stat
import struct
import sys

CREATE, ADD, RESTRICT = 444, 445, 446  # the numbers of Landlock's calls, on every machine
EXECUTE, READ_FILE, READ_FOLDER, WRITE_FILE = 1, 4, 8, 2
RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}  # number of access rights to files in each version of Landlock
NO_NEW_PRIVILEGES, SECCOMP, FILTER, DEATH_SIGNAL = 38, 22, 2, 1
NO_CAPABILITIES = struct.pack("II", 0x20080522, 0), bytes(24)

libc = ctypes.CDLL(None, use_errno=True)


def call(function: str, *arguments: object) -> int:
    """Call a function of the C library; end the process if it fails."""
    given = getattr(libc, function)(*arguments)
    if given < 0:
        sys.exit(f"{function} {arguments[0]!r}: {os.strerror(ctypes.get_errno())}")
    return int(given)


def hide(folders: list[str]) -> None:
    """Hide all files but those in some folders."""
    version = call("syscall", CREATE, None, 0, 1)
    files = (1 << RIGHTS.get(version, 16)) - 1
    network, scope = (3 if version >= 4 else 0), (3 if version >= 6 else 0)
    handled = struct.pack("QQQ", files, network, scope)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    rules = call("syscall", CREATE, handled, len(handled), 0)
    for path in (*folders, "/dev/null", "/dev/urandom"):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        granted = EXECUTE | READ_FILE | READ_FOLDER if stat.S_ISDIR(os.fstat(place).st_mode) else READ_FILE
        granted |= WRITE_FILE if path == "/dev/null" else 0
        call("syscall", ADD, rules, 1, struct.pack("=Qi", granted, place), 0)
        os.close(place)
    call("syscall", RESTRICT, rules, 0)
    os.close(rules)


def main() -> str:
    """Confine this process; return the script."""
    calls, *folders, script = sys.argv[1:]
    call("prctl", DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)  # a killed run leaves nothing running
    call("prctl", NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if folders:
        hide(folders)
    call("capset", *NO_CAPABILITIES)
    if calls:
        program = bytes.fromhex(calls)
        buffer = ctypes.create_string_buffer(program)
        call("prctl", SECCOMP, FILTER, struct.pack("H6xQ", len(program) // 8, ctypes.addressof(buffer)))
    return script


if __name__ == "__main__":
    exec(compile(main(), "<script>", "exec"), {"__name__": "__main__"})
