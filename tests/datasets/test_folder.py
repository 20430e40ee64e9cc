"""The data folder: where it is, what is said when a file is not there, and how far a file is trusted."""

import json
from pathlib import Path

import msgspec
import pytest

from markscheme.benchmarks import benchmark, benchmarks
from markscheme.datasets import Source, SourceRows, content_hash, locate
from markscheme.datasets.folder import SourceRecord, record_path
from markscheme.errors import DataError

PUZZLES = [{"nums": [n, 2, 3], "target": n + 5} for n in range(1, 1001)]
SOURCES = {source.file: source for each in benchmarks().values() for source in each.sources}
CONTEST = [{"problem_idx": n, "problem": "Find it.", "answer": n} for n in range(1, 16)]


def write(folder, name, rows):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def record(folder, name, content_sha256):
    made = SourceRecord(
        source="hf://datasets/a/b@c/d",
        revision="main",
        commit="c",
        container_sha256="",
        rows=0,
        content_sha256=content_sha256,
        fetched="",
    )
    record_path(SOURCES[name], folder).write_bytes(msgspec.json.encode(made))


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


def read(name, folder):
    rows = SourceRows(SOURCES[name], folder)
    return list(rows), rows.describe()


@pytest.mark.parametrize(
    ("name", "file", "sample"),
    [
        ("gsm8k", "gsm8k/test.jsonl", "gsm8k-sample"),
        ("math500", "math500/test.jsonl", "math-sample"),
        ("aime-2025-II", "aime2025/II.jsonl", "aime-sample"),
        ("countdown", "countdown/test.jsonl", "countdown-sample"),
    ],
)
def test_problems_when_their_file_is_missing_then_one_sentence_names_command_and_sample(tmp_path, name, file, sample):
    with pytest.raises(DataError) as caught:
        _ = benchmark(name, tmp_path).problems[0]
    said = str(caught.value)
    assert said.startswith(f"{name} needs {file}")
    assert f"`markscheme data prepare {name}`" in said
    assert f"`{sample}` runs now" in said
    assert "\n" not in said


def test_read_data_file_when_rows_differ_from_the_pinned_then_the_record_says_so(tmp_path):
    write(tmp_path, "gsm8k/test.jsonl", [{"question": "?", "answer": "#### 1"}] * 1319)
    rows, file = read("gsm8k/test.jsonl", tmp_path)
    assert (len(rows), file.rows, file.check) == (1319, 1319, "differs")


@pytest.mark.parametrize(("recorded", "check"), [(None, "none"), ("right", "recorded"), ("wrong", "differs")])
def test_read_data_file_when_no_hash_is_pinned_then_the_record_of_the_fetch_decides(tmp_path, recorded, check):
    write(tmp_path, "countdown/test.jsonl", PUZZLES)
    if recorded:
        record(tmp_path, "countdown/test.jsonl", content_hash(PUZZLES) if recorded == "right" else "0" * 64)
    file = read("countdown/test.jsonl", tmp_path)[1]
    assert file.check == check
    assert (file.source == "hf://datasets/a/b@c/d") == (recorded == "right")


def test_read_data_file_when_only_the_stand_in_is_there_then_it_does_not_pass_for_the_official(tmp_path):
    write(tmp_path, "countdown/sample.jsonl", PUZZLES)
    rows, file = read("countdown/test.jsonl", tmp_path)
    assert rows == PUZZLES
    assert (file.name, file.check) == ("countdown/sample.jsonl", "none")
    assert file.source == "stand-in: not the official countdown/test.jsonl"


def test_read_data_file_when_both_are_there_then_the_official_is_read(tmp_path):
    write(tmp_path, "countdown/sample.jsonl", PUZZLES[:10])
    write(tmp_path, "countdown/test.jsonl", PUZZLES)
    assert read("countdown/test.jsonl", tmp_path)[1].name == "countdown/test.jsonl"


def test_read_data_file_when_answers_differ_then_the_wording_does_not_save_it(tmp_path):
    write(tmp_path, "aime2024/I.jsonl", CONTEST)
    assert read("aime2024/I.jsonl", tmp_path)[1].check == "differs"


def test_read_data_file_when_only_the_wording_differs_from_the_first_fetch_then_differs(tmp_path, real_data):
    rows, official = read("aime2024/I.jsonl", real_data)
    reworded = [{**rows[0], "problem": "Find it."}, *rows[1:]]
    write(tmp_path, "aime2024/I.jsonl", reworded)
    assert read("aime2024/I.jsonl", tmp_path)[1].check == "answers"
    record(tmp_path, "aime2024/I.jsonl", official.content_sha256)
    assert read("aime2024/I.jsonl", tmp_path)[1].check == "differs"


def test_read_data_file_when_the_record_is_garbage_then_one_sentence_says_what_to_do(tmp_path):
    write(tmp_path, "countdown/test.jsonl", PUZZLES)
    record_path(SOURCES["countdown/test.jsonl"], tmp_path).write_text("{")
    with pytest.raises(DataError, match=r"test\.source\.json is not a readable source record .*delete it"):
        read("countdown/test.jsonl", tmp_path)


def test_read_data_file_when_a_row_does_not_fit_then_file_and_row_are_named(tmp_path):
    write(tmp_path, "countdown/test.jsonl", [*PUZZLES[:4], {"nums": [0], "target": 1}])
    with pytest.raises(DataError, match=r"countdown/test\.jsonl, row 5: `nums`"):
        read("countdown/test.jsonl", tmp_path)


def test_read_data_file_when_it_is_the_users_own_then_rows_come_as_they_are(tmp_path):
    write(tmp_path, "mine.jsonl", [{"problem": "1 + 1?", "answer": "2", "note": 1.5}])
    rows = SourceRows(Source(file="mine.jsonl", folder=str(tmp_path)), Path("elsewhere"))
    assert list(rows) == [{"problem": "1 + 1?", "answer": "2", "note": 1.5}]
    file = rows.describe()
    assert (file.path, file.rows, file.check) == (str(tmp_path / "mine.jsonl"), 1, "none")
    with pytest.raises(DataError, match=r"other\.jsonl cannot be read: it does not exist"):
        SourceRows(Source(file="other.jsonl", folder=str(tmp_path)), tmp_path)


def test_describe_when_the_bytes_are_known_then_no_row_is_read(tmp_path, monkeypatch, real_data):
    """A run of five problems must not read the thousands of rows that it does not ask."""
    rows = SourceRows(SOURCES["gsm8k/train.jsonl"], real_data)
    monkeypatch.setattr(SourceRows, "__getitem__", lambda *_: pytest.fail("a row was read"))
    assert (rows.describe().check, rows.describe().rows) == ("content", 7473)
