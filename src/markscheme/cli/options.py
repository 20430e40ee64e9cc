"""Command-line flags made from `RunConfig`, so that flags, Python arguments and manifests cannot drift apart."""

from __future__ import annotations

import argparse
import types
from collections.abc import Callable, Collection
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from markscheme.cli.arguments import integer, number
from markscheme.config import Option, RunConfig, make_config, run_options

COMMAS = "; several values, separated by commas, are run one after the other"
AGAIN = "; repeat it to run several"
# Options that `run` takes several values of. Texts are typed again, since they contain commas themselves.
SEVERAL = {
    **dict.fromkeys(("prompt", "system_prompt"), AGAIN),
    **dict.fromkeys(("temperature", "top_k", "top_p", "max_tokens", "seed", "fewshot", "fewshot_seed"), COMMAS),
    **dict.fromkeys(("thinking_budget", "reasoning_effort"), COMMAS),
}
READERS: dict[Any, Callable[[str], Any]] = {int: integer, float: number, str: str}
METAVARS = {int: "N", float: "X", str: "NAME"}


def add_run_options(
    parser: argparse.ArgumentParser,
    *,
    several: bool = False,
    leave_out: Collection[str] = (),
    hide: Collection[str] = (),
) -> None:
    """Add every option of `RunConfig` in its group.

    With `several` some options take several values. Options in `hide` are read but not in the help.
    """
    groups: dict[str, Any] = {}
    for option in run_options().values():
        if option.name in leave_out:
            continue
        if option.group not in groups:
            groups[option.group] = parser.add_argument_group(option.group)
        more = SEVERAL.get(option.name, "") if several else ""
        groups[option.group].add_argument(
            *option.flags,
            dest=option.name,
            default=None,
            help=argparse.SUPPRESS if option.name in hide else option.explained("shell").replace("%", "%%") + more,
            **_reading(option, more),
        )


def typed_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options that were typed, by name."""
    typed: dict[str, Any] = {}
    for name in RunConfig.__struct_fields__:
        value = getattr(args, name, None)
        value = tuple(value) if isinstance(value, list) else value  # `append` collects a list; options are tuples
        if value is not None:
            typed[name] = value[0] if name in SEVERAL and isinstance(value, tuple) and len(value) == 1 else value
    return typed


def config_from(args: argparse.Namespace, benchmark: str) -> RunConfig:
    """Return the config of one benchmark from parsed arguments; other options keep their default."""
    return make_config(**{**typed_options(args), "benchmark": benchmark})


def _reading(option: Option, several: str) -> dict[str, Any]:
    """Return how argparse reads one option: repeated flags become tuples, `1,4,16` a tuple of integers."""
    kinds, metavar = _bare_kinds(option.kind), option.metavar
    if kinds == [int, "auto"]:
        return {"type": lambda text: text if text == "auto" else integer(text), "metavar": metavar}
    if all(isinstance(each, str) for each in kinds):
        return {"choices": kinds}
    (inner,) = kinds
    if inner is bool:
        # An option that is a "no" already gets no `--no-no-…`.
        return {"action": "store_true" if option.name.startswith("no_") else argparse.BooleanOptionalAction}
    if inner == tuple[str, ...]:
        return {"action": "append", "metavar": metavar or "TEXT"}
    if several == AGAIN:
        return {"action": "append", "metavar": metavar}
    if metavar is not None and metavar.startswith("±"):
        return {"type": _half_width, "metavar": metavar}
    if inner == tuple[int, ...]:
        return {"type": _separated(integer), "metavar": metavar}
    read = _separated(READERS[inner]) if several else READERS[inner]
    return {"type": read, "metavar": metavar or METAVARS[inner]}


def _bare_kinds(kind: Any) -> list[Any]:
    """Return the types of an option: `[int]` for `Count | None`; for a `Literal`, its words."""
    if get_origin(kind) in (Union, types.UnionType):
        return [bare for part in get_args(kind) if part is not type(None) for bare in _bare_kinds(part)]
    if get_origin(kind) is Annotated:
        return _bare_kinds(get_args(kind)[0])
    return list(get_args(kind)) if get_origin(kind) is Literal else [kind]


def _half_width(text: str) -> float:
    """Read `±2`, `+-2`, `+/-2` or `2`."""
    return number(text.strip().removeprefix("±").removeprefix("+-").removeprefix("+/-"))


def _separated(read: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """Read `1,4,16` as a tuple."""
    return lambda text: tuple(map(read, text.split(",")))
