"""Command-line flags made from `RunConfig`, so that flags, Python arguments and manifests cannot drift apart."""

from __future__ import annotations

import argparse
import types
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from markscheme.config import RunConfig, make_config


def add_run_options(parser: argparse.ArgumentParser, *, several: bool = False, leave_out: Collection[str] = ()) -> None:
    """Add every option of `RunConfig` that has a flag, in its groups; `several` lets some of them have several values."""
    groups: dict[str, Any] = {}
    for name, hint in get_type_hints(RunConfig, include_extras=True).items():
        if get_origin(hint) is not Annotated or name in leave_out:
            continue  # benchmark and model are the command's own arguments
        kind, *_, meta = get_args(hint)  # Annotated[Annotated[int, limits], option] comes flattened
        extra = meta.extra
        if extra["group"] not in groups:
            groups[extra["group"]] = parser.add_argument_group(extra["group"])
        groups[extra["group"]].add_argument(
            *extra["flags"],
            dest=name,
            default=None,
            help=_escape(meta.description) + (SEVERAL[name][0] if several and name in SEVERAL else ""),
            **(_reading(kind, extra) | (SEVERAL[name][1] if several and name in SEVERAL else {})),
        )


def add_prompt_file(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """`--prompt-file`: the same as `--prompt` with what stands in the file."""
    parser.add_argument(
        "--prompt-file",
        metavar="FILE",
        type=_prompt_text,
        dest="prompt",
        action="append" if several else "store",
        help="a prompt with {statement} in it, from a file",
    )


def _prompt_text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise argparse.ArgumentTypeError(f"{path} cannot be read: {reason}") from None


def typed_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options that were typed, by name."""
    names = RunConfig.__struct_fields__
    typed = {name: getattr(args, name) for name in names if getattr(args, name, None) is not None}
    # `append` collects a list; options are tuples. One value of what may have several is just that value.
    typed = {name: tuple(value) if isinstance(value, list) else value for name, value in typed.items()}
    one = {name: typed[name][0] for name in SEVERAL if isinstance(typed.get(name), tuple) and len(typed[name]) == 1}
    return {**typed, **one}


def config_from(args: argparse.Namespace, benchmark: str) -> RunConfig:
    """The config of one benchmark from parsed arguments; what was not typed keeps its default."""
    return make_config(**{**typed_options(args), "benchmark": benchmark})


def _reading(kind: Any, extra: dict[str, Any]) -> dict[str, Any]:
    """How argparse reads one option: repeated flags become tuples, `1,4,16` a tuple of integers."""
    kinds = _bare_kinds(kind)
    metavar = extra["metavar"]
    if kinds == [int, "auto"]:
        return {"type": _integer_or_auto, "metavar": metavar}
    if all(isinstance(each, str) for each in kinds):
        return {"choices": kinds}
    (inner,) = kinds
    if metavar is not None and metavar.startswith("±"):
        return {"type": _half_width, "metavar": metavar}
    if inner is bool:
        return {"action": argparse.BooleanOptionalAction}
    if inner == tuple[int, ...]:
        return {"type": _integers, "metavar": metavar}
    if inner == tuple[str, ...]:
        return {"action": "append", "metavar": metavar or "TEXT"}
    readers: dict[Any, Callable[[str], Any]] = {int: _integer, float: _number, str: str}
    return {"type": readers[inner], "metavar": metavar or {int: "N", float: "X", str: "NAME"}[inner]}


def _bare_kinds(kind: Any) -> list[Any]:
    """What an option may be: of `Count | None`, `[int]`; of a `Literal`, its words."""
    if get_origin(kind) in (Union, types.UnionType):
        return [bare for part in get_args(kind) if part is not type(None) for bare in _bare_kinds(part)]
    if get_origin(kind) is Annotated:
        return _bare_kinds(get_args(kind)[0])
    return list(get_args(kind)) if get_origin(kind) is Literal else [kind]


def _integer_or_auto(text: str) -> int | str:
    return text if text == "auto" else _integer(text)


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def _half_width(text: str) -> float:
    """`±2`, `+-2` and `2` are the same."""
    return _number(text.strip().removeprefix("±").removeprefix("+-").removeprefix("+/-"))


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(_number(word) for word in text.split(","))


def _integers(text: str) -> tuple[int, ...]:
    return tuple(_integer(word) for word in text.split(","))


def _escape(text: str) -> str:
    return text.replace("%", "%%")


SEVERAL: dict[str, tuple[str, dict[str, Any]]] = {
    "temperature": (
        "; several with commas are asked one after the other",
        {"type": _numbers, "metavar": "TEMP[,TEMP…]"},
    ),
    "prompt": ("; may be repeated, and each is asked", {"action": "append"}),
}
"""Options that `run` takes several values of: what their help says, and how they are read."""
