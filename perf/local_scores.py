"""nano's score on Countdown through every way of computing it: `python perf/local_scores.py [--vllm ENVIRONMENT] [-n 4]`.

The same weights in numpy (`nano`), in `hf/`, in vLLM and in lm_eval's `hf`, on the packaged puzzles at temperature 0.8:
prints accuracy with its 95 % interval, and fails if one's figure lies outside another's interval. Needs lm_eval.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from local import measure, task_of

import markscheme as ms
from markscheme.nano import WEIGHTS
from markscheme.reporting.summary import summarize

BENCHMARK, LIMIT, TEMPERATURE = "countdown-sample", 208, 0.8


def ours(model: str, samples: int, folder: Path, *more: str) -> Path:
    """`markscheme run`; gives the run folder."""
    command = [sys.executable, "-m", "markscheme", "run", BENCHMARK, "--model", model, "-n", str(samples)]
    command += ["-t", str(TEMPERATURE), "--max-tokens", str(LIMIT), "--out", str(folder / "run"), *more]
    measure(command, folder)
    return folder / "run"


def lm_eval(samples: int, folder: Path) -> Path:
    """lm_eval's texts, marked as stored outputs."""
    folder.mkdir(parents=True)
    questions = ms.benchmark(BENCHMARK).questions()
    prompts = [json.dumps({"prompt": one.prompt.messages[-1].content, "answer": "1"}) for one in questions]
    (folder / "prompts.jsonl").write_text("\n".join(prompts) + "\n")
    (folder / "prompts.yaml").write_text(task_of(folder / "prompts.jsonl", samples, LIMIT, TEMPERATURE))
    command = [sys.executable, "-m", "lm_eval", "--model", "hf", "--device", "cpu", "--batch_size", "64"]
    command += ["--model_args", f"pretrained={WEIGHTS},dtype=float32,add_bos_token=True", "--tasks", "prompts"]
    command += ["--include_path", str(folder), "--output_path", str(folder / "out"), "--log_samples"]
    measure(command, folder)
    rows = [json.loads(line) for line in next((folder / "out").rglob("samples_*.jsonl")).open()]
    with (folder / "outputs.jsonl").open("w") as out:
        for row in rows:
            for text in row["resps"][0]:
                out.write(json.dumps({"question_id": questions[row["doc_id"]].problem.id, "answer": text}) + "\n")
    return ours(f"replay/{folder / 'outputs.jsonl'}", samples, folder / "marked")


def main() -> None:
    """Everybody, then the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vllm", help="an environment with vLLM (.ci/vllm makes one)")
    parser.add_argument("-n", type=int, default=4, dest="samples")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        runs = {"numpy": ours("nano", args.samples, folder / "nano")}
        runs["hf/"] = ours(f"hf/{WEIGHTS}", args.samples, folder / "hf")
        runs["lm_eval hf"] = lm_eval(args.samples, folder / "lm_eval")
        if args.vllm:
            os.environ["PATH"] = f"{args.vllm}/bin:{os.environ['PATH']}"
            server = ("enforce-eager", "dtype=float32", "max-model-len=256")
            more = [word for one in server for word in ("--server-arg", one)]
            runs["vllm/"] = ours(f"vllm/{WEIGHTS}", args.samples, folder / "vllm", *more)
        figures = {name: summarize(ms.load(run), pass_k=(1,)).accuracy for name, run in runs.items()}
    print("| | accuracy, % | 95 % interval |\n|---|---|---|")
    for name, one in figures.items():
        print(f"| {name} | {100 * one.value:.1f} | {100 * one.low:.1f} to {100 * one.high:.1f} |")
    apart = [(a, b) for a, x in figures.items() for b, y in figures.items() if not y.low <= x.value <= y.high]
    if apart:
        sys.exit(f"outside each other's intervals: {apart}")


if __name__ == "__main__":
    main()
