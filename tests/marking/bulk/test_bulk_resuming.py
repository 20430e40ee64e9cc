"""Marking that is gone on with: what is there is kept, what is missing or damaged is made, nothing is mixed."""

import os
import shutil

import msgspec
import pytest
from stored_outputs import puzzles, write_lines, write_parquet

from markscheme.errors import DataError, JournalError, UsageError
from markscheme.marking import get_protocol
from markscheme.marking.bulk.campaign import mark_in_bulk
from markscheme.marking.bulk.shards import PLAN_FILE, Shard
from markscheme.marking.bulk.workers import Golds, Job, golds_of, mark_shard

pytestmark = [pytest.mark.needs("pyarrow"), pytest.mark.usefixtures("small_shards")]


@pytest.fixture
def begun(tmp_path):
    """A marking of 300 puzzles in three parts: the source, the folder of the parts, and what came of it."""
    source = write_parquet(tmp_path / "big.parquet", puzzles(300))
    return source, tmp_path / "out" / "countdown", mark_in_bulk(source, "countdown", tmp_path / "out", workers=1)


def changed(folder):
    return {part.name: part.stat().st_mtime_ns for part in folder.glob("part-*")}


def test_marking_when_given_again_then_only_what_is_missing_is_marked(begun):
    source, folder, first = begun
    before = changed(folder)
    (folder / "part-00001.parquet").unlink()
    again = mark_in_bulk(source, "countdown", folder.parent, workers=1)
    assert {name for name, time in changed(folder).items() if before[name] != time} == {"part-00001.parquet"}
    assert (again.earlier, again.parts) == (2, 3)
    assert (again.score, again.outcome) == (first.score, first.outcome)


@pytest.mark.parametrize("damage", [b"", b"PAR1 and then the power went", None])
def test_marking_when_a_part_is_damaged_then_it_is_made_again_and_told(begun, damage):
    source, folder, first = begun
    part = folder / "part-00001.parquet"
    part.write_bytes(part.read_bytes()[:-200] if damage is None else damage)
    said = []
    again = mark_in_bulk(source, "countdown", folder.parent, workers=1, say=said.append)
    assert any("part-00001.parquet is damaged" in line for line in said)
    assert (again.score, again.outcome, again.earlier) == (first.score, first.outcome, 2)


def test_marking_when_a_part_is_damaged_inside_then_its_name_and_what_to_do(begun):
    source, folder, _ = begun
    part = folder / "part-00001.parquet"
    content = part.read_bytes()
    part.write_bytes(content[:4] + bytes(len(content) // 2) + content[4 + len(content) // 2 :])
    with pytest.raises(JournalError, match=r"part-00001\.parquet .* remove it"):
        mark_in_bulk(source, "countdown", folder.parent, workers=1)


def test_marking_when_workers_were_killed_then_nothing_of_them_stays(begun):
    source, folder, _ = begun
    (folder / ".part-00001.parquet.0123456789ab").write_bytes(b"half")
    mark_in_bulk(source, "countdown", folder.parent, workers=1)
    assert not list(folder.glob(".*"))


def test_marking_when_another_worker_was_faster_and_all_is_tidied_up_then_no_harm(tmp_path, monkeypatch):
    file = write_lines(tmp_path / "f.jsonl", puzzles(3))
    out = tmp_path / "part-00000.parquet"
    job = msgspec.to_builtins(
        Job(Shard(str(file), 0, 10_000), str(out), get_protocol("countdown").label, None, "</think>")
    )
    mark_shard(job)
    real = os.fsync

    def fsync(handle):
        real(handle)
        for left in tmp_path.glob(".part-*"):
            left.unlink()

    monkeypatch.setattr(os, "fsync", fsync)
    assert mark_shard(job).marks == 3
    out.unlink()
    assert mark_shard(job).kind == "JournalError"


def test_marking_when_the_files_were_copied_and_touched_then_gone_on_with(tmp_path, monkeypatch):
    write_parquet(tmp_path / "in" / "a.parquet", puzzles(120))
    write_lines(tmp_path / "in" / "b" / "c.jsonl", puzzles(60))
    first = mark_in_bulk(tmp_path / "in", "countdown", tmp_path / "out", workers=1)
    shutil.copytree(tmp_path / "in", tmp_path / "copy", copy_function=shutil.copyfile)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("markscheme.marking.bulk.shards.ROWS", 10)  # another version may cut otherwise
    again = mark_in_bulk(tmp_path / "copy" / ".." / "copy", "countdown", tmp_path / "out", workers=1)
    assert again.earlier == again.parts == first.parts


def test_marking_when_the_inputs_are_others_then_refused(begun, tmp_path):
    source, folder, _ = begun
    stored = list(puzzles(300))
    stored[150]["text"] = "<answer>1 + 1 + 1</answer>"
    write_parquet(source, stored)
    with pytest.raises(UsageError, match=r"marks that were made with other files; choose another --out"):
        mark_in_bulk(source, "countdown", folder.parent, workers=1)
    with pytest.raises(UsageError, match=r"other --think-end and files"):
        mark_in_bulk(source, "countdown", folder.parent, think_end="</t>", workers=1)


def test_marking_when_the_golds_have_changed_then_refused(tmp_path):
    benchmark = write_lines(tmp_path / "sums.jsonl", [{"question": "1 + 1?", "answer": "2"}])
    file = write_lines(tmp_path / "f.jsonl", [{"question": "1 + 1?", "text": "ANSWER: 2"}])
    options = {"benchmark": str(benchmark), "workers": 1}
    assert mark_in_bulk(file, "math", tmp_path / "out", **options).score.score == 1.0
    write_lines(benchmark, [{"question": "1 + 1?", "answer": "3"}])
    with pytest.raises(UsageError, match="other benchmark or gold answers"):
        mark_in_bulk(file, "math", tmp_path / "out", **options)
    assert mark_in_bulk(file, "math", tmp_path / "new", **options).score.score == 0.0


def test_marking_when_the_plan_is_of_an_older_markscheme_then_one_sentence(begun):
    source, folder, _ = begun
    old = {"source": "s", "protocol": "countdown@1", "benchmark": None, "think_end": "", "files": [], "shards": []}
    (folder / PLAN_FILE).write_bytes(msgspec.json.encode(old))
    with pytest.raises(
        UsageError, match=r"^\S+ holds marks of another version of markscheme; choose another --out, or remove it.$"
    ):
        mark_in_bulk(source, "countdown", folder.parent)
    (folder / PLAN_FILE).write_text("{")
    with pytest.raises(JournalError, match="cannot be used for marks"):
        mark_in_bulk(source, "countdown", folder.parent)


def test_worker_when_its_markscheme_or_its_golds_are_others_then_refused(tmp_path):
    file = write_lines(tmp_path / "f.jsonl", [{"question": "1 + 1?", "text": "ANSWER: 2"}])
    benchmark = write_lines(tmp_path / "sums.jsonl", [{"question": "1 + 1?", "answer": "2"}])

    def mark(protocol, golds):
        shard = Shard(str(file), 0, 1000)
        return mark_shard(msgspec.to_builtins(Job(shard, str(tmp_path / "p.parquet"), protocol, golds, "</think>")))

    golds = golds_of(str(benchmark), None)
    assert mark("gsm8k-numeric@0", golds).kind == UsageError.__name__
    other = Golds(golds.benchmark, golds.data_dir, ("0" * 64,))
    refused = mark("math", other)
    assert refused.kind == DataError.__name__
    assert "has other problems on" in refused.why
    assert mark("math", golds).marks == 1
