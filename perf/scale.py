"""How marking and running grow with machines: the plain path, one Ray node, two Ray nodes, and a thousand on paper.

    python perf/scale.py --marking [--responses N]    stored responses a second, by one process, two, and Ray nodes
    python perf/scale.py --millions [--responses N]   five million stored responses: seconds and memory
    python perf/scale.py --running [--model SPEC]     responses a second of a model in this process and on Ray nodes
    python perf/scale.py --feeding                    what one driver can feed through Ray, by itself
    python perf/scale.py --fleet                      a thousand replicas in simulated time, with the real scheduler

Ray nodes are those of `ray.cluster_utils.Cluster` on this machine, with one core each, so two of them need two free
cores. Start-up (of Ray, of workers, of the model) is not part of a rate: it is told apart.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from markscheme.models.fleet.keeper import descendants

ROWS_PER_GROUP = 25_000
MARKSCHEME = Path(sys.executable).with_name("markscheme")


def table(rows: list[dict[str, str]]) -> None:
    """A Markdown table."""
    print("\n| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(row.values()) + " |", flush=True)


@contextmanager
def nodes(count: int) -> Iterator[Any]:
    """So many Ray nodes with a core each, to which this process is connected."""
    import ray
    from ray.cluster_utils import Cluster

    # Ray gives its workers the lowest priority but four; beside anything else on the machine that would be measured.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - that is its name
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        for _ in range(count - 1):
            cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        cluster.wait_for_nodes()
        yield ray
    finally:
        ray.shutdown()
        cluster.shutdown()


class Watch:
    """What this process and its descendants take, looked at five times a second.

    Processor time beside seconds: on a machine with other work it is the steadier figure.
    """

    def __init__(self, *, itself: bool = True) -> None:
        self._watched = [os.getpid()] if itself else []
        self.largest = 0
        """Megabytes of the largest process, without what it shares with others (as Ray's object store is)."""
        self._before: dict[int, float] = {}
        self._seen: dict[int, float] = {}
        self._over = threading.Event()

    def __enter__(self) -> Self:
        self._look()
        self._before = dict(self._seen)
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._look()

    @property
    def cpu(self) -> float:
        """Seconds of processor time, Ray's own processes included."""
        return sum(seconds - self._before.get(pid, 0.0) for pid, seconds in self._seen.items())

    def _watch(self) -> None:
        while not self._over.wait(0.2):
            self._look()

    def _look(self) -> None:
        for pid in [*self._watched, *descendants(os.getpid())]:
            with suppress(OSError, ValueError):  # it has just ended
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                self._seen[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
                status = Path(f"/proc/{pid}/status").read_text()
                _, _, own = status.partition("RssAnon:")  # missing while a process ends
                self.largest = max(self.largest, int(own.split()[0]) >> 10 if own else 0)


def stored_responses(folder: Path, count: int, *, files: int, reach: int = 30) -> Path:
    """Parquet files of synthetic Countdown outputs, most of them right, with some reasoning before the answer.

    Numbers go up to `reach`, so there are its third power of different puzzles.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    luck = random.Random(0)
    schema = pa.schema(
        [
            ("nums", pa.list_(pa.int64())),
            ("target", pa.int64()),
            ("sample", pa.int64()),
            ("id", pa.string()),
            ("text", pa.string()),
        ]
    )
    for place in range(files):
        with pq.ParquetWriter(folder / f"{place:03d}.parquet", schema) as writer:
            left = count // files
            while left > 0:
                rows = [_stored(luck, reach) for _ in range(min(ROWS_PER_GROUP, left))]
                writer.write_table(pa.Table.from_pylist(rows, schema=schema), row_group_size=ROWS_PER_GROUP)
                left -= len(rows)
    return folder


def _stored(luck: random.Random, reach: int) -> dict[str, Any]:
    a, b, c = luck.randint(1, reach), luck.randint(1, reach), luck.randint(1, reach)
    sign = "+" if luck.random() < 0.7 else "-"
    thinking = f"I try {a} * {b} = {a * b}, which is too much. Then {a} + {b} = {a + b}. " * luck.randint(1, 6)
    text = f"<think>{thinking}</think>\n<answer>{a} + {b} {sign} {c}</answer>"
    return {"id": f"{a}-{b}-{c}", "nums": [a, b, c], "target": a + b + c, "sample": luck.randint(0, 15), "text": text}


def marking(count: int, scratch: Path) -> None:
    """Rates of marking the same files in four ways, the better of two tries each."""
    from markscheme.marking.bulk.campaign import mark_in_bulk

    source = stored_responses(scratch / "stored", count, files=2)
    small = stored_responses(scratch / "warm", 40_000, files=8)
    found: dict[str, tuple[float, float, Any]] = {}

    def measure(name: str, **options: Any) -> None:
        # Several small parts, so that every worker has started and loaded its modules before the clock runs.
        mark_in_bulk(small, "countdown", Path(tempfile.mkdtemp(dir=scratch)), **options)
        began = time.perf_counter()
        with Watch() as watch:
            done = mark_in_bulk(source, "countdown", Path(tempfile.mkdtemp(dir=scratch)), **options)
        taken = (time.perf_counter() - began, watch.cpu, done.score)
        found[name] = min(taken, found.get(name, taken), key=lambda one: one[0])
        print(f"{name}: {taken[0]:.1f} s", file=sys.stderr, flush=True)

    for _ in range(2):  # the better of two, since no machine is quiet all the time
        measure("one process", workers=1)
        with nodes(1):
            measure("Ray, one node", engine="ray")
        measure("two processes", workers=2)
        with nodes(2):
            measure("Ray, two nodes", engine="ray")
    assert len({json.dumps(str(score)) for *_, score in found.values()}) == 1, "the same marks, whoever made them"
    plain = found["one process"][0]
    table(
        [
            {
                "marked by": name,
                "seconds": f"{wall:.1f}",
                "responses/s": f"{count / wall:,.0f}",
                "× one process": f"{plain / wall:.2f}",
                "CPU s": f"{cpu:.1f}",
                "CPU µs a response": f"{cpu / count * 1e6:.0f}",
            }
            for name, (wall, cpu, _) in found.items()
        ]
    )


def millions(count: int, scratch: Path) -> None:
    """A great many responses, nearly every one to another puzzle, which is what takes most memory."""
    rows = []
    source = stored_responses(scratch / "stored", count, files=10, reach=1000)
    size = sum(file.stat().st_size for file in source.iterdir())
    for engine in ("local", "ray"):
        command = [MARKSCHEME, "mark", source, "-p", "countdown", "--out", scratch / engine]
        began = time.perf_counter()
        with Watch(itself=False) as watch:
            done = subprocess.run(
                [*command, "--engine", engine, "--json"], stdout=subprocess.PIPE, text=True, check=True
            )
        wall = time.perf_counter() - began
        verdicts = json.loads(done.stdout)["protocols"][0]["verdicts"]
        assert sum(verdicts.values()) == count, verdicts
        rows.append(
            {
                "engine": engine, "responses": f"{count:,}", "Parquet in": f"{size >> 20} MB",
                "total seconds": f"{wall:.0f}", "responses/s": f"{count / wall:,.0f}",
                "largest process": f"{watch.largest} MB",
            }
        )  # fmt: skip
        print(rows[-1], file=sys.stderr, flush=True)
    table(rows)


def running(model: str, samples: int, scratch: Path) -> None:
    """Rates of asking the same model by the plain command and on Ray nodes, the better of two tries each.

    Two commands side by side show what two cores can do at all.
    """
    found: dict[str, float] = {}

    def measure(name: str, *words: str, commands: int = 1) -> None:
        folders = [Path(tempfile.mkdtemp(dir=scratch)) / "run" for _ in range(commands)]
        line = [MARKSCHEME, "run", "countdown-sample", "--model", model, "-n", str(samples // commands), "--json"]
        line += ["--temperature", "0.8", "--max-tokens", "128", *words]
        started = [subprocess.Popen([*line, "--out", folder], stdout=subprocess.DEVNULL) for folder in folders]
        assert [process.wait() for process in started] == [0] * commands
        rate = _rate(folders)
        found[name] = max(rate, found.get(name, 0.0))
        print(f"{name}: {rate:.1f}/s", file=sys.stderr, flush=True)

    for _ in range(2):
        measure("one command")
        with nodes(1) as ray:
            measure("Ray, one node", "--engine", "ray", "--ray-address", ray.get_runtime_context().gcs_address)
        measure("two commands", commands=2)
        with nodes(2) as ray:
            address = ray.get_runtime_context().gcs_address
            measure("Ray, two nodes", "--engine", "ray", "--ray-address", address, "--replicas", "2")
    plain = found["one command"]
    table(
        [
            {"asked by": name, "responses/s": f"{rate:.1f}", "× one command": f"{rate / plain:.2f}"}
            for name, rate in found.items()
        ]
    )


def _rate(folders: list[Path]) -> float:
    """Responses a second from when every replica has answered its first batch until before the first queue is empty."""
    import markscheme as ms
    from markscheme.models.nano import BATCH

    runs = [
        sorted(datetime.fromisoformat(one.created) for one in ms.Run.open(folder).responses() if one.created)
        for folder in folders
    ]
    begin, end = max(times[2 * BATCH - 1] for times in runs), min(times[-4 * BATCH] for times in runs)
    return sum(begin < time <= end for times in runs for time in times) / (end - begin).total_seconds()


def feeding(requests: int, scratch: Path) -> None:
    """The cost of a request to the driver when replicas answer at once, over Ray and by itself."""
    import markscheme as ms

    rows = []
    samples = max(1, requests // 100)

    def measure(name: str, **options: Any) -> None:
        began, cpu = time.perf_counter(), time.process_time()
        run = ms.run(
            "countdown-sample", model="solver", samples=samples, out=scratch / name, concurrency=256, **options
        )
        wall, used = time.perf_counter() - began, time.process_time() - cpu
        count = run.manifest.problems * run.manifest.samples
        rows.append({"solver": name, "requests": f"{count:,}", "driver CPU per request": f"{used / count * 1e3:.2f} ms", "requests/s": f"{count / wall:,.0f}"})  # fmt: skip

    measure("in this process")
    with nodes(1):
        measure("Ray, 1 node", engine="ray", replicas=1)
    table(rows)


def fleet(requests: int) -> None:
    """The simulation: what share of its slots a fleet uses, and what the driver spends."""
    from fleet import Fleet, divided, simulate

    rows = []
    for label, one in (
        ("100 replicas", Fleet(replicas=100, requests=requests // 10)),
        ("1,000 replicas", Fleet(requests=requests)),
        ("1,000 replicas, ten responses per slot", Fleet(requests=requests * 16 // 5)),
        ("1,000, none fails or is slow", Fleet(requests=requests, slow=0.0, mean_life=1e12)),
        ("1,000, short responses", Fleet(requests=requests, median=250.0, spread=0.7)),
    ):
        found = simulate(one)
        slots = one.replicas * one.slots
        assert found.twice == found.missing == 0
        rate = one.requests / (found.hours * 3600)
        rows.append(
            {
                "fleet": label,
                "responses": f"{one.requests:,}",
                "at the limit": f"{found.capped / one.requests:.1%}",
                "replicas lost": f"{found.deaths}",
                "work lost": f"{found.lost / (found.lost + found.useful):.1%}",
                "in use until the queue is empty": f"{found.busy_until_dry / (slots * found.until_dry):.1%}",
                "in use to the end": f"{found.useful / (slots * found.hours):.1%}",
                "hours": f"{found.hours:.2f}",
                "at least": f"{max(found.useful / slots, found.longest):.2f}",
                "divided beforehand": f"{divided(one):.2f}",
                "responses/s": f"{rate:,.0f}",
                "scheduler CPU a response": f"{found.driver / one.requests * 1e6:.0f} µs",
                "of a core": f"{found.driver / (found.hours * 3600):.0%}",
            }
        )
        print(label, file=sys.stderr, flush=True)
    table(rows)


def main() -> None:
    """Choose what is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("marking", "millions", "running", "feeding", "fleet"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--responses", type=int, help="default: 600,000 to mark, 5,000,000 with --millions")
    parser.add_argument("--model", default="nano")
    parser.add_argument("--samples", type=int, default=64, help="of each of the 100 sample puzzles, for --running")
    parser.add_argument("--requests", type=int, default=200_000, help="for --fleet")
    options = parser.parse_args()
    # One thread a process, as Ray's workers have it: a core is compared with a core.
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    chosen = [name for name in ("marking", "millions", "running", "feeding", "fleet") if getattr(options, name)]
    for name in chosen or ["marking", "running", "feeding", "fleet"]:
        scratch = Path(tempfile.mkdtemp(prefix="markscheme-scale-"))
        try:
            if name == "marking":
                marking(options.responses or 600_000, scratch)
            elif name == "millions":
                millions(options.responses or 5_000_000, scratch)
            elif name == "running":
                running(options.model, options.samples, scratch)
            elif name == "feeding":
                feeding(15_000, scratch)
            else:
                fleet(options.requests)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
