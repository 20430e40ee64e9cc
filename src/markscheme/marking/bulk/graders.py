"""Measure how often graders are wrong: the false positives and negatives of every protocol on labelled responses.

A label says whether the final answer is right, as a careful person sees it. A false positive is a wrong answer called
right, a false negative a right answer not called right. Rates are shares of the wrong and of the right responses.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec

from markscheme.datasets.stored import rows
from markscheme.errors import DataError, command, needed
from markscheme.marking.bulk.audit import applicable_protocols
from markscheme.marking.bulk.outputs import Matcher, response_of
from markscheme.marking.marker import as_gold, judge_many
from markscheme.marking.protocol import get_protocol
from markscheme.marking.reading.reader import final_answer
from markscheme.marking.reading.sections import THINK_END
from markscheme.marking.reading.sections import read as read_sections
from markscheme.marking.reading.values import VALUE
from markscheme.pages.frames import Columns, Result, Rows
from markscheme.pages.parts import Drawn, Part
from markscheme.runs.adjudications import consensus, read_labels
from markscheme.runs.columns import UNMARKED, VERDICTS
from markscheme.runs.folder import Run
from markscheme.runs.lines import decode_or_none
from markscheme.types import CountdownGold, Gold, Mark, Problem, Response, Verdict

AMBIGUOUS = "AMBIGUOUS"  # in the `note` of a row: careful people disagree, so it is left out
# Error rates of a grader with their titles.
ERRORS = {"false_positive": "false positives", "false_negative": "false negatives"}
OPINIONS = "opinions.jsonl"  # a judge's marks of a file's responses, by `content_key`


class Labelled(NamedTuple):
    response: Response
    problem: Problem
    right: bool
    opinions: Mapping[str, Verdict] = {}  # verdicts of judges, by protocol


class ErrorRate(msgspec.Struct, frozen=True):
    """A rate with a 95 % interval that treats responses as independent."""

    errors: int
    of: int
    rate: float | None
    low: float
    high: float

    def drawn(self) -> Drawn:
        """Return the rate as a cell of a page."""
        if self.rate is None:
            return Drawn.of("–", None, None, None)
        span = f"{100 * self.rate:.1f} % [{100 * self.low:.1f}, {100 * self.high:.1f}]"
        return Drawn.of(f"{span}  {self.errors} of {self.of}", self.rate, self.low, self.high)


class GraderErrors(msgspec.Struct, frozen=True):
    false_positive: ErrorRate
    false_negative: ErrorRate


class Grader(msgspec.Struct, frozen=True, kw_only=True):
    protocol: str
    responses: int  # those whose gold it can read, or that the judge was asked about
    undecided: int  # of these, `unmarkable`; a right one counts as a false negative
    overall: GraderErrors
    by_gold: dict[str, GraderErrors]
    by_form: dict[str, GraderErrors]


class Graders(Result, msgspec.Struct, frozen=True, kw_only=True):
    """The errors of every protocol and judge on responses that people have labelled."""

    _COLUMNS: ClassVar[Columns] = {
        **{"grader": str, "judged": int},
        **dict.fromkeys((f"{name}{part}" for name in ERRORS for part in ("", "_low", "_high")), float),
        "undecided": int,
    }

    source: str
    right: int
    wrong: int
    left_out: int  # rows that are ambiguous or have no label
    graders: list[Grader]

    @property
    def best_first(self) -> list[Grader]:
        """Return the graders by the mean of both rates, which does not depend on how many responses are right."""
        return sorted(
            self.graders,
            key=lambda each: (each.overall.false_positive.rate or 0) + (each.overall.false_negative.rate or 0),
        )

    def rows(self) -> Rows:
        """Return one record per grader, the best first."""
        rows = []
        for each in self.best_first:
            rates = (getattr(each.overall, name) for name in ERRORS)
            bounds = [value for rate in rates for value in (rate.rate, rate.low, rate.high)]
            values = (each.protocol, each.responses, *bounds, each.undecided)
            rows.append(dict(zip(self._COLUMNS, values, strict=True)))
        return rows

    def plot(self) -> Any:
        """Plot both error rates of each grader with their intervals."""
        forest = needed("markscheme.reporting.plots", "plots").forest
        rates = {
            f"{each.protocol}: {title}": getattr(each.overall, name)
            for each in self.best_first
            for name, title in ERRORS.items()
        }
        return forest(
            {name: rate.drawn() for name, rate in rates.items()}, [], "errors (%), 95 % interval", differences=False
        )

    def page(self) -> Iterator[Part]:
        """Yield the error rates, then the errors by kind of gold and form of answer."""
        left_out = f", {self.left_out} without a label left out" if self.left_out else ""
        yield Part("title", f"{self.source}: {self.right} right and {self.wrong} wrong responses{left_out}")
        yield Part("text", "Wrong responses called right, and right ones not called right, with 95 % intervals:")
        yield Part("table", [
            {"grader": f"{number} {each.protocol}", "judged": str(each.responses)}
            | {title: getattr(each.overall, name).drawn() for name, title in ERRORS.items()}
            | {"undecided": str(each.undecided)}
            for number, each in enumerate(self.best_first, start=1)
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
        for each in self.best_first:
            for name, errors in by(each).items():
                sizes[name] = max(sizes[name], errors.false_positive.of + errors.false_negative.of)
        return [
            {title: name, "responses": str(sizes[name])}
            | {str(number): _both(by(each).get(name)) for number, each in enumerate(self.best_first, start=1)}
            for name in sorted(sizes, key=lambda name: (-sizes[name], name))
        ]


def _both(errors: GraderErrors | None) -> str:
    return "–" if errors is None else f"{errors.false_positive.errors}+{errors.false_negative.errors}"


def opinions_folder(file: Path) -> Path:
    return file.with_name(f"{file.name}.judges")


def content_key(problem: Problem, text: str) -> str:
    return hashlib.sha256(msgspec.json.encode([problem.key, text])).hexdigest()


def labelled(source: Path) -> Iterator[Labelled | None]:
    """Yield the labelled responses of a file, or of a run that people have judged; `None` for each one left out."""
    return labelled_run(Run.open(source)) if (source / "manifest.json").exists() else labelled_file(source)


def labelled_file(file: Path) -> Iterator[Labelled | None]:
    """Read JSON lines with `response`, `gold` and `correct`, or with the other names of outputs."""
    opinions = _opinions(file)
    match = Matcher()
    for number, _, row in rows(file):
        label = _label(row)
        if label is None:
            yield None
            continue
        problem, texts = match(row, str(file), f"line {number}")
        assert problem is not None
        for text in texts:
            response = response_of(row, text, problem, number)
            yield Labelled(response, problem, label, opinions.get(content_key(problem, response.text), {}))


def _opinions(labelled: Path) -> dict[str, dict[str, Verdict]]:
    opinions: dict[str, dict[str, Verdict]] = {}
    for file in sorted(opinions_folder(labelled).glob(f"*/{OPINIONS}")):
        for line in file.read_bytes().splitlines():
            if (mark := decode_or_none(line, Mark)) is not None:
                opinions.setdefault(mark.key, {})[mark.protocol] = mark.verdict
    return opinions


def labelled_run(run: Run) -> Iterator[Labelled | None]:
    """Yield the responses of a run that people have judged, with the verdicts of its judges."""
    snapshot = run.snapshot()
    judges = [name for name in snapshot.protocols if name.startswith("judge:")]
    for (key, sample), people in read_labels(snapshot).items():
        row, question = snapshot.row(key, sample), snapshot.question(snapshot.numbers[key])
        response = snapshot.response(row) if row is not None else None
        label = consensus(people)
        if label == "unsure" or row is None or question is None or response is None:
            yield None
            continue
        given = {snapshot.label_of(name): int(snapshot.verdict(name)[row]) for name in judges}
        opinions = {name: VERDICTS[code] for name, code in given.items() if code != UNMARKED}
        yield Labelled(response, question.problem, label == "right", opinions)


def _label(row: Mapping[str, Any]) -> bool | None:
    if AMBIGUOUS in str(row.get("note", "")):
        return None
    label = row.get("correct")
    if label is None and row.get("verdict") is not None and row.get("protocol", "math") in ("math", "countdown"):
        label = row["verdict"] == "correct"  # a marking case: a verdict of that protocol
    return bool(label) if isinstance(label, bool | int) else None


def grade_graders(labelled: Iterable[Labelled | None], source: str, protocols: Sequence[str] | None = None) -> Graders:
    """Judge every labelled response under every protocol that can read its gold, and count the errors."""
    known: dict[Gold, list[str]] = {}
    given = list(labelled)
    cases = [each for each in given if each is not None]
    for each in cases:
        if each.problem.gold not in known:
            can = applicable_protocols(each.problem.gold)
            known[each.problem.gold] = [name for name in can if protocols is None or name in protocols]
    if not cases:
        raise DataError(
            f"{source} holds no labelled response: each line of a file needs `response`, `gold` and `correct`, and a run "
            f"labels from {command('adjudicate', 'RUN')}."
        )
    jobs = (
        (rule, each.response, as_gold(each.problem.gold, rule), THINK_END, each.problem)
        for each in cases
        for rule in map(get_protocol, known[each.problem.gold])
    )
    marks = judge_many(jobs)
    by_grader: dict[str, list[_Graded]] = {}
    for each in cases:
        opinions = {(mark := next(marks)).protocol: mark.verdict for _ in known[each.problem.gold]}
        answer = final_answer(read_sections(each.response.text, problem=each.problem), VALUE)
        kind, form = kind_of_gold(each.problem.gold), answer.rule if answer is not None else "none"
        opinions |= {name: each.opinions[name] for name in each.opinions if name not in opinions}
        for name, verdict in opinions.items():
            if verdict is not Verdict.ERROR:
                by_grader.setdefault(name, []).append(_Graded(kind, form, each.right, verdict))
    return Graders(
        source=source,
        right=sum(each.right for each in cases),
        wrong=sum(not each.right for each in cases),
        left_out=len(given) - len(cases),
        graders=[
            Grader(
                protocol=name,
                responses=len(graded),
                undecided=sum(each.verdict is Verdict.UNMARKABLE for each in graded),
                overall=_errors(graded),
                by_gold=_errors_by("gold", graded),
                by_form=_errors_by("form", graded),
            )
            for name, graded in by_grader.items()
        ],
    )


class _Graded(NamedTuple):
    gold: str  # its kind
    form: str  # how the answer was stated
    right: bool
    verdict: Verdict


def _errors(graded: Sequence[_Graded]) -> GraderErrors:
    def rate(label: bool) -> ErrorRate:
        called_right = [each.verdict is Verdict.CORRECT for each in graded if each.right is label]
        return error_rate(called_right.count(not label), len(called_right))

    return GraderErrors(rate(False), rate(True))


def _errors_by(field: str, graded: Sequence[_Graded]) -> dict[str, GraderErrors]:
    groups: dict[str, list[_Graded]] = {}
    for each in graded:
        groups.setdefault(getattr(each, field), []).append(each)
    return {name: _errors(groups[name]) for name in sorted(groups)}


def error_rate(errors: int, of: int) -> ErrorRate:
    """Return the rate with its interval, which is [0, 1] if there are no responses."""
    from markscheme.statistics.quantiles import share_bounds

    if not of:
        return ErrorRate(0, 0, None, 0.0, 1.0)
    return ErrorRate(errors, of, errors / of, *share_bounds(errors / of, of, 0.95))


_KINDS = {
    "Scalar": "expression", "Text": "words", "Choice": "choice", "Based": "base", "Clock": "time or ratio",
    "Sequence": "tuple or interval", "Collection": "list", "RealSet": "interval", "Relation": "equation",
    "Matrix": "matrix",
}  # fmt: skip


_NUMBERS = {int: "integer", Fraction: "number"}


def kind_of_gold(gold: Gold) -> str:
    """Return the kind of a gold: `integer`, `number`, `expression`, `list` …"""
    from markscheme.marking.equality.algebra.exact import TooBig, Undefined, Unreadable, fresh_effort
    from markscheme.marking.equality.kinds import Scalar
    from markscheme.marking.equality.read.parsing import read

    if isinstance(gold, CountdownGold):
        return "puzzle"
    fresh_effort()
    try:
        parsed = read(gold)
    except (TooBig, RecursionError, Unreadable, Undefined):
        return "unreadable"
    if isinstance(parsed, Scalar) and isinstance(parsed.value, int | Fraction):
        return "number with a unit" if parsed.unit or parsed.percent else _NUMBERS[type(parsed.value)]
    return _KINDS.get(type(parsed).__name__, "other")
