"""Stored outputs by the million: cut into shards, marked in other processes, gone on with after a stop."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.cli import main
from markscheme.errors import DataError, MarkingError, UsageError
from markscheme.scale import shards
from markscheme.scale.bulk import mark_in_bulk
from markscheme.scale.shards import Shard, files_of, shards_of

pytestmark = pytest.mark.needs("pyarrow")


def rows(count):
    """Puzzles with an answer each, every third wrong; 40 puzzles in all."""
    for number in range(count):
        nums = [number % 40 + 1, 2, 3]
        right = number % 3 > 0
        yield {
            "nums": nums,
            "target": sum(nums),
            "text": f"<answer>{nums[0]} + 2 {'+' if right else '-'} 3</answer>",
            "note": "not read",
        }


@pytest.fixture
def parquet(tmp_path):
    """Write rows into a Parquet file of small row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def parquet(name, items, group=50):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(list(items)), file, row_group_size=group)
        return file

    return parquet


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(shards, "ROWS", 100)
    monkeypatch.setattr(shards, "BYTES", 2000)


def marks(folder):
    import pyarrow.parquet as pq

    return [row for part in sorted(folder.glob("part-*.parquet")) for row in pq.read_table(part).to_pylist()]


def test_marking_when_the_source_is_parquet_then_every_row_once_as_the_plain_command_marks_it(
    parquet, small, tmp_path, capsys
):
    stored = list(rows(430))
    done = mark_in_bulk(parquet("big.parquet", stored), "countdown", tmp_path / "out", workers=2)
    found = marks(tmp_path / "out" / "countdown")
    assert [row["position"] for row in found] == list(range(430))
    assert len(list((tmp_path / "out" / "countdown").glob("part-*"))) == 5
    plain = tmp_path / "plain.jsonl"
    plain.write_text("".join(json.dumps(row) + "\n" for row in stored))
    assert main(["mark", str(plain), "-p", "countdown", "--out", str(tmp_path / "plain"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)["protocols"][0]
    assert (done.score.score, done.score.low, done.score.high) == (report["score"], report["low"], report["high"])
    assert done.score.verdicts == report["verdicts"]
    lines = [json.loads(line) for line in (tmp_path / "plain" / "countdown.jsonl").read_text().splitlines()]
    assert [(row["verdict"], row["answer"], row["why"]) for row in found] == [
        (line["verdict"], line.get("answer"), line.get("why", "")) for line in lines
    ]


def test_marking_when_given_again_then_only_what_is_missing_is_marked(parquet, small, tmp_path):
    source = parquet("big.parquet", rows(300))
    first = mark_in_bulk(source, "countdown", tmp_path / "out", workers=1)
    parts = sorted((tmp_path / "out" / "countdown").glob("part-*"))
    parts[1].unlink()
    before = [parts[0].stat().st_mtime_ns, parts[2].stat().st_mtime_ns]
    again = mark_in_bulk(source, "countdown", tmp_path / "out", workers=1)
    assert [parts[0].stat().st_mtime_ns, parts[2].stat().st_mtime_ns] == before
    assert again.earlier == 2
    assert (again.score, again.outcome) == (first.score, first.outcome)


def test_marking_when_the_folder_holds_marks_of_other_inputs_then_refused(parquet, small, tmp_path):
    mark_in_bulk(parquet("big.parquet", rows(100)), "countdown", tmp_path / "out", workers=1)
    with pytest.raises(UsageError, match="marks of something else"):
        mark_in_bulk(parquet("big.parquet", rows(200)), "countdown", tmp_path / "out", workers=1)


def test_marking_when_the_source_is_a_folder_then_all_its_files(parquet, small, tmp_path):
    parquet("in/a.parquet", rows(120))
    (tmp_path / "in" / "deep").mkdir()
    (tmp_path / "in" / "deep" / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(60)))
    done = mark_in_bulk(tmp_path / "in", "countdown", tmp_path / "out", workers=2)
    assert done.outcome.marks == 180
    assert sum(done.score.verdicts.values()) == 180


def test_marking_when_rows_are_unusable_or_unknown_then_counted_and_the_rest_marked(parquet, small, tmp_path):
    file = tmp_path / "mixed.jsonl"
    problem = "Hanna has 3 pens and buys 4 more. How many has she?"
    benchmark = tmp_path / "pens.jsonl"
    benchmark.write_text(json.dumps({"question": problem, "answer": "7"}) + "\n")
    stored = [{"question": problem, "text": "ANSWER: 7"}, {"question": "another", "text": "1"}, {"question": problem}]
    file.write_text("".join(json.dumps(row) + "\n" for row in stored) + "not JSON\n")
    done = mark_in_bulk(file, "gsm8k-numeric", tmp_path / "out", benchmark=str(benchmark), workers=1)
    assert (done.outcome.marks, done.outcome.unmatched, done.outcome.unusable) == (1, 1, 2)
    assert "holds no output" in done.outcome.example
    assert done.score.score == 1.0


def test_marking_when_nothing_can_be_marked_then_says_so(parquet, small, tmp_path):
    with pytest.raises(DataError, match="no column"):
        mark_in_bulk(parquet("other.parquet", [{"x": 1}]), "countdown", tmp_path / "out")
    (tmp_path / "broken.parquet").write_text("no Parquet at all")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        mark_in_bulk(tmp_path / "broken.parquet", "countdown", tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no"):
        files_of(tmp_path / "empty")
    with pytest.raises(DataError, match="nothing to score"):
        mark_in_bulk(parquet("none.parquet", [{"text": "a"}]), "countdown", tmp_path / "none")


@pytest.mark.parametrize("workers", [1, 2])
def test_marking_when_the_protocol_does_not_fit_the_gold_then_its_own_sentence(parquet, small, tmp_path, workers):
    with pytest.raises(MarkingError, match="judges against an answer"):
        mark_in_bulk(parquet("big.parquet", rows(300)), "math", tmp_path / "out", workers=workers)


def test_command_when_the_source_is_parquet_then_table_and_folder(parquet, tmp_path, capsys):
    file = parquet("big.parquet", rows(30))
    assert main(["mark", str(file), "-p", "countdown"]) == 2
    assert "--out" in capsys.readouterr().err
    assert main(["mark", str(file), "-p", "countdown", "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr()
    assert "20 correct, 10 wrong" in shown.out
    assert "30 responses marked" in shown.err


def test_command_when_an_engine_is_asked_for_on_a_run_folder_then_refused(tmp_path, capsys):
    assert (
        main(["run", "countdown-sample", "-m", "solver", "--limit", "2", "--out", str(tmp_path / "run"), "--json"]) == 0
    )
    assert main(["mark", str(tmp_path / "run"), "--engine", "local"]) == 2
    assert "in place" in capsys.readouterr().err


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(st.text(max_size=12), max_size=12), size=st.integers(1, 60), newline=st.booleans())
def test_shards_when_a_file_of_lines_is_cut_anywhere_then_every_line_once(tmp_path_factory, texts, size, newline):
    file = tmp_path_factory.mktemp("cut") / "f.jsonl"
    content = b"".join(json.dumps({"text": text}).encode() + b"\n" for text in texts)
    file.write_bytes(content if newline else content.rstrip(b"\n"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "BYTES", size)
        found = [row["text"] for shard in shards_of(file) for _, row in shards._rows(shard)]
    assert found == texts


def test_shards_when_row_groups_are_small_then_joined_and_numbered_on(parquet, small):
    file = parquet("big.parquet", rows(230), group=30)
    assert list(shards_of(file)) == [Shard(str(file), 0, 4, 0), Shard(str(file), 4, 8, 120)]
