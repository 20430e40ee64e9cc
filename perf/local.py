"""What a model in this process costs, beside its peers: `python perf/local.py [CASE…] [--folder DIR] [--vllm ENVIRONMENT]`.

CPU-milliseconds a token of the whole command, on one thread, with random models (perf/local_models.py): `markscheme run`
on `hf/`, lm_eval's `hf` in batches of 16, transformers' continuous batching, vLLM for processors (with --vllm), and the
ideal (perf/local_peers.py). Everybody gets the same prompts, no top-k, and the same limit; each is measured twice, in
turn, and the cheaper one counts. What is measured is kept in `figures.json` in the folder and not measured again, so
that it can be made in pieces (`--seconds 500`). Prints a Markdown table; `--plot FILE` draws it. Needs lm_eval.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from questions import gsm8k

from markscheme.benchmarks import benchmark
from markscheme.models.fields import plain_prompt

HERE = Path(__file__).parent
WHO = ("hf/", "lm_eval hf", "transformers batching", "vllm/", "ideal")
MOST_CPU = 300  # CPU-seconds after which a command is stopped: its cost is then a lower bound
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "2",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # else it takes every core whatever OMP_NUM_THREADS says
}
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
generation_kwargs: {{until: ["<|never|>"], do_sample: {drawn}, temperature: {temperature}, top_k: 0, max_gen_toks: {most}}}
"""


class Case(NamedTuple):
    """Who is asked what."""

    size: str
    mean: int  # tokens of an answer; 0 for all equally long
    most: int
    prompts: int
    samples: int = 1
    fewshot: int = 0
    kind: str = "Llama"
    dtype: str = "float32"
    temperature: float = 1.0

    def __str__(self) -> str:
        odd = f"{' ' + self.dtype if self.dtype != 'float32' else ''}{', greedy' if not self.temperature else ''}"
        lengths = f"mean {self.mean}, at most {self.most}" if self.mean else f"all {self.most}"
        model = f"{self.kind.removesuffix('Text')} {self.size}{odd}"
        return f"{model}, {lengths}, {self.prompts} prompts × {self.samples}, {self.fewshot}-shot"


CASES = {
    "long": Case("11M", 60, 256, 48),
    "short": Case("11M", 30, 128, 64),
    "equal": Case("11M", 0, 64, 48),
    "eight": Case("11M", 30, 64, 4, samples=8, fewshot=10),
    "few": Case("11M", 0, 128, 4),
    "long, 45M": Case("45M", 30, 128, 32),
    "short, 45M": Case("45M", 15, 64, 48),
    "equal, 45M": Case("45M", 0, 32, 48),
    "eight, 45M": Case("45M", 30, 64, 2, samples=8, fewshot=10),
    "one": Case("11M", 0, 128, 1),
    "brief": Case("11M", 0, 2, 64),
    "greedy": Case("11M", 0, 64, 16, kind="Qwen3", temperature=0.0),
    "window": Case("11M", 30, 128, 24, kind="Gemma3Text"),
    "Mistral": Case("11M", 30, 128, 24, kind="Mistral"),
    "bfloat16": Case("11M", 30, 128, 24, dtype="bfloat16"),
}


class Cost(NamedTuple):
    """CPU-seconds of a command with its children, and the tokens that it made; 0 when it was stopped before its end."""

    cpu: float
    tokens: int

    @property
    def each(self) -> float:
        return 1000 * self.cpu / self.tokens


def measure(command: list[str], folder: Path) -> tuple[float, str]:
    """CPU-seconds of a command with all that it started, and what it printed; nothing if it had to be stopped."""
    folder.mkdir(parents=True, exist_ok=True)
    # Whatever loses its parent becomes ours: servers have children that nobody waits for, and their time would be lost.
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with (folder / "output.txt").open("w") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, cwd=folder, env={**os.environ, **ENVIRONMENT},
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_CPU, (MOST_CPU, MOST_CPU + 5)),
        )  # fmt: skip
        code = process.wait()
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    printed = (folder / "output.txt").read_text(errors="replace")
    if cpu >= MOST_CPU:
        return cpu, ""
    if code != 0:
        sys.exit(f"{' '.join(command[:6])} … failed:\n{printed[-3000:]}")
    return cpu, printed


