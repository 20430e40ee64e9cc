"""The journal and its lock: what was written stays, damage costs one line, nobody writes beside us."""

import asyncio
import errno
import os
import resource
import subprocess
import sys
import textwrap
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.config import make_config
from markscheme.errors import JournalError
from markscheme.running.live import SampleSet
from markscheme.runs.folder import Manifest, Run
from markscheme.runs.journal import Journal
from markscheme.runs.lock import RunLock
from markscheme.types import Problem, Prompt, Question, Response


def response(sample, text="t", key="k"):
    return Response(key=key, sample=sample, text=text)


def lines(file):
    return [msgspec.json.decode(line, type=Response) for line in file.read_bytes().splitlines()]


def test_journal_when_written_then_each_item_is_a_line_at_once(tmp_path):
    file = tmp_path / "j.jsonl"
    with Journal(file) as journal:
        journal.write([response(0), response(1)])
        assert lines(file) == [response(0), response(1)]  # before it is closed
        journal.write([response(2, "ä\n\u2028")])
    assert lines(file)[-1] == response(2, "ä\n\u2028")


def test_journal_when_the_last_line_is_torn_then_the_next_one_is_whole(tmp_path):
    file = tmp_path / "j.jsonl"
    file.write_bytes(b'{"key":"k","sample":0}\n{"key":"k","sam')
    with Journal(file) as journal:
        journal.write([response(1)])
    assert file.read_bytes().splitlines()[1:] == [b'{"key":"k","sam', b'{"key":"k","sample":1,"text":"t"}']


