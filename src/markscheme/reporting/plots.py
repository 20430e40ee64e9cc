"""Plots for a paper: pass@k with its band, solve rate per problem, accuracy against tokens, verdicts over time.

Each returns a matplotlib figure with problems × samples, protocol and data at its foot. Colours are Okabe and Ito's
colour-blind safe palette, and never the only cue.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.errors import UsageError, needed, os_reason
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.summary import Summary
from markscheme.reporting.table import provenance
from markscheme.reporting.verdicts import LOOKS
from markscheme.types import Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from markscheme.statistics import Plan

INK, SOFT = "#222222", "#8a8a8a"
BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY = "#CC79A7", "#56B4E9"
MOST_BANDS = 3  # with more curves, bands cover each other
SERIES = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)


def save(figure: Figure, file: Path) -> None:
    """Write a figure; the suffix (`.png`, `.svg`, `.pdf`) sets the format."""
    try:
        figure.savefig(file, dpi=200)
    except ValueError as error:  # a suffix that matplotlib does not know
        raise UsageError(f"cannot write {file}: {error}") from None
    except OSError as error:
        raise UsageError(f"cannot write {file}: {os_reason(error)}") from None


def curve(
    curves: Mapping[str, Mapping[int, Estimate]],
    summaries: Sequence[Summary],
    title: str = "",
    across: str = "k",
    upwards: str = "pass@k (%)",
    doubling: bool = True,
) -> Figure:
    """Plot a figure against a number, one line per run, with its interval as a band, or whiskers for many runs."""
    figure, axes = _canvas(summaries, 6.4, 4.2, legend=len(curves))
    ks = sorted({k for points in curves.values() for k in points})
    banded = len(curves) <= MOST_BANDS
    for number, (name, points) in enumerate(curves.items()):
        known = [(k, each) for k, each in sorted(points.items()) if each.value is not None]
        colour, marker, line = _style(number)
        shift = 1.0 if banded or not doubling else 1.03 ** (number - (len(curves) - 1) / 2)
        x = [k * shift for k, _ in known]
        value, low, high = ([100 * (getattr(e, part) or 0) for _, e in known] for part in ("value", "low", "high"))
        if banded:
            axes.fill_between(x, low, high, color=colour, alpha=0.18, lw=0)
        else:
            axes.vlines(x, low, high, color=colour, lw=1.0, alpha=0.7)
        axes.plot(x, value, marker + line, color=colour, label=shortened(name), ms=4.5, lw=1.6)
    if doubling:
        _doublings(axes, ks)
    limits = _padded([each for points in curves.values() for each in points.values()])
    axes.set(xlabel=across, ylabel=f"{upwards}, 95 % intervals", ylim=limits)
    _name_series(figure, axes, len(curves), summaries, title)
    return figure


def solve_rates(rates: Mapping[str, Mapping[str, float]], summaries: Sequence[Summary], title: str = "") -> Figure:
    """Plot the solve rate of each problem, hardest first; for many problems or runs, as sorted profiles."""
    figure, axes = _canvas(summaries, 7.2, 3.6, legend=len(rates))
    (first, *more), longest = rates.values(), max(map(len, rates.values()))
    if not more and len(first) <= 40:
        ordered = sorted(first.items(), key=lambda item: (item[1], item[0]))
        axes.bar(range(len(ordered)), [100 * rate for _, rate in ordered], color=BLUE, width=0.75)
        names = [name for name, _ in ordered]
        labels = distinct([name.rpartition("/")[2] for name in names], names)
        axes.set_xticks(range(len(ordered)), labels, rotation=90, fontsize=7)
        axes.set_xlim(-0.7, len(ordered) - 0.3)
    else:
        for number, (name, each) in enumerate(rates.items()):
            colour, _, line = _style(number)
            heights = sorted(100 * rate for rate in each.values())
            if more:
                # Rates are multiples of 1/n, so lines lie on each other unless they are moved a little.
                away = number - (len(rates) - 1) / 2
                x = [at + 0.03 * away for at in range(1, len(heights) + 1)]
                axes.step(
                    x,
                    [height + 0.6 * away for height in heights],
                    line,
                    where="mid",
                    color=colour,
                    lw=1.6,
                    label=shortened(name),
                )
            else:
                axes.fill_between(range(1, len(heights) + 1), heights, step="mid", color=BLUE, alpha=0.75, lw=0)
        every = "each run's problems" if more else f"{longest} problems"
        axes.set(xlabel=f"{every}, hardest first", xlim=(1, max(2, longest)))
    axes.set(ylabel="samples correct (%)", ylim=(-4 * bool(more), 104 if more else 102))
    _name_series(figure, axes, len(rates), summaries, title)
    return figure


def verdict_shares(counts: Mapping[str, Mapping[str, int]], summaries: Sequence[Summary], title: str = "") -> Figure:
    """Plot the share of each verdict, one bar per run."""
    present = [verdict for verdict in Verdict if any(each.get(verdict) for each in counts.values())]
    longest = max(len(shortened(name)) for name in counts)
    figure, axes = _canvas(summaries, 5.2 + 0.07 * longest, 1.2 + 0.3 * len(counts), legend=len(present))
    left = [0.0] * len(counts)
    for verdict in present:
        shares = [100 * each.get(verdict, 0) / max(1, sum(each.values())) for each in counts.values()]
        axes.barh(
            range(len(counts)), shares, left=left, color=LOOKS[verdict].plot, label=LOOKS[verdict].word, height=0.7
        )
        left = [one + other for one, other in zip(left, shares, strict=True)]
    axes.set_yticks(range(len(counts)), [shortened(name) for name in counts], fontsize=8)
    axes.set_title(title, loc="left", fontsize=8)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set(xlabel="share of responses (%)", xlim=(0, 100))
    figure.legend(loc="outside upper left", frameon=False, fontsize=8, ncols=min(4, len(present)))
    return figure


def accuracy_against_tokens(
    points: Mapping[str, tuple[float, Estimate]], summaries: Sequence[Summary], title: str = ""
) -> Figure:
    """Plot accuracy against mean completion tokens, one point per run."""
    figure, axes = _canvas(summaries, 6.4, 4.2, legend=len(points))
    for number, (name, (tokens, each)) in enumerate(points.items()):
        colour, marker, _ = _style(number)
        value = 100 * (each.value or 0)
        axes.vlines([tokens], 100 * (each.low or 0), 100 * (each.high or 0), color=colour, lw=1.6)
        axes.plot([tokens], [value], marker, color=colour, ms=6, label=shortened(name))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    limits = _padded([each for _, each in points.values()])
    axes.set(xlabel="completion tokens per response, mean", ylabel="accuracy (%), 95 % intervals", ylim=limits)
    axes.margins(x=0.2)
    _name_series(figure, axes, len(points), summaries, title)
    return figure


def verdicts_over_time(verdicts: Sequence[Verdict], summary: Summary) -> Figure:
    """Plot the share of each verdict in the order of arrival, which shows when a server degraded."""
    import numpy as np

    figure, axes = _canvas([summary], 7.2, 3.8)
    parts = np.array_split(np.arange(len(verdicts)), min(24, len(verdicts)))
    x = [int(part[-1]) + 1 for part in parts]
    present = [verdict for verdict in Verdict if verdict in set(verdicts)]
    shares = [[100 * sum(verdicts[i] is verdict for i in part) / len(part) for part in parts] for verdict in present]
    colours = [LOOKS[verdict].plot for verdict in present]
    axes.stackplot(x, shares, labels=list(map(str, present)), colors=colours)
    axes.set(xlabel="responses, in the order they arrived", ylabel="share (%)", xlim=(x[0], x[-1]), ylim=(0, 100))
    # From the top, in the order of the layers, so that colour is not the only distinction.
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1), reverse=True)
    axes.set_title(_title(summary), loc="left", fontsize=10)
    return figure


def forest(
    rows: Mapping[str, Estimate], summaries: Sequence[Summary], label: str, *, differences: bool = True
) -> Figure:
    """Plot differences with their intervals and a line at zero; or shares, without that line."""
    longest = max(map(len, rows), default=0)
    figure, axes = _canvas(summaries, 5.0 + 0.075 * longest, 1.3 + 0.3 * len(rows))
    for height, each in enumerate(reversed(list(rows.values()))):
        low, high, value = (100 * (part or 0) for part in (each.low, each.high, each.value))
        decided = not differences or low > 0 or high < 0
        sign = "+" if differences else ""
        axes.plot([low, high], [height, height], color=BLUE if decided else SOFT, lw=2)
        axes.plot([value], [height], "s", color=INK, ms=5)
        text = f"{value:{sign}.1f}  [{low:{sign}.1f}, {high:{sign}.1f}]"
        axes.text(1.02, height, text, transform=axes.get_yaxis_transform(), va="center", fontsize=8)
    if differences:
        axes.axvline(0, color=INK, lw=1, ls="--")
    axes.set_yticks(range(len(rows)), reversed(list(rows)), fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set(xlabel=label, ylim=(-0.7, len(rows) - 0.3))
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    return figure


def power_curve(plan: Plan) -> Figure:
    """Plot power against samples per problem, with its plausible range and the power asked for."""
    figure, axes = _canvas([], 6.4, 4.2)
    samples = [row.samples for row in plan.rows]
    low, high = [100 * row.power_low for row in plan.rows], [100 * row.power_high for row in plan.rows]
    axes.fill_between(samples, low, high, color=BLUE, alpha=0.18, lw=0)
    axes.plot(samples, [100 * row.power for row in plan.rows], "o-", color=BLUE, ms=4.5, lw=1.6)
    axes.axhline(100 * plan.power, color=INK, lw=1, ls="--")
    _doublings(axes, samples)
    chance = f"power to detect {100 * plan.detect:g} points (%)"
    axes.set(xlabel=f"samples per problem, {plan.problems} problems", ylabel=chance, ylim=(0, 101))
    return figure


def _doublings(axes: Axes, ticks: Sequence[int]) -> None:
    """Set a horizontal axis with a base-2 logarithmic scale."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, list(map(str, ticks)))
    axes.minorticks_off()


