"""The data folder: where it is, what is said when a file is not there, and how far a file is trusted."""

import json
from pathlib import Path

import msgspec
import pytest

from markscheme.datasets import content_hash, locate, read_data_file
from markscheme.datasets.catalogue import FILES
from markscheme.datasets.folder import SourceRecord, record_path
from markscheme.errors import DataError

PUZZLES = [{"nums": [n, 2, 3], "target": n + 5} for n in range(1, 1001)]
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
    record_path(FILES[name], folder).write_bytes(msgspec.json.encode(made))


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


@pytest.mark.parametrize(
    ("name", "benchmark", "command", "sample"),
    [
        ("gsm8k/test.jsonl", "gsm8k", "gsm8k", "gsm8k-sample"),
        ("math500/test.jsonl", "math500", "math500", "math-sample"),
        ("aime2025/II.jsonl", "aime-2025-II", "aime2025", "aime-sample"),
        ("countdown/test.jsonl", "countdown", "countdown", "countdown-sample"),
    ],
)
def test_read_data_file_when_missing_then_one_sentence_names_command_and_sample(
    tmp_path, name, benchmark, command, sample
):
    with pytest.raises(DataError) as caught:
        read_data_file(name, tmp_path, benchmark)
    said = str(caught.value)
    assert said.startswith(f"{benchmark} needs {name}")
    assert f"`markscheme data prepare {command}`" in said
    assert f"`{sample}` runs now" in said
    assert "\n" not in said


def test_read_data_file_when_rows_differ_from_the_pinned_then_the_record_says_so(tmp_path):
    write(tmp_path, "gsm8k/test.jsonl", [{"question": "?", "answer": "#### 1"}] * 1319)
    rows, file = read_data_file("gsm8k/test.jsonl", tmp_path, "gsm8k")
    assert (len(rows), file.rows, file.check) == (1319, 1319, "differs")


@pytest.mark.parametrize(("recorded", "check"), [(None, "none"), ("right", "recorded"), ("wrong", "differs")])
def test_read_data_file_when_no_hash_is_pinned_then_the_record_of_the_fetch_decides(tmp_path, recorded, check):
    write(tmp_path, "countdown/test.jsonl", PUZZLES)
    if recorded:
        record(tmp_path, "countdown/test.jsonl", content_hash(PUZZLES) if recorded == "right" else "0" * 64)
    file = read_data_file("countdown/test.jsonl", tmp_path, "countdown")[1]
    assert file.check == check
    assert (file.source == "hf://datasets/a/b@c/d") == (recorded == "right")


def test_read_data_file_when_only_the_stand_in_is_there_then_it_does_not_pass_for_the_official(tmp_path):
    write(tmp_path, "countdown/sample.jsonl", PUZZLES)
    rows, file = read_data_file("countdown/test.jsonl", tmp_path, "countdown")
    assert rows == PUZZLES
    assert (file.name, file.check) == ("countdown/sample.jsonl", "none")
    assert file.source == "stand-in: not the official countdown/test.jsonl"


def test_read_data_file_when_both_are_there_then_the_official_is_read(tmp_path):
    write(tmp_path, "countdown/sample.jsonl", PUZZLES[:10])
    write(tmp_path, "countdown/test.jsonl", PUZZLES)
    assert read_data_file("countdown/test.jsonl", tmp_path, "countdown")[1].name == "countdown/test.jsonl"


def test_read_data_file_when_answers_differ_then_the_wording_does_not_save_it(tmp_path):
    write(tmp_path, "aime2024/I.jsonl", CONTEST)
    assert read_data_file("aime2024/I.jsonl", tmp_path, "aime-2024-I")[1].check == "differs"


def test_read_data_file_when_only_the_wording_differs_from_the_first_fetch_then_differs(tmp_path, real_data):
    rows, official = read_data_file("aime2024/I.jsonl", real_data, "aime-2024-I")
    reworded = [{**rows[0], "problem": "Find it."}, *rows[1:]]
    write(tmp_path, "aime2024/I.jsonl", reworded)
    assert read_data_file("aime2024/I.jsonl", tmp_path, "aime-2024-I")[1].check == "answers"
    record(tmp_path, "aime2024/I.jsonl", official.content_sha256)
    assert read_data_file("aime2024/I.jsonl", tmp_path, "aime-2024-I")[1].check == "differs"


def test_read_data_file_when_the_record_is_garbage_then_one_sentence_says_what_to_do(tmp_path):
    write(tmp_path, "countdown/test.jsonl", PUZZLES)
    record_path(FILES["countdown/test.jsonl"], tmp_path).write_text("{")
    with pytest.raises(DataError, match=r"test\.source\.json is not a readable source record .*delete it"):
        read_data_file("countdown/test.jsonl", tmp_path, "countdown")


def test_read_data_file_when_a_row_does_not_fit_then_file_and_row_are_named(tmp_path):
    write(tmp_path, "countdown/test.jsonl", [*PUZZLES[:4], {"nums": [1], "target": 1}])
    with pytest.raises(DataError, match=r"countdown/test\.jsonl, row 5: `nums`"):
        read_data_file("countdown/test.jsonl", tmp_path, "countdown")


def test_read_data_file_when_it_is_the_users_own_then_rows_come_as_they_are(tmp_path):
    write(tmp_path, "mine.jsonl", [{"problem": "1 + 1?", "answer": "2", "note": 1.5}])
    rows, file = read_data_file(str(tmp_path / "mine.jsonl"), None, "mine.jsonl")
    assert rows == [{"problem": "1 + 1?", "answer": "2", "note": 1.5}]
    assert (file.path, file.rows, file.check) == (str(tmp_path / "mine.jsonl"), 1, "none")
    with pytest.raises(DataError, match=r"other\.jsonl cannot be read: No such file"):
        read_data_file(str(tmp_path / "other.jsonl"), None, "other.jsonl")
