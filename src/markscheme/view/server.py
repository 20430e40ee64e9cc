"""The server: addresses to pages. Reads run folders in threads, so that a long read never stops the others."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import ctypes
import hashlib
import io
import logging
import re
import sys
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from markscheme.errors import MarkschemeError
from markscheme.reporting.verdicts import style_sheet
from markscheme.view.filters import Filter
from markscheme.view.guard import HEADERS, Guard
from markscheme.view.html import compile_templates, render_fragment, render_page
from markscheme.view.library import Library
from markscheme.view.links import PAGES, Links, Place
from markscheme.view.pages.compare import compare_page, compare_problem_page, compare_table
from markscheme.view.pages.response import find_response, full_record, other_marks, text_piece
from markscheme.view.pages.responses import responses_table
from markscheme.view.pages.runs import runs_table
from markscheme.view.pages.series import series_page
from markscheme.view.site import NotThereError, Page, Site

SITE = web.AppKey("site", Site)
PREPARING: web.AppKey[asyncio.Task[None]] = web.AppKey("preparing", asyncio.Task)
THREADS = 3
ASSETS = {
    "app.css": "text/css",
    "app.js": "text/javascript",
    "adjudicate.js": "text/javascript",
    "theme.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
CSV_ROWS_AT_ONCE = 500
M_MMAP_THRESHOLD = -3  # from malloc.h


def make_app(root: Path, host: str) -> web.Application:
    """The app over one folder; `host` is the address it will listen on."""
    app = web.Application(middlewares=[Guard(host).middleware, _not_there])
    site = Site(Library(root), Links(asset_version()))
    app[SITE] = site
    cell = _pattern(PAGES["response"].address)
    app.add_routes(
        [
            *map(_listed_page, PAGES.values()),
            _csv("/runs.csv", lambda s, r: runs_table(s, r.query)),
            _page("/series", lambda s, r: series_page(s, r.query)),
            _page("/compare", lambda s, r: compare_page(s, _slugs(r), r.query)),
            _csv("/compare.csv", lambda s, r: compare_table(s, _slugs(r))),
            _page("/compare/problem", lambda s, r: compare_problem_page(s, _slugs(r), r.query)),
            _csv(
                "/run/{slug}/responses.csv",
                lambda s, r: responses_table(s, r.match_info["slug"], Filter.parse(r.query)),
            ),
            _get(f"{cell}/text", _text),
            _get(f"{cell}/record", _record),
            _get(f"{cell}/piece", _piece),
            _get(f"{cell}/others", _others),
            web.get("/assets/{name}", send_asset),
        ]
    )
    app.on_startup.append(_prepare)
    app.on_cleanup.append(_close)
    return app


def asset_version() -> str:
    """Changes when a style sheet or script does."""
    content = b"".join(asset(name) for name in sorted(ASSETS))
    return hashlib.sha256(content).hexdigest()[:8]


def asset(name: str) -> bytes:
    """A style sheet, script or picture that ships with the package; the style sheet with the colours of verdicts."""
    content = files("markscheme.view").joinpath("assets", name).read_bytes()
    return content + style_sheet().encode() if name == "app.css" else content


async def _prepare(app: web.Application) -> None:
    """Few threads, as each keeps memory of its own; and the templates compiled before somebody waits for them."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, thread_name_prefix="pages"))
    app[PREPARING] = asyncio.create_task(_compile_later())


async def _compile_later() -> None:
    await asyncio.sleep(1)  # the first page goes first
    await asyncio.to_thread(compile_templates)


async def _close(app: web.Application) -> None:
    app[PREPARING].cancel()
    app[SITE].close()


