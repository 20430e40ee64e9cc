"""Stored outputs by the million: cut into shards, marked in other processes."""

import json

import pytest
from stored_outputs import marks_in, puzzles, write_lines, write_parquet

from markscheme.cli import main
from markscheme.errors import DataError
from markscheme.marking.bulk import tallying
from markscheme.marking.bulk.campaign import mark_in_bulk

pytestmark = [pytest.mark.needs("pyarrow"), pytest.mark.usefixtures("small_shards")]


def test_marking_when_the_source_is_parquet_then_every_row_once(tmp_path):
    stored = list(puzzles(430))
    mark_in_bulk(write_parquet(tmp_path / "big.parquet", stored), "countdown", tmp_path / "out", workers=2)
    assert [row["position"] for row in marks_in(tmp_path / "out" / "countdown")] == list(range(430))
    assert len(list((tmp_path / "out" / "countdown").glob("part-*"))) == 5


def test_marking_when_the_source_is_lines_or_parquet_or_a_folder_then_same_marks_and_score(tmp_path, capsys):
    stored = list(puzzles(90))
    lines, parquet = write_lines(tmp_path / "a.jsonl", stored), write_parquet(tmp_path / "b.parquet", stored)
    folder = write_lines(tmp_path / "in" / "c.jsonl", stored).parent
    results = []
    for source in (lines, parquet, folder):
        out = tmp_path / f"{source.name}-out"
        for kept in ([], ["--out", str(out)]):
            assert main(["mark", str(source), *kept, "--json"]) == 0
            (report,) = json.loads(capsys.readouterr().out)["protocols"]
            marks = [(row["verdict"], row["answer"], row["why"]) for row in marks_in(out / "countdown")]
            results.append(
                (report["score"], report["low"], report["high"], report["verdicts"], marks if kept else None)
            )
    assert results[0::2] == [results[0]] * 3
    assert results[1::2] == [results[1]] * 3
    assert results[0][:4] == results[1][:4]
    assert len(results[1][4]) == 90
    assert (tmp_path / "a.jsonl-out" / "countdown" / "part-00000.jsonl").exists()


def test_marking_when_the_source_is_a_folder_then_all_its_files(tmp_path):
    write_parquet(tmp_path / "in" / "a.parquet", puzzles(120))
    write_lines(tmp_path / "in" / "deep" / "b.jsonl", puzzles(60))
    done = mark_in_bulk(tmp_path / "in", "countdown", tmp_path / "out", workers=1)
    assert done.outcome.marks == 180
    assert sum(done.score.verdicts.values()) == 180


def test_marking_when_rows_are_unusable_or_unknown_then_counted_and_the_rest_marked(tmp_path):
    problem = "Hanna has 3 pens and buys 4 more. How many has she?"
    benchmark = write_lines(tmp_path / "pens.jsonl", [{"question": problem, "answer": "7"}])
    stored = [{"question": problem, "text": "ANSWER: 7"}, {"question": "another", "text": "1"}, {"question": problem}]
    file = write_lines(tmp_path / "mixed.jsonl", stored)
    file.write_text(file.read_text() + "not JSON\n")
    done = mark_in_bulk(file, "gsm8k-numeric", tmp_path / "out", benchmark=str(benchmark), workers=1)
    assert (done.outcome.marks, done.outcome.unmatched, done.outcome.unusable) == (1, 1, 2)
    assert "holds no output" in done.outcome.example
    assert done.score.score == 1.0


def test_marking_when_nothing_can_be_marked_then_says_so(tmp_path):
    with pytest.raises(DataError, match="no column"):
        mark_in_bulk(write_parquet(tmp_path / "other.parquet", [{"x": 1}]), "countdown", tmp_path / "out")
    (tmp_path / "broken.parquet").write_text("no Parquet at all")
    with pytest.raises(DataError, match=r"broken\.parquet cannot be read as Parquet"):
        mark_in_bulk(tmp_path / "broken.parquet", "countdown", tmp_path / "out")
    with pytest.raises(DataError, match="has no gold answer"):
        mark_in_bulk(write_parquet(tmp_path / "none.parquet", [{"text": "a"}]), "countdown", tmp_path / "none")
    sums = write_lines(tmp_path / "sums.jsonl", [{"question": "1 + 1?", "answer": "2"}])
    unknown = write_lines(tmp_path / "unknown.jsonl", [{"question": "3 + 3?", "text": "6"}])
    with pytest.raises(DataError, match="nothing to score"):
        mark_in_bulk(unknown, "math", tmp_path / "unknown", benchmark=str(sums))


def test_marking_when_the_protocol_fits_no_gold_then_its_own_sentence(tmp_path):
    file = write_parquet(tmp_path / "big.parquet", puzzles(300))
    with pytest.raises(
        DataError, match=r"^no row of \S+ can be marked; the first: big.parquet:0: protocol 'math' judge"
    ):
        mark_in_bulk(file, "math", tmp_path / "out", workers=1)


def test_marking_when_there_are_many_responses_then_their_counting_is_told(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(tallying, "AT_ONCE", 50)
    mark_in_bulk(
        write_lines(tmp_path / "f.jsonl", puzzles(60)), "countdown", tmp_path / "out", workers=1, say=said.append
    )
    assert said[-1] == "counting the verdicts of 60 responses"


def test_marking_when_no_part_ends_for_a_while_then_it_says_how_far_it_is(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr("markscheme.marking.bulk.campaign.SAY_EVERY", 0.001)
    file = write_parquet(tmp_path / "f.parquet", puzzles(99))
    mark_in_bulk(file, "countdown", tmp_path / "out", workers=1, say=said.append)
    assert said[0].startswith("0 of 1 parts, 0 responses marked")
    assert said[-1].startswith("1 of 1 parts, 99 responses marked")
