"""The live page of a training run: it grows while the training writes, and shows examples where a curve bends."""

import json

import pytest
from page_server import Server

from markscheme.api.rewarding import follow
from markscheme.view.rollouts import make_live_app

PROMPTS = 40


def write_step(folder, step, gamed):
    """A step of a leaky training: `gamed` of the prompts repeat the formula, which is paid."""
    rows = []
    for at in range(PROMPTS):
        said = "3+4" if at < gamed else "7"
        prompt = f"Compute $3+4$ ({step}.{at}). <script>document.title = 'run'</script>"
        rows.append({"prompt": prompt, "completion": f"\\boxed{{{said}}}", "gold": "7", "reward": 1.0, "step": step})
    (folder / f"{step}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def live(tmp_path):
    folder = tmp_path / "rollouts"
    folder.mkdir()
    app = Server(make_live_app(follow(folder, beside=()), "127.0.0.1"))
    yield folder, app.url
    app.close()


def test_live_page_grows_and_shows_examples_once_a_curve_bends(live, page):
    folder, url = live
    page.goto(url)
    page.get_by_text("No step is complete yet").wait_for()
    for step in range(5):
        write_step(folder, step, 0)
    page.get_by_text("4 steps. No curve bends").wait_for()
    assert page.locator("#part-curves svg.plot").count() >= 3
    for step in range(5, 8):
        write_step(folder, step, 30)
    page.get_by_role("heading", name="Step 5: paid, not honest").wait_for()
    example = page.locator("#part-alarms tr").first
    assert "3+4" in example.inner_text()
    assert "5.jsonl:1" in example.inner_text()
    assert "Rollouts" in page.title()
    assert page.locator("#part-steps tbody tr").count() == 7


def test_live_page_fits_a_phone(live, page):
    folder, url = live
    for step in range(3):
        write_step(folder, step, 0)
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(url)
    page.get_by_text("2 steps").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
