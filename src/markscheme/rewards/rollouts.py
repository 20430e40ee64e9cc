"""Read stored rollouts of training runs into rows: verl's, TRL's, verifiers' and plain JSON lines.

A rollout is a prompt, a completion and its reward, with the training step. The files are untrusted: a line that is not
a rollout is counted and skipped.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from markscheme.errors import DataError, first_line, needed
from markscheme.rewards.scoring import statement_of, text_of

# The names of a column in each format; the first match is used.
_COLUMNS = {
    "step": ("step", "global_step", "training_step", "global_steps"),
    "statement": ("question", "problem", "statement", "prompt", "input"),
    "text": ("completion", "output", "response", "text", "solution_str", "completions"),
    "gold": ("gold", "gts", "ground_truth", "answer", "target"),
    "reward": ("reward", "score", "rewards"),
    "finish": ("finish_reason", "stop_reason"),
    "label": ("label", "correct", "human"),
}
_STEP = re.compile(r"(?:step[_-]?|global_step_|completions_|\b)(\d{1,9})(?=\D*\Z|[_/.])")
_MOST_UNREAD = 20


class Rollout(msgspec.Struct, frozen=True):
    """A completion with the reward it was paid."""

    step: int
    statement: str
    text: str
    gold: Any
    reward: float | None
    cut_off: bool = False
    label: bool | None = None  # label by a person or a judge
    place: str = ""


class Rollouts(msgspec.Struct, frozen=True):
    """The rollouts of a folder in the order of steps, and the lines that could not be read."""

    rows: tuple[Rollout, ...]
    files: int
    unread: tuple[str, ...] = ()


def read_rollouts(source: str | Path, golds: Mapping[str, Any] | None = None) -> Rollouts:
    """Read a file or folder of `.jsonl`, `.json` or `.parquet`; `golds` by statement fill in for rows without one."""
    path = Path(source)
    files = (
        [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in (".jsonl", ".json", ".parquet"))
    )
    if not files:
        raise DataError(f"{path} holds no rollouts: no .jsonl, .json or .parquet file")
    rows: list[Rollout] = []
    unread: list[str] = []
    for file in files:
        name = str(file.relative_to(path)) if path.is_dir() else file.name
        try:
            for number, row in enumerate(_rows(file), 1):
                place = f"{name}:{number}"
                rollout = _rollout(row, name, place, golds or {})
                rows.append(rollout) if rollout is not None else unread.append(place)
        except (OSError, ValueError, RecursionError) as error:
            unread.append(f"{name}: {first_line(error)}")
    if not rows:
        raise DataError(f"{path} holds no rollouts that can be read; first: {unread[0]}")
    return Rollouts(tuple(sorted(rows, key=lambda row: row.step)), len(files), tuple(unread[:_MOST_UNREAD]))


def _rows(file: Path) -> Iterator[Any]:
    if file.suffix == ".parquet":
        for batch in needed("pyarrow.parquet", "data").ParquetFile(file).iter_batches(1_000):
            yield from batch.to_pylist()
    elif file.suffix == ".json":
        whole = msgspec.json.decode(file.read_bytes())
        yield from whole if isinstance(whole, list) else [whole]
    else:
        with file.open("rb") as lines:
            for line in lines:
                if line.strip():
                    try:
                        yield msgspec.json.decode(line)
                    except msgspec.DecodeError:
                        yield None


def _rollout(row: Any, file: str, place: str, golds: Mapping[str, Any]) -> Rollout | None:
    if not isinstance(row, Mapping):
        return None
    found = {
        name: next((row[key] for key in keys if row.get(key) is not None), None) for name, keys in _COLUMNS.items()
    }
    if found["text"] is None:
        return None
    statement = statement_of(found["statement"]) if found["statement"] is not None else ""
    gold = found["gold"] if found["gold"] is not None else _within(row.get("reward_model"), "ground_truth")
    return Rollout(
        step=_step(found["step"], file),
        statement=statement,
        text=text_of(found["text"]),
        gold=gold if gold is not None else next((golds[each] for each in golds if each in statement), None),
        reward=_paid(found["reward"], row),
        cut_off=found["finish"] == "length" or bool(row.get("is_truncated")),
        label=_yes(found["label"]),
        place=place,
    )


def _within(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _step(value: Any, file: str) -> int:
    if isinstance(value, int | float) and value == value and abs(value) < 1e12:
        return int(value)
    numbers = _STEP.findall(file)
    return int(numbers[-1]) if numbers else 0


def _paid(value: Any, row: Mapping[str, Any]) -> float | None:
    """Return the reward; in TRL's table, with one column per function, their mean."""
    if isinstance(value, bool | int | float):
        return float(value)
    known = {name for names in _COLUMNS.values() for name in names} | {"advantage"}
    columns = [each for name, each in row.items() if name not in known and isinstance(each, float)]
    return sum(columns) / len(columns) if columns else None


def _yes(value: Any) -> bool | None:
    if isinstance(value, bool) or value in (0, 1):
        return bool(value)
    return (
        {"correct": True, "right": True, "wrong": False, "incorrect": False}.get(value)
        if isinstance(value, str)
        else None
    )


def lines_to_label(rollouts: Sequence[Rollout], count: int, seed: int = 0) -> Iterator[bytes]:
    """Yield a random sample of rollouts as JSON lines with an empty `label`; `read_rollouts` reads them with the labels."""
    drawn = random.Random(seed).sample(rollouts, min(count, len(rollouts)))
    for each in sorted(drawn, key=lambda row: row.step):
        row = {
            "step": each.step,
            "label": None,
            "prompt": each.statement,
            "completion": each.text,
            "gold": each.gold,
            "reward": each.reward,
            "finish_reason": "length" if each.cut_off else "stop",
            "place": each.place,
        }
        yield msgspec.json.encode(row) + b"\n"


def golds_of(problems: Sequence[Any]) -> dict[str, Any]:
    """Return golds by statement, for rollouts stored without them."""
    return {problem.statement: problem.gold for problem in problems}
