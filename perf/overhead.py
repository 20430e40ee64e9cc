"""What asking costs the harness: CPU and seconds for the same requests, peers side by side in the same run.

    python perf/overhead.py                       bare aiohttp client and markscheme: 49 requests, 1,319 and 8 × 1,319
    python perf/overhead.py --peers --install     with lm_eval and inspect_ai, in virtual environments below peers/
    python perf/overhead.py --clients             HTTP clients by themselves: why aiohttp
    python perf/overhead.py --streams             streamed answers of 1,000 events against the same without a stream
    python perf/overhead.py --memory              peak memory at 1,000 and 100,000 responses of 20 kB

Every client runs in a process of its own against a loopback server in another, with real GSM8K questions where the
data is there. CPU is user + system time of the whole process tree, start-up and report included. Byte code of all packages
is made before, as installing does.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from questions import Asked, gsm8k, sample

HERE = Path(__file__).parent
PEERS = {"lm_eval": ["lm_eval[api]"], "inspect": ["inspect_ai", "openai"]}
CLIENTS = {"aiohttp": ["aiohttp"], "httpx": ["httpx"], "openai on aiohttp": ["openai[aiohttp]"], "openai": ["openai"]}


class Cost(NamedTuple):
    """What one process took."""

    cpu: float
    wall: float
    megabytes: float
    phase: float | None = None  # seconds from the first request to the last answer, where it is known


@contextmanager
def server(latency: float, *more: str) -> Iterator[str]:
    """The loopback server in its own process; gives its base address."""
    command = [sys.executable, str(HERE / "loopback.py"), "--latency", str(latency), *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def measure(command: list[str], folder: Path, **environment: str) -> Cost:
    """Run a command and say what it took, its children included; a failure shows its output."""
    log = folder / "output.txt"
    started = time.perf_counter()
    with log.open("w") as out:
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environment}
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=folder, env=env)
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command[:6])} … failed:\n{log.read_text()[-3000:]}")
    return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024)


class Questions:
    """The same prompts for everybody: real GSM8K where the data is, else the packaged sample, repeated."""

    def __init__(self, folder: Path, asked: Asked) -> None:
        self.benchmark, questions, self.data_dir = asked
        self.count = len(questions)
        self.folder = folder
        folder.mkdir()
        self.bodies = folder / "bodies.jsonl"
        with self.bodies.open("w") as bodies, (folder / "peers.jsonl").open("w") as peers:
            for question in questions:
                messages = [{"role": one.role, "content": one.content} for one in question.prompt.messages]
                bodies.write(
                    json.dumps({"model": "loopback", "messages": messages, "temperature": 0, "seed": 1}) + "\n"
                )
                text = "\n\n".join(message["content"] for message in messages)
                peers.write(json.dumps({"question": text, "answer": f"#### {question.problem.gold}"}) + "\n")

    def repeated(self, times: int) -> Path:
        """The peers' questions, so many times over."""
        file = self.folder / f"peers{times}.jsonl"
        file.write_text((self.folder / "peers.jsonl").read_text() * times)
        return file


def bare(asked: Questions, url: str, times: int, concurrency: int, folder: Path) -> Cost:
    """Only sends and parses."""
    options = [url, str(asked.bodies), "--times", str(times), "--concurrency", str(concurrency)]
    cost = measure([sys.executable, str(HERE / "bare.py"), *options], folder)
    return cost._replace(phase=float((folder / "output.txt").read_text().split()[-2]))


def ours(asked: Questions, url: str, times: int, concurrency: int, folder: Path) -> Cost:
    """The whole command: prompts, journal, marks, report."""
    options = [
        "--model",
        "openai/loopback",
        "--base-url",
        url,
        "-n",
        str(times),
        "-t",
        "0",
        "--out",
        str(folder / "run"),
    ]
    command = [sys.executable, "-m", "markscheme", "run", asked.benchmark, *options, "--concurrency", str(concurrency)]
    cost = measure(command, folder, MARKSCHEME_DATA=asked.data_dir)
    return cost._replace(phase=request_phase(folder / "run" / "responses.jsonl"))


def request_phase(journal: Path) -> float:
    """Seconds from our first request to our last answer, from the journal's own times."""
    rows = [json.loads(line) for line in journal.open()]
    ends = [datetime.fromisoformat(row["created"]).timestamp() for row in rows]
    starts = [end - row["latency"] for end, row in zip(ends, rows, strict=True)]
    return max(ends) - min(starts)


