"""Conversations of several turns: what happens between two turns of the model, and the journal that keeps them.

Every turn is in `turns.jsonl` before the next begins; the last one is in the response. A killed conversation goes on where
it was, and nothing is asked twice.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import UsageError, option
from markscheme.models.base import Model, Request
from markscheme.runs.journal import Journal
from markscheme.runs.turns import TurnLine
from markscheme.tools import Result, Tool
from markscheme.tools.formats import FORMATS
from markscheme.types import Question, ToolCall, Turn


def check_talk(config: RunConfig, model: Model, questions: Sequence[Question], tools: Mapping[str, Tool]) -> None:
    """Refuse questions and conversations that the model or another option does not allow."""
    model.check([question.problem.statement for question in questions])
    if not talks(questions, tools):
        return
    if not all(text.strip() for question in questions for text in question.prompt.then):
        raise UsageError(f"{option('then')} has an empty message")
    name = option("tools" if tools else "then")
    if not model.converses:
        raise UsageError(
            f"{name} needs a model that takes several turns (openai/, anthropic/, vllm/ …), not {model.name}"
        )
    if config.batch or (config.samples_per_request or 1) > 1:
        once = option("batch" if config.batch else "samples_per_request")
        raise UsageError(f"{once} asks once, but {name} continues after the answer: leave one of them out")
    if tools and config.tool_format == "native" and config.api == "completions":
        raise UsageError(f"{option('api', 'completions')} has no tool calls; use {option('tool_format', 'fenced')}")
    if len(tools) > 1 and config.tool_format != "native":
        raise UsageError(f"{option('tool_format', config.tool_format)} can call one tool only; leave the others out")


def talks(questions: Sequence[Question], tools: Mapping[str, Tool]) -> bool:
    """True if a response may take several turns."""
    return bool(tools) or any(question.prompt.then for question in questions)


class Talk:
    """Answers tool calls, and then sends the user's further messages."""

    def __init__(self, journal: Journal, config: RunConfig, tools: Mapping[str, Tool]) -> None:
        self._journal, self._most, self._tools = journal, config.max_turns, tools
        self._format = FORMATS.get(config.tool_format)
        self._at_once = asyncio.Semaphore(os.cpu_count() or 1)

    async def ready(self, request: Request) -> Request:
        """Add tool results or the user's next message if the model spoke last."""
        if self._tools and self._format is not None:
            if self._format.stop not in request.sampling.stop:
                stop = (*request.sampling.stop, self._format.stop)
                request = msgspec.structs.replace(
                    request, sampling=msgspec.structs.replace(request.sampling, stop=stop)
                )
        elif self._tools and not request.tools:
            request = msgspec.structs.replace(request, tools=tuple(tool.spec for tool in self._tools.values()))
        if not request.turns or request.turns[-1].role != "assistant":
            return request
        if calls := request.turns[-1].tool_calls:
            return self._with(request, *[await self._called(request.turns, call) for call in calls])
        return self._with(request, Turn(role="user", text=request.prompt.then[_said(request, "user")]))

    def heard(self, turn: Turn) -> Turn:
        """Return the turn with its tool calls: those of the API, or the call at the end of the text.

        A turn that the token limit cut off has none, since a call in it would be incomplete.
        """
        if not self._tools or turn.finish_reason == "length":
            return msgspec.structs.replace(turn, tool_calls=())
        if self._format is None:
            return turn
        code = self._format.call(turn.text)
        named = next(iter(self._tools))
        calls = () if code is None else (ToolCall(id="", name=named, arguments=code),)
        return msgspec.structs.replace(turn, tool_calls=calls)

    def further(self, request: Request, turn: Turn) -> Request | None:
        """Return the request that follows a turn, which is saved, or None after the last turn, which the response saves."""
        if turn.tool_calls:
            more = _said(request, "assistant") + 1 < self._most
        else:
            more = _said(request, "user") < len(request.prompt.then)
        return self._with(request, turn) if more else None

    def ticket(self, request: Request, ticket: str) -> None:
        """Save the server's id for the answer it is working on."""
        line = TurnLine(key=request.key, sample=request.samples[0], number=len(request.turns), ticket=ticket)
        self._journal.write([line])

    async def _called(self, turns: Sequence[Turn], call: ToolCall) -> Turn:
        """Return the result of a call in the last turn."""
        tool, begun = self._tools.get(call.name), time.monotonic()
        if tool is None:
            result = Result(f"there is no tool {call.name[:80]!r}; there are {', '.join(self._tools)}", failed=True)
        else:
            async with self._at_once:
                result = await tool.run(call.arguments, _before(turns, call))
        text = result.text if self._format is None else self._format.answered(turns[-1].text, result)
        took = round(time.monotonic() - begun, 4)
        return Turn(role="tool", text=text, call_id=call.id, failed=result.failed, lost=result.lost, latency=took)

    def _with(self, request: Request, *turns: Turn) -> Request:
        first = len(request.turns)
        lines = [
            TurnLine(key=request.key, sample=request.samples[0], number=first + place, turn=turn)
            for place, turn in enumerate(turns)
        ]
        self._journal.write(lines)
        return msgspec.structs.replace(request, turns=(*request.turns, *turns), ticket="")


def _said(request: Request, role: str) -> int:
    return sum(turn.role == role for turn in request.turns)


def _before(turns: Sequence[Turn], call: ToolCall) -> list[str]:
    """Return the arguments of earlier calls of the same tool, since the last one that lost the session."""
    before: list[str] = []
    for number, turn in enumerate(turns):
        for place, one in enumerate(turn.tool_calls):
            if one is call:
                return before
            if one.name == call.name:
                result = turns[number + 1 + place] if number + 1 + place < len(turns) else None
                before = [] if result is not None and result.lost else [*before, one.arguments]
    return before