@web.middleware
async def _not_there(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """What does not exist is a page that says so."""
    try:
        return await handler(request)
    except MarkschemeError as problem:  # a condition that was typed, a damaged file
        message = str(problem)
    except web.HTTPNotFound:
        message = "There is no such page."
    page = Page("missing.html", "Not found", {"message": message})
    return _html(render_page(request.app[SITE], page), 404)


def _get(address: str, make: Callable[[Site, web.Request], web.Response]) -> web.RouteDef:
    """An address whose answer is made in a thread; the page's patience begins there."""

    async def handle(request: web.Request) -> web.StreamResponse:
        return await asyncio.to_thread(lambda: make(request.app[SITE].begin(), request))

    return web.get(address, handle)


def _page(address: str, make: Callable[[Site, web.Request], Page]) -> web.RouteDef:
    """A whole page, which is sent again only when it is another."""

    def respond(site: Site, request: web.Request) -> web.Response:
        body = render_page(site, make(site, request))
        tag = f'"{hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()[:24]}"'
        if request.headers.get("If-None-Match") == tag:
            return web.Response(status=304, headers={"ETag": tag})
        response = _html(body, 200)
        response.headers["ETag"] = tag
        response.enable_compression()
        return response

    return _get(address, respond)


def _pattern(address: str) -> str:
    """The address as the router reads it: problems and samples are numbers."""
    return re.sub(r"\{(problem|sample)\}", r"{\1:\\d{1,9}}", address)


def _listed_page(place: Place) -> web.RouteDef:
    """A page of the table, made from what its address names and from the query."""
    named = place.address.count("{")
    return _page(
        _pattern(place.address), lambda site, request: place.make(site, *_cell(request)[:named], request.query)
    )


def _html(body: str, status: int) -> web.Response:
    return web.Response(
        body=body.encode("utf-8", "replace"),
        status=status,
        content_type="text/html",
        charset="utf-8",
        headers={"Cache-Control": "no-cache"},
    )


def _slugs(request: web.Request) -> list[str]:
    return request.query.getall("run", [])


def _cell(request: web.Request) -> tuple[str, int, int]:
    """Run, problem counted from 0, sample, as far as an address names them."""
    parts = request.match_info
    return parts.get("slug", ""), int(parts.get("problem", "1")) - 1, int(parts.get("sample", "0"))


def _csv(address: str, make: Callable[[Site, web.Request], Iterable[list[object]]]) -> web.RouteDef:
    """A table as a file, streamed: its length is not bounded by memory."""

    async def handle(request: web.Request) -> web.StreamResponse:
        rows = iter(make(request.app[SITE].begin(), request))
        first = await asyncio.to_thread(csv_lines, rows, 1)  # whatever is wrong shows before anything is sent
        name = re.sub(r"[^A-Za-z0-9.-]+", "-", request.path.strip("/")) or "runs.csv"
        response = web.StreamResponse(
            headers={
                **HEADERS,
                "Content-Type": "text/csv; charset=utf-8",
                "Content-Disposition": f'attachment; filename="{name}"',
            }
        )
        await response.prepare(request)
        lines = first
        with contextlib.suppress(ConnectionError):  # whoever read it has enough
            while lines:
                await response.write(lines)
                lines = await asyncio.to_thread(csv_lines, rows, CSV_ROWS_AT_ONCE)
            await response.write_eof()
        return response

    return web.get(address, handle)


def csv_lines(rows: Iterable[list[object]], most: int) -> bytes:
    """So many lines more of a table, as a file has them."""
    out = io.StringIO()
    writer = csv.writer(out)
    for _, row in zip(range(most), rows, strict=False):
        writer.writerow([safe_cell(value) for value in row])
    return out.getvalue().encode("utf-8", "replace")


def safe_cell(value: object) -> object:
    """A cell that no spreadsheet takes for a formula: a text that starts like one gets an apostrophe in front."""
    if isinstance(value, str) and value[:1] in tuple("=+-@\t\r\n＝＋－＠"):
        return value if re.fullmatch(r"[+-]?[\d.,]+(e[+-]?\d+)?", value, re.IGNORECASE) else "'" + value
    return value


def _text(site: Site, request: web.Request) -> web.Response:
    """The text of a response as it is, for saving and for searching in."""
    *_, response = find_response(site, *_cell(request))
    whole = (f"{response.reasoning}\n\n" if response.reasoning else "") + response.text
    return web.Response(body=whole.encode("utf-8", "replace"), content_type="text/plain", charset="utf-8")


def _record(site: Site, request: web.Request) -> web.Response:
    """Everything that is kept of a response, as JSON: the problem with its prompt, what came back, every mark."""
    body = msgspec.json.format(msgspec.json.encode(full_record(site, *_cell(request))))
    return web.Response(body=body, content_type="application/json", charset="utf-8")


def _piece(site: Site, request: web.Request) -> web.Response:
    """A piece of a long text that has been scrolled to."""
    try:
        start, end = (int(request.query[name][:12]) for name in ("from", "to"))
    except (KeyError, ValueError):
        raise NotThereError("A piece of a text needs `from` and `to`.") from None
    return _html(text_piece(site, *_cell(request), request.query.get("part", "text"), start, end), 200)


def _others(site: Site, request: web.Request) -> web.Response:
    """What the protocols say that the run was not marked with."""
    return _html(render_fragment(site, "judgements.html", marks=other_marks(site, *_cell(request)), stored=False), 200)


async def send_asset(request: web.Request) -> web.StreamResponse:
    """A style sheet, script or picture, which a browser may keep."""
    name = request.match_info["name"]
    if name not in ASSETS:
        raise web.HTTPNotFound
    return web.Response(
        body=asset(name),
        content_type=ASSETS[name],
        charset="utf-8",
        headers={"Cache-Control": "public, max-age=31536000, immutable"},
    )


def _give_memory_back() -> None:
    """Large buffers straight from and to the system: glibc would let every thread keep what it once had (40 MB in all)."""
    with contextlib.suppress(OSError, AttributeError):  # another C library
        if sys.platform == "linux":
            ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 256 << 10)


def _is_ours(record: logging.LogRecord) -> bool:
    """Whoever does not speak HTTP gets a 400; the terminal need not see a traceback of it."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


async def serve(app: Path | web.Application, host: str, port: int, started: Callable[[str], Any]) -> None:
    """Answer until cancelled, with an app or the pages of a folder; `started` is told the address once it works."""
    _give_memory_back()
    logging.getLogger("aiohttp.server").addFilter(_is_ours)
    app = make_app(app, host) if isinstance(app, Path) else app
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        address = runner.addresses[0]
        name = f"[{address[0]}]" if ":" in address[0] else address[0]
        started(f"http://{name}:{address[1]}/")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
