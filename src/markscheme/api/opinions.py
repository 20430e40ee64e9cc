"""`Audit`, `Graders`, `Opinions` and `Adjudication`: the verdicts of protocols, judges and people on the same
responses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from markscheme.api.run import Answer, Run
from markscheme.errors import UsageError, command, counted
from markscheme.pages.frames import Columns, Result, Rows
from markscheme.pages.parts import Drawn, Part, one_line, share
from markscheme.pages.terminal import gold_line
from markscheme.reporting.estimates import Estimate
from markscheme.runs.adjudications import Label, Opinion, content_of, draw_order, labels_journal, read_labels
from markscheme.types import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from markscheme.marking.bulk import audit as audits
    from markscheme.marking.bulk.graders import ErrorRate, Grader, GraderErrors, GraderTable
    from markscheme.running.judges import Judged

# Error rates of a grader with their titles.
ERRORS = {"false_positive": "false positives", "false_negative": "false negatives"}


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

    def content(self) -> audits.Audit:
        """Return what `audit --json` prints."""
        return self.audit

    def plot(self) -> Figure:
        """Plot the score under each protocol with its interval."""
        from markscheme.reporting.plots import forest

        rows = {each.protocol: Estimate(each.score, each.low, each.high) for each in self.audit.scores}
        return forest(rows, [], f"score on {self.audit.benchmark} (%), 95 % interval", differences=False)

    def page(self) -> Iterator[Part]:
        """Yield the scores, how often each two protocols disagree, and examples."""
        audit = self.audit
        asked = f"{counted(audit.responses, 'response')} to {counted(audit.problems, 'problem')}"
        never = f", {counted(audit.errors, 'failed request')}" if audit.errors else ""
        yield Part("title", f"{audit.benchmark}: {asked}{never}")
        yield Part("text", self._range())
        yield Part("text", self._left_out())
        yield Part("table", score_rows(audit.scores))
        names = list(audit.disagreements)
        if audit.differing:
            yield Part("text", "Number of responses on which two protocols disagree:")
            yield Part("table", [
                {"": f"{number} {name}"}
                | {str(at): "" if name == b else str(audit.disagreements[name][b]) for at, b in enumerate(names, 1)}
                for number, name in enumerate(names, 1)
            ])  # fmt: skip
        for each in audit.differences:
            yield Part("heading", f"{each.problem}, sample {each.sample}, gold {gold_line(each.gold)}")
            yield Part("quote", each.ending)
            yield Part("table", [
                {"protocol": name, "verdict": str(mark.verdict), "answer": one_line(mark.answer or "")[:80]}
                | {"why": f"{mark.why} ({', '.join(mark.flags)})" if mark.flags else mark.why}
                for name, mark in each.marks.items()
            ])  # fmt: skip

    def _range(self) -> str:
        """Return a sentence on how much of the score depends on the protocol."""
        scores = sorted((each.score, each.protocol) for each in self.audit.scores if each.score is not None)
        if len(scores) < 2:
            return ""
        (low, lowest), (high, highest) = scores[0], scores[-1]
        return (
            f"From {share(low)} ({lowest}) to {share(high)} ({highest}): {100 * (high - low):.1f} points depend on the "
            f"protocol. The protocols differ on {self.audit.differing} of {counted(self.audit.responses, 'response')}."
        )

    def _left_out(self) -> str:
        """Return the protocols that were not compared, grouped by reason."""
        reasons: dict[str, list[str]] = {}
        for name, why in self.audit.left_out.items():
            reasons.setdefault(why, []).append(name)
        return " ".join(f"Left out: {', '.join(names)} ({why})." for why, names in reasons.items())


def score_rows(scores: list[audits.Score]) -> list[dict[str, str]]:
    """Return one row per protocol: the score, its interval, the verdicts."""
    return [
        {
            "protocol": each.protocol,
            "score": Drawn.of(share(each.score), each.score, each.low, each.high),
            "95 % interval": f"{share(each.low)} to {share(each.high)}",
            "verdicts": ", ".join(f"{count} {verdict}" for verdict, count in each.verdicts.items()),
        }
        for each in scores
    ]


class Graders(Result):
    """The errors of every protocol and judge on responses that people have labelled, the best first."""

    _COLUMNS: ClassVar[Columns] = {
        **{"grader": str, "judged": int},
        **dict.fromkeys((f"{name}{part}" for name in ERRORS for part in ("", "_low", "_high")), float),
        "undecided": int,
    }

    def __init__(self, table: GraderTable) -> None:
        self.table, self._best_first = table, sorted(table.graders, key=_mean_error)

    def rows(self) -> Rows:
        """Return one record per grader, the best first."""
        rows = []
        for each in self._best_first:
            rates = (getattr(each.overall, name) for name in ERRORS)
            bounds = [value for rate in rates for value in (rate.rate, rate.low, rate.high)]
            values = (each.protocol, each.responses, *bounds, each.undecided)
            rows.append(dict(zip(self._COLUMNS, values, strict=True)))
        return rows

    def content(self) -> GraderTable:
        """Return what `audit --benchmark-the-graders --json` prints."""
        return self.table

    def plot(self) -> Figure:
        """Plot both error rates of each grader with their intervals."""
        from markscheme.reporting.plots import forest

        rates = {
            f"{each.protocol}: {title}": getattr(each.overall, name)
            for each in self._best_first
            for name, title in ERRORS.items()
        }
        rows = {name: Estimate(rate.rate, rate.low, rate.high) for name, rate in rates.items()}
        return forest(rows, [], "errors (%), 95 % interval", differences=False)

    def page(self) -> Iterator[Part]:
        """Yield the error rates, then the errors by kind of gold and form of answer."""
        table = self.table
        left_out = f", {table.left_out} without a label left out" if table.left_out else ""
        yield Part("title", f"{table.source}: {table.right} right and {table.wrong} wrong responses{left_out}")
        yield Part("text", "Wrong responses called right, and right ones not called right, with 95 % intervals:")
        yield Part("table", [
            {"grader": f"{number} {each.protocol}", "judged": str(each.responses)}
            | {title: _rate(getattr(each.overall, name)) for name, title in ERRORS.items()}
            | {"undecided": str(each.undecided)}
            for number, each in enumerate(self._best_first, start=1)
        ])  # fmt: skip
        splits: dict[str, Callable[[Grader], dict[str, GraderErrors]]] = {
            "kind of gold": lambda grader: grader.by_gold,
            "form of answer": lambda grader: grader.by_form,
        }
        for title, by in splits.items():
            yield Part("text", f"False positives + false negatives, by {title}:")
            yield Part("table", self._split(title, by))

    def _split(self, title: str, by: Callable[[Grader], dict[str, GraderErrors]]) -> list[dict[str, str]]:
        sizes: Counter[str] = Counter()
        for each in self._best_first:
            for name, errors in by(each).items():
                sizes[name] = max(sizes[name], errors.false_positive.of + errors.false_negative.of)
        return [
            {title: name, "responses": str(sizes[name])}
            | {str(number): _errors(by(each).get(name)) for number, each in enumerate(self._best_first, start=1)}
            for name in sorted(sizes, key=lambda name: (-sizes[name], name))
        ]


def _mean_error(grader: Grader) -> float:
    """Return the mean of both rates, which does not depend on how many responses are right."""
    return (grader.overall.false_positive.rate or 0) + (grader.overall.false_negative.rate or 0)


def _errors(errors: GraderErrors | None) -> str:
    return "–" if errors is None else f"{errors.false_positive.errors}+{errors.false_negative.errors}"


def _rate(rate: ErrorRate) -> str:
    if rate.rate is None:
        return "–"
    text = f"{100 * rate.rate:.1f} % [{100 * rate.low:.1f}, {100 * rate.high:.1f}]  {rate.errors} of {rate.of}"
    return Drawn.of(text, rate.rate, rate.low, rate.high)


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
