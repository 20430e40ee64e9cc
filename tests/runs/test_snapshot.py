import os
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest
import run_folders as folders

from markscheme.runs.columns import CODE, CORRECT, ERROR, UNMARKED
from markscheme.runs.folder import Run
from markscheme.runs.lines import LineReader
from markscheme.runs.reader import RunReader
from markscheme.types import Mark, Response, Verdict


def reading(path: Path) -> RunReader:
    reader = RunReader(path)
    assert reader.refresh()
    return reader


def test_snapshot_of_a_finished_run_has_every_response_with_its_verdict_in_order(tmp_path):
    path = folders.finished(tmp_path / "run", problems=7, samples=5)
    reader = reading(path)
    snapshot = reader.snapshot()
    assert len(snapshot) == 35
    assert snapshot.problems == 7
    pairs = list(zip(snapshot.problem.tolist(), snapshot.sample.tolist(), strict=True))
    assert pairs == [(p, s) for p in range(7) for s in range(5)]
    run = Run.open(path)
    expected = Counter(CODE[mark.verdict] for mark in run.marks("math"))
    assert Counter(snapshot.verdict("math").tolist()) == expected
    stored = {(r.key, r.sample): r for r in run.responses()}
    marks = {(m.key, m.sample): m for m in run.marks("math")}
    for row in range(len(snapshot)):
        place = (snapshot.keys[snapshot.problem[row]], int(snapshot.sample[row]))
        assert snapshot.response(row) == stored[place]
        assert snapshot.mark("math", row) == marks[place]
    assert snapshot.question(3) == run.questions()[3]


def test_refresh_of_a_growing_run_reads_only_what_was_added(tmp_path, monkeypatch):
    path = folders.running(tmp_path / "run", done=10)
    reader = reading(path)
    before = reader.snapshot()
    assert len(before) == 10
    read: list[int] = []
    original = LineReader.lines

    def counting(self, until):
        for offset, line in original(self, until):
            read.append(len(line))
            yield offset, line

    monkeypatch.setattr(LineReader, "lines", counting)
    reader.refresh()
    assert read == []
    assert reader.snapshot() is before
    folders.go_on(path, 10, 13)
    read.clear()
    reader.refresh()
    assert len(read) == 6  # three responses, three marks
    assert len(reader.snapshot()) == 13


def test_a_torn_line_is_left_out_until_it_is_whole(tmp_path):
    path = folders.running(tmp_path / "run", done=3)
    item = Run.open(path).questions()[5].problem
    line = msgspec.json.encode(Response(key=item.key, sample=3, text="late } answer"))
    with (path / "responses.jsonl").open("ab") as out:
        out.write(line[:-9])
    reader = reading(path)
    assert len(reader.snapshot()) == 3
    assert reader.snapshot().torn == ("responses.jsonl",)
    assert reader.snapshot().damaged == 0
    with (path / "responses.jsonl").open("ab") as out:
        out.write(line[-9:])  # whole now, though the line end is still missing
    reader.refresh()
    snapshot = reader.snapshot()
    assert len(snapshot) == 4
    assert snapshot.torn == ()
    with (path / "responses.jsonl").open("ab") as out:
        out.write(b"\n" + msgspec.json.encode(Response(key=item.key, sample=2, text="next")) + b"\n")
    reader.refresh()
    assert len(reader.snapshot()) == 5
    assert reader.snapshot().damaged == 0


def test_a_crashed_run_opens_with_its_damage_counted(tmp_path):
    reader = reading(folders.crashed(tmp_path / "run"))
    snapshot = reader.snapshot()
    assert int(snapshot.arrived.sum()) == 11
    assert snapshot.damaged == 2
    assert snapshot.torn == ("responses.jsonl",)
    assert snapshot.complete


def test_a_response_to_an_unknown_problem_or_beyond_what_is_asked_is_counted_and_left_out(tmp_path):
    path = folders.running(tmp_path / "run", problems=6, samples=4, done=2)
    key = folders.problem(0).key
    strays = [Response(key="abc", sample=0, text="hm"), Response(key=key, sample=4, text="one too many")]
    folders.append(path / "responses.jsonl", strays)
    snapshot = Run.open(path).snapshot()
    assert len(snapshot) == 2
    assert snapshot.unasked == 2
    assert snapshot.damaged == 0


