"""Completion: what is offered, in Python and in the shells themselves."""

import os
import pty
import select
import subprocess
import sys
import time

import pytest

from markscheme.benchmarks import benchmarks
from markscheme.cli import COMMANDS, build_parser, main
from markscheme.cli.completion import candidates, script
from markscheme.marking import protocol_names
from markscheme.models import backend_names

SHELLS = ("bash", "zsh", "fish")


def offered(line):
    """What the last word of a line can become."""
    return [value for value, _ in candidates(line.split(" "))]


def test_first_word_when_empty_then_every_command_is_offered():
    assert offered("")[: len(COMMANDS)] == list(COMMANDS)
    assert offered("resu") == ["resume"]


@pytest.mark.parametrize("command", COMMANDS)
def test_option_when_begun_then_every_long_flag_of_the_parser_is_offered(command):
    actions = build_parser(command)._actions
    flags = {flag for action in actions for flag in action.option_strings if flag.startswith("--")}
    assert set(offered(f"{command} --")) == flags


def test_value_when_its_option_names_things_then_all_that_are_installed_are_offered():
    assert set(offered("run --protocol ")) == set(protocol_names())
    assert set(offered("run ")) == set(benchmarks()) == set(offered("show "))
    assert {name.rstrip("/") for name in offered("run gsm8k --model ")} == set(backend_names())
    assert offered("report --format ma") == ["markdown"]


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("run --protocol=gsm8k-st", "gsm8k-strict"),  # as zsh and fish hand it over
        ("run --protocol = gsm8k-st", "gsm8k-strict"),  # as bash does
        ("run --model nano countd", "countdown"),  # `--model` takes several, a benchmark may follow
        ("data prep", "prepare"),
        ("data prepare gsm8", "gsm8k"),
        ("run --limit 3 math5", "math500"),
        ("run gsm8k --track ml", "mlflow"),
        ("push runs/x --to tens", "tensorboard"),
        ("export runs/x --to ", "inspect"),
    ],
)
def test_word_when_begun_then_what_it_can_become_comes_first(line, first):
    assert offered(line)[0] == first


@pytest.mark.parametrize("line", ["compare ", "run --limit ", "bogus ", "report runs/", "run --out "])
def test_word_when_it_is_free_then_the_shell_is_left_to_offer_files(line):
    assert offered(line) == []


def test_words_when_asked_on_the_command_line_then_flags_among_them_are_not_ours(capsys):
    assert main(["completion", "words", "run", "--proto"]) == 0
    assert capsys.readouterr().out.startswith("--protocol\t")


@pytest.fixture
def environment(tmp_path):
    """A shell's environment in which `markscheme` is this checkout."""
    program = tmp_path / "markscheme"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m markscheme "$@"\n')
    program.chmod(0o755)
    for shell in SHELLS:
        (tmp_path / f"completion.{shell}").write_text(script(shell))
    paths = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path), "TERM": "dumb", "PS1": "$ "}
    return {**os.environ, **paths, "XDG_CONFIG_HOME": str(tmp_path)}


START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source completion.bash"),
    "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; source completion.zsh"),
}


class Terminal:
    """A shell in a pseudo terminal."""

    def __init__(self, command, environment):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(environment["HOME"])
            os.execvpe(command[0], command, environment)
        self.screen = ""

    def type(self, keys, awaited):
        """Press keys and wait until a text shows behind what was there."""
        seen, until = len(self.screen), time.monotonic() + 120
        os.write(self.terminal, keys.encode())
        while awaited not in self.screen[seen:] and time.monotonic() < until:
            if select.select([self.terminal], [], [], 0.1)[0]:
                self.screen += os.read(self.terminal, 4096).decode(errors="replace")
        return awaited in self.screen[seen:]

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.process, 0)


@pytest.mark.parametrize("shell", ["bash", pytest.param("zsh", marks=pytest.mark.needs_program("zsh"))])
@pytest.mark.parametrize(("begun", "whole"), [("resu", "resume "), ("run --model anth", "--model anthropic/")])
def test_shell_when_tab_is_pressed_then_the_word_is_completed(shell, begun, whole, environment):
    command, prepare = START[shell]
    terminal = Terminal(command, environment)
    try:
        assert terminal.type(f"{prepare}; echo rea''dy\n", "ready\r")
        assert terminal.type(f"markscheme {begun}\t", whole), terminal.screen
    finally:
        terminal.close()


@pytest.mark.needs_program("fish")
def test_fish_when_asked_what_it_would_offer_then_names_and_meanings(environment):
    ask = (
        "source completion.fish; complete -C 'markscheme run --protocol gsm8k-s'; complete -C 'markscheme compare com'"
    )
    done = subprocess.run(
        ["fish", "--no-config", "-c", ask], capture_output=True, text=True, env=environment, cwd=environment["HOME"]
    )
    assert done.stdout.splitlines()[0].split("\t")[0] == "gsm8k-strict"
    assert {line.split("\t")[0] for line in done.stdout.splitlines()[1:]} >= {f"completion.{name}" for name in SHELLS}
