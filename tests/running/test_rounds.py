"""`run --until`: rounds that stop when the score is known, survive a kill, and go where answers still vary."""

import json
import re
import signal
import time
import zlib

import pytest
from loopback import Loopback, Plan

import markscheme as ms
from markscheme.reporting.summary import summarize
from markscheme.runs.folder import Run


def lucky(body):
    """Right always for even sums' first numbers, else about every second time: half of the problems are settled."""
    text = body["messages"][-1]["content"]
    first, second = map(int, re.search(r"What is (\d+) \+ (\d+)", text).groups())
    unlucky = first % 2 and zlib.crc32(f"{text}{body.get('seed')}".encode()) % 2
    return f"ANSWER: {first + second + unlucky}"


def keys_asked(folder):
    """Every (problem, sample) that was answered, with how often."""
    lines = [json.loads(line) for line in (folder / "responses.jsonl").read_text().splitlines()]
    return [(line["key"], line["sample"]) for line in lines if "error" not in line]


def check_whole(run):
    """The journal holds exactly what the rounds planned, once each."""
    keys = [question.problem.key for question in run.questions()]
    planned = [sum(counts) for counts in zip(*(each.asked for each in run.snapshot().planned), strict=True)]
    wanted = {(key, sample) for key, count in zip(keys, planned, strict=True) for sample in range(count)}
    found = keys_asked(run.path)
    assert len(found) == len(wanted)
    assert set(found) == wanted
    assert len(wanted) == run.manifest.problems * run.manifest.samples


def test_until_when_reached_then_stops_narrow_enough_and_asks_uncertain_problems_more(markscheme, sums, fast, tmp_path):
    with Loopback(Plan(answer=lucky)) as server:
        done = markscheme(
            *("run", sums(20), *fast, "--base-url", server.url, "--until", "±4", "--out", tmp_path / "r", "-k", "2,4")
        )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    until = report["until"]
    assert until["reached"] is True
    assert until["rounds"] > 1
    assert until["score"]["high"] - until["score"]["low"] <= 0.08
    assert until["fewest"] < report["samples"] < until["most"]
    assert report["missing"] == 0
    assert report["pass_at_k"]["2"]["value"] > report["accuracy"]["value"]
    run = Run.open(tmp_path / "r")
    assert run.manifest.sampling["temperature"] > 0
    check_whole(run)
    totals = [sum(counts) for counts in zip(*(each.asked for each in run.snapshot().planned), strict=True)]
    assert sum(totals[1::2]) > sum(totals[::2]), "odd first numbers are the uncertain ones"


def test_until_when_the_most_samples_do_not_suffice_then_says_so(markscheme, sums, fast, tmp_path):
    with Loopback(Plan(answer=lucky)) as server:
        done = markscheme(
            *("run", sums(6), *fast, "--base-url", server.url, "--until", "1", "--max-samples", 6, "-n", 3),
            *("--out", tmp_path / "r"),
        )
    report = json.loads(done.stdout)
    assert (report["until"]["reached"], report["until"]["stopped"]) == (False, "--max-samples is 6")
    assert report["samples"] == 5, "after rounds of 3 and 2 a single sample shows no variance"
    check_whole(Run.open(tmp_path / "r"))


def test_until_when_killed_and_resumed_then_every_planned_sample_once(process, sums, fast, tmp_path):
    folder = tmp_path / "r"
    command = ("run", sums(20), *fast, "--until", "4", "--concurrency", 4, "--out", folder)
    with Loopback(Plan(answer=lucky, latency=0.02)) as server:
        for size in (50, 110):  # in the first round, and in a later one
            started = process(*command) if size == 50 else process("resume", folder, "--json")
            if size == 50:
                started.kill()
                started = process(*command, "--base-url", server.url)
            deadline = time.monotonic() + 200
            while time.monotonic() < deadline and started.poll() is None:
                journal = folder / "responses.jsonl"
                if journal.exists() and len(journal.read_bytes().splitlines()) >= size:
                    break
                time.sleep(0.01)
            assert started.poll() is None, "it must not be done yet"
            started.send_signal(signal.SIGKILL)
            started.wait()
        last = process("resume", folder, "--json")
        report = json.loads(last.communicate(timeout=200)[0])
    assert last.returncode == 0
    assert report["until"]["reached"] is True
    check_whole(Run.open(folder))


