"""Several turns: what is said between two turns of the model, and the journal that loses none of them.

Every turn is in `turns.jsonl` before the next begins; the last one is in the response. After a kill a conversation goes
on where it was, and nothing that was paid for is asked again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import UsageError
from markscheme.models.base import Model, Request
from markscheme.running.live import SampleSet
from markscheme.runs.journal import Journal
from markscheme.runs.lines import LineReader, decode_or_none
from markscheme.tools import Result, make_tools
from markscheme.types import ToolCall, Turn

FENCE, OUTPUT = "```python\n", "```output"  # as ToRA and NeMo-Skills have it


class TurnLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of `turns.jsonl`: turn `number` (from 0) of the conversation about a sample."""

    key: str
    sample: int = msgspec.field(default_factory=int)  # always written
    number: int = msgspec.field(default_factory=int)
    turn: Turn


def check_talk(config: RunConfig, model: Model) -> None:
    """Refuse a conversation that the model, another option or this machine does not allow."""
    flag = "--then" if config.then else "--tools"
    if not talks(config):
        return
    if not model.converses:
        raise UsageError(
            f"{flag} needs a model that takes several turns (openai/, anthropic/, vllm/ …), not {model.name}"
        )
    if config.batch or (config.samples_per_request or 1) > 1:
        once = "--batch" if config.batch else "--samples-per-request"
        raise UsageError(f"{once} asks once, and {flag} goes on after the answer: leave one of them out")
    if config.tools and config.tool_format == "native" and config.api == "completions":
        raise UsageError("--api completions has no tool calls of its own; give --tool-format fenced")
    make_tools(config)


def talks(config: RunConfig) -> bool:
    """Whether a response may take several turns."""
    return bool(config.then or config.tools)


class Talk:
    """A conversation: calls of tools are answered, and then the user says the same further things to every answer."""

    def __init__(self, journal: Journal, config: RunConfig) -> None:
        self._journal, self._then, self._most = journal, config.then, config.max_turns
        self.tools = make_tools(config)
        self._fenced = config.tool_format == "fenced"
        self._at_once = asyncio.Semaphore(os.cpu_count() or 1)

    async def ready(self, request: Request) -> Request:
        """With the results of tools or what the user says next, where the model spoke last."""
        if self.tools and self._fenced:
            if OUTPUT not in request.sampling.stop:
                stopping = msgspec.structs.replace(request.sampling, stop=(*request.sampling.stop, OUTPUT))
                request = msgspec.structs.replace(request, sampling=stopping)
        elif self.tools and not request.tools:
            request = msgspec.structs.replace(request, tools=tuple(tool.spec for tool in self.tools.values()))
        if not request.turns or request.turns[-1].role != "assistant":
            return request
        if calls := request.turns[-1].tool_calls:
            return self._with(request, *[await self._called(request.turns, call) for call in calls])
        said = sum(turn.role == "user" for turn in request.turns)
        return self._with(request, Turn(role="user", text=self._then[said]))

    def further(self, request: Request, turn: Turn) -> Request | None:
        """Goes on while a tool is called or the user has more to say; the last answer needs no line of its own."""
        called = self._calls(turn)
        if called:
            spoken = 1 + sum(turn.role == "assistant" for turn in request.turns)
            more = spoken < self._most
        else:
            more = sum(turn.role == "user" for turn in request.turns) < len(self._then)
        return self._with(request, msgspec.structs.replace(turn, tool_calls=called)) if more else None

    def _calls(self, turn: Turn) -> tuple[ToolCall, ...]:
        """The calls of a turn: those of the API, or the block of code that ends the text."""
        if not self.tools or not self._fenced:
            return turn.tool_calls if self.tools else ()
        opened = turn.text.rfind(FENCE)
        code, closed, after = turn.text[opened + len(FENCE) :].partition("\n```")
        if opened < 0 or not closed or after.strip():
            return ()
        return (ToolCall(id="", name="python", arguments=code),)

    async def _called(self, turns: Sequence[Turn], call: ToolCall) -> Turn:
        """The result of a call of the last turn. What the same tool was told before goes with it."""
        tool = self.tools.get(call.name)
        if tool is None:
            result = Result(f"there is no tool {call.name[:80]!r}; there are {', '.join(self.tools)}", failed=True)
        else:
            before = [one for turn in turns for one in turn.tool_calls]
            before = before[: next(place for place, one in enumerate(before) if one is call)]
            async with self._at_once:
                result = await tool.run(call.arguments, [one.arguments for one in before if one.name == call.name])
        text = f"\n{OUTPUT}\n{result.text}\n```\n" if self._fenced else result.text
        return Turn(role="tool", text=text, call_id=call.id, failed=result.failed)

    def _with(self, request: Request, *turns: Turn) -> Request:
        first = len(request.turns)
        lines = [
            TurnLine(key=request.key, sample=request.samples[0], number=first + place, turn=turn)
            for place, turn in enumerate(turns)
        ]
        self._journal.write(lines)
        return msgspec.structs.replace(request, turns=(*request.turns, *turns))


def begun(folder: Path, answered: SampleSet) -> dict[tuple[str, int], tuple[Turn, ...]]:
    """The turns of every conversation that was left before its end, by problem and sample.

    Turns count from the first up to the first that is missing: a damaged line ends what can be gone on with.
    """
    found: dict[tuple[str, int], list[Turn]] = {}
    for file in sorted(folder.glob("turns*.jsonl")):
        reader = LineReader(file, folder)
        reader.look()
        for _, line in () if reader.refused else reader.lines(float("inf")):
            one = decode_or_none(line, TurnLine, TurnLine.__struct_fields__)
            if one is None or one.sample < 0 or answered.has(one.key, one.sample):
                continue
            turns = found.setdefault((one.key, one.sample), [])
            if one.number == len(turns):
                turns.append(one.turn)
    return {cell: tuple(turns) for cell, turns in found.items() if turns}
