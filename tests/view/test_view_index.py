import os
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest
import run_folders as folders

from markscheme.runs.columns import CODE, CORRECT, ERROR, UNMARKED
from markscheme.runs.folder import Run
from markscheme.runs.index import RunIndex
from markscheme.runs.tail import Tail
from markscheme.types import Mark, Response, Verdict


def indexed(path: Path) -> RunIndex:
    index = RunIndex(path)
    assert index.refresh()
    return index


def test_snapshot_of_a_finished_run_has_every_response_with_its_verdict_in_order(tmp_path):
    path = folders.finished(tmp_path / "run", problems=7, samples=5)
    index = indexed(path)
    snapshot = index.snapshot()
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
        assert index.response(snapshot, row) == stored[place]
        assert index.mark(snapshot, "math", row) == marks[place]
    assert index.question(3) == run.questions()[3]


def test_refresh_of_a_growing_run_reads_only_what_was_added(tmp_path, monkeypatch):
    path = folders.running(tmp_path / "run", done=10)
    index = indexed(path)
    before = index.snapshot()
    assert len(before) == 10
    read: list[int] = []
    original = Tail.lines

    def counting(self, until):
        for offset, line in original(self, until):
            read.append(len(line))
            yield offset, line

    monkeypatch.setattr(Tail, "lines", counting)
    index.refresh()
    assert read == []
    assert index.snapshot() is before
    folders.go_on(path, 10, 13)
    index.refresh()
    assert len(read) == 6  # three responses, three marks
    assert len(index.snapshot()) == 13


def test_a_torn_line_is_left_out_until_it_is_whole(tmp_path):
    path = folders.running(tmp_path / "run", done=3)
    item = Run.open(path).questions()[5].problem
    line = msgspec.json.encode(Response(key=item.key, sample=3, text="late } answer"))
    with (path / "responses.jsonl").open("ab") as out:
        out.write(line[:-9])
    index = indexed(path)
    assert len(index.snapshot()) == 3
    assert index.snapshot().torn == 1
    assert index.snapshot().damaged == 0
    with (path / "responses.jsonl").open("ab") as out:
        out.write(line[-9:])  # whole now, though the line end is still missing
    index.refresh()
    snapshot = index.snapshot()
    assert len(snapshot) == 4
    assert snapshot.torn == 0
    with (path / "responses.jsonl").open("ab") as out:
        out.write(b"\n" + msgspec.json.encode(Response(key=item.key, sample=2, text="next")) + b"\n")
    index.refresh()
    assert len(index.snapshot()) == 5
    assert index.snapshot().damaged == 0


def test_a_crashed_run_opens_with_its_damage_counted(tmp_path):
    index = indexed(folders.crashed(tmp_path / "run"))
    snapshot = index.snapshot()
    assert int(snapshot.arrived.sum()) == 11
    assert snapshot.damaged == 2
    assert snapshot.torn == 1
    assert snapshot.complete


def test_a_response_to_an_unknown_problem_is_kept_without_a_statement(tmp_path):
    path = folders.running(tmp_path / "run", done=2)
    folders.append(path / "responses.jsonl", [Response(key="abc", sample=0, problem_id="stray", text="hm")])
    index = indexed(path)
    snapshot = index.snapshot()
    stray = snapshot.keys.index("abc")
    assert snapshot.ids[stray] == "stray"
    assert index.response(snapshot, snapshot.row(stray, 0)).text == "hm"
    assert index.question(stray) is None


def test_a_mark_whose_response_is_gone_stands_for_nothing_once_all_is_read(tmp_path):
    path = folders.running(tmp_path / "run", done=6)
    lines = (path / "responses.jsonl").read_text().splitlines(keepends=True)
    (path / "responses.jsonl").write_text("".join(lines[2:]))
    index = RunIndex(path)
    index.refresh(responses=False)
    before = index.snapshot()
    assert (before.verdict("math") != UNMARKED).sum() == 6
    index.refresh()
    after = index.snapshot()
    assert (after.verdict("math") != UNMARKED).sum() == len(list(Run.open(path).marks("math"))) == 4
    assert after.marks_version > before.marks_version


def test_an_error_mark_does_not_replace_an_answers_mark(tmp_path):
    path = folders.running(tmp_path / "run", done=0)
    key = Run.open(path).questions()[0].problem.key
    folders.append(path / "responses.jsonl", [Response(key=key, sample=0, text="hm")])
    marks = [Mark(key=key, verdict=verdict) for verdict in (Verdict.ERROR, Verdict.WRONG, Verdict.ERROR)]
    folders.append(path / "responses.jsonl", [Response(key=key, sample=0, text="7")])
    folders.append(path / "marks" / "math.jsonl", marks)
    assert indexed(path).snapshot().verdict("math").tolist() == [CODE[Verdict.WRONG]]
    assert [mark.verdict for mark in Run.open(path).marks("math")] == [Verdict.WRONG]