def test_a_mark_whose_response_is_gone_stands_for_nothing_once_all_is_reading(tmp_path):
    path = folders.running(tmp_path / "run", done=6)
    lines = (path / "responses.jsonl").read_text().splitlines(keepends=True)
    (path / "responses.jsonl").write_text("".join(lines[2:]) + "\n" * 1000)
    reader = RunReader(path)
    assert not reader.refresh(0)
    before = reader.snapshot()
    assert not before.complete
    assert (before.verdict("math") != UNMARKED).sum() == 6
    reader.refresh()
    after = reader.snapshot()
    assert (after.verdict("math") != UNMARKED).sum() == len(list(Run.open(path).marks("math"))) == 4
    assert after.marks_version > before.marks_version


def test_an_error_mark_does_not_replace_an_answers_mark(tmp_path):
    path = folders.running(tmp_path / "run", done=0)
    key = Run.open(path).questions()[0].problem.key
    folders.append(path / "responses.jsonl", [Response(key=key, sample=0, text="hm")])
    marks = [Mark(key=key, verdict=verdict) for verdict in (Verdict.ERROR, Verdict.WRONG, Verdict.ERROR)]
    folders.append(path / "responses.jsonl", [Response(key=key, sample=0, text="7")])
    folders.append(path / "marks" / "math.jsonl", marks)
    assert reading(path).snapshot().verdict("math").tolist() == [CODE[Verdict.WRONG]]
    assert [mark.verdict for mark in Run.open(path).marks("math")] == [Verdict.WRONG]


def test_a_run_from_a_newer_version_opens_without_what_is_unknown(tmp_path):
    reader = reading(folders.from_the_future(tmp_path / "run"))
    snapshot = reader.snapshot()
    assert len(snapshot) == 6
    assert snapshot.damaged == 0
    assert int((snapshot.verdict("math") == UNMARKED).sum()) == 1
    for row in range(6):
        assert snapshot.response(row).key == snapshot.keys[snapshot.problem[row]]
    assert all(snapshot.question(number) is not None for number in range(3))


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_which_line_wins_is_the_same_as_for_run_responses_whatever_the_reading_order(tmp_path, order):
    path = folders.running(tmp_path / "run", done=0)
    key = Run.open(path).questions()[0].problem.key
    lines = {
        "a": [Response(key=key, sample=0, text="a1"), Response(key=key, sample=1, error="lost")],
        "b": [Response(key=key, sample=0, error="lost"), Response(key=key, sample=1, text="b1")],
    }
    reader = RunReader(path)
    for writer in order:
        folders.append(path / f"responses.{writer}.jsonl", lines[writer])
        reader.refresh()
    folders.append(path / "responses.a.jsonl", [Response(key=key, sample=0, text="a2")])
    folders.append(path / "responses.b.jsonl", [Response(key=key, sample=1, error="again")])
    reader.refresh()
    snapshot = reader.snapshot()
    mine = {int(snapshot.sample[row]): snapshot.response(row).text for row in range(len(snapshot))}
    theirs = {response.sample: response.text for response in Run.open(path).responses()}
    assert mine == theirs == {0: "a2", 1: "b1"}


def test_marks_made_again_replace_the_old_ones(tmp_path):
    path = folders.finished(tmp_path / "run", problems=3, samples=3)
    reader = reading(path)
    run = Run.open(path)
    run.save_marks("math", [msgspec.structs.replace(m, verdict=Verdict.CORRECT) for m in run.marks("math")])
    reader.refresh()
    verdict = reader.snapshot().verdict("math")
    assert set(verdict.tolist()) <= {CORRECT, ERROR}
    (path / "marks" / "normalized.jsonl").unlink()
    reader.refresh()
    assert set(reader.snapshot().verdicts) == {"math"}


def test_responses_file_replaced_by_another_is_read_again_from_the_start(tmp_path):
    path = folders.finished(tmp_path / "run", problems=3, samples=3)
    reader = reading(path)
    file = path / "responses.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    other = tmp_path / "other"
    other.write_bytes(b"".join(lines[:4]))
    other.replace(file)
    for protocol in ("math", "normalized"):
        (path / "marks" / f"{protocol}.jsonl").unlink()
    reader.refresh()
    assert len(reader.snapshot()) == 4


