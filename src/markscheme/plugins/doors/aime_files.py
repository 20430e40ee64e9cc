"""`dev-aime/preprocess.py`: the AIME problems as the files that nanochat's AIME tasks read."""

from __future__ import annotations

import json
from pathlib import Path

from markscheme.errors import MarkschemeError
from markscheme.plugins.data import ready
from markscheme.plugins.doors.door_run import failed
from markscheme.runs.folder import write_atomically

FILES = {
    "aime_2024_I": "aime-2024-I",
    "aime_2024_II": "aime-2024-II",
    "aime_2024": "aime-2024",
    "aime_2025": "aime-2025",
}
PER_CONTEST = 15


def question_id(benchmark: str, problem_id: str) -> str:
    """How those files name a problem: `aime_2024_II_7`; in the one set of 2025, II-7 is number 22."""
    if not benchmark.startswith("aime-20"):
        return problem_id
    year, contest, number = problem_id.split("-")
    if year == "2024":
        return f"aime_{year}_{contest}_{number}"
    return f"aime_{year}_{int(number) + (PER_CONTEST if contest == 'II' else 0)}"


def write_files(folder: Path, data_dir: str | None = None) -> dict[Path, int]:
    """Write the four files; returns how many problems each has."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for name, benchmark in FILES.items():
        file = folder / f"{name}.jsonl"
        lines = [
            json.dumps(
                {
                    "question_id": question_id(benchmark, problem.id),
                    "problem": problem.statement,
                    "answer": str(problem.gold),
                },
                ensure_ascii=False,
            ).encode()
            + b"\n"
            for problem in ready(benchmark, data_dir).problems
        ]
        write_atomically(file, lines)
        written[file] = len(lines)
    return written


def main(folder: Path) -> int:
    """The command: fetch where needed, write, say what was written."""
    try:
        for file, problems in write_files(folder).items():
            print(f"  Saved {problems} examples to {file}")
    except MarkschemeError as failure:
        return failed("preprocess.py", failure)
    return 0
