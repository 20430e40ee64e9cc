"""Real servers that serve nano's weights through a backend of ours, and what tests need to ask and to hurt them."""

import asyncio
import contextlib
import os
import re
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from markscheme.config import make_config
from markscheme.models import load_model
from markscheme.models.base import Request, RequestFailed
from markscheme.types import Sampling


def environment(variable, program, maker):
    """The `bin` of the environment that a variable names; without it the test is skipped, or fails where all must run."""
    folder = Path(os.environ.get(variable, "no-such-folder"))
    if not (folder / "bin" / program).exists():
        stop = pytest.fail if os.environ.get("MARKSCHEME_REQUIRE_ALL") == "1" else pytest.skip
        stop(f"no {program}: `{maker} FOLDER` makes an environment with it, {variable}=FOLDER names it")
    return folder / "bin"


class Served:
    """A model whose servers are up, the folder of their logs, and a loop that goes on between calls."""

    def __init__(self, spec, folder, **options):
        self.folder = folder
        self.model = load_model(spec, make_config(benchmark="countdown-sample", model=spec, **options))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @contextlib.contextmanager
    def up(self):
        """Started, and always taken down."""
        self._thread.start()
        try:
            self.call(self.model.start(self.folder, lambda _: None))
            yield self
        finally:
            self.call(self.model.close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)
            self._loop.close()

    def call(self, awaitable):
        return asyncio.run_coroutine_threadsafe(awaitable, self._loop).result(600)

    def ask(self, question, *seeds, **sampling):
        return self.call(self.model.generate(request(question, *seeds, **sampling)))

    def ask_patiently(self, question, *seeds, **sampling):
        """As the scheduler does: another try where one can help."""
        for _ in range(20):
            try:
                return self.ask(question, *seeds, **sampling)
            except RequestFailed as failure:
                if not failure.retryable:
                    raise
                time.sleep(0.2)
        raise AssertionError("no answer in twenty tries")

    def logs(self):
        return [file.read_text() for file in sorted((self.folder / "servers").glob("*.log"))]

    def ports(self):
        return [int(re.findall(r"--port (\d+)", log)[-1]) for log in self.logs()]

    def process(self, place, program):
        """The id of a server itself, not of the small program that holds it."""
        port = f"--port {self.ports()[place]}"
        for entry in Path("/proc").iterdir():
            words = _words(entry) if entry.name.isdigit() else []
            if port in " ".join(words) and any(word.endswith(f"bin/{program}") for word in words[:3]):
                return int(entry.name)
        raise AssertionError(f"no {program} with {port}")

    def wait_for_restart(self, place):
        deadline = time.monotonic() + 500
        while self.logs()[place].count("== markscheme starts") < 2 or not self._healthy(place):
            assert time.monotonic() < deadline, self.logs()[place][-2000:]
            time.sleep(0.5)

    def _healthy(self, place):
        with contextlib.suppress(OSError), self.get(place, "/health") as answer:
            return answer.status == 200
        return False

    def get(self, place, path):
        return urllib.request.urlopen(f"http://127.0.0.1:{self.ports()[place]}{path}", timeout=30)


def request(question, *seeds, **sampling):
    return Request(
        benchmark="countdown-sample", problem_id=question.problem.id, key=question.problem.key,
        statement=question.problem.statement, prompt=question.prompt, samples=tuple(range(len(seeds))), seeds=seeds,
        sampling=Sampling(**{"temperature": 1.0, "max_tokens": 60, **sampling}),
    )  # fmt: skip


def in_numpy(questions, **sampling):
    """What nano answers to each, likeliest token by likeliest token."""
    nano = load_model("nano", make_config(benchmark="b", model="nano"))

    async def answers():
        return [(await nano.generate(request(one, 1, temperature=0.0, **sampling)))[0] for one in questions]

    found = asyncio.run(answers())
    asyncio.run(nano.close())
    return found


def _words(entry):
    try:
        return (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []
