"""What models in this process cost, beside their peers: `python perf/local.py`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

TASK = """
task: prompts
dataset_path: json
dataset_kwargs: {{data_files: {{test: {file}}}}}
output_type: generate_until
test_split: test
doc_to_text: "{{{{prompt}}}}"
doc_to_target: "{{{{answer}}}}"
repeats: {repeats}
metric_list: [{{metric: exact_match}}]
generation_kwargs: {{until: ["<|never|>"], do_sample: true, temperature: 1.0, top_k: 0, max_gen_toks: {most}}}
"""


def measure(command: list[str], folder: Path, **environment: str) -> tuple[float, float]:
    """CPU-seconds and seconds of a command and its children."""
    folder.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    with (folder / "output.txt").open("w") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1", **environment}
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command[:6])} … failed:\n{(folder / 'output.txt').read_text()[-3000:]}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - started


def ours(model, folder, samples, fewshot, most, *more):
    cost = measure([sys.executable, "-m", "markscheme", "run", "gsm8k", "--model", f"hf/{model}", "--api", "completions", "-n", str(samples), "-t", "1", "--limit", "64", "--max-tokens", str(most), "--fewshot", str(fewshot), "--out", str(folder / "run"), *more], folder)
    tokens = [json.loads(line)["completion_tokens"] for line in (folder / "run/responses.jsonl").open()]
    return cost, tokens


def lm_eval(model, folder, samples, most, prompts, batch=16, name="hf", extra=""):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prompts.yaml").write_text(TASK.format(file=prompts, repeats=samples, most=most))
    cost = measure([sys.executable, "-m", "lm_eval", "--model", name, "--model_args", f"pretrained={model},dtype=float32{extra}", "--device", "cpu", "--tasks", "prompts", "--include_path", str(folder), "--batch_size", str(batch), "--output_path", str(folder / "out"), "--log_samples"], folder, HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1")
    from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(model)
    file = next((folder / "out").rglob("samples_*.jsonl"))
    texts = [text for line in file.open() for text in json.loads(line)["resps"][0]]
    return cost, [len(tokenizer.encode(text)) for text in texts]


def prompts_of(run: Path, file: Path):
    with file.open("w") as out:
        for line in (run / "problems.jsonl").open():
            one = json.loads(line)
            text = "\n\n".join(m["content"] for m in one["prompt"]["messages"])
            out.write(json.dumps({"prompt": text, "answer": "1"}) + "\n")


if __name__ == "__main__":
    model, out, samples, fewshot, most = Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:6])
    which = sys.argv[6:]
    for who in which:
        if who == "hf":
            (cpu, wall), tokens = ours(model, out / "hf", samples, fewshot, most)
            prompts_of(out / "hf/run", out / "prompts.jsonl")
        else:
            (cpu, wall), tokens = lm_eval(model, out / "lm", samples, most, out / "prompts.jsonl")
        print(who, f"{cpu:.1f} CPU-s {wall:.1f} s {len(tokens)} answers {sum(tokens)} tokens longest {max(tokens)} {cpu/sum(tokens)*1e3:.2f} ms/token", flush=True)
