"""What a summary of a million responses costs: `python perf/summary.py [--quick]`. Prints a Markdown table.

CPU-seconds against a limit of five and against a plain loop over the same marks; peak memory with short and with long
responses. Fails when a million takes more than five CPU-seconds, or memory grows with the responses' length.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from markscheme.config import RunConfig
from markscheme.runs.folder import Manifest, Run
from markscheme.types import Mark, Message, Problem, Prompt, Question, Response, Verdict

PROBLEMS = 1000
LIMIT = 5.0


def write_run(folder: Path, samples: int, length: int) -> Run:
    """A run with marks and with responses of so many characters."""
    luck = random.Random(1)
    questions = [
        Question(
            problem=Problem(id=f"p{n}", statement=f"What is {n}?", gold=str(n), metadata={"level": n % 5}),
            prompt=Prompt(messages=(Message("user", f"What is {n}?"),)),
        )
        for n in range(PROBLEMS)
    ]
    manifest = Manifest(
        config=RunConfig(benchmark="made", model="made", samples=samples, pass_k=(1, samples // 2)),
        benchmark="made",
        model="made",
        protocol="math@1",
        samples=samples,
        problems=PROBLEMS,
        status="complete",
    )
    run = Run.create(folder, manifest, questions)
    keys = [question.problem.key for question in questions]
    verdicts = (Verdict.CORRECT, Verdict.WRONG, Verdict.TRUNCATED)
    run.save_marks(
        "math",
        (
            Mark(
                verdict=luck.choice(verdicts),
                protocol="math@1",
                answer="12",
                why="12 equals 12",
                key=key,
                sample=sample,
            )
            for sample in range(samples)
            for key in keys
        ),
    )
    encoder = msgspec.json.Encoder()
    with (folder / "responses.jsonl").open("wb") as out:
        for sample in range(samples):
            for key in keys:
                out.write(encoder.encode(Response(key=key, sample=sample, text="x" * length)) + b"\n")
    return run


def plain_loop(folder: Path) -> None:
    """What one would write by hand: every line as a dictionary, counted."""
    counts: dict[tuple[str, str], int] = {}
    with (folder / "marks" / "math.jsonl").open() as lines:
        for line in lines:
            mark = json.loads(line)
            place = mark["key"], mark["verdict"]
            counts[place] = counts.get(place, 0) + 1


def measure(folder: Path, what: str) -> None:
    """In a process of its own: CPU-seconds and megabytes at the peak, as JSON."""
    from markscheme.reporting.summary import summarize

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    if what == "summary":
        assert summarize(Run.open(folder)).accuracy.value is not None
    else:
        plain_loop(folder)
    spent = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": spent, "megabytes": peak / 1024, "before": before / 1024}))


def measured(folder: Path, what: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--measure", str(folder), what], check=True, capture_output=True, text=True
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> int:
    """Write the runs, measure, and say whether the promises hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of it")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(Path(args.measure[0]), args.measure[1])
        return 0
    samples = 100 if args.quick else 1000
    responses, limit = samples * PROBLEMS, LIMIT * samples / 1000
    with tempfile.TemporaryDirectory() as scratch:
        write_run(Path(scratch) / "large", samples, 200)
        ours, plain = (measured(Path(scratch) / "large", what) for what in ("summary", "loop"))
        print("| | CPU-seconds | of the limit | peak memory |\n|---|---|---|---|")
        for name, found in ((f"summary of {responses:,} responses", ours), ("plain loop, counts only", plain)):
            share = found["seconds"] / limit
            print(f"| {name} | {found['seconds']:.2f} | {share:.0%} | {found['megabytes']:.0f} MB |")
        lengths = {}
        for length in (100, 10_000):
            write_run(Path(scratch) / str(length), 20, length)
            lengths[length] = measured(Path(scratch) / str(length), "summary")["megabytes"]
            print(f"| {20 * PROBLEMS:,} responses of {length:,} characters | | | {lengths[length]:.0f} MB |")
    failed = ours["seconds"] > limit or lengths[10_000] > 1.1 * lengths[100]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
