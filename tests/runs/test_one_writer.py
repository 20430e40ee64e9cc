"""One writer at a time, whatever somebody does to the folder meanwhile; readers never need a lock."""

import itertools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from kept_runs import answers, verdicts, wait_until
from loopback import Loopback, Plan

import markscheme as ms
from markscheme.cli import main
from markscheme.errors import JournalError
from markscheme.runs import Run
from markscheme.runs.journal import Journal
from markscheme.runs.lock import RunLock
from markscheme.types import Mark, Verdict


@pytest.fixture
def sums(tmp_path):
    file = tmp_path / "sums.jsonl"
    rows = ({"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(60))
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def asking(tmp_path, sums, launch):
    """A run in a process of its own that has some answers and waits for more: `asking(url)`."""

    def asking(url, folder, *more):
        run = launch("run", sums, "--protocol", "gsm8k-numeric", "--model", "openai/m", "--base-url", url,
                     "--concurrency", 4, "--out", folder, "--json", *more, cwd=tmp_path)  # fmt: skip
        wait_until(lambda: (folder / "responses.jsonl").exists() and len(answers(folder)) > 8)
        return run

    return asking


def answer(body):
    time.sleep(0.05)
    return "#### 4"


class Gate:
    """A server's answers, of which those after the twentieth wait until the test has done what it does meanwhile."""

    def __init__(self):
        self._given, self._open = itertools.count(1), threading.Event()
        self.open = self._open.set

    def __call__(self, body):
        if next(self._given) > 20:
            assert self._open.wait(120)
        return answer(body)


def test_mark_when_the_run_goes_on_then_refused_and_the_run_keeps_every_mark(asking, tmp_path, capsys):
    folder, gate = tmp_path / "run", Gate()
    with Loopback(Plan(answer=gate), count=True) as server:
        run = asking(server.url, folder)
        assert main(["mark", str(folder)]) == 1
        assert f"is being written by process {run.pid}" in capsys.readouterr().err
        assert main(["report", str(folder), "--json"]) == 0  # readers need no lock
        gate.open()
        run.communicate(timeout=200)
        assert run.returncode == 0
        assert sum(server.asked.values()) == 60
    assert len(verdicts(folder)) == 60
    assert main(["mark", str(folder)]) == 0


def test_lock_when_its_file_is_deleted_during_the_run_then_nobody_else_gets_in(asking, tmp_path, capsys):
    folder, gate = tmp_path / "run", Gate()
    with Loopback(Plan(answer=gate), count=True) as server:
        run = asking(server.url, folder)
        (folder / "lock").unlink()
        before = (folder / "manifest.json").read_bytes()
        assert main(["resume", str(folder)]) == 1
        assert "is being written by another process" in capsys.readouterr().err
        assert (folder / "manifest.json").read_bytes() == before
        gate.open()
        run.communicate(timeout=200)
        assert sum(server.asked.values()) == 60
    assert set(answers(folder).values()) == {1}


def test_lock_when_a_journal_is_open_then_refused_though_no_lock_of_the_folder_says_so(tmp_path):
    """As on NFS, where the folder's lock stays on its machine, after somebody there has deleted `lock`."""
    journal = Journal(tmp_path / "responses.jsonl")
    with journal, pytest.raises(JournalError, match="is being written"), RunLock(tmp_path):
        pass
    with RunLock(tmp_path), Journal(tmp_path / "responses.jsonl"):
        pass


def test_lock_when_two_threads_come_by_a_folder_and_a_link_to_it_then_one_is_refused(tmp_path, sums):
    folder, link = tmp_path / "run", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    refused, gate = [], Gate()

    def ask(out):
        try:
            ms.run(str(sums), model="openai/m", base_url=server.url, protocol="gsm8k-numeric", out=out, concurrency=4)
        except ms.MarkschemeError as error:
            refused.append(str(error))
            gate.open()  # so the first one is at work when the second comes, however late that is

    with Loopback(Plan(answer=gate), count=True) as server:
        threads = [threading.Thread(target=ask, args=(out,)) for out in (folder, link)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(server.asked.values()) == 60
    assert len(refused) == 1
    assert set(answers(folder).values()) == {1}


@pytest.mark.parametrize("removed", ["responses.jsonl", "problems.jsonl", "manifest.json", "marks/gsm8k-numeric.jsonl"])
def test_file_when_it_is_removed_during_the_run_then_nothing_of_it_is_lost(asking, tmp_path, removed):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=answer), count=True) as server:
        run = asking(server.url, folder)
        (folder / removed).unlink(missing_ok=True)
        _, said = run.communicate(timeout=200)
        assert run.returncode == 0, said
        assert sum(server.asked.values()) == 60
    assert len(answers(folder)) == len(verdicts(folder)) == 60
    assert set(answers(folder).values()) == {1}


@pytest.mark.parametrize(
    ("file", "by"),
    [
        *(("responses.jsonl", by) for by in ("copy", "part", "folder", "pipe")),
        *(("marks/gsm8k-numeric.jsonl", by) for by in ("part", "folder")),
    ],
)
def test_file_when_it_is_replaced_during_the_run_then_nothing_of_it_is_lost_and_nothing_is_twice(
    asking, tmp_path, file, by
):
    file = tmp_path / "run" / file
    with Loopback(Plan(answer=answer), count=True) as server:
        run = asking(server.url, tmp_path / "run")
        lines = file.read_bytes() if file.exists() else b""
        file.unlink(missing_ok=True)
        if by == "folder":
            file.mkdir()
        elif by == "pipe":
            os.mkfifo(file)
        else:  # as `sed -i` and editors do
            file.write_bytes(lines[: len(lines) // 3] if by == "part" else lines)
        _, said = run.communicate(timeout=200)
        assert run.returncode == 0, said
        assert sum(server.asked.values()) == 60
    assert len(answers(tmp_path / "run")) == len(verdicts(tmp_path / "run")) == 60
    assert set(answers(tmp_path / "run").values()) == {1}


@pytest.mark.parametrize("name", ["lock", ".reserve"])
def test_link_when_it_lies_where_a_run_writes_then_what_it_leads_to_is_untouched(tmp_path, name):
    ms.run("countdown-sample", model="solver", limit=3, out=tmp_path / "run")
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "run" / name).unlink(missing_ok=True)
    (tmp_path / "run" / name).symlink_to(tmp_path / "precious")
    assert main(["resume", str(tmp_path / "run"), "--limit", "4"]) == 0
    assert (tmp_path / "precious").read_text() == "mine"


def test_folder_when_it_is_moved_during_the_run_then_asking_stops_and_it_goes_on_where_it_is_now(asking, tmp_path):
    with Loopback(Plan(answer=lambda _: time.sleep(0.3) or "#### 4"), count=True) as server:
        run = asking(server.url, tmp_path / "run")
        (tmp_path / "run").rename(tmp_path / "moved")
        _, said = run.communicate(timeout=200)
        assert run.returncode == 1
        assert "was removed or moved" in said
        assert "Traceback" not in said
        assert sum(server.asked.values()) < 60
        server.plan.answer = lambda _: "#### 4"  # the rest at once
        assert main(["resume", str(tmp_path / "moved")]) == 0
    assert len(answers(tmp_path / "moved")) == 60
    assert set(answers(tmp_path / "moved").values()) == {1}


def test_journal_when_it_is_open_already_then_a_second_writer_is_refused(tmp_path):
    with (
        Journal(tmp_path / "j.jsonl"),
        pytest.raises(JournalError, match="being written"),
        Journal(tmp_path / "j.jsonl"),
    ):
        pass
    with Journal(tmp_path / "j.jsonl"):
        pass


def test_lock_when_its_process_forked_a_child_then_the_child_holds_nothing(tmp_path):
    with RunLock(tmp_path), Journal(tmp_path / "j.jsonl"):
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
    try:
        with RunLock(tmp_path), Journal(tmp_path / "j.jsonl"):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_leftovers_when_a_writer_was_killed_then_the_next_removes_them_and_nobody_elses(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (tmp_path / "marks").mkdir()
    dead = [tmp_path / f".manifest.json.{gone.pid}.ab12", tmp_path / "marks" / f".math.jsonl.{gone.pid}.x_y"]
    alive = [tmp_path / f".report.json.{os.getppid()}.ab12", tmp_path / ".notes.json", tmp_path / "kept.json.1.a"]
    for file in (*dead, *alive):
        file.write_text("{")
    with RunLock(tmp_path):
        assert not any(file.exists() for file in dead)
        assert all(file.exists() for file in alive)


def test_marks_when_the_disk_is_full_then_the_advice_names_the_run(tmp_path):
    (tmp_path / "run" / "marks").mkdir(parents=True)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Journal(tmp_path / "run" / "marks" / "math.jsonl") as journal:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
            with pytest.raises(JournalError, match=rf"`markscheme resume {tmp_path / 'run'}`"):
                journal.write([Mark(verdict=Verdict.WRONG, why="x" * 300)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("sent", [signal.SIGHUP, signal.SIGTERM])
def test_hang_up_when_the_terminal_is_closed_then_stops_with_a_report_and_says_how_it_ended(asking, tmp_path, sent):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=answer)) as server:
        run = asking(server.url, folder)
        run.send_signal(sent)
        run.communicate(timeout=200)
    assert run.returncode == 130
    assert Run.open(folder).manifest.status == "interrupted"
    assert json.loads((folder / "report.json").read_bytes())["responses"] == len(answers(folder))


def test_hang_up_when_the_run_was_started_with_nohup_then_it_goes_on(asking, tmp_path):
    folder = tmp_path / "run"
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # which a child inherits
    try:
        with Loopback(Plan(answer=answer)) as server:
            run = asking(server.url, folder)
            run.send_signal(signal.SIGHUP)
            run.communicate(timeout=200)
    finally:
        signal.signal(signal.SIGHUP, former)
    assert run.returncode == 0
    assert len(answers(folder)) == 60


BAD_MANIFESTS = {
    "invalid byte": lambda raw: raw.replace(b'"benchmark"', b'"bench\xffmark"', 1),
    "invalid byte in a value": lambda raw: raw.replace(b"solver", b"sol\xffver"),
    "brackets": lambda raw: b"[" * 200_000,
    "nested value": lambda raw: raw[:-2] + b', "packages": ' + b"[" * 200_000,
    "empty": lambda raw: b"",
    "not an object": lambda raw: b"7",
}


@pytest.mark.parametrize("damage", BAD_MANIFESTS)
def test_manifest_when_it_is_damaged_then_one_sentence_and_nobody_elses_problem(tmp_path, capsys, damage):
    from markscheme.view.library import Library
    from markscheme.view.links import Links
    from markscheme.view.pages.runs import runs_page
    from markscheme.view.site import Site

    ms.run("countdown-sample", model="solver", limit=3, out=tmp_path / "good")
    shutil.copytree(tmp_path / "good", tmp_path / "bad")
    file = tmp_path / "bad" / "manifest.json"
    file.write_bytes(BAD_MANIFESTS[damage](file.read_bytes()))
    for command in ("report", "resume", "mark", "audit"):
        assert main([command, str(tmp_path / "bad")]) == 1, command
        said = capsys.readouterr().err
        assert "manifest.json cannot be read" in " ".join(said.split())
        assert len(said) < 1000
    site = Site(Library(tmp_path), Links("0"), patience=30).begin()
    rows = runs_page(site, {}).context["rows"]
    assert {row.entry.name: row.entry.manifest is None for row in rows} == {"bad": True, "good": False}
    assert next(row for row in rows if row.entry.name == "good").figures.accuracy.value == 1.0
    site.background.close()


@pytest.mark.parametrize(
    "name",
    [
        "manifest.json",
        "problems.jsonl",
        "responses.jsonl",
        "marks/countdown.jsonl",
        "batches.jsonl",
        "lock",
        ".reserve",
    ],
)
def test_file_when_it_is_a_pipe_then_nobody_waits_for_it(tmp_path, capsys, name):
    ms.run("countdown-sample", model="solver", limit=3, out=tmp_path / "run")
    (tmp_path / "run" / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / "run" / name)
    for command in ("report", "mark", "audit", "resume"):
        assert main([command, str(tmp_path / "run")]) in (0, 1), command
        capsys.readouterr()


@pytest.mark.parametrize("name", ["responses.jsonl", "marks/countdown.jsonl", "marks"])
@pytest.mark.parametrize("inside", [True, False])
def test_link_when_a_journal_is_one_then_resume_refuses_and_nothing_is_written_through_it(
    tmp_path, capsys, name, inside
):
    ms.run("countdown-sample", model="solver", limit=3, out=tmp_path / "run")
    file = tmp_path / "run" / name
    kept = (tmp_path / "run" if inside else tmp_path) / "kept"
    file.rename(kept)
    file.symlink_to(kept)
    before = {one: one.read_bytes() for one in (kept, *kept.rglob("*")) if one.is_file()}
    assert main(["resume", str(tmp_path / "run"), "--limit", "4"]) == 1
    said = capsys.readouterr().err
    assert "is a link" in said
    assert "Traceback" not in said
    assert {one: one.read_bytes() for one in before} == before


def test_link_when_a_journal_leads_out_of_the_folder_then_report_says_so(tmp_path, capsys):
    ms.run("countdown-sample", model="solver", limit=3, out=tmp_path / "run")
    (tmp_path / "run" / "responses.jsonl").rename(tmp_path / "kept.jsonl")
    (tmp_path / "run" / "responses.jsonl").symlink_to(tmp_path / "kept.jsonl")
    assert main(["report", str(tmp_path / "run")]) == 1
    assert "responses.jsonl is a link out of the folder" in capsys.readouterr().err


@pytest.mark.parametrize("field", ["samples", "problems"])
@pytest.mark.parametrize("value", [10**11, -1, 1.5, "many"])
@pytest.mark.parametrize("command", ["resume", "report", "verify"])
def test_manifest_when_a_size_is_beyond_reason_then_one_sentence(tmp_path, capsys, field, value, command):
    ms.run("countdown-sample", model="solver", limit=2, out=tmp_path / "run")
    file = tmp_path / "run" / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {field: value}))
    capsys.readouterr()
    assert main([command, str(tmp_path / "run")]) == 1
    said = capsys.readouterr().err
    assert f"$.{field}" in said
    assert said.count("\n") == 1
