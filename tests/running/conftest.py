"""A benchmark of sums, a server that answers them (mostly right), and the command line in a process of its own."""

import json
import os
import re
import subprocess
import sys
import zlib

import pytest


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
def markscheme(tmp_path):
    """Run the command in a process: `markscheme("run", …)` waits for it, `wait=False` gives the process."""
    started = []

    def markscheme(*arguments, wait=True, env=None, prefix=(), **options):
        command = [*prefix, sys.executable, "-m", "markscheme", *map(str, arguments)]
        process = subprocess.Popen(
            command,
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )
        started.append(process)
        if not wait:
            return process
        stdout, stderr = process.communicate(timeout=60)
        return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)

    yield markscheme
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


FAST = ("--protocol", "gsm8k-numeric", "--model", "openai/m", "--json")
"""What every run of these sums has in common."""


@pytest.fixture
def fast():
    """Those options."""
    return FAST