def test_until_when_resumed_tighter_or_on_a_plain_run_then_goes_on(markscheme, sums, fast, tmp_path):
    with Loopback(Plan(answer=lucky)) as server:
        plain = markscheme("run", sums(20), *fast, "--base-url", server.url, "-n", 4, "--out", tmp_path / "r")
        first = markscheme("resume", tmp_path / "r", "--until", "6", "--json")
        again = markscheme("resume", tmp_path / "r", "--json")
        tighter = markscheme("resume", tmp_path / "r", "--until", "4", "--json")
    samples = [json.loads(each.stdout)["samples"] for each in (plain, first, again, tighter)]
    assert samples[0] == 4
    assert samples[0] < samples[1] == samples[2] < samples[3]
    check_whole(Run.open(tmp_path / "r"))


@pytest.mark.parametrize(
    "options",
    [
        ("--until", "0.02"),  # points, not a share
        ("--until", "many"),
        ("--until", "2", "-t", "0"),
        ("--until", "2", "-n", "8", "--max-samples", "4"),
        ("--until", "2", "--max-samples", "8", "-k", "16"),
    ],
)
def test_until_when_it_makes_no_sense_then_refused_before_asking(markscheme, sums, fast, tmp_path, options, capsys):
    try:
        refused = markscheme("run", sums(3), *fast, *options, "--out", tmp_path / "r").returncode
    except SystemExit as leaving:  # argparse's own way
        refused = leaving.code
    assert refused == 2
    assert not (tmp_path / "r").exists()


def test_until_when_a_plain_run_has_one_sample_then_a_new_run_is_advised(markscheme, sums, right, fast, tmp_path):
    with Loopback(Plan(answer=right)) as server:
        markscheme("run", sums(3), *fast, "--base-url", server.url, "--out", tmp_path / "r")
        refused = markscheme("resume", tmp_path / "r", "--until", "2")
    assert refused.returncode == 2
    assert "start a new run" in refused.stderr


def test_until_when_some_answers_never_come_then_the_rest_counts(markscheme, sums, fast, tmp_path):
    def status(body):
        return (400, {"error": {"message": "no"}}) if "What is 3 " in body["messages"][-1]["content"] else None

    with Loopback(Plan(answer=lucky, status=status)) as server:
        done = markscheme("run", sums(12), *fast, "--base-url", server.url, "--until", "9", "--out", tmp_path / "r")
    assert done.returncode == 3
    report = json.loads(done.stdout)
    assert report["missing"] > 0
    assert report["until"]["score"]["problems"] == report["accuracy"]["problems"] == 11
    assert report["until"]["reached"] is True


def test_until_from_python_when_given_points_then_the_same(sums, tmp_path):
    with Loopback(Plan(answer=lucky)) as server:
        run = ms.run(
            *(str(sums(20)),),
            model="openai/m",
            base_url=server.url,
            until=9,
            protocol="gsm8k-numeric",
            out=tmp_path / "r",
        )
    until = summarize(run).until
    assert until.reached
    assert until.points == 9
    assert (until.score.high - until.score.low) / 2 <= 0.09


def test_until_when_looked_at_in_the_viewer_then_the_same_figures_as_in_the_report(markscheme, sums, fast, tmp_path):
    from markscheme.runs.reader import RunReader
    from markscheme.view import figures

    with Loopback(Plan(answer=lucky)) as server:
        done = markscheme(
            *("run", sums(20), *fast, "--base-url", server.url, "--until", "4", "-k", "4", "--out", tmp_path / "r")
        )
    report, reader = json.loads(done.stdout), RunReader(tmp_path / "r")
    reader.refresh(30)
    counts = reader.snapshot(Run.open(tmp_path / "r").manifest).counts("gsm8k-numeric")
    for metric, found in (("accuracy", report["accuracy"]), ("pass@4", report["pass_at_k"]["4"])):
        assert figures.estimate(metric, counts).value == pytest.approx(found["value"])
        assert figures.estimate(metric, counts).low == pytest.approx(found["low"])
