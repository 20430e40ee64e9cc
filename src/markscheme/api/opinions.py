"""`Opinions` and `Adjudication`: the verdicts of judges and people on the responses of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from markscheme.api.run import Answer, Run
from markscheme.errors import UsageError, command, counted
from markscheme.pages.frames import Columns, Result, Rows
from markscheme.pages.parts import Part
from markscheme.runs.adjudications import Label, Opinion, content_of, draw_order, labels_journal, read_labels
from markscheme.types import Verdict

if TYPE_CHECKING:
    from markscheme.running.judges import Judged


class Opinions(Result):
    """A judge's verdicts on responses of a run, or on a file of labelled responses."""

    _COLUMNS: ClassVar[Columns] = {
        "key": str,
        "sample": int,
        **dict.fromkeys(("problem_id", "marked", "judged", "why", "text"), str),
    }

    def __init__(self, judged: Judged, about: Run | Path) -> None:
        self._about = about
        self.run = Run(judged.run.path, judged.run.manifest)
        """The judge's own run with all its replies."""
        self.label, self.asked, self.nothing_to_show = judged.label, judged.asked, judged.nothing_to_show
        self.verdicts: Counter[Verdict] = judged.verdicts

    @property
    def protocol(self) -> str:
        """Return the name of its marks in the judged run: `run.report(protocol=…)`."""
        return self.label.partition("@")[0]

    @property
    def missing(self) -> int:
        """Return the number of missing replies; the same call asks for them."""
        return self.run.snapshot().missing

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of responses judged right, wrong and undecided."""
        right, wrong = self.verdicts[Verdict.CORRECT], self.verdicts[Verdict.WRONG]
        return {"correct": right, "wrong": wrong, "undecided": self.asked - right - wrong}

    def rows(self) -> Rows:
        """Return one record per judged response with the marker's and the judge's verdict."""
        if isinstance(self._about, Path):
            raise UsageError(f"for a file, use ms.benchmark_the_graders({str(self._about)!r})")
        own = {(each.response.key, each.response.sample): each.mark for each in self._about.answers()}
        return [
            {"key": response.key, "sample": response.sample, "problem_id": each.problem.id}
            | {"marked": str(mark.verdict) if (mark := own[response.key, response.sample]) else None}
            | {"judged": str(each.mark.verdict), "why": each.mark.why, "text": response.text}
            for each in self._about.answers(self.protocol)
            if each.mark is not None and (response := each.response).error is None
        ]

    def content(self) -> dict[str, Any]:
        """Return what `judge --json` prints."""
        usage = self.run.manifest.usage
        return (
            {"protocol": self.label, "run": str(self.run.path), "judged": self.asked, **self.counts}
            | {"nothing_to_show": self.nothing_to_show, "missing": self.missing}
            | {"cost": usage.cost if usage else None}
        )

    def page(self) -> Iterator[Part]:
        """Yield the counts, the marker's verdicts against the judge's, and how to use them."""
        right, wrong, undecided = self.counts.values()
        judged = counted(self.asked, "response")
        yield Part("text", f"{self.protocol}: {judged} judged, {right} right, {wrong} wrong, {undecided} undecided")
        if self.nothing_to_show:
            empty = counted(self.nothing_to_show, "response")
            yield Part("text", f"{empty} without anything that this template could show a judge")
        if not isinstance(self._about, Path):
            pairs = Counter((row["marked"] or "not marked", row["judged"]) for row in self.rows())
            counts = [{"marked": one, "judged": two, "responses": str(n)} for (one, two), n in sorted(pairs.items())]
            yield Part("table", counts)
        yield Part("text", f"the full replies are in {self.run.path}")
        if isinstance(self._about, Path):
            measure = command("audit --benchmark-the-graders", self._about)
            yield Part("text", f"{measure} measures how often it is wrong")
        else:
            settled = f"{self._about.manifest.protocol.partition('@')[0]}+{self.protocol}"
            report = command("report", self._about.path, protocol=settled)
            yield Part("text", f"{report} uses its verdict where the marker gave none")
        if self.missing:
            yield Part(
                "text", f"{counted(self.missing, 'reply', 'is')} missing; the same call asks for what is missing"
            )


class Adjudication:
    """A run's responses in random order, without the marker's verdict, for a person to judge.

    `for answer in ms.adjudicate(run, who="me"): …` yields those that this person has not judged yet; `label` saves an
    opinion at once. The report of the run then gives the marker's error rates and a corrected accuracy.
    """

    def __init__(self, run: Run, who: str, seed: int = 0, limit: int | None = None) -> None:
        self._run, self.who, self._limit = run, who, limit
        labels_journal(run.path, who)  # refuses a name that cannot be part of a file name
        self._order = draw_order(run.snapshot(), seed)
        if not self._order:
            raise UsageError(f"{run.path} has no marked response to judge")

    def __iter__(self) -> Iterator[Answer]:
        """Yield the responses that this person has not judged yet."""
        labels = read_labels(self._run.snapshot())
        waiting = [each for each in self._order if self.who not in labels.get((each.key, each.sample), ())]
        for drawn in waiting[: self._limit]:
            yield self._run.answer(drawn.key, drawn.sample, marked=False)

    def label(self, answer: Answer, said: Opinion) -> None:
        """Save this person's opinion of a response: `right`, `wrong` or `unsure`. The last one counts."""
        if said not in ("right", "wrong", "unsure"):
            raise UsageError(f"a response is right, wrong or unsure, not {said!r}")
        response, now = answer.response, datetime.now(UTC).isoformat(timespec="seconds")
        with labels_journal(self._run.path, self.who) as journal:
            journal.write([Label(response.key, response.sample, content_of(response), said, self.who, now)])

    def __len__(self) -> int:
        """Return the number of responses that are still to be judged."""
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        from markscheme.reporting.adjudicated import worth

        return worth(self._run.snapshot(), self._run.manifest.protocol.partition("@")[0])
