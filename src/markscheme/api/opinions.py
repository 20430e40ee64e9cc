"""Opinions beside opinions: every protocol on the same responses, graders on labelled ones, a judge, people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.api.frames import Columns, Frames, Rows
from markscheme.api.notebook import html_table
from markscheme.api.run import Answer, Run
from markscheme.errors import UsageError
from markscheme.reporting.summary import Estimate
from markscheme.runs.adjudications import Label, Said, content_of, draw_order, labels_journal, read_labels
from markscheme.types import Verdict

if TYPE_CHECKING:
    from collections import Counter

    from matplotlib.figure import Figure

    from markscheme.marking.bulk import audit as audits
    from markscheme.marking.bulk.graders import ErrorRate, GraderTable
    from markscheme.running.judges import Judged


class Audit(Frames):
    """The same responses under every protocol: how much of the score is the grader."""

    def __init__(self, audit: audits.Audit) -> None:
        self.audit = audit

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

    def columns(self) -> Columns:
        """The type of each column."""
        return {"protocol": str, "score": float, "low": float, "high": float} | {
            str(verdict): int for verdict in Verdict
        }

    def plot(self) -> Figure:
        """The score under each protocol with its interval."""
        from markscheme.reporting.plots import forest

        rows = {each.protocol: Estimate(each.score, each.low, each.high) for each in self.audit.scores}
        return forest(rows, [], f"score on {self.audit.benchmark} (%), 95 % interval", differences=False)

    def __repr__(self) -> str:
        audit = self.audit
        lines = [f"{audit.benchmark}: {audit.responses} responses; the protocols differ on {audit.differing}"]
        lines += [f"  {row['protocol']:24} {_bounds(row)}" for row in self.rows()]
        return "\n".join([*lines, *self._left_out()])

    def _repr_html_(self) -> str:
        rows = [
            {
                "protocol": each.protocol,
                "score": Estimate(each.score, each.low, each.high),
                "verdicts": ", ".join(f"{count} {verdict}" for verdict, count in each.verdicts.items()),
            }
            for each in self.audit.scores
        ]
        title = f"{self.audit.benchmark}: the protocols differ on {self.audit.differing} of {self.audit.responses} responses"
        return html_table(rows, title, self._left_out())

    def _left_out(self) -> list[str]:
        return [f"{name} is left out: {why}" for name, why in self.audit.left_out.items()]


def _bounds(row: dict[str, Any]) -> str:
    if row["score"] is None:
        return "–"
    return f"{100 * row['score']:.1f} [{100 * row['low']:.1f}, {100 * row['high']:.1f}]"


class Graders(Frames):
    """What every protocol and judge gets wrong on responses that people have labelled."""

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

    def columns(self) -> Columns:
        """The type of each column."""
        rates = [f"{name}{part}" for name in ERRORS for part in ("", "_low", "_high")]
        return {"grader": str, "judged": int, **dict.fromkeys(rates, float), "undecided": int}

    def plot(self) -> Figure:
        """Both kinds of error of each grader, with their intervals."""
        from markscheme.reporting.plots import forest

        rows = {
            f"{row['grader']}: {name.replace('_', ' ')}s": Estimate(row[name], row[f"{name}_low"], row[f"{name}_high"])
            for row in self.rows()
            for name in ERRORS
        }
        return forest(rows, [], "errors (%), 95 % interval", differences=False)

    def __repr__(self) -> str:
        lines = [f"{self.table.source}: {self.table.right} right and {self.table.wrong} wrong responses"]
        for row in self.rows():
            shown = ", ".join(f"{row[name]:.1%} {name.replace('_', ' ')}s" for name in ERRORS if row[name] is not None)
            lines.append(f"  {row['grader']:26} {shown}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            {"grader": row["grader"], "judged": row["judged"]}
            | {
                f"{name.replace('_', ' ')}s": Estimate(row[name], row[f"{name}_low"], row[f"{name}_high"])
                for name in ERRORS
            }
            for row in self.rows()
        ]
        return html_table(rows, repr(self).partition("\n")[0])


ERRORS = ("false_positive", "false_negative")


def _error(name: str, rate: ErrorRate) -> dict[str, Any]:
    return {name: rate.rate, f"{name}_low": rate.low, f"{name}_high": rate.high}


class Opinions(Frames):
    """What a judge says of the responses of a run, or of a file of labelled ones, that it was asked about."""

    def __init__(self, judged: Judged, about: Run | Path) -> None:
        self._about, self._judged = about, judged
        self.run = Run(judged.run.path, judged.run.manifest)
        """The judge's own run: every word of it."""
        self.label, self.asked, self.nothing_to_show = judged.label, judged.asked, judged.nothing_to_show
        self.verdicts: Counter[Verdict] = judged.verdicts

    @property
    def protocol(self) -> str:
        """Under this name its opinions stand beside the marks of the run: `run.report(protocol=…)`."""
        return self.label.partition("@")[0]

    @property
    def missing(self) -> int:
        """Replies that did not come; the same call asks for them."""
        return self.run.snapshot().missing

    def rows(self) -> Rows:
        """One record a judged response: what the marker says and what the judge says."""
        if isinstance(self._about, Path):
            raise UsageError(
                f"of a file, ms.benchmark_the_graders({str(self._about)!r}) has the judge beside the labels"
            )
        own = {(each.response.key, each.response.sample): each.mark for each in self._about.answers()}
        rows = []
        for answer in self._about.answers(self.protocol):
            if answer.mark is None:
                continue
            mark = own[answer.response.key, answer.response.sample]
            rows.append(
                {"key": answer.response.key, "sample": answer.response.sample, "problem_id": answer.problem.id}
                | {"marked": str(mark.verdict) if mark else None, "judged": str(answer.mark.verdict)}
                | {"why": answer.mark.why, "text": answer.response.text}
            )
        return rows

    def columns(self) -> Columns:
        """The type of each column."""
        return {name: int if name == "sample" else str for name in JUDGED_COLUMNS}

    def __repr__(self) -> str:
        right, wrong = self.verdicts[Verdict.CORRECT], self.verdicts[Verdict.WRONG]
        open_ones = self.asked - right - wrong
        lines = [f"{self.protocol}: {self.asked} responses judged, {right} right, {wrong} wrong, {open_ones} undecided"]
        if self.nothing_to_show:
            lines.append(f"{self.nothing_to_show} responses hold nothing that this template could show a judge")
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


JUDGED_COLUMNS = ("key", "sample", "problem_id", "marked", "judged", "why", "text")


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

    def label(self, answer: Answer, said: Said) -> None:
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
