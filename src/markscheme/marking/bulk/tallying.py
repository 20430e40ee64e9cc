"""Count how often each problem got each verdict, from the parts of a marking, in bounded memory.

A problem is identified by 64 bits of its key: with fifty million problems the chance of one collision is 1 in 10,000. Up
to `AT_ONCE` responses are counted in memory. More are first sorted by key into files next to the parts, so that all
responses of a problem are in one file, and the files are counted one by one.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from markscheme.errors import JournalError, first_line
from markscheme.marking.bulk.parts import COUNTING
from markscheme.marking.bulk.shards import arrow
from markscheme.statistics.counts import VERDICTS, Counts

AT_ONCE = 1_000_000  # responses counted at a time: about 100 MB if every one answers another problem
MOST_FILES = 200  # open at the same time; systems allow 256 and more

_ROW = np.dtype([("problem", np.uint64), ("verdict", np.uint8)])
_COLUMN = {str(verdict): place for place, verdict in enumerate(VERDICTS)}
_MIX = np.random.default_rng(0).integers(0, 1 << 64, len(VERDICTS), dtype=np.uint64)

Rows = npt.NDArray[np.void]


class _Verdict(msgspec.Struct):
    key: str
    verdict: str


def tally_parts(parts: Sequence[Path], responses: int) -> tuple[Counts, npt.NDArray[np.int64]]:
    """Return the distinct rows of counts, and how many problems have each. Names of problems are not kept."""
    alike: Counter[tuple[int, ...]] = Counter()
    try:
        for rows in _whole_problems(parts, responses):
            alike.update(_by_problem(rows))
    except OSError as error:  # a full disk: counting takes 9 bytes per response in addition to the marks
        raise JournalError(
            f"the verdicts in {parts[0].parent} cannot be counted ({first_line(error)}); all marks are kept, so give the "
            "same command again when there is room"
        ) from None
    table = np.array(list(alike), dtype=np.int64).reshape(len(alike), len(VERDICTS))
    return Counts((), table), np.array(list(alike.values()), dtype=np.int64)


def _whole_problems(parts: Sequence[Path], responses: int) -> Iterator[Rows]:
    pieces = min(MOST_FILES, -(-responses // AT_ONCE))
    if pieces <= 1:
        yield np.concatenate([_rows(part) for part in parts]) if parts else np.empty(0, _ROW)
        return
    folder = Path(tempfile.mkdtemp(prefix=COUNTING, dir=parts[0].parent))
    try:
        files = [folder / f"{number}" for number in range(pieces)]
        with ExitStack() as stack:
            streams = [stack.enter_context(file.open("wb")) for file in files]
            for part in parts:
                rows = _rows(part)
                owner = rows["problem"] % np.uint64(pieces)
                for number, stream in enumerate(streams):
                    stream.write(rows[owner == number].tobytes())
        yield from (np.fromfile(file, _ROW) for file in files)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _rows(part: Path) -> Rows:
    try:
        if part.suffix == ".jsonl":
            with part.open("rb") as lines:
                marks = list(map(msgspec.json.Decoder(_Verdict).decode, lines))
            keys, verdicts = [mark.key for mark in marks], [mark.verdict for mark in marks]
        else:
            columns = arrow("pyarrow.parquet").read_table(part, columns=["key", "verdict"])
            keys, verdicts = columns["key"].to_pylist(), columns["verdict"].to_pylist()
    except (OSError, ValueError) as error:  # pyarrow's errors are ValueErrors, and so are msgspec's
        raise JournalError(f"{part} is damaged ({first_line(error)}); remove it and give the command again.") from None
    rows = np.empty(len(keys), _ROW)
    rows["problem"] = np.fromiter(map(hash, keys), np.int64, len(keys)).view(np.uint64)
    rows["verdict"] = [_COLUMN[verdict] for verdict in verdicts]
    return rows


def _by_problem(rows: Rows) -> Counter[tuple[int, ...]]:
    """Count the problems that have each row of counts."""
    problems, places = np.unique(rows["problem"], return_inverse=True)
    table = np.zeros((len(problems), len(VERDICTS)), dtype=np.uint32)
    np.add.at(table, (places, rows["verdict"]), 1)
    # Sorting rows takes ten times as long as sorting one random sum per row, and collisions are negligible.
    _, first, times = np.unique(table @ _MIX, return_index=True, return_counts=True)
    return Counter(dict(zip(map(tuple, table[first].tolist()), times.tolist(), strict=True)))
