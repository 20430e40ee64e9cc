"""One sentence instead of a traceback, where another program or a script of the user's calls us and catches nothing."""

from __future__ import annotations

import sys
from types import TracebackType

from markscheme.errors import MarkschemeError


def speak_plainly() -> None:
    """Print an expected failure that nobody caught as its sentence; anything else is shown as before."""
    before = sys.excepthook

    def hook(kind: type[BaseException], failure: BaseException, trace: TracebackType | None) -> None:
        if isinstance(failure, MarkschemeError):
            print(f"markscheme: {failure}", file=sys.stderr)
        else:
            before(kind, failure, trace)

    sys.excepthook = hook
