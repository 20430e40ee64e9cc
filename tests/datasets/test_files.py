"""Reading data files: nothing skipped silently, hashes of bytes and of content kept apart."""

import hashlib
import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.datasets import content_hash, read_rows
from markscheme.datasets.files import encode_lines
from markscheme.errors import DataError

ROWS = [{"question": "Wie viele Äpfel?", "answer": "#### 3"}, {"question": "½ of 8?", "answer": "#### 4"}]


def test_read_rows_when_blank_lines_and_a_bom_stand_there_then_only_the_rows_come_back(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b'{"a": 1}\r\n\n  \n{"a": 2}')
    assert list(read_rows(path)) == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    "line",
    [b'{"a": 1', b"[1, 2]", b'"text"', b'{"a": "\xff"}', b"[" * 100_000, b'{"a": NaN}', b"{} {}"],
)
def test_read_rows_when_a_line_is_bad_then_the_error_names_file_and_line(tmp_path, line):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": 1}\n\n' + line + b"\n")
    with pytest.raises(DataError, match=r"rows\.jsonl, line 3: "):
        list(read_rows(path))


def test_read_rows_when_the_file_is_missing_then_a_data_error_names_it(tmp_path):
    with pytest.raises(DataError, match=r"nothing\.jsonl cannot be read"):
        read_rows(tmp_path / "nothing.jsonl")


def test_content_hash_when_spacing_key_order_and_escapes_differ_then_stays_the_same(tmp_path):
    plain, escaped = tmp_path / "plain.jsonl", tmp_path / "escaped.jsonl"
    plain.write_text("".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in ROWS))
    escaped.write_text("".join(json.dumps(dict(reversed(row.items())), ensure_ascii=True) + "\n" for row in ROWS))
    first, second = read_rows(plain), read_rows(escaped)
    assert first.sha256 != second.sha256
    assert content_hash(first) == content_hash(second)


def test_content_hash_when_rows_change_places_then_differs():
    assert content_hash(ROWS) != content_hash(ROWS[::-1])


@settings(max_examples=50)
@given(st.lists(st.dictionaries(st.text(), st.text() | st.integers(-(2**53), 2**53) | st.lists(st.integers(0, 99)))))
def test_encode_lines_when_written_and_read_back_then_rows_and_hash_survive(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("lines") / "rows.jsonl"
    path.write_bytes(b"".join(encode_lines(rows)))
    back = read_rows(path)
    assert list(back) == rows
    assert back.sha256 == content_hash(rows) == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("name", "content", "rows"),
    [
        ("a.csv", 'question,answer\r\n"1, 2 or 3?",2\n"two\nlines",3\n', [("1, 2 or 3?", "2"), ("two\nlines", "3")]),
        ("a.tsv", 'question\tanswer\nsay "hi\t4\n', [('say "hi', "4")]),
        ("a.json", '[{"question": "x", "answer": "5"}]', [("x", "5")]),
        ("a.csv", "\ufeffquestion,answer\n½?,1\n", [("½?", "1")]),
    ],
)
def test_read_rows_when_it_is_a_table_then_every_row_is_an_object(tmp_path, name, content, rows):
    (tmp_path / name).write_text(content, newline="")
    assert [(row["question"], row["answer"]) for row in read_rows(tmp_path / name)] == rows


def test_read_rows_when_a_table_has_no_header_then_the_given_names_are_used(tmp_path):
    (tmp_path / "a.tsv").write_text("1 + 1?\t2\n2 + 2?\t4\n")
    assert read_rows(tmp_path / "a.tsv", header=("q", "a"))[1] == {"q": "2 + 2?", "a": "4"}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", b"question,answer\n1,2\n3\n", r"a\.csv, line 3: 1 cells where the header has 2"),
        ("a.csv", b'question,answer\n1,"2\n', r"a\.csv, line 2: "),
        ("a.csv", b"question,answer\n\xff,2\n", "not UTF-8"),
        ("a.json", b"[1]", "not a JSON array of objects"),
        ("a.parquet", b"PAR1", "not a readable Parquet file"),
    ],
)
def test_read_rows_when_a_table_is_bad_then_the_error_names_the_place(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said):
        list(read_rows(tmp_path / name))


@pytest.mark.parametrize("kind", ["pipe", "link to a device"])
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet", ".json"])
def test_file_when_it_is_a_device_or_a_pipe_then_one_sentence_at_once(tmp_path, kind, suffix):
    file = tmp_path / f"rows{suffix}"
    os.mkfifo(file) if kind == "pipe" else file.symlink_to("/dev/zero")
    with pytest.raises(DataError, match="a pipe or a device"):
        read_rows(file)


ROW = {"question": "1 + 1?", "answer": 2}


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ({"examples": [ROW, ROW]}, [ROW, ROW]),
        ({"version": 1, "data": [ROW], "tags": ["a"]}, [ROW]),
        ([ROW], [ROW]),
        ({"easy": [ROW], "hard": [ROW]}, "2 lists of objects: easy, hard"),
        ({"accuracy": 0.5}, "0 lists of objects"),
        ([1, 2], "not a JSON array of objects"),
    ],
)
def test_json_document_when_read_then_its_one_list_of_rows_or_a_refusal(tmp_path, content, rows):
    file = tmp_path / "a.json"
    file.write_text(json.dumps(content, indent=2))
    if isinstance(rows, list):
        assert list(read_rows(file)) == rows
    else:
        with pytest.raises(DataError, match=rows):
            read_rows(file)
