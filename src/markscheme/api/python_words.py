"""Between Python and functions that were written for a command line: arguments, documentation and error messages.

A message is written once, for the shell (`--limit`, `markscheme resume runs/x`); here it becomes what one types in Python.
"""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, wraps
from importlib import import_module
from pathlib import PurePath
from typing import Any, TypeVar

from markscheme.config import NOT_FOR_JUDGES, RunConfig, run_options
from markscheme.errors import MarkschemeError

Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)

PART = re.compile(r"`[^`]*`|[^`]+")
FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]+)(?: ([A-Z][A-Z.|/…]*(?![\w-])|[\w.-]+=[^\s;,)]+|\d[\w.]*|ray\b|all\b))?")
SHORT_FLAG = re.compile(r"(?<![\w-])-([a-z])(?![\w-])")
# Commands whose function is called otherwise, and those that are named without their arguments.
FUNCTIONS: Mapping[str, str] = {
    "adjudicate": "ms.adjudicate(run, who=…)",
    "list": "ms.list_benchmarks()",
    "run --help": "help(ms.run)",
}


def function_of_ms(function: Function) -> Function:
    """A function as `ms.NAME`. Its module is `markscheme`, where pickle and help find it under that name."""
    made = speaking_python(function)
    if "options" in inspect.signature(function).parameters:
        made = with_options(made, NOT_FOR_JUDGES if function.__name__.startswith("judge") else ())
    made.__module__ = "markscheme"
    return made


def speaking_python(function: Function) -> Function:
    """The function with plain values for numpy's and paths, and with errors that speak of arguments."""

    def given(args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        return function(*map(plain, args), **{name: plain(value) for name, value in named.items()})

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        with _python_errors():
            return given(args, named)

    @wraps(function)
    async def call_async(*args: Any, **named: Any) -> Any:
        with _python_errors():
            return await given(args, named)

    return call_async if inspect.iscoroutinefunction(function) else call  # type: ignore[return-value]


@contextmanager
def _python_errors() -> Iterator[None]:
    try:
        yield
    except MarkschemeError as error:
        error.args = (in_python(str(error)),)
        raise


def methods_speaking_python(kind: Class) -> Class:
    """A class whose own public methods and properties do so."""
    for name, member in list(vars(kind).items()):
        if name.startswith("_") and name not in ("__getitem__", "__len__"):
            continue
        if isinstance(member, property) and member.fget is not None:
            setattr(kind, name, property(speaking_python(member.fget), doc=member.__doc__))
        elif inspect.isfunction(member):
            setattr(kind, name, speaking_python(member))
    return kind


def with_options(function: Function, leave_out: Collection[str] = ()) -> Function:
    """A function that takes the options of a run as `**options`, with each option named in its signature and in its help."""
    signature = inspect.signature(function)
    *named, _ = signature.parameters.values()
    options = [each for each in run_options().values() if each.name not in (*signature.parameters, *leave_out)]
    shown = [inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.kind)
             for each in options]  # fmt: skip
    function.__signature__ = signature.replace(parameters=[*named, *shown])  # type: ignore[attr-defined]
    explained = "\n".join(f"    {each.name}: {in_python(each.help)}" for each in options)
    function.__doc__ = f"{inspect.getdoc(function)}\n\nOptions:\n{explained}"
    return function


def plain(value: Any) -> Any:
    """A value as the command line could have given it: numpy's numbers and arrays as Python's, a path as text."""
    if isinstance(value, PurePath):
        return str(value)
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        value = value.tolist()
    return tuple(map(plain, value)) if type(value) in (list, tuple, range) else value


def in_python(message: str) -> str:
    """A message with Python's words for commands and flags."""
    return PART.sub(lambda match: _part(match[0]), message)


def _part(text: str) -> str:
    """A part in backticks that is no command of ours is code, and stays as it is."""
    if text.startswith("`markscheme "):
        return f"`{_call(text[12:-1])}`"
    if text.startswith("`") and not text.startswith("`--"):
        return text
    text = FLAG.sub(lambda match: _argument(match) if match[1].replace("-", "_") in _arguments() else match[0], text)
    return SHORT_FLAG.sub(lambda match: _short_flags().get(match[0], match[0]), text)


def _call(command: str) -> str:
    """`resume runs/x` as `ms.resume('runs/x')`."""
    if command in FUNCTIONS:
        return FUNCTIONS[command]
    try:
        name, *words = shlex.split(command)
    except ValueError:
        return f"markscheme {command}"
    if name == "data" and words:
        name, *words = f"data.{words[0]}", *words[1:]
    given: list[str] = []
    while words and not words[0].startswith("--"):
        given.append(repr(words.pop(0)))
    named = [f"{flag[2:].replace('-', '_')}={value!r}" for flag, value in zip(words[::2], words[1::2], strict=False)]
    if name == "mark":  # of a run; `ms.mark` judges one response
        return f"ms.load({', '.join(given)}).mark({', '.join(each.partition('=')[2] for each in named)})"
    if name == "judge":
        named.insert(0, "model=…")
    return f"ms.{name}({', '.join([*given, *named])})"


def _argument(match: re.Match[str]) -> str:
    """`--limit N` as `limit=N`."""
    name, value = match[1].replace("-", "_"), match[2]
    if value is None:
        return name
    return f"{name}={value}" if value[0].isupper() or value[0].isdigit() else f"{name}={value!r}"


@cache
def _arguments() -> frozenset[str]:
    """What the functions of `ms` take: a flag of that name is ours, any other belongs to another program."""
    from markscheme import _HOME
    from markscheme.api import data

    homes = {name: import_module(f"markscheme.{home}") for name, home in _HOME.items() if home.startswith("api.")}
    functions = [data.prepare, *(getattr(home, name) for name, home in homes.items() if name.islower())]
    named = {name for each in functions for name in inspect.signature(each).parameters}
    return frozenset(named | set(RunConfig.__struct_fields__))


@cache
def _short_flags() -> dict[str, str]:
    return {"-o": "output", "-b": "benchmark"} | {
        each.short: each.name for each in run_options().values() if each.short
    }
