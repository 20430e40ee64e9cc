r"""nanochat's AIME tasks: conversations to train or evaluate on, a score of 1 or 0 per completion, and their files.

`preprocess.py` writes the files `dev-aime/data/*.jsonl`; without them a task uses the official data. A completion is judged
as in the original, by the protocol `nanochat-aime`; `protocol="aime"` is ours.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from markscheme.datasets import read_rows
from markscheme.errors import MarkschemeError, UsageError
from markscheme.marking import mark
from markscheme.plugins.data import ready
from markscheme.runs.folder import write_atomically

# Word for word as in the published tasks, for models that were trained on them.
INSTRUCTION = "\nPlease reason step by step, and put your final answer within \\boxed{}."

FILES = {
    "aime_2024_I": "aime-2024-I",
    "aime_2024_II": "aime-2024-II",
    "aime_2024": "aime-2024",
    "aime_2025": "aime-2025",
}
PER_CONTEST = 15


def question_id(benchmark: str, problem_id: str) -> str:
    """Return the id that those files use: `aime_2024_II_7`. For 2025 there is one set, in which II-7 is number 22."""
    if not benchmark.startswith("aime-20"):
        return problem_id
    year, contest, number = problem_id.split("-")
    if year == "2024":
        return f"aime_{year}_{contest}_{number}"
    return f"aime_{year}_{int(number) + (PER_CONTEST if contest == 'II' else 0)}"


def official_rows(file: str) -> list[dict[str, Any]]:
    """Return the rows of one of `FILES`."""
    benchmark = FILES[file]
    return [
        {"question_id": question_id(benchmark, each.id), "problem": each.statement, "answer": str(each.gold)}
        for each in ready(benchmark).problems
    ]


def preprocess(folder: Path) -> int:
    """Run the command `preprocess.py`: fetch the data if needed and write the four files."""
    from markscheme.plugins.doors.door_run import failed  # imported here, because training does not need it

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            file, rows = folder / f"{name}.jsonl", official_rows(name)
            write_atomically(file, [json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows])
            print(f"  Saved {len(rows)} examples to {file}")
    except MarkschemeError as failure:
        return failed("preprocess.py", failure)
    return 0


class AIMETask:
    """A contest as nanochat's `Task`: `len(task)`, `task[0]`, `task.evaluate(conversation, completion)`."""

    file: str  # a key of `FILES`
    folder: Path | None = None  # where `preprocess.py` puts its files
    eval_type = "generative"

    def __init__(self, start: int = 0, stop: int | None = None, step: int = 1, protocol: str = "nanochat-aime") -> None:
        if start < 0 or step < 1 or (stop is not None and stop < start):
            raise UsageError(f"a slice needs start ≥ 0, stop ≥ start and step ≥ 1, not {start}, {stop}, {step}")
        self.start, self.stop, self.step = start, stop, step
        self.protocol = protocol
        written = self.folder / f"{self.file}.jsonl" if self.folder is not None else None
        self.data = list(read_rows(written)) if written and written.is_file() else official_rows(self.file)

    def num_examples(self) -> int:
        """Return the number of problems without the slice."""
        return len(self.data)

    def get_example(self, index: int) -> dict[str, Any]:
        """Return a problem as a conversation, in which the assistant gives the bare answer."""
        row = self.data[index]
        messages = [
            {"role": "user", "content": row["problem"] + INSTRUCTION},
            {"role": "assistant", "content": row["answer"]},
        ]
        return {"messages": messages, "question_id": row["question_id"], "answer": row["answer"]}

    def evaluate(self, conversation: dict[str, Any], assistant_response: str) -> int:
        """Return 1 if the completion is right, else 0."""
        return int(mark(assistant_response, gold=conversation["answer"], protocol=self.protocol).correct)

    def __len__(self) -> int:
        return len(range(self.start, self.num_examples() if self.stop is None else self.stop, self.step))

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.get_example(self.start + index * self.step)
