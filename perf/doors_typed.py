"""Originals and doors as whole programs on the same data: what they send, write and print. `perf/doors.py` shows the tables."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from loopback import Loopback, Plan

ROOT = Path(__file__).parents[1]
DOORS = ROOT / "compat"
# The form of a comparison, what the original gives, what the door gives, and of which text.
Add = Callable[[str, object, object, str], None]

# As the documentation of `evaluate.py` has them.
COMMANDS = {
    "custom": ("--num-samples", "5", "--pass-k", "1", "3", "5", "--extra-field", "temperature=0.2"),
    "openai": (
        "--backend",
        "openai",
        "--model",
        "m",
        "--api-key",
        "K",
        "--datasets",
        "math500",
        "--system-prompt",
        "S",
    ),
    "sglang": ("--backend", "sglang", "--extra-field", "temperature=0", "--extra-field", "max_new_tokens=256"),
}
SAME = ("messages", "prompt", "text", "model", "dataset", "sample_id")
# What our requests have that the original's may lack.
ADDED = {"temperature", "seed", "sampling_seed", "stream", "stream_options"}


class ThreeContracts(Plan):
    """A server of the three kinds that `evaluate.py` knows."""

    def encode(self, text: str, model: str) -> bytes:
        choices = [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]
        return json.dumps({"answer": text, "text": text, "choices": choices}).encode()


def evaluate_py(checkout: Path, add: Add) -> None:
    """Each documented command: the requests, `records.json`, and what is printed apart from intervals."""
    for name, flags in COMMANDS.items():
        (sent, records, printed), here = (_evaluate(each / "evaluate.py", flags) for each in (checkout, DOORS))
        for theirs, ours in zip(sent, here[0], strict=True):
            add(f"requests to {name}", theirs, ours, "")
            add("words", *({key: each.get(key) for key in SAME} for each in (theirs, ours)), "")
        for key, rows in records.items():
            for theirs, ours in zip(rows, here[1][key], strict=True):
                for field in theirs:
                    add(f"{field} of records.json", theirs[field], ours.get(field), key)
        for theirs, ours in zip(printed, here[2], strict=True):
            add("printed", theirs, ours.partition("  (95 %")[0], "")


def same_request(original: dict[str, Any], ours: dict[str, Any]) -> bool:
    """Whether two bodies ask the same: fields of `ADDED` may be new, and a text may be the number that it spells."""
    if not set(original) <= set(ours) or not set(ours) - set(original) <= ADDED:
        return False
    return all(
        same_request(value, ours[key])
        if isinstance(value, dict) and isinstance(ours[key], dict)
        else value == ours[key]
        or (isinstance(value, str) and isinstance(ours[key], float) and float(value) == ours[key])
        for key, value in original.items()
    )


def _evaluate(script: Path, flags: tuple[str, ...]) -> tuple[list[Any], dict[str, Any], list[str]]:
    plan = ThreeContracts(answer=lambda body: rf"\boxed{{{len(str(body.get('prompt') or body.get('text')))}}}")
    with Loopback(plan, keep=True) as server, tempfile.TemporaryDirectory() as out:
        command = [sys.executable, str(script), "--server-url", server.url.removesuffix("/v1"), *flags]
        where = ["--data-dir", str(DOORS / "datasets"), "--output-dir", out]
        done = subprocess.run([*command, *where], capture_output=True, text=True, check=True)
        files = {each.parent.name[:-16]: json.loads(each.read_text()) for each in Path(out).glob("*/records.json")}
        bodies = sorted((json.loads(body) for _, body in server.seen or ()), key=lambda body: json.dumps(_words(body)))
    return (
        bodies,
        files,
        [line for line in done.stdout.splitlines() if not line.strip().startswith(("run folder:", "By "))],
    )


def _words(body: dict[str, Any]) -> list[Any]:
    return [body.get(key) for key in SAME]


def gsm8k_tests(checkout: Path, add: Add) -> None:
    """The original's own tests of `GSM8KBenchmark`, run on the door."""
    file = checkout / "benchmarks" / "gsm8k" / "test_gsm8k_benchmark.py"
    code = f"import runpy, sys; sys.path.insert(0, {str(DOORS)!r}); runpy.run_path({str(file)!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    add("exit code", 0, done.returncode, done.stderr[-70:])


SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"fewshot": 5},
    {"fewshot": 10, "fewshot_seed": 123},
    {"fewshot": 3, "shuffle_fewshot": False},
    {"fewshot": 0},
)


def inspect_gsm8k(checkout: Path, add: Add) -> None:
    """Samples, worked examples and messages of the published task and of ours, and `match` on the same texts."""
    sys.path[:0] = [str(checkout), str(DOORS / "gsm8k")]
    with _train_and_test_from_the_data_folder():
        import inspect_ai
        from inspect_ai.model import ModelOutput, ModelUsage, get_model
        from inspect_evals.gsm8k import gsm8k as published
        from task import gsm8k as door

        for setting in SETTINGS:
            original, ours = published(**setting), door(**setting)
            for one, other in zip(original.dataset, ours.dataset, strict=True):
                theirs, here = ((e.id, e.input, e.target, (e.metadata or {})["reasoning"]) for e in (one, other))
                add("samples", theirs, here, "")
            said = [f"Reasoning.\n\nANSWER: {n}" for n in (18, 3, "70,000", 540, 99)]
            asked = []
            for task in (original, ours):
                outputs = [ModelOutput.from_content("m", each) for each in said]
                for output in outputs:
                    output.usage = ModelUsage(total_tokens=2)  # else it fetches a tokenizer to count
                model = get_model("mockllm/model", custom_outputs=outputs)
                with tempfile.TemporaryDirectory() as folder:
                    (log,) = inspect_ai.eval(
                        task, model=model, limit=len(said), log_dir=folder, display="none", max_connections=1
                    )
                    asked.append([_asked(sample) for sample in log.samples or []])
            for (messages, score), (messages_here, score_here) in zip(*asked, strict=True):
                add("messages", messages, messages_here, "")
                add("scores", score, score_here, "")


def _asked(sample: Any) -> tuple[list[tuple[str, str]], object]:
    return [(each.role, each.text) for each in sample.messages], next(iter(sample.scores.values())).value


@contextlib.contextmanager
def _train_and_test_from_the_data_folder() -> Iterator[None]:
    """GSM8K from our data folder where the original asks the Hub: its own reading, shuffling and cutting stay."""
    import datasets

    from markscheme.datasets import locate, read_rows

    folder = locate()  # before its cache moves

    def load(*_: object, split: str, **__: object) -> Any:
        return datasets.Dataset.from_list(list(read_rows(folder / "gsm8k" / f"{split}.jsonl")))

    genuine, datasets.load_dataset = datasets.load_dataset, load
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        try:
            yield
        finally:
            datasets.load_dataset = genuine
