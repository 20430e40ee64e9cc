"""The long version of the fault tests, on real GSM8K: is everything there, nothing twice, the verdicts the same?

    python perf/faults.py faults        10 % each of seven faults against a clean run
    python perf/faults.py kills         50 × kill -9 at random moments of one run, resumed each time
    python perf/faults.py many          2,000 requests in flight on the usual limit of open files

Each prints what it found and ends with an error if a promise was broken.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

from loopback import FAULTS, Loopback, Plan
from questions import gsm8k


class Oracle:
    """Answers the questions of a benchmark, three of four rightly, always the same for the same prompt and seed."""

    def __init__(self) -> None:
        self.name, questions, self.data_dir = gsm8k()
        self.count = len(questions)
        self._gold = {question.prompt.messages[-1].content: question.problem.gold for question in questions}

    def __call__(self, body: dict[str, Any]) -> str:
        asked = body["messages"][-1]["content"]
        lucky = zlib.crc32(f"{asked}{body.get('seed')}".encode()) % 4
        return f"Step by step …\nANSWER: {self._gold[asked] if lucky else 1}"

    def start(self, *arguments: str, prefix: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        """The command in a process of its own."""
        command = [*prefix, sys.executable, "-m", "markscheme", *arguments]
        environment = {**os.environ, "MARKSCHEME_DATA": self.data_dir}
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> None:
    """Wait for a command that must succeed."""
    _, said = process.communicate()
    check(process.returncode == 0, f"exit code {process.returncode}: {said[-2000:]}")


def verdicts(folder: Path) -> dict[tuple[str, int], str]:
    """The verdict of each (problem, sample)."""
    from markscheme.runs.folder import Run

    run = Run.open(folder)
    return {(mark.key, mark.sample): str(mark.verdict) for mark in run.marks(run.manifest.protocol)}


def answers(folder: Path) -> Counter[tuple[str, int]]:
    """How many answers the journal holds of each (problem, sample)."""
    journal = folder / "responses.jsonl"
    lines = journal.read_bytes().splitlines() if journal.exists() else []
    rows = [json.loads(line) for line in lines if line.endswith(b"}")]
    return Counter((row["key"], row["sample"]) for row in rows if "error" not in row)


def check(holds: bool, promise: str) -> None:
    """End with an error when a promise is broken."""
    if not holds:
        sys.exit(f"broken: {promise}")


def faults(oracle: Oracle, scratch: Path) -> None:
    """Seven faults, 10 % each: 70 % of all attempts fail."""
    with Loopback(Plan(answer=oracle)) as server:
        finish(
            oracle.start(
                "run", oracle.name, "--model", "openai/m", "--base-url", server.url, "--out", f"{scratch}/clean"
            )
        )
    started = time.perf_counter()
    plan = Plan(answer=oracle, faults=dict.fromkeys(FAULTS, 0.1), retry_after=1)
    with Loopback(plan, count=True) as server:
        # Long enough for a busy machine: an answer that arrives after it would be asked for again.
        options = [
            "--request-timeout",
            "10",
            "--retry-delay",
            "0.2",
            "--concurrency",
            "256",
            "--out",
            f"{scratch}/faulty",
        ]
        finish(oracle.start("run", oracle.name, "--model", "openai/m", "--base-url", server.url, *options))
        struck, twice = dict(server.faulted), sum(count > 1 for count in server.answered.values())
    found = answers(scratch / "faulty")
    check(len(found) == oracle.count and set(found.values()) == {1}, "every response once")
    check(twice == 0, "no answered request is sent again")
    check(verdicts(scratch / "faulty") == verdicts(scratch / "clean"), "the same verdicts as the clean run")
    print(f"{oracle.count} questions, {sum(struck.values())} faults {struck}: all there, none twice, same verdicts")
    print(f"{time.perf_counter() - started:.1f} s")


def kills(oracle: Oracle, scratch: Path, times: int = 50) -> None:
    """Kill it, resume it, and again; the server counts."""
    luck, folder = random.Random(1), scratch / "run"
    concurrency = 16
    with Loopback(Plan(answer=oracle, latency=0.2), count=True) as server:
        options = ["--model", "openai/m", "--base-url", server.url, "-n", "3", "--concurrency", str(concurrency)]
        killed = kept = 0
        finished: dict[int, int] = {}  # seed of a kept response → how often the server had been asked for it by then
        while True:
            again = (folder / "manifest.json").exists()
            command = ["resume", str(folder)] if again else ["run", oracle.name, *options, "--out", str(folder)]
            process = oracle.start(*command)
            if killed < times and not ended_before(process, folder, kept + luck.randrange(1, 60), luck):
                killed += 1
                kept = len(answers(folder))
                finished = {**requests_by_seed(server, seeds(folder)), **finished}
                print(f"\r{killed} kills, {kept} answers kept", end="", flush=True)
                continue
            finish(process)
            break
        asked, found = server.asked.copy(), answers(folder)
        check(requests_by_seed(server, set(finished)) == finished, "nothing that was kept is asked again")
    print()
    total = oracle.count * 3
    check(killed == times, f"{times} kills before the end")
    check(len(found) == total and set(found.values()) == {1}, "exactly one response per (problem, sample)")
    repeated = sum(asked.values()) - total
    check(len(asked) == total and repeated <= killed * concurrency, "only what was in flight at a kill is asked again")
    check(len(verdicts(folder)) == total, "every response is marked")
    print(
        f"{total} responses, {killed} kills, {repeated} requests repeated (at most {killed * concurrency} were in flight)"
    )


def seeds(folder: Path) -> set[int]:
    """The seeds of the responses in the journal: each sample has its own."""
    lines = (folder / "responses.jsonl").read_bytes().splitlines()
    return {json.loads(line)["seed"] for line in lines if line.endswith(b"}")}


def requests_by_seed(server: Loopback, wanted: set[int]) -> dict[int, int]:
    """How often the server was asked for each of these."""
    counts = {json.loads(identity)[1]: count for identity, count in server.asked.items()}
    return {seed: counts[seed] for seed in wanted}


def ended_before(process: subprocess.Popen[str], folder: Path, goal: int, luck: random.Random) -> bool:
    """Kill the process a random moment after its journal has `goal` lines; true when it ended by itself."""
    journal = folder / "responses.jsonl"
    while process.poll() is None:
        if journal.exists() and journal.read_bytes().count(b"\n") >= goal:
            time.sleep(luck.random() * 0.3)
            if process.poll() is None:
                process.kill()
                process.communicate()
                return False
        time.sleep(0.01)
    return True


def many(oracle: Oracle, scratch: Path) -> None:
    """2,000 at once, with the soft limit most systems start with."""
    limit = ("bash", "-c", 'ulimit -Sn 1024; exec "$@"', "bash")
    with Loopback(Plan(answer=oracle, latency=10.0)) as server:
        options = ["--base-url", server.url, "-n", "2", "--concurrency", "2000", "--out", f"{scratch}/many"]
        finish(oracle.start("run", oracle.name, "--model", "openai/m", *options, prefix=limit))
        most = server.most_in_flight
    check(most == min(2000, 2 * oracle.count), "2,000 in flight")
    print(f"{most} requests in flight at once, none failed")


def main() -> None:
    """Run the tests that were named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="*", choices=["faults", "kills", "many", []], default=[])
    oracle = Oracle()
    for which in parser.parse_args().which or ["faults", "kills", "many"]:
        with tempfile.TemporaryDirectory() as folder:
            {"faults": faults, "kills": kills, "many": many}[which](oracle, Path(folder))


if __name__ == "__main__":
    main()
