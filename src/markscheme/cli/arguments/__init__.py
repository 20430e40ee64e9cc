"""What each command takes: one TOML file per command, read into its argparse parser.

A table per argument. Its name is what the help shows: `-o, --output FILE` is an option, `RUN...` one or more positional
arguments, `[DIR]` an optional one, `--watch` a switch. `calls` names the function of a command that has no module of its
own: it is called with the arguments that have the names of its parameters, and its result is printed. Arguments of
several commands are in `shared.toml`; a command's table adds to them. A command with actions has `[actions.NAME]` with the
arguments of each, and `calls`. An option that does nothing without another one names it as `needs`. `{metrics}` and other names of `LISTS` in a help text are filled in from the code.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

# The type of value for a metavariable, if the table does not name another.
KIND_OF = {"N": "integer", "SHARE": "number", "POINTS": "number", "PERCENT": "number"}

# Tables of the code that help texts list; they are imported only when a help is printed.
LISTS = {
    "metrics": ("markscheme.statistics.metrics", "NAMES"),
    "trackers": ("markscheme.tracking", "TRACKERS"),
}


def listed(help: str) -> str:
    """Return a help text with the lists that it names."""
    names = {
        name: ", ".join(getattr(import_module(home), table))
        for name, (home, table) in LISTS.items()
        if f"{{{name}}}" in help
    }
    return re.sub(r"\{(\w+)\}", lambda named: names.get(named[1], named[0]), help)


def add_declared(parser: argparse.ArgumentParser, command: str) -> None:
    """Add the arguments of a command's file, or its actions with theirs."""
    declared = _read(command)
    _add_all(parser, {name: table for name, table in declared.items() if name not in ("actions", "calls")})
    if "actions" in declared:
        actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
        for name, table in declared["actions"].items():
            about: dict[str, Any] = {key: table[key] for key in ("help", "description") if key in table}
            named = {key: argument for key, argument in table.items() if isinstance(argument, dict)}
            _add_all(actions.add_parser(name, **about, allow_abbrev=False), named)


def function_of(command: str, action: str = "") -> str | None:
    """Return the function that does a command or its action, if that is all of it."""
    declared = _read(command)
    called: str | None = (declared["actions"][action] if action else declared).get("calls")
    return called


def actions_of(command: str) -> list[str]:
    """Return the actions of a command."""
    return [*_read(command).get("actions", ())]


@cache
def _read(name: str) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))


def _add_all(parser: argparse.ArgumentParser, tables: dict[str, Any]) -> None:
    shared = _read("shared")
    groups: dict[str, argparse._ActionsContainer] = {"": parser}
    for name, table in tables.items():
        argument = shared.get(name, {}) | table
        title = argument.pop("group", "")
        if title not in groups:
            groups[title] = parser.add_argument_group(title)
        needs = argument.pop("needs", "")
        added = groups[title].add_argument(*_flags(name), **_settings(name, argument))
        added.needs = needs  # type: ignore[attr-defined]


def _flags(name: str) -> list[str]:
    return [word.rstrip(",") for word in name.split() if word.startswith("-")]


def _settings(name: str, argument: dict[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of `add_argument`."""
    flags = _flags(name)
    shown = name.rpartition(" ")[2] if flags and not name.endswith(flags[-1]) else "" if flags else name
    metavar = re.sub(r"^\[(.*)\]$", r"\1", shown).removesuffix("...")
    kind = argument.pop("kind", KIND_OF.get(metavar))
    repeat = argument.pop("repeat", False)
    if not flags:
        argument.setdefault("dest", metavar.partition(".")[0].lower() + "s" * shown.rstrip("]").endswith("..."))
    choices = argument.get("choices")
    told = {"choices": ", ".join(choices or ()), "default": argument.get("default", "")}
    argument["help"] = re.sub(r"\{(choices|default)\}", lambda key: str(told[key[1]]), argument["help"]).replace(
        "%", "%%"
    )
    if flags and not shown:
        return {"action": "store_true"} | argument
    if shown.rstrip("]").endswith("..."):
        argument |= {"nargs": "*" if shown.startswith("[") else "+"} | ({"action": "extend"} if flags else {})
    elif shown.startswith("["):
        argument["nargs"] = "?"
    if repeat:
        argument["action"] = "append"
    if kind:
        argument["type"] = READERS[kind]
    argument.setdefault("metavar", metavar)
    return argument | ({"metavar": (*argument["metavar"],)} if isinstance(argument["metavar"], list) else {})


def _reader(read: Callable[[str], T], what: str) -> Callable[[str], T]:
    def checked(text: str) -> T:
        try:
            return read(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}") from None

    return checked


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise ValueError
    return int(text)


def _span(text: str) -> tuple[int, int]:
    """`4` or `3-4` as a pair of lowest and highest."""
    match = re.fullmatch(r"(\d{1,15})(?:\s*(?:-|–|\.\.)\s*(\d{1,15}))?", text.strip())
    if not match:
        raise ValueError
    return int(match[1]), int(match[2] or match[1])


def _prompt(path: str) -> str:
    """Return the text of a prompt file."""
    from markscheme.datasets.small_texts import read_small_text
    from markscheme.errors import os_reason

    try:
        return read_small_text(Path(path)).removesuffix("\n")
    except (OSError, UnicodeDecodeError) as problem:
        raise argparse.ArgumentTypeError(f"{path} cannot be read: {os_reason(problem)}") from None


integer, number = _reader(int, "a whole number"), _reader(float, "a number")
READERS: dict[str, Callable[[str], Any]] = {
    "integer": integer,
    "number": number,
    "count": _reader(_count, "a whole number of at least 1"),
    "span": _reader(_span, "a number or a range such as 3-4"),
    "prompt": _prompt,
    "path": Path,
    "port": _reader(_port, "a port number from 0 to 65535"),
}
