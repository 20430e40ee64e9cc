"""A server on a folder of runs, and a real browser to look at it with."""

import os
import shutil
from pathlib import Path

import pytest
import run_folders as folders
from page_server import Server

CHROMIUM = os.environ.get("MARKSCHEME_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


PATIENCE = 120_000  # milliseconds: a busy machine takes its time, and nothing here measures it


@pytest.fixture(scope="session")
def runs(tmp_path_factory) -> Path:
    """A folder with every kind of run that is only looked at."""
    root = tmp_path_factory.mktemp("runs")
    folders.finished(root / "first", problems=12, samples=8, skill=0.6, seed=1)
    folders.finished(root / "second", problems=12, samples=8, skill=0.8, seed=2, model="openai/larger")
    folders.crashed(root / "crashed")
    folders.from_the_future(root / "future")
    folders.hostile(root / "hostile", long_line=10_000_000)
    (root / "broken").mkdir()
    (root / "broken" / "manifest.json").write_text("{ not JSON")
    return root


@pytest.fixture(scope="session")
def server(runs):
    """The app on that folder."""
    running = Server(runs)
    yield running
    running.close()


@pytest.fixture
def serve():
    """Start the app on a folder of the test's own."""
    started: list[Server] = []

    def start(root: Path) -> Server:
        started.append(Server(root))
        return started[-1]

    yield start
    for running in started:
        running.close()


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium of the system, driven by Playwright.

    Not longer than a module: Playwright keeps an event loop running in this thread, where no test could start another.
    """
    required = os.environ.get("MARKSCHEME_REQUIRE_ALL") == "1"
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        reason = "needs playwright"
    else:
        reason = "" if CHROMIUM else "needs Chromium: install your system's package or set MARKSCHEME_CHROMIUM"
    if reason and required:
        pytest.fail(f"{reason} (and MARKSCHEME_REQUIRE_ALL=1 lets nothing be skipped)")
    if reason:
        pytest.skip(reason)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def tab(browser):
    """One tab for all tests: a new one costs half a second. With it what went wrong in it."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 840}, permissions=["clipboard-read", "clipboard-write"]
    )
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    troubles: list[str] = []
    opened.on("pageerror", lambda error: troubles.append(str(error)))
    opened.on("console", lambda said: troubles.append(said.text) if said.type in ("error", "warning") else None)
    opened.on("dialog", lambda dialog: (troubles.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
    opened.on("request", lambda asked: troubles.append(f"asked for {asked.url}") if _outside(asked.url) else None)
    yield opened, troubles
    context.close()


@pytest.fixture
def new_context(browser):
    """Another window, as the test wants it: `new_context(color_scheme="dark")`, closed with the test."""
    opened = []

    def new(**options):
        opened.append(browser.new_context(**options))
        opened[-1].set_default_timeout(PATIENCE)
        return opened[-1]

    yield new
    for context in opened:
        context.close()


@pytest.fixture
def page(tab):
    """The tab without a memory; fails the test on any script error, refused resource or request to elsewhere."""
    opened, troubles = tab
    yield opened
    opened.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
    opened.goto("about:blank")  # whatever it still asks for, it does not ask of a server that is gone
    seen = troubles[:]
    troubles.clear()
    assert seen == []


def _outside(url: str) -> bool:
    return not url.startswith(("http://127.0.0.1:", "file:///", "data:", "about:"))
