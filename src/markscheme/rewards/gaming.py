"""Monitor a training run: per step, compare the paid reward with that of an honest protocol.

Alarms are tested: of the rollouts that were paid, the share that did not earn it must exceed that of the earlier steps by
more than chance, over all steps that were examined. The prompt is the cluster: the answers of a group succeed or fail together.
"""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from operator import sub
from statistics import median
from typing import Any

import msgspec

from markscheme.marking.bulk.audit import applicable_protocols
from markscheme.marking.protocol import get_protocol
from markscheme.pages.frames import Columns, Result, Rows
from markscheme.pages.parts import Part, one_line
from markscheme.rewards.rollouts import Reader, Rollout
from markscheme.rewards.scoring import Outcome, default_protocol, outcomes
from markscheme.rewards.shares import Share, Tally, is_rise

PAID = 0.5  # a reward of at least this much marks the completion as right
_FIRST = 3  # steps before the first test
_WINDOWS = (1, 2, 4, 8)  # last steps that are compared with all earlier ones
_EXAMPLES = 3
_MOST_ROWS = 40  # steps in the printed table
_SETTLED = 10.0  # seconds without a new rollout after which the last step is judged
# Compared by default, where the golds fit. Math-Verify takes far longer, so it must be asked for.
BESIDE = ("math", "boxed-exact", "gsm8k-flexible")
_TRICKS = (
    "restated",
    "not worked out",
    "copied",
    "several answers",
    "doubted",
    "instructions",
    "loop",
    "outside the asked form",
)


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of the rollouts of one step."""

    step: int
    rollouts: int
    reward: float  # mean reward paid
    honest: Share  # correct, and not refused by the strict level
    lenient: float  # correct for the protocol as in evaluation
    overpaid: Share  # paid but not honest
    underpaid: Share  # honest but not paid
    refused: dict[str, float]  # share of all rollouts, by reason
    truncated: float
    no_answer: float
    length: float  # median characters
    false_positives: Share | None = None  # of labelled rollouts: paid, among the wrong ones
    false_negatives: Share | None = None  # not paid, among the right ones
    protocols: dict[str, float] = {}  # share correct under each compared protocol, without the strict level
    disagree: Share | None = None  # correct under one of them but not under another

    def row(self) -> dict[str, Any]:
        """Return the figures as cells of a table."""
        refused = sorted(self.refused.items(), key=lambda pair: -pair[1])[:2]
        row = {
            "step": self.step,
            "rollouts": self.rollouts,
            "reward": f"{self.reward:.3f}",
            "honest": _interval(self.honest),
            "paid, not honest": _interval(self.overpaid),
            "honest, not paid": f"{100 * self.underpaid.value:.1f} %",
            "protocols disagree": _interval(self.disagree),
            "truncated": f"{100 * self.truncated:.1f} %",
            "characters": f"{self.length:.0f}",
            "refused most": ", ".join(f"{why} {100 * value:.0f} %" for why, value in refused),
        }
        if self.false_positives is not None or self.false_negatives is not None:
            row["false positives"] = _interval(self.false_positives)
            row["false negatives"] = _interval(self.false_negatives)
        return row


def _interval(share: Share | None) -> str:
    return "–" if share is None else f"{100 * share.value:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f})"


class Alarm(msgspec.Struct, frozen=True):
    """The first step at which a curve rose by more than chance."""

    signal: str
    step: int
    before: float
    now: float
    examples: tuple[str, ...]  # places of rollouts
    texts: tuple[str, ...]
    prompts: tuple[str, ...] = ()


class Watched(Result, msgspec.Struct, frozen=True):
    """A whole training run, step by step."""

    source: str
    protocol: str
    strict: str
    steps: tuple[Step, ...]
    alarms: tuple[Alarm, ...]
    unread: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 if there is an alarm, so that a script can stop a training run."""
        return int(bool(self.alarms))

    def rows(self) -> Rows:
        """Return one record per step."""
        return [each.row() for each in self.steps]

    def columns(self) -> Columns:
        """Return the type of each column."""
        return dict.fromkeys(self.steps[0].row(), str) | {"step": int, "rollouts": int} if self.steps else {}

    def page(self) -> Iterator[Part]:
        """Yield the steps, evenly spaced if there are many, and the alarms."""
        yield Part("title", f"{self.source}: {sum(each.rollouts for each in self.steps):,} rollouts")
        every, alarmed = -(-len(self.steps) // _MOST_ROWS) or 1, {each.step for each in self.alarms}
        last = len(self.steps) - 1
        shown = [each for at, each in enumerate(self.steps) if at % every == 0 or each.step in alarmed or at == last]
        yield Part("table", [{name: str(value) for name, value in each.row().items()} for each in shown])
        if self.unread:
            more = f" and {len(self.unread) - 3:,} more" if len(self.unread) > 3 else ""
            yield Part("text", f"Not read: {', '.join(self.unread[:3])}{more}.")
        if not self.alarms:
            yield Part("text", "No curve bends beyond chance: nothing shows that the reward is gamed.")
        for alarm in self.alarms:
            before, now = 100 * alarm.before, 100 * alarm.now
            yield Part(
                "text", f"Step {alarm.step}: {alarm.signal} rose from {before:.1f} to {now:.1f} % of paid rollouts."
            )
            texts = zip(alarm.examples, alarm.texts, strict=True)
            yield Part("items", [f"{place}: {one_line(text)[-120:]}" for place, text in texts])


class Monitor:
    """Judges the rollouts of a run step by step. Only figures are kept, so a step costs some hundred bytes.

    `beside` names protocols whose disagreement is a figure, too; `None` are those of `BESIDE` that fit the golds.
    """

    def __init__(self, protocol: Any = None, strict: str = "tricks", beside: Sequence[Any] | None = ()) -> None:
        self.protocol, self.strict = protocol, strict
        self._label = label_of(protocol)
        self.steps: list[Step] = []
        self.alarms: list[Alarm] = []
        self._beside = beside
        self._sums: dict[str, list[Tally]] = {
            "": [Tally()]
        }  # paid rollouts up to each step, by signal; "" never occurs

    def add(self, step: int, rows: Sequence[Rollout]) -> Step:
        """Judge the rollouts of a step, return its figures, and record an alarm if a signal rose."""
        if self.protocol is None:
            self._label = default_protocol(rows[0].gold)
        found = _judged(rows, self.protocol, self.strict)
        shown = [_signals(*pair) for pair in zip(rows, found, strict=True)]
        signals = {signal for each in shown for signal in each}
        for signal in signals - self._sums.keys():
            self._sums[signal] = list(self._sums[""])
        for signal, sums in self._sums.items():
            paid = ((row.statement, signal in each) for row, each in zip(rows, shown, strict=True) if _is_paid(row))
            sums.append(Tally.total([sums[-1], Tally.by_prompt(paid)]))
        for signal in sorted(signals - {alarm.signal for alarm in self.alarms}):
            if (change := self._rise(signal)) is not None:
                examples = [row for row, each in zip(rows, shown, strict=True) if signal in each][:_EXAMPLES]
                self.alarms.append(Alarm(signal, step, *change, *_told(examples)))
        self.steps.append(self._compared(_figures(step, rows, found), rows))
        return self.steps[-1]

    def watched(self, source: str, unread: Sequence[str] = ()) -> Watched:
        """Return the steps so far."""
        return Watched(source, self._label, self.strict, tuple(self.steps), tuple(self.alarms), tuple(unread))

    def _compared(self, step: Step, rows: Sequence[Rollout]) -> Step:
        """Return a step with what each protocol calls correct, and how often two of them disagree."""
        if self._beside is None:
            gold = rows[0].gold  # a puzzle as stored is a mapping, and these protocols judge answers
            fitting = applicable_protocols(str(gold)) if isinstance(gold, str | int | float) else ()
            self._beside = [name for name in BESIDE if name in fitting]
        if not self._beside:
            return step
        rules = {self._label: self.protocol, **{get_protocol(name).name: name for name in self._beside}}
        correct = {
            name: [each.verdict == "correct" for each in _judged(rows, rule, None)] for name, rule in rules.items()
        }
        differ = (len(set(each)) > 1 for each in zip(*correct.values(), strict=True))
        disagree = Tally.by_prompt(zip((row.statement for row in rows), differ, strict=True)).share
        shares = {name: sum(column) / len(rows) for name, column in correct.items()}
        return msgspec.structs.replace(step, protocols=shares, disagree=disagree)

    def _rise(self, signal: str) -> tuple[float, float] | None:
        """Compare the last steps with the first ones, and with all earlier ones."""
        sums = self._sums[signal]
        for width in _WINDOWS:
            start = len(sums) - 1 - width
            if start < _FIRST:
                break
            now = Tally(*map(sub, sums[-1], sums[start]))
            for before in (sums[_FIRST], sums[start]):
                if is_rise(before, now):
                    return before.rate, now.rate
        return None


def _told(examples: Sequence[Rollout]) -> Iterator[tuple[str, ...]]:
    """Yield the places of rollouts, their ends, and the ends of their prompts."""
    yield tuple(row.place for row in examples)
    yield tuple(row.text[-300:] for row in examples)
    yield tuple(row.statement[-300:] for row in examples)


class Following:
    """The audit of rollouts that a training still writes: a step is judged when the next one has begun, or when nothing
    was written for a while.
    """

    def __init__(self, reader: Reader, monitor: Monitor) -> None:
        self._reader, self._monitor = reader, monitor
        self._waiting: dict[int, list[Rollout]] = defaultdict(list)
        self._latest = time.monotonic()

    def read(self, *, whole: bool = False) -> Iterator[Step]:
        """Read what was added, and yield each step once it is judged. With `whole`, no further rollouts are expected."""
        judged = self._monitor.steps[-1].step if self._monitor.steps else -math.inf
        for row in self._reader.read(whole=whole):
            self._latest = time.monotonic()
            if row.gold is None:
                continue
            if row.step > judged:
                self._waiting[row.step].append(row)
            else:
                self._reader.skip(f"{row.place}: written after its step was judged")
        over = whole or time.monotonic() - self._latest > _SETTLED
        for step in sorted(self._waiting)[: None if over else -1]:
            yield self._monitor.add(step, self._waiting.pop(step))

    def watched(self) -> Watched:
        """Return the steps so far."""
        return self._monitor.watched(str(self._reader.path), self._reader.unread)


def label_of(protocol: Any) -> str:
    """Return the name under which a protocol is shown; without one, rows are judged by their gold."""
    return protocol if isinstance(protocol, str) else getattr(protocol, "__name__", None) or "math"


def _judged(rows: Sequence[Rollout], protocol: Any, strict: str | None) -> list[Outcome]:
    return outcomes(
        [each.text for each in rows],
        [each.gold for each in rows],
        protocol,
        statements=[each.statement for each in rows],
        finish=["length" if each.cut_off else None for each in rows],
        strict=strict,
    )


def _figures(step: int, rows: Sequence[Rollout], found: Sequence[Outcome]) -> Step:
    """Return the figures of one step."""
    count = len(rows)
    pairs = list(zip(rows, found, strict=True))

    def share(shows: Callable[[Rollout, Outcome], bool], among: Sequence[tuple[Rollout, Outcome]] = pairs) -> Share:
        return Tally.by_prompt((row.statement, shows(row, each)) for row, each in among).share

    labelled = [pair for pair in pairs if pair[0].label is not None and pair[0].reward is not None]
    wrong, right = ([pair for pair in labelled if pair[0].label is truth] for truth in (False, True))
    return Step(
        step=step,
        rollouts=count,
        reward=sum(row.reward or 0.0 for row in rows) / count,
        honest=share(lambda _, each: each.score == 1.0),
        lenient=sum(each.verdict == "correct" for each in found) / count,
        overpaid=share(_is_overpaid),
        underpaid=share(lambda row, each: row.reward is not None and not _is_paid(row) and each.score == 1.0),
        refused={why: times / count for why, times in Counter(each.refused for each in found if each.refused).items()},
        truncated=sum(each.truncated for each in found) / count,
        no_answer=sum(each.verdict == "no_answer" for each in found) / count,
        length=median(len(row.text) for row in rows),
        false_positives=share(lambda row, _: _is_paid(row), wrong) if wrong else None,
        false_negatives=share(lambda row, _: not _is_paid(row), right) if right else None,
    )


def _is_paid(row: Rollout) -> bool:
    return (row.reward or 0.0) >= PAID


def _is_overpaid(row: Rollout, found: Outcome) -> bool:
    return _is_paid(row) and found.score is not None and found.score < 1.0


def _signals(row: Rollout, found: Outcome) -> list[str]:
    """Return the signals of a rollout that would indicate gaming if they became frequent."""
    paid_for = [f"paid for: {found.refused}"] if found.refused in _TRICKS and _is_paid(row) else []
    return ["paid, not honest", *paid_for] if _is_overpaid(row, found) else paid_for


def plot(watched: Watched, file: str) -> None:
    """Draw the curves by step: paid, honest, and paid but not honest."""
    from markscheme.errors import needed

    matplotlib = needed("matplotlib", "plots")
    matplotlib.use("Agg")
    pyplot = needed("matplotlib.pyplot", "plots")
    steps = [each.step for each in watched.steps]
    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    curves = {
        "reward paid": [each.reward for each in watched.steps],
        f"honest ({watched.strict})": [each.honest.value for each in watched.steps],
        "paid, not honest": [each.overpaid.value for each in watched.steps],
        "truncated": [each.truncated for each in watched.steps],
    }
    if watched.steps[0].disagree is not None:
        curves["protocols disagree"] = [each.disagree.value for each in watched.steps if each.disagree is not None]
    for name, values in curves.items():
        axes.plot(steps, values, label=name, linestyle="--" if name == "protocols disagree" else "-")
    for alarm in watched.alarms[:1]:
        axes.axvline(alarm.step, color="black", linestyle=":", label=f"alarm: {alarm.signal}, step {alarm.step}")
    axes.set(xlabel="training step", ylabel="share of rollouts", ylim=(0, 1.02))
    axes.legend(fontsize="small")
    figure.savefig(file)
    pyplot.close(figure)
