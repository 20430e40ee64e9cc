"""Runs inside the sandbox, as text: the code of earlier calls in silence, then the last one, whose value is shown."""

import ast
import contextlib
import io
import json
import sys
import traceback


def run(code: str, names: dict[str, object]) -> None:
    """As a notebook does: the value of a last line that is an expression is printed."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<code>", "exec"), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), "<code>", "eval"), names)
        if value is not None:
            print(repr(value))


def main() -> int:
    """Everything on standard input; 1 where the last code raised."""
    *earlier, code = json.load(sys.stdin)
    names: dict[str, object] = {"__name__": "__main__"}
    for one in earlier:
        silent = io.StringIO()
        with contextlib.suppress(BaseException), contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
            run(one, names)
    try:
        run(code, names)
    except SystemExit:
        return 0
    except BaseException as error:  # noqa: BLE001 - whatever the model's code raises is its result
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<code>"]
        where = f"line {frames[-1].lineno}: " if frames else ""
        print(f"{where}{type(error).__name__}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
