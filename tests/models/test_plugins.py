"""A backend from another package: really built, installed and found."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "plugins" / "markscheme-echo"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Install the package into a folder of its own; returns an environment that has it on its path."""
    folder = tmp_path_factory.mktemp("site")
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
            *("--no-build-isolation", "--target", str(folder), str(PACKAGE)),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    return {**os.environ, "PYTHONPATH": str(folder)}


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


def test_backend_when_unknown_then_names_those_there_are(tmp_path):
    done = markscheme(dict(os.environ), tmp_path, "run", "countdown-sample", "--model", "nobody/x")
    assert done.returncode == 2
    assert "openai, anthropic, http" in done.stderr
