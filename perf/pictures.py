"""The pictures in docs/images: the viewer on made-up runs, in headless Chromium.

    python perf/pictures.py [--every FOLDER]

`--every` instead writes every kind of page to a folder, in light and dark and at a phone's width, to look at after a change.
Needs Chromium, Playwright, and a font for mathematics (Debian: fonts-lmodern).
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
import msgspec
import run_folders
from page_server import Server

import markscheme as ms
from markscheme.config import RunConfig
from markscheme.marking import get_protocol
from markscheme.reporting.summary import finish
from markscheme.running.closing import close
from markscheme.runs.folder import Run
from markscheme.types import Response

IMAGES = Path(__file__).parents[1] / "docs" / "images"
PROTOCOLS = ["math", "normalized", "boxed-exact", "gsm8k-numeric"]
SHOWN = (4, 2)  # the problem and sample of the picture of a response
WRITTEN = r"""<think>
The sum of the squares follows from the coefficients alone. Let me check that with the roots themselves.
</think>
### Step 1: what we know

If $r_1$ and $r_2$ are the roots of $f$, **Vieta's formulas** give

$$r_1 + r_2 = SUM, \qquad r_1 r_2 = PRODUCT.$$

### Step 2: the sum of the squares

\begin{align}
r_1^2 + r_2^2 &= (r_1 + r_2)^2 - 2 r_1 r_2 \\
&= SUM^2 - 2 \cdot PRODUCT = GOLD
\end{align}

| root | square |
|---|---|
| $ONE$ | $ONE^2$ |
| $TWO$ | $TWO^2$ |

Therefore the sum is $\boxed{GOLD.0}$."""


def write_runs(root: Path) -> None:
    """Write two finished runs, four checkpoints of a training run, a run in progress, and a hostile one."""
    for name, skill, seed in (("tiny", 0.5, 3), ("tiny-rl", 0.62, 4)):
        _finished(root / name, 24, 16, skill, seed, model=f"openai/tiny-math{name.removeprefix('tiny')}")
    for step in (100, 200, 300, 400):
        _finished(
            root / "training" / f"step-{step}", 24, 4, 0.3 + step / 1200, step, model=f"hf/ckpt-{step}", step=step
        )
    run_folders.running(root / "in-progress", problems=12, samples=4, done=30)
    run_folders.hostile(root / "hostile")


def _finished(
    path: Path, problems: int, samples: int, skill: float, seed: int, model: str, step: int | None = None
) -> None:
    config = RunConfig(benchmark="math-sample", model=model, samples=samples, pass_k=(1, samples), step=step)
    protocol = get_protocol("math").label
    run_folders.finished(path, problems, samples, skill, seed, model=model, protocol=protocol, config=config)
    lines = [msgspec.json.decode(line, type=Response) for line in (path / "responses.jsonl").read_bytes().splitlines()]
    keys = [question.problem.key for question in Run.open(path).questions()]
    one, two = SHOWN[0] + 2, 3 * SHOWN[0] + 5
    text = WRITTEN
    for name, value in (
        ("SUM", one + two),
        ("PRODUCT", one * two),
        ("GOLD", one**2 + two**2),
        ("ONE", one),
        ("TWO", two),
    ):
        text = text.replace(name, str(value))
    for at, line in enumerate(lines):
        if (line.key, line.sample) == (keys[SHOWN[0]], SHOWN[1]):
            lines[at] = msgspec.structs.replace(line, text=text, finish_reason="stop", completion_tokens=412)
        elif line.error:  # as if a retry had helped
            lines[at] = msgspec.structs.replace(
                line, text=f"I give up at {at}.", error=None, error_kind=None, attempts=2
            )
        else:  # no two responses are the same
            lines[at] = msgspec.structs.replace(line, text=line.text.replace("twice", f"with r = {at}"))
    (path / "responses.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    shutil.rmtree(path / "marks")
    ms.load(path).mark(PROTOCOLS)
    run = Run.open(path)
    close(run, "complete", ended=run.manifest.ended)
    finish(run)


def pictures(folder: Path, *, every: bool) -> None:
    """Write the pictures of the docs, or of every page."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    cell = f"{SHOWN[0] + 1}/{SHOWN[1]}"
    pages = {"view": ("/run/tiny-rl", 1785), "view-response": (f"/run/tiny-rl/response/{cell}", 980)}
    looks = {"": {"color_scheme": "light"}}
    if every:
        names = ("", "run/tiny-rl", "run/in-progress", "run/tiny-rl/responses", f"run/tiny-rl/response/{cell}",
                 "run/tiny-rl/problem/5", "run/tiny-rl/problem/5/runs", "run/tiny-rl/audit",
                 "compare?run=tiny&run=tiny-rl", "compare/problem?run=tiny&run=tiny-rl&problem=5",
                 "series?experiment=training", "run/hostile", "run/hostile/response/1/5")  # fmt: skip
        pages = {name.replace("/", "-").partition("?")[0] or "runs": (f"/{name}", 0) for name in names}
        phone = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
        looks |= {"-dark": {"color_scheme": "dark"}, "-phone": {"color_scheme": "light", **phone}}
    with tempfile.TemporaryDirectory() as made, sync_playwright() as playwright:
        write_runs(Path(made) / "runs")
        server = Server(Path(made) / "runs")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for look, options in looks.items():
            context = browser.new_context(**{"viewport": {"width": 1240, "height": 900}, **options})
            tab = context.new_page()
            tab.set_default_timeout(120_000)
            for name, (address, height) in pages.items():
                tab.goto(server.url + address)
                tab.wait_for_selector('body:not([data-again="0.7"])', state="attached")  # all figures are there
                clip = {"x": 0, "y": 0, "width": 1240, "height": height} if height else None
                file = folder / f"{name}{look}.png"
                tab.screenshot(path=file, full_page=True, clip=clip)
                Image.open(file).convert("RGB").quantize(256).save(file, optimize=True)  # a third of the size
                if overflow := tab.evaluate("document.documentElement.scrollWidth - innerWidth"):
                    print(f"{name}{look} is {overflow} pixels wider than its window")
        browser.close()
        server.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=Path, metavar="FOLDER", help="write every page in every look to this folder")
    asked = parser.parse_args()
    target = asked.every or IMAGES
    target.mkdir(parents=True, exist_ok=True)
    pictures(target, every=asked.every is not None)
