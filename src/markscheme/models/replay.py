"""`replay/FILE.jsonl`: answer with stored outputs, so that they can be marked and reported like a live run.

It reads our own `responses.jsonl`, and lines that name their question (`key`, `question`/`problem` text, or
`question_id`/`problem_id`/`id`) and hold an output (`text`, `response`, `output`, `completion` or `answer`). All turns
of a conversation are kept. Only each output's file offset is in memory. A question without a stored output is an error,
never a wrong answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from markscheme.config import RunConfig
from markscheme.datasets.stored import (
    ID_FIELDS,
    OUTPUT_FIELDS,
    QUESTION_FIELDS,
    output,
    row_at,
    rows,
    squeezed,
    without_choices,
)
from markscheme.errors import ModelError, UsageError
from markscheme.models.base import Completion, Model, Request, RequestFailed
from markscheme.models.fields import count
from markscheme.runs.lines import convert_or_none
from markscheme.types import Turn


def create(target: str, config: RunConfig) -> Replay:
    """Create a replay of one file; with `--tools` or `--then` it goes turn by turn, and tools are really called again."""
    if not target:
        raise UsageError("replay needs a file of stored outputs: replay/FILE.jsonl")
    return Replay(Path(target), turn_by_turn=bool(config.tools or config.then))


class Replay(Model):
    """Stored outputs by question. A line's `sample` gives the sample index; without it, the order does."""

    concurrency = 16
    own_sampling = True
    converses = True

    def __init__(self, file: Path, *, turn_by_turn: bool = False) -> None:
        self.name = f"replay/{file}"
        self._file, self._turn_by_turn = file, turn_by_turn
        self._places: dict[str, dict[int, int]] = {}
        self._asked: dict[str, str] = {}
        """The key of the problem matched by a question without its choices."""
        for number, offset, row in rows(file, ModelError):
            if row.get("error"):  # a failed request in our own journal
                continue
            self._index(number, offset, row)

    def _index(self, number: int, offset: int, row: dict[str, Any]) -> None:
        names = [str(row[field]) for field in ID_FIELDS if row.get(field) not in (None, "")]
        names += [squeezed(row[field]) for field in QUESTION_FIELDS if isinstance(row.get(field), str)]
        if output(row) is None or not names:
            raise ModelError(
                f"{self._file} line {number} has no stored output: it needs {'/'.join(OUTPUT_FIELDS)}, "
                f"and {'/'.join(ID_FIELDS)} or {'/'.join(QUESTION_FIELDS)} to say which question it answers"
            )
        sample = row.get("sample")
        if sample is not None and (type(sample) is not int or sample < 0):
            raise ModelError(f"{self._file} line {number}: sample {sample!r} must be a whole number of at least 0")
        for name in dict.fromkeys(names):
            places = self._places.setdefault(name, {})
            places[len(places) if sample is None else sample] = offset

    async def generate(self, request: Request) -> Sequence[Completion]:
        # Content comes before the id, because other tools number their questions as they like.
        whole, bare = squeezed(request.statement), squeezed(without_choices(request.statement))
        names = (request.key, whole, bare, request.problem_id)
        name = next((name for name in names if name in self._places), "")
        if name == bare != whole and self._asked.setdefault(bare, request.key) != request.key:
            reason = f"problem {request.problem_id} differs from another only in its choices: its line needs a `key`"
            raise RequestFailed("not stored", reason, retryable=False)
        places = self._places.get(name, {})
        missing = [sample for sample in request.samples if sample not in places]
        if missing:
            raise RequestFailed(
                "not stored",
                f"{self._file} holds {len(places)} outputs for problem {request.problem_id}; "
                f"sample {missing[0]} is not among them",
                retryable=False,
            )
        with self._file.open("rb") as lines:
            stored = [_completion(lines, places[sample]) for sample in request.samples]
        return [self._turn(one, request) for one in stored] if self._turn_by_turn else stored

    def _turn(self, stored: Completion, request: Request) -> Completion:
        """Return the model's next message in a stored conversation."""
        spoken = [turn for turn in stored.turns if turn.role == "assistant"]
        number = sum(turn.role == "assistant" for turn in request.turns)
        if not spoken and not number:
            return stored
        if number >= len(spoken):
            reason = f"{self._file} holds {max(1, len(spoken))} turns of problem {request.problem_id}, but more were requested"
            raise RequestFailed("not stored", reason, retryable=False)
        turn = spoken[number]
        names = set(Completion.__struct_fields__) & set(Turn.__struct_fields__)
        return Completion(model=stored.model, **{name: getattr(turn, name) for name in names})


def _completion(lines: Any, offset: int) -> Completion:
    row = row_at(lines, offset)
    # Files of other tools may use our field names differently; a value of the wrong type is dropped, not an error.
    counts = {name: count(row.get(name)) for name in ("prompt_tokens", "completion_tokens", "reasoning_tokens")}
    completion = convert_or_none({**row, **counts, "text": output(row)}, Completion)
    assert completion is not None, "it has a text"
    if completion.finish_reason is None and isinstance(row.get("finish_reason"), str):
        return msgspec.structs.replace(completion, finish_reason="other")
    return completion
