"""Very many responses through the real command: memory and open files must not grow with them.

    python perf/soak.py [--responses 1000000] [--concurrency 256]

A loopback server answers at once, with a tenth of faults. The command's memory and descriptors, and those of the process
that marks, are read from /proc while it runs; the last quarter of the run is held against the second.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import fmean

from overhead import server
from questions import gsm8k

from markscheme.models.fleet.keeper import descendants
from markscheme.runs import Run

EVERY = 1.0
FAULTS = ("--fault", "429=0.03", "--fault", "500=0.03", "--fault", "reset=0.02", "--fault", "cut=0.02")


def state(pid: int) -> tuple[float, int]:
    """Megabytes and open files of a process; nothing when it has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20, len(list(Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:
        return 0.0, 0


def main() -> int:
    """Run it, watch it, and say whether it stayed flat."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--responses", type=int, default=1_000_000)
    parser.add_argument("--concurrency", type=int, default=256)
    options = parser.parse_args()
    benchmark, questions, data = gsm8k()
    samples = max(1, round(options.responses / len(questions)))
    with tempfile.TemporaryDirectory() as scratch, server(0.0, *FAULTS) as url:
        folder = Path(scratch) / "run"
        model = ["--model", "openai/loopback", "--base-url", url, "-n", str(samples), "--retry-delay", "0.05"]
        command = [sys.executable, "-m", "markscheme", "run", benchmark, *model, "--out", str(folder), "--json"]
        began = time.monotonic()
        asking = subprocess.Popen(
            [*command, "--concurrency", str(options.concurrency)],
            env={**os.environ, "MARKSCHEME_DATA": data},
            stdout=subprocess.DEVNULL,
        )
        looks: list[tuple[float, int, float]] = []
        while asking.poll() is None:
            marker = sum(state(child)[0] for child in descendants(asking.pid))
            looks.append((*state(asking.pid), marker))
            time.sleep(EVERY)
        seconds = time.monotonic() - began
        counts = Counter((one.key, one.sample) for one in Run.open(folder).responses())
        expected = samples * len(questions)
        once = len(counts) == expected and set(counts.values()) == {1} and asking.returncode == 0
    quarter = len(looks) // 4
    second, last = looks[quarter : 2 * quarter], looks[3 * quarter : -3]
    print(f"{expected:,} responses in {seconds:.0f} s, each once: {once}")
    print("| | second quarter | last quarter |\n|---|---|---|")
    names = ("memory of the command, MB", "open files", "memory of its marker, MB")
    figures = [[fmean(each[column] for each in part) for part in (second, last)] for column in range(3)]
    for name, (before, after) in zip(names, figures, strict=True):
        print(f"| {name} | {before:.0f} | {after:.0f} |")
    flat = all(after <= 1.1 * before + 5 for before, after in figures)
    return 0 if once and flat else 1


if __name__ == "__main__":
    sys.exit(main())
