"""Whatever a command can, a function can, with the same names: held against the parsers of the command line."""

import inspect
import subprocess
import sys

import pytest

import markscheme as ms
from markscheme import api
from markscheme.api import data
from markscheme.cli import COMMANDS, build_parser
from markscheme.config import RunConfig

PRINTING = {
    "json",
    "format",
    "output",
    "plots",
    "plot_format",
    "plot",
    "save_results",
    "out",
    "help",
    "benchmark_the_graders",
    "fail_if_worse",
}
"""What a command prints or writes, a function returns."""


def flags(command):
    """Names and defaults of a command's options."""
    actions = [action for action in build_parser(command)._actions if action.option_strings]
    return {action.dest: action.default for action in actions if action.dest not in PRINTING}


def keywords(function):
    """Names and defaults of a function's keyword arguments."""
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}


def plain(default):
    """A flag's default and an argument's where both mean that nothing was said."""
    return None if default in ((), [], inspect.Parameter.empty) else default


@pytest.mark.parametrize("command", ["report", "compare", "audit", "plan"])
def test_function_when_its_command_has_an_option_then_it_has_the_same(command):
    ours, theirs = keywords(getattr(ms, command)), flags(command)
    assert ours.keys() == theirs.keys()
    assert {name: plain(value) for name, value in ours.items()} == {
        name: plain(value) for name, value in theirs.items()
    }


def test_judge_when_an_option_of_the_command_is_given_then_it_is_taken():
    taken = set(RunConfig.__struct_fields__) | keywords(ms.judge).keys()
    assert flags("judge").keys() <= taken


def test_run_when_an_option_of_the_command_is_given_then_it_is_taken():
    own = {
        "model",
        "dry_run",
        "reuse",
        "prompt_file",
        "track",
    }  # a prompt is a text here; the others are ways of the command line
    assert flags("run").keys() - own <= set(RunConfig.__struct_fields__)


def test_package_when_a_command_exists_then_a_name_of_the_api_does_it():
    elsewhere = {
        "mark": "ms.mark, run.mark", "view": "a browser app", "show": "ms.benchmark(…).problems", "list": "names",
        "import": "a command", "lm-eval": "a command", "plugins": "a command", "completion": "for shells",
        "push": "run.push", "export": "a command", "adjudicate": "a person at a terminal",
    }  # fmt: skip
    names = set(dir(ms))
    assert {name for name in COMMANDS if name not in names} <= elsewhere.keys()
    assert {"run_async", "resume_async", "experiment_async", "load"} <= names
    assert {"list", "prepare", "verify"} <= set(dir(data))


def test_package_when_imported_then_no_part_of_the_api_is(tmp_path):
    code = "import sys, markscheme; print([name for name in sys.modules if name.startswith('markscheme.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_api_when_listed_then_every_name_is_there():
    assert all(hasattr(api, name) for name in api.__all__)
