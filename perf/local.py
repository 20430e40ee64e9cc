"""What a model in this process costs, beside its peers: `python perf/local.py [CASE…] [--vllm ENVIRONMENT] [--json FILE]`.

CPU-milliseconds a token of the whole command, on one thread, with random Llamas (perf/local_models.py): `markscheme run`
on `hf/`, lm_eval's `hf` in batches of 16, transformers' continuous batching, vLLM for processors (with --vllm), and the
ideal (perf/local_peers.py). Every peer gets the same prompts, no top-k, and the same limit. Prints a Markdown table;
needs lm_eval, torch and transformers. `--plot FILE` draws the tables of a --json file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from questions import gsm8k

HERE = Path(__file__).parent
TASK = """
task: prompts
dataset_path: json
dataset_kwargs: {{data_files: {{test: {file}}}}}
output_type: generate_until
test_split: test
doc_to_text: "{{{{prompt}}}}"
doc_to_target: "{{{{answer}}}}"
repeats: {samples}
metric_list: [{{metric: exact_match}}]
generation_kwargs: {{until: ["<|never|>"], do_sample: true, temperature: 1.0, top_k: 0, max_gen_toks: {most}}}
"""


class Case(NamedTuple):
    """Who is asked what."""

    size: str
    mean: int
    """Tokens of an answer; 0 for all equally long."""
    most: int
    prompts: int
    samples: int
    fewshot: int


CASES = {
    "one": Case("11M", 120, 512, 64, 1, 0),
    "short": Case("11M", 30, 512, 128, 1, 0),
    "eight": Case("11M", 120, 512, 8, 8, 10),
    "equal": Case("11M", 0, 128, 64, 1, 0),
    "large": Case("45M", 120, 512, 64, 1, 0),
}


class Cost(NamedTuple):
    """CPU-seconds of a process with its children, and the tokens that it made."""

    cpu: float
    tokens: int

    @property
    def each(self) -> float:
        return 1000 * self.cpu / self.tokens


def measure(command: list[str], folder: Path) -> tuple[float, str]:
    """CPU-seconds of a command with its children, and what it printed."""
    folder.mkdir(parents=True, exist_ok=True)
    quiet = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "2"}
    with (folder / "output.txt").open("w") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, cwd=folder, env={**os.environ, **quiet}
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    printed = (folder / "output.txt").read_text()
    if process.returncode != 0:
        sys.exit(f"{' '.join(command[:6])} … failed:\n{printed[-3000:]}")
    return usage.ru_utime + usage.ru_stime, printed


def ours(case: Case, model: str, folder: Path, *more: str) -> Cost:
    """`markscheme run`; leaves the prompts that it sent in `prompts.jsonl`."""
    benchmark, _, data_dir = gsm8k()
    command = [sys.executable, "-m", "markscheme", "run", benchmark, "--model", model, "--api", "completions"]
    command += ["-n", str(case.samples), "-t", "1", "--limit", str(case.prompts), "--max-tokens", str(case.most)]
    command += ["--fewshot", str(case.fewshot), "--data-dir", data_dir, "--out", str(folder / "run"), *more]
    cpu, _ = measure(command, folder)
    tokens = [json.loads(line)["completion_tokens"] for line in (folder / "run" / "responses.jsonl").open()]
    with (folder / "prompts.jsonl").open("w") as out:
        for line in (folder / "run" / "problems.jsonl").open():
            messages = json.loads(line)["prompt"]["messages"]
            text = "\n\n".join(message["content"] for message in messages)
            out.write(json.dumps({"prompt": text, "answer": "1"}) + "\n")
    return Cost(cpu, sum(tokens))


def lm_eval(case: Case, model: Path, folder: Path, prompts: Path) -> Cost:
    """lm_eval's `hf`; its tokens are counted by reading its texts again."""
    from transformers import AutoTokenizer

    folder.mkdir(parents=True)
    (folder / "prompts.yaml").write_text(TASK.format(file=prompts, samples=case.samples, most=case.most))
    command = [sys.executable, "-m", "lm_eval", "--model", "hf", "--device", "cpu", "--batch_size", "16"]
    command += [
        "--model_args",
        f"pretrained={model},dtype=float32",
        "--tasks",
        "prompts",
        "--include_path",
        str(folder),
    ]
    cpu, _ = measure([*command, "--output_path", str(folder / "out"), "--log_samples"], folder)
    tokenizer = AutoTokenizer.from_pretrained(model)
    file = next((folder / "out").rglob("samples_*.jsonl"))
    texts = [text for line in file.open() for text in json.loads(line)["resps"][0]]
    return Cost(cpu, sum(len(tokenizer.encode(text)) + 1 for text in texts))  # and the token that ends it


