"""Opinions beside opinions: every protocol on the same responses, graders on labelled ones, a judge, people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from markscheme.api.frames import Columns, Frames, Result, Rows
from markscheme.api.notebook import html_table
from markscheme.api.run import Answer, Run
from markscheme.errors import UsageError
from markscheme.reporting.estimates import Estimate
from markscheme.runs.adjudications import Label, Opinion, content_of, draw_order, labels_journal, read_labels
from markscheme.types import Verdict

if TYPE_CHECKING:
    from collections import Counter

    from matplotlib.figure import Figure

    from markscheme.marking.bulk import audit as audits
    from markscheme.marking.bulk.graders import ErrorRate, GraderTable
    from markscheme.running.judges import Judged


ERRORS = ("false_positive", "false_negative")


class Audit(Result):
    """The same responses under every protocol: how much of the score is the grader."""

    _COLUMNS: ClassVar[Columns] = {
        "protocol": str,
        **dict.fromkeys(("score", "low", "high"), float),
        **dict.fromkeys(map(str, Verdict), int),
    }

    def __init__(self, audit: audits.Audit, unmatched: int = 0) -> None:
        self.audit, self.unmatched = audit, unmatched
        """Outputs of a file that answer no problem of the benchmark are left out: how many."""

    @property
    def differences(self) -> list[audits.Difference]:
        """Responses on which the protocols part, examples of every pattern in turn."""
        return self.audit.differences

    def rows(self) -> Rows:
        """One record a protocol."""
        return [
            {"protocol": each.protocol, "score": each.score, "low": each.low, "high": each.high}
            | {str(verdict): each.verdicts.get(verdict, 0) for verdict in Verdict}
            for each in self.audit.scores
        ]

    def plot(self) -> Figure:
        """The score under each protocol with its interval."""
        from markscheme.reporting.plots import forest

        rows = {row["protocol"]: row["score"] for row in self._shown()}
        return forest(rows, [], f"score on {self.audit.benchmark} (%), 95 % interval", differences=False)

    def _title(self) -> str:
        audit = self.audit
        return f"{audit.benchmark}: the protocols differ on {audit.differing} of {audit.responses} responses"

    def _shown(self) -> Rows:
        return [
            {
                "protocol": each.protocol,
                "score": Estimate(each.score, each.low, each.high),
                "verdicts": ", ".join(f"{count} {verdict}" for verdict, count in each.verdicts.items()),
            }
            for each in self.audit.scores
        ]

    def _notes(self) -> list[str]:
        unmatched = [f"{self.unmatched} outputs match no problem of {self.audit.benchmark}"] * bool(self.unmatched)
        return [*unmatched, *(f"{name} is left out: {why}" for name, why in self.audit.left_out.items())]


class Graders(Result):
    """What every protocol and judge gets wrong on responses that people have labelled."""

    _COLUMNS: ClassVar[Columns] = {
        **{"grader": str, "judged": int},
        **dict.fromkeys((f"{name}{part}" for name in ERRORS for part in ("", "_low", "_high")), float),
        "undecided": int,
    }

    def __init__(self, table: GraderTable) -> None:
        self.table = table

    def rows(self) -> Rows:
        """One record a grader, the best first."""
        rows = [
            {
                "grader": each.protocol,
                "judged": each.responses,
                **_error("false_positive", each.overall.false_positive),
                **_error("false_negative", each.overall.false_negative),
                "undecided": each.undecided,
            }
            for each in self.table.graders
        ]
        return sorted(rows, key=lambda row: (row["false_positive"] or 0) + (row["false_negative"] or 0))

    def plot(self) -> Figure:
        """Both kinds of error of each grader, with their intervals."""
        from markscheme.reporting.plots import forest

        rows = {f"{row['grader']}: {name}": row[name] for row in self._shown() for name in list(row)[2:]}
        return forest(rows, [], "errors (%), 95 % interval", differences=False)

    def _title(self) -> str:
        return f"{self.table.source}: {self.table.right} right and {self.table.wrong} wrong responses"

    def _shown(self) -> Rows:
        return [
            {"grader": row["grader"], "judged": row["judged"]}
            | {
                f"{name.replace('_', ' ')}s": Estimate(row[name], row[f"{name}_low"], row[f"{name}_high"])
                for name in ERRORS
            }
            for row in self.rows()
        ]


def _error(name: str, rate: ErrorRate) -> dict[str, Any]:
    return {name: rate.rate, f"{name}_low": rate.low, f"{name}_high": rate.high}


class Opinions(Frames):
    """What a judge says of the responses of a run, or of a file of labelled ones, that it was asked about."""

    _COLUMNS: ClassVar[Columns] = {
        "key": str,
        "sample": int,
        **dict.fromkeys(("problem_id", "marked", "judged", "why", "text"), str),
    }

    def __init__(self, judged: Judged, about: Run | Path) -> None:
        self._about, self._judged = about, judged
        self.run = Run(judged.run.path, judged.run.manifest)
        """The judge's own run: every word of it."""
        self.label, self.asked, self.nothing_to_show = judged.label, judged.asked, judged.nothing_to_show
        self.verdicts: Counter[Verdict] = judged.verdicts

    @property
    def protocol(self) -> str:
        """The name under which its opinions stand beside the marks of the run: `run.report(protocol=…)`."""
        return self.label.partition("@")[0]

    @property
    def missing(self) -> int:
        """Replies that did not come; the same call asks for them."""
        return self.run.snapshot().missing

    @property
    def counts(self) -> dict[str, int]:
        """How many it calls right and wrong, and on how many it is undecided."""
        right, wrong = self.verdicts[Verdict.CORRECT], self.verdicts[Verdict.WRONG]
        return {"correct": right, "wrong": wrong, "undecided": self.asked - right - wrong}

    @property
    def lines(self) -> list[str]:
        """The counts in words, a sentence each."""
        right, wrong, undecided = self.counts.values()
        counts = f"{self.protocol}: {self.asked} responses judged, {right} right, {wrong} wrong, {undecided} undecided"
        empty = f"{self.nothing_to_show} responses hold nothing that this template could show a judge"
        return [counts, *[empty] * bool(self.nothing_to_show)]

    def rows(self) -> Rows:
        """One record a judged response: what the marker says and what the judge says."""
        if isinstance(self._about, Path):
            raise UsageError(
                f"of a file, ms.benchmark_the_graders({str(self._about)!r}) has the judge beside the labels"
            )
        own = {(each.response.key, each.response.sample): each.mark for each in self._about.answers()}
        rows = []
        for answer in self._about.answers(self.protocol):
            if answer.mark is None or answer.response.error is not None:
                continue
            mark = own[answer.response.key, answer.response.sample]
            rows.append(
                {"key": answer.response.key, "sample": answer.response.sample, "problem_id": answer.problem.id}
                | {"marked": str(mark.verdict) if mark else None, "judged": str(answer.mark.verdict)}
                | {"why": answer.mark.why, "text": answer.response.text}
            )
        return rows

    def __repr__(self) -> str:
        lines = self.lines
        if self.missing:
            lines.append(f"{self.missing} replies are missing; the same call asks for them")
        if isinstance(self._about, Path):
            return "\n".join([*lines, f"ms.benchmark_the_graders({str(self._about)!r}) says how wrong it is"])
        settled = f"{self._about.manifest.protocol.partition('@')[0]}+{self.protocol}"
        return "\n".join([*lines, f"run.report(protocol={settled!r}) lets it settle what the marker left open"])

    def _repr_html_(self) -> str | None:
        if isinstance(self._about, Path):
            return None
        counts: dict[tuple[str, str], int] = {}
        for row in self.rows():
            pair = (row["marked"] or "not marked", row["judged"])
            counts[pair] = counts.get(pair, 0) + 1
        rows = [{"marked": pair[0], "judged": pair[1], "responses": count} for pair, count in sorted(counts.items())]
        head, *notes = repr(self).splitlines()
        return html_table(rows, head, notes)


