"""Mark files of stored outputs, shard by shard: in this process, on this machine's cores or on a Ray cluster.

Marks go to `OUT/<protocol>/part-00012.jsonl` or `.parquet`, next to a plan that says what they are marks of, so that
different marks never mix. The same command continues an interrupted marking, also after the files were moved: they are
known by their name below the source, their size and a sample of their content.
"""

from __future__ import annotations

import hashlib
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import msgspec

from markscheme.errors import DataError, JournalError, MarkingError, UsageError, option, os_reason
from markscheme.marking import get_protocol
from markscheme.marking.bulk.audit import Score, score_of
from markscheme.marking.bulk.outputs import NAMING, Matcher
from markscheme.marking.bulk.parts import ShardOutcome, outcome_of, part_file, remove_leftovers
from markscheme.marking.bulk.shards import PLAN_FILE, Shard, find, rows_of, shards_of
from markscheme.marking.bulk.workers import (
    UNUSABLE,
    Ended,
    Job,
    ShardFailure,
    complaint,
    golds_of,
    mark_here,
    mark_on_ray,
)
from markscheme.marking.marker import FAILED
from markscheme.marking.reading.sections import THINK_END
from markscheme.runs.folder import write_atomically

SAY_EVERY = 10.0
VERSION = 2
BLOCK = 16 << 10
BLOCKS = 16  # blocks of a file that are compared, spread from its first byte to its last

Say = Callable[[str], None]
Engine = Literal["local", "ray"]

_COMPARED = {
    "protocol": "version of the protocol",
    "golds": "benchmark or gold answers",
    "think_end": "--think-end",
    "files": "files",
}


class Progress:
    """Report progress every few seconds while a block runs, and once at its end."""

    def __init__(self, parts: int, done: int, say: Say) -> None:
        self.parts, self.done, self.say = parts, done, say
        self.marks = 0
        self.note = ""
        self._began = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="progress", daemon=True)

    def __enter__(self) -> Self:
        if self.done:
            self.say(f"{self.done} of {self.parts} parts are there from before")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if self.done == self.parts and (self.parts > 1 or time.monotonic() - self._began > SAY_EVERY):
            self.say(self._line())

    def _tick(self) -> None:
        while not self._over.wait(SAY_EVERY):
            self.say("; ".join(filter(None, [self._line(), self.note])))

    def _line(self) -> str:
        seconds = time.monotonic() - self._began
        rate = self.marks / max(seconds, 1e-9)
        return f"{self.done} of {self.parts} parts, {self.marks:,} responses marked in {seconds:,.0f} s, {rate:,.0f}/s"


class Input(msgspec.Struct, frozen=True):
    """A file of stored outputs, identified by its content and not by its folder."""

    name: str
    size: int
    sample: str  # sha256 of some blocks


class MarkingPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is marked in a folder, how, and in which parts."""

    version: int = VERSION
    protocol: str
    golds: tuple[str, ...]  # sha256 of the benchmark's data files; empty if the rows have their own golds
    think_end: str
    files: tuple[Input, ...]
    cuts: tuple[tuple[int, int, int], ...]  # number of the file, start, end: part 0, part 1 …

    def shards(self, source: Path) -> list[Shard]:
        files = [str(source / one.name) for one in self.files]
        return [Shard(files[number], start, end) for number, start, end in self.cuts]


def make_plan(
    source: Path, files: Sequence[Path], protocol: str, golds: tuple[str, ...], think_end: str
) -> MarkingPlan:
    cuts = [(number, shard.start, shard.end) for number, file in enumerate(files) for shard in shards_of(file)]
    inputs = tuple(_input(file, source) for file in files)
    return MarkingPlan(protocol=protocol, golds=golds, think_end=think_end, files=inputs, cuts=tuple(cuts))


def agreed_plan(folder: Path, plan: MarkingPlan) -> MarkingPlan:
    """Return the folder's own plan if it is for the same marks (it may cut differently); store this one if it has none."""
    file = folder / PLAN_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            write_atomically(file, msgspec.json.encode(plan))
            return plan
        raw = msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
        stored = msgspec.convert(raw, MarkingPlan) if raw.get("version") == VERSION else None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise JournalError(f"{folder} cannot be used for marks: {os_reason(error)}") from None
    if stored is None:
        raise UsageError(
            f"{folder} holds marks of another version of markscheme; choose another {option('out')}, or remove it."
        )
    differing = [words for name, words in _COMPARED.items() if getattr(plan, name) != getattr(stored, name)]
    if differing:
        other = " and ".join(differing)
        raise UsageError(
            f"{folder} holds marks that were made with other {other}; choose another {option('out')}, or remove the folder"
        )
    return stored


