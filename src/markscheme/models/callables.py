"""A Python object as a model: a function from the prompt to the answer, or a `Model`.

The function may be async. It gets the prompt as text, or as a list of `{"role": …, "content": …}` if its parameter is
named `messages`, and returns the answer as text or a `Completion`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from markscheme.config import RunConfig
from markscheme.errors import ModelError, first_line
from markscheme.models.base import Completion, Model, Request, RequestFailed
from markscheme.objects import load_object


def create(spec: str, config: RunConfig) -> Model:  # noqa: ARG001 - the signature of every backend
    """Return the model that an object spec names."""
    given = load_object(spec, "model")
    value = given.value
    if isinstance(value, Model):
        return value
    if isinstance(value, type) and issubclass(value, Model):
        return value()
    if not callable(value) or isinstance(value, type):
        raise ModelError(
            f"{spec} is of type {type(value).__name__}; a model is a function from a prompt to an answer, or a Model"
        )
    return CallableModel(value, given.name)


class CallableModel(Model):
    """Asks a function. Functions that are not async run in threads."""

    concurrency = 8
    own_sampling = True  # temperature and the like are the function's own business

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.name = name
        self._ask = function
        called = function if inspect.isroutine(function) else type(function).__call__
        self._is_async = inspect.iscoroutinefunction(called)
        self._takes_messages = _first_parameter(function) == "messages"

    async def generate(self, request: Request) -> Sequence[Completion]:
        return [await self._answer(request) for _ in request.samples]

    async def _answer(self, request: Request) -> Completion:
        messages = [{"role": each.role, "content": each.content} for each in request.prompt.messages]
        prompt = messages if self._takes_messages else "\n\n".join(each["content"] for each in messages)
        try:
            answer = await self._ask(prompt) if self._is_async else await asyncio.to_thread(self._ask, prompt)
            answer = await answer if inspect.isawaitable(answer) else answer
        except RequestFailed:
            raise
        except Exception as error:  # the function is the user's: what it raises costs one response
            raise RequestFailed(
                "function failed", f"{type(error).__name__}: {first_line(error)}", retryable=False
            ) from error
        if isinstance(answer, Completion):
            return answer
        if isinstance(answer, str):
            return Completion(text=answer, finish_reason="stop", model=self.name)
        raise RequestFailed("function failed", f"it returned a {type(answer).__name__}, not text", retryable=False)


def _first_parameter(function: Callable[..., Any]) -> str:
    try:
        names = [name for name in inspect.signature(function).parameters if name != "self"]
    except ValueError:  # some builtin functions have no signature
        return ""
    return names[0] if names else ""
