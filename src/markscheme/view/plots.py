"""Plots as SVG inside the page: drawn on the server, coloured by the style sheet, each mark with its own tooltip.

Only numbers and escaped labels go in; colours are classes, so light and dark need no second drawing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from markupsafe import Markup

from markscheme.statistics import Interval
from markscheme.view.figures import Bin
from markscheme.view.verdicts import LOOKS

WIDTH, HEIGHT = 400, 230
LEFT, RIGHT, TOP, BOTTOM = 42, 12, 12, 40


def _svg(width: float, height: float, label: str, body: Sequence[Markup], kind: str = "plot") -> Markup:
    return Markup('<svg class="{}" viewBox="0 0 {:g} {:g}" role="img" aria-label="{}">{}</svg>').format(
        kind, width, height, label, Markup("").join(body)
    )


def _tip(text: str) -> Markup:
    return Markup("<title>{}</title>").format(text)


def percent(value: float, digits: int = 1) -> str:
    """A share as it is written everywhere."""
    return f"{100 * value:.{digits}f} %"


def interval_text(interval: Interval) -> str:
    """`61.3 % (55.2 to 67.1)`."""
    return f"{percent(interval.estimate)} ({100 * interval.low:.1f} to {100 * interval.high:.1f})"


def range_bar(interval: Interval, width: int = 120) -> Markup:
    """An estimate and its interval on a scale from 0 to 100 %, for a line of a table."""
    x = [4 + (width - 8) * value for value in (interval.low, interval.estimate, interval.high)]
    return _svg(
        width,
        14,
        interval_text(interval),
        [
            _tip(f"{interval_text(interval)}, 95 % interval, {interval.problems} problems"),
            Markup('<line class="track" x1="4" y1="7" x2="{}" y2="7"/>').format(width - 4),
            Markup('<line class="range" x1="{:.1f}" y1="7" x2="{:.1f}" y2="7"/>').format(x[0], x[2]),
            Markup('<circle class="dot" cx="{:.1f}" cy="7" r="3.5"/>').format(x[1]),
        ],
        "bar",
    )


def verdict_bar(counts: Mapping[str, int], width: int = 600, height: int = 18, kind: str = "stack") -> Markup:
    """All responses as one bar, a part for each verdict."""
    total = sum(counts.values())
    body, x = [], 0.0
    for name, count in counts.items():
        if not count:
            continue
        part = width * count / total
        tip = f"{LOOKS[name].symbol} {LOOKS[name].word}: {count:,} of {total:,} ({percent(count / total)})"
        body.append(
            Markup('<rect class="v-{}" x="{:.2f}" y="0" width="{:.2f}" height="{}">{}</rect>').format(
                name, x, max(part - 0.6, 0.6), height, _tip(tip)
            )
        )
        x += part
    words = ", ".join(f"{LOOKS[name].word} {count}" for name, count in counts.items() if count) or "no responses"
    return Markup(
        '<svg class="{}" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
    ).format(kind, width, height, words, Markup("").join(body))


def pass_curve(points: Sequence[tuple[int, Interval]]) -> Markup:
    """pass@k against k on a logarithmic scale, with the band of its intervals."""
    low = min(0.9, math.floor(10 * min(interval.low for _, interval in points)) / 10)
    high = max(low + 0.1, math.ceil(10 * max(interval.high for _, interval in points)) / 10)
    if high - low > 0.5:
        low, high = math.floor(5 * low + 1e-9) / 5, math.ceil(5 * high - 1e-9) / 5  # lines stand every 20 % then
    most = points[-1][0]

    def x(k: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log2(k) / math.log2(most) if most > 1 else 0.5)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)

    body = _horizontal_grid(low, high, y)
    ticks = [2**i for i in range(most.bit_length())]
    body += [_x_label(x(k), str(k)) for k in ticks]
    if most not in ticks and most > 1.25 * ticks[-1]:
        body.append(_x_label(x(most), str(most)))
    body.append(_axis_title("k samples"))
    if len(points) > 1:
        upper = [f"{x(k):.1f},{y(interval.high):.1f}" for k, interval in points]
        lower = [f"{x(k):.1f},{y(interval.low):.1f}" for k, interval in reversed(points)]
        line = " ".join(f"{x(k):.1f},{y(interval.estimate):.1f}" for k, interval in points)
        body.append(Markup('<polygon class="band" points="{}"/>').format(" ".join(upper + lower)))
        body.append(Markup('<polyline class="line" points="{}"/>').format(line))
    else:
        k, interval = points[0]
        body.append(Markup('<line class="range" x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}"/>').format(
            x(k), y(interval.low), y(interval.high)
        ))  # fmt: skip
    for k, interval in points:
        body.append(
            Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="4">{}</circle>').format(
                x(k), y(interval.estimate), _tip(f"pass@{k} {interval_text(interval)}")
            )
        )
    return _svg(WIDTH, HEIGHT, f"pass@k for k from 1 to {most}, with 95 % band", body)


def token_histogram(bins: Sequence[Bin]) -> Markup:
    """How many responses are how long, coloured by what became of them."""
    top = _nice(max(one.total for one in bins))
    low, high = math.log(bins[0].low), math.log(bins[-1].high + 1)

    def x(tokens: float) -> float:
        share = (math.log(max(tokens, 1)) - low) / (high - low) if high > low else 0.5
        return LEFT + (WIDTH - LEFT - RIGHT) * share

    def y(count: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * count / top

    body = []
    for count in (0, top / 2, top):
        body.append(_grid_line(y(count), f"{count:,.0f}" if count == int(count) else f"{count:g}"))
    last = float("-inf")
    for tick in (n * 10**e for e in range(8) for n in (1, 2, 5)):
        if bins[0].low <= tick <= bins[-1].high and x(tick) - last > 44:
            last = x(tick)
            body.append(_x_label(last, _short(tick)))
    body.append(_axis_title("completion tokens"))
    for one in bins:
        left, right = x(one.low), x(one.high + 1)
        base = 0
        for name, count in one.verdicts.items():
            if not count:
                continue
            tip = (
                f"{one.low:,} to {one.high:,} tokens: {LOOKS[name].word} {count:,} of {one.total:,}, "
                f"{percent(one.verdicts['correct'] / one.total, 0)} correct"
            )
            body.append(
                Markup('<rect class="v-{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}">{}</rect>').format(
                    name, left, y(base + count), max(right - left - 1.2, 1), y(base) - y(base + count), _tip(tip)
                )
            )
            base += count
    return _svg(WIDTH, HEIGHT, "Responses by completion tokens and verdict", body)


def solve_rates(rates: Sequence[float]) -> Markup:
    """Every problem's share of correct samples, hardest first: how much is settled and how much is luck."""
    known = sorted(rate for rate in rates if not math.isnan(rate))
    width = (WIDTH - LEFT - RIGHT) / max(1, len(known))

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value

    body = _horizontal_grid(0, 1, y)
    never, always = sum(rate == 0 for rate in known), sum(rate == 1 for rate in known)
    steps = [(i, known[i]) for i in range(len(known)) if i == 0 or known[i] != known[i - 1]]
    for (start, rate), (stop, _) in zip(steps, [*steps[1:], (len(known), 0.0)], strict=True):
        tip = f"{stop - start} problem{'s' if stop - start > 1 else ''} solved {percent(rate, 0)} of the time"
        body.append(
            Markup('<rect class="fill" x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{:.1f}">{}</rect>').format(
                LEFT + start * width,
                y(rate) - 1,
                max(width * (stop - start) - 0.5, 0.8),
                y(0) - y(rate) + 1,
                _tip(tip),
            )
        )
    body.append(_axis_title(f"{len(known)} problems, hardest first: {never} never solved, {always} always"))
    return _svg(WIDTH, HEIGHT, f"Solve rate of every problem: {never} never, {always} always", body)


