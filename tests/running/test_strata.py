"""`run --stratify`: as large a part of each stratum, fixed before anything is asked, and told in the report."""

import json
from collections import Counter

import pytest

from markscheme.runs.folder import Run


@pytest.fixture
def levels(tmp_path):
    """Sums of three levels, unequally many."""
    file = tmp_path / "sums.jsonl"
    rows = [
        {"question": f"What is {n} + {n + 7}?", "answer": str(2 * n + 7), "level": "hard" if n % 4 else "easy"}
        for n in range(40)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


SOLVED = ("--model", "replay/answers.jsonl", "--protocol", "gsm8k-numeric", "--json")


@pytest.fixture
def answers(tmp_path):
    lines = [{"question": f"What is {n} + {n + 7}?", "response": f"ANSWER: {2 * n + 7 + n % 2}"} for n in range(40)]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_stratify_when_by_a_field_then_as_large_a_part_of_each_value(levels, answers, markscheme, tmp_path):
    part = ("--limit", 12, "--limit-seed", 3, "--stratify", "level")
    done = markscheme("run", levels, *SOLVED, *part, "--out", tmp_path / "r")
    assert done.returncode == 0, done.stderr
    manifest = Run.open(tmp_path / "r").manifest
    assert manifest.strata == {"easy": 10, "hard": 30}
    assert Counter(manifest.stratum) == {"easy": 3, "hard": 9}
    report = json.loads(markscheme("report", tmp_path / "r", "--whole-benchmark", "--json").stdout)["runs"][0]
    assert any("the same share of each of 2 strata" in note for note in report["warnings"])


def test_stratify_when_by_a_stored_run_then_solved_and_unsolved_problems_are_strata(
    levels, answers, markscheme, tmp_path
):
    assert markscheme("run", levels, *SOLVED, "--out", tmp_path / "past").returncode == 0
    part = ("--limit", 10, "--limit-seed", 3, "--stratify", tmp_path / "past")
    assert markscheme("run", levels, *SOLVED, *part, "--out", tmp_path / "r").returncode == 0
    manifest = Run.open(tmp_path / "r").manifest
    assert manifest.strata == {"always": 20, "never": 20}
    assert Counter(manifest.stratum) == {"always": 5, "never": 5}
    whole = json.loads(markscheme("report", tmp_path / "r", "--whole-benchmark", "--json").stdout)["runs"][0]
    plain = json.loads(markscheme("report", tmp_path / "r", "--json").stdout)["runs"][0]
    assert whole["accuracy"]["high"] - whole["accuracy"]["low"] < plain["accuracy"]["high"] - plain["accuracy"]["low"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--stratify", "level"], "--stratify needs --limit and --limit-seed"),
        (["--limit", 5, "--limit-seed", 1, "--stratify", "colour"], "not every problem has a 'colour'"),
        (["--limit", 5, "--limit-seed", 1, "--stratify", "level", "--stratify", "x"], "takes one field, or runs"),
    ],
)
def test_stratify_when_it_cannot_be_then_one_sentence(options, words, levels, answers, markscheme):
    done = markscheme("run", levels, *SOLVED, *options, "--out", "r")
    assert done.returncode == 2
    assert words in done.stderr
