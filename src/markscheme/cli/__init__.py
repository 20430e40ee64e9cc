"""The command line: finds the command, runs it, turns expected failures into one sentence and an exit code.

Only argparse is imported here, and a command's module only when that command is called: `--help` must feel instant.
A command module has `add_arguments(parser)` and `run(args) -> int`.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

COMMANDS = {
    "run": "ask a model every question, mark every response, report",
    "list": "benchmarks, protocols and model backends",
    "show": "a benchmark's problem and the prompt really sent",
    "data": "official data: list, prepare (fetch and pin), verify",
    "countdown": "fresh puzzles and exact solutions",
}
"""Every command with its one line of help, in the order of a user's day; its module has the same name."""

EXIT_INTERRUPTED = 130


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """The whole parser, or (`only`) one in which just that command's options are loaded."""
    from markscheme import __version__

    parser = argparse.ArgumentParser(
        prog="markscheme",
        description="Evaluate language models on mathematical reasoning, with numbers you can defend.",
        epilog="`markscheme COMMAND --help` explains a command.",
    )
    parser.add_argument("--version", action="version", version=f"markscheme {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name == only:
            module = _module(name)
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    return parser


def _module(name: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 - a command module, duck-typed
    return import_module("markscheme.cli." + name.replace("-", "_"))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the console script `markscheme`."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    named = next((word for word in arguments if not word.startswith("-")), None)
    parser = build_parser(only=named if named in COMMANDS else None)
    args = parser.parse_args(arguments)

    from markscheme.errors import MarkschemeError

    try:
        return int(args.run(args))
    except MarkschemeError as problem:
        print(f"markscheme: {problem}", file=sys.stderr)
        return problem.exit_code
    except KeyboardInterrupt:
        print("markscheme: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # `markscheme … | head` closed the pipe: that is the reader's choice, not a failure.
        sys.stderr.close()
        return 0
