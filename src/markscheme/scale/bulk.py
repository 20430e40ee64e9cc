"""Marking tens of millions of stored outputs: shard by shard, on this machine's cores or on a Ray cluster.

Marks go to `OUT/<protocol>/part-00012.parquet`, one file a shard. Giving the same command again goes on where it was;
a plan (`marking.json`) beside the parts says what they are of, so that parts of different inputs never mix.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, Literal

import msgspec

from markscheme.errors import DataError, JournalError, MarkingError, UsageError
from markscheme.marking import get_protocol
from markscheme.marking.audit import Score
from markscheme.marking.reading import THINK_END
from markscheme.runs import write_atomically
from markscheme.scale.shards import (
    Job,
    Outcome,
    Shard,
    files_of,
    first_problem,
    mark_shard,
    outcome_of,
    shards_of,
)

TASK = "markscheme.scale.shards:mark_shard"
MEMORY_MB = 16 << 10
"""Address space of a worker; it uses a few hundred megabytes of it, and a shard gone mad ends there."""
LONGEST = 24 * 3600.0
"""Seconds that one shard may take."""
SAY_EVERY = 5.0

Engine = Literal["local", "ray"]


class Plan(msgspec.Struct, frozen=True):
    """What the parts in a folder are of."""

    source: str
    protocol: str
    benchmark: str | None
    think_end: str
    files: tuple[tuple[str, int, int], ...]  # path, bytes, time of last change
    shards: tuple[Shard, ...]


class Marked(msgspec.Struct, frozen=True):
    """The result under one protocol."""

    score: Score
    outcome: Outcome
    folder: str
    earlier: int  # shards that were done before


def mark_in_bulk(
    source: Path,
    protocol: str,
    out: Path,
    *,
    benchmark: str | None = None,
    data_dir: str | None = None,
    think_end: str = THINK_END,
    engine: Engine = "local",
    workers: int | None = None,
    ray_address: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Marked:
    """Mark everything at `source` under one protocol into `out`, or what is still missing there."""
    rule = get_protocol(protocol)
    folder = out / rule.name
    plan = _agreed_plan(folder, _plan(source, rule.label, benchmark, think_end))
    parts = [folder / f"part-{number:05d}.parquet" for number in range(len(plan.shards))]
    jobs = [
        Job(shard, str(part.resolve()), rule.name, benchmark, data_dir, think_end)
        for shard, part in zip(plan.shards, parts, strict=True)
        if not part.exists()
    ]
    earlier = len(parts) - len(jobs)
    progress = _Progress(len(parts), earlier, say)
    if jobs:
        work = _on_ray(jobs, ray_address) if engine == "ray" else _here(jobs, workers)
        for outcome in work:
            progress.add(outcome)
    outcome = _total(parts)
    return Marked(_score(rule.label, parts, outcome.marks), outcome, str(folder), earlier)


def default_protocol(source: Path, benchmark: str | None, data_dir: str | None) -> str:
    """The benchmark's protocol, or what the first gold in the files is judged by."""
    if benchmark is not None:
        from markscheme.benchmarks import benchmark as load

        return load(benchmark, data_dir).protocol
    for file in files_of(source):
        for shard in shards_of(file):
            if (found := first_problem(shard)) is not None:
                return found.protocol
    raise DataError(f"{source} holds no output with a gold answer; say with -b which benchmark they are for.")


def _plan(source: Path, label: str, benchmark: str | None, think_end: str) -> Plan:
    files = files_of(source)
    known = tuple((str(file), (about := file.stat()).st_size, about.st_mtime_ns) for file in files)
    shards = tuple(shard for file in files for shard in shards_of(file))
    return Plan(str(source), label, benchmark, think_end, known, shards)


def _agreed_plan(folder: Path, plan: Plan) -> Plan:
    """This plan, if the folder is empty or holds parts of the very same; else a refusal."""
    file = folder / "marking.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stored = msgspec.json.decode(file.read_bytes(), type=Plan) if file.exists() else None
    except (OSError, msgspec.MsgspecError) as error:
        raise JournalError(f"{folder} cannot be used for marks: {error}") from None
    if stored is None:
        write_atomically(file, msgspec.json.encode(plan))
    elif stored != plan:
        differing = [name for name in plan.__struct_fields__ if getattr(plan, name) != getattr(stored, name)]
        raise UsageError(
            f"{folder} holds marks of something else (other {', '.join(differing)}); choose another --out, or remove it"
        )
    return plan


