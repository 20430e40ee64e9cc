"""Plots as inline SVG: drawn on the server, coloured by the style sheet in light and dark, with a tooltip per mark."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence

from markupsafe import Markup

from markscheme.errors import counted
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.verdicts import LOOKS
from markscheme.statistics import Interval
from markscheme.view.figures import Bin

WIDTH, HEIGHT = 400, 230
LEFT, RIGHT, TOP, BOTTOM = 42, 12, 12, 40


def _svg(width: float, height: float, label: str, body: Sequence[Markup], kind: str = "plot") -> Markup:
    return Markup('<svg class="{}" viewBox="0 0 {:g} {:g}" role="img" aria-label="{}">{}</svg>').format(
        kind, width, height, label, Markup("").join(body)
    )


def _tip(text: str) -> Markup:
    return Markup("<title>{}</title>").format(text)


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    return Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(kind, x1, y1, x2, y2)


def _dot(x: float, y: float, radius: float = 3.5, kind: str = "dot", tip: str = "") -> Markup:
    return Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{}">{}</circle>').format(
        kind, x, y, radius, _tip(tip) if tip else ""
    )


def _rect(kind: str, x: float, y: float, width: float, height: float, tip: str) -> Markup:
    return Markup('<rect class="{}" x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{:.1f}">{}</rect>').format(
        kind, x, y, width, height, _tip(tip)
    )


def _text(label: str, x: float, y: float, anchor: str = "middle", kind: str = "tick") -> Markup:
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(kind, x, y, anchor, label)


def percent(value: float, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f} %"


def interval_text(figure: Estimate) -> str:
    """Return a text such as `61.3 % (55.2 to 67.1)`."""
    value, low, high = _parts(figure)
    return f"{percent(value)} ({100 * low:.1f} to {100 * high:.1f})"


def _parts(figure: Estimate) -> tuple[float, float, float]:
    return figure.value or 0.0, figure.low or 0.0, figure.high or 0.0


def range_bar(figure: Estimate, width: int = 120) -> Markup:
    """Draw a figure and its interval on a scale from 0 to 100 %, for a row of a table; empty if it is undefined."""
    if figure.value is None:
        return Markup("")
    dot, low, high = (4 + (width - 8) * part for part in _parts(figure))
    words = interval_text(figure)
    tip = _tip(f"{words}, 95 % interval, {figure.problems} problems")
    marks = [tip, _line("track", 4, 7, width - 4, 7), _line("range", low, 7, high, 7), _dot(dot, 7)]
    return _svg(width, 14, words, marks, "bar")


def verdict_bar(counts: Mapping[str, int], width: int = 600, height: int = 18, kind: str = "stack") -> Markup:
    """Draw all responses as one bar with a part per verdict."""
    total = sum(counts.values())
    body, x = [], 0.0
    for name, count in counts.items():
        if not count:
            continue
        part = width * count / total
        tip = f"{LOOKS[name].symbol} {LOOKS[name].word}: {count:,} of {total:,} ({percent(count / total)})"
        body.append(_rect(f"v-{name}", x, 0, max(part - 0.6, 0.6), height, tip))
        x += part
    words = ", ".join(f"{LOOKS[name].word} {count}" for name, count in counts.items() if count) or "no responses"
    return Markup(
        '<svg class="{}" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
    ).format(kind, width, height, words, Markup("").join(body))


def pass_curve(
    points: Sequence[tuple[int, Estimate]], figure_of: str = "pass@{}", axis: str = "k samples", *, log: bool = True
) -> Markup:
    """Draw pass@k over k (or a figure over token limits or steps) with the band of its intervals."""
    curve = [(k, *_parts(figure)) for k, figure in points]
    low = min(0.9, math.floor(10 * min(low for *_, low, _ in curve)) / 10)
    high = max(low + 0.1, math.ceil(10 * max(high for *_, high in curve)) / 10)
    if high - low > 0.5:
        low, high = math.floor(5 * low + 1e-9) / 5, math.ceil(5 * high - 1e-9) / 5  # grid lines are then 20 % apart
    least, most = points[0][0], points[-1][0]

    def x(k: float) -> float:
        share = math.log2(k / least) / math.log2(most / least) if log else (k - least) / max(1, most - least)
        return LEFT + (WIDTH - LEFT - RIGHT) * share

    y = _upwards(low, high)
    body = _horizontal_grid(low, high, y)
    ticks = [2**i for i in range(most.bit_length())] if least == 1 and log else [k for k, _ in points]
    ticks = ticks[:: max(1, len(ticks) // 8)]
    if log and most > 1.25 * ticks[-1]:
        ticks.append(most)
    body += [_x_label(x(k), str(k) if k < 1000 else f"{k / 1000:.3g}k") for k in ticks]
    body.append(_axis_title(axis))
    upper = [f"{x(k):.1f},{y(high):.1f}" for k, _, _, high in curve]
    lower = [f"{x(k):.1f},{y(low):.1f}" for k, _, low, _ in reversed(curve)]
    line = " ".join(f"{x(k):.1f},{y(value):.1f}" for k, value, _, _ in curve)
    body.append(Markup('<polygon class="band" points="{}"/>').format(" ".join(upper + lower)))
    body.append(Markup('<polyline class="line" points="{}"/>').format(line))
    for k, figure in points:
        body.append(_dot(x(k), y(figure.value or 0.0), 4, tip=f"{figure_of.format(f'{k:,}')} {interval_text(figure)}"))
    return _svg(WIDTH, HEIGHT, f"{figure_of.format('k')} for {axis} from {least} to {most}, with 95 % band", body)


def token_histogram(bins: Sequence[Bin]) -> Markup:
    """Draw the lengths of responses, coloured by verdict."""
    top = _nice(max(one.total for one in bins))
    low, high = math.log(bins[0].low), math.log(bins[-1].high + 1)

    def x(tokens: float) -> float:
        share = (math.log(max(tokens, 1)) - low) / (high - low) if high > low else 0.5
        return LEFT + (WIDTH - LEFT - RIGHT) * share

    y = _upwards(0, top)
    body = [_grid_line(y(count), f"{count:,.0f}") for count in (0, top // 2, top)]
    last = float("-inf")
    for tick in (n * 10**e for e in range(8) for n in (1, 2, 5)):
        if bins[0].low <= tick <= bins[-1].high and x(tick) - last > 44:
            last = x(tick)
            body.append(_x_label(last, f"{tick / 1000:g}k" if tick >= 1000 else str(tick)))
    body.append(_axis_title("completion tokens"))
    for one in bins:
        left, width = x(one.low), max(x(one.high + 1) - x(one.low) - 1.2, 1)
        base = 0
        for name, count in one.verdicts.items():
            if not count:
                continue
            tip = (
                f"{one.low:,} to {one.high:,} tokens: {LOOKS[name].word} {count:,} of {one.total:,}, "
                f"{percent(one.verdicts['correct'] / one.total, 0)} correct"
            )
            body.append(_rect(f"v-{name}", left, y(base + count), width, y(base) - y(base + count), tip))
            base += count
    return _svg(WIDTH, HEIGHT, "Responses by completion tokens and verdict", body)


def solve_rates(rates: Sequence[float]) -> Markup:
    """Draw every problem's share of correct samples, hardest first."""
    known = sorted(rate for rate in rates if not math.isnan(rate))
    width = (WIDTH - LEFT - RIGHT) / max(1, len(known))
    y = _upwards(0, 1)
    body = _horizontal_grid(0, 1, y)
    never, always = sum(rate == 0 for rate in known), sum(rate == 1 for rate in known)
    start = 0
    for rate, equal in itertools.groupby(known):
        count = len(list(equal))
        tip = f"{counted(count, 'problem')} solved {percent(rate, 0)} of the time"
        wide, tall = max(width * count - 0.5, 0.8), y(0) - y(rate) + 1
        body.append(_rect("fill", LEFT + start * width, y(rate) - 1, wide, tall, tip))
        start += count
    body.append(_axis_title(f"{counted(len(known), 'problem')}, hardest first: {never} never solved, {always} always"))
    return _svg(WIDTH, HEIGHT, f"Solve rate of every problem: {never} never, {always} always", body)


