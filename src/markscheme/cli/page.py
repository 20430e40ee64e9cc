"""Call the function of a command, and print its result as the options ask."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from markscheme.pages.frames import Printed
from markscheme.pages.parts import print_page, written_page
from markscheme.pages.terminal import print_json

T = TypeVar("T")


def call(function: Callable[..., T], args: argparse.Namespace, **instead: Any) -> T:
    """Call a function with the arguments that have its names and were given; `instead` has those that differ."""
    typed, places, named = vars(args) | instead, list[Any](), dict[str, Any]()
    typed["run"] = typed.get("run_folder")  # `run` is the function of the command
    for each in inspect.signature(function).parameters.values():
        if typed.get(each.name) is None and (each.name not in typed or each.default is not each.empty):
            continue
        if each.kind is each.VAR_POSITIONAL:
            places += typed[each.name]
        elif each.kind is each.KEYWORD_ONLY:
            named[each.name] = typed[each.name]
        else:
            places.append(typed[each.name])
    return function(*places, **named)


def show(args: argparse.Namespace, result: Any) -> None:
    """Print a result in the form that `--format` or `--json` asks for; anything else one per line, such as files."""
    form = "json" if getattr(args, "json", False) else getattr(args, "format", "table")
    if not isinstance(result, Printed):
        print(*(result if isinstance(result, list) else filter(None, [result])), sep="\n")
    elif form == "json":
        print_json(result.content())
    elif form == "table":
        print_page(call(result.page, args))
    else:
        print(written_page(form, call(result.page, args)), end="")
