"""`markscheme view`: browse every response in the browser, or export the pages as a static site."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.cli import complain
from markscheme.cli.page import call
from markscheme.errors import UsageError, command, counted

if TYPE_CHECKING:
    from aiohttp import web

DEFAULT_PORT = 7777


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C, or export."""
    from markscheme.runs.folder import folder_of

    folder = Path(args.dir) if args.rollouts else folder_of(args.dir)
    if not folder.is_dir():
        raise UsageError(
            f"there is no folder {folder}; name the folder that contains your runs: {command('view', 'DIR')}"
        )
    if args.export:
        from markscheme.view.export import export

        count = export(folder, Path(args.export), lambda line: print(line, file=sys.stderr))
        print(f"{counted(count, 'page')} in {args.export}; open {Path(args.export) / 'index.html'}")
        return 0
    return _serve(folder, args, _live(folder, args) if args.rollouts else folder)


def _live(folder: Path, args: argparse.Namespace) -> web.Application:
    from markscheme.api.rewarding import follow
    from markscheme.view.rollouts import make_live_app

    first, *others = args.protocol or [None]
    return make_live_app(call(follow, args, rollouts=folder, protocol=first, beside=others or None), args.host)


def _serve(folder: Path, args: argparse.Namespace, app: Path | web.Application) -> int:
    from markscheme.view.guard import is_loopback
    from markscheme.view.server import serve

    if not is_loopback(args.host):
        complain(f"listening on {args.host}: everyone who can reach this machine can read these runs")

    def started(address: str) -> None:
        print(f"{folder} is at {address}  (press Ctrl-C to stop)", flush=True)
        if not args.no_browser:
            import webbrowser

            webbrowser.open(address)

    return answer_until_stopped(args.host, args.port, lambda port: serve(app, args.host, port, started))


def answer_until_stopped(host: str, port: int | None, serve: Callable[[int], Coroutine[Any, Any, None]]) -> int:
    """Serve on a port until Ctrl-C; without one on the default port, or on any (0) if that is taken."""
    import asyncio

    *tried, last = [DEFAULT_PORT, 0] if port is None else [port]
    try:
        for each in tried:
            with suppress(OSError):
                asyncio.run(serve(each))
                return 0
        asyncio.run(serve(last))
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host}: {error.strerror or error}; choose another --host or --port"
        ) from None
    except KeyboardInterrupt:
        print("", file=sys.stderr)
    return 0
