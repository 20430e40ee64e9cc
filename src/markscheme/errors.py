"""The expected failures of markscheme: one class per boundary.

A message is one sentence for the user: what is wrong, where, and what to do. An option or a command in it is named by
`option` and `command`, which write it as the user types it: on the command line `--limit` and `markscheme resume runs/x`,
in Python `limit` and `ms.resume('runs/x')`. Errors are handled in three places only:

- A failure of one request or one response stays with that response (`models/base.py`, `unmarkable`) and does not stop a run.
- A failure that stops a run is raised after everything that arrived has been saved: `running/execute.py`.
- `cli/__init__.py` prints the message and exits with `exit_code`. In Python the exception reaches the caller.

Any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Literal

Surface = Literal["shell", "python"]

_surface: Surface = "python"

# Python forms of commands that differ from `ms.COMMAND(arguments, option=value)`.
_IN_PYTHON = {
    "mark": "ms.load({0}).mark({protocol})",
    "adjudicate": "ms.adjudicate({0}, who=…)",
    "judge": "ms.judge({0}, model=…, name={name})",
    "list": "ms.list_benchmarks()",
    "audit --benchmark-the-graders": "ms.benchmark_the_graders({0})",
    "run --help": "help(ms.run)",
}


@contextmanager
def speaking(surface: Surface) -> Iterator[None]:
    """Write the options and commands in messages as this surface has them."""
    global _surface
    before, _surface = _surface, surface
    try:
        yield
    finally:
        _surface = before


def option(name: str, value: object = None) -> str:
    """Return an option as written in a message, with its value if given."""
    if _surface == "shell":
        flag = f"--{name.replace('_', '-')}"
        return flag if value is None or value is True else f"{flag} {value}"
    if value is None:
        return name
    return f"{name}={value}" if isinstance(value, int | float) or str(value).isupper() else f"{name}={value!r}"


def command(name: str, /, *arguments: object, **options: object) -> str:
    """Return a command as written in a message, in backticks. Options that are None are left out."""
    given = {key: value for key, value in options.items() if value is not None}
    if _surface == "shell":
        flags = [word for key, value in given.items() for word in (f"--{key.replace('_', '-')}", str(value))]
        return f"`{' '.join(['markscheme', name, *(_quoted(str(word)) for word in (*arguments, *flags))])}`"
    words = [repr(str(each)) for each in arguments]
    if name in _IN_PYTHON:
        return f"`{_IN_PYTHON[name].format(*words, **{key: repr(value) for key, value in given.items()})}`"
    words += [f"{key}={value!r}" for key, value in given.items()]
    return f"`ms.{name.replace(' ', '.')}({', '.join(words)})`"


def _quoted(word: str) -> str:
    import shlex

    return word if word == "…" else shlex.quote(word)


def counted(number: int, noun: str, verb: str = "") -> str:
    """Return `1 problem`, `2 problems`, `0 replies`; with the verb `is` also `1 reply is` and `2 replies are`."""
    if number != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
        verb = {"is": "are", "has": "have", "counts": "count"}.get(verb, verb)
    return f"{number:,} {noun} {verb}".rstrip()


def first_line(error: BaseException) -> str:
    """Return the first line of a foreign error, cut to a length that fits into a message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def os_reason(error: BaseException) -> str:
    """Return why a file or folder cannot be used, as said of its path."""
    from pathlib import Path

    path = Path(os.fsdecode(error.filename)) if isinstance(error, OSError) and error.filename else None
    if isinstance(error, FileNotFoundError):
        there = path is None or path.parent.exists()
        return "it does not exist" if there else f"the folder {path.parent if path else ''} does not exist"
    if isinstance(error, FileExistsError | NotADirectoryError):
        file = next((each for each in (path, *path.parents) if each.is_file()), path) if path else "part of the path"
        return f"{file} is a file, not a folder"
    if isinstance(error, IsADirectoryError):
        return "it is a folder"
    return getattr(error, "strerror", None) or first_line(error)


class MarkschemeError(Exception):
    """The base of all expected failures; catch this to catch them all."""

    exit_code = 1
    stopped_run: object = None
    """The `Run` that the failure stopped, with everything that arrived; None if it had not started."""


class UsageError(MarkschemeError):
    """The command or call asks for something that does not exist or contradicts itself."""

    exit_code = 2


class DataError(MarkschemeError):
    """Problems that could not be read, fetched or verified."""


class ModelError(MarkschemeError):
    """A model could not be reached or used at all. A single failed response is data instead."""


class MarkingError(MarkschemeError):
    """A protocol cannot be applied to this kind of problem. An unusual response gets a verdict instead."""


class JournalError(MarkschemeError):
    """A run folder cannot be read or written safely."""


class IncompleteRunError(MarkschemeError):
    """The run ended with responses missing; everything that arrived is kept and `resume` asks for the rest."""

    exit_code = 3


def nearest(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Suggest the known name that is nearest to an unknown one, else say `otherwise` or list all of them."""
    from difflib import get_close_matches

    bare = {each.lstrip("-"): each for each in known}
    close = get_close_matches(name.lstrip("-"), bare, n=1)
    return f"did you mean {bare[close[0]]}?" if close else otherwise or f"there are {', '.join(bare.values())}"


def needed(module: str, extra: str, failure: type[MarkschemeError] = UsageError) -> Any:
    """Import an optional module, or one of ours that depends on it; the failure names the extra to install."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.rpartition(".")[2] if module.startswith("markscheme.") else module.partition(".")[0]
        raise failure(f"{name} cannot be imported ({error}): pip install 'markscheme[{extra}]'") from None
