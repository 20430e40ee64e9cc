"""The options of a run in the signature and the help of a function that takes them as `**options`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from markscheme.config import run_options

Function = TypeVar("Function", bound=Callable[..., Any])


def with_options(leave_out: Collection[str] = ()) -> Callable[[Function], Function]:
    """Name every option of a run, except some, in the signature and the docstring of a function."""

    def named(function: Function) -> Function:
        signature = inspect.signature(function)
        *own, _ = signature.parameters.values()
        options = [each for each in run_options().values() if each.name not in (*signature.parameters, *leave_out)]
        shown = [
            inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.kind)
            for each in options
        ]
        function.__signature__ = signature.replace(parameters=[*own, *shown])  # type: ignore[attr-defined]
        explained = "\n".join(f"    {each.name}: {each.explained('python')}" for each in options)
        function.__doc__ = f"{inspect.getdoc(function)}\n\nOptions:\n{explained}"
        return function

    return named