def shortened(name: str, most: int = 44) -> str:
    """Shorten the middle of a name, since both ends distinguish models."""
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-(most // 2 - 1) :]}"


def distinct(*choices: Sequence[str]) -> Sequence[str]:
    """Return the first of these lists without duplicates, else the last."""
    return next((names for names in choices if len(set(names)) == len(names)), choices[-1])


def _style(number: int) -> tuple[str, str, str]:
    """Return colour, marker and line of a series; no two series share all three."""
    again = number // len(SERIES)
    return SERIES[number % len(SERIES)], "os^D"[again % 4], ("-", "--", ":", "-.")[again % 4]


def _name_series(figure: Figure, axes: Axes, count: int, summaries: Sequence[Summary], title: str) -> None:
    """Put the legend above the axes; a single series gets a title instead."""
    if count == 1:
        axes.set_title(_title(summaries[0]), loc="left", fontsize=10)
        return
    legend = figure.legend(
        loc="outside upper left",
        frameon=False,
        fontsize=8,
        ncols=_columns(count),
        title=title or None,
        title_fontsize=8,
    )
    legend.set_alignment("left")


def _columns(series: int) -> int:
    return 1 if series < 3 else 2


def _title(summary: Summary) -> str:
    return f"{summary.benchmark} · {shortened(summary.model)}"


def _canvas(summaries: Sequence[Summary], width: float, height: float, legend: int = 0) -> tuple[Figure, Axes]:
    """Make an empty figure in our style, with room for a legend and the provenance at its foot."""
    needed("matplotlib", "plots")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    foot = list(dict.fromkeys(provenance(summaries)))
    lines = math.ceil(legend / _columns(legend)) if legend > 1 else 0
    figure = Figure(figsize=(width, height + 0.16 * len(foot) + 0.19 * lines), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", lw=0.6)
    axes.set_axisbelow(True)
    figure.supxlabel("\n".join(foot), fontsize=6.5, color="#6a6a6a", x=0.01, ha="left")
    return figure, axes


def add_foot(figure: Figure, line: str) -> None:
    """Add a line below the provenance."""
    figure.supxlabel(f"{figure.get_supxlabel()}\n{line}", x=0.01, ha="left")


def _padded(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """Return limits of a percent axis that show all intervals with a margin, within 0 to 100."""
    lows = [100 * (each.low or 0) for each in estimates if each.value is not None]
    highs = [100 * (each.high or 0) for each in estimates if each.value is not None]
    air = max(3.0, 0.08 * (max(highs) - min(lows)))
    return max(0.0, min(lows) - air), min(101.0, max(highs) + air)
