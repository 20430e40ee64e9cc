"""Checkpoints for the stand-in of nanochat, and a data folder with contests of our own problems under the real names."""

import json
import shutil
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


def make_newer_checkout(folder: Path) -> Path:
    """The repository as it is after its loader moved to `harness/`: another signature, columns without masks."""
    shutil.copytree(CHECKOUT, folder)
    loader = folder / "nanochat" / "checkpoint_manager.py"
    (folder / "harness").mkdir()
    text = loader.read_text().replace("(source, device, phase, model_tag=None", "(source, device, model_tag=None")
    text = text.replace('    assert phase in ("train", "eval")\n', "").replace('"sft": ', '"chat": ')
    (folder / "harness" / "checkpoint.py").write_text(text)
    loader.unlink()
    engine = folder / "nanochat" / "engine.py"
    engine.write_text(engine.read_text().replace("for row in rows], [1] * num_samples", "for row in rows]"))
    with (folder / "nanochat" / "common.py").open("a") as common:
        common.write('\n\nCOMPUTE_DTYPE = "float32"\n')
    return folder
