"""How a figure reads: `62.3 ± 4.1`, `62.3 %  95 % interval 58.2 to 66.4`, and `undefined` where it is; a bar to see it by."""

from __future__ import annotations

from markscheme.reporting.summary import Estimate, Summary

UNDEFINED = "undefined"
"""Too few samples came back. Never 0 in its place."""


def percent(estimate: Estimate) -> str:
    """With its interval, for reading at a terminal."""
    if estimate.value is None:
        return f"{UNDEFINED}: too few samples came back"
    shown = f"{100 * estimate.value:.1f} %"
    if estimate.low is not None and estimate.high is not None:
        shown += f"   {100 * estimate.level:.3g} % interval {100 * estimate.low:.1f} to {100 * estimate.high:.1f}"
    if estimate.drawn_error:
        shown += f"   (drawn, standard error {100 * estimate.drawn_error:.2f})"
    return shown


def bar(estimate: Estimate, width: int = 25) -> str:
    """A line of blocks from 0 to 100 %: full up to the interval, half-tone across it."""
    if estimate.low is None or estimate.high is None:
        return ""
    low, high = round(width * estimate.low), round(width * estimate.high)
    # An interval narrower than a block still shows as one.
    low = min(low, max(high - 1, 0))
    return "█" * low + "▒" * max(high - low, 1) + "·" * (width - max(high, low + 1))


def bounds(estimate: Estimate) -> str:
    """`62.3 [58.2, 66.4]`, for tables."""
    if estimate.value is None:
        return UNDEFINED
    return f"{100 * estimate.value:.1f} [{100 * (estimate.low or 0):.1f}, {100 * (estimate.high or 0):.1f}]"


def size(summary: Summary) -> str:
    """`30 problems × 16 samples`, or what they are on average."""
    average = " on average" if summary.until and summary.until.fewest < summary.until.most else ""
    return f"{summary.problems:,} problems × {summary.samples} sample{'s' * (summary.samples != 1)}{average}"


def plus_minus(estimate: Estimate) -> str:
    r"""`62.3 \pm 4.1` in LaTeX, as papers print it; the half-width of the interval, which need not be symmetric."""
    if estimate.value is None:
        return "--"
    half = ((estimate.high or 0) - (estimate.low or 0)) / 2
    return rf"${100 * estimate.value:.1f} \pm {100 * half:.1f}$"
