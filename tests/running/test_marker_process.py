"""A response that would keep the marker busy for hours holds up nothing: not the asking, not Ctrl-C, not resuming."""

import json
import signal
from pathlib import Path

import pytest
from kept_runs import answers, wait_until
from loopback import Loopback, Plan

from markscheme.marking import mark
from markscheme.models.fleet.keeper import descendants
from markscheme.running.marker_process import mark_apart
from markscheme.runs import Run
from markscheme.types import Problem, Response

# A protocol for the command in its own process and for its workers: any text of hashes keeps it busy for a minute, and it
# leaves word in a file that it is. The limit is half a second here, as a minute is as much beyond it as beyond the usual
# five. Where no limit on processor time is the subject it sleeps, which answers as little and costs nothing.
BUSY = """
import os, time
from markscheme.running import marker_process, recorder
marker_process.SECONDS = float(os.environ.get("BUSY_SECONDS", "0.5"))
recorder.MOMENT = 0.5
from markscheme.marking import Assessment, Protocol
from markscheme.marking import protocol as register
from markscheme.types import Verdict

def judge(sections, gold):
    until, sleeps = time.monotonic() + 60, "BUSY_SECONDS" in os.environ
    if "#" * 1000 in sections.text:
        open(os.environ["BUSY"], "w").close()
    while "#" * 1000 in sections.text and time.monotonic() < until:
        time.sleep(1) if sleeps else None
    return Assessment(Verdict.CORRECT, gold, "at last")

register._loaded["busy"] = Protocol("busy", "1", "keeps busy", "text", judge)
"""


@pytest.fixture
def busy(tmp_path, monkeypatch):
    """The protocol is known to every process that is started from here."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(BUSY)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")
    monkeypatch.setenv("BUSY", str(folder / "busy"))
    return folder / "busy"


def answer_with(text, hashes):
    return lambda body: text(body) + ("#" * hashes if "What is 3 +" in str(body) else "")


def test_marks_when_a_response_keeps_the_marker_busy_then_the_run_ends_and_names_it(
    process, sums, right, tmp_path, busy
):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=answer_with(right, 20_000)), count=True) as server:
        command = ("run", sums(12), "--protocol", "busy", "--model", "openai/m", "--base-url", server.url, "--json")
        asking = process(*command, "--concurrency", 1, "--out", folder)
        wait_until(busy.exists, 60)
        wait_until(lambda: len(answers(folder)) == 12, 60)  # asked on while the marker was busy, or long done
        out, said = asking.communicate(timeout=200)
        assert asking.returncode == 0, said
        report = json.loads(out)
        assert report["verdicts"] == {"correct": 11, "unmarkable": 1}
        assert "the marker took longer than 0.5 s" in " ".join(report["warnings"])
        busy.unlink()
        again = process("resume", folder, "--json")  # and does not meet it again
        again.communicate(timeout=200)
        assert again.returncode == 0
        assert not busy.exists()
        assert sum(server.asked.values()) == 12
    assert {one.verdict for one in Run.open(folder).marks("busy")} == {"correct", "unmarkable"}


@pytest.mark.parametrize(
    ("number", "when"), [(signal.SIGTERM, "asking"), (signal.SIGHUP, "marking"), (signal.SIGINT, "marking")]
)
def test_signal_when_the_marker_is_busy_then_the_run_is_closed_and_can_be_resumed(
    process, sums, right, tmp_path, busy, monkeypatch, number, when
):
    monkeypatch.setenv("BUSY_SECONDS", "30")  # so that it is busy still when the signal comes
    folder = tmp_path / "run"
    with Loopback(Plan(answer=answer_with(right, 1_000), latency=0.05)) as server:
        command = ("run", sums(40), "--protocol", "busy", "--model", "openai/m", "--base-url", server.url, "--json")
        asking = process(*command, "--concurrency", 2, "--out", folder)
        wait_until(busy.exists, 60)
        if when == "marking":
            wait_until(lambda: len(answers(folder)) == 40, 60)
        asking.send_signal(number)
        out, said = asking.communicate(timeout=200)
    assert asking.returncode == 130, said
    assert "Traceback" not in said
    kept = Run.open(folder)
    assert kept.manifest.status == "interrupted"
    assert kept.manifest.ended
    assert json.loads((folder / "report.json").read_bytes())["responses"] == len(answers(folder))
    assert "unmarkable" not in json.loads(out)["verdicts"]  # broken off says nothing about the response
    assert len(answers(folder)) == 40 or when == "asking"


def test_run_when_killed_while_the_marker_is_busy_then_the_marker_ends_too(process, sums, right, tmp_path, busy):
    with Loopback(Plan(answer=answer_with(right, 1_000))) as server:
        command = ("run", sums(12), "--protocol", "busy", "--model", "openai/m", "--base-url", server.url, "--json")
        asking = process(*command, "--concurrency", 4, "--out", tmp_path / "run")
        wait_until(busy.exists, 60)
        family = descendants(asking.pid)
        assert family
        asking.kill()
        asking.wait()
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in family), 120)


def test_mark_apart_when_there_is_time_then_the_same_mark_as_here():
    problem = Problem(id="1", statement="1+1?", gold="2")
    for text in ("\\boxed{2}", "\\boxed{3}", "no idea", "<think>" + "x" * 30_000):
        response = Response(key=problem.key, sample=4, text=text)
        assert mark_apart([(response, problem)], "math") == [mark(response, problem, protocol="math")]


def test_mark_apart_when_an_old_folder_holds_integers_without_measure_then_the_same_mark_as_here():
    problem = Problem(id="1", statement="1+1?", gold="2", metadata={"size": 10**40})
    response = Response(
        key=problem.key, sample=0, text="\\boxed{2}", completion_tokens=10**20, metadata={"logprobs": [10**40]}
    )
    assert mark_apart([(response, problem)], "math") == [mark(response, problem, protocol="math")]
