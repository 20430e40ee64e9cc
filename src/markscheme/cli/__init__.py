"""The command line: find the command, run it, turn expected failures into one sentence and an exit code.

Nothing is imported before it is needed, not even argparse for the overview: `markscheme --help` must feel instant.
A command is a file in `arguments/`, which declares what it takes. The file names the function that does it, or there is a
module with `run(args) -> int`; a module whose arguments are made from another table also has `add_arguments(parser)`.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress

TYPE_CHECKING = False  # as in markscheme/__init__.py
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from typing import Any, NoReturn, TextIO

# Every command with its line in the overview; its module has the same name (`import_` for `import`).
COMMANDS = {
    "run": "ask a model every question, mark every response, report",
    "resume": "continue a run: ask only for what is missing or failed",
    "mark": "mark stored outputs with one or more protocols",
    "audit": "mark the same responses with every protocol and show where they disagree",
    "reproduce": "recompute a published score from stored outputs and explain every difference",
    "judge": "ask a model about responses that the marker could not decide",
    "adjudicate": "label a random sample yourself, blind, to measure the marker's errors",
    "report": "make tables, plots and exports of one or more runs",
    "compare": "compare two runs problem by problem, or rank several",
    "reward": "attack a reward function, or serve one to trainers over HTTP",
    "select": "write the problems that a model solves sometimes, for training",
    "gate": "check runs against a policy in CI: pass, fail or inconclusive",
    "verify": "check that a run was not altered and that its marks and report can be reproduced",
    "errata": "list gold answers known to be wrong, or contradicted by independent runs",
    "plan": "how many samples you need to detect a difference, and their cost",
    "view": "browse every response in the browser",
    "push": "send a run to a tracker (wandb, mlflow …) or to the Hugging Face Hub",
    "show": "show a problem of a benchmark and the exact prompt",
    "list": "list benchmarks, protocols and model backends",
    "data": "official data: list, prepare (download and pin), verify",
    "countdown": "generate and solve Countdown puzzles",
    "import": "import a log of Inspect, lm-evaluation-harness, lighteval … as a run",
    "export": "export a run as an Inspect log, a results file or one archive",
    "lm-eval": "run lm-evaluation-harness with markscheme's tasks included",
    "doors": "copy the commands of five other systems into a folder",
    "plugins": "print the paths of the task files for other tools and of the packaged model",
    "completion": "print shell completion for bash, zsh or fish",
}

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

LEAST_MEMORY = 512 << 20  # bytes of address space; a small run fits into 400 MB


def overview() -> str:
    """Return the text of `markscheme --help`."""
    width = max(map(len, COMMANDS)) + 2
    commands = "\n".join(f"  {name:{width}}{summary}" for name, summary in COMMANDS.items())
    return (
        "usage: markscheme COMMAND [options]\n\n"
        "Evaluate language models on mathematical reasoning, with numbers you can defend.\n\n"
        f"{commands}\n\n"
        "`markscheme COMMAND --help` explains a command; `markscheme --version` prints the version.\n"
    )


def build_parser(command: str) -> argparse.ArgumentParser:
    """Return the parser of one command."""
    import argparse

    from markscheme.cli.arguments import actions_of, add_declared, function_of, listed

    summary = COMMANDS[command]

    class Parser(argparse.ArgumentParser):
        """Reports a mistake in one line, with the nearest flag for an unknown one."""

        def error(self, message: str) -> NoReturn:
            message = _reworded(message)
            end = "" if message.endswith("?") else ";"
            complain(f"{message}{end} `{self.prog} --help` lists the options", self.prog)
            sys.exit(EXIT_USAGE)

        def format_help(self) -> str:
            for action in self._actions:
                action.help = action.help and listed(action.help)
            return super().format_help()

        def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
            parsed, unknown = self.parse_known_args(args, namespace)
            if unknown:
                self.error(_unknown(unknown, [*_flags(self)]))
            for action in self._actions:
                needs = getattr(action, "needs", "")
                if needs and getattr(parsed, action.dest) != action.default:
                    other = self._option_string_actions[needs]
                    if getattr(parsed, other.dest) == other.default:
                        from markscheme.errors import UsageError

                        raise UsageError(f"{action.option_strings[-1]} needs {needs}")
            return parsed

        def _check_value(self, action: argparse.Action, value: Any) -> None:
            if action.choices is not None and value not in action.choices:
                from markscheme.errors import nearest

                raise argparse.ArgumentError(action, f"{value!r} is not a choice; {nearest(value, action.choices)}")

    parser = Parser(prog=f"markscheme {command}", description=f"{summary[0].upper()}{summary[1:]}.", allow_abbrev=False)
    add_declared(parser, command)
    if all(function_of(command, action) for action in actions_of(command) or [""]):
        parser.set_defaults(run=lambda args: _call(command, args))
        return parser
    module = _module(command)
    if more := getattr(module, "add_arguments", None):
        more(parser)
    parser.set_defaults(run=module.run)
    return parser


def _call(command: str, args: argparse.Namespace) -> int:
    """Call the function of a command, and print what it returns."""
    from importlib import import_module

    from markscheme.cli.arguments import function_of
    from markscheme.cli.page import call, show

    module, _, name = str(function_of(command, getattr(args, "action", ""))).rpartition(".")
    result = call(getattr(import_module(f"markscheme.{module}"), name), args)
    show(args, result)
    return getattr(result, "exit_code", 0)


def _flags(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action.choices, dict):
            for one in action.choices.values():
                yield from _flags(one)


def _reworded(message: str) -> str:
    """Return a message of argparse as the others are: with one name for an option, and values instead of arguments."""
    import re

    if about := re.fullmatch(r"argument (.+?): (.+)", message, re.DOTALL):
        name, reason = about[1].rpartition("/")[2], about[2]
        if count := re.fullmatch(r"expected (.+?) arguments?", reason):
            return f"{name} needs {'a value' if count[1] == 'one' else f'{count[1]} value' + 's' * (count[1] != 'at least one')}"
        return f"{name}: {reason}"
    if missing := re.fullmatch(r"the following arguments are required: (.+)", message):
        names = [each.rpartition("/")[2] for each in missing[1].split(", ")]
        return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} missing"
    return message


def _unknown(arguments: Sequence[str], known: Sequence[str]) -> str:
    flag = next((one for one in arguments if one.startswith("-")), None)
    if flag is None:
        return f"unexpected argument {' '.join(arguments)!r}"
    from markscheme.errors import nearest

    typed = flag.partition("=")[0]
    return f"there is no option {typed}; {nearest(typed.replace('_', '-'), known, 'no option has a similar name')}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    _open_streams()
    try:
        # Not list(…): once the command `list` is imported, that name is its module.
        status = _main([*(sys.argv[1:] if argv is None else argv)])
        sys.stdout.flush()  # here, so that a closed pipe or a full disk is noticed now and not at exit
    except BrokenPipeError:
        # `markscheme … | head` closes the pipe, which is not a failure.
        _forget(sys.stdout)
        return 0
    except KeyboardInterrupt:
        print("markscheme: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except OSError as problem:  # for example, standard output is a file on a full disk
        _forget(sys.stdout)
        with suppress(OSError):
            print(f"markscheme: {problem.strerror or problem}: {problem.filename or 'output'}", file=sys.stderr)
        return 1
    finally:
        try:
            sys.stderr.flush()
        except OSError:
            _forget(sys.stderr)
    return status


def _main(arguments: list[str]) -> int:
    command, *rest = arguments or [""]
    if command in ("-h", "--help", "help"):
        print(overview(), end="")
        return 0
    if command == "--version":
        from markscheme import __version__

        print(f"markscheme {__version__}")
        return 0
    from markscheme.errors import MarkschemeError, nearest, speaking

    if command not in COMMANDS:
        commands = f"the commands are {', '.join(COMMANDS)}"
        hint = nearest(command, COMMANDS, commands) if command else commands
        print(f"markscheme: no command {repr(command) if command else 'given'}; {hint}", file=sys.stderr)
        return EXIT_USAGE
    if [command, *rest[:1]] == ["completion", "words"]:  # what the scripts call at every Tab
        from markscheme.cli.completion import print_candidates

        print_candidates(rest[1:])
        return 0
    try:
        with speaking("shell"):
            _check_memory()
            args = build_parser(command).parse_args(rest)
            args.typed = arguments  # the command that continues a stopped experiment
            return int(args.run(args))
    except MarkschemeError as problem:
        complain(str(problem))
        return problem.exit_code


def _check_memory() -> None:
    """Refuse to start with so little memory that libraries would crash or hang."""
    import resource

    from markscheme.errors import UsageError

    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    if resource.RLIM_INFINITY != allowed < LEAST_MEMORY:
        have, need = allowed >> 20, LEAST_MEMORY >> 20
        raise UsageError(
            f"this process may use {have} MB of memory, but needs {need}; raise the limit with `ulimit -v {need << 10}`"
        )


def complain(message: str, speaker: str = "markscheme") -> None:
    """Print a message on standard error, without secrets and without control characters."""
    from markscheme.redaction import printable, redacted_text

    print(f"{speaker}: {printable(redacted_text(message))}", file=sys.stderr)


def _open_streams() -> None:
    """Open closed streams (`>&-`) on /dev/null, and write `?` for characters that a stream cannot encode."""

    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            handle = os.open(os.devnull, os.O_RDWR)
            if handle != number:  # so that no file of ours gets the number of a stream
                os.dup2(handle, number)
                os.close(handle)
            setattr(sys, name, os.fdopen(number, "w" if number else "r"))
        elif number and isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            with suppress(OSError):  # a pipe has no position
                stream.reconfigure(errors="replace")


def _forget(stream: TextIO) -> None:
    """Redirect to /dev/null, or Python complains again when it flushes at exit."""

    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _module(command: str) -> Any:
    from importlib import import_module
    from keyword import iskeyword

    name = command.replace("-", "_")
    return import_module(f"markscheme.cli.{name}_" if iskeyword(name) else f"markscheme.cli.{name}")
