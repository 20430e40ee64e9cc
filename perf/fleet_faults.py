"""Many processes, one of which is killed: is everything there, nothing twice, no process left, does resuming finish?

    python perf/fleet_faults.py ray         the driver, a node and the head of a Ray cluster, at each step of a run
    python perf/fleet_faults.py torchrun    rank 0, rank 1 and torchrun itself, at each step
    python perf/fleet_faults.py ray asking/head      only the trials whose name holds this

A trial is STEP/WHO/SIGNAL: the signal is sent when the step begins. The command must then end by itself, in words of its
own, within LIMIT seconds; the same run resumed must hold every response once. Servers are a stand-in for vLLM.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

SUPPORT = Path(__file__).parent.parent / "tests" / "support"
sys.path.insert(0, str(SUPPORT))

# Seconds: Ray notices a lost node after up to 30, we a lost head after 30; the rest of the run is in it too.
LIMIT = 200.0
STOPPED = 12.0  # seconds between SIGSTOP and SIGCONT
QUESTIONS, SAMPLES = 12, 10
MARKSCHEME = [sys.executable, "-m", "markscheme"]


def start(folder: Path, *words: object) -> subprocess.Popen[str]:
    """A command in a process of its own."""
    return subprocess.Popen(
        list(map(str, words)), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def answers(folder: Path) -> Counter[tuple[str, int]]:
    """How many answers the journals of the run hold of each (problem, sample)."""
    counts: Counter[tuple[str, int]] = Counter()
    for journal in (folder / "run").glob("responses*.jsonl"):
        rows = (json.loads(line) for line in journal.read_bytes().splitlines() if line.endswith(b"}"))
        counts.update((row["key"], row["sample"]) for row in rows if "error" not in row)
    return counts


def wait(process: subprocess.Popen[str]) -> tuple[int | str, str, float]:
    """Exit code, what it said and how long it took; `hang` when it had to be killed."""
    began = time.monotonic()
    try:
        _, said = process.communicate(timeout=LIMIT)
        code: int | str = process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        code, (_, said) = "hang", process.communicate()
    return code, said, time.monotonic() - began


def living(folder: Path, patience: float = 40.0) -> list[int]:
    """Servers of the run that are still there after a while."""
    file, deadline = folder / "pids", time.monotonic() + patience

    def runs(pid: int) -> bool:
        with suppress(OSError):
            return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
        return False

    while left := [pid for pid in map(int, file.read_text().split() if file.exists() else ()) if runs(pid)]:
        if time.monotonic() > deadline:
            return left
        time.sleep(0.2)
    return []


def send(pids: list[int], name: str) -> None:
    """A signal; a stopped process goes on after a while."""
    for number in (name, "CONT") if name == "STOP" else (name,):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, getattr(signal, f"SIG{number}"))
        time.sleep(STOPPED if number == "STOP" else 0)


class Trials:
    """What is tried, and what came of it."""

    def __init__(self, wanted: str) -> None:
        self._wanted, self.tried, self.broken = wanted, 0, 0

    def trial(
        self, name: str, begin: Callable[[Path], Any], when: Callable[[Path], bool], strike: Any, again: Any
    ) -> None:
        """Begin, strike when the step is there, look; then go on and look again."""
        if not re.search(self._wanted, name):
            return
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            folder = Path(scratch)
            rows = ({"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(QUESTIONS))
            (folder / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
            process, deadline = begin(folder), time.monotonic() + LIMIT
            while not when(folder) and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.02)
            strike(process, folder)
            code, said, seconds = wait(process)
            broken = ["hang"] * (code == "hang") + ["traceback"] * bool(re.search(r'File ".*/markscheme/', said))
            broken += [f"left {left}" for left in living(folder)]
            kept = len(answers(folder))
            ended, last, _ = wait(again(folder))
            found = answers(folder)
            if len(found) != QUESTIONS * SAMPLES or set(found.values()) != {1}:
                broken.append(f"{len(found)} responses, up to {max(found.values(), default=0)} times")
            broken += [f"resuming: {ended} {last[-300:]}"] * (ended != 0)
            broken += [f"left {left}" for left in living(folder)]
        self.tried += 1
        self.broken += bool(broken)
        last = (said.strip().splitlines() or [""])[-1][-160:]
        print(
            f"{'BROKEN' if broken else 'holds'} {name}: ended {code} after {seconds:.0f} s, {kept} kept; {broken or last}",
            flush=True,
        )


class Nodes:
    """A Ray cluster: a head with one core and a node with two; what was killed is there again for the next trial."""

    def __init__(self) -> None:
        from stand_in_server import install

        os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_worker_niceness="0")
        self._programs = tempfile.TemporaryDirectory()
        os.environ["PATH"] = f"{install(Path(self._programs.name)).parent}:{os.environ['PATH']}"
        self._cluster: Any = None
        self._second: Any = None

    @property
    def address(self) -> str:
        """Of the cluster, which is made where it is not there."""
        from ray.cluster_utils import Cluster

        if self._cluster is None:
            self._cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        if self._second is None:
            self._second = self._cluster.add_node(num_cpus=2)
        return str(self._cluster.address)

    def strike(self, who: str, name: str, process: subprocess.Popen[str]) -> None:
        """Send a signal to the driver, or to every process of a node."""
        node = {"head": self._cluster.head_node, "node": self._second}.get(who)
        listed = [each.process.pid for all_of in node.all_processes.values() for each in all_of] if node else []
        send(listed or [process.pid], name)
        if node is not None and name != "STOP":
            with suppress(Exception):  # half of it is gone already
                self._cluster.remove_node(node, allow_graceful=False)
            self._second = None
            if who == "head":
                self.close()

    def close(self) -> None:
        """End what is left of it."""
        cluster, self._cluster, self._second = self._cluster, None, None
        with suppress(Exception):  # its head may be gone
            if cluster is not None:
                cluster.shutdown()


def ray(trials: Trials) -> None:
    """Three replicas, each with a server that takes 3 s to load and 3 s to end."""
    nodes = Nodes()

    def begin(folder: Path) -> subprocess.Popen[str]:
        servers = [f"pids={folder / 'pids'}", "latency=0.15", "load=3", "linger=3"]
        options = [word for each in servers for word in ("--server-arg", each)]
        asked = [
            "run",
            "sums.jsonl",
            "--protocol",
            "gsm8k-numeric",
            "--model",
            "vllm/tiny",
            "-n",
            SAMPLES,
            "--out",
            "run",
        ]
        where = ["--engine", "ray", "--ray-address", nodes.address, "--replicas", 3, "--concurrency", 12]
        return start(folder, *MARKSCHEME, *asked, *where, "--retry-delay", 0.1, *options)

    def again(folder: Path) -> subprocess.Popen[str]:
        if not (folder / "run" / "manifest.json").exists():  # it never began
            return begin(folder)
        return start(folder, *MARKSCHEME, "resume", "run", "--ray-address", nodes.address)

    steps: dict[str, Callable[[Path], bool]] = {
        "connecting": lambda folder: (folder / "run" / "lock").exists(),
        "starting": lambda folder: (folder / "pids").exists(),
        "asking": lambda folder: len(answers(folder)) >= 20,
        "closing": lambda folder: len(answers(folder)) >= QUESTIONS * SAMPLES,
    }
    struck = [("driver", name) for name in ("KILL", "TERM", "INT", "HUP", "STOP")]
    struck += [(who, name) for who in ("node", "head") for name in ("KILL", "STOP", "TERM")]
    for step, when in steps.items():
        for who, name in struck:

            def strike(process: subprocess.Popen[str], _: Path, who: str = who, name: str = name) -> None:
                nodes.strike(who, name, process)

            trials.trial(f"{step}/{who}/{name}", begin, when, strike, again)
    nodes.close()


def torchrun(trials: Trials) -> None:
    """Two ranks with a tiny model of their own; torchrun ends the others when one dies."""
    from tiny_llama import make_tiny_llama

    with tempfile.TemporaryDirectory() as model:
        make_tiny_llama(Path(model))

        def begin(folder: Path) -> subprocess.Popen[str]:
            asked = ["run", "sums.jsonl", "--protocol", "gsm8k-numeric", "--model", f"hf/{model}", "-n", SAMPLES]
            more = ["--max-tokens", 48, "--extra-field", "batch_size=4", "--out", "run"]
            ranks = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2]
            return start(folder, *ranks, "-m", "markscheme", *asked, *more)

        def again(folder: Path) -> subprocess.Popen[str]:
            if not (folder / "run" / "manifest.json").exists():
                return begin(folder)
            return start(folder, *MARKSCHEME, "resume", "run")

        def rank_process(folder: Path, rank: str) -> int | None:
            lock = folder / "run" / ("lock" if rank == "0" else "lock.1")
            named = re.search(r"process (\d+)", lock.read_text()) if lock.exists() else None
            return int(named[1]) if named else None

        steps: dict[str, Callable[[Path], bool]] = {
            "connecting": lambda folder: all(rank_process(folder, rank) for rank in "01"),
            "asking": lambda folder: len(answers(folder)) >= 20,
            "closing": lambda folder: len(answers(folder)) >= QUESTIONS * SAMPLES,
        }
        for step, when in steps.items():
            for who, name in [(who, name) for who in ("0", "1", "all") for name in ("KILL", "TERM", "INT", "STOP")]:

                def strike(process: subprocess.Popen[str], folder: Path, who: str = who, name: str = name) -> None:
                    send([process.pid if who == "all" else rank_process(folder, who) or process.pid], name)

                trials.trial(f"{step}/rank {who}/{name}", begin, when, strike, again)


def main() -> int:
    """Try what was asked for; an error where something is broken."""
    which, wanted = ([*sys.argv[1:], "", ""])[:2]
    trials = Trials(wanted)
    {"ray": ray, "torchrun": torchrun}[which](trials)
    print(f"{trials.tried} trials, {trials.broken} broken")
    return 1 if trials.broken else 0


if __name__ == "__main__":
    sys.exit(main())
