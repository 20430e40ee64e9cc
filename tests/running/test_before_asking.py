"""What is settled before a model is asked: several benchmarks, folders, options that cannot work."""

import json

import pytest

import markscheme as ms
from markscheme.cli import main
from markscheme.errors import DataError, UsageError


def test_run_when_called_twice_in_a_second_then_two_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders = {ms.run("countdown-sample", model="solver", limit=1).path for _ in range(3)}
    assert len(folders) == 3


@pytest.mark.parametrize("extra", [["gsm8k"], ["gsm8k-sample", "--protocol", "countdown"]])
def test_run_when_the_second_benchmark_cannot_work_then_the_first_is_not_asked(tmp_path, capsys, monkeypatch, extra):
    monkeypatch.setenv("MARKSCHEME_DATA", str(tmp_path / "empty"))
    assert main(["run", "countdown-sample", *extra, "-m", "solver", "--out", str(tmp_path / "out"), "--json"]) != 0
    assert not (tmp_path / "out").exists()
    assert capsys.readouterr().err.count("\n") == 1


def test_run_when_the_folder_of_the_second_is_taken_then_the_first_is_still_reported(tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["run", "countdown-sample", "-m", "solver", "--limit", "1", "--out", str(out / "gsm8k-sample")]) == 0
    capsys.readouterr()
    names = ["countdown-sample", "gsm8k-sample"]
    assert main(["run", *names, "-m", "solver", "--limit", "1", "--out", str(out), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["benchmark"] == "countdown-sample"


def test_run_when_the_file_has_no_problems_then_says_so(tmp_path):
    file = tmp_path / "empty.jsonl"
    file.write_text("\n")
    with pytest.raises(DataError, match="has no problems"):
        ms.run(str(file), model="solver", out=tmp_path / "run")


def test_run_when_pass_k_exceeds_the_samples_then_refused():
    with pytest.raises(UsageError, match="pass@4 needs at least 4 samples"):
        ms.run("countdown-sample", model="solver", samples=2, pass_k=(4,))


def test_run_when_one_puzzle_is_beyond_the_solver_then_only_that_one_is_missing(tmp_path, capsys):
    file = tmp_path / "mix.jsonl"
    rows = [{"nums": list(range(1, 10)), "target": 45}, {"nums": [1, 2], "target": 3}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["run", str(file), "-m", "solver", "--out", str(tmp_path / "run"), "--json"]) == 3
    summary = json.loads(capsys.readouterr().out)
    assert (summary["responses"], summary["missing"]) == (1, 1)
