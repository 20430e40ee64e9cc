"""Read stored responses of lighteval, OpenCompass, EvalScope, verifiers and MathArena from their files alone.

Files are recognized by their format, not their location. If a tool stores no gold, or only the prompt, `-b` names the
benchmark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from markscheme.datasets.files import read_rows
from markscheme.errors import DataError, UsageError
from markscheme.plugins.logs import Entry, Log
from markscheme.types import FinishReason, Message, Prompt, Response

LARGEST = 1 << 30  # bytes of one file


def open_other(path: Path) -> Log | None:
    """Open a log of one of these tools; None for any other file."""
    if path.is_dir() or path.name.endswith(".json.zst"):
        return _math_arena(path)
    if path.suffix == ".parquet":
        return _lighteval(path)
    if path.suffix == ".json":
        whole = _decode(path)
        if isinstance(whole, dict) and "gold_answer" in whole:
            return _math_arena(path)
        if (
            isinstance(whole, dict)
            and whole
            and all(isinstance(each, dict) and "prediction" in each for each in whole.values())
        ):
            return _open_compass(path, whole)
        return None
    if path.suffix == ".jsonl":
        first = next(iter(read_rows(path)), {})
        if {"example_id", "completion"} <= first.keys():
            return _verifiers(path)
        if "sample_score" in first and first.keys() & {"messages", "input"}:
            return _eval_scope(path)
    return None


def _log(tool: str, path: Path, model: str, entries: Callable[[], Iterator[Entry]], name: str = "") -> Log:
    return Log(tool=tool, name=name or path.name.partition(".")[0], model=model, entries=_told(tool, path, entries))


def _told(tool: str, path: Path, entries: Callable[[], Iterator[Entry]]) -> Iterator[Entry]:
    """Yield the entries; an unexpected field is reported in one sentence."""
    try:
        yield from entries()
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as problem:
        raise DataError(
            f"{path} looks like {tool}, but a row cannot be read: {type(problem).__name__} {problem}"
        ) from None


def _decode(file: Path) -> Any:
    if file.stat().st_size > LARGEST:
        raise UsageError(f"{file} holds more than {LARGEST >> 30} GB")
    try:
        return msgspec.json.decode(file.read_bytes())
    except msgspec.DecodeError as problem:
        raise DataError(f"{file} is not JSON: {problem}") from None


def _text(content: Any) -> str:
    """Return the text of a message, which may have several parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def _messages(given: Any) -> tuple[Message, ...]:
    """Return chat messages as ours; a plain prompt becomes a user message."""
    if isinstance(given, str):
        return (Message("user", given),)
    kept = [(each.get("role"), _text(each.get("content"))) for each in given]
    return tuple(Message(role, text) for role, text in kept if role in ("system", "user", "assistant"))


def _entry(
    asked: str, sample: int, question: str, gold: Any, prompt: tuple[Message, ...], text: str, **more: Any
) -> Entry:
    fields = {"question": question} | ({} if gold in (None, "") else {"answer": str(gold)})
    return Entry(asked, fields, Prompt(messages=prompt), Response(key="", sample=sample, text=text, **more))


def _lighteval(path: Path) -> Log:
    """Read `details_<task>_<time>.parquet`: a document, the model's response, and its metrics."""

    def entries() -> Iterator[Entry]:
        for number, row in enumerate(read_rows(path)):
            doc, said = row["doc"], row["model_response"]
            golds = doc["gold_index"] if isinstance(doc["gold_index"], list) else [doc["gold_index"]]
            if not said.get("text"):
                raise DataError(f"{path}: the task scores likelihoods, it has no responses to mark")
            thoughts = said.get("reasonings") or []
            for sample, text in enumerate(said["text"]):
                thought = thoughts[sample] if sample < len(thoughts) else None
                prompt = _messages(said.get("input") or doc["query"])
                gold = doc["choices"][golds[0]]
                yield _entry(
                    str(doc.get("id") or number), sample, doc["query"], gold, prompt, text, reasoning=thought or None
                )

    return _log(
        "lighteval", path, path.parent.parent.name, entries, path.stem.removeprefix("details_").partition("|")[0]
    )


