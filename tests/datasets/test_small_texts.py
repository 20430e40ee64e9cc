"""Files without end, where a person's small text or a file of outputs is expected."""

import os
from pathlib import Path

import pytest

from markscheme.cli import main

ENDLESS = {
    "prices": ["run", "countdown-sample", "--model", "solver", "--limit", "2", "--prices", "/dev/zero"],
    "a prompt": ["run", "countdown-sample", "--model", "solver", "--limit", "2", "--prompt-file", "/dev/zero"],
    "stored outputs": ["run", "countdown-sample", "--model", "replay//dev/zero", "--limit", "2"],
    "a benchmark": ["run", "endless.toml", "--model", "solver"],
}


@pytest.mark.parametrize("where", ENDLESS)
def test_file_without_end_when_named_then_one_sentence(tmp_path, monkeypatch, capsys, where):
    """Reading all of it first took the machine's memory, or for ever."""
    monkeypatch.chdir(tmp_path)
    Path("endless.toml").symlink_to("/dev/zero")
    try:
        code = main(ENDLESS[where])
    except SystemExit as stop:
        code = stop.code
    said = capsys.readouterr().err
    assert code
    assert "Traceback" not in said
    assert "more than 16 MB" in said or "a pipe or a device" in said


def test_replay_of_a_pipe_when_asked_then_advice_instead_of_waiting(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    assert main(["run", "countdown-sample", "--model", f"replay/{tmp_path / 'pipe'}", "--out", str(tmp_path / "run")])
    assert "write it to a file first" in capsys.readouterr().err
