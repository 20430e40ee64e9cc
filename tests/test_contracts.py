"""What keeps the house in order: who imports whom, and how long a file and a function may get."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "markscheme"
LONGEST_FILE, LONGEST_FUNCTION = 400, 60
TO_BE_CUT: set[str] = set()  # files that are still too long; the list only gets shorter


def test_imports_when_read_then_every_contract_holds():
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", code, "--config", "contracts.toml", "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def too_long() -> list[str]:
    """Files and functions that do not fit: `path`, or `path:line name`."""
    lengthy = []
    for file in sorted(SOURCE.rglob("*.py")):
        text, name = file.read_text(), file.relative_to(SOURCE).as_posix()
        if text.count("\n") > LONGEST_FILE:
            lengthy.append(name)
        lengthy.extend(
            f"{name}:{node.lineno} {node.name}"
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION
        )
    return lengthy


def test_sharing_when_a_file_of_tests_moves_then_its_table_follows():
    from sharing import LONGEST, TOGETHER

    assert [file for file in (*LONGEST, *TOGETHER) if not (ROOT / "tests" / file).is_file()] == []


def test_source_when_measured_then_no_file_and_no_function_is_too_long():
    assert set(too_long()) <= TO_BE_CUT


@pytest.mark.parametrize("package", sorted(file.parent for file in SOURCE.rglob("__init__.py")), ids=lambda p: p.name)
def test_package_when_opened_then_its_docstring_says_what_it_is_for(package):
    assert ast.get_docstring(ast.parse((package / "__init__.py").read_text()))
