r"""nanochat's AIME tasks: conversations to train or evaluate on, and 1 or 0 for a completion.

They read `dev-aime/data/*.jsonl` beside them, as `preprocess.py` writes it, else the official data. A completion is
judged by the original's letter, the protocol `nanochat-aime`; `protocol="aime"` is ours.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markscheme.datasets import read_rows
from markscheme.errors import UsageError
from markscheme.marking import mark
from markscheme.plugins.data import ready
from markscheme.plugins.doors.aime_files import FILES, question_id

INSTRUCTION = "\nPlease reason step by step, and put your final answer within \\boxed{}."
"""As the published tasks have it: a model that was trained on them knows these words."""


class AIMETask:
    """A contest as nanochat's `Task`: `len(task)`, `task[0]`, `task.evaluate(conversation, completion)`."""

    file: str
    """A key of `FILES`."""
    folder: Path | None = None
    """Where `preprocess.py` puts its files."""
    eval_type = "generative"

    def __init__(self, start: int = 0, stop: int | None = None, step: int = 1, protocol: str = "nanochat-aime") -> None:
        if start < 0 or step < 1 or (stop is not None and stop < start):
            raise UsageError(f"a slice of a task is start ≥ 0, stop ≥ start, step ≥ 1, not {start}, {stop}, {step}")
        self.start, self.stop, self.step = start, stop, step
        self.protocol = protocol
        self.data = self._rows()

    def num_examples(self) -> int:
        """How many problems there are, whatever the slice."""
        return len(self.data)

    def get_example(self, index: int) -> dict[str, Any]:
        """A problem as a conversation, the assistant's message being the bare answer."""
        row = self.data[index]
        messages = [
            {"role": "user", "content": row["problem"] + INSTRUCTION},
            {"role": "assistant", "content": row["answer"]},
        ]
        return {"messages": messages, "question_id": row["question_id"], "answer": row["answer"]}

    def evaluate(self, conversation: dict[str, Any], assistant_response: str) -> int:
        """1 when the completion is right, else 0."""
        return int(mark(assistant_response, gold=conversation["answer"], protocol=self.protocol).correct)

    def __len__(self) -> int:
        return len(range(self.start, self.num_examples() if self.stop is None else self.stop, self.step))

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.get_example(self.start + index * self.step)

    def _rows(self) -> list[dict[str, Any]]:
        if self.folder is not None and (self.folder / f"{self.file}.jsonl").is_file():
            return list(read_rows(self.folder / f"{self.file}.jsonl"))
        benchmark = FILES[self.file]
        return [
            {"question_id": question_id(benchmark, each.id), "problem": each.statement, "answer": str(each.gold)}
            for each in ready(benchmark).problems
        ]
