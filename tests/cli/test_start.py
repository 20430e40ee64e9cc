"""Starting the command line: the overview, unknown commands, and what may be imported before it is needed."""

import subprocess
import sys

import pytest
from loopback import Loopback, Plan

from markscheme.cli import COMMANDS, build_parser, main
from markscheme.cli.completion import candidates

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


# Packages and parts of ours that no plain run needs, and what it needs only to close: a process with numpy has threads
# and cannot be forked, so marking would start a new interpreter.
NOT_NEEDED = (
    *("rich", "sympy", "pyarrow", "matplotlib", "jinja2", "ray", "torch", "urllib3", "requests"),
    *("markscheme.view", "markscheme.api", "markscheme.plugins", "markscheme.rewards", "markscheme.marking.bulk"),
    *("markscheme.marking.equality.proofs", "markscheme.reporting.plots", "markscheme.models.anthropic"),
)
NOT_BEFORE_THE_END = ("numpy", "statistics", "markscheme.statistics", "markscheme.reporting.summary")


def test_run_when_it_is_plain_then_nothing_is_imported_that_it_does_not_need(tmp_path):
    code = f"""
import os, sys
from markscheme.cli import main
early = []
os.register_at_fork(before=lambda: early.append([name for name in {NOT_BEFORE_THE_END!r} if name in sys.modules]))
status = main(sys.argv[1:])
print([status, early, [name for name in {NOT_NEEDED!r} if name in sys.modules]], file=sys.stderr)
"""
    with Loopback(Plan(text="ANSWER: 18")) as server:
        model = ["--model", "openai/loopback", "--base-url", server.url]
        command = [sys.executable, "-c", code, "run", "gsm8k-sample", *model, "--out", str(tmp_path / "run")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[0, [[]], []]"  # marking was forked once, before numpy


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


@pytest.mark.parametrize("command", ["--help", "list"])
def test_output_when_the_pipe_is_closed_then_no_failure(command):
    # `true` never reads, so the pipe is closed by the time a slow starter writes; pipefail shows our own exit code.
    script = f"set -o pipefail; {sys.executable} -m markscheme {command} | true"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_output_when_the_disk_is_full_then_one_sentence():
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m markscheme list --json > /dev/full"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr == "markscheme: No space left on device: output\n"


def test_command_when_interrupted_before_it_began_then_no_traceback(monkeypatch, capsys):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("markscheme.cli.build_parser", interrupted)  # which imports for most of a second
    assert main(["report", "x"]) == 130
    assert capsys.readouterr().err == "markscheme: interrupted\n"


def test_help_when_it_names_what_a_table_has_then_nothing_is_left_out():
    """The help is plain text, so that it needs no numpy; a new line of a table is forgotten there first."""
    from markscheme.plugins.doors.copying import DOORS
    from markscheme.running.judges.templates import template_names
    from markscheme.statistics.metrics import TABLE
    from markscheme.tracking import TRACKERS

    # Without its line ends: argparse also breaks a line behind a dash.
    commands = ("report", "compare", "judge", "run", "push")
    helps = {command: "".join(build_parser(command).format_help().split()) for command in commands}
    metrics = [name.partition(" ")[0] for name, *_ in TABLE if name != "accuracy"]
    assert [name for name in metrics if name not in helps["compare"]] == []
    assert [name for name in metrics if name not in helps["report"]] == []
    assert [name for name in template_names() if name not in helps["judge"]] == []
    assert [name for name in TRACKERS if name not in helps["run"] or name not in helps["push"]] == []
    assert set(candidates(["doors", "copy", ""])) == {(name, "") for name in DOORS}


@pytest.mark.parametrize(("argument", "status"), [("--version", 0), ("bogus", 2)])
def test_process_when_it_ends_then_exit_functions_of_others_are_called_and_the_status_is_kept(argument, status):
    for before, after in (("atexit.register(print, 'other')", ""), ("", "atexit.register(print, 'other')")):
        code = f"import atexit, sys; {before or 'pass'}; from markscheme.__main__ import command; {after or 'pass'}; sys.exit(command())"
        done = subprocess.run([sys.executable, "-c", code, argument], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (status, "other")