def test_refresh_with_no_time_reads_marks_first_and_goes_on_later(tmp_path):
    path = folders.finished(tmp_path / "run", problems=40, samples=20)
    reader = RunReader(path)
    own = folders.manifest(40, 20, protocol="normalized@4")
    rounds = 0
    while not reader.refresh(0, own):
        rounds += 1
        assert rounds < 100
        snapshot = reader.snapshot()
        if snapshot.arrived.any():
            assert (snapshot.verdict("normalized") != UNMARKED).all()
    assert rounds > 3
    assert reader.progress == 1.0
    assert int(reader.snapshot().arrived.sum()) == 800


def test_disagreement_is_where_one_protocol_says_correct_and_another_does_not(tmp_path):
    path = folders.finished(tmp_path / "run", problems=12, samples=8)
    snapshot = reading(path).snapshot()
    run = Run.open(path)
    other = {(m.key, m.sample): m.correct for m in run.marks("normalized")}
    expected = sum(m.correct != other[m.key, m.sample] for m in run.marks("math"))
    assert expected > 0
    assert int(snapshot.disagree.sum()) == expected


def test_impossible_numbers_in_a_line_are_cut_down_or_counted_as_damage(tmp_path):
    path = folders.running(tmp_path / "run", done=0)
    key = Run.open(path).questions()[0].problem.key
    nested = b'{"key":"x","sample":0,"metadata":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    with (path / "responses.jsonl").open("ab") as out:
        out.write(b'{"key":"%s","sample":0,"completion_tokens":99999999999999,"text":""}\n' % key.encode())
        out.write(b'{"key":"%s","sample":-1,"text":""}\n' % key.encode())
        out.write(b'{"key":"%s","sample":99999999999999999,"text":""}\n' % key.encode())
        out.write(nested + b"[1,2]\n")
    folders.append(path / "marks" / "math.jsonl", [Mark(key=key, sample=0, verdict=Verdict.WRONG)])
    reader = reading(path)
    snapshot = reader.snapshot()
    assert len(snapshot) == 1
    assert snapshot.rows["tokens"].tolist() == [2**31 - 1]
    assert snapshot.damaged == 4


def test_file_that_is_a_folder_a_pipe_or_a_link_out_is_refused_and_named(tmp_path):
    path = folders.running(tmp_path / "run", done=4)
    other = folders.running(tmp_path / "other", done=9)
    (path / "responses.folder.jsonl").mkdir()
    os.mkfifo(path / "responses.pipe.jsonl")
    (path / "responses.link.jsonl").symlink_to(other / "responses.jsonl")
    (path / "marks" / "aime.jsonl").symlink_to(other / "marks" / "math.jsonl")
    reader = RunReader(path, path)
    assert reader.refresh()
    assert int(reader.snapshot().arrived.sum()) == 4
    assert reader.refresh()
    assert set(reader.snapshot().refused) == {f"responses.{kind}.jsonl" for kind in ("folder", "pipe", "link")} | {
        "aime.jsonl"
    }


def test_link_to_a_file_that_lies_in_the_folder_is_followed(tmp_path):
    path = folders.running(tmp_path / "run", done=4)
    (path / "responses.jsonl").rename(path / "kept.jsonl")
    (path / "responses.jsonl").symlink_to(path / "kept.jsonl")
    assert int(reading(path).snapshot().arrived.sum()) == 4


def test_metadata_with_too_many_values_is_no_group(tmp_path):
    items = [folders.problem(number, serial=f"n{number}") for number in range(60)]
    Run.create(tmp_path / "run", folders.manifest(60, 1), [folders.question(item) for item in items])
    fields = reading(tmp_path / "run").snapshot().groups
    assert set(fields) == {"subject", "level"}
    assert fields["level"][:6] == ["1", "2", "3", "4", "5", "1"]


def test_row_of_a_cell_that_is_not_there_is_none(tmp_path):
    snapshot = reading(folders.running(tmp_path / "run", problems=6, done=8)).snapshot()
    assert snapshot.row(0, 1) is not None
    assert snapshot.row(5, 1) is None
    assert snapshot.row(99, 0) is None
    assert list(snapshot.rows_of(0)) == [0, 1]
    assert np.all(snapshot.problem[list(snapshot.rows_of(1))] == 1)
