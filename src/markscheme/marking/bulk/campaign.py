"""Marking files of stored outputs, from two lines to tens of millions, shard by shard: in this process where there is
one shard, else on this machine's cores or on a Ray cluster.

Marks go to `OUT/<protocol>/part-00012.jsonl` or `.parquet`, one file a shard in the form of its outputs. Giving the same
command again goes on where it was.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

import msgspec

from markscheme.errors import DataError, MarkingError, UsageError
from markscheme.marking import get_protocol
from markscheme.marking.bulk.audit import Score
from markscheme.marking.bulk.shard_engines import Ended, mark_here, mark_on_ray, raised
from markscheme.marking.bulk.shard_parts import ShardOutcome, outcome_of, part_file, remove_leftovers
from markscheme.marking.bulk.shard_plans import agreed_plan, make_plan
from markscheme.marking.bulk.shard_progress import Progress, Say
from markscheme.marking.bulk.shard_worker import Job, ShardFailure, first_problem, golds_of
from markscheme.marking.bulk.shards import find, shards_of
from markscheme.marking.extraction.sections import THINK_END
from markscheme.types import Problem

Engine = Literal["local", "ray"]


class Marked(msgspec.Struct, frozen=True):
    """The result under one protocol."""

    score: Score
    outcome: ShardOutcome
    folder: str  # empty where no marks are kept
    parts: int
    earlier: int  # parts that were done before


def mark_in_bulk(
    source: Path,
    protocol: str,
    out: Path | None,
    *,
    benchmark: str | None = None,
    data_dir: str | None = None,
    think_end: str = THINK_END,
    engine: Engine = "local",
    workers: int | None = None,
    ray_address: str | None = None,
    say: Say = lambda _: None,
) -> Marked:
    """Mark everything at `source` under one protocol into `out`, or what is still missing there.

    Without `out` only the score is kept.
    """
    if out is None:
        options = {"benchmark": benchmark, "data_dir": data_dir, "think_end": think_end, "workers": workers, "say": say}
        with tempfile.TemporaryDirectory(prefix="markscheme-") as scratch:
            scored = mark_in_bulk(source, protocol, Path(scratch), **options)  # type: ignore[arg-type]
            return msgspec.structs.replace(scored, folder="")
    rule = get_protocol(protocol)
    if source.is_dir() and out.resolve().is_relative_to(source.resolve()):
        raise UsageError(
            f"--out {out} lies in {source}, where everything is read as outputs; choose a folder elsewhere."
        )
    golds = golds_of(benchmark, data_dir) if benchmark is not None else None
    folder = out / rule.name
    files = find(source).files
    plan = agreed_plan(folder, make_plan(source, files, rule.label, golds.sha256 if golds else (), think_end))
    shards = plan.shards(source.absolute())
    parts = [part_file(folder, number, shard.file) for number, shard in enumerate(shards)]
    ended = _earlier(parts, say)
    jobs = {
        number: Job(shard, str(parts[number].absolute()), rule.label, golds, think_end)
        for number, shard in enumerate(shards)
        if number not in ended
    }
    earlier = len(ended)
    if jobs:
        with Progress(len(parts), earlier, say) as progress:
            work = mark_on_ray(jobs, ray_address, progress.note) if engine == "ray" else mark_here(jobs, workers)
            ended |= _all_of(work, len(jobs), progress)
    remove_leftovers(folder)
    outcome = _total([ended[number] for number in sorted(ended)])
    return Marked(_score(rule.label, source, parts, outcome, say), outcome, str(folder), len(parts), earlier)


def default_protocol(source: Path, benchmark: str | None, data_dir: str | None) -> str:
    """The benchmark's protocol, or what the first gold in the files is judged by."""
    if benchmark is not None:
        from markscheme.benchmarks import benchmark as load

        return load(benchmark, data_dir).protocol
    reason = "there is none"
    for file in find(source).files:
        for shard in shards_of(file):
            first = first_problem(shard)
            if isinstance(first, Problem):
                return first.protocol
            reason = first or reason
    raise DataError(
        f"{source} holds no outputs with a gold answer ({reason.rstrip('.')}); say with -b which benchmark they are for."
    )


def _earlier(parts: Sequence[Path], say: Say) -> dict[int, ShardOutcome]:
    """The parts that are there and whole. One that a crash of the machine has damaged counts as missing."""
    found: dict[int, ShardOutcome] = {}
    for number, part in enumerate(parts):
        if not part.exists():
            continue
        outcome = outcome_of(part)
        if outcome is None:
            say(f"{part} is damaged and made again")
        else:
            found[number] = outcome
    return found


def _all_of(work: Ended, jobs: int, progress: Progress) -> dict[int, ShardOutcome]:
    """All outcomes. A shard that cannot be read, or ends its worker, does not stop the others; it is told in the end."""
    done: dict[int, ShardOutcome] = {}
    failed: list[ShardFailure] = []
    with closing(work):
        for number, ended in work:
            if isinstance(ended, ShardOutcome):
                done[number] = ended
                progress.add(ended)
            elif ended.kind in (DataError.__name__, MarkingError.__name__):
                failed.append(ended)
            else:  # no room on the disk, another version on a node: the others would fare no better
                raise raised(ended)
    if failed:
        raise raised(failed[0], f"; {len(failed)} of {jobs} parts could not be marked, the others are kept")
    return done


def _total(outcomes: Sequence[ShardOutcome]) -> ShardOutcome:
    return ShardOutcome(
        marks=sum(one.marks for one in outcomes),
        unmatched=sum(one.unmatched for one in outcomes),
        unusable=sum(one.unusable for one in outcomes),
        example=next((one.example for one in outcomes if one.example), ""),
    )


def _score(label: str, source: Path, parts: Sequence[Path], outcome: ShardOutcome, say: Say) -> Score:
    """The mean over problems with its interval."""
    from markscheme.marking.bulk.tallying import AT_ONCE, tally_parts
    from markscheme.statistics import mean_interval
    from markscheme.statistics.counts import VERDICTS
    from markscheme.statistics.metrics import noise, per_problem

    if not outcome.marks and outcome.example:
        raise DataError(f"no row of {source} can be marked; the first: {outcome.example}")
    if not outcome.marks:
        raise DataError(f"no row of {source} answers a problem at hand, so there is nothing to score.")
    if outcome.marks > AT_ONCE:
        say(f"counting the verdicts of {outcome.marks:,} responses")
    counts, times = tally_parts(parts, outcome.marks)
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