def test_journal_when_the_disk_is_full_then_what_was_there_is_kept_whole(tmp_path):
    file = tmp_path / "j.jsonl"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Journal(file) as journal:
        journal.write([response(0, "x" * 400)])
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
            with pytest.raises(JournalError, match=r"File too large.*markscheme resume"):
                journal.write([response(1, "y" * 300), response(2, "z" * 3000)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert lines(file) == [response(0, "x" * 400)]
        journal.write([response(3)])  # room again
    assert [one.sample for one in lines(file)] == [0, 3]


def full_after(monkeypatch, writes):
    """The disk takes so many writes, and no more until the list is empty."""
    left, write = [writes], os.write

    def writing(handle, content):
        if left and not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        left[:] = [left[0] - 1] if left else []
        return write(handle, content)

    monkeypatch.setattr("markscheme.runs.journal.os.write", writing)
    return left


def test_journal_when_the_disk_is_full_while_lines_are_put_back_then_they_are_at_the_next_chance(tmp_path, monkeypatch):
    file = tmp_path / "j.jsonl"
    open_files = len(list(Path("/proc/self/fd").iterdir()))
    with Journal(file) as journal:
        journal.write([response(sample) for sample in range(5)])
        file.unlink()
        left = full_after(monkeypatch, 2)
        with pytest.raises(OSError, match="No space"):
            journal._put_back()
        assert [one.sample for one in lines(file)] == [0, 1]
        left.clear()
        journal.write([response(5)])
    assert [one.sample for one in lines(file)] == list(range(6))
    assert len(list(Path("/proc/self/fd").iterdir())) == open_files


def test_journal_when_the_file_in_its_place_is_anothers_then_the_run_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("markscheme.runs.journal.SYNC_EVERY", 0.01)
    file, told = tmp_path / "j.jsonl", []
    with Journal(file) as journal:
        journal.write([response(0)])
        file.rename(tmp_path / "away")
        with Journal(file):
            asyncio.run(asyncio.wait_for(journal.keep_synced(told.append), 10))
    assert ["being written by another" in str(one) for one in told] == [True]
    assert [one.sample for one in lines(file)] == [0]


def test_journal_when_it_cannot_be_opened_then_the_next_may(tmp_path, monkeypatch):
    file = tmp_path / "j.jsonl"
    file.write_bytes(b'{"key":"k","sam')
    left = full_after(monkeypatch, 0)
    kept = Journal(file)
    with pytest.raises(JournalError, match="No space"), kept:
        pass
    left.clear()
    with Journal(file) as journal:
        journal.write([response(1)])


def test_journal_when_its_folder_is_gone_then_says_so(tmp_path):
    with pytest.raises(JournalError, match="cannot write"), Journal(tmp_path / "no" / "j.jsonl"):
        pass


def run_in(folder):
    question = Question(problem=Problem(id="1", statement="1+1?", gold="2", key="k"), prompt=Prompt(messages=()))
    manifest = Manifest(
        config=make_config(benchmark="b", model="m"), benchmark="b", model="m", protocol="p@1", samples=5, problems=1
    )
    return Run.create(folder, manifest, [question])


@pytest.fixture
def run(tmp_path):
    return run_in(tmp_path / "run")


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_journal_when_any_byte_is_damaged_then_at_most_that_line_and_its_neighbour_are_lost(tmp_path_factory, data):
    run = run_in(tmp_path_factory.mktemp("run") / "r")
    with Journal(run.path / "responses.jsonl") as journal:
        journal.write([response(sample, f"text {sample} √2") for sample in range(5)])
    content = bytearray((run.path / "responses.jsonl").read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] = data.draw(st.integers(0, 255))
    (run.path / "responses.jsonl").write_bytes(content)
    kept = [one.sample for one in run.responses()]
    assert len(kept) == run.snapshot().answered  # what counts can be read
    damaged_line = bytes(content[:at]).count(b"\n")
    assert set(range(5)) - set(kept) <= {damaged_line, damaged_line + 1}


def test_responses_when_a_line_holds_bytes_that_are_no_text_then_damaged_and_not_done(run):
    (run.path / "responses.jsonl").write_bytes(b'{"key":"k","sample":0,"text":"\xff\xfe"}\n{"key":"k","sample":1}\n')
    assert [one.sample for one in run.responses()] == [1]
    assert run.snapshot().damage == {"responses.jsonl": 1}


def test_responses_when_a_sample_index_is_absurd_then_damaged_and_no_memory_is_spent(run):
    (run.path / "responses.jsonl").write_bytes(b'{"key":"k","sample":999999999999}\n{"key":"k","sample":-1}\n')
    assert list(run.responses()) == []
    assert run.snapshot().damaged == 2


def test_sample_set_when_filled_then_counts_each_pair_once():
    done = SampleSet()
    done.add_all("a", [3, 5, 3])
    done.add_all("a", [5])
    done.add_all("b", [3])
    assert (done.has("a", 3), done.has("a", 2), done.has("c", 0), len(done)) == (True, False, False, 3)


HOLD = textwrap.dedent(
    """
    import os, sys, time
    from pathlib import Path
    from markscheme.runs.lock import RunLock
    with RunLock(Path(sys.argv[1])):
        forked = os.fork() if "fork" in sys.argv else -1
        if forked == 0:
            os.close(0), os.close(1)
            time.sleep(60)
            os._exit(0)
        print(forked, flush=True)
        sys.stdin.readline()
    """
)


def hold(folder, *more):
    """A process that has the lock, and the number of the child it forked."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder), *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    return holder, int(holder.stdout.readline())


def test_lock_when_another_process_has_it_then_refused_by_its_number(tmp_path):
    child, _ = hold(tmp_path)
    try:
        with pytest.raises(JournalError, match=rf"process {child.pid} on .*markscheme resume"), RunLock(tmp_path):
            pass
    finally:
        child.communicate("\n")
    with RunLock(tmp_path):
        pass


def test_lock_when_its_process_was_killed_then_free(tmp_path):
    child, _ = hold(tmp_path)
    child.kill()
    child.communicate()
    with RunLock(tmp_path):
        pass


def test_lock_when_its_process_was_killed_but_a_forked_child_lives_then_free(tmp_path):
    child, grandchild = hold(tmp_path, "fork")
    child.kill()
    child.communicate()
    try:
        with RunLock(tmp_path):
            os.kill(grandchild, 0)  # it does live
    finally:
        os.kill(grandchild, 9)


def test_lock_when_this_process_has_it_already_then_refused(tmp_path):
    with RunLock(tmp_path), pytest.raises(JournalError, match="by this process"), RunLock(tmp_path):
        pass
    with RunLock(tmp_path):
        pass
