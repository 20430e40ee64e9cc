"""Print one sentence instead of a traceback if another program or a user's script calls us and catches nothing."""

from __future__ import annotations

import sys
from types import TracebackType

from markscheme.errors import MarkschemeError


def speak_plainly() -> None:
    """Print an uncaught expected failure as a sentence; show anything else as before."""
    before = sys.excepthook

    def hook(kind: type[BaseException], failure: BaseException, trace: TracebackType | None) -> None:
        if isinstance(failure, MarkschemeError):
            print(f"markscheme: {failure}", file=sys.stderr)
        else:
            before(kind, failure, trace)

    sys.excepthook = hook