def test_a_run_from_a_newer_version_opens_without_what_is_unknown(tmp_path):
    index = indexed(folders.from_the_future(tmp_path / "run"))
    snapshot = index.snapshot()
    assert len(snapshot) == 6
    assert snapshot.damaged == 0
    assert int((snapshot.verdict("math") == UNMARKED).sum()) == 1
    for row in range(6):
        assert index.response(snapshot, row).key == snapshot.keys[snapshot.problem[row]]
    assert all(index.question(number) is not None for number in range(3))


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_which_line_wins_is_the_same_as_for_run_responses_whatever_the_reading_order(tmp_path, order):
    path = folders.running(tmp_path / "run", done=0)
    key = Run.open(path).questions()[0].problem.key
    lines = {
        "a": [Response(key=key, sample=0, text="a1"), Response(key=key, sample=1, error="lost")],
        "b": [Response(key=key, sample=0, error="lost"), Response(key=key, sample=1, text="b1")],
    }
    index = RunIndex(path)
    for writer in order:
        folders.append(path / f"responses.{writer}.jsonl", lines[writer])
        index.refresh()
    folders.append(path / "responses.a.jsonl", [Response(key=key, sample=0, text="a2")])
    folders.append(path / "responses.b.jsonl", [Response(key=key, sample=1, error="again")])
    index.refresh()
    snapshot = index.snapshot()
    mine = {int(snapshot.sample[row]): index.response(snapshot, row).text for row in range(len(snapshot))}
    theirs = {response.sample: response.text for response in Run.open(path).responses()}
    assert mine == theirs == {0: "a2", 1: "b1"}


def test_marks_made_again_replace_the_old_ones(tmp_path):
    path = folders.finished(tmp_path / "run", problems=3, samples=3)
    index = indexed(path)
    run = Run.open(path)
    run.save_marks("math", [msgspec.structs.replace(m, verdict=Verdict.CORRECT) for m in run.marks("math")])
    index.refresh()
    verdict = index.snapshot().verdict("math")
    assert set(verdict.tolist()) <= {CORRECT, ERROR}
    (path / "marks" / "normalized.jsonl").unlink()
    index.refresh()
    assert set(index.snapshot().verdicts) == {"math"}


def test_responses_file_replaced_by_another_is_read_again_from_the_start(tmp_path):
    path = folders.finished(tmp_path / "run", problems=3, samples=3)
    index = indexed(path)
    file = path / "responses.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    other = tmp_path / "other"
    other.write_bytes(b"".join(lines[:4]))
    other.replace(file)
    for protocol in ("math", "normalized"):
        (path / "marks" / f"{protocol}.jsonl").unlink()
    index.refresh()
    assert len(index.snapshot()) == 4


def test_refresh_with_no_time_reads_marks_first_and_goes_on_later(tmp_path):
    path = folders.finished(tmp_path / "run", problems=40, samples=20)
    index = RunIndex(path)
    index.first_protocol = "normalized"
    rounds = 0
    while not index.refresh(seconds=0):
        rounds += 1
        assert rounds < 100
        snapshot = index.snapshot()
        if snapshot.arrived.any():
            assert (snapshot.verdict("normalized") != UNMARKED).all()
    assert rounds > 3
    assert index.progress == 1.0
    assert int(index.snapshot().arrived.sum()) == 800


def test_disagreement_is_where_one_protocol_says_correct_and_another_does_not(tmp_path):
    path = folders.finished(tmp_path / "run", problems=12, samples=8)
    snapshot = indexed(path).snapshot()
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
    index = indexed(path)
    snapshot = index.snapshot()
    assert len(snapshot) == 1
    assert snapshot.numbers["tokens"].tolist() == [2**31 - 1]
    assert snapshot.damaged == 4


def test_file_that_is_a_folder_a_pipe_or_a_link_out_is_refused_and_named(tmp_path):
    path = folders.running(tmp_path / "run", done=4)
    other = folders.running(tmp_path / "other", done=9)
    (path / "responses.folder.jsonl").mkdir()
    os.mkfifo(path / "responses.pipe.jsonl")
    (path / "responses.link.jsonl").symlink_to(other / "responses.jsonl")
    (path / "marks" / "aime.jsonl").symlink_to(other / "marks" / "math.jsonl")
    index = indexed(path)
    assert int(index.snapshot().arrived.sum()) == 4
    assert index.refresh()
    assert set(index.refused) == {f"responses.{kind}.jsonl" for kind in ("folder", "pipe", "link")} | {"aime.jsonl"}


def test_link_to_a_file_that_lies_in_the_folder_is_followed(tmp_path):
    path = folders.running(tmp_path / "run", done=4)
    (path / "responses.jsonl").rename(path / "kept.jsonl")
    (path / "responses.jsonl").symlink_to(path / "kept.jsonl")
    assert int(indexed(path).snapshot().arrived.sum()) == 4


def test_metadata_with_too_many_values_is_no_group(tmp_path):
    items = [folders.problem(number, serial=f"n{number}") for number in range(60)]
    Run.create(tmp_path / "run", folders.manifest(60, 1), [folders.question(item) for item in items])
    fields = indexed(tmp_path / "run").problems.fields()
    assert set(fields) == {"subject", "level"}
    assert fields["level"][:6] == ["1", "2", "3", "4", "5", "1"]


def test_row_of_a_cell_that_is_not_there_is_none(tmp_path):
    snapshot = indexed(folders.running(tmp_path / "run", problems=6, done=8)).snapshot()
    assert snapshot.row(0, 1) is not None
    assert snapshot.row(5, 1) is None
    assert snapshot.row(99, 0) is None
    assert list(snapshot.rows_of(0)) == [0, 1]
    assert np.all(snapshot.problem[list(snapshot.rows_of(1))] == 1)
