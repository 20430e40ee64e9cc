"""`run --until-better`: samples are added until a model is shown to be better than another, or a gain is not in sight."""

import json
import re
import zlib

import pytest
from loopback import Loopback, Plan

from markscheme.runs.folder import Run


def solver(rate):
    """Right in about so many of a hundred samples."""

    def answer(body):
        text = body["messages"][-1]["content"]
        first, second = map(int, re.search(r"What is (\d+) \+ (\d+)", text).groups())
        unlucky = zlib.crc32(f"{text}{body.get('seed')}".encode()) % 100 >= rate
        return f"ANSWER: {first + second + unlucky}"

    return answer


@pytest.fixture
def baseline(markscheme, sums, fast, tmp_path):
    with Loopback(Plan(answer=solver(40))) as server:
        done = markscheme("run", sums(20), *fast, "--base-url", server.url, "-n", 12, "--out", tmp_path / "a")
    assert done.returncode == 0, done.stderr
    return tmp_path / "a"


@pytest.mark.parametrize(("rate", "outcome"), [(80, "better"), (35, "not better by the margin")])
def test_until_better_when_the_gain_is_clear_or_absent_then_stops_early_and_says_which(
    rate, outcome, baseline, markscheme, sums, fast, tmp_path
):
    with Loopback(Plan(answer=solver(rate))) as server:
        command = ("run", sums(20), *fast, "--base-url", server.url, "--seed", 5, "--out", tmp_path / "b")
        done = markscheme(*command, "--until-better", baseline, "--margin", 15)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert report["looked"]["outcome"] == outcome
        assert report["looked"]["samples"] == report["samples"] == Run.open(tmp_path / "b").manifest.samples < 12
        asked = server.requests
        assert markscheme("resume", tmp_path / "b", "--json").returncode == 0
        assert server.requests == asked, "what is decided is not asked on"
    compared = json.loads(markscheme("compare", baseline, tmp_path / "b", "--anyway", "--json").stdout)
    assert compared["looked"] == report["looked"]
    assert (compared["looked"]["difference"]["low"] > 0) is (outcome == "better")
    assert "always-valid interval" in markscheme("compare", baseline, tmp_path / "b", "--anyway").stdout


def test_until_better_when_two_models_are_asked_in_one_experiment_then_both_are_asked_on_alike(
    markscheme, sums, fast, tmp_path
):
    with Loopback(Plan(answer=solver(30))) as weak, Loopback(Plan(answer=solver(75))) as strong:
        file = tmp_path / "pair.toml"
        file.write_text(
            f'benchmarks = ["{sums(20)}"]\nuntil_better = "weak"\nmargin = 20\n'
            f'[models.weak]\nmodel = "openai/w"\nbase_url = ["{weak.url}"]\n'
            f'[models.strong]\nmodel = "openai/s"\nbase_url = ["{strong.url}"]\n'
        )
        done = markscheme("run", file, "--json", "--out", tmp_path / "e")
        assert done.returncode == 0, done.stderr
    reports = json.loads(done.stdout)
    assert len(reports) == 2, "a run that is asked on is reported once"
    assert len({report["samples"] for report in reports}) == 1
    compared = json.loads(markscheme("compare", tmp_path / "e", "--json").stdout)
    assert compared["looked"]["outcome"] == "better"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--until-better", "nowhere", "--margin", 5], "nowhere does not exist"),
        (["--until-better", "a"], "go together"),
        (["--margin", 5], "go together"),
        (["--until-better", "a", "--margin", 5, "--until", 3], "leave one of them out"),
        (["--until-better", "a", "--margin", 5, "-t", 0], "needs a temperature above 0"),
        (["--until-better", "a", "--margin", 5, "--samples-per-request", 4], "leave --samples-per-request out"),
    ],
)
def test_until_better_when_it_cannot_be_then_one_sentence_and_nothing_asked(options, words, markscheme, sums, fast):
    done = markscheme("run", sums(3), *fast, *options, "--base-url", "http://127.0.0.1:9", "--out", "b")
    assert done.returncode in (1, 2)
    assert words in done.stderr
