"""Read stored rollouts of training runs into rows: verl's, TRL's, verifiers' and plain JSON lines.

A rollout is a prompt, a completion and its reward, with the training step. The files are untrusted: a line that is not
a rollout is counted and skipped.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from markscheme.errors import DataError, MarkschemeError, first_line, needed
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
SUFFIXES = (".jsonl", ".json", ".parquet")


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


class Reader:
    """Reads a file or folder of `.jsonl`, `.json` or `.parquet`; read again, it returns what was added since.

    `golds` by statement fill in for rows without one.
    """

    def __init__(self, source: str | Path, golds: Mapping[str, Any] | None = None) -> None:
        self.path = Path(source)
        self.unread: list[str] = []
        self._golds = golds or {}
        self._seen: dict[
            Path, tuple[tuple[int, int] | None, int, int]
        ] = {}  # state of a file, rows taken, bytes of JSON lines

    def read(self, *, whole: bool = True) -> list[Rollout]:
        """Return the new rollouts in the order of steps. Unless `whole`, a last line without its end is left for later."""
        path = self.path
        files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES)
        rows = [row for file in files for row in self._new(file, whole)]
        return sorted(rows, key=lambda row: row.step)

    def _new(self, file: Path, whole: bool) -> Iterator[Rollout]:
        name = str(file.relative_to(self.path)) if self.path.is_dir() else file.name
        before, taken, offset = self._seen.get(file, (None, 0, 0))
        state = before
        try:
            stat = file.stat()
            state = (stat.st_mtime_ns, stat.st_size)
            if state == before:
                return
            for row, end in _lines(file, offset, whole) if file.suffix == ".jsonl" else _table(file, taken):
                taken, offset, place = taken + 1, end, f"{name}:{taken + 1}"
                rollout = _rollout(row, name, place, self._golds)
                if rollout is not None:
                    yield rollout
                else:
                    self.skip(place)
        except (MarkschemeError, OSError, ValueError, RecursionError) as error:
            self.skip(f"{name}: {first_line(error)}")
        finally:
            self._seen[file] = (state, taken, offset)

    def skip(self, place: str) -> None:
        if len(self.unread) < _MOST_UNREAD:
            self.unread.append(place)


def read_rollouts(source: str | Path, golds: Mapping[str, Any] | None = None) -> tuple[list[Rollout], list[str]]:
    """Return the rollouts of a file or folder, and the places that could not be read."""
    reader = Reader(source, golds)
    rows = reader.read()
    if not rows:
        first = f" that can be read; first: {reader.unread[0]}" if reader.unread else f": no {', '.join(SUFFIXES)} file"
        raise DataError(f"{source} holds no rollouts{first}")
    return rows, reader.unread


def _table(file: Path, taken: int) -> Iterator[tuple[Any, int]]:
    """Yield the rows of a file that is written as a whole, from number `taken`."""
    rows: Iterable[Any]
    if file.suffix == ".parquet":
        batches = needed("pyarrow.parquet", "data").ParquetFile(file).iter_batches(1_000)
        rows = (row for batch in batches for row in batch.to_pylist())
    else:
        content = msgspec.json.decode(file.read_bytes())
        rows = content if isinstance(content, list) else [content]
    for row in islice(rows, taken, None):
        yield row, 0


def _lines(file: Path, offset: int, whole: bool) -> Iterator[tuple[Any, int]]:
    """Yield the rows of JSON lines from an offset, each with the offset after it; `None` for what is not JSON."""
    with file.open("rb") as lines:
        lines.seek(offset)
        for line in lines:
            if not (whole or line.endswith(b"\n")):
                return
            offset += len(line)
            if line.strip():
                try:
                    yield msgspec.json.decode(line), offset
                except msgspec.DecodeError:
                    yield None, offset


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
