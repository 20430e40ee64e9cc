"""TOML files that people write: what is wrong with one is a sentence that names it, whatever it holds."""

from pathlib import Path

import pytest

from markscheme.datasets.small_texts import read_toml
from markscheme.errors import DataError, UsageError


def test_toml_when_it_can_be_read_then_what_it_says(tmp_path):
    (tmp_path / "mine.toml").write_text('name = "größer"\n[models]\na = 1\n', encoding="utf-8")
    assert read_toml(tmp_path / "mine.toml") == {"name": "größer", "models": {"a": 1}}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a = 1\nb = = 2\n", r"mine\.toml, line 2: not valid TOML"),
        (b"a = " + b"[" * 100_000, r"mine\.toml: not valid TOML"),  # nested beyond what Python reads
        ("a = 'größer'".encode("latin-1"), r"mine\.toml cannot be read: .*utf-8"),
        (None, r"mine\.toml cannot be read: No such file"),
    ],
    ids=["broken", "deep", "latin-1", "missing"],
)
def test_toml_when_it_cannot_be_read_then_one_sentence_of_the_callers_kind(tmp_path, content, said):
    file = tmp_path / "mine.toml"
    if content is not None:
        file.write_bytes(content)
    for failure in (UsageError, DataError):
        with pytest.raises(failure, match=said):
            read_toml(file, failure)


def test_toml_when_the_file_has_no_end_then_it_is_refused_before_it_fills_memory():
    with pytest.raises(UsageError, match="/dev/zero cannot be read: it holds more than 16 MB"):
        read_toml(Path("/dev/zero"))
