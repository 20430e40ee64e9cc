"""`--save-results`: one JSON line per response with problem, answer, verdict, tokens and text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from markscheme.errors import UsageError, os_reason
from markscheme.runs.answers import marked_responses
from markscheme.runs.folder import Run


def save_results(run: Run, protocol: str, file: Path) -> int:
    """Write one line per response and return their number."""
    encoder = msgspec.json.Encoder()
    written = 0
    try:
        with file.open("wb") as out:
            for line in result_lines(run, protocol):
                out.write(encoder.encode(line) + b"\n")
                written += 1
    except OSError as error:
        raise UsageError(f"cannot write {file}: {os_reason(error)}") from None
    return written


def result_lines(run: Run, protocol: str) -> Iterator[dict[str, Any]]:
    """Yield each response with its problem and mark, in order of arrival."""
    for problem, response, mark in marked_responses(run.snapshot(), protocol):
        yield {
            "benchmark": run.manifest.benchmark,
            "model": run.manifest.model,
            "problem_id": problem.id,
            "problem": problem.statement,
            "gold": problem.gold,
            **msgspec.to_builtins(response),
            "protocol": protocol,
            "verdict": mark.verdict if mark else None,
            "correct": mark.correct if mark else None,
            "extracted": mark.answer if mark else None,
            "why": mark.why if mark else None,
            "metadata": {**problem.metadata, **response.metadata},
        }
