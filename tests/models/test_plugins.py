"""A backend from another package: really built, installed and found."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return install(ROOT / "tests" / "plugins" / "markscheme-echo", tmp_path_factory.mktemp("site"))


def install(package, folder):
    """Install a package into a folder of its own; returns an environment that has it on its path."""
    subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--no-deps",
                "--no-index",
            ),
            *("--no-build-isolation", "--target", str(folder), str(package)),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


def markscheme(environment, folder, *arguments):
    command = [sys.executable, "-m", "markscheme", *arguments]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_plugin_when_installed_then_listed_and_run_like_our_own(installed, tmp_path):
    listed = markscheme(installed, tmp_path, "list", "--json")
    assert {"name": "echo", "summary": "from markscheme_echo"} in json.loads(listed.stdout)["models"]
    rows = [{"question": "six times seven?", "answer": "42"}, {"question": "please refuse", "answer": "1"}]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = markscheme(
        *(
            installed,
            tmp_path,
            "run",
            "own.jsonl",
            "--model",
            "echo/ANSWER: 42",
            "--protocol",
            "gsm8k-numeric",
            "-n",
            "2",
        ),
        *("--out", "run", "--json"),
    )
    report = json.loads(done.stdout)
    assert done.returncode == 3
    assert report["verdicts"] == {"correct": 2, "error": 2}
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["usage"]["errors"] == {"unwilling": 2}


def test_plugin_when_its_entry_point_is_broken_then_says_whose_it_is(installed, tmp_path):
    done = markscheme(installed, tmp_path, "run", "countdown-sample", "--model", "broken/x")
    assert done.returncode == 1
    assert "backend 'broken' (markscheme_echo:nothing_here) cannot be loaded" in done.stderr


def test_plugin_when_it_derives_from_nothing_then_says_what_to_derive_it_from(installed, tmp_path):
    done = markscheme(installed, tmp_path, "run", "countdown-sample", "--model", "unrelated/x", "--out", "run")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "'unrelated' made a Unrelated" in done.stderr
    assert "markscheme.models.base.Model" in done.stderr
    assert not (tmp_path / "run").exists()


def test_contributing_when_its_backend_is_copied_to_the_letter_then_it_is_listed_and_answers(tmp_path):
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## Add a model backend")[2].partition("\n## ")[0]
    blocks = dict(re.findall(r"^```(\w+)\n(.*?)^```", section, re.DOTALL | re.MULTILINE))
    package = tmp_path / "package"
    package.mkdir()
    (package / "yourpackage.py").write_text(blocks["python"])
    (package / "pyproject.toml").write_text(blocks["toml"])
    environment = install(package, tmp_path / "site")
    assert '"name": "echo"' in markscheme(environment, tmp_path, "list", "--json").stdout
    (command,) = blocks["text"].splitlines()
    done = markscheme(environment, tmp_path, *shlex.split(command)[1:], "--out", "run", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdicts"] == {"no_answer": 3}
    kept = [json.loads(line)["text"] for line in (tmp_path / "run" / "responses.jsonl").read_text().splitlines()]
    assert kept == ["I do not know"] * 3


def test_backend_when_unknown_then_names_those_there_are(tmp_path):
    done = markscheme(dict(os.environ), tmp_path, "run", "countdown-sample", "--model", "nobody/x")
    assert done.returncode == 2
    assert "openai, anthropic, http" in done.stderr
