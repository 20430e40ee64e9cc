"""Errors that both the command line and Python raise name options with `option` and commands with `command`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "markscheme"
# The two of `view/export.py` have no function in Python.
SHELL_ONLY = ("cli/", "plugins/", "view/export.py")


def _told(node: ast.Raise) -> str:
    parts = ast.walk(node.exc) if node.exc is not None else ()
    return " ".join(part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))


def test_no_error_outside_the_command_line_writes_an_option_as_a_flag():
    flags = [
        f"{name}:{node.lineno}: {_told(node)}"
        for file in sorted(SOURCE.rglob("*.py"))
        if not (name := file.relative_to(SOURCE).as_posix()).startswith(SHELL_ONLY)
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Raise) and re.search(r"(?<![\w-])--[a-z]|`markscheme ", _told(node))
    ]
    assert not flags, "\n".join(flags)
