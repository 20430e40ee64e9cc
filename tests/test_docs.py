"""Every command and every Python example in the README and the docs works as written.

A page is a session: its ```console blocks run in order, in one scratch folder, each line that starts with `$ `; then
its ```python blocks as one script. A ```toml block that begins with `# NAME.toml` is that file. `make` commands are run by `.ci/run`, which this checks.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])


def blocks(page: Path, language: str) -> str:
    """The fenced blocks of one language, joined."""
    fence = re.compile(rf"^```{language}\n(.*?)^```", re.DOTALL | re.MULTILINE)
    return "\n".join(fence.findall(page.read_text()))


def commands(page: Path) -> list[str]:
    """The commands of a page; a line that ends in a backslash goes on in the next."""
    lines = blocks(page, "console").replace("\\\n", " ").splitlines()
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_when_its_commands_are_typed_then_they_work(page, programs, tmp_path):
    path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100"}
    environment.pop("MARKSCHEME_DATA", None)
    environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    (tmp_path / "work").mkdir()
    for name, content in re.findall(r"^```toml\n# (\S+\.toml)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        (tmp_path / "work" / name).write_text(content)
    for command in commands(page):
        if command.startswith("make "):
            assert command in (ROOT / ".ci" / "run").read_text(), f"{command} is shown but never run"
            continue
        if command.startswith("jq ") and shutil.which("jq") is None and not os.environ.get("MARKSCHEME_REQUIRE_ALL"):
            continue  # the only program shown that is neither ours nor Python
        succeeds(["bash", "-c", on_fewer_problems(command)], tmp_path / "work", environment)
    if script := blocks(page, "python"):
        succeeds([programs / "python", "-c", script], tmp_path / "work", environment)


def on_fewer_problems(command: str) -> str:
    """As it stands where everything must run; elsewhere at most eight problems for the model in the box, which takes its
    time."""
    if "run countdown-sample --model nano " not in command or os.environ.get("MARKSCHEME_REQUIRE_ALL"):
        return command
    limit = re.search(r"--limit (\d+)", command)
    return (
        command.replace(" --model nano", " --model nano --limit 8")
        if limit is None
        else re.sub(r"--limit \d+", f"--limit {min(8, int(limit[1]))}", command)
    )


def succeeds(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout}\n{done.stderr}"


def test_readme_when_it_shows_what_you_get_then_the_demo_prints_that(tmp_path, launch):
    """All of the demo is half a minute of a core: here some of its puzzles, and what `.ci/run` kept of the whole."""
    shown = without_notes(blocks(ROOT / "README.md", "text"))
    if kept := os.environ.get("MARKSCHEME_DEMO"):
        printed = without_notes(Path(kept).read_text().partition("countdown-sample ·")[2])
        assert wording(shown) == wording("countdown-sample ·" + printed)
        # Another processor rounds differently, and once in a while a draw falls the other way.
        assert figures(shown) == pytest.approx(figures(printed), abs=1.5)
    demo = re.search(r"markscheme (run countdown-sample .*) --out", (ROOT / "Makefile").read_text())
    done = launch(*demo[1].split(), "--limit", 10, "--out", tmp_path / "demo", env={**os.environ, "COLUMNS": "100"})
    printed = without_notes(done.communicate(timeout=200)[0])
    assert done.returncode == 0
    assert set(wording(shown)) == set(wording(printed))
    assert figures(shown)[:3] == pytest.approx(figures(printed)[:3], abs=30)  # of so few, the intervals are wide


def without_notes(report: str) -> str:
    """A report up to its notes, which say other things of other runs."""
    return report.partition("run folder")[0].partition("\nnote:")[0]


def wording(report: str) -> list[str]:
    """Every word of a report, without figures and bars."""
    return [word for word in report.split() if not re.search(r"[\d█▒·]", word)]


def figures(report: str) -> list[float]:
    """The percentages of a report, and the bounds of their intervals."""
    return [float(figure) for figure in re.findall(r"\d+\.\d", report)]


def test_readme_when_read_then_shows_the_two_commands():
    assert {"make demo", "make test"} <= set(commands(ROOT / "README.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_when_it_links_to_a_file_then_the_file_is_there(page):
    for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_readme_when_a_folder_is_added_then_its_tree_names_it():
    tree = blocks(ROOT / "README.md", "text").partition("src/markscheme/\n")[2]
    package = ROOT / "src" / "markscheme"
    folders = [path for path in package.rglob("*") if path.is_dir() and path.name != "__pycache__"]
    missing = [str(folder.relative_to(package)) for folder in folders if f" {folder.name}/" not in tree]
    assert missing == []


def test_architecture_when_it_names_a_file_then_the_file_is_there():
    named = re.findall(r"`([\w./-]+(?:/|\.(?:py|toml|html|css|md)))`", (ROOT / "docs" / "architecture.md").read_text())
    placeholders = [name for name in named if "NAME" in name]
    assert len(named) - len(placeholders) > 60
    for name in set(named) - set(placeholders):
        assert any((base / name).exists() for base in (ROOT / "src" / "markscheme", ROOT)), name


# Files that docstrings name and that belong to others: the published originals, and what a user writes.
FOREIGN = {"file.py", "yourpackage.py"}


def test_docstrings_when_they_name_a_source_file_then_the_file_is_there():
    there = [
        f"/{file.relative_to(ROOT)}"
        for top in ("src", "compat", "tests", "train", "perf")
        for file in (ROOT / top).rglob("*.py")
    ]
    gone = []
    for module in (ROOT / "src").rglob("*.py"):
        nodes = [node for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, DOCUMENTED)]
        named = re.findall(r"`((?:[\w-]+/)*[\w-]+\.py)`", "\n".join(ast.get_docstring(node) or "" for node in nodes))
        gone += [f"{module}: {name}" for name in {*named} - FOREIGN if not any(x.endswith(f"/{name}") for x in there)]
    assert not gone


def test_pages_when_they_name_a_path_of_the_repository_then_it_is_there():
    named = {
        (page.name, name)
        for page in PAGES
        for name in re.findall(r"`((?:src/markscheme|tests|perf|compat|\.ci)/[\w./*-]+)`", page.read_text())
        if "NAME" not in name and "LANGUAGE" not in name
    }
    assert len(named) > 20
    assert not [each for each in named if not list(ROOT.glob(each[1].rstrip("/")))]


def test_page_of_a_protocol_when_read_then_names_the_version_that_is_installed():
    from markscheme.marking.protocols.table import PROTOCOLS

    told = {}
    for page in (ROOT / "docs" / "protocols").glob("*.md"):
        title = page.read_text(encoding="utf-8").partition("\n")[0]
        for names, version in re.findall(r"((?:`[^`]+`[^`]*?)+), version (\d+)", title):
            told |= dict.fromkeys(re.findall(r"`([^`]+)`", names), version)
    assert told == {rule.name: rule.version for rule in PROTOCOLS if rule.gold != "opinion"}
