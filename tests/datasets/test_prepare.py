"""Fetching through the real Hub client from a loopback Hub: what is right is kept, anything else leaves nothing."""

import sys
from typing import NamedTuple

import msgspec
import pytest
from hub_server import COMMIT, jsonl, parquet

from markscheme.benchmarks import Benchmark, benchmark
from markscheme.benchmarks.examining import examiner
from markscheme.datasets import HubFile, Source, content_hash, read_rows
from markscheme.datasets.prepare import prepare
from markscheme.errors import DataError

ROWS = [{"question": f"What is {n} + {n}? ½", "answer": f"{n} + {n} = {2 * n}\n#### {2 * n}"} for n in range(20)]
PUZZLES = [{"nums": [n, 2, 3], "target": n + 5} for n in range(1, 1001)]
PINNED = "ab" * 20


class Made(NamedTuple):
    """A made-up data set: its files, and the benchmark whose rows they hold."""

    files: tuple[Source, ...]
    like: Benchmark


def words(path="data/test.parquet", rows=ROWS):
    """A made-up data set in the form of GSM8K whose hash is that of `rows`."""
    hub = HubFile(repo="somebody/words", revision=PINNED, path=path)
    like = benchmark("gsm8k")
    columns = like.definition.columns
    file = Source(file="words/test.jsonl", rows=len(rows), hub=hub, sha256=content_hash(rows), columns=columns)
    return Made((file,), like)


def puzzles():
    """A made-up data set in the form of Countdown: two sources, and no hash that is known beforehand."""
    like = benchmark("countdown")
    hubs = (HubFile(repo="first/puzzles", path="a.parquet"), HubFile(repo="second/puzzles", path="b.jsonl"))
    file = Source(file="puzzles/test.jsonl", rows=len(PUZZLES), hub=hubs, columns=like.definition.columns)
    return Made((file,), like)


def run(dataset, folder, force=False):
    return prepare(dataset.files, folder, examiner(dataset.like), force=force)


def source_of(dataset, index=0):
    return dataset.files[0].places[index]


def names_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(("path", "container"), [("data/test.parquet", parquet), ("test.jsonl", jsonl)])
def test_prepare_when_the_rows_are_right_then_they_are_kept_with_their_source(hub, tmp_path, path, container):
    dataset = words(path)
    hub.add(source_of(dataset), container([{**row, "extra": 1} for row in ROWS]))
    (prepared,) = run(dataset, tmp_path)
    assert (prepared.action, prepared.file.check, prepared.note) == ("fetched", "content", "")
    assert prepared.file.source == f"hf://datasets/somebody/words@{PINNED}/{path}"
    assert prepared.file.sha256 == prepared.file.content_sha256 == dataset.files[0].sha256
    assert list(read_rows(tmp_path / "words/test.jsonl")) == [dict(sorted(row.items())) for row in ROWS]
    assert names_in(tmp_path) == ["words/test.jsonl", "words/test.source.json"]


def test_prepare_when_already_there_and_right_then_the_hub_is_not_asked(hub, tmp_path):
    dataset = words()
    hub.add(source_of(dataset), parquet(ROWS))
    run(dataset, tmp_path)
    hub.requests.clear()
    assert [each.action for each in run(dataset, tmp_path)] == ["there"]
    assert hub.requests == []
    assert [each.action for each in run(dataset, tmp_path, force=True)] == ["fetched"]
    assert any(request.startswith("GET /datasets/somebody/words/resolve/" + PINNED) for request in hub.requests)


@pytest.mark.parametrize("content", [b"", b'{"question": "?", "answer": "#### 1"}\n', b"not json"])
def test_prepare_when_another_file_lies_there_then_it_is_replaced(hub, tmp_path, content):
    dataset = words()
    hub.add(source_of(dataset), parquet(ROWS))
    target = tmp_path / "words/test.jsonl"
    target.parent.mkdir()
    target.write_bytes(content)
    assert [each.action for each in run(dataset, tmp_path)] == ["fetched"]
    assert content_hash(read_rows(target)) == dataset.files[0].sha256


def test_prepare_when_a_row_differs_then_both_hashes_are_named_and_nothing_is_left(hub, tmp_path):
    dataset = words()
    changed = [*ROWS[:-1], {**ROWS[-1], "question": "Another question?"}]
    hub.add(source_of(dataset), parquet(changed))
    with pytest.raises(DataError) as caught:
        run(dataset, tmp_path)
    assert content_hash(changed) in str(caught.value)
    assert dataset.files[0].sha256 in str(caught.value)
    assert names_in(tmp_path) == []


