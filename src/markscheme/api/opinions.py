"""`Audit`, `Graders`, `Opinions` and `Adjudication`: the verdicts of protocols, judges and people on the same
responses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from markscheme.api.frames import Columns, Frames, Result, Rows
from markscheme.api.notebook import html_table
from markscheme.api.run import Answer, Run
from markscheme.errors import UsageError
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.terminal import counted
from markscheme.runs.adjudications import Label, Opinion, content_of, draw_order, labels_journal, read_labels
from markscheme.types import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from markscheme.marking.bulk import audit as audits
    from markscheme.marking.bulk.graders import GraderTable
    from markscheme.running.judges import Judged

ERRORS = ("false_positive", "false_negative")


class Audit(Result):
    """The score of the same responses under every protocol."""

    _COLUMNS: ClassVar[Columns] = {
        "protocol": str,
        **dict.fromkeys(("score", "low", "high"), float),
        **dict.fromkeys(map(str, Verdict), int),
    }

    def __init__(self, audit: audits.Audit, unmatched: int = 0) -> None:
        self.audit, self.unmatched = audit, unmatched
        """The number of outputs in a file that match no problem of the benchmark, which are left out."""

    @property
    def differences(self) -> list[audits.Difference]:
        """Return the responses on which the protocols disagree, with examples of every pattern."""
        return self.audit.differences

    def rows(self) -> Rows:
        """Return one record per protocol."""
        return [
            {"protocol": each.protocol, "score": each.score, "low": each.low, "high": each.high}
            | {str(verdict): each.verdicts.get(verdict, 0) for verdict in Verdict}
            for each in self.audit.scores
        ]

    def plot(self) -> Figure:
        """Plot the score under each protocol with its interval."""
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
    """The errors of every protocol and judge on responses that people have labelled."""

    _COLUMNS: ClassVar[Columns] = {
        **{"grader": str, "judged": int},
        **dict.fromkeys((f"{name}{part}" for name in ERRORS for part in ("", "_low", "_high")), float),
        "undecided": int,
    }

    def __init__(self, table: GraderTable) -> None:
        self.table = table

    def rows(self) -> Rows:
        """Return one record per grader, the best first."""
        rows = []
        for each in self.table.graders:
            rates = (getattr(each.overall, name) for name in ERRORS)
            bounds = [value for rate in rates for value in (rate.rate, rate.low, rate.high)]
            values = (each.protocol, each.responses, *bounds, each.undecided)
            rows.append(dict(zip(self._COLUMNS, values, strict=True)))
        return sorted(rows, key=lambda row: sum(row[name] or 0 for name in ERRORS))

    def plot(self) -> Figure:
        """Plot both error rates of each grader with their intervals."""
        from markscheme.reporting.plots import forest

        rows = {f"{row['grader']}: {name}": row[name] for row in self._shown() for name in list(row)[2:]}
        return forest(rows, [], "errors (%), 95 % interval", differences=False)

    def _title(self) -> str:
        return f"{self.table.source}: {self.table.right} right and {self.table.wrong} wrong responses"

    def _shown(self) -> Rows:
        return [
            {"grader": row["grader"], "judged": row["judged"]}
            | {f"{n.replace('_', ' ')}s": Estimate(row[n], row[f"{n}_low"], row[f"{n}_high"]) for n in ERRORS}
            for row in self.rows()
        ]


class Opinions(Frames):
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

    @property
    def lines(self) -> list[str]:
        """The counts in words."""
        right, wrong, undecided = self.counts.values()
        judged = counted(self.asked, "response")
        counts = f"{self.protocol}: {judged} judged, {right} right, {wrong} wrong, {undecided} undecided"
        empty = f"{counted(self.nothing_to_show, 'response')} without anything that this template could show a judge"
        return [counts, *[empty] * bool(self.nothing_to_show)]

    def rows(self) -> Rows:
        """Return one record per judged response with the marker's and the judge's verdict."""
        if isinstance(self._about, Path):
            raise UsageError(f"for a file, use ms.benchmark_the_graders({str(self._about)!r})")
        own = {(each.response.key, each.response.sample): each.mark for each in self._about.answers()}
        rows = []
        for answer in self._about.answers(self.protocol):
            response = answer.response
            if answer.mark is not None and response.error is None:
                mark = own[response.key, response.sample]
                marked, judged = str(mark.verdict) if mark else None, str(answer.mark.verdict)
                values = (
                    response.key,
                    response.sample,
                    answer.problem.id,
                    marked,
                    judged,
                    answer.mark.why,
                    response.text,
                )
                rows.append(dict(zip(self._COLUMNS, values, strict=True)))
        return rows

    def __repr__(self) -> str:
        lines = self.lines
        if self.missing:
            lines.append(f"replies missing: {self.missing}; the same call asks for them")
        if isinstance(self._about, Path):
            return "\n".join([*lines, f"ms.benchmark_the_graders({str(self._about)!r}) measures its errors"])
        settled = f"{self._about.manifest.protocol.partition('@')[0]}+{self.protocol}"
        return "\n".join([*lines, f"run.report(protocol={settled!r}) lets it settle what the marker left open"])

    def _repr_html_(self) -> str | None:
        if isinstance(self._about, Path):
            return None
        counts = Counter((row["marked"] or "not marked", row["judged"]) for row in self.rows())
        rows = [{"marked": pair[0], "judged": pair[1], "responses": count} for pair, count in sorted(counts.items())]
        head, *notes = repr(self).splitlines()
        return html_table(rows, head, notes)


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