class Adjudication:
    """A run's responses in a random order, without the marker's verdict, for a person to say what is right.

    `for answer in ms.adjudicate(run, who="me"): …` goes through those that this person has not judged; `label` keeps an
    opinion at once. The report of the run then says how wrong the marker is, and the accuracy corrected for it.
    """

    def __init__(self, run: Run, who: str, seed: int = 0, limit: int | None = None) -> None:
        self._run, self.who, self._limit = run, who, limit
        labels_journal(run.path, who)  # refuses a name that no file can have
        self._order = draw_order(run.snapshot(), seed)
        if not self._order:
            raise UsageError(f"{run.path} has no marked response to judge")

    def __iter__(self) -> Iterator[Answer]:
        """Those that wait, the next first."""
        labels = read_labels(self._run.snapshot())
        waiting = [each for each in self._order if self.who not in labels.get((each.key, each.sample), ())]
        for drawn in waiting[: self._limit]:
            yield self._run.answer(drawn.key, drawn.sample, marked=False)

    def label(self, answer: Answer, said: Opinion) -> None:
        """Keep what this person says of a response: `right`, `wrong` or `unsure`. Said again, the last counts."""
        if said not in ("right", "wrong", "unsure"):
            raise UsageError(f"a response is right, wrong or unsure, not {said!r}")
        response, now = answer.response, datetime.now(UTC).isoformat(timespec="seconds")
        with labels_journal(self._run.path, self.who) as journal:
            journal.write([Label(response.key, response.sample, content_of(response), said, self.who, now)])

    def __len__(self) -> int:
        """How many wait."""
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        from markscheme.reporting.adjudicated import worth

        snapshot = self._run.snapshot()
        return worth(snapshot, self._run.manifest.protocol.partition("@")[0])