def test_prepare_when_the_new_file_is_wrong_then_the_old_one_stays(hub, tmp_path):
    dataset = words()
    hub.add(source_of(dataset), parquet(ROWS))
    run(dataset, tmp_path)
    before = (tmp_path / "words/test.jsonl").read_bytes()
    hub.add(source_of(dataset), parquet(ROWS[:-1]))
    with pytest.raises(DataError, match="has 19 rows"):
        run(dataset, tmp_path, force=True)
    assert (tmp_path / "words/test.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("path", "content", "complaint"),
    [
        ("data/test.parquet", b"PAR1 but not really", "not a readable Parquet file"),
        ("test.jsonl", b'{"question": "?", "answer"', "line 1: not valid JSON"),
        ("test.jsonl", b'{"question": "?", "answer": "3"}\n', "row 1: answer has no text after `####`"),
        ("test.jsonl", b'{"question": 7, "answer": "#### 3"}\n', "row 1: `question` must be a text, not 7"),
    ],
)
def test_prepare_when_the_file_is_garbage_then_it_says_where_and_leaves_nothing(
    hub, tmp_path, path, content, complaint
):
    dataset = words(path)
    hub.add(source_of(dataset), content)
    with pytest.raises(DataError) as caught:
        run(dataset, tmp_path)
    assert complaint in str(caught.value)
    assert str(caught.value).startswith(f"hf://datasets/somebody/words@{PINNED}/{path}")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [("404", "HTTP 404"), ("401", "hf auth login"), ("403", "hf auth login"), ("503", "try again")],
)
def test_prepare_when_the_hub_refuses_then_one_sentence_and_nothing_left(hub, tmp_path, fault, sentence):
    dataset = words()
    hub.add(source_of(dataset), parquet(ROWS), fault)
    with pytest.raises(DataError) as caught:
        run(dataset, tmp_path)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert names_in(tmp_path) == []


def test_prepare_when_the_body_always_breaks_off_then_it_gives_up_and_nothing_is_left(hub, tmp_path, capfd):
    dataset = words()
    hub.add(source_of(dataset), parquet(ROWS), "truncated")
    with pytest.raises(DataError, match="broke off"):
        run(dataset, tmp_path)
    assert sum(request.startswith("GET /datasets") for request in hub.requests) == 3
    assert names_in(tmp_path) == []
    assert capfd.readouterr().err == ""  # the client's own warnings would make it more than one sentence


def test_prepare_when_no_hash_is_known_then_the_first_fetch_is_recorded_and_binds_the_next(hub, tmp_path):
    dataset = puzzles()
    hub.add(source_of(dataset), parquet(PUZZLES))
    (first,) = run(dataset, tmp_path)
    assert first.file.check == "recorded"
    assert "trusted and recorded" in first.note
    record = msgspec.json.decode((tmp_path / "puzzles/test.source.json").read_bytes())
    assert (record["commit"], record["revision"], record["content_sha256"]) == (COMMIT, "main", content_hash(PUZZLES))

    other = [*PUZZLES[:-1], {"nums": [1, 2, 3], "target": 6}]
    hub.add(source_of(dataset), parquet(other))
    with pytest.raises(DataError) as caught:
        run(dataset, tmp_path, force=True)
    assert content_hash(PUZZLES) in str(caught.value)
    assert content_hash(other) in str(caught.value)
    (again,) = run(dataset, tmp_path)
    assert (again.action, again.file.content_sha256) == ("there", content_hash(PUZZLES))


def test_prepare_when_no_hash_is_known_and_rows_are_missing_then_it_is_refused(hub, tmp_path):
    dataset = puzzles()
    hub.add(source_of(dataset), parquet(PUZZLES[:999]))
    with pytest.raises(DataError, match="999 rows, but 1000 were expected"):
        run(dataset, tmp_path)
    assert names_in(tmp_path) == []


def test_prepare_when_a_puzzle_cannot_be_solved_then_it_is_named_and_nothing_is_left(hub, tmp_path):
    dataset = puzzles()
    hub.add(source_of(dataset), parquet([*PUZZLES[:-1], {"nums": [1, 1, 1], "target": 100}]))
    with pytest.raises(DataError, match=r"row 1000, \[1, 1, 1\] to 100, has no solution"):
        run(dataset, tmp_path)
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("fault", ["404", "401"])
def test_prepare_when_the_first_source_is_gone_then_the_second_is_used_and_said(hub, tmp_path, fault):
    dataset = puzzles()
    hub.add(source_of(dataset), b"", fault)
    hub.add(source_of(dataset, 1), jsonl(PUZZLES))
    (prepared,) = run(dataset, tmp_path)
    assert prepared.file.source == f"hf://datasets/second/puzzles@{COMMIT}/b.jsonl"
    assert (
        "first/puzzles@main/a.parquet is not available, so hf://datasets/second/puzzles@main/b.jsonl was used"
        in prepared.note
    )


