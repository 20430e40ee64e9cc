"""`markscheme report --plots DIR`: the plots of some runs, one figure per question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.errors import UsageError, os_reason
from markscheme.reporting import plots
from markscheme.reporting.estimates import Estimate, estimate
from markscheme.reporting.settings import legend
from markscheme.reporting.summary import Summary
from markscheme.runs.folder import Run
from markscheme.statistics import Counts, accuracy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from markscheme.reporting.token_limits import TokenLimits

MOST_LINES = 12  # runs in one figure


def write_plots(
    runs: Sequence[Run], summaries: Sequence[Summary], folder: Path, form: str, most: int = MOST_LINES
) -> tuple[list[Path], list[str]]:
    """Write every plot for which there is data; return the files, and notes on runs that were left out.

    If runs of several benchmarks do not fit into one figure, each benchmark gets its own.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {folder} for the plots: {os_reason(error)}") from None
    pairs = list(zip(runs, summaries, strict=True))
    benchmarks = list(dict.fromkeys(summary.benchmark for summary in summaries))
    parts = {"": pairs}
    if len(pairs) > most and len(benchmarks) > 1:
        parts = {f"-{name}": [pair for pair in pairs if pair[1].benchmark == name] for name in benchmarks}
    files, left_out = [], []
    for tail, part in parts.items():
        best = sorted(part, key=lambda pair: -(pair[1].accuracy.value or 0))[:most]
        shown = f"the best {most} of {len(part)} runs" if len(best) < len(part) else ""
        if shown:
            left_out.append(f"the plots{tail and f' of {tail[1:]}'} show {shown}")
        kept = [pair for pair in part if pair in best]
        for name, figure in _figures([run for run, _ in kept], [summary for _, summary in kept]):
            file = folder / f"{name}{tail.replace('/', '-')}.{form}"
            if shown:
                plots.add_foot(figure, shown)
            plots.save(figure, file)
            files.append(file)
    return files, left_out


def limits_figure(limits: Sequence[TokenLimits], summaries: Sequence[Summary]) -> Figure:
    """Plot accuracy against the token limit, one line per run."""
    title, names = _names(summaries)
    curves = {
        name: {row.limit: row.figures["accuracy"] for row in each.rows}
        for name, each in zip(names, limits, strict=True)
    }
    return plots.curve(curves, summaries, title, "token limit", "accuracy (%)")


def _figures(runs: Sequence[Run], summaries: Sequence[Summary]) -> Iterator[tuple[str, Figure]]:
    """Yield pass@k, accuracy against tokens, solve rates per problem, and verdicts."""
    (title, names), counts = _names(summaries), _counts(runs, summaries)
    if any(int(each.n.max(initial=1)) > 1 for each in counts):
        yield "pass-at-k", pass_at_k_figure(runs, summaries)
    points = {
        name: (summary.usage.completion_tokens / max(1, summary.responses), summary.accuracy)
        for name, summary in zip(names, summaries, strict=True)
        if summary.usage is not None and summary.usage.completion_tokens and summary.accuracy.value is not None
    }
    if points:
        yield "accuracy-tokens", plots.accuracy_against_tokens(points, summaries, title)
    rates = {}
    for name, run, each in zip(names, runs, counts, strict=True):
        ids = dict(zip(run.snapshot().keys, run.snapshot().ids, strict=True))
        solved = zip(each.keys, accuracy(each.n, each.c).tolist(), strict=True)
        rates[name] = {ids[key]: rate for key, rate in solved if rate == rate}
    yield "solve-rates", plots.solve_rates(rates, summaries, title)
    if len(runs) > 1:
        counted = {name: each.verdicts for name, each in zip(names, summaries, strict=True)}
        yield "verdicts", plots.verdict_shares(counted, summaries, title)
    elif verdicts := [mark.verdict for mark in runs[0].snapshot().marks(summaries[0].protocol)]:
        yield "verdicts", plots.verdicts_over_time(verdicts, summaries[0])


def pass_at_k_figure(runs: Sequence[Run], summaries: Sequence[Summary]) -> Figure:
    """Plot pass@k against k, one line per run."""
    title, names = _names(summaries)
    return plots.curve(dict(zip(names, map(_curve, _counts(runs, summaries)), strict=True)), summaries, title)


def _counts(runs: Sequence[Run], summaries: Sequence[Summary]) -> list[Counts]:
    return [run.snapshot().counts(summary.protocol) for run, summary in zip(runs, summaries, strict=True)]


def _curve(counts: Counts) -> dict[int, Estimate]:
    """Return pass@k at powers of two up to the number of samples, and at that number."""
    most = int(counts.n.max(initial=1))
    ks = sorted({2**power for power in range(most.bit_length())} | {most})
    return {k: estimate(f"pass@{k}", counts) for k in ks if k <= most}


def _names(summaries: Sequence[Summary]) -> tuple[str, list[str]]:
    return legend(summaries, [summary.run for summary in summaries])
