"""A benchmark of sums, and a stand-in for `vllm serve` on the path."""

import functools
import json
import os
import time
from pathlib import Path

import pytest
from stand_in_server import install

from markscheme.models.fleet.devices import CUDA, HIP, ROCR


@pytest.fixture
def sums(tmp_path):
    """A file of twelve sums."""
    file = tmp_path / "sums.jsonl"
    rows = [{"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(12)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """`vllm` on the path, without a GPU in sight."""
    program = install(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    for name in (CUDA, HIP, ROCR):
        monkeypatch.delenv(name, raising=False)
    return program


@pytest.fixture
def command(tmp_path, stand_in, launch):
    """Start `markscheme …` in a process of its own, in the scratch folder; whatever happens, it ends with the test."""
    return functools.partial(launch, cwd=tmp_path)


@pytest.fixture
def alive(tmp_path):
    """The processes named in a file of ids that still run, after those that are ending have had their time."""

    def alive(file=tmp_path / "pids", patience=20.0):
        deadline = time.monotonic() + patience
        pids = [int(line) for line in file.read_text().split()]
        assert pids
        while living := [pid for pid in pids if _runs(pid)]:
            if time.monotonic() > deadline:
                return living
            time.sleep(0.1)
        return []

    return alive


def _runs(pid):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False
