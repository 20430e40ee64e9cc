"""Mark shards: what one worker does with a shard, and who the workers are (processes on this machine or a Ray cluster)."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from markscheme import errors
from markscheme.datasets import locate
from markscheme.errors import DataError, MarkingError, MarkschemeError, UsageError
from markscheme.marking import get_protocol, mark
from markscheme.marking.bulk.outputs import Matcher, response_of
from markscheme.marking.bulk.parts import MarksPart, ShardOutcome
from markscheme.marking.bulk.shards import Shard, rows_of
from markscheme.types import Mark

# What an unusable row raises: no output, no gold, or a gold that the protocol cannot judge against.
UNUSABLE = (MarkschemeError, ValueError, OverflowError, RecursionError)
TASK = "markscheme.marking.bulk.workers:mark_shard"
MEMORY_MB = 16 << 10  # address space of a worker, which uses a few hundred megabytes of it
LONGEST = 24 * 3600.0  # seconds that one shard may take
LOOK_EVERY = 5.0


class Golds(msgspec.Struct, frozen=True):
    """The benchmark that the outputs answer, and its digest, so that every machine marks against the same golds."""

    benchmark: str
    data_dir: str
    sha256: tuple[str, ...]  # of the content of its data files


class Job(msgspec.Struct, frozen=True):
    shard: Shard
    out: str
    protocol: str  # "name@version"
    golds: Golds | None
    think_end: str


class ShardFailure(msgspec.Struct, frozen=True, tag="Failure"):
    """Why a shard could not be marked: a class of `markscheme.errors` and its message."""

    kind: str
    why: str

    def raised(self, more: str = "") -> errors.MarkschemeError:
        error: errors.MarkschemeError = getattr(errors, self.kind)(self.why.rstrip(".") + more if more else self.why)
        return error


def golds_of(benchmark: str, data_dir: str | None) -> Golds:
    from markscheme.benchmarks import benchmark as load

    folder = locate(Path(data_dir) if data_dir is not None else None).absolute()
    name = str(Path(benchmark).absolute()) if benchmark.endswith(".jsonl") else benchmark
    return Golds(name, str(folder), tuple(file.content_sha256 for file in load(name, folder).files))


def mark_shard(job: Job | dict[str, Any]) -> ShardOutcome | ShardFailure:
    """Mark one shard. A job reaches another process as plain data."""
    try:
        return _mark(msgspec.convert(job, Job))
    except MarkschemeError as error:
        return ShardFailure(type(error).__name__, str(error))


def _mark(job: Job) -> ShardOutcome:
    _check_protocol(job.protocol)
    match = _matcher(job.golds)
    part = MarksPart(Path(job.out), {"protocol": job.protocol, "source": job.shard.file})
    unmatched = unusable = 0
    example = ""
    with part:
        for position, row in rows_of(job.shard):
            place = f"{Path(job.shard.file).name}:{position}"
            try:
                problem, texts = match(row, job.shard.file, place)
                if problem is None or isinstance(row, str):
                    unmatched += 1
                    continue
                marks: list[tuple[int | None, Mark]] = []
                for index, text in enumerate(texts):
                    given = row.get("sample") if len(texts) == 1 else index
                    sample = given if type(given) is int and 0 <= given < 1 << 31 else None  # `true` is an int, too
                    response = response_of(row, text, problem, sample or 0)
                    made = mark(response, problem, protocol=job.protocol, think_end=job.think_end)
                    marks.append((sample, made))
            except UNUSABLE as error:
                unusable += 1
                example = example or complaint(error, place)[:500]
                continue
            for sample, each in marks:
                part.add(position, problem.id, sample, each)
        outcome = ShardOutcome(part.rows, unmatched, unusable, example, part.failed)
        part.finish(outcome)
    return outcome


def complaint(error: BaseException, place: str) -> str:
    return str(error) if place in str(error) else f"{place}: {error}"


def _check_protocol(label: str) -> None:
    """Refuse to mark with another version: the machine that plans and those that mark may differ."""
    try:
        rule = get_protocol(label)
    except UsageError as error:
        raise UsageError(f"{socket.gethostname()} has another markscheme: {error}") from None
    if not rule.available():
        raise UsageError(
            f"protocol {rule.name!r} needs {rule.needs}, which is not installed on {socket.gethostname()}."
        )


@lru_cache(maxsize=4)
def _matcher(golds: Golds | None) -> Matcher:
    if golds is None:
        return Matcher()
    from markscheme.benchmarks import benchmark as load

    bench = load(golds.benchmark, golds.data_dir)
    if tuple(file.content_sha256 for file in bench.files) != golds.sha256:
        raise DataError(
            f"{golds.benchmark} has other problems on {socket.gethostname()} than on the machine that planned the marking; "
            "give every machine the same data folder."
        )
    return Matcher(bench.problems)


Ended = Generator[tuple[int, ShardOutcome | ShardFailure], None, None]


def mark_here(jobs: Mapping[int, Job], workers: int | None) -> Ended:
    """Mark on the cores of this machine, each shard in a process that ends with this one."""
    from markscheme.marking.sandbox import Pool

    size = workers or os.cpu_count() or 1
    if size == 1 or len(jobs) == 1:
        for number, job in jobs.items():
            yield number, mark_shard(job)
        return
    pool = Pool(size, memory_mb=MEMORY_MB)
    with ThreadPoolExecutor(size, thread_name_prefix="shards") as threads:
        running = {threads.submit(pool.run, TASK, [job], time_limit=LONGEST): number for number, job in jobs.items()}
        try:
            for future in as_completed(running):
                number, task = running[future], future.result()
                done = task.status == "done"
                yield (
                    number,
                    msgspec.convert(task.value, ShardOutcome | ShardFailure) if done else _lost(jobs[number], task.why),
                )
        finally:
            for future in running:
                future.cancel()
            pool.close()


def mark_on_ray(jobs: Mapping[int, Job], address: str | None, note: Callable[[str], None]) -> Ended:
    """Mark on a cluster. Ray itself gives the shard of a lost worker to another."""
    from markscheme.models.fleet.ray_cluster import Head, cluster

    with cluster(address) as ray:
        head = Head(ray)
        remote = ray.remote(num_cpus=1, max_retries=10)(mark_shard)
        left = iter(jobs.items())
        running: dict[Any, int] = {}
        while True:
            # Two jobs per core, so that no core waits; looked up each time, since clusters grow and shrink.
            cores = int(head.ask(ray.cluster_resources).get("CPU", 0))
            while len(running) < 2 * max(1, cores) and (following := next(left, None)) is not None:
                running[remote.remote(following[1])] = following[0]
            if not running:
                return
            done, _ = ray.wait(list(running), num_returns=1, timeout=LOOK_EVERY)
            free = int(head.ask(ray.available_resources).get("CPU", 0))
            note(f"the cluster has {cores} cores, {free} of them free")
            for reference in done:
                number = running.pop(reference)
                try:
                    yield number, ray.get(reference)
                except ray.exceptions.RayError as error:
                    yield number, _lost(jobs[number], (str(error).strip().splitlines() or [type(error).__name__])[-1])


def _lost(job: Job, reason: str) -> ShardFailure:
    where = f"{job.shard.file} ({job.shard.start} to {job.shard.end})"
    return ShardFailure(MarkingError.__name__, f"a worker failed on {where}: {reason}")
