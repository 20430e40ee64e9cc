"""What conversations add to a report: how often tools were called and failed, and what became of an answer that was doubted."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import numpy.typing as npt

from markscheme.reporting.estimates import Estimate, as_estimate
from markscheme.runs.columns import Mask
from markscheme.runs.snapshot import Snapshot
from markscheme.statistics import Counts, Population, from_correct, interval
from markscheme.types import Mark, Verdict


class Tools(msgspec.Struct, frozen=True, kw_only=True):
    """How tools were used."""

    calls: float  # per response
    used: Estimate  # the share of responses with a call
    failed: Estimate  # the share of responses in which a call failed
    tokens: int | None  # that tools added to the prompts, about; `null` where the server does not count
    cut_off: Estimate  # the share of responses that still called when their turns were used up
    where: dict[str, str] = {}  # the sandbox of each tool


class Doubted(msgspec.Struct, frozen=True, kw_only=True):
    """What became of answers after which the user went on."""

    answers: dict[str, Estimate]  # The accuracy of the first answer, of the second …
    right_at_once: Estimate  # the share of responses whose first and last answers are right
    mended: Estimate  # only the last is
    spoiled: Estimate  # only the first was


def tools_of(snapshot: Snapshot, counts: Counts, population: Population) -> Tools | None:
    """Of a run whose model had tools."""
    manifest, rows = snapshot.manifest, snapshot.rows
    answered = ~snapshot.failed
    if manifest is None or not answered.any() or not (manifest.tools or rows["calls"].any()):
        return None
    tokens = rows["tool_tokens"][answered & (rows["calls"] > 0)]

    def of_each(chosen: Mask) -> npt.NDArray[np.int64]:
        return np.bincount(snapshot.problem[chosen], minlength=len(counts.keys))

    def share(chosen: Mask) -> Estimate:
        return _share(counts, of_each(answered), of_each(answered & chosen), population)

    return Tools(
        calls=round(float(rows["calls"][answered].mean()), 4),
        used=share(rows["calls"] > 0),
        failed=share(rows["tool_errors"] > 0),
        tokens=int(tokens.sum()) if (tokens >= 0).all() else None,
        cut_off=share(rows["cut"] > 0),
        where=manifest.tools,
    )


def doubted_of(snapshot: Snapshot, label: str, counts: Counts, population: Population) -> Doubted | None:
    """Of a run whose user went on after the answer."""
    if not snapshot.rows["turns"].any():
        return None
    marks = [mark for mark in snapshot.marks(label) if mark.earlier]
    if not marks:
        return None
    number = {key: place for place, key in enumerate(counts.keys)}
    where = np.array([number[mark.key] for mark in marks])
    right = np.array([[one is Verdict.CORRECT for one in _all(mark)] for mark in _whole(marks)])
    where = where[[len(mark.earlier) == len(right[0]) - 1 for mark in marks]]
    asked = np.bincount(where, minlength=len(counts.keys))

    def share(chosen: npt.NDArray[np.bool_]) -> Estimate:
        return _share(counts, asked, np.bincount(where[chosen], minlength=len(counts.keys)), population)

    first, last = right[:, 0], right[:, -1]
    return Doubted(
        answers={str(turn + 1): share(right[:, turn]) for turn in range(right.shape[1])},
        right_at_once=share(first & last),
        mended=share(~first & last),
        spoiled=share(first & ~last),
    )


def _all(mark: Mark) -> tuple[Verdict, ...]:
    return (*mark.earlier, mark.verdict)


def _whole(marks: list[Mark]) -> list[Mark]:
    """Those with as many answers as most have: a resumed run may have others, marked by another version."""
    usual = max(len(mark.earlier) for mark in marks)
    return [mark for mark in marks if len(mark.earlier) == usual]


def _share(counts: Counts, n: npt.ArrayLike, c: npt.ArrayLike, population: Population) -> Estimate:
    made = replace(from_correct(n, c, counts.keys), clusters=counts.clusters, whole=counts.whole)
    return msgspec.structs.replace(as_estimate(interval("accuracy", made, population=population)), undefined=0)


def tool_line(tools: Tools) -> str:
    """`tools: 2.3 calls per response, …`, for people."""
    parts = [f"{tools.calls:.1f} calls per response", f"{_percent(tools.used)} of responses call"]
    parts.append(f"{_percent(tools.failed)} have a tool error")
    if tools.tokens is not None:
        parts.append(f"about {tools.tokens:,} tokens of results")
    parts.append(f"{_percent(tools.cut_off)} were cut off by --max-turns")
    named = ", ".join(f"{name} in {where}" for name, where in tools.where.items())
    return f"tools{f' ({named})' if named else ''}: {', '.join(parts)}"


def doubt_line(doubted: Doubted) -> str:
    """What became of the answers, for people."""
    accuracies = ", then ".join(_percent(each) for each in doubted.answers.values())
    return (
        f"answers one after the other: {accuracies} right; right at once and at the end {_percent(doubted.right_at_once)}, "
        f"mended {_percent(doubted.mended)}, spoiled {_percent(doubted.spoiled)}"
    )


def _percent(estimate: Estimate) -> str:
    return "–" if estimate.value is None else f"{100 * estimate.value:.1f} %"
