"""The kernel's filter of system calls for untrusted programs.

It refuses new processes, memory that no limit counts, sockets, keys, and calls that reach other processes.
"""

from __future__ import annotations

import platform
import struct
import sys

# Each call with its number on x86_64 and on aarch64. A `-` means that the machine does not have it.
_REFUSED = """
fork 57 - vfork 58 -
memfd_create 319 279 memfd_secret 447 447 io_uring_setup 425 425 userfaultfd 323 282
shmget 29 194 shmat 30 196 shmctl 31 195 semget 64 190 semctl 66 191 semop 65 193 semtimedop 220 192
msgget 68 186 msgsnd 69 189 msgrcv 70 188 msgctl 71 187 mq_open 240 180 mq_unlink 241 181
add_key 248 217 request_key 249 218 keyctl 250 219
socket 41 198 ptrace 101 117 process_vm_readv 310 270 process_vm_writev 311 271 kcmp 312 272
pidfd_send_signal 424 424 pidfd_open 434 434 pidfd_getfd 438 438 process_madvise 440 440 process_mrelease 448 448
rt_sigqueueinfo 129 138 rt_tgsigqueueinfo 297 240 migrate_pages 256 238 move_pages 279 239
unshare 272 97 setns 308 268 bpf 321 280 perf_event_open 298 241 syslog 103 116 quotactl 179 60
inotify_init 253 - inotify_init1 294 26 fanotify_init 300 262 name_to_handle_at 303 264 open_by_handle_at 304 265
"""
# Without namespaces: signals and settings of other processes, other sockets, and attributes of files, which Landlock
# allows to change.
_OUTSIDE = """
kill 62 129 tkill 200 130 tgkill 234 131 connect 42 203 bind 49 200 sendmsg 46 211 sendmmsg 307 269
chmod 90 - fchmod 91 52 fchmodat 268 53 chown 92 - fchown 93 55 lchown 94 - fchownat 260 54 truncate 76 45
setxattr 188 5 lsetxattr 189 6 fsetxattr 190 7 removexattr 197 14 lremovexattr 198 15 fremovexattr 199 16
utime 132 - utimes 235 - futimesat 261 - utimensat 280 88
setpriority 141 140 ioprio_set 251 30 sched_setparam 142 118 sched_setscheduler 144 119 sched_setattr 314 274
"""
# Calls that are refused for some values of an argument: numbers, place of the argument, whether these values are the
# only ones that are allowed, values.
_CHECKED_OUTSIDE = (
    ("prlimit64 302 261", 0, True, (0,)),  # the process, 0 for itself
    ("sched_setaffinity 203 122", 0, True, (0,)),
    ("sendto 44 206", 5, True, (0,)),  # length of the address
    ("fcntl 72 25", 1, False, (8, 15)),  # F_SETOWN and F_SETOWN_EX name the process that gets a signal
    ("ioctl 16 29", 1, False, (0x8901, 0x8902)),  # FIOSETOWN, SIOCSPGRP
)
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}  # audit number, column of the tables
_CLONE, _CLONE3, _CLONE_THREAD = "clone 56 220", 435, 0x10000
_NEWEST = 450  # the newest call that was looked at; others do not exist, as on an older kernel
_ALLOW, _REFUSE, _UNKNOWN, _KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000  # EPERM, ENOSYS
_LOAD, _EQUAL, _LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06

Step = tuple[int, int, int, int]  # operation, steps to skip if true and if false, number


def call_filter(*, inside: bool) -> bytes:
    """Return the filter as the kernel reads it, for a program `inside` namespaces or one in the host's.

    It is empty on a machine without a filter.
    """
    if sys.platform != "linux" or platform.machine() not in _MACHINES:
        return b""
    machine, column = _MACHINES[platform.machine()]
    steps: list[Step] = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, machine), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    # Without `clone3` glibc falls back to `clone`, whose flags can be checked.
    steps += [(_LEAST, 1, 0, _NEWEST + 1), (_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _UNKNOWN)]
    for number in _numbers(_REFUSED if inside else _REFUSED + _OUTSIDE, column):
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE)]
    steps += _checked(_CLONE, column, 0, _ANY_BIT, True, (_CLONE_THREAD,))
    for numbers, place, only, values in () if inside else _CHECKED_OUTSIDE:
        steps += _checked(numbers, column, place, _EQUAL, only, values)
    steps += [(_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _numbers(table: str, column: int) -> list[int]:
    words = table.split()
    return [int(number) for number in words[1 + column :: 3] if number != "-"]


def _checked(numbers: str, column: int, place: int, compare: int, only: bool, values: tuple[int, ...]) -> list[Step]:
    """Return the steps for a call whose argument is checked. These arguments have 32 bits, the lower half of a word."""
    match, other = (_ALLOW, _REFUSE) if only else (_REFUSE, _ALLOW)
    body: list[Step] = [(_LOAD, 0, 0, 16 + 8 * place)]
    for value in values:
        body += [(compare, 0, 1, value), (_RETURN, 0, 0, match)]
    body += [(_RETURN, 0, 0, other)]
    [number] = _numbers(numbers, column)
    return [(_EQUAL, 0, len(body), number), *body]
