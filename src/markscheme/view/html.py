"""Renders templates. Everything is escaped unless this package built it as markup."""

from __future__ import annotations

import math
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from markscheme.reporting.verdicts import LOOKS
from markscheme.view import plots
from markscheme.view.pages.response import call_text
from markscheme.view.site import Page, Site
from markscheme.view.visible import one_line, plain_visible

if TYPE_CHECKING:
    from jinja2 import Environment


STATUSES = {
    "running": "in progress",
    "silent": "marked as running, but nothing was written for three minutes: it may have crashed",
    "complete": "no response is missing",
    "incomplete": "some responses are missing",
    "interrupted": "stopped by the user; markscheme resume continues",
    "stopped": "stopped by an error; markscheme resume continues",
}


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the Jinja environment: escaping is on, unknown names are errors."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    env = Environment(
        loader=PackageLoader("markscheme.view"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Hidden characters become visible everywhere, also in attributes.
        finalize=lambda value: plain_visible(value) if type(value) is str else value,
    )
    env.filters.update(
        pct=_percent,
        num=_number,
        short=_short,
        seconds=_seconds,
        when=_when,
        money=_money,
        line=one_line,
        call_text=call_text,
    )
    env.globals.update(plots=plots, looks=LOOKS, statuses_meaning=STATUSES)
    return env


def compile_templates() -> None:
    for name in environment().list_templates():
        environment().get_template(name)


def render_page(site: Site, page: Page) -> str:
    return render_fragment(site, page.template, title=page.title, again=page.again, **page.context)


def render_fragment(site: Site, template: str, **context: Any) -> str:
    return environment().get_template(template).render(links=site.links, **context)


def _percent(value: float | None, digits: int = 1) -> str:
    return "–" if value is None or math.isnan(value) else plots.percent(value, digits)


def _number(value: float | None) -> str:
    return "–" if value is None or value < 0 else f"{value:,.0f}"


def _short(value: float | None) -> str:
    """Write 1234567 as 1.23M."""
    if value is None or value < 0 or math.isnan(value):
        return "–"
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale:
            return f"{value / scale:.3g}{unit}"
    return f"{value:.0f}"


def _seconds(value: float | None) -> str:
    if value is None or not math.isfinite(value) or value < 0:
        return "–"
    if value < 0.01:
        return f"{1000 * value:.2g} ms"
    if value < 100:
        return f"{value:.3g} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def _money(value: float | None) -> str:
    return "–" if value is None else f"${value:,.2f}"


def _when(value: str | None) -> str:
    """Write an ISO time to the minute; return anything else unchanged."""
    try:
        return f"{datetime.fromisoformat(value):%Y-%m-%d %H:%M}" if value else "–"
    except ValueError:
        return str(value)[:40]