def write_prompts(case: Case, file: Path) -> None:
    """The texts that everybody is asked, as `markscheme run --api completions` sends them."""
    name, _, data_dir = gsm8k()
    questions = benchmark(name, data_dir).questions(fewshot=case.fewshot, limit=case.prompts)
    lines = [json.dumps({"prompt": plain_prompt(one.prompt), "answer": "1"}) for one in questions]
    file.write_text("\n".join(lines) + "\n")


def ours(case: Case, model: str, folder: Path, *more: str) -> Cost:
    """`markscheme run`."""
    name, _, data_dir = gsm8k()
    command = [sys.executable, "-m", "markscheme", "run", name, "--model", model, "--api", "completions"]
    command += [
        "-n",
        str(case.samples),
        "-t",
        str(case.temperature),
        "--limit",
        str(case.prompts),
        "--max-tokens",
        str(case.most),
    ]
    command += ["--fewshot", str(case.fewshot), "--data-dir", data_dir, "--out", str(folder / "run"), *more]
    cpu, printed = measure(command, folder)
    tokens = [json.loads(line)["completion_tokens"] for line in (folder / "run" / "responses.jsonl").open()]
    return Cost(cpu, sum(tokens) if printed else 0)


def lm_eval(case: Case, model: Path, folder: Path, prompts: Path) -> Cost:
    """lm_eval's `hf`; its tokens are counted by reading its texts again."""
    from transformers import AutoTokenizer

    (folder / "prompts.yaml").write_text(task_of(prompts, case.samples, case.most, case.temperature))
    command = [sys.executable, "-m", "lm_eval", "--model", "hf", "--device", "cpu", "--batch_size", "16"]
    command += ["--model_args", f"pretrained={model},dtype={case.dtype}", "--tasks", "prompts"]
    command += ["--include_path", str(folder), "--output_path", str(folder / "out"), "--log_samples"]
    cpu, printed = measure(command, folder)
    if not printed:
        return Cost(cpu, 0)
    tokenizer = AutoTokenizer.from_pretrained(model)
    file = next((folder / "out").rglob("samples_*.jsonl"))
    texts = [text for line in file.open() for text in json.loads(line)["resps"][0]]
    lengths = [len(tokenizer.encode(text)) for text in texts]
    return Cost(cpu, sum(min(length + 1, case.most) for length in lengths))  # and the token that ends it


def task_of(prompts: Path, samples: int, most: int, temperature: float) -> str:
    """lm_eval's description of these prompts."""
    drawn = str(temperature > 0).lower()
    return TASK.format(file=prompts, samples=samples, most=most, temperature=temperature, drawn=drawn)


def peer(kind: str, case: Case, model: Path, folder: Path, prompts: Path, number: int) -> Cost:
    """One of perf/local_peers.py."""
    script = [sys.executable, str(HERE / "local_peers.py"), kind, str(model), case.dtype]
    cpu, printed = measure([*script, str(prompts), str(case.samples), str(number)], folder)
    return Cost(cpu, int(printed.split()[-1]) if printed else 0)


def cost(case: Case, who: str, model: Path, folder: Path, tokens: int) -> Cost:
    """One measurement; `tokens` is what the ideal has to make."""
    prompts = folder / "prompts.jsonl"
    write_prompts(case, prompts)
    # Its generator for processors cannot take back what it drew behind a piece of a prompt: a server that reads prompts in
    # pieces ends at the first request with a seed that is.
    server = ("enforce-eager", f"dtype={case.dtype}", "no-enable-chunked-prefill")
    measures: dict[str, Callable[[], Cost]] = {
        "hf/": lambda: ours(case, f"hf/{model}", folder, "--extra-field", f"dtype={case.dtype}"),
        "vllm/": lambda: ours(case, f"vllm/{model}", folder, *(f"--server-arg={one}" for one in server)),
        "lm_eval hf": lambda: lm_eval(case, model, folder, prompts),
        "transformers batching": lambda: peer("batching", case, model, folder, prompts, case.most),
        "ideal": lambda: peer("ideal", case, model, folder, prompts, tokens),
    }
    return measures[who]()


