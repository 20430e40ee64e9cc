"""Starting the command line: the overview, unknown commands, and what may be imported before it is needed."""

import subprocess
import sys

import pytest

from markscheme.cli import COMMANDS, build_parser, main

HEAVY = ("argparse", "msgspec", "numpy", "rich", "aiohttp", "sympy", "pyarrow", "asyncio")


def test_overview_when_asked_then_names_every_command(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)


def test_overview_when_printed_then_nothing_heavy_is_imported():
    code = (
        "import sys; from markscheme.cli import main; main(['--help']);"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("argv", [[], ["bogus"], ["--nonsense"]])
def test_command_when_unknown_then_one_sentence_and_exit_2(argv, capsys):
    assert main(argv) == 2
    said = capsys.readouterr().err
    assert said.startswith("markscheme: no command")
    assert said.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_command_help_when_built_then_has_a_module_behind_it(command):
    shown = build_parser(command).format_help()
    assert f"usage: markscheme {command}" in shown


def test_output_when_pipe_is_closed_then_no_traceback():
    done = subprocess.run(
        f"{sys.executable} -m markscheme list --json | head -c 1",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Traceback" not in done.stderr