def _here(jobs: Sequence[Job], workers: int | None) -> Iterator[Outcome]:
    """On the cores of this machine, each shard in a process that ends with this one."""
    from markscheme.marking.sandbox import Pool

    size = workers or os.cpu_count() or 1
    if size == 1 or len(jobs) == 1:
        for job in jobs:
            yield msgspec.convert(mark_shard(msgspec.to_builtins(job)), Outcome)
        return
    pool = Pool(size, memory_mb=MEMORY_MB)
    try:
        with ThreadPoolExecutor(size, thread_name_prefix="shards") as threads:
            waiting = {threads.submit(pool.run, TASK, [msgspec.to_builtins(job)], time_limit=LONGEST) for job in jobs}
            try:
                while waiting:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in done:
                        ended = future.result()
                        if ended.status != "done":
                            raise MarkingError(f"a worker failed: {ended.why}; what is marked is kept")
                        yield msgspec.convert(ended.value, Outcome)
            finally:
                for future in waiting:
                    future.cancel()
                pool.close()
    finally:
        pool.close()


def _on_ray(jobs: Sequence[Job], address: str | None) -> Iterator[Outcome]:
    """On a cluster; a shard whose worker is lost is given to another by Ray itself."""
    from markscheme.scale.ray_cluster import cluster

    with cluster(address) as ray:
        remote = ray.remote(num_cpus=1, max_retries=10)(mark_shard)
        left = iter(jobs)
        running: list[Any] = []
        while True:
            # Twice as many as cores, so that none waits for us; looked up each time, since clusters grow and shrink.
            room = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
            while len(running) < room and (job := next(left, None)) is not None:
                running.append(remote.remote(msgspec.to_builtins(job)))
            if not running:
                return
            done, running = ray.wait(running, num_returns=1, timeout=SAY_EVERY)
            for reference in done:
                try:
                    yield msgspec.convert(ray.get(reference), Outcome)
                except ray.exceptions.RayError as error:
                    reason = (str(error).strip().splitlines() or [type(error).__name__])[-1]
                    raise MarkingError(f"a worker failed: {reason}; what is marked is kept") from None


class _Progress:
    """A line now and then."""

    def __init__(self, shards: int, done: int, say: Callable[[str], None]) -> None:
        self._shards, self._done, self._say = shards, done, say
        self._marks = 0
        self._began = self._said = time.monotonic()

    def add(self, outcome: Outcome) -> None:
        self._done += 1
        self._marks += outcome.marks
        now = time.monotonic()
        if now - self._said >= SAY_EVERY or self._done == self._shards:
            self._said = now
            rate = self._marks / max(now - self._began, 1e-9)
            self._say(f"{self._done} of {self._shards} parts, {self._marks:,} responses marked, {rate:,.0f}/s")


def _total(parts: Sequence[Path]) -> Outcome:
    outcomes = [outcome_of(part) for part in parts]
    return Outcome(
        marks=sum(one.marks for one in outcomes),
        unmatched=sum(one.unmatched for one in outcomes),
        unusable=sum(one.unusable for one in outcomes),
        example=next((one.example for one in outcomes if one.example), ""),
    )


def _score(label: str, parts: Sequence[Path], responses: int) -> Score:
    """The mean over problems with its interval."""
    from markscheme.scale.tallying import tally_parts
    from markscheme.statistics import mean_interval
    from markscheme.statistics.counts import VERDICTS
    from markscheme.statistics.metrics import noise, per_problem

    counts, times = tally_parts(parts, responses)
    if not len(times):
        raise DataError("no row answers a problem at hand, so there is nothing to score.")
    found = mean_interval(per_problem("accuracy", counts), noise=noise("accuracy", counts), times=times)
    totals = zip(VERDICTS, times @ counts.table, strict=True)
    defined = found.estimate == found.estimate  # not nan
    return Score(
        protocol=label,
        score=found.estimate if defined else None,
        low=found.low if defined else None,
        high=found.high if defined else None,
        verdicts={str(verdict): int(number) for verdict, number in totals if number},
    )
