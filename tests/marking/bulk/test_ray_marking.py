"""Marking on a Ray cluster of two nodes on this machine, one of which is killed on the way."""

import json
import threading
import time
from pathlib import Path

import pytest
from stored_outputs import marks_in, puzzles, write_lines, write_parquet

from markscheme.errors import DataError, ModelError
from markscheme.marking.bulk.campaign import mark_in_bulk
from markscheme.models.fleet import ray_cluster

# Starting a cluster takes minutes on a busy machine.
pytestmark = [pytest.mark.needs("ray", "pyarrow"), pytest.mark.timeout(900)]


@pytest.mark.parametrize("address", ["127.0.0.1:1", "[::1]:1"])
def test_cluster_when_nobody_listens_at_its_address_then_told_before_ray_tries(monkeypatch, address):
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **_: pytest.fail("Ray would try for minutes"))
    with pytest.raises(ModelError, match=r"^no Ray cluster at \S+:1: "):
        ray_cluster.connect(address)


def test_marking_when_done_on_a_cluster_then_the_same_marks_as_here(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("markscheme.marking.bulk.shards.BYTES", 4000)
    file = tmp_path / "stored.jsonl"
    stored = ({"nums": [n % 9, 2, 3], "target": n % 9 + 5, "text": f"<answer>{n % 9} + 5</answer>"} for n in range(300))
    file.write_text("".join(json.dumps(row) + "\n" for row in stored))
    here = mark_in_bulk(file, "countdown", tmp_path / "here", workers=1)
    there = mark_in_bulk(file, "countdown", tmp_path / "there", engine="ray")
    assert (there.score, there.outcome) == (here.score, here.outcome)
    names = [sorted(one.name for one in (tmp_path / place / "countdown").iterdir()) for place in ("here", "there")]
    assert names[0] == names[1]
    assert len(names[0]) > 3


def test_marking_when_paths_are_relative_and_the_data_folder_is_from_the_environment_then_workers_find_them(
    cluster, small_shards, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MARKSCHEME_DATA", "data")
    question = "Hanna has 3 pens and buys 4 more. How many has she?"
    write_lines(tmp_path / "data" / "gsm8k" / "test.jsonl", [{"question": question, "answer": "3 + 4 = 7\n#### 7"}])
    write_lines(tmp_path / "own.jsonl", [{"question": question, "answer": "8"}])
    write_lines(tmp_path / "in" / "a.jsonl", [{"question": question, "text": "ANSWER: 7"}] * 100)
    for benchmark, score in (("gsm8k", 1.0), ("own.jsonl", 0.0)):
        done = mark_in_bulk(Path("in"), "gsm8k-numeric", Path(f"{benchmark}.out"), benchmark=benchmark, engine="ray")
        assert (done.outcome.marks, done.score.score) == (100, score)
        assert done.parts > 1


def test_marking_when_a_file_is_corrupt_then_its_own_sentence(cluster, small_shards, tmp_path):
    file = write_parquet(tmp_path / "b.parquet", puzzles(100))
    content = bytearray(file.read_bytes())
    content[40:400] = bytes(360)
    file.write_bytes(content)
    with pytest.raises(DataError, match=r"^\S+b\.parquet cannot be read: .*; 1 of 1 parts could not be marked"):
        mark_in_bulk(file, "countdown", tmp_path / "out", engine="ray")


def test_marking_when_others_use_the_cluster_then_it_says_what_it_waits_for(cluster, tmp_path, monkeypatch):
    import ray

    monkeypatch.setattr("markscheme.marking.bulk.campaign.SAY_EVERY", 0.2)
    monkeypatch.setattr("markscheme.marking.bulk.workers.LOOK_EVERY", 0.1)
    enough = tmp_path / "enough"

    def keep_a_core():
        deadline = time.monotonic() + 120
        while not enough.exists() and time.monotonic() < deadline:
            time.sleep(0.05)

    others = [ray.remote(num_cpus=1)(keep_a_core).remote() for _ in range(3)]
    deadline = time.monotonic() + 200
    while ray.available_resources().get("CPU", 0) and time.monotonic() < deadline:
        time.sleep(0.05)
    said = []

    def say(line):
        said.append(line)
        if line.startswith("0 of 1") and line.endswith("3 cores, 0 of them free"):
            enough.touch()

    file = write_lines(tmp_path / "f.jsonl", puzzles(3))
    mark_in_bulk(file, "countdown", tmp_path / "out", engine="ray", say=say)
    assert enough.exists(), said
    ray.get(others)


def test_marking_when_a_node_is_killed_then_every_row_is_marked_once(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("markscheme.marking.bulk.shards.ROWS", 1000)
    file = write_parquet(tmp_path / "f.parquet", puzzles(40_000), group=10_000)
    folder = tmp_path / "out" / "countdown"
    before = []

    def kill():
        deadline = time.monotonic() + 120
        while len(list(folder.glob("part-*"))) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        cluster.kill_second()
        before.extend(folder.glob("part-*"))

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        done = mark_in_bulk(file, "countdown", tmp_path / "out", engine="ray")
    finally:
        killer.join()
    assert len(before) < done.parts == 40  # it was killed on the way
    assert [row["position"] for row in marks_in(folder)] == list(range(40_000))
    assert done.outcome.marks == 40_000
