"""The server: maps addresses to pages, which are made in threads so that a long read does not block the others."""

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


def make_app(root: Path, host: str, only: Callable[[], Page] | None = None) -> web.Application:
    """Return the app for one folder, or with a single page; `host` is the address it will listen on."""
    app = web.Application(middlewares=[Guard(host).middleware, _not_there])
    app[SITE] = Site(Library(root), Links(asset_version()))
    cell = _pattern(PAGES["response"].address)
    app.add_routes(
        [_page("/", lambda *_: only())]
        if only is not None
        else [
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
        ]
    )
    app.add_routes([web.get("/assets/{name}", send_asset)])
    app.on_startup.append(_prepare)
    app.on_cleanup.append(_close)
    return app


def asset_version() -> str:
    """Return a hash of the style sheets and scripts."""
    content = b"".join(asset(name) for name in sorted(ASSETS))
    return hashlib.sha256(content).hexdigest()[:8]


def asset(name: str) -> bytes:
    """Return a packaged style sheet, script or picture; the style sheet has the colours of verdicts added."""
    content = Path(__file__).with_name("assets").joinpath(name).read_bytes()
    return content + style_sheet().encode() if name == "app.css" else content


async def _prepare(app: web.Application) -> None:
    """Use few threads, since each keeps its own memory, and compile the templates in the background."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, thread_name_prefix="pages"))
    app[PREPARING] = asyncio.create_task(_compile_later())


async def _compile_later() -> None:
    await asyncio.sleep(1)  # the first page has priority
    await asyncio.to_thread(compile_templates)


async def _close(app: web.Application) -> None:
    app[PREPARING].cancel()
    app[SITE].close()


@web.middleware
async def _not_there(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Return a page that says what is missing."""
    try:
        return await handler(request)
    except MarkschemeError as problem:  # a mistake in a condition, a damaged file
        message = str(problem)
    except web.HTTPNotFound:
        message = "This page does not exist."
    page = Page("missing.html", "Not found", {"message": message})
    return _html(render_page(request.app[SITE], page), 404)


def _get(address: str, make: Callable[[Site, web.Request], web.Response]) -> web.RouteDef:
    """Make the answer in a thread; the page's patience begins there."""

    async def handle(request: web.Request) -> web.StreamResponse:
        return await asyncio.to_thread(lambda: make(request.app[SITE].begin(), request))

    return web.get(address, handle)


def _page(address: str, make: Callable[[Site, web.Request], Page]) -> web.RouteDef:
    """Answer with a whole page, or with 304 if the browser has it already."""

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
    """Restrict problems and samples in an address to numbers."""
    return re.sub(r"\{(problem|sample)\}", r"{\1:\\d{1,9}}", address)


def _listed_page(place: Place) -> web.RouteDef:
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
    """Return run, problem (from 0) and sample, as far as an address names them."""
    parts = request.match_info
    return parts.get("slug", ""), int(parts.get("problem", "1")) - 1, int(parts.get("sample", "0"))


def _csv(address: str, make: Callable[[Site, web.Request], Iterable[list[object]]]) -> web.RouteDef:
    """Stream a table as a file, so that its length is not limited by memory."""

    async def handle(request: web.Request) -> web.StreamResponse:
        rows = iter(make(request.app[SITE].begin(), request))
        lines = await asyncio.to_thread(csv_lines, rows, 1)  # errors show before anything is sent
        name = re.sub(r"[^A-Za-z0-9.-]+", "-", request.path.strip("/")) or "runs.csv"
        response = web.StreamResponse(
            headers={
                **HEADERS,
                "Content-Type": "text/csv; charset=utf-8",
                "Content-Disposition": f'attachment; filename="{name}"',
            }
        )
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):  # the reader closed the connection
            while lines:
                await response.write(lines)
                lines = await asyncio.to_thread(csv_lines, rows, CSV_ROWS_AT_ONCE)
            await response.write_eof()
        return response

    return web.get(address, handle)


def csv_lines(rows: Iterable[list[object]], most: int) -> bytes:
    """Return the next rows of a table as lines of a CSV file."""
    out = io.StringIO()
    writer = csv.writer(out)
    for _, row in zip(range(most), rows, strict=False):
        writer.writerow([safe_cell(value) for value in row])
    return out.getvalue().encode("utf-8", "replace")


def safe_cell(value: object) -> object:
    """Put an apostrophe before a text that a spreadsheet would run as a formula."""
    if isinstance(value, str) and value[:1] in tuple("=+-@\t\r\n＝＋－＠"):
        return value if re.fullmatch(r"[+-]?[\d.,]+(e[+-]?\d+)?", value, re.IGNORECASE) else "'" + value
    return value


def _text(site: Site, request: web.Request) -> web.Response:
    """Return the text of a response as plain text."""
    *_, response = find_response(site, *_cell(request))
    whole = (f"{response.reasoning}\n\n" if response.reasoning else "") + response.text
    return web.Response(body=whole.encode("utf-8", "replace"), content_type="text/plain", charset="utf-8")


def _record(site: Site, request: web.Request) -> web.Response:
    """Return everything that is stored about a response as JSON: problem, prompt, response and marks."""
    body = msgspec.json.format(msgspec.json.encode(full_record(site, *_cell(request))))
    return web.Response(body=body, content_type="application/json", charset="utf-8")


def _piece(site: Site, request: web.Request) -> web.Response:
    """Return a part of a long text."""
    try:
        start, end = (int(request.query[name][:12]) for name in ("from", "to"))
    except (KeyError, ValueError):
        raise NotThereError("A piece of a text needs `from` and `to`.") from None
    return _html(text_piece(site, *_cell(request), request.query.get("part", "text"), start, end), 200)


def _others(site: Site, request: web.Request) -> web.Response:
    """Return the verdicts of the protocols that the run was not marked with."""
    return _html(render_fragment(site, "judgements.html", marks=other_marks(site, *_cell(request)), stored=False), 200)


async def send_asset(request: web.Request) -> web.StreamResponse:
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
    """Return large buffers to the system at once: otherwise glibc keeps them for each thread (40 MB in total)."""
    with contextlib.suppress(OSError, AttributeError):  # another C library
        if sys.platform == "linux":
            ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 256 << 10)


def _is_ours(record: logging.LogRecord) -> bool:
    """Drop the tracebacks of requests that are not HTTP; the client gets a 400."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


async def serve(app: Path | web.Application, host: str, port: int, started: Callable[[str], Any]) -> None:
    """Serve an app, or the pages of a folder, until cancelled; call `started` with the address once it works."""
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
