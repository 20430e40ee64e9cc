"""Whatever a command can, a function can, with the same names: held against the parsers of the command line."""

import inspect
import pickle
import subprocess
import sys

import pytest

import markscheme as ms
from markscheme.api import data
from markscheme.cli import COMMANDS, build_parser
from markscheme.config import RunConfig

# The functions, or the module, that do what a command does.
FUNCTIONS = {
    "run": ["run", "experiment", "dry_run"],
    "resume": ["resume"],
    "mark": ["mark"],
    "audit": ["audit", "audit_rollouts", "benchmark_the_graders"],
    "reward": ["attack"],
    "select": ["select"],
    "reproduce": ["reproduce"],
    "judge": ["judge"],
    "adjudicate": ["adjudicate"],
    "report": ["report", "series"],
    "compare": ["compare"],
    "verify": ["verify"],
    "errata": ["errata", "suspects"],
    "gate": ["gate"],
    "plan": ["plan"],
    "push": ["push"],
    "show": ["show"],
    "list": ["list_benchmarks", "list_protocols", "list_models"],
    "data": ["data"],
    "countdown": ["countdown"],
    "import": ["import_log"],
    "export": ["export"],
}

NO_FUNCTION = {
    "view": "a browser app",
    "completion": "for shells",
    "doors": "files for the command lines of other systems",
    "plugins": "paths for the command lines of other tools",
    "lm-eval": "the command line of another tool",
}

# What a command prints or writes, a function returns.
PRINTING = {
    "json",
    "format",
    "output",
    "plots",
    "plot_format",
    "plot_lines",
    "pivot",
    "plot",
    "save_results",
    "help",
    "fail_if_worse",
    "fail_below",
    "junit",
    "markdown",
    "status",
}

# Options that Python has in another way.
OTHERWISE = {
    # A prompt is a text here, and ms.dry_run a function; a list of checkpoints is a loop, with step=N.
    "run": {"prompt_file", "dry_run", "series", "watch", "until_step"},
    "report": {"series", "between", "token_limits", "tokenizer"},  # other reports: ms.series and run.token_limits
    "audit": {"benchmark_the_graders", "rollouts", "by", "strict", "html", "label_sample"},  # ms.audit_rollouts
    "show": {"prompt_file"},
    "adjudicate": {"page", "port", "no_browser"},  # a page in the browser
}


def flags(command):
    """Names and defaults of a command's options."""
    actions = [action for action in build_parser(command)._actions if action.option_strings]
    left_out = PRINTING - ({"output"} if command == "export" else set()) | OTHERWISE.get(command, set())
    return {action.dest: action.default for action in actions if action.dest not in left_out}


def keywords(function):
    """Names and defaults of a function's keyword arguments."""
    parameters = inspect.signature(function).parameters.values()
    return {
        each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY and each.name != "progress"
    }


def plain(default):
    """A flag's default and an argument's where both mean that nothing was said."""
    return None if default in ((), [], None, inspect.Parameter.empty) else str(default)


def test_commands_when_listed_then_each_has_its_functions_or_a_reason_for_none():
    assert FUNCTIONS.keys() | NO_FUNCTION.keys() == COMMANDS.keys()
    assert {name for names in FUNCTIONS.values() for name in names} <= set(dir(ms))


@pytest.mark.parametrize("command", ["report", "compare", "audit", "plan", "push", "show", "import", "export"])
def test_function_when_its_command_has_an_option_then_it_has_the_same(command):
    ours, theirs = keywords(getattr(ms, FUNCTIONS[command][0])), flags(command)
    theirs.pop("model", None)
    assert ours.keys() == theirs.keys()
    assert {name: plain(value) for name, value in ours.items()} == {
        name: plain(value) for name, value in theirs.items()
    }


@pytest.mark.parametrize("command", ["run", "resume", "judge", "adjudicate"])
def test_function_that_asks_when_its_command_has_an_option_then_it_is_taken(command):
    function = getattr(ms, FUNCTIONS[command][0])
    taken = keywords(function).keys() | ({"model"} if command == "resume" else set())
    assert flags(command).keys() <= taken


def test_data_when_its_commands_are_listed_then_each_is_a_function():
    (actions,) = [each for each in build_parser("data")._actions if isinstance(each.choices, dict)]
    assert actions.choices.keys() <= set(dir(data))


def test_package_when_imported_then_no_part_of_the_api_is(tmp_path):
    code = "import sys, markscheme; print([name for name in sys.modules if name.startswith('markscheme.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_names_when_listed_then_every_one_is_there_and_travels():
    for name in ms.__all__:
        value = getattr(ms, name)
        assert getattr(ms, name) is value
        if callable(value):
            assert pickle.loads(pickle.dumps(value)) is value


def test_run_when_help_is_asked_for_then_every_option_is_named_and_explained():
    shown = inspect.signature(ms.run).parameters
    assert set(RunConfig.__struct_fields__) <= shown.keys()
    assert shown["samples"].default == 1
    assert "**" not in str(inspect.signature(ms.run))
    assert "\n    samples: responses per problem" in inspect.getdoc(ms.run)
    assert "--" not in inspect.getdoc(ms.run)
    assert inspect.iscoroutinefunction(ms.run_async)


@pytest.mark.needs("IPython")
def test_run_when_tab_is_pressed_in_a_notebook_then_options_are_offered():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.user_ns["ms"] = ms
    shell.Completer.use_jedi = False
    assert "temperature=" in shell.Completer.complete(line_buffer="ms.run('x', temp", cursor_pos=15)[1]
    assert ".list_benchmarks" in "".join(shell.Completer.complete(line_buffer="ms.list", cursor_pos=7)[1])
