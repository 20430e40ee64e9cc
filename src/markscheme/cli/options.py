"""Command-line flags made from `RunConfig`, so that flags, Python arguments and manifests cannot drift apart."""

from __future__ import annotations

import argparse
import types
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from markscheme.config import Option, RunConfig, make_config, run_options
from markscheme.datasets.small_texts import read_small_text

T = TypeVar("T")


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
        more, reading = SEVERAL.get(option.name, ("", {})) if several else ("", {})
        groups[option.group].add_argument(
            *option.flags,
            dest=option.name,
            default=None,
            help=argparse.SUPPRESS if option.name in hide else option.help.replace("%", "%%") + more,
            **(_reading(option) | reading),
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
        return read_small_text(Path(path)).removesuffix("\n")
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


def _reading(option: Option) -> dict[str, Any]:
    """How argparse reads one option: repeated flags become tuples, `1,4,16` a tuple of integers."""
    kinds, metavar = _bare_kinds(option.kind), option.metavar
    if kinds == [int, "auto"]:
        return {"type": lambda text: text if text == "auto" else _integer(text), "metavar": metavar}
    if all(isinstance(each, str) for each in kinds):
        return {"choices": kinds}
    (inner,) = kinds
    if metavar is not None and metavar.startswith("±"):
        return {"type": _half_width, "metavar": metavar}
    if inner is bool:
        # An option that is a "no" already gets no `--no-no-…`.
        return {"action": "store_true" if option.name.startswith("no_") else argparse.BooleanOptionalAction}
    if inner == tuple[int, ...]:
        return {"type": _separated(_integer), "metavar": metavar}
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


def _reader(kind: Callable[[str], T], what: str) -> Callable[[str], T]:
    def read(text: str) -> T:
        try:
            return kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}") from None

    return read


_integer, _number = _reader(int, "a whole number"), _reader(float, "a number")


def _half_width(text: str) -> float:
    """`±2`, `+-2` and `2` are the same."""
    return _number(text.strip().removeprefix("±").removeprefix("+-").removeprefix("+/-"))


def _separated(read: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    """`1,4,16` as a tuple."""
    return lambda text: tuple(map(read, text.split(",")))


def _several() -> dict[str, tuple[str, dict[str, Any]]]:
    """Numbers and short words are separated by commas; texts, which hold commas themselves, are typed again."""
    commas = "; several with commas are asked one after the other"
    several: dict[str, tuple[str, dict[str, Any]]] = {
        name: ("; may be repeated, and each is asked", {"action": "append"}) for name in ("prompt", "system_prompt")
    }
    for name in ("temperature", "top_k", "top_p", "max_tokens", "seed", "fewshot", "fewshot_seed", "thinking_budget",
                 "reasoning_effort"):  # fmt: skip
        (kind,) = _bare_kinds(run_options()[name].kind)
        read: Callable[[str], Any] = {int: _integer, float: _number}.get(kind, str)
        several[name] = (commas, {"type": _separated(read)})
    return several


SEVERAL = _several()  # options that `run` takes several values of: what their help says, and how they are read
