"""Which files are read, how they are cut, and that their rows come once each, few at a time, whatever they hold."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_outputs import puzzles, write_lines, write_parquet

from markscheme.errors import DataError, UsageError
from markscheme.marking.bulk import shards
from markscheme.marking.bulk.campaign import mark_in_bulk
from markscheme.marking.bulk.shards import Shard, find, rows_of, shards_of

pytestmark = pytest.mark.needs("pyarrow")


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.text(max_size=12), max_size=12), size=st.integers(1, 60), newline=st.booleans())
def test_shards_when_a_file_of_lines_is_cut_anywhere_then_every_line_once(tmp_path_factory, texts, size, newline):
    file = tmp_path_factory.mktemp("cut") / "f.jsonl"
    content = b"".join(json.dumps({"text": text}).encode() + b"\n" for text in texts)
    file.write_bytes(content if newline else content.rstrip(b"\n"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "BYTES", size)
        found = [row["text"] for shard in shards_of(file) for _, row in rows_of(shard)]
    assert found == texts


def test_shards_when_row_groups_are_small_then_taken_together(tmp_path, small_shards):
    file = write_parquet(tmp_path / "big.parquet", puzzles(230), group=30)
    assert list(shards_of(file)) == [Shard(str(file), 0, 120), Shard(str(file), 120, 230)]


def test_shards_when_a_row_group_is_large_then_cut_but_not_into_too_many(tmp_path, small_shards):
    file = write_parquet(tmp_path / "one.parquet", puzzles(350), group=1000)
    assert [(one.start, one.end) for one in shards_of(file)] == [(0, 116), (116, 233), (233, 350)]
    file = write_parquet(tmp_path / "huge.parquet", puzzles(100 * 40), group=5000)
    assert len(list(shards_of(file))) == shards.MOST_PIECES


@settings(max_examples=60, deadline=None)
@given(count=st.integers(1, 60), group=st.integers(1, 70), size=st.integers(1, 30), batch=st.integers(1, 20),
       order=st.randoms(use_true_random=False))  # fmt: skip
def test_shards_when_parquet_is_cut_anywhere_then_every_row_once_in_any_order(
    tmp_path_factory, count, group, size, batch, order
):
    file = write_parquet(tmp_path_factory.mktemp("cut") / "f.parquet", ({"text": str(n)} for n in range(count)), group)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "ROWS", size)
        patch.setattr(shards, "BATCH", batch)
        cut = list(shards_of(file))
        order.shuffle(cut)
        found = [(number, row["text"]) for shard in cut for number, row in rows_of(shard)]
    assert sorted(found) == [(n, str(n)) for n in range(count)]


def test_rows_when_the_shard_before_was_just_read_then_the_file_is_gone_on_with(tmp_path, small_shards, monkeypatch):
    file = write_parquet(tmp_path / "one.parquet", puzzles(350), group=1000)
    opened = []
    monkeypatch.setattr(shards, "_Reader", lambda shard, make=shards._Reader: opened.append(shard) or make(shard))
    numbers = [number for shard in shards_of(file) for number, _ in rows_of(shard)]
    assert numbers == list(range(350))
    assert len(opened) == 1


def test_rows_when_a_line_begins_with_a_byte_order_mark_then_read_all_the_same(tmp_path):
    file = tmp_path / "f.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"text": "a"}\n{"text": "b"}\n')
    assert [row["text"] for shard in shards_of(file) for _, row in rows_of(shard)] == ["a", "b"]


def test_rows_when_a_line_is_longer_than_the_limit_then_it_is_one_unusable_row(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "LARGEST_LINE", 100)
    monkeypatch.setattr(shards, "BYTES", 150)
    file = write_lines(tmp_path / "f.jsonl", [{"text": "a"}, {"text": "b" * 1000}, {"text": "c"}])
    found = [row for shard in shards_of(file) for _, row in rows_of(shard)]
    assert [row if isinstance(row, str) else row["text"] for row in found] == ["a", "the line is longer than 0 MB", "c"]


MARK = """
import re, sys
from pathlib import Path
import pyarrow.parquet
from markscheme.marking.bulk import shards
from markscheme.marking.bulk.campaign import mark_in_bulk

shards.BATCH_BYTES, shards.SLICE_BYTES = 2 << 20, 1 << 19

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) >> 10

first, second, out = map(Path, sys.argv[1:])
mark_in_bulk(first, "boxed-exact", out / "first", workers=1)  # now everything is imported
before = peak()
mark_in_bulk(second, "boxed-exact", out / "second", workers=1)
print(peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_memory_when_rows_are_large_then_it_is_bounded_in_bytes(tmp_path):
    """300 rows of 16 responses of 15 kB: 72 MB, and as much again as Python objects."""
    filler = "so it goes on " * 1070

    def large(count):
        return ({"gold": "7", "responses": [f"{n} {k} {filler} \\boxed{{7}}" for k in range(16)]} for n in range(count))

    files = [write_parquet(tmp_path / f"{count}.parquet", large(count), group=1000) for count in (1, 300)]
    command = [sys.executable, "-c", MARK, *files, tmp_path]
    peak = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    assert int(peak) < 120  # 60 here; 230 without a bound


def test_files_when_others_lie_beside_them_then_only_outputs_are_read_and_the_rest_is_told(tmp_path):
    wanted = [
        write_parquet(tmp_path / "in" / "spark.parquet" / "part-0.parquet", puzzles(3)),
        write_lines(tmp_path / "in" / "z.jsonl", puzzles(3)),
    ]
    other = write_lines(tmp_path / "in" / "more.jsonl.gz", puzzles(3))
    write_lines(tmp_path / "in" / "README.md", [])
    mark_in_bulk(wanted[1], "countdown", tmp_path / "in" / "marks", workers=1)
    assert find(tmp_path / "in") == (wanted, [other])


def test_files_when_the_place_holds_none_or_a_run_then_one_sentence(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no"):
        find(tmp_path / "empty")
    write_lines(tmp_path / "runs" / "mine" / "responses.jsonl", puzzles(3))
    write_lines(tmp_path / "runs" / "mine" / "manifest.json", [{}])
    with pytest.raises(
        UsageError, match=r"mine is a run folder, which is marked in place: `markscheme mark \S+mine --protocol NAME`"
    ):
        find(tmp_path / "runs")


def test_marking_when_the_marks_would_go_into_the_source_then_refused(tmp_path):
    write_lines(tmp_path / "in" / "a.jsonl", puzzles(3))
    for out in (tmp_path / "in", tmp_path / "in" / "deep" / "marks", tmp_path / "x" / ".." / "in" / "marks"):
        with pytest.raises(UsageError, match="choose a folder elsewhere"):
            mark_in_bulk(tmp_path / "in", "countdown", out)
