"""Mark the same responses under several protocols and report where they differ.

Responses are streamed. Only a limited number of those on which the protocols differ is kept.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec.structs import replace

from markscheme.errors import MarkingError, counted, needed
from markscheme.marking.marker import as_gold, judge_many
from markscheme.marking.protocol import Protocol, get_protocol, protocol_names
from markscheme.marking.reading.sections import THINK_END
from markscheme.pages.frames import Columns, Result, Rows
from markscheme.pages.parts import Drawn, Part, one_line, share
from markscheme.pages.terminal import gold_line
from markscheme.types import CountdownGold, Gold, Mark, Problem, Response, Verdict

if TYPE_CHECKING:
    from markscheme.statistics import Interval

TAIL = 400  # characters kept from the end of a differing response, which usually has the answer


class Score(msgspec.Struct, frozen=True, kw_only=True):
    protocol: str  # "name@version"
    score: float | None  # mean over problems of the share of correct responses; null if nothing could be scored
    low: float | None
    high: float | None
    verdicts: dict[str, int]
    flags: dict[str, int] = {}  # flags of the marks: "refusal", "empty reply", "rounded"

    def drawn(self) -> Drawn:
        """Return the score as a cell of a page."""
        return Drawn.of(share(self.score), self.score, self.low, self.high)


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    problem: str
    sample: int
    gold: Gold
    ending: str
    marks: dict[str, Mark]  # by protocol name

    @classmethod
    def of(cls, response: Response, problem: Problem, marks: dict[str, Mark]) -> Difference:
        ending = response.text[-TAIL:]
        return cls(problem=problem.id, sample=response.sample, gold=problem.gold, ending=ending, marks=marks)


class Pattern(msgspec.Struct, frozen=True, kw_only=True):
    """How often exactly these protocols, and no others, called a response correct."""

    right: list[str]
    responses: int


class Audit(Result, msgspec.Struct, frozen=True, kw_only=True):
    """The score of the same responses under every protocol, and the responses on which these differ."""

    _COLUMNS: ClassVar[Columns] = {
        "protocol": str,
        **dict.fromkeys(("score", "low", "high"), float),
        **dict.fromkeys(map(str, Verdict), int),
    }

    benchmark: str
    responses: int
    problems: int
    errors: int  # failed requests, which no protocol judges
    scores: list[Score]
    disagreements: dict[str, dict[str, int]]  # number of responses that two protocols judge differently
    differing: int
    patterns: list[Pattern]  # of the differing responses, the most frequent first
    differences: list[Difference]  # examples of every pattern in turn
    left_out: dict[str, str] = {}  # protocols that cannot read these golds, and why
    unmatched: int = 0  # outputs of a file that match no problem of the benchmark, which are left out

    def rows(self) -> Rows:
        """Return one record per protocol."""
        return [
            {"protocol": each.protocol, "score": each.score, "low": each.low, "high": each.high}
            | {str(verdict): each.verdicts.get(verdict, 0) for verdict in Verdict}
            for each in self.scores
        ]

    def plot(self) -> Any:
        """Plot the score under each protocol with its interval."""
        forest = needed("markscheme.reporting.plots", "plots").forest
        rows = {each.protocol: each.drawn() for each in self.scores}
        return forest(rows, [], f"score on {self.benchmark} (%), 95 % interval", differences=False)

    def page(self) -> Iterator[Part]:
        """Yield the scores, how often each two protocols disagree, and examples."""
        asked = f"{counted(self.responses, 'response')} to {counted(self.problems, 'problem')}"
        never = f", {counted(self.errors, 'failed request')}" if self.errors else ""
        yield Part("title", f"{self.benchmark}: {asked}{never}")
        yield Part("text", self._range())
        yield Part("text", self._left_out())
        yield Part("table", score_rows(self.scores))
        names = list(self.disagreements)
        if self.differing:
            yield Part("text", "Number of responses on which two protocols disagree:")
            yield Part("table", [
                {"": f"{number} {name}"}
                | {str(at): "" if name == b else str(self.disagreements[name][b]) for at, b in enumerate(names, 1)}
                for number, name in enumerate(names, 1)
            ])  # fmt: skip
        for each in self.differences:
            yield Part("heading", f"{each.problem}, sample {each.sample}, gold {gold_line(each.gold)}")
            yield Part("quote", each.ending)
            yield Part("table", [
                {"protocol": name, "verdict": str(mark.verdict), "answer": one_line(mark.answer or "")[:80]}
                | {"why": f"{mark.why} ({', '.join(mark.flags)})" if mark.flags else mark.why}
                for name, mark in each.marks.items()
            ])  # fmt: skip

    def _range(self) -> str:
        """Return a sentence on how much of the score depends on the protocol."""
        scores = sorted((each.score, each.protocol) for each in self.scores if each.score is not None)
        if len(scores) < 2:
            return ""
        (low, lowest), (high, highest) = scores[0], scores[-1]
        return (
            f"From {share(low)} ({lowest}) to {share(high)} ({highest}): {100 * (high - low):.1f} points depend on the "
            f"protocol. The protocols differ on {self.differing} of {counted(self.responses, 'response')}."
        )

    def _left_out(self) -> str:
        """Return the protocols that were not compared, grouped by reason."""
        reasons: dict[str, list[str]] = {}
        for name, why in self.left_out.items():
            reasons.setdefault(why, []).append(name)
        return " ".join(f"Left out: {', '.join(names)} ({why})." for why, names in reasons.items())


def score_rows(scores: list[Score]) -> list[dict[str, str]]:
    """Return one row per protocol: the score, its interval, the verdicts."""
    return [
        {
            "protocol": each.protocol,
            "score": each.drawn(),
            "95 % interval": f"{share(each.low)} to {share(each.high)}",
            "verdicts": ", ".join(f"{count} {verdict}" for verdict, count in each.verdicts.items()),
        }
        for each in scores
    ]


def applicable_protocols(gold: Gold) -> list[str]:
    """Return the names of the installed protocols that can read this gold."""
    return [rule.name for rule in _installed(gold) if _reads(rule, gold)]


def _installed(gold: Gold) -> list[Protocol]:
    puzzle = isinstance(gold, CountdownGold)
    rules = [get_protocol(name) for name in protocol_names()]
    return [rule for rule in rules if (rule.gold == "countdown") == puzzle and rule.available()]


def _reads(rule: Protocol, gold: Gold) -> bool:
    from markscheme.marking.protocols.numeric import gold_number

    return rule.gold != "number" or (isinstance(gold, str) and gold_number(gold) is not None)


def audit(
    pairs: Iterable[tuple[Response, Problem]],
    protocols: Sequence[str] | None = None,
    *,
    benchmark: str = "",
    keep: int = 50,
    workers: int | None = None,
    think_end: str = THINK_END,
) -> Audit:
    """Judge every response under every protocol and keep at most `keep` differing responses."""
    pairs = iter(pairs)
    first = next(pairs, None)
    if first is None:
        raise MarkingError("there are no responses to audit.")
    rules = [get_protocol(name) for name in protocols] if protocols else _installed(first[1].gold)
    counts = _AuditCounts(rules, keep)
    for response, problem, marks in judged(itertools.chain([first], pairs), rules, workers, think_end):
        if not protocols and problem.key not in counts.keys:
            counts.note_unread(problem)
        counts.add(response, problem, marks)
    return counts.audit(benchmark)


Right = tuple[str, ...]  # the protocols that call a response correct


class _AuditCounts:
    def __init__(self, rules: Sequence[Protocol], keep: int) -> None:
        self.rules, self.keep = rules, keep
        self.tallies: dict[str, Counter[tuple[str, Verdict]]] = {rule.name: Counter() for rule in rules}
        self.flags: dict[str, Counter[str]] = {rule.name: Counter() for rule in rules}
        self.patterns: Counter[Right] = Counter()
        self.examples: defaultdict[Right, list[Difference]] = defaultdict(list)
        self.unread: defaultdict[str, dict[str, Gold]] = defaultdict(dict)  # by protocol and problem
        self.keys: set[str] = set()
        self.responses = self.errors = 0

    def note_unread(self, problem: Problem) -> None:
        for rule in self.rules:
            if not _reads(rule, problem.gold):
                self.unread[rule.name][problem.key] = problem.gold

    def add(self, response: Response, problem: Problem, marks: dict[str, Mark]) -> None:
        self.responses += 1
        self.keys.add(problem.key)
        self.errors += marks[self.rules[0].name].verdict is Verdict.ERROR
        for name, mark in marks.items():
            self.tallies[name][problem.key, mark.verdict] += 1
            self.flags[name].update(mark.flags)
        right = tuple(name for name, mark in marks.items() if mark.correct)
        if 0 < len(right) < len(marks):
            self.patterns[right] += 1
            if self.patterns[right] <= self.keep:
                self.examples[right].append(Difference.of(response, problem, marks))

    def audit(self, benchmark: str) -> Audit:
        rules = [rule for rule in self.rules if rule.name not in self.unread]
        names = [rule.name for rule in rules]
        patterns, examples = self._among(names)
        by_count = patterns.most_common()
        in_turn = itertools.zip_longest(*(examples[right] for right, _ in by_count))

        def apart(one: str, other: str) -> int:
            return sum(count for right, count in by_count if (one in right) != (other in right))

        return Audit(
            benchmark=benchmark,
            responses=self.responses,
            problems=len(self.keys),
            errors=self.errors,
            scores=[score(rule.label, self.tallies[rule.name], self.flags[rule.name]) for rule in rules],
            disagreements={one: {other: apart(one, other) for other in names if other != one} for one in names},
            differing=patterns.total(),
            patterns=[Pattern(right=list(right), responses=count) for right, count in by_count],
            differences=[each for turn in in_turn for each in turn if each is not None][: self.keep],
            left_out={
                name: f"{len(golds)} of {len(self.keys)} golds are not numbers, such as {str(next(iter(golds.values())))[:40]!r}"
                for name, golds in self.unread.items()
            },
        )

    def _among(self, names: Sequence[str]) -> tuple[Counter[Right], dict[Right, list[Difference]]]:
        """Return patterns and examples without the left-out protocols, and without responses on which the others agree."""
        patterns: Counter[Right] = Counter()
        examples: defaultdict[Right, list[Difference]] = defaultdict(list)
        for pattern, count in self.patterns.items():
            right = tuple(name for name in pattern if name in names)
            if 0 < len(right) < len(names):
                patterns[right] += count
                for each in self.examples[pattern]:
                    examples[right].append(replace(each, marks={name: each.marks[name] for name in names}))
        return patterns, examples


def score(label: str, responses: Counter[tuple[str, Verdict]], flags: Counter[str] | None = None) -> Score:
    """Return the mean over problems with its interval and verdicts; `responses` counts (problem key, verdict)."""
    from markscheme.statistics import interval, tally

    counts = tally(responses)
    return score_of(label, interval("accuracy", counts), counts.totals(), flags or Counter())


def score_of(label: str, accuracy: Interval, verdicts: dict[str, int], flags: Counter[str] | None = None) -> Score:
    known = not math.isnan(accuracy.estimate)
    estimate, low, high = (accuracy.estimate, accuracy.low, accuracy.high) if known else (None, None, None)
    return Score(
        protocol=label,
        score=estimate,
        low=low,
        high=high,
        verdicts=verdicts,
        flags=dict((flags or Counter()).most_common()),
    )


def judged(
    pairs: Iterator[tuple[Response, Problem]], rules: Sequence[Protocol], workers: int | None, think_end: str
) -> Iterator[tuple[Response, Problem, dict[str, Mark]]]:
    """Yield each pair with its marks. The pairs are read ahead only as far as marking needs them."""
    ours, theirs = itertools.tee(pairs)
    jobs = (
        (rule, response, as_gold(problem.gold, rule), think_end, problem)
        for response, problem in theirs
        for rule in rules
    )
    marks = judge_many(jobs, workers)
    for response, problem in ours:
        yield response, problem, {rule.name: next(marks) for rule in rules}
