"""What a worker does with a shard (read, mark, write, in bounded memory), and who the workers are: processes on this
machine, or a Ray cluster. Outcomes come as they come, with the number of their shard.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from markscheme import errors
from markscheme.datasets import locate
from markscheme.errors import DataError, MarkschemeError, UsageError
from markscheme.marking import get_protocol, mark
from markscheme.marking.bulk.outputs import Matcher, response_of
from markscheme.marking.bulk.shard_parts import MarksPart, ShardOutcome
from markscheme.marking.bulk.shards import Row, Shard, rows_of
from markscheme.types import Mark

# What one row may end in: no output, no gold, a gold that the protocol cannot judge against or that nobody can read.
UNUSABLE = (MarkschemeError, ValueError, OverflowError, RecursionError)


class Golds(msgspec.Struct, frozen=True):
    """The benchmark that the outputs answer, so named that every machine finds it and knows that it is the same."""

    benchmark: str
    data_dir: str
    sha256: tuple[str, ...]  # of the content of its data files


class Job(msgspec.Struct, frozen=True):
    """What a worker is told: which shard, judged how, and where its marks go. All paths are absolute."""

    shard: Shard
    out: str
    protocol: str  # "name@version"
    golds: Golds | None
    think_end: str


class ShardFailure(msgspec.Struct, frozen=True, tag="Failure"):
    """Why a shard could not be marked: a class of `markscheme.errors` and its sentence."""

    kind: str
    why: str


def golds_of(benchmark: str, data_dir: str | None) -> Golds:
    """What the benchmark of that name is here and now."""
    from markscheme.benchmarks import benchmark as load

    folder = locate(Path(data_dir) if data_dir is not None else None).absolute()
    name = str(Path(benchmark).absolute()) if benchmark.endswith(".jsonl") else benchmark
    return Golds(name, str(folder), tuple(file.content_sha256 for file in load(name, folder).files))


def mark_shard(job: Job | dict[str, Any]) -> ShardOutcome | ShardFailure:
    """Mark one shard; into another process a job comes as plain data."""
    try:
        return _mark(msgspec.convert(job, Job))
    except MarkschemeError as error:
        return ShardFailure(type(error).__name__, str(error))


def _mark(job: Job) -> ShardOutcome:
    _check_protocol(job.protocol)
    match = _matcher(job.golds)
    part = MarksPart(Path(job.out), {"protocol": job.protocol, "source": job.shard.file})
    name = Path(job.shard.file).name
    unmatched = unusable = 0
    example = ""
    with part:
        for position, row in rows_of(job.shard):
            place = f"{name}:{position}"
            try:
                marks = _marks(row, match, place, job)
            except UNUSABLE as error:
                unusable += 1
                example = example or (str(error) if place in str(error) else f"{place}: {error}")[:500]
                continue
            if marks is None:
                unmatched += 1
                continue
            for problem_id, sample, each in marks:
                part.add(position, problem_id, sample, each)
        outcome = ShardOutcome(part.rows, unmatched, unusable, example, part.failed)
        part.finish(outcome)
    return outcome


def _marks(row: Row, match: Matcher, place: str, job: Job) -> list[tuple[str, int | None, Mark]] | None:
    """The marks of a row's outputs with problem and sample; `None` where they answer no problem at hand."""
    problem, texts = match(row, job.shard.file, place)
    if problem is None or isinstance(row, str):
        return None
    marks = []
    for index, text in enumerate(texts):
        given = row.get("sample") if len(texts) == 1 else index
        sample = given if type(given) is int and 0 <= given < 1 << 31 else None  # `true` is an int, too
        response = response_of(row, text, problem, sample or 0)
        marks.append((problem.id, sample, mark(response, problem, protocol=job.protocol, think_end=job.think_end)))
    return marks


def _check_protocol(label: str) -> None:
    """Marks of one folder must be of one rule: the machine that plans and those that mark may differ."""
    try:
        rule = get_protocol(label)
    except UsageError as error:
        raise UsageError(f"{socket.gethostname()} has another markscheme: {error}") from None
    if not rule.available():
        raise UsageError(f"protocol {rule.name!r} needs {rule.needs}, which {socket.gethostname()} has not.")


@lru_cache(maxsize=4)
def _matcher(golds: Golds | None) -> Matcher:
    if golds is None:
        return Matcher()
    from markscheme.benchmarks import benchmark as load

    bench = load(golds.benchmark, golds.data_dir)
    if tuple(file.content_sha256 for file in bench.files) != golds.sha256:
        raise DataError(
            f"{golds.benchmark} has other problems on {socket.gethostname()} than where the command was given; give "
            "every machine the same --data-dir."
        )
    return Matcher(bench.problems)


TASK = "markscheme.marking.bulk.shard_worker:mark_shard"
# Address space of a worker; it uses a few hundred megabytes of it, and a shard gone mad ends there.
MEMORY_MB = 16 << 10
LONGEST = 24 * 3600.0  # seconds that one shard may take
LOOK_EVERY = 5.0

Ended = Generator[tuple[int, ShardOutcome | ShardFailure], None, None]


def mark_here(jobs: Mapping[int, Job], workers: int | None) -> Ended:
    """On the cores of this machine, each shard in a process that ends with this one."""
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
            while running:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    number, task = running.pop(future), future.result()
                    if task.status == "done":
                        yield number, msgspec.convert(task.value, ShardOutcome | ShardFailure)
                    else:
                        yield number, _lost(jobs[number], task.why)
        finally:
            for future in running:
                future.cancel()
            pool.close()


def mark_on_ray(jobs: Mapping[int, Job], address: str | None, note: Callable[[str], None]) -> Ended:
    """On a cluster; a shard whose worker is lost is given to another by Ray itself."""
    from markscheme.models.fleet.ray_cluster import Head, cluster

    with cluster(address) as ray:
        head = Head(ray)
        remote = ray.remote(num_cpus=1, max_retries=10)(mark_shard)
        left = iter(jobs.items())
        running: dict[Any, int] = {}
        while True:
            # Twice as many as cores, so that none waits for us; looked up each time, since clusters grow and shrink.
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


def raised(failure: ShardFailure, more: str = "") -> errors.MarkschemeError:
    """The error that ended a shard, as if it had happened here."""
    kind = getattr(errors, failure.kind)
    error: errors.MarkschemeError = kind(failure.why.rstrip(".") + more if more else failure.why)
    return error


def _lost(job: Job, reason: str) -> ShardFailure:
    shard = job.shard
    return ShardFailure(
        errors.MarkingError.__name__, f"a worker failed on {shard.file} ({shard.start} to {shard.end}): {reason}"
    )
