"""Runs inside the sandbox, as text: the code of earlier calls in silence, then the last one, whose value is shown.

A zero byte is printed before the last code begins and one after it has ended by itself.
"""

import ast
import contextlib
import json
import os
import random
import sys
import traceback
from collections.abc import Iterator


def run(code: str, names: dict[str, object]) -> None:
    """As a notebook does: the value of a last line that is an expression is printed."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<code>", "exec"), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), "<code>", "eval"), names)
        if value is not None:
            print(repr(value))


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Nothing is printed, not even by those who write to the descriptor itself."""
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    yield
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
    for stream in (1, 2):
        os.dup2(kept, stream)
    os.close(kept)
    os.close(nowhere)


def main() -> int:
    """Everything on standard input; 1 where the last code raised."""
    *earlier, code = json.load(sys.stdin)
    names: dict[str, object] = {"__name__": "__main__"}
    random.seed(0)  # code that is run again draws what it drew before
    with silence():
        for one in earlier:
            with contextlib.suppress(BaseException):
                run(one, names)
    os.write(1, b"\0")
    status = 0
    try:
        run(code, names)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code)
    except BaseException as error:  # noqa: BLE001 - whatever the model's code raises is its result
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<code>"]
        where = f"line {frames[-1].lineno}: " if frames else ""
        print(f"{where}{type(error).__name__}: {error}")
        status = 1
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
    os.write(1, b"\0")
    return status


if __name__ == "__main__":
    os._exit(main())  # at once: threads that the code has left behind are not waited for