def peer(kind: str, model: Path, folder: Path, prompts: Path, samples: int, number: int) -> Cost:
    """One of perf/local_peers.py."""
    script = [sys.executable, str(HERE / "local_peers.py"), kind, str(model), str(prompts), str(samples), str(number)]
    cpu, printed = measure(script, folder)
    tokens = int(printed.split()[-1])
    return Cost(cpu, tokens) if tokens else sys.exit(f"{kind} made nothing:\n{printed[-3000:]}")


def run(name: str, case: Case, folder: Path, vllm: str | None) -> dict[str, Cost]:
    """Everybody on one case."""
    model = folder / "model"
    measure([sys.executable, str(HERE / "local_models.py"), str(model), case.size, str(case.mean)], folder / "making")
    costs = {"hf/": ours(case, f"hf/{model}", folder / "ours")}
    prompts = folder / "ours" / "prompts.jsonl"
    costs["ideal"] = peer("ideal", model, folder / "ideal", prompts, case.samples, costs["hf/"].tokens)
    costs["lm_eval hf"] = lm_eval(case, model, folder / "lm_eval", prompts)
    costs["transformers batching"] = peer("batching", model, folder / "batching", prompts, case.samples, case.most)
    if vllm:
        os.environ["PATH"] = f"{vllm}/bin:{os.environ['PATH']}"
        costs["vllm/"] = ours(case, f"vllm/{model}", folder / "vllm", "--server-arg", "enforce-eager")
    return costs


def table(results: dict[str, dict[str, Cost]]) -> str:
    """CPU-milliseconds a token, and the ratios that matter."""
    lines = [
        "| case | hf/ | lm_eval hf | transformers batching | vllm/ | ideal | × lm_eval | × ideal |",
        "|---|" + "---|" * 7,
    ]
    for name, costs in results.items():
        case = CASES[name]
        what = f"{case.size}, {'equal lengths' if not case.mean else f'mean {case.mean}'}, {case.samples} × {case.prompts}, {case.fewshot}-shot"
        each = [f"{costs[who].each:.2f}" if who in costs else "" for who in WHO]
        faster, dearer = costs["lm_eval hf"].each / costs["hf/"].each, costs["hf/"].each / costs["ideal"].each
        lines.append(f"| {what} | {' | '.join(each)} | {faster:.1f} | {dearer:.2f} |")
    return "\n".join(lines)


WHO = ("hf/", "lm_eval hf", "transformers batching", "vllm/", "ideal")


def plot(results: dict[str, dict[str, Cost]], file: Path) -> None:
    """Bars: tokens a CPU-second."""
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(8, 3.6))
    for number, who in enumerate(WHO):
        at = [place + 0.16 * (number - 2) for place, costs in enumerate(results.values()) if who in costs]
        axis.bar(at, [1000 / costs[who].each for costs in results.values() if who in costs], width=0.15, label=who)
    axis.set_xticks(range(len(results)), list(results))
    axis.set_ylabel("tokens a CPU-second")
    axis.legend(frameon=False)
    figure.savefig(file, dpi=150, bbox_inches="tight")


def main() -> None:
    """Measure the cases, or draw what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help=f"some of {list(CASES)}; all of them")
    parser.add_argument("--vllm", help="an environment with vLLM (.ci/vllm makes one)")
    parser.add_argument("--json", type=Path, help="where figures are kept; those of other cases stay")
    parser.add_argument("--plot", type=Path)
    args = parser.parse_args()
    known = json.loads(args.json.read_text()) if args.json and args.json.exists() else {}
    results = {name: {who: Cost(*cost) for who, cost in costs.items()} for name, costs in known.items()}
    if args.plot:
        plot(results, args.plot)
        return
    for name in args.cases or CASES:
        with tempfile.TemporaryDirectory() as folder:
            results[name] = run(name, CASES[name], Path(folder), args.vllm)
        if args.json:
            args.json.write_text(json.dumps(results))
    print(table(results))


if __name__ == "__main__":
    main()
