"""A script for the sandbox: runs the code of earlier calls silently, then the last code, and shows its value.

It prints a zero byte before the last code begins, and another after it has ended by itself.
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
    """Run code like a notebook: print the value of a last line that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<code>", "exec"), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), "<code>", "eval"), names)
        if value is not None:
            print(repr(value))


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Print nothing, not even through the file descriptor."""
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
    """Run the code on standard input; return 1 if the last one raised."""
    *earlier, code = json.load(sys.stdin)
    names: dict[str, object] = {"__name__": "__main__"}
    random.seed(0)  # code that is run again draws the same numbers
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
    except BaseException as error:  # noqa: BLE001 - an exception of the model's code is its result
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<code>"]
        where = f"line {frames[-1].lineno}: " if frames else ""
        print(f"{where}{type(error).__name__}: {error}")
        status = 1
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
    os.write(1, b"\0")
    return status


if __name__ == "__main__":
    os._exit(main())  # without waiting for threads of the code
