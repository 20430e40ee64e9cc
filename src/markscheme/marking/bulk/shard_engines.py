"""Who marks the shards: processes on this machine, or a Ray cluster. Outcomes come as they come, with their number."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any

import msgspec

from markscheme import errors
from markscheme.marking.bulk.shard_parts import ShardOutcome
from markscheme.marking.bulk.shard_worker import Job, ShardFailure, mark_shard

TASK = "markscheme.marking.bulk.shard_worker:mark_shard"
MEMORY_MB = 16 << 10
"""Address space of a worker; it uses a few hundred megabytes of it, and a shard gone mad ends there."""
LONGEST = 24 * 3600.0
"""Seconds that one shard may take."""
LOOK_EVERY = 5.0

Ended = Generator[tuple[int, ShardOutcome | ShardFailure], None, None]


def mark_here(jobs: Mapping[int, Job], workers: int | None) -> Ended:
    """On the cores of this machine, each shard in a process that ends with this one."""
    from markscheme.marking.sandbox import Pool

    size = workers or os.cpu_count() or 1
    if size == 1 or len(jobs) == 1:
        for number, job in jobs.items():
            yield number, _ended(mark_shard(msgspec.to_builtins(job)))
        return
    pool = Pool(size, memory_mb=MEMORY_MB)
    with ThreadPoolExecutor(size, thread_name_prefix="shards") as threads:
        running = {
            threads.submit(pool.run, TASK, [msgspec.to_builtins(job)], time_limit=LONGEST): number
            for number, job in jobs.items()
        }
        try:
            while running:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    number, found = running.pop(future), future.result()
                    done = found.status == "done"
                    yield number, _ended(found.value) if done else _lost(jobs[number], found.why)
        finally:
            for future in running:
                future.cancel()
            pool.close()


def mark_on_ray(jobs: Mapping[int, Job], address: str | None, note: Callable[[str], None]) -> Ended:
    """On a cluster; a shard whose worker is lost is given to another by Ray itself."""
    from markscheme.models.fleet.ray_cluster import cluster

    with cluster(address) as ray:
        remote = ray.remote(num_cpus=1, max_retries=10)(mark_shard)
        left = iter(jobs.items())
        running: dict[Any, int] = {}
        while True:
            # Twice as many as cores, so that none waits for us; looked up each time, since clusters grow and shrink.
            cores = int(ray.cluster_resources().get("CPU", 0))
            while len(running) < 2 * max(1, cores) and (following := next(left, None)) is not None:
                running[remote.remote(msgspec.to_builtins(following[1]))] = following[0]
            if not running:
                return
            done, _ = ray.wait(list(running), num_returns=1, timeout=LOOK_EVERY)
            note(f"the cluster has {cores} cores, {int(ray.available_resources().get('CPU', 0))} of them free")
            for reference in done:
                number = running.pop(reference)
                try:
                    ended = _ended(ray.get(reference))
                except ray.exceptions.RayError as error:
                    ended = _lost(jobs[number], (str(error).strip().splitlines() or [type(error).__name__])[-1])
                yield number, ended


def raised(failure: ShardFailure, more: str = "") -> errors.MarkschemeError:
    """The error that ended a shard, as if it had happened here."""
    kind = getattr(errors, failure.kind)
    error: errors.MarkschemeError = kind(failure.why.rstrip(".") + more if more else failure.why)
    return error


def _ended(found: object) -> ShardOutcome | ShardFailure:
    return msgspec.convert(found, ShardOutcome | ShardFailure)


def _lost(job: Job, reason: str) -> ShardFailure:
    shard = job.shard
    return ShardFailure(
        errors.MarkingError.__name__, f"a worker failed on {shard.file} ({shard.start} to {shard.end}): {reason}"
    )