def dumbbell(left: float, right: float, width: int = 150) -> Markup:
    """Two solve rates on one scale, an arrow's worth of line between them."""
    x = [4 + (width - 8) * value for value in (left, right)]
    words = f"from {percent(left, 0)} to {percent(right, 0)}"
    return _svg(
        width,
        14,
        words,
        [
            _tip(words),
            Markup('<line class="track" x1="4" y1="7" x2="{}" y2="7"/>').format(width - 4),
            Markup('<line class="{}" x1="{:.1f}" y1="7" x2="{:.1f}" y2="7"/>').format(
                "up" if right > left else "down", *x
            ),
            Markup('<circle class="from" cx="{:.1f}" cy="7" r="3.5"/>').format(x[0]),
            Markup('<circle class="dot" cx="{:.1f}" cy="7" r="3.5"/>').format(x[1]),
        ],
        "bar",
    )


def difference_bar(estimate: float, low: float, high: float, width: int = 260) -> Markup:
    """A difference with its interval around zero."""
    reach = max(0.05, math.ceil(20 * max(abs(low), abs(high))) / 20)

    def x(value: float) -> float:
        return 10 + (width - 20) * (value + reach) / (2 * reach)

    words = f"{100 * estimate:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"
    return _svg(
        width,
        34,
        words,
        [
            _tip(words),
            Markup('<line class="track" x1="10" y1="10" x2="{}" y2="10"/>').format(width - 10),
            Markup('<line class="zero" x1="{0:.1f}" y1="2" x2="{0:.1f}" y2="18"/>').format(x(0)),
            Markup('<line class="range" x1="{:.1f}" y1="10" x2="{:.1f}" y2="10"/>').format(x(low), x(high)),
            Markup('<circle class="dot" cx="{:.1f}" cy="10" r="4.5"/>').format(x(estimate)),
            Markup('<text class="tick" x="10" y="31">{}</text>').format(f"{-100 * reach:+.0f}"),
            Markup('<text class="tick" x="{:.1f}" y="31" text-anchor="middle">0</text>').format(x(0)),
            Markup('<text class="tick" x="{}" y="31" text-anchor="end">{}</text>').format(
                width - 10, f"{100 * reach:+.0f} points"
            ),
        ],
        "bar wide",
    )


def _horizontal_grid(low: float, high: float, y: Callable[[float], float]) -> list[Markup]:
    step = 0.1 if high - low <= 0.5 else 0.2
    values = [low + step * i for i in range(round((high - low) / step) + 1)]
    return [_grid_line(y(value), percent(value, 0)) for value in values]


def _grid_line(y: float, label: str) -> Markup:
    return Markup(
        '<line class="grid" x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}"/>'
        '<text class="tick" x="{}" y="{:.1f}" text-anchor="end">{}</text>'
    ).format(LEFT, y, WIDTH - RIGHT, y, LEFT - 6, y + 4, label)


def _x_label(x: float, label: str) -> Markup:
    return Markup('<text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(
        x, HEIGHT - BOTTOM + 16, label
    )


def _axis_title(label: str) -> Markup:
    return Markup('<text class="axis" x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(
        (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, label
    )


def _nice(top: int) -> int:
    """The next number that halves well."""
    scale = 10 ** max(0, len(str(top)) - 2)
    return int(max(2, math.ceil(top / (2 * scale)) * 2 * scale))


def _short(number: int) -> str:
    return f"{number / 1000:g}k" if number >= 1000 else str(number)
