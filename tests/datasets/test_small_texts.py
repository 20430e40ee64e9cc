"""Small files that people write: files without end in their place, and what is wrong with TOML."""

import os
from pathlib import Path

import pytest

from markscheme.cli import main
from markscheme.datasets.small_texts import read_toml
from markscheme.errors import DataError, UsageError

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


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_toml_when_it_can_be_read_then_what_it_says(tmp_path, encoding):
    (tmp_path / "mine.toml").write_text('name = "größer"\n[models]\na = 1\n', encoding=encoding)
    assert read_toml(tmp_path / "mine.toml") == {"name": "größer", "models": {"a": 1}}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a = 1\nb = = 2\n", r"mine\.toml, line 2: not valid TOML"),
        (b"a = " + b"9" * 5_000, r"mine\.toml: not valid TOML"),  # more digits than Python makes a number of
        (b"a = " + b"[" * 100_000, r"mine\.toml: not valid TOML"),  # nested beyond what Python reads
        ("a = 'größer'".encode("latin-1"), r"mine\.toml cannot be read: .*utf-8"),
        (None, r"mine\.toml cannot be read: it does not exist"),
    ],
    ids=["broken", "long", "deep", "latin-1", "missing"],
)
def test_toml_when_it_cannot_be_read_then_one_sentence_of_the_callers_kind(tmp_path, content, said):
    file = tmp_path / "mine.toml"
    if content is not None:
        file.write_bytes(content)
    for failure in (UsageError, DataError):
        with pytest.raises(failure, match=said):
            read_toml(file, failure)
