"""A benchmark of sums, a server that answers them (mostly right), and the command line in a process of its own."""

import json
import os
import re
import subprocess
import sys
import zlib

import pytest

from markscheme.cli import main


@pytest.fixture
def sums(tmp_path):
    """Write a benchmark of so many sums; returns the file."""

    def sums(count):
        file = tmp_path / "sums.jsonl"
        rows = ({"question": f"What is {n} + {n + 7}?", "answer": str(2 * n + 7)} for n in range(count))
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return file

    return sums


def add_up(body):
    """The answer to one of those sums; about every fourth is wrong, always the same ones for the same seed."""
    text = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
    first, second = map(int, re.search(r"What is (\d+) \+ (\d+)", text).groups())
    luck = zlib.crc32(f"{text}{body.get('seed')}".encode()) % 4
    return f"ANSWER: {first + second + (luck == 0)}"


@pytest.fixture
def right():
    """The answering function, to give to a server."""
    return add_up


@pytest.fixture
def markscheme(tmp_path, monkeypatch, capsys):
    """Run the command in this process, from a scratch folder: `markscheme("run", …)`."""
    monkeypatch.chdir(tmp_path)

    def markscheme(*arguments, env=None):
        for name, value in (env or {}).items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        stdout, stderr = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, status, stdout, stderr)

    return markscheme


@pytest.fixture
def process(tmp_path, launch):
    """Start the command in a process of its own: `process("run", …)`; `prefix` goes before it."""
    started, usual = [], os.environ.get("PYTHONPATH")

    def process(*arguments, prefix=()):
        if not prefix and os.environ.get("PYTHONPATH") == usual:
            return launch(*arguments, cwd=tmp_path)
        command = [*prefix, sys.executable, "-m", "markscheme", *map(str, arguments)]
        started.append(
            subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
        return started[-1]

    yield process
    for one in started:
        if one.poll() is None:
            one.kill()
        one.communicate()


FAST = ("--protocol", "gsm8k-numeric", "--model", "openai/m", "--json")  # what every run of these sums has in common


@pytest.fixture
def fast():
    """Those options."""
    return FAST
