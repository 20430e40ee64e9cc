"""What a conversation adds to a report: tool calls and their failures, and how answers changed when doubted."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import numpy.typing as npt

from markscheme.reporting.estimates import Estimate, as_estimate
from markscheme.runs.columns import Mask
from markscheme.runs.snapshot import Snapshot
from markscheme.statistics import Counts, Population, from_correct, interval
from markscheme.types import Verdict


class Tools(msgspec.Struct, frozen=True, kw_only=True):
    """How tools were used."""

    calls: float  # per response
    used: Estimate  # share of responses with a call
    failed: Estimate  # share of responses in which a call failed
    tokens: int | None  # approximate tokens that tools added to the prompts; `null` if the server does not count
    cut_off: Estimate  # share of responses that used up their turns with a call
    where: dict[str, str] = {}  # the sandbox of each tool


class Doubted(msgspec.Struct, frozen=True, kw_only=True):
    """How answers changed when the user asked again."""

    answers: dict[str, Estimate]  # accuracy of the first answer, of the second …
    right_at_once: Estimate  # share of responses whose first and last answers are right
    mended: Estimate  # only the last is right
    spoiled: Estimate  # only the first was right


def tools_of(snapshot: Snapshot, counts: Counts, population: Population) -> Tools | None:
    """Return how tools were used, or None for a run without tools."""
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
    """Return how answers changed, or None for a run of single turns."""
    if not snapshot.rows["turns"].any():
        return None
    marks = [mark for mark in snapshot.marks(label) if mark.earlier]
    if not marks:
        return None
    where = np.array([snapshot.numbers[mark.key] for mark in marks])
    usual = max(len(mark.earlier) for mark in marks)
    # A resumed run may have marks of another version, with another number of answers.
    whole = [len(mark.earlier) == usual for mark in marks]
    verdicts = [(*mark.earlier, mark.verdict) for mark, kept in zip(marks, whole, strict=True) if kept]
    right = np.array([[one is Verdict.CORRECT for one in row] for row in verdicts])
    where = where[whole]
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


def _share(counts: Counts, n: npt.ArrayLike, c: npt.ArrayLike, population: Population) -> Estimate:
    made = replace(from_correct(n, c, counts.keys), clusters=counts.clusters, whole=counts.whole)
    return msgspec.structs.replace(as_estimate(interval("accuracy", made, population=population)), undefined=0)


def tool_line(tools: Tools) -> str:
    """Return `tools: 2.3 calls per response, …`."""
    parts = [f"{tools.calls:.1f} calls per response", f"{_percent(tools.used)} of responses call"]
    parts.append(f"{_percent(tools.failed)} have a tool error")
    if tools.tokens is not None:
        parts.append(f"about {tools.tokens:,} tokens of results")
    parts.append(f"{_percent(tools.cut_off)} were cut off by --max-turns")
    named = ", ".join(f"{name} in {where}" for name, where in tools.where.items())
    return f"tools{f' ({named})' if named else ''}: {', '.join(parts)}"


def doubt_line(doubted: Doubted) -> str:
    """Return the accuracy of each answer and how often it changed."""
    accuracies = ", then ".join(_percent(each) for each in doubted.answers.values())
    return (
        f"accuracy of successive answers: {accuracies}; first and last right {_percent(doubted.right_at_once)}, "
        f"only the last {_percent(doubted.mended)}, only the first {_percent(doubted.spoiled)}"
    )


def _percent(estimate: Estimate) -> str:
    return "–" if estimate.value is None else f"{100 * estimate.value:.1f} %"
