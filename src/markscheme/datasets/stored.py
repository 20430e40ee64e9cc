"""Stored outputs of any tool: JSON lines, the usual field names, and the text in a line.

`replay` and `mark` match the lines with problems.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from markscheme.datasets.files import decode_row
from markscheme.errors import DataError, MarkschemeError, os_reason

# `answer` comes last: next to another output it is the gold.
OUTPUT_FIELDS = ("text", "response", "output", "completion", "generation", "model_output", "prediction", "answer")
SEVERAL_FIELDS = ("responses", "outputs", "completions", "generations", "samples")
QUESTION_FIELDS = ("question", "problem", "statement", "prompt")
ID_FIELDS = ("key", "problem_id", "question_id", "unique_id", "id")


def rows(file: Path, failure: type[MarkschemeError] = DataError) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield (line number, byte offset, object) for each nonempty line; any other line is an error."""
    offset = 0
    if file.is_fifo() or file.is_char_device():  # not seekable, and possibly endless
        raise failure(f"cannot read stored outputs {file}: it is a pipe or a device; write it to a file first")
    try:
        lines = file.open("rb")
    except OSError as error:
        raise failure(f"cannot read stored outputs {file}: {os_reason(error)}") from None
    with lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, offset, decode_row(line, f"{file}, line {number}", failure)
            offset += len(line)


def row_at(lines: Any, offset: int) -> dict[str, Any]:
    """Return the object of the line at an offset."""
    lines.seek(offset)
    return decode_row(lines.readline(), "a stored output")


def output(row: Mapping[str, Any]) -> str | None:
    """Return the only output of a line."""
    return next((row[field] for field in OUTPUT_FIELDS if isinstance(row.get(field), str)), None)


def outputs(row: Mapping[str, Any]) -> list[str | None] | None:
    """Return all outputs of a line, None for each that is missing; None if there is no such field."""
    one = output(row)
    if one is not None:
        return [one]
    for field in (*SEVERAL_FIELDS, *OUTPUT_FIELDS):
        if _are_texts(row.get(field)):
            return list(row[field])
    if isinstance(row.get("resps"), list):  # lm-evaluation-harness --log_samples: a list per request
        return [
            text for request in row["resps"] if isinstance(request, list) for text in request if isinstance(text, str)
        ]
    spoken = _last_spoken(row.get("messages"))
    if spoken is not None:
        return [spoken]
    return [None] if any(field in row for field in OUTPUT_FIELDS[:-1]) else None


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(text is None or isinstance(text, str) for text in value)


def _last_spoken(messages: object) -> str | None:
    for message in reversed(messages if isinstance(messages, list) else []):
        if isinstance(message, dict) and message.get("role") == "assistant" and isinstance(message.get("content"), str):
            return str(message["content"])
    return None


def without_choices(statement: str) -> str:
    """Remove choices `(A) …` and `(B) …` after a question, as other tools store it without them."""
    question, _, listed = statement.rpartition("\n\n(A) ")
    return question if "\n(B) " in listed else statement


def squeezed(text: str) -> str:
    """Return the text with every run of white space as one blank, to compare questions."""
    return " ".join(text.split())
