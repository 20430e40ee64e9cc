"""The site of the documentation: builds without a warning, has every page, and what it says of other tools is so."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import markscheme as ms
from markscheme.cli import build_parser

ROOT = Path(__file__).parents[1]


@pytest.mark.needs("mkdocs", "mkdocstrings", "material")
def test_site_when_built_then_no_warning_and_every_page_and_name_is_there(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for page in (ROOT / "docs").rglob("*.md"):
        place = page.relative_to(ROOT / "docs").with_suffix("")
        built = place.parent if place.name == "README" else place
        assert (tmp_path / built / "index.html").exists(), page
    reference = (tmp_path / "reference" / "index.html").read_text()
    functions = [name for name in dir(ms) if name.islower() and not name.startswith("_")]
    missing = [name for name in functions if not re.search(rf'id="markscheme[\w.]*\.{name}"', reference)]
    assert missing == []


def side(page, column):
    """What a column of a page's table has in code."""
    rows = [line.split(" | ") for line in (ROOT / "docs" / page).read_text().splitlines() if line.startswith("| ")]
    return [code for row in rows for code in re.findall(r"`([^`]+)`", row[column])]


@pytest.mark.needs("lm_eval")
def test_flags_of_lm_eval_when_they_are_shown_then_lm_eval_has_them():
    shown = help_of("from lm_eval.__main__ import cli_evaluate; cli_evaluate()", "run")
    flags = {flag for code in side("from-lm-eval.md", 0) for flag in re.findall(r"(?<!\S)--\w+", code)}
    assert len(flags) > 8
    assert {flag for flag in flags if flag not in shown} == set()


@pytest.mark.needs("inspect_ai")
def test_flags_of_inspect_when_they_are_shown_then_inspect_has_them():
    start = "from inspect_ai._cli.main import main; main()"
    shown = "".join(help_of(start, command) for command in ("eval", "eval-retry", "eval-set", "score", "view"))
    flags = {flag for code in side("from-inspect.md", 0) for flag in re.findall(r"(?<!\S)--[\w-]+", code)}
    assert len(flags) > 8
    assert {flag for flag in flags if flag not in shown} == set()


@pytest.mark.parametrize("page", ["from-lm-eval.md", "from-inspect.md"])
def test_flags_of_ours_when_they_are_shown_then_the_command_has_them(page):
    ours = {flag for command in ("run", "mark", "resume") for flag in flags_of(command)}
    shown = {flag for code in side(page, 1) for flag in re.findall(r"(?<!\S)--?[a-z][\w-]*", code)}
    assert len(shown) > 6
    assert shown - ours == set()


def flags_of(command):
    return [flag for action in build_parser(command)._actions for flag in action.option_strings]


def help_of(start, command):
    code = f"import sys; sys.argv = ['x', {command!r}, '--help']; {start}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return done.stdout + done.stderr
