"""Read the `samples_<task>_<time>.jsonl` that lm-evaluation-harness writes with `--log_samples`, one line per document.

lm_eval itself is not needed. A document with several filters has one line for each; the responses are the same, so the
first line counts. lm_eval keeps no finish reason, so a truncated response cannot be told from a complete one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from markscheme.datasets.files import decode_row
from markscheme.errors import DataError
from markscheme.plugins.logs import Entry, Log
from markscheme.types import Message, Prompt, Response

_NAME = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl")


def open_samples(path: Path) -> Log:
    """Read the samples file, with the model's details from the results file next to it."""
    named = _NAME.fullmatch(path.name)
    task, results = path.stem, {}
    if named is not None:
        task = named["task"]
        beside = path.with_name(f"results_{named['time']}.json")
        if beside.is_file():
            results = decode_row(beside.read_bytes(), str(beside))
    date = results.get("date")
    sampling = (results.get("config") or {}).get("gen_kwargs") or {}
    return Log(
        tool=f"lm_eval {results.get('lm_eval_version', '')}".strip(),
        name=task,
        model=str(results.get("model_name") or path.parent.name),
        entries=_entries(path),
        started=datetime.fromtimestamp(date, UTC).isoformat(timespec="seconds") if isinstance(date, float) else "",
        sampling=sampling if isinstance(sampling, dict) else {},
    )


def _entries(path: Path) -> Iterator[Entry]:
    seen = set()
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            where = f"{path}, line {number}"
            row = decode_row(line, where)
            try:
                asked, (responses, *_) = str(row["doc_id"]), row["resps"]
                doc = row["doc"]
                # Some tasks write `Problem` and `Answer`; the target is the task's processed answer.
                fields = {"answer": row["target"], **{name.lower(): value for name, value in doc.items()}, **doc}
                texts = [responses] if isinstance(responses, str) else list(responses)
            except (KeyError, TypeError, ValueError):
                raise DataError(
                    f"{where}, is not a sample of lm_eval: it needs doc_id, doc, target and resps"
                ) from None
            if asked in seen:
                continue
            seen.add(asked)
            prompt = Prompt(messages=_messages(row.get("arguments")))
            for sample, text in enumerate(texts):
                if not isinstance(text, str):
                    raise DataError(f"{where}: the task scores likelihoods, it has no responses to mark")
                yield Entry(asked, fields, prompt, Response(key="", sample=sample, text=text))


def _messages(arguments: Any) -> tuple[Message, ...]:
    """Return the prompt: chat messages as JSON if the server applied a chat template, else one text."""
    try:
        text = arguments["gen_args_0"]["arg_0"]
        text = text[0] if isinstance(text, list) else text
    except (KeyError, TypeError, IndexError):
        return ()
    try:
        return msgspec.json.decode(text, type=tuple[Message, ...])
    except msgspec.DecodeError:
        return (Message("user", text),)
