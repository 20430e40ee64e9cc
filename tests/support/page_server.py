"""Pages that a test can open in a browser."""

import asyncio
import threading
from pathlib import Path

from aiohttp import web


class Server:
    """An app, or the viewer on a folder, in a thread of its own; `url` is where it answers."""

    def __init__(self, served: Path | web.Application, host: str = "127.0.0.1") -> None:
        self.url, self._ready = "", threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main(served, host)), daemon=True)
        self._thread.start()
        assert self._ready.wait(200), "the server did not start"

    async def _main(self, served: Path | web.Application, host: str) -> None:
        from markscheme.view.server import serve

        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()

        def started(address: str) -> None:
            self.url = address.rstrip("/")
            self._ready.set()

        try:
            await serve(served, host, 0, started)
        except asyncio.CancelledError:
            return

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(10)
