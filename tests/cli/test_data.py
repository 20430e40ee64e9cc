"""`markscheme data list` and `verify`: what is here, in words and as JSON. `prepare` is tested with its Hub."""

import json

import pytest

from markscheme.benchmarks import benchmarks
from markscheme.cli import main

WHOLE = [each for each in benchmarks().values() if each.name == each.definition.name]
FILES = [s for each in WHOLE for s in each.sources if s.places and not s.borrowed]

PUZZLES = [{"nums": [n, 2, 3], "target": n + 5} for n in range(1, 1001)]


def write(folder, name, rows):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_data_list_when_the_folder_is_empty_then_every_file_is_missing(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    assert main(["data", "list", "--data-dir", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert str(tmp_path) in shown
    assert shown.count("missing") == len(FILES)
    assert "Stephen-Xie/Countdown (not pinned)" in shown


def test_data_list_when_asked_for_json_then_only_json_is_printed(tmp_path, capsys):
    write(tmp_path, "countdown/sample.jsonl", PUZZLES)
    assert main(["data", "list", "--json", "--data-dir", str(tmp_path)]) == 0
    listed = json.loads(capsys.readouterr().out)
    states = {file["name"]: file["state"] for file in listed["files"]}
    assert states == {s.file: "stand-in" if s.file == "countdown/test.jsonl" else "missing" for s in FILES}
    pinned = {file["dataset"] for file in listed["files"] if file["pinned"]}
    assert {"gsm8k", "math500", "aime-2024", "aime-2025"} <= pinned
    assert "countdown" not in pinned


@pytest.mark.parametrize(("names", "code"), [([], 0), (["gsm8k"], 1)])
def test_data_verify_when_files_are_missing_then_only_a_named_one_is_a_failure(tmp_path, capsys, names, code):
    assert main(["data", "verify", *names, "--data-dir", str(tmp_path)]) == code
    assert "gsm8k/test.jsonl" in capsys.readouterr().out


def test_data_verify_when_a_file_differs_then_exit_1_and_it_is_named(tmp_path, capsys):
    write(tmp_path, "gsm8k/test.jsonl", [{"question": "?", "answer": "#### 1"}] * 1319)
    assert main(["data", "verify", "--json", "--data-dir", str(tmp_path)]) == 1
    files = {file["report"]["name"]: file for file in json.loads(capsys.readouterr().out)["files"]}
    assert files["gsm8k/test.jsonl"]["report"]["state"] == "differs"
    assert (files["gsm8k/test.jsonl"]["golds"], files["gsm8k/test.jsonl"]["bad_golds"]) == (1319, [])


def test_data_verify_when_a_gold_cannot_be_marked_then_it_is_listed_with_the_reason(tmp_path, capsys):
    write(
        tmp_path, "gsm8k/test.jsonl", [{"question": "?", "answer": "#### 1"}, {"question": "?", "answer": "#### many"}]
    )
    write(tmp_path, "countdown/test.jsonl", [{"nums": [1, 1, 1], "target": 100}])
    assert main(["data", "verify", "--data-dir", str(tmp_path)]) == 1
    shown = capsys.readouterr().out
    assert "1 of 2" in shown
    assert "gsm8k/test.jsonl, problem 0001: gold many is marked" in shown
    assert (
        "countdown/test.jsonl, problem 0000: gold [1, 1, 1] to 100 is marked unmarkable: the puzzle has no solution"
        in shown
    )


def test_data_verify_when_the_data_is_official_then_every_gold_earns_its_mark(real_data, capsys):
    names = ["gsm8k", "math500", "aime2024", "aime2025"]
    assert main(["data", "verify", *names, "--json", "--data-dir", str(real_data)]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert sum(file["golds"] for file in files) == 1319 + 7473 + 500 + 60
    assert [file["bad_golds"] for file in files] == [[]] * 7