def _open_compass(path: Path, whole: dict[str, Any]) -> Log:
    """Read `predictions/<model>/<dataset>.json`: the prompt, the prediction and sometimes the gold, by index."""

    def entries() -> Iterator[Entry]:
        roles = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}
        for index, row in whole.items():
            asked = row["origin_prompt"]
            if isinstance(asked, list):
                asked = [{"role": roles.get(each["role"], each["role"]), "content": each["prompt"]} for each in asked]
            prompt, texts = _messages(asked), row["prediction"]
            for sample, text in enumerate(texts if isinstance(texts, list) else [texts]):
                gold = row.get("gold")
                gold = gold[0] if isinstance(gold, list) and gold else gold
                gold = None if isinstance(gold, dict) else gold  # fields of the question, not its answer
                yield _entry(
                    index, sample, prompt[-1].content, gold, prompt, text, completion_tokens=row.get("res_length")
                )

    return _log("OpenCompass", path, path.parent.name, entries)


def _eval_scope(path: Path) -> Log:
    """Read `reviews/<model>/<dataset>_<subset>.jsonl`: the target with the conversation, or with prompt and answer as
    text.
    """

    def entries() -> Iterator[Entry]:
        samples: Counter[str] = Counter()
        for row in read_rows(path):
            chat, group = row.get("messages"), row["sample_score"].get("group_id")
            if chat:
                said = [each for each in chat if each.get("role") == "assistant"][-1]
                before, text = _messages(chat[: chat.index(said)]), _text(said.get("content"))
                tokens = (said.get("perf_metrics") or {}).get("output_tokens")
            else:
                before, text = _messages(row["input"]), row["sample_score"]["score"]["prediction"]
                tokens = None
            asked = str(row["index"] if group is None else group)
            question = next(each.content for each in reversed(before) if each.role == "user")
            more = {"completion_tokens": tokens} if isinstance(tokens, int) else {}
            yield _entry(asked, samples[asked], question, row.get("target"), before, text, **more)
            samples[asked] += 1

    return _log("EvalScope", path, path.parent.name, entries)


def _verifiers(path: Path) -> Log:
    """Read `results.jsonl` of an evaluation: prompt, completion and answer of each rollout; the model is in
    `metadata.json`.
    """
    beside = path.with_name("metadata.json")
    about = _decode(beside) if beside.is_file() else {}

    def entries() -> Iterator[Entry]:
        samples: Counter[str] = Counter()
        for row in read_rows(path):
            asked, prompt = str(row["example_id"]), _messages(row["prompt"] or "")
            said = row["completion"]
            last = (
                said
                if isinstance(said, str) or said is None
                else [each for each in said if each["role"] == "assistant"][-1:]
            )
            text = last if isinstance(last, str) else _text(last[0].get("content")) if last else ""
            finish: FinishReason | None = "length" if row.get("is_truncated") else None
            error = row.get("error")
            more = (
                {"error": _text(error.get("message") or "failed"), "error_kind": "other"}
                if isinstance(error, dict)
                else {}
            )
            question = next((each.content for each in reversed(prompt) if each.role == "user"), "")
            tokens = (row.get("token_usage") or {}).get("output_tokens")
            tokens = int(tokens) if isinstance(tokens, int | float) else None
            yield _entry(
                asked, samples[asked], question, row.get("answer"), prompt, "" if more else text,
                finish_reason=finish, completion_tokens=tokens, **more,
            )  # fmt: skip
            samples[asked] += 1

    return _log(
        "verifiers", path, str(about.get("model") or path.parent.parent.name), entries, str(about.get("env_id") or "")
    )


def _math_arena(path: Path) -> Log | None:
    """Read `outputs/<competition>/<model>/`: a JSON file per problem, or an archive, with the conversations of all
    runs.
    """
    files = (
        sorted(each for pattern in ("*.json", "*.json.zst") for each in path.glob(pattern)) if path.is_dir() else [path]
    )
    if not files:
        return None

    def entries() -> Iterator[Entry]:
        for file in files:
            (row,) = list(read_rows(file)) if file.suffix == ".zst" else [_decode(file)]
            for sample, said in enumerate(row["messages"]):
                answers = [each for each in said if each.get("role") == "assistant"]
                thought = "\n".join(_text(each.get("content")) for each in answers if each.get("type") == "cot")
                text = next((_text(each.get("content")) for each in reversed(answers) if each.get("type") != "cot"), "")
                before = _messages(said[: said.index(answers[0])] if answers else said)
                yield _entry(
                    str(row["idx"]), sample, row["problem"], row["gold_answer"], before, text, reasoning=thought or None
                )

    folder = path if path.is_dir() else path.parent
    return _log("MathArena", path, folder.name, entries, folder.parent.name)
