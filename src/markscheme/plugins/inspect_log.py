"""Read an Inspect log (`.eval` or `.json`) with Inspect's own reader: an epoch is a sample, an error an error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from markscheme.errors import DataError, first_line, needed
from markscheme.plugins.inspect_types import response_of
from markscheme.plugins.logs import Entry, Log
from markscheme.plugins.records import is_record
from markscheme.types import Message, Prompt, Response, ToolCall, Turn

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessage

# Parts of a sample that a run does not need and that can make up most of the log.
_HEAVY = {"events", "store", "timelines", "events_data"}

_SAMPLING = ("temperature", "top_p", "top_k", "max_tokens")


def open_eval(path: Path) -> Log:
    """Return the header and a stream of samples, so that a log of any size needs memory for one sample."""
    needed("inspect_ai.log", "inspect")
    from inspect_ai.log import read_eval_log

    try:
        header = read_eval_log(str(path), header_only=True)
    except Exception as error:  # noqa: BLE001 - whatever Inspect makes of a file that is no log of its own
        raise DataError(f"{path} is no log that Inspect can read: {first_line(error)}") from None
    config = header.plan.config
    return Log(
        tool=f"Inspect {header.eval.packages.get('inspect_ai', '')}".strip(),
        name=header.eval.task.rpartition("/")[2],
        model=header.eval.model,
        entries=_entries(path),
        started=header.stats.started_at or header.eval.created,
        ended=header.stats.completed_at or None,
        sampling={name: value for name in _SAMPLING if (value := getattr(config, name, None)) is not None},
    )


def _entries(path: Path) -> Iterator[Entry]:
    from inspect_ai.log import read_eval_log_samples

    # The log of an interrupted evaluation has fewer samples than planned; the rest are missing here too.
    for sample in read_eval_log_samples(
        str(path), all_samples_required=False, resolve_attachments="core", exclude_fields=_HEAVY
    ):
        yield Entry(str(sample.id), _fields(sample), _prompt(sample), _response(sample))


def _response(sample: EvalSample) -> Response:
    if sample.error is not None:
        message = sample.error.message.strip().splitlines() or ["no reason given"]
        return Response(
            key="", sample=sample.epoch - 1, error=message[-1][:500], error_kind="inspect", created=sample.completed_at
        )
    response = response_of(sample.output, sample.epoch - 1)
    return msgspec.structs.replace(response, created=sample.completed_at, turns=_turns(sample))


def _fields(sample: EvalSample) -> dict[str, Any]:
    metadata = sample.metadata or {}
    if is_record(metadata):
        return metadata
    target = sample.target if isinstance(sample.target, str) else sample.target[0]
    asked = sample.input if isinstance(sample.input, str) else _last_user_text(sample.input)
    return {**metadata, "id": str(sample.id), "question": asked, "answer": target}


def _prompt(sample: EvalSample) -> Prompt:
    """Return the messages before the first one written by the model."""
    sent = list(sample.messages[: _begins(sample)])
    if not sent and not isinstance(sample.input, str):
        sent = list(sample.input)
    messages = [Message(one.role, one.text) for one in sent if one.role != "tool"]
    if not messages:
        messages = [Message("user", _last_user_text(sent) if sent else str(sample.input))]
    return Prompt(messages=tuple(messages))


def _begins(sample: EvalSample) -> int:
    """Return the index of the model's first message. Worked examples have assistant messages too; Inspect marks
    generated ones.
    """
    said = [at for at, one in enumerate(sample.messages) if one.role == "assistant" and one.source == "generate"]
    if said:
        return said[0]
    at = len(sample.messages)
    while at and sample.messages[at - 1].role == "assistant":
        at -= 1
    return at


def _turns(sample: EvalSample) -> tuple[Turn, ...]:
    """Return the turns of a conversation; empty for a single-turn sample."""
    said = sample.messages[_begins(sample) :]
    if sum(one.role == "assistant" for one in said) < 2 and not any(one.role == "tool" for one in said):
        return ()
    return tuple(_turn(one) for one in said if one.role != "system")


def _turn(one: ChatMessage) -> Turn:
    if one.role == "tool":
        text = one.text or (one.error.message if one.error else "")
        return Turn(role="tool", text=text, call_id=one.tool_call_id or "", failed=one.error is not None)
    if one.role != "assistant":
        return Turn(role="user", text=one.text)
    calls = [
        ToolCall(
            id=call.id,
            name=call.function,
            arguments=call.parse_error or msgspec.json.encode(call.arguments, enc_hook=str).decode(),
        )
        for call in one.tool_calls or ()
    ]
    parts = [] if isinstance(one.content, str) else [part.reasoning for part in one.content if part.type == "reasoning"]
    return Turn(role="assistant", text=one.text, reasoning="\n".join(parts) or None, tool_calls=tuple(calls))


def _last_user_text(messages: list[ChatMessage]) -> str:
    return next((one.text for one in reversed(messages) if one.role == "user"), "")
