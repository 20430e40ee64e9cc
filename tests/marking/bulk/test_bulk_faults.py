"""Bad rows and bad files among good ones: counted or named, and the rest is marked."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_outputs import marks_in, puzzles, write_lines, write_parquet

from markscheme.cli import main
from markscheme.errors import DataError, MarkingError
from markscheme.marking import sandbox
from markscheme.marking.bulk.campaign import mark_in_bulk
from markscheme.marking.bulk.parts import MarksPart
from markscheme.marking.bulk.shards import COLUMNS, Shard
from markscheme.marking.bulk.workers import Job, mark_shard
from markscheme.types import Mark, Verdict

pytestmark = [pytest.mark.needs("pyarrow"), pytest.mark.usefixtures("small_shards")]


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
golds = st.sampled_from(
    ['{"nums": [1], "target": 1e999}', '{"nums": 7, "target": 1}', "[" * 3000, "7", {"nums": [], "target": 2}]
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner))
any_rows = st.lists(
    st.dictionaries(st.sampled_from(sorted(COLUMNS)), values | golds, max_size=6)
    | st.fixed_dictionaries({"text": st.just("ANSWER: 7"), "gold": values | golds}, optional={"id": values, "sample": values}),
    max_size=8,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(stored=any_rows, protocol=st.sampled_from(["math", "countdown"]))
def test_rows_when_they_hold_anything_then_each_is_marked_or_counted(tmp_path_factory, stored, protocol):
    folder = tmp_path_factory.mktemp("any")
    file = folder / "f.jsonl"
    file.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in stored))
    job = Job(Shard(str(file), 0, 1 << 30), str(folder / "part-00000.parquet"), protocol, None, "</think>")
    ended = mark_shard(msgspec.to_builtins(job))
    placed = {row["position"] for row in marks_in(folder)}
    assert len(placed) + ended.unusable <= len(stored)  # a row without a single response is neither
    assert ended.unmatched == 0


def test_row_when_its_sample_is_no_number_then_marked_without_one(tmp_path):
    stored = [{**row, "sample": sample} for row, sample in zip(puzzles(3), (True, 1 << 40, 2), strict=True)]
    mark_in_bulk(write_lines(tmp_path / "f.jsonl", stored), "countdown", tmp_path / "out", workers=1)
    assert [row["sample"] for row in marks_in(tmp_path / "out" / "countdown")] == [None, None, 2]


def test_row_when_the_protocol_cannot_judge_against_its_gold_then_unusable_and_the_rest_marked(tmp_path):
    stored = [*puzzles(1), {"gold": "7", "text": "ANSWER: 7"}, {"gold": "8", "text": "ANSWER: 7"}]
    done = mark_in_bulk(write_lines(tmp_path / "f.jsonl", stored), "math", tmp_path / "out", workers=1)
    assert (done.outcome.marks, done.outcome.unusable, done.score.score) == (2, 1, 0.5)
    assert done.outcome.example.startswith("f.jsonl:0: protocol 'math' judges against an answer")


def test_row_when_its_text_is_not_utf8_then_unusable_and_the_rest_marked(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = [b"ANSWER: 7", b"\xff\xfe", b"ANSWER: 7"]
    offsets = pa.py_buffer(b"".join(n.to_bytes(4, "little") for n in (0, 9, 11, 20)))
    broken = pa.StringArray.from_buffers(3, offsets, pa.py_buffer(b"".join(texts)))
    pq.write_table(pa.table({"text": broken, "gold": ["7"] * 3}), tmp_path / "f.parquet")
    done = mark_in_bulk(tmp_path / "f.parquet", "math", tmp_path / "out", workers=1)
    assert (done.outcome.marks, done.outcome.unusable) == (2, 1)
    assert "f.parquet:1: the row cannot be decoded ('utf-8' codec" in done.outcome.example


def test_file_when_a_page_is_corrupt_then_it_is_named_and_the_others_are_marked(tmp_path):
    for name in "abc":
        write_parquet(tmp_path / "in" / f"{name}.parquet", puzzles(100))
    bad = tmp_path / "in" / "b.parquet"
    content = bytearray(bad.read_bytes())
    content[40:400] = bytes(360)
    bad.write_bytes(content)
    with pytest.raises(DataError, match=r"b\.parquet cannot be read: .*; 1 of 3 parts could not be marked, the others"):
        mark_in_bulk(tmp_path / "in", "countdown", tmp_path / "out", workers=2)
    out = tmp_path / "out" / "countdown"
    assert sorted(part.name for part in out.glob("part*")) == ["part-00000.parquet", "part-00002.parquet"]
    assert not list(out.glob(".part*"))


def test_worker_when_it_fails_in_an_unknown_way_then_the_shard_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("markscheme.marking.bulk.workers.TASK", "os:abort_")
    file = write_parquet(tmp_path / "f.parquet", puzzles(300))
    said = r"a worker failed on \S+f\.parquet \(\d+ to \d+\): AttributeError.*; 3 of 3 parts could not be marked"
    with pytest.raises(MarkingError, match=said):
        mark_in_bulk(file, "countdown", tmp_path / "out", workers=2)


def test_worker_when_a_shard_kills_it_then_the_others_are_marked(tmp_path, monkeypatch):
    def fatal(self, task, arguments, **limits):
        deadly = arguments[0].out.endswith("part-00001.parquet")
        return run(self, "os:abort" if deadly else task, [] if deadly else arguments, **limits)

    run = sandbox.Pool.run
    monkeypatch.setattr(sandbox.Pool, "run", fatal)
    file = write_parquet(tmp_path / "f.parquet", puzzles(300))
    with pytest.raises(MarkingError, match=r"the worker process ended; 1 of 3 parts"):
        mark_in_bulk(file, "countdown", tmp_path / "out", workers=2)
    assert len(list((tmp_path / "out" / "countdown").glob("part-*"))) == 2
    monkeypatch.setattr(sandbox.Pool, "run", run)
    assert mark_in_bulk(file, "countdown", tmp_path / "out", workers=1).earlier == 2


def test_command_when_a_file_is_damaged_then_every_protocol_marks_the_others(tmp_path, capsys):
    for name in "ab":
        write_parquet(
            tmp_path / "in" / f"{name}.parquet", [{"gold": str(n), "text": f"ANSWER: {n}"} for n in range(90)]
        )
    bad = tmp_path / "in" / "b.parquet"
    content = bytearray(bad.read_bytes())
    content[40:400] = bytes(360)
    bad.write_bytes(content)
    out = tmp_path / "out"
    command = ["mark", str(tmp_path / "in"), "-p", "math", "-p", "boxed-exact", "--out", str(out), "--workers", "1"]
    assert main(command) == 1
    assert "b.parquet cannot be read" in capsys.readouterr().err
    assert len(list(out.glob("*/part-*"))) == 2


def test_part_when_texts_are_long_then_written_before_there_are_many(tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    from markscheme.marking.bulk import parts

    monkeypatch.setattr(parts, "GROUP_CHARACTERS", 1000)
    part = MarksPart(tmp_path / "part-00000.parquet", {})
    with part:
        for number in range(20):
            part.add(number, "id", None, Mark(verdict=Verdict.WRONG, protocol="p@1", answer="x" * 300))
        part.finish(parts.ShardOutcome(marks=20))
    about = pq.read_metadata(tmp_path / "part-00000.parquet")
    assert about.row_group(0).num_rows == 4
    assert about.num_rows == 20


def test_part_when_its_folder_cannot_be_written_then_one_sentence(tmp_path, monkeypatch):
    from markscheme.errors import JournalError

    file = write_lines(tmp_path / "f.jsonl", puzzles(3))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    monkeypatch.setattr("markscheme.marking.bulk.campaign.write_atomically", lambda *_: None)
    with pytest.raises(JournalError, match=r"cannot write \S+part-00000\.\w+: .*No space left"):
        mark_in_bulk(file, "countdown", tmp_path / "out", workers=1)
