"""The data folder: where it is, and what is said when a file is not there."""

from pathlib import Path

import pytest

from markscheme.datasets import locate, read_data_file
from markscheme.errors import DataError


def test_locate_when_a_folder_is_given_then_it_wins_over_the_environment(monkeypatch):
    monkeypatch.setenv("MARKSCHEME_DATA", "/elsewhere")
    assert locate(Path("here")) == Path("here")
    assert locate(None) == Path("/elsewhere")


@pytest.mark.parametrize(
    ("cache", "expected"), [("/cache", "/cache"), ("relative", "/home/ada/.cache"), ("", "/home/ada/.cache")]
)
def test_locate_when_nothing_is_given_then_the_user_cache_is_used(monkeypatch, cache, expected):
    monkeypatch.delenv("MARKSCHEME_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    monkeypatch.setenv("HOME", "/home/ada")
    assert locate(None) == Path(expected) / "markscheme" / "data"


def test_read_data_file_when_the_file_is_missing_then_one_sentence_names_the_command(tmp_path):
    with pytest.raises(DataError, match=r"markscheme data prepare gsm8k"):
        read_data_file("gsm8k/test.jsonl", tmp_path, "gsm8k")
