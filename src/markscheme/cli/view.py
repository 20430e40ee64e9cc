"""`markscheme view`: the browser app on a folder of runs, or the same as a site of plain files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from markscheme.errors import UsageError

DEFAULT_PORT = 7777


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "dir", nargs="?", default="runs", metavar="DIR", help="folder of runs, or one run (default: runs)"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to answer on (default: this machine only)")
    parser.add_argument("--port", type=int, help=f"port (default: {DEFAULT_PORT}, or any free one if it is taken)")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.add_argument("--export", metavar="SITE", help="write a site that needs no server into this folder, and stop")


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C, or export."""
    from markscheme.runs.folder import folder_of

    folder = folder_of(args.dir)
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; name the folder that holds your runs: markscheme view DIR")
    if args.export:
        from markscheme.view.export import export

        count = export(folder, Path(args.export), lambda line: print(line, file=sys.stderr))
        print(f"{count} pages in {args.export}; open {Path(args.export) / 'index.html'}")
        return 0
    return _serve(folder, args)


def _serve(folder: Path, args: argparse.Namespace) -> int:
    from markscheme.view.guard import is_loopback
    from markscheme.view.server import serve

    if not is_loopback(args.host):
        print(
            f"markscheme: answering on {args.host}: everyone who reaches this machine can read these runs",
            file=sys.stderr,
        )

    def started(address: str) -> None:
        print(f"{folder} is at {address}  (Ctrl-C ends it)", flush=True)
        if not args.no_browser:
            import webbrowser

            webbrowser.open(address)

    return answer_until_stopped(args.host, args.port, lambda port: serve(folder, args.host, port, started))


def answer_until_stopped(host: str, port: int | None, serve: Callable[[int], Coroutine[Any, Any, None]]) -> int:
    """Serve on a port until Ctrl-C; without one on the usual, or on any (0) if somebody has that."""
    import asyncio

    if port is not None and not 0 <= port <= 65535:
        raise UsageError(f"--port is a number from 0 to 65535, not {port}")
    *tried, last = [DEFAULT_PORT, 0] if port is None else [port]
    try:
        for each in tried:
            with suppress(OSError):
                asyncio.run(serve(each))
                return 0
        asyncio.run(serve(last))
    except OSError as error:
        raise UsageError(f"cannot answer on {host}: {error.strerror or error}; choose another --port") from None
    except KeyboardInterrupt:
        print("", file=sys.stderr)
    return 0
