"""The `markscheme` command, also as `python -m markscheme`: one command in a process of its own.

The figures are processor time of a run of 49 requests, which takes 0.3 s (perf/overhead.py).
"""

import atexit
import gc
import os
import sys
from contextlib import suppress

from markscheme.cli import main

LARGE_FRAME = 1 << 14  # words

_ended: list[int] = []  # with this exit code


def command() -> int:
    """Run the command that was typed; the console script."""
    # Most objects live until the command ends; searching them for cycles cost a sixth of the time.
    gc.set_threshold(100_000, 10, 10)
    # OpenBLAS, which comes with numpy, starts threads that wait for work: actively, for 20 ms.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    if not atexit._ncallbacks():  # ours will be the last one called
        atexit.register(_leave)
    _ended.append(_run())
    return _ended[0]


def _run() -> int:
    return main()


# Python keeps its frames in blocks of 16 kB. A loop whose calls cross the end of a block maps and unmaps memory each time,
# which took 10 ms. Below a large frame, the block has 256 kB.
_run.__code__ = _run.__code__.replace(co_stacksize=LARGE_FRAME)


def _leave() -> None:
    """End the process without freeing every object first, which takes 10 to 20 ms."""
    if _ended:  # else a bug ended it
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(_ended[0])


if __name__ == "__main__":
    sys.exit(command())
