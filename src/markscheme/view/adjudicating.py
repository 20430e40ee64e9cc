"""The page on which people label a random sample of a run: an app of its own, the only part of the viewer that writes.

It listens on loopback and shows nothing of the run without the token in its address, which follows `#`, so browsers do
not send it. The verdict and the extracted answer are not shown.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from aiohttp import web

from markscheme.errors import JournalError, UsageError
from markscheme.reporting.adjudicated import worth
from markscheme.runs.adjudications import Adjudication, Opinion, content_of, labels_journal
from markscheme.types import Question, Response
from markscheme.view.guard import Guard
from markscheme.view.html import render_fragment, render_page
from markscheme.view.library import Library
from markscheme.view.links import Links
from markscheme.view.pages.problem import FORMULA_SECONDS, gold_html, rich
from markscheme.view.pages.response import end_of_thinking
from markscheme.view.server import asset_version, send_asset
from markscheme.view.site import Page, Site
from markscheme.view.text import blocks, clock, render, render_plain

HOST = "127.0.0.1"
LARGEST = 4096  # bytes of a request, which has a name, a place, a hash and a word
SHOWN = 12_000  # characters of a response shown at first, from its end


class Asked(msgspec.Struct, forbid_unknown_fields=True):
    """A request for a response: the one at a place of the order, or the next one without a label."""

    who: str
    at: int | None = None
    whole: bool = False


class Given(msgspec.Struct, forbid_unknown_fields=True):
    """A label for the response that was shown."""

    who: str
    at: int
    content: str
    label: Opinion


class AdjudicationPage:
    """The page of one run. Labels are on disk before their request is answered."""

    def __init__(self, adjudication: Adjudication, who: str) -> None:
        self._adjudication, self._who = adjudication, who
        folder = adjudication.snapshot.folder
        self._site = Site(Library(folder), Links(asset_version()))
        self._writing = asyncio.Lock()

    def app(self, token: str) -> web.Application:
        """Return the app, which has only these addresses."""
        posts = {"/show": self._show, "/label": self._label, "/worth": self._worth}
        app = web.Application(
            middlewares=[Guard(HOST, frozenset(posts), token).middleware, _refusals], client_max_size=LARGEST
        )
        app.add_routes([web.get("/", self._page), web.get("/assets/{name}", send_asset)])
        app.add_routes([web.post(path, handler) for path, handler in posts.items()])
        return app

    async def _page(self, _: web.Request) -> web.StreamResponse:
        # This page is sent without a token, so it contains nothing of the run.
        html = render_page(self._site, Page("adjudicate.html", "Adjudicate", {"who": self._who}))
        return web.Response(text=html, content_type="text/html", headers={"Cache-Control": "no-store"})

    async def _show(self, request: web.Request) -> web.StreamResponse:
        asked = msgspec.json.decode(await request.read(), type=Asked)
        return _json(await asyncio.to_thread(self._shown, asked))

    async def _label(self, request: web.Request) -> web.StreamResponse:
        given = msgspec.json.decode(await request.read(), type=Given)
        async with self._writing:
            await asyncio.to_thread(self._keep, given)
        return _json(await asyncio.to_thread(self._shown, Asked(given.who)))

    async def _worth(self, _: web.Request) -> web.StreamResponse:
        snapshot = self._adjudication.snapshot
        assert snapshot.manifest is not None
        protocol = snapshot.manifest.protocol.partition("@")[0]
        return _json({"worth": await asyncio.to_thread(worth, snapshot, protocol)})

    def _keep(self, given: Given) -> None:
        shown = self._adjudication.shown(given.at)
        if shown is None or content_of(shown[1]) != given.content:
            raise UsageError("the response has changed since it was shown; reload the page")
        with labels_journal(self._adjudication.snapshot.folder, given.who) as journal:
            journal.write([self._adjudication.label(given.at, given.content, given.label, given.who)])

    def _shown(self, asked: Asked) -> dict[str, Any]:
        """Return a response as HTML with its number; without a number, all responses have a label."""
        labels_journal(self._adjudication.snapshot.folder, asked.who)  # refuses an invalid name
        said, order = self._adjudication.opinions_of(asked.who), self._adjudication.order
        waiting = (at for at in range(len(order)) if at not in said and self._adjudication.shown(at) is not None)
        at = next(waiting, None) if asked.at is None else asked.at
        facts: dict[str, Any] = {"at": at, "done": len(said), "of": len(order)}
        shown = self._adjudication.shown(at) if at is not None else None
        if at is None or shown is None:
            return facts | {"at": None}
        html = self._rendered(*shown, whole=asked.whole)
        return facts | {"html": html, "content": content_of(shown[1]), "before": said.get(at)}

    def _rendered(self, question: Question, response: Response, *, whole: bool) -> str:
        text, until = response.text, clock() + FORMULA_SECONDS
        start = end_of_thinking(text)
        first = start if whole else max(start, len(text) - SHOWN)
        return render_fragment(
            self._site,
            "adjudicated.html",
            statement=rich(question.problem.statement),
            gold=gold_html(question.problem.gold),
            thinking=render_plain((response.reasoning or "") + text[:start]) if whole else None,
            left_out=0 if whole else first + len(response.reasoning or ""),
            pieces=[render(text[a:b], until=until) for a, b in blocks(text, first, len(text))],
        )


def _json(value: dict[str, Any]) -> web.Response:
    return web.Response(
        body=msgspec.json.encode(value), content_type="application/json", headers={"Cache-Control": "no-store"}
    )


@web.middleware
async def _refusals(request: web.Request, handler: Any) -> web.StreamResponse:
    """Answer in one sentence if a request cannot be read or stored; nothing is written then."""
    try:
        answer: web.StreamResponse = await handler(request)
    except (msgspec.DecodeError, UsageError, JournalError) as error:
        return web.Response(status=409 if isinstance(error, JournalError) else 400, text=f"{error}\n")
    except web.HTTPException as error:
        return web.Response(status=error.status, text=f"{error.reason}\n")
    return answer
