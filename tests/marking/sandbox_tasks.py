"""Tasks for the tests of the sandbox: what a worker may be asked to do, harmless and hostile."""

import os
import signal
import sys
import time


def add(a, b):
    return a + b


def fail():
    raise ValueError("no such thing")


def sleep(seconds):
    time.sleep(seconds)
    return "slept"


def spin():
    while True:
        pass


def gather(thousands):
    """Make 1,000 objects that stay, so many times: more than one step each."""
    kept = [[[number] for number in range(1000)] for _ in range(thousands)]
    return len(kept)


def hoard(megabytes):
    return len(bytearray(megabytes << 20))


def tower():
    return 9 ** (9**9)  # one call into C: no signal handler or thread of the worker would get a turn


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def chatter():
    print("noise" * 10_000)
    print("noise", file=sys.stderr)
    return "quiet"


def pid():
    return os.getpid()
