"""Decorators for functions of `ms`: the options of a run in their help, and numbers of numpy as arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import wraps
from typing import Any, TypeVar

from markscheme.config import run_options

Function = TypeVar("Function", bound=Callable[..., Any])


def plain_numbers(function: Function) -> Function:
    """Pass Python's numbers and lists to a function that is given numpy's."""

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        return function(*map(_plain, args), **{name: _plain(value) for name, value in named.items()})

    return call  # type: ignore[return-value]


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") and hasattr(value, "dtype") else value


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