def _input(file: Path, source: Path) -> Input:
    digest = hashlib.sha256()
    try:
        size = file.stat().st_size
        with file.open("rb") as content:
            for number in range(BLOCKS):
                content.seek(max(0, size - BLOCK) * number // (BLOCKS - 1))
                digest.update(content.read(BLOCK))
    except OSError as error:
        raise DataError(f"{file} cannot be read: {os_reason(error)}") from None
    return Input(file.relative_to(source).as_posix(), size, digest.hexdigest())


class Marked(msgspec.Struct, frozen=True):
    score: Score
    outcome: ShardOutcome
    folder: str  # empty if no marks are kept
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
    """Mark what is not marked yet at `source` under one protocol. Without `out` only the score is kept."""
    rule = get_protocol(protocol)
    if out is not None and source.is_dir() and out.resolve().is_relative_to(source.resolve()):
        raise UsageError(
            f"{option('out')} {out} is inside {source}, where every file is read as outputs; choose a folder elsewhere."
        )
    golds = golds_of(benchmark, data_dir) if benchmark is not None else None
    with ExitStack() as stack:
        kept = out or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="markscheme-")))
        folder = kept / rule.name
        plan = make_plan(source, find(source).files, rule.label, golds.sha256 if golds else (), think_end)
        shards = agreed_plan(folder, plan).shards(source.absolute())
        parts = [part_file(folder, number, shard.file) for number, shard in enumerate(shards)]
        ended = _earlier(parts, say)
        jobs = {
            number: Job(shard, str(parts[number].absolute()), rule.source or rule.label, golds, think_end)
            for number, shard in enumerate(shards)
            if number not in ended
        }
        earlier = len(ended)
        if jobs:
            with Progress(len(parts), earlier, say) as progress:
                note = partial(setattr, progress, "note")
                work = mark_on_ray(jobs, ray_address, note) if engine == "ray" else mark_here(jobs, workers)
                ended |= _all_of(work, len(jobs), progress)
        remove_leftovers(folder)
        outcome = sum((ended[number] for number in sorted(ended)), ShardOutcome())
        score = _score(rule.label, source, parts, outcome, say)
        return Marked(score, outcome, str(folder) if out is not None else "", len(parts), earlier)


def default_protocol(source: Path, benchmark: str | None, data_dir: str | None) -> str:
    """Return the benchmark's protocol, or the one for the first gold in the files."""
    if benchmark is not None:
        from markscheme.benchmarks import benchmark as load

        return load(benchmark, data_dir).protocol
    reason = ""
    for shard in (shard for file in find(source).files for shard in shards_of(file)):
        for position, row in rows_of(shard):
            place = f"{Path(shard.file).name}:{position}"
            try:
                problem = Matcher()(row, shard.file, place)[0]
            except UNUSABLE as error:
                reason = reason or complaint(error, place)
                continue
            if problem is not None:
                return problem.protocol
    raise DataError(reason or f"{source} holds no outputs with a gold answer; name their benchmark with -b.")


def _earlier(parts: Sequence[Path], say: Say) -> dict[int, ShardOutcome]:
    """Return the outcomes of the parts that are complete. A part damaged by a crash of the machine counts as missing."""
    whole: dict[int, ShardOutcome] = {}
    for number, part in enumerate(parts):
        if not part.exists():
            continue
        outcome = outcome_of(part)
        if outcome is None:
            say(f"{part} is damaged and made again")
        else:
            whole[number] = outcome
    return whole


def _all_of(work: Ended, jobs: int, progress: Progress) -> dict[int, ShardOutcome]:
    """Collect all outcomes. A shard that cannot be read, or kills its worker, is reported after the others are done."""
    done: dict[int, ShardOutcome] = {}
    failed: list[ShardFailure] = []
    with closing(work):
        for number, ended in work:
            if isinstance(ended, ShardOutcome):
                done[number] = ended
                progress.done += 1
                progress.marks += ended.marks
            elif ended.kind in (DataError.__name__, MarkingError.__name__):
                failed.append(ended)
            else:  # a full disk or another version on a node: the others would fail as well
                raise ended.raised()
    if failed:
        raise failed[0].raised(f"; {len(failed)} of {jobs} parts could not be marked, the others are kept")
    return done


def _score(label: str, source: Path, parts: Sequence[Path], outcome: ShardOutcome, say: Say) -> Score:
    from markscheme.marking.bulk.tallying import AT_ONCE, tally_parts
    from markscheme.statistics import mean_interval
    from markscheme.statistics.counts import VERDICTS
    from markscheme.statistics.metrics import metric

    if not outcome.marks and outcome.example:
        raise DataError(f"no row of {source} can be marked; the first: {outcome.example}")
    if not outcome.marks:
        raise DataError(f"no row of {source} answers a known problem, so there is nothing to score: {NAMING}.")
    if outcome.marks > AT_ONCE:
        say(f"counting the verdicts of {outcome.marks:,} responses")
    counts, times = tally_parts(parts, outcome.marks)
    accuracy = metric("accuracy")
    interval = mean_interval(accuracy.values(counts), noise=accuracy.noise(counts), times=times)
    flags = Counter({FAILED: outcome.failed} if outcome.failed else {})
    verdicts = zip(map(str, VERDICTS), (times @ counts.table).tolist(), strict=True)
    return score_of(label, interval, {verdict: count for verdict, count in verdicts if count}, flags)
