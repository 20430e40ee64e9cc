"""A script that confines itself and then becomes another program.

Landlock hides all files but those named, seccomp blocks system calls. `_landlock.py FILTER FOLDER… -- PROGRAM WORD…`
"""

import ctypes
import os
import stat
import struct
import sys

CREATE, ADD, RESTRICT = 444, 445, 446  # the numbers of Landlock's calls, on every machine
EXECUTE, READ_FILE, READ_FOLDER, WRITE_FILE = 1, 4, 8, 2
RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}  # number of access rights to files in each version of Landlock
NO_NEW_PRIVILEGES, SECCOMP, FILTER, DROP = 38, 22, 2, 24

libc = ctypes.CDLL(None, use_errno=True)


def call(what: str, number: int, *arguments: object) -> int:
    """Make a system call; end the process if it fails."""
    given = libc.syscall(number, *arguments) if number else libc.prctl(*arguments)
    if given < 0:
        sys.exit(f"{what}: {os.strerror(ctypes.get_errno())}")
    return int(given)


def main() -> None:
    """Confine this process, or end it if that is impossible."""
    calls, *words = sys.argv[1:]
    split = words.index("--")
    version = call("Landlock", CREATE, None, 0, 1)
    files = (1 << RIGHTS.get(version, 16)) - 1
    network, scope = (3 if version >= 4 else 0), (3 if version >= 6 else 0)
    handled = struct.pack("QQQ", files, network, scope)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    rules = call("Landlock", CREATE, handled, len(handled), 0)
    for path in (*words[:split], "/dev/null", "/dev/urandom"):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        granted = EXECUTE | READ_FILE | READ_FOLDER if stat.S_ISDIR(os.fstat(place).st_mode) else READ_FILE
        granted |= WRITE_FILE if path == "/dev/null" else 0
        call(path, ADD, rules, 1, struct.pack("=Qi", granted, place), 0)
    call("privileges", 0, NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    call("Landlock", RESTRICT, rules, 0)
    for capability in range(64):  # only root has capabilities to drop
        libc.prctl(DROP, capability, 0, 0, 0)
    program = bytes.fromhex(calls)
    buffer = ctypes.create_string_buffer(program)
    pointer = struct.pack("H6xQ", len(program) // 8, ctypes.addressof(buffer))
    call("seccomp", 0, SECCOMP, FILTER, pointer)
    os.execv(words[split + 1], words[split + 1 :])


if __name__ == "__main__":
    main()