def lm_eval(asked: Questions, url: str, times: int, concurrency: int, folder: Path, python: Path) -> Cost:
    """local-chat-completions with the filters of its own GSM8K task."""
    (folder / "task.yaml").write_text(
        f"""
task: overhead
dataset_path: json
dataset_kwargs: {{data_files: {{test: {asked.repeated(times)}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer.split('####')[-1].strip()}}}}"
generation_kwargs: {{do_sample: false, temperature: 0.0, until: ["Question:"]}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true, ignore_case: true}}]
filter_list:
  - name: flexible-extract
    filter:
      - {{function: regex, group_select: -1, regex_pattern: "(-?[$0-9.,]{{2,}})|(-?[0-9]+)"}}
      - {{function: take_first}}
"""
    )
    model = f"model=loopback,base_url={url}/chat/completions,num_concurrent={concurrency},tokenized_requests=False"
    command = [
        *(str(python), "-m", "lm_eval", "--model", "local-chat-completions", "--model_args", model),
        *("--tasks", "overhead", "--include_path", str(folder), "--apply_chat_template"),
        *("--output_path", str(folder / "lm_eval"), "--log_samples"),
    ]
    return measure(command, folder, OPENAI_API_KEY="none", HF_HOME=str(folder / "hf"), HF_HUB_OFFLINE="1")


def inspect(asked: Questions, url: str, times: int, concurrency: int, folder: Path, python: Path) -> Cost:
    """match(numeric=True) over the same questions, epochs for repeats."""
    (folder / "overhead_task.py").write_text(
        f"""
from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.scorer import match
from inspect_ai.solver import generate

def sample(row):
    return Sample(input=row["question"], target=row["answer"].split("####")[-1].strip())

@task
def overhead():
    dataset = json_dataset({str(asked.repeated(1))!r}, sample)
    return Task(dataset=dataset, solver=generate(), scorer=match(numeric=True), epochs={times})
"""
    )
    command = [
        *(str(python.parent / "inspect"), "eval", "overhead_task.py", "--model", "openai-api/loopback/loopback"),
        *("--max-connections", str(concurrency), "--max-samples", str(concurrency), "--display", "plain"),
        *("--temperature", "0", "--log-dir", str(folder / "logs")),
    ]
    return measure(command, folder, LOOPBACK_API_KEY="none", LOOPBACK_BASE_URL=url)


def environment(folder: Path, name: str, packages: list[str], *, install: bool) -> Path | None:
    """The Python of a peer's virtual environment, made on demand."""
    python = folder.absolute() / name / "bin" / "python"
    if not python.exists() and install:
        print(f"installing {name} …", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder / name)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
    return python if python.exists() else None


def table(rows: list[dict[str, str]]) -> None:
    """Print a Markdown table."""
    columns = list(rows[0])
    widths = {column: max(len(column), *(len(row[column]) for row in rows)) for column in columns}
    print("| " + " | ".join(column.ljust(widths[column]) for column in columns) + " |")
    print("|" + "|".join("-" * (widths[column] + 2) for column in columns) + "|")
    for row in rows:
        print("| " + " | ".join(row[column].ljust(widths[column]) for column in columns) + " |", flush=True)
    print()


Harness = Callable[[Questions, str, int, int, Path], Cost]


def compare(options: argparse.Namespace, few: Questions, many: Questions, scratch: Path) -> None:
    """CPU and seconds of every harness, first for a run so short that starting and reporting are most of it."""
    harnesses: dict[str, Harness] = {"bare aiohttp client": bare, "markscheme": ours}
    for name, run in (("lm_eval", lm_eval), ("inspect", inspect)):
        python = options.peers and environment(Path(options.peers), name, PEERS[name], install=options.install)
        if python:
            harnesses[name] = lambda *a, run=run, python=python: run(*a, python)
        elif options.peers:
            print(f"{name} is not installed below {options.peers}; --install makes it")
    for harness in harnesses.values():  # makes the byte code
        once(harness, few, options, 1, scratch / "before")
        shutil.rmtree(scratch / "before")
    for asked, times in ((few, 1), *((many, times) for times in options.times)):
        samples = asked.count * times
        ideal = math.ceil(samples / options.concurrency) * options.latency
        rows: list[dict[str, str]] = []
        first: Cost | None = None
        for name, harness in harnesses.items():
            runs = [
                once(harness, asked, options, times, scratch / f"{name} {samples} {n}") for n in range(options.repeat)
            ]
            # Each the least of all runs: on a busy machine everything else is noise upwards.
            cost = Cost(*(min(values) for values in zip(*map(_known, runs), strict=True)))
            first = first or cost
            phase = f"{cost.phase:.2f} ({cost.phase / ideal:.2f} × ideal)" if cost.phase != math.inf else ""
            rows.append(
                {
                    "harness": name,
                    "requests": f"{samples:,}",
                    "CPU s": f"{cost.cpu:.2f}",
                    "CPU ms per sample": f"{1000 * cost.cpu / samples:.2f}",
                    "× bare": f"{cost.cpu / first.cpu:.2f}",
                    "whole command, s": f"{cost.wall:.2f} ({cost.wall / first.wall:.2f} × bare)",
                    "request phase, s": phase,
                    "peak MB": f"{cost.megabytes:.0f}",
                }
            )
        print(
            f"latency {options.latency:g} s, {options.concurrency} in flight: ideal {ideal:.1f} s, least of {options.repeat}"
        )
        table(rows)


