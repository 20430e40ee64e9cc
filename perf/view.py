"""What the viewer takes: 200 runs, one run of 100,000 responses (1 GB), a trace of a megabyte; time and memory.

    python perf/view.py [--quick] [--keep FOLDER]

The server runs as users run it, in its own process; times are of whole pages over HTTP from this one, CPU of the server
beside them, as the machine may be shared. `--quick` has a tenth of the responses; `--keep` makes the folders once and uses
them again. Needs Chromium for the scrolling; without it that line is left out.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
import run_folders

from markscheme.reporting.summary import finish
from markscheme.running.closing import close
from markscheme.runs.folder import Run
from markscheme.types import Mark, Response, Verdict


@dataclass
class Line:
    """One line of the table."""

    what: str
    measured: float
    cpu: float | None
    limit: float | None
    unit: str = "s"

    def __str__(self) -> str:
        cpu = "" if self.cpu is None else f"{self.cpu:.2f} s"
        limit = "" if self.limit is None else f"≤ {self.limit:g} {self.unit}"
        share = "" if self.limit is None else f"{self.measured / self.limit:.2f}"
        digits = 0 if self.unit == "MB" else 3
        return f"| {self.what} | {self.measured:.{digits}f} {self.unit} | {cpu} | {limit} | {share} |"


class Server:
    """`markscheme view` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.started = time.monotonic()
        command = [sys.executable, "-m", "markscheme", "view", str(folder), "--no-browser", "--port", "0"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        self.url = next(word for word in line.split() if word.startswith("http://")).rstrip("/")

    def get(self, path: str) -> str:
        parts = urlsplit(self.url)
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        assert answer.status == 200, (path, answer.status)
        return body

    def cpu(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """The most it ever had resident, in MB."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1000

    def timed(self, what: str, path: str, limit: float | None, tries: int = 1) -> Line:
        best: tuple[float, float] | None = None
        for _ in range(tries):
            cpu, start = self.cpu(), time.monotonic()
            self.get(path)
            taken = (time.monotonic() - start, self.cpu() - cpu)
            best = min(best, taken) if best else taken
        assert best is not None
        return Line(what, best[0], best[1], limit)

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Server]:
    server = Server(folder)
    try:
        yield server
    finally:
        server.close()


def many_runs(root: Path, count: int) -> Path:
    """Finished runs as `markscheme run` leaves them: marks of one protocol or two, and a report."""
    if root.exists():
        return root
    for number in range(count):
        skill = 0.3 + 0.5 * number / count
        path = run_folders.finished(root / f"run-{number:03d}", problems=30, samples=8, skill=skill, seed=number)
        run = Run.open(path)
        close(run, "complete")
        finish(run)
    return root


def huge_run(root: Path, problems: int) -> Path:
    if not root.exists():
        run_folders.huge(root / "big", problems=problems, samples=100)
    return root


def long_trace(root: Path) -> Path:
    if root.exists():
        return root
    path = run_folders.running(root / "long", done=0)
    item = run_folders.problem(0)
    text = (
        "".join(f"Step {n}: $a_{{{n}}} = \\frac{{{n}}}{{2}} + \\sqrt{{{n}}}$.\n\n" for n in range(24_000))
        + "\\boxed{7}"
    )
    run_folders.append(path / "responses.jsonl", [Response(key=item.key, sample=0, text=text)])
    span = (len(text) - 2, len(text) - 1)
    run_folders.append(
        path / "marks" / "math.jsonl", [Mark(key=item.key, verdict=Verdict.WRONG, answer="7", span=span)]
    )
    return root


def first_pages(folder: Path, name: str, paths: list[tuple[str, str]], starts: int = 3) -> list[Line]:
    """Pages of servers that have just been started, one after the other; the best start counts."""
    found: list[list[Line]] = []
    for _ in range(starts):
        with serving(folder) as server:
            lines = [server.timed(f"{name}: {what}, nothing read yet", path, 1.0) for what, path in paths]
            whole = time.monotonic() - server.started
            found.append([*lines, Line(f"{name}: from typing the command", whole, server.cpu(), None)])
    return [min(lines, key=lambda line: line.measured) for lines in zip(*found, strict=True)]


def measure_many(folder: Path) -> list[Line]:
    lines = first_pages(folder, "200 runs", [("the first page", "/")])
    with serving(folder) as server:
        assert "reading…" not in server.get("/")
        return [
            *lines,
            server.timed("200 runs: the page again", "/?sort=accuracy", 1.0, tries=3),
            server.timed("200 runs: filtered", "/?q=run-1&sort=tokens", 0.5, tries=3),
            Line("200 runs: memory of the server", server.memory(), None, 200, "MB"),
        ]


def measure_huge(folder: Path, responses: int) -> list[Line]:
    name = f"{responses:,} responses"
    lines = first_pages(folder, name, [("the first page", "/"), ("the run's page", "/run/big")])
    with serving(folder) as server:
        server.get("/")
        cpu, start = server.cpu(), time.monotonic()
        while f"of {responses:,} responses" not in server.get("/run/big/responses") or "Reading" in server.get(
            "/run/big"
        ):
            time.sleep(0.7)  # as the page itself asks
        lines += [
            Line(
                f"{name}: until every line is indexed (usable meanwhile)",
                time.monotonic() - start,
                server.cpu() - cpu,
                None,
            ),
            server.timed(f"{name}: the run's page", "/run/big", 1.0, tries=3),
            server.timed(
                f"{name}: filter by verdict, group and tokens",
                "/run/big/responses?verdict=wrong&min_tokens=500&group=level:3&sort=tokens&down=1",
                0.5,
                tries=3,
            ),
            server.timed(f"{name}: filter by disagreement", "/run/big/responses?disagree=1", 0.5, tries=3),
            server.timed(f"{name}: a problem with 100 samples", "/run/big/problem/7", 1.0, tries=3),
            server.timed(f"{name}: a response", "/run/big/response/7/3", 1.0, tries=3),
        ]
        for what, query in (
            ("match case", "q=xylophone&case=1"),
            ("any case", "q=Xylophone"),
            ("among the wrong", "q=vieta&verdict=wrong"),
        ):
            cpu, start = server.cpu(), time.monotonic()
            lines.append(server.timed(f"{name}: words, {what}: first results", f"/run/big/responses?{query}", 0.5))
            while "so far:" in server.get(f"/run/big/responses?{query}"):
                time.sleep(0.1)
            whole = time.monotonic() - start
            lines.append(Line(f"{name}: words, {what}: all texts searched", whole, server.cpu() - cpu, None))
        lines.append(Line(f"{name}: memory of the server after all of this", server.memory(), None, 200, "MB"))
    return lines


def measure_trace(folder: Path) -> list[Line]:
    with serving(folder) as server:
        server.get("/run/long")
        lines = [server.timed("a trace of a megabyte: its page", "/run/long/response/1/0", 1.0, tries=3)]
        frames = scrolling(server.url + "/run/long/response/1/0")
        if frames:
            lines.append(
                Line("a trace of a megabyte: a frame while scrolling, median", frames[len(frames) // 2], None, None)
            )
            lines.append(
                Line("a trace of a megabyte: 95 % of frames within", frames[int(0.95 * len(frames))], None, 0.1)
            )
    return lines


def scrolling(url: str) -> list[float]:
    """Seconds of each frame while a page is scrolled through, sorted; empty without a browser."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        return []
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 840})
        page.goto(url)
        page.wait_for_timeout(1000)
        frames: list[float] = page.evaluate(
            """async () => {
                const frames = [];
                let before = performance.now();
                for (let i = 0; i < 300; i++) {
                    window.scrollBy({ top: 1200, behavior: "instant" });
                    await new Promise(requestAnimationFrame);
                    const now = performance.now();
                    frames.push((now - before) / 1000);
                    before = now;
                }
                return frames;
            }"""
        )
        browser.close()
    return sorted(frames)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    problems = 100 if args.quick else 1000
    with tempfile.TemporaryDirectory() as scratch:
        root = args.keep or Path(scratch)
        root.mkdir(parents=True, exist_ok=True)
        lines = measure_many(many_runs(root / "many", 200))
        lines += measure_huge(huge_run(root / f"huge-{problems}", problems), problems * 100)
        lines += measure_trace(long_trace(root / "long"))
    print("| | measured | CPU of the server | limit | measured / limit |\n|---|---|---|---|---|")
    print("\n".join(map(str, lines)))
    missed = [line for line in lines if line.limit is not None and line.measured > line.limit]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