def dumbbell(left: float, right: float, width: int = 150) -> Markup:
    """Draw two solve rates on one scale, connected by a line."""
    start, end = (4 + (width - 8) * value for value in (left, right))
    words = f"from {percent(left, 0)} to {percent(right, 0)}"
    change = _line("up" if right > left else "down", start, 7, end, 7)
    marks = [_tip(words), _line("track", 4, 7, width - 4, 7), change, _dot(start, 7, kind="from"), _dot(end, 7)]
    return _svg(width, 14, words, marks, "bar")


def difference_bar(difference: Interval, width: int = 260) -> Markup:
    """Draw a difference and its interval on a scale around zero."""
    reach = max(0.05, math.ceil(20 * max(abs(difference.low), abs(difference.high))) / 20)
    zero, low, dot, high = (
        10 + (width - 20) * (value + reach) / (2 * reach)
        for value in (0, difference.low, difference.estimate, difference.high)
    )
    bounds = f"{100 * difference.low:+.1f} to {100 * difference.high:+.1f}"
    words = f"{100 * difference.estimate:+.1f} points ({bounds})"
    marks = [
        _tip(words),
        _line("track", 10, 10, width - 10, 10),
        _line("zero", zero, 2, zero, 18),
        _line("range", low, 10, high, 10),
        _dot(dot, 10, 4.5),
        _text(f"{-100 * reach:+.0f}", 10, 31, "start"),
        _text("0", zero, 31),
        _text(f"{100 * reach:+.0f} points", width - 10, 31, "end"),
    ]
    return _svg(width, 34, words, marks, "bar wide")


def _upwards(low: float, high: float) -> Callable[[float], float]:
    """Return the mapping from a value to its height in a plot."""
    return lambda value: HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)


def _horizontal_grid(low: float, high: float, y: Callable[[float], float]) -> list[Markup]:
    step = 0.1 if high - low <= 0.5 else 0.2
    values = [low + step * i for i in range(round((high - low) / step) + 1)]
    return [_grid_line(y(value), percent(value, 0)) for value in values]


def _grid_line(y: float, label: str) -> Markup:
    return _line("grid", LEFT, y, WIDTH - RIGHT, y) + _text(label, LEFT - 6, y + 4, "end")


def _x_label(x: float, label: str) -> Markup:
    return _text(label, x, HEIGHT - BOTTOM + 16)


def _axis_title(label: str) -> Markup:
    return _text(label, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, kind="axis")


def _nice(top: int) -> int:
    """Round up to a number that halves well."""
    scale: int = 10 ** max(0, len(str(top)) - 2)
    return next(step * scale for step in (2, 4, 6, 8, 10, 12, 16, 20, 30, 40, 50, 60, 80, 100) if step * scale >= top)
