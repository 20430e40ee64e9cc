"""Checkpoints for the stand-in of nanochat, and a data folder with contests of our own problems under the real names."""

import json
from pathlib import Path

import markscheme as ms

CHECKOUT = Path(__file__).parent / "nanochat_checkout"


def make_contests(folder: Path) -> Path:
    """`aime2024/I.jsonl` and so on with fifteen packaged problems each, which are not the real ones."""
    problems = ms.benchmark("aime-sample").problems
    for number, (year, part) in enumerate(((2024, "I"), (2024, "II"), (2025, "I"), (2025, "II"))):
        rows = [
            {"problem_idx": index + 1, "problem": f"({year} {part}) {problem.statement}", "answer": int(problem.gold)}
            for index, problem in enumerate(problems[number : number + 15])
        ]
        file = folder / f"aime{year}" / f"{part}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def make_checkpoints(folder: Path) -> Path:
    """Two tags of `sft`, two steps of the larger; luck is how many of ten samples are right."""
    answers = {
        problem.statement: f"So it is \\boxed{{{problem.gold}}}." for problem in ms.benchmark("aime-sample").problems
    }
    for tag, step, luck in (("d4", 10, 9), ("d20", 100, 2), ("d20", 650, 6)):
        file = folder / "chatsft_checkpoints" / tag / f"model_{step:06d}.pt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"answers": answers, "luck": luck}))
    return folder