def test_prepare_when_a_file_is_not_where_it_was_then_the_conversion_of_its_split_is_used(hub, tmp_path):
    dataset = puzzles()
    moved = HubFile(repo="first/puzzles", path="a.parquet", split="default/test")
    dataset = Made((msgspec.structs.replace(dataset.files[0], hub=moved),), dataset.like)
    hub.add(source_of(dataset), b"", "404")
    hub.add(source_of(dataset, 1), parquet(PUZZLES))
    (prepared,) = run(dataset, tmp_path)
    assert prepared.file.source.endswith("/default/test/0000.parquet")
    assert "a.parquet is not available, so hf://datasets/first/puzzles@refs/convert/parquet/" in prepared.note
    assert any("convert" in request for request in hub.requests)
    assert not source_of(dataset, 1).pinned


def test_prepare_when_the_first_source_only_fails_for_now_then_the_second_is_not_used(hub, tmp_path):
    dataset = puzzles()
    hub.add(source_of(dataset), b"", "503")
    hub.add(source_of(dataset, 1), jsonl(PUZZLES))
    with pytest.raises(DataError, match="try again later"):
        run(dataset, tmp_path)


def test_prepare_when_both_contests_are_in_one_file_then_it_is_fetched_once_and_divided(hub, tmp_path):
    both = [{"problem_idx": n, "problem": f"Find {7 * n}.", "answer": 7 * n} for n in range(1, 31)]
    official = benchmark("aime-2025")
    halves = [[(n, 7 * n) for n in range(1, 16)], [(n, 7 * (n + 15)) for n in range(1, 16)]]
    files = tuple(
        msgspec.structs.replace(
            file, sha256=content_hash({"answer": answer, "problem_idx": number} for number, answer in half)
        )
        for file, half in zip(official.sources, halves, strict=True)
    )
    hub.add(files[0].places[0], parquet(both[::-1]))
    prepared = run(Made(files, official), tmp_path)
    assert [each.file.check for each in prepared] == ["answers", "answers"]
    assert sum(request.startswith("GET /datasets") for request in hub.requests) == 1
    rows = read_rows(tmp_path / "aime2025/II.jsonl")
    assert [row["problem_idx"] for row in rows] == list(range(1, 16))
    assert rows[0]["problem"] == "Find 112."


def test_prepare_when_a_split_is_several_files_then_they_are_read_one_after_the_other(hub, tmp_path):
    dataset = words(path=("a.parquet", "b.parquet"))
    (source,) = dataset.files[0].places
    for path, rows in zip(source.paths, (ROWS[:7], ROWS[7:]), strict=True):
        hub.add(HubFile(repo=source.repo, path=path), parquet(rows))
    (prepared,) = run(dataset, tmp_path)
    assert prepared.file.check == "content"
    assert prepared.file.source == f"hf://datasets/somebody/words@{PINNED}/{{a.parquet,b.parquet}}"


def test_prepare_when_the_client_is_not_installed_then_one_sentence_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub.errors", None)
    with pytest.raises(DataError, match=r"huggingface_hub cannot be imported.*pip install 'markscheme\[data\]'"):
        run(words(), tmp_path)


def test_prepare_when_the_folder_cannot_be_written_then_one_sentence(hub, tmp_path):
    dataset = words()
    hub.add(source_of(dataset), parquet(ROWS))
    (tmp_path / "words").write_text("a file where a folder should be")
    with pytest.raises(DataError, match=r"cannot be written .*--data-dir"):
        run(dataset, tmp_path)


def test_prepare_when_every_official_set_is_served_then_all_are_verified(hub, tmp_path, real_data):
    contests = {}
    for name in ("gsm8k", "math500", "aime-2024", "aime-2025"):
        bench = benchmark(name)
        own = tuple(file for file in bench.sources if not file.borrowed)
        for file in own:
            (source,) = file.places
            rows = list(read_rows(real_data / file.file))
            if name == "aime-2025":
                done = contests.setdefault(source.path, [])
                done += [{**row, "problem_idx": row["problem_idx"] + len(done)} for row in rows]
                rows = done
            hub.add(source, parquet(rows) if source.path.endswith(".parquet") else jsonl(rows))
        prepared = run(Made(own, bench), tmp_path)
        assert {each.file.check for each in prepared} == ({"answers"} if "aime" in name else {"content"})
