"""The audit of a training run as a page: curves by step, alarms with their examples, and the table.

As a file for a finished run, or served while the training still writes rollouts.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web
from markupsafe import Markup

from markscheme.reporting.estimates import Estimate
from markscheme.rewards.shares import Share
from markscheme.view import plots
from markscheme.view.export import claim, write
from markscheme.view.html import render_page
from markscheme.view.library import Library
from markscheme.view.links import Links
from markscheme.view.server import asset, make_app
from markscheme.view.site import Page, Site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from markscheme.rewards.gaming import Following, Step, Watched

MOST_POINTS = 60
MOST_ROWS = 200  # steps in the table, the last ones
EVERY = 1.0  # seconds between two looks at the files
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
    site = Site(Library(target), Links(page="index.html"))
    write(target / "index.html", render_page(site, _page(watched)).encode("utf-8", "replace"))


def make_live_app(following: Following, host: str) -> web.Application:
    """Return an app with one page, which grows while the training writes."""
    folder = Path(following.watched().source)
    app = make_app(folder, host, lambda: _page(following.watched(), again=2.0))

    async def follow() -> None:
        while True:
            await asyncio.to_thread(lambda: [None for _ in following.read()])
            await asyncio.sleep(EVERY)

    async def running(_: web.Application) -> AsyncIterator[None]:
        task = asyncio.create_task(follow())
        yield
        task.cancel()

    app.cleanup_ctx.append(running)
    return app


def _page(watched: Watched, again: float = 0) -> Page:
    found = {name: _curve(watched, name) for name in CURVES if any(CURVES[name](each) for each in watched.steps)}
    context = {"watched": watched, "curves": found, "steps": watched.steps[-MOST_ROWS:]}
    return Page("rollouts.html", f"Rollouts · {Path(watched.source).name}", context, again)


def _curve(watched: Watched, name: str) -> Markup:
    found = [(each.step, CURVES[name](each)) for each in watched.steps]
    every = -(-len(found) // MOST_POINTS)
    points = [(step, Estimate(one.value, one.low, one.high)) for step, one in found[::every] if one is not None]
    return plots.pass_curve(points, name + ", step {}", "training step", log=False)


def _exactly(value: float, count: int) -> Share:
    """A mean that is shown without an interval."""
    return Share(value, value, value, count)
