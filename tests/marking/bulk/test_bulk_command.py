"""`markscheme mark` on Parquet and folders, as its users call it."""

import json

import pytest
from stored_outputs import puzzles, write_lines, write_parquet

from markscheme.cli import main

pytestmark = pytest.mark.needs("pyarrow")


def test_command_when_the_source_is_parquet_then_table_and_folder(tmp_path, capsys):
    file = write_parquet(tmp_path / "big.parquet", puzzles(30))
    command = ["mark", str(file), "-p", "countdown"]
    assert main(command) == 0
    assert "20 correct, 10 wrong" in capsys.readouterr().out
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr()
    assert "20 correct, 10 wrong" in shown.out
    assert f"30 marks are in {tmp_path / 'out' / 'countdown'} (1 part, 0 from an earlier command)\n" in shown.err
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    assert "(1 part, 1 from an earlier command)" in capsys.readouterr().err


def test_command_when_asked_for_json_then_it_says_what_was_left_out_and_where_the_marks_are(tmp_path, capsys):
    sums = write_lines(tmp_path / "sums.jsonl", [{"question": "1 + 1?", "answer": "2"}])
    stored = [{"question": "1 + 1?", "text": "ANSWER: 2"}, {"question": "3 + 3?", "text": "6"}, {"question": "1 + 1?"}]
    write_lines(tmp_path / "in" / "a.jsonl", stored)
    write_lines(tmp_path / "in" / "b.jsonl.gz", stored)
    command = ["mark", str(tmp_path / "in"), "-b", str(sums), "-p", "math", "-p", "gsm8k-numeric", "--json"]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr()
    for told in json.loads(shown.out)["protocols"]:
        assert (told["unmatched"], told["unusable"], told["score"]) == (1, 1, 1.0)
        assert told["folder"] == str(tmp_path / "out" / told["protocol"].partition("@")[0])
    assert f"skipped, because only .parquet and .jsonl files are read: {tmp_path / 'in' / 'b.jsonl.gz'}\n" in shown.err


def test_command_when_one_file_of_lines_is_marked_as_a_whole_then_json_says_what_was_left_out(tmp_path, capsys):
    sums = write_lines(tmp_path / "sums.jsonl", [{"question": "1 + 1?", "answer": "2"}])
    stored = [{"question": "1 + 1?", "text": "ANSWER: 2"}, {"question": "3 + 3?", "text": "6"}]
    assert main(["mark", str(write_lines(tmp_path / "a.jsonl", stored)), "-b", str(sums), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["protocols"][0]["unmatched"] == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--ray-address", "auto"], "--ray-address needs --engine ray"),
        (["--engine", "local", "--ray-address", "auto"], "--ray-address needs --engine ray"),
        (["--engine", "ray", "--workers", "2"], "--workers cannot be used with --engine ray"),
    ],
)
def test_command_when_an_option_would_do_nothing_then_refused(tmp_path, capsys, options, told):
    file = write_lines(tmp_path / "a.jsonl", puzzles(3))
    assert main(["mark", str(file), "--out", str(tmp_path / "out"), *options]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("workers", ["0", "-1", "many"])
def test_command_when_there_would_be_no_worker_then_refused(tmp_path, capsys, workers):
    with pytest.raises(SystemExit, match="2"):
        main(["mark", str(write_lines(tmp_path / "a.jsonl", puzzles(3))), f"--workers={workers}"])
    assert "is not a whole number of at least 1" in capsys.readouterr().err


def test_command_when_an_engine_is_asked_for_on_a_run_folder_then_refused(tmp_path, capsys):
    folder = tmp_path / "runs" / "one"
    assert main(["run", "countdown-sample", "-m", "solver", "--limit", "2", "--out", str(folder), "--json"]) == 0
    assert main(["mark", str(folder), "--engine", "local"]) == 2
    assert "in place" in capsys.readouterr().err
    assert main(["mark", str(tmp_path / "runs"), "--out", str(tmp_path / "out")]) == 2
    assert f"{folder} is a run folder, which is marked in place" in capsys.readouterr().err