def _known(cost: Cost) -> list[float]:
    return [math.inf if value is None else value for value in cost]


def once(harness: Harness, asked: Questions, options: argparse.Namespace, times: int, folder: Path) -> Cost:
    """One run against a fresh server."""
    folder.mkdir(parents=True)
    with server(options.latency) as url:
        return harness(asked, url, times, options.concurrency, folder)


def memory(asked: Questions, scratch: Path) -> None:
    """Peak memory of the whole command for few and for very many long responses."""
    rows = []
    for samples in (1_000, 100_000):
        times, limit = samples // 1000, min(1000, asked.count)
        folder = scratch / f"memory {samples}"
        folder.mkdir()
        with server(0.0, "--size", "20000") as url:
            model = ["--model", "openai/loopback", "--base-url", url, "-n", str(times), "--limit", str(limit)]
            more = ["--out", str(folder / "run"), "--concurrency", "64", "--json"]
            command = [sys.executable, "-m", "markscheme", "run", asked.benchmark, *model, *more]
            cost = measure(command, folder, MARKSCHEME_DATA=asked.data_dir)
        size = (folder / "run" / "responses.jsonl").stat().st_size / 2**20
        rows.append(
            {
                "responses": f"{samples:,}",
                "journal MB": f"{size:,.0f}",
                "peak MB": f"{cost.megabytes:.0f}",
                "CPU s": f"{cost.cpu:.1f}",
                "seconds": f"{cost.wall:.1f}",
            }
        )
        shutil.rmtree(folder)
    table(rows)


def streams(options: argparse.Namespace, asked: Questions, scratch: Path) -> None:
    """CPU of the whole command for the same text in one piece and as 1,000 events, in ever smaller writes."""
    rows: list[dict[str, str]] = []
    first = 0.0
    samples = asked.count * options.times[0]
    for name, more in {
        "not streamed": (),
        "1,000 events, 4 writes": ("--tokens", "1000", "--writes", "4", "--event-delay", "0.02"),
        "1,000 events, 30 writes": ("--tokens", "1000", "--writes", "30", "--event-delay", "0.02"),
        "1,000 events, 1,000 writes": ("--tokens", "1000", "--writes", "1000", "--event-delay", "0.002"),
    }.items():
        costs = []
        for number in range(options.repeat):
            folder = scratch / f"stream {name} {number}"
            folder.mkdir()
            with server(options.latency, "--size", "4000", *more) as url:
                costs.append(ours(asked, url, options.times[0], options.concurrency, folder))
        cpu = min(cost.cpu for cost in costs)
        first = first or cpu
        each = {"answer": name, "requests": f"{samples:,}", "CPU s": f"{cpu:.2f}"}
        rows.append({**each, "CPU ms per sample": f"{1000 * cpu / samples:.2f}", "× unstreamed": f"{cpu / first:.2f}"})
    print(f"{options.concurrency} in flight, least of {options.repeat}")
    table(rows)


def clients(options: argparse.Namespace, asked: Questions, scratch: Path) -> None:
    """The HTTP clients by themselves."""
    rows, base = [], None
    for name, packages in CLIENTS.items():
        python = environment(Path(options.peers or scratch), name.replace(" ", "-"), packages, install=True)
        folder = scratch / f"client {name}"
        folder.mkdir()
        with server(options.latency) as url:
            more = ["--times", str(options.times[-1]), "--concurrency", str(options.concurrency), "--client", name]
            cost = measure([str(python), str(HERE / "clients.py"), url, str(asked.bodies), *more], folder)
        base = base or cost
        requests = f"{asked.count * options.times[-1]:,}"
        rows.append(
            {
                "client": name,
                "requests": requests,
                "CPU s": f"{cost.cpu:.1f}",
                "× aiohttp": f"{cost.cpu / base.cpu:.1f}",
            }
        )
    table(rows)


def main() -> None:
    """Measure what was asked for, print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds the server takes for each answer")
    parser.add_argument("--concurrency", type=int, default=256)
    parser.add_argument("--times", type=int, nargs="+", default=[1, 8], help="samples a question")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, of which the cheapest counts")
    parser.add_argument(
        "--peers",
        nargs="?",
        const="peers",
        metavar="DIR",
        help="folder of the peers' virtual environments (default: peers)",
    )
    parser.add_argument("--install", action="store_true", help="make the missing ones")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--clients", action="store_true")
    parser.add_argument("--streams", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Byte code goes to a folder of its own: the checkout or the environment may be read-only.
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        asked = Questions(folder / "questions", gsm8k())
        if options.streams:
            streams(options, asked, folder)
        elif options.memory:
            memory(asked, folder)
        elif options.clients:
            clients(options, asked, folder)
        else:
            compare(options, Questions(folder / "few", sample()), asked, folder)


if __name__ == "__main__":
    main()