def measure_all(cases: list[str], figures: Path, until: float, who: list[str], turns: int) -> None:
    """Everybody on every case, in turn; what is in the file is not done again."""
    for turn in range(turns):
        for name in cases:
            case = CASES[name]
            model = figures.parent / "models" / f"{case.kind}-{case.size}-{case.mean}"
            if not (model / "tokenizer.json").exists():
                script = [
                    sys.executable,
                    str(HERE / "local_models.py"),
                    str(model),
                    case.kind,
                    case.size,
                    str(case.mean),
                ]
                measure(script, model)
            for one in who:
                known = json.loads(figures.read_text()) if figures.exists() else {}
                costs = known.setdefault(name, {})
                stopped = any(not tokens for _, tokens in costs.get(one, ()))
                if len(costs.get(one, ())) > turn or stopped:
                    continue
                if time.monotonic() > until:
                    sys.exit("not everything is measured yet: say it again")
                with tempfile.TemporaryDirectory() as folder:
                    found = cost(case, one, model, Path(folder), int(costs["hf/"][0][1]) if "hf/" in costs else 0)
                costs.setdefault(one, []).append(found)
                figures.write_text(json.dumps(known))
                print(name, one, *found, flush=True)


def read(figures: Path) -> dict[str, dict[str, Cost]]:
    """The cheaper of two measurements; one that was stopped counts as if it had made the tokens of `hf/`."""
    results = {}
    for name, costs in json.loads(figures.read_text()).items():
        tokens = costs["hf/"][0][1]
        both = {who: [Cost(cpu, made or tokens) for cpu, made in twice] for who, twice in costs.items()}
        results[name] = {who: min(twice, key=lambda one: one.each) for who, twice in both.items()}
    return {name: results[name] for name in CASES if name in results}


def table(results: dict[str, dict[str, Cost]]) -> str:
    """CPU-milliseconds a token, and the ratios that matter."""
    lines = [f"| case | {' | '.join(WHO)} | × lm_eval | × ideal |", "|---|" + "---|" * (len(WHO) + 2)]
    for name, costs in results.items():
        each = [f"{'over ' * (costs[who].cpu >= MOST_CPU)}{costs[who].each:.2f}" if who in costs else "" for who in WHO]
        faster, dearer = (
            f"{costs[a].each / costs[b].each:.2f}" if a in costs and b in costs else ""
            for a, b in (("lm_eval hf", "hf/"), ("hf/", "ideal"))
        )
        lines.append(f"| {CASES[name]} | {' | '.join(each)} | {faster} | {dearer} |")
    return "\n".join(lines)


def plot(results: dict[str, dict[str, Cost]], file: Path) -> None:
    """Bars: tokens a CPU-second."""
    import matplotlib.pyplot as plt

    from markscheme.reporting.plots import SERIES, save

    plt.rcParams["svg.hashsalt"] = "local"  # the same figures give the same file
    figure, axis = plt.subplots(figsize=(11, 3.8), layout="constrained")
    for number, (who, colour) in enumerate(zip(WHO, SERIES, strict=False)):
        at = [place + 0.16 * (number - 2) for place, costs in enumerate(results.values()) if who in costs]
        heights = [1000 / costs[who].each for costs in results.values() if who in costs]
        axis.bar(at, heights, width=0.15, label=who, color=colour)
    axis.set_xticks(range(len(results)), [name.replace(", ", "\n") for name in results])
    axis.set_ylabel("tokens a CPU-second")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False)
    save(figure, file)


def main() -> None:
    """Measure the cases, then tell what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help=f"some of {list(CASES)}; all of them")
    parser.add_argument("--vllm", help="an environment with vLLM (.ci/vllm makes one)")
    parser.add_argument("--folder", type=Path, help="where models and figures are kept")
    parser.add_argument("--who", action="append", choices=WHO, help="only these")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing after that many")
    parser.add_argument("--plot", type=Path, help="measure nothing: draw what is in the folder")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = (args.folder or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        if args.vllm:
            os.environ["PATH"] = f"{args.vllm}/bin:{os.environ['PATH']}"
        who = args.who or [one for one in WHO if one != "vllm/" or args.vllm]
        if not args.plot:
            measure_all(
                args.cases or list(CASES), folder / "figures.json", time.monotonic() + args.seconds, who, args.turns
            )
        results = read(folder / "figures.json")
        if args.plot:
            plot(results, args.plot)
        print(table(results))


if __name__ == "__main__":
    main()
