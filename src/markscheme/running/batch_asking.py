"""Ask through a provider's batch API: submit what is missing, wait, fetch the answers.

`batches.jsonl` records each batch before and after it is submitted, so a process that is killed neither loses a paid batch
nor submits the same requests twice.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from pathlib import Path

import msgspec

from markscheme.errors import ModelError, option
from markscheme.models.base import Batches, BatchLine, Model, Request, RequestFailed
from markscheme.running.live import Live
from markscheme.running.recorder import Recorder
from markscheme.running.scheduler import make_response, now
from markscheme.runs.journal import Journal
from markscheme.runs.lines import read_all

# Seconds between two polls of a batch: short at first, since small batches take a minute.
LOOK_FIRST, LOOK_LAST = 5.0, 60.0


class BatchNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of `batches.jsonl`; the last line about a batch counts."""

    name: str
    cells: tuple[tuple[str, int], ...] = ()  # key and sample of each request
    id: str | None = None  # the provider's; None until it confirms the batch
    closed: bool = False  # fetched, refused or never received


def open_batches(folder: Path) -> dict[str, BatchNote]:
    """Return the batches that are not fetched yet, by our name."""
    return {name: note for name, note in read_notes(folder).items() if not note.closed}


def read_notes(folder: Path) -> dict[str, BatchNote]:
    """Return every batch of the run, by our name."""
    notes: dict[str, BatchNote] = {}
    for note in read_all(folder / "batches.jsonl", BatchNote):
        cells = note.cells or (notes[note.name].cells if note.name in notes else ())
        notes[note.name] = msgspec.structs.replace(note, cells=cells)
    return notes


class BatchAsking:
    """Used in place of the scheduler: `run` returns when every batch is fetched or `stop` is called."""

    def __init__(self, model: Model, requests: Iterator[Request], recorder: Recorder, folder: Path, live: Live) -> None:
        made = model.batches()
        if made is None:
            raise ModelError(f"{model.name} has no batch API that markscheme knows; leave {option('batch')} out")
        self._batches: Batches = made
        self._recorder, self._live = recorder, live
        self._requests = {(request.key, request.samples[0]): request for request in requests}
        self._journal = Journal(folder / "batches.jsonl")
        self._open = open_batches(folder)
        self._known = {note.id for note in read_notes(folder).values() if note.id}
        self._stopped = asyncio.Event()
        self._failure: BaseException | None = None

    async def run(self) -> None:
        work = asyncio.create_task(self._work())
        stop = asyncio.create_task(self._stopped.wait())
        await asyncio.wait([work, stop], return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if not work.done():
            work.cancel()
            await asyncio.wait([work])
        if self._failure is not None:
            raise self._failure
        if not work.cancelled():
            work.result()

    def stop(self, failure: BaseException | None = None) -> None:
        """Stop now; open batches are fetched when the run is resumed."""
        self._failure = self._failure or failure
        self._stopped.set()

    drain = stop  # waiting may take a day and costs nothing, so the first Ctrl-C ends it

    def more_room(self) -> None:
        """Ignored: nothing is queued."""

    async def _work(self) -> None:
        with self._journal:
            try:
                await self._recover()
                await self._submit()
                await asyncio.gather(*(self._fetch(note) for note in list(self._open.values())))
            except RequestFailed as failure:
                raise ModelError(f"the batch API failed: {failure}") from None

    async def _recover(self) -> None:
        """Find batches of a process that was killed while it submitted them."""
        for note in [note for note in self._open.values() if note.id is None]:
            batch = await self._batches.find(note.name, len(note.cells), self._known)
            self._note(msgspec.structs.replace(note, id=batch, closed=batch is None, cells=()))
            if batch is None:
                del self._open[note.name]
            else:
                self._open[note.name] = msgspec.structs.replace(note, id=batch)

    async def _submit(self) -> None:
        on_its_way = {cell for note in self._open.values() for cell in note.cells}
        await self._batches.find("", -1, ())  # fails for a wrong address before anything is recorded
        for lines in self._pieces([cell for cell in self._requests if cell not in on_its_way]):
            name = f"markscheme-{secrets.token_hex(6)}"
            note = BatchNote(name, tuple(_cell(own) for own, _ in lines))
            self._note(note)
            batch = await self._hand_over(lines, name)
            self._known.add(batch)
            self._note(BatchNote(name, id=batch))
            self._open[name] = msgspec.structs.replace(note, id=batch)

    async def _hand_over(self, lines: list[BatchLine], name: str) -> str:
        """Submit once: if the reply is lost, look for the batch before submitting again."""
        try:
            return await self._batches.submit(lines, name)
        except RequestFailed as failure:
            if not failure.retryable:
                raise
            batch = await self._batches.find(name, len(lines), self._known)
            return batch or await self._batches.submit(lines, name)

    def _pieces(self, cells: list[tuple[str, int]]) -> Iterator[list[BatchLine]]:
        lines: list[BatchLine] = []
        size = 0
        for key, sample in cells:
            line = (f"{key}_{sample}", self._batches.body(self._requests[key, sample]))
            length = len(msgspec.json.encode(line)) + 100
            if lines and (len(lines) >= self._batches.most_requests or size + length > self._batches.most_bytes):
                yield lines
                lines, size = [], 0
            lines.append(line)
            size += length
        if lines:
            yield lines

    async def _fetch(self, note: BatchNote) -> None:
        assert note.id is not None
        wait, done = LOOK_FIRST, 0
        while not (state := await self._batches.state(note.id)).ended:
            self._live.in_flight += done - state.done if done else len(note.cells) - state.done
            done = state.done
            self._live.state = f"waiting for a batch of {len(note.cells):,} ({state.done:,} answered); Ctrl-C stops waiting, and `resume` fetches it later"
            await asyncio.sleep(wait)
            wait = min(LOOK_LAST, wait * 1.5)
        if state.refused:
            self._note(BatchNote(note.name, id=note.id, closed=True))
            raise ModelError(f"the provider refused the batch: {state.refused}")
        async for own, answer in self._batches.results(note.id):
            self._take(own, answer)
        self._recorder.flush()  # before the batch is recorded as closed
        self._note(BatchNote(note.name, id=note.id, closed=True))
        self._live.state = ""

    def _take(self, own: str, answer: object) -> None:
        key, sample = _cell(own)
        request = self._requests.get((key, sample))
        if request is None or self._live.answered.has(key, sample):
            return  # another run's, or fetched by a process that was killed before recording it
        try:
            outcome = answer if isinstance(answer, RequestFailed) else self._batches.read(answer, request)
        except RequestFailed as failure:
            outcome = failure
        response = make_response(request, 0, outcome, 1, now())
        if response.error is None:
            self._live.answered.add_all(key, [sample])
        self._recorder.take([response])

    def _note(self, note: BatchNote) -> None:
        self._journal.write([note])


def _cell(own: str) -> tuple[str, int]:
    key, _, sample = own.rpartition("_")
    return key, int(sample) if sample.isdecimal() and len(sample) < 12 else -1
