"""The plots of some runs, written to a folder: what `markscheme report --plots DIR` makes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.errors import UsageError
from markscheme.reporting import plots
from markscheme.reporting.estimates import Estimate, estimate
from markscheme.reporting.summary import Summary
from markscheme.runs.folder import Run
from markscheme.statistics import Counts, accuracy

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_plots(runs: Sequence[Run], summaries: Sequence[Summary], folder: Path, form: str) -> list[Path]:
    """Every plot that these runs have the data for; returns the files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {folder} for the plots: {error.strerror}") from None
    files = []

    def keep(name: str, figure: Figure) -> None:
        file = folder / f"{name}.{form}"
        plots.save(figure, file)
        files.append(file)

    names, counts = _names(summaries), _counts(runs, summaries)
    if any(int(each.n.max(initial=1)) > 1 for each in counts):
        keep("pass-at-k", pass_at_k_figure(runs, summaries))
    points = {
        name: (summary.usage.completion_tokens / max(1, summary.responses), summary.accuracy)
        for name, summary in zip(names, summaries, strict=True)
        if summary.usage is not None and summary.usage.completion_tokens and summary.accuracy.value is not None
    }
    if points:
        keep("accuracy-tokens", plots.accuracy_against_tokens(points, summaries))
    for name, run, summary, each in zip(names, runs, summaries, counts, strict=True):
        tail = "" if len(runs) == 1 else f"-{name.replace('/', '-').replace(' ', '')}"
        snapshot = run.snapshot()
        ids = dict(zip(snapshot.keys, snapshot.ids, strict=True))
        rates = {ids[key]: float(rate) for key, rate in zip(each.keys, accuracy(each.n, each.c), strict=True)}
        keep(
            f"solve-rates{tail}", plots.solve_rates({key: rate for key, rate in rates.items() if rate == rate}, summary)
        )
        verdicts = [mark.verdict for mark in snapshot.marks(summary.protocol)]
        if verdicts:
            keep(f"verdicts{tail}", plots.verdicts_over_time(verdicts, summary))
    return files


def pass_at_k_figure(runs: Sequence[Run], summaries: Sequence[Summary]) -> Figure:
    """pass@k against k, one line a run."""
    curves = zip(_names(summaries), map(_curve, _counts(runs, summaries)), strict=True)
    return plots.pass_at_k_curve(dict(curves), summaries)


def _counts(runs: Sequence[Run], summaries: Sequence[Summary]) -> list[Counts]:
    return [run.snapshot().counts(summary.protocol) for run, summary in zip(runs, summaries, strict=True)]


def _curve(counts: Counts) -> dict[int, Estimate]:
    """pass@k at the powers of two up to the samples there are, and at that number itself."""
    most = int(counts.n.max(initial=1))
    ks = sorted({2**power for power in range(most.bit_length())} | {most})
    return {k: estimate(f"pass@{k}", counts) for k in ks if k <= most}


def _names(summaries: Sequence[Summary]) -> Sequence[str]:
    """Short names that still tell the runs apart."""
    return plots.distinct(
        [summary.model for summary in summaries],
        [f"{summary.model} · {summary.benchmark}" for summary in summaries],
        [Path(summary.run).name for summary in summaries],
    )
