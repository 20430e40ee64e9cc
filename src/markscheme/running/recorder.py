"""Save what arrives, count it, then have it marked (`marker_process.py`).

Everything that arrives in one turn of the event loop is written with one system call. What the marker has no room for is
marked at the end, from the journal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from markscheme.errors import MarkschemeError
from markscheme.redaction import redacted
from markscheme.running.interrupts import Interrupts
from markscheme.running.live import Live
from markscheme.running.marker_process import Marker
from markscheme.runs.journal import Journal
from markscheme.types import Mark, Problem, Response, Verdict

MOMENT = 3.0  # seconds for marks in progress after an interrupt


class Recorder:
    """The sink of the scheduler."""

    def __init__(
        self, journal: Journal, marks: Journal | None, problems: Mapping[str, Problem], protocol: str, live: Live
    ) -> None:
        self._journal, self._marks, self._live = journal, marks, live
        self._problems = problems
        self._marker = Marker(protocol, self._keep)
        self._arrived: list[Response] = []
        self.server_model: str | None = None
        self.on_failure: Callable[[BaseException], None] = lambda _: None
        """Called when something cannot be saved, which ends the run."""

    def take(self, responses: list[Response]) -> None:
        """Save responses at the end of this turn of the event loop."""
        if not self._arrived:
            asyncio.get_running_loop().call_soon(self.flush)
        self._arrived += responses

    async def finish(self, interrupts: Interrupts) -> None:
        """Save everything and wait for its marks, after an interrupt only for a moment."""
        self.flush()
        with self._marker.obeying(interrupts, MOMENT):
            await self._marker.finish()

    def flush(self) -> None:
        """Save and count everything that has arrived, and hand it to the marker."""
        arrived, self._arrived = self._arrived, []
        if not arrived:
            return
        try:
            if self._journal.write(arrived):  # a mark quotes the answer and could cut a key in two
                arrived = [_as_kept(response) for response in arrived]
        except MarkschemeError as failure:
            self.on_failure(failure)
            return
        except BaseException as bug:
            self.on_failure(bug)  # an exception in a callback would go unnoticed
            raise
        for response in arrived:
            self._count(response)
            if self._marker.room:
                self._marker.add(response, self._problems[response.key])

    def _count(self, response: Response) -> None:
        if response.error is not None:
            self._live.errors += 1
            return
        self._live.done += 1
        self._live.tokens += response.completion_tokens or 0
        self._live.truncated += response.finish_reason == "length"
        self.server_model = self.server_model or response.model

    def _keep(self, marks: list[Mark]) -> None:
        try:
            if self._marks is not None and marks:
                self._marks.write(marks)
        except MarkschemeError as failure:
            self.on_failure(failure)
            raise
        for one in marks:
            if one.verdict is not Verdict.ERROR:
                self._live.scored(one.key, one.correct)


def _as_kept(response: Response) -> Response:
    return msgspec.json.decode(redacted(msgspec.json.encode(response)), type=Response)
