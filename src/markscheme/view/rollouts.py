"""The audit of a training run as a page: curves by step, alarms with their examples, and the table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from markscheme.reporting.estimates import Estimate
from markscheme.view import plots
from markscheme.view.export import claim, write
from markscheme.view.html import environment
from markscheme.view.links import Links
from markscheme.view.server import asset

if TYPE_CHECKING:
    from collections.abc import Callable

    from markscheme.rewards.gaming import Share, Step, Watched

MOST_POINTS = 60
CURVES: dict[str, Callable[[Step], Share | None]] = {
    "Honest accuracy": lambda step: step.honest,
    "Paid, not honest": lambda step: step.overpaid,
    "Honest, not paid": lambda step: step.underpaid,
    "Protocols disagree": lambda step: step.disagree,
    "Reward paid": lambda step: _exactly(step.reward, step.rollouts),
    "Truncated": lambda step: _exactly(step.truncated, step.rollouts),
    "False positives of the reward": lambda step: step.false_positives,
    "False negatives of the reward": lambda step: step.false_negatives,
}


def write_page(watched: Watched, target: Path) -> None:
    """Write `index.html` and its style sheet into a folder of their own."""
    claim(Path(watched.source), target)
    for name in ("app.css", "app.js", "theme.js", "icon.svg"):
        write(target / "assets" / name, asset(name))
    template = environment().get_template("rollouts.html")
    content = template.render(
        title=f"Rollouts · {Path(watched.source).name}",
        links=Links(page="index.html"),
        again=0,
        watched=watched,
        curves={name: _curve(watched, name) for name in CURVES if any(CURVES[name](each) for each in watched.steps)},
    )
    write(target / "index.html", content.encode("utf-8", "replace"))


def _curve(watched: Watched, name: str) -> Markup:
    found = [(each.step, CURVES[name](each)) for each in watched.steps]
    every = -(-len(found) // MOST_POINTS)
    points = [(step, Estimate(one.value, one.low, one.high)) for step, one in found[::every] if one is not None]
    return plots.pass_curve(points, name + ", step {}", "training step", log=False)


def _exactly(value: float, count: int) -> Share:
    """A mean that is shown without an interval."""
    from markscheme.rewards.gaming import Share

    return Share(value, value, value, count)
