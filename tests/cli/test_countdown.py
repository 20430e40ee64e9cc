"""`markscheme countdown` as a user types it."""

import json

import pytest

from markscheme.cli import main
from markscheme.countdown import generate, judge


def test_solve_when_solvable_then_prints_an_equation(capsys):
    assert main(["countdown", "solve", "41", "70", "18", "35", "--target", "46"]) == 0
    assert capsys.readouterr().out == "70 + 35 - 41 - 18 = 46\n"


def test_solve_when_all_then_lists_and_counts(capsys):
    assert main(["countdown", "solve", "41", "70", "18", "35", "--target", "46", "--all"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "70 + 35 - 41 - 18 = 46",
        "70 * (41 - 18) / 35 = 46",
        "2 essentially different solutions.",
    ]


def test_solve_when_json_then_only_json(capsys):
    assert main(["countdown", "solve", "3", "3", "8", "8", "--target", "24", "--all", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "nums": [3, 3, 8, 8],
        "target": 24,
        "all": True,
        "solutions": [{"expression": "8 / (3 - 8 / 3)", "whole": False, "divides": True}],
    }


@pytest.mark.parametrize("numbers", [["1", "1"], ["3", "3", "8", "8", "--whole"]])
def test_solve_when_impossible_then_says_so(numbers, capsys):
    assert main(["countdown", "solve", *numbers, "--target", "24"]) == 0
    assert capsys.readouterr().out.startswith("No solution")


def test_solve_when_out_of_range_then_one_sentence_and_exit_code_2(capsys):
    assert main(["countdown", "solve", "5", "--target", "5"]) == 2
    assert capsys.readouterr().err == "markscheme: a Countdown puzzle has 2 to 8 numbers, not 1\n"


def test_generate_when_no_output_then_lines_on_standard_output(capsys):
    assert main(["countdown", "generate", "--count", "20", "--numbers", "3-4", "--seed", "7", "--solution"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["nums"], line["target"]) for line in lines] == [
        (list(p.nums), p.target) for p in generate(20, seed=7)
    ]
    assert all(judge(line["solution"], line["nums"], line["target"]).ok for line in lines)


def test_generate_when_written_to_a_file_then_complete_and_summarised(tmp_path, capsys):
    file = tmp_path / "puzzles.jsonl"
    assert main(["countdown", "generate", "--count", "50", "--numbers", "4", "-o", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["count"] == 50
    assert len(file.read_text().splitlines()) == 50
    assert list(tmp_path.iterdir()) == [file]


def test_generate_when_excluding_a_file_then_none_of_its_puzzles(tmp_path, capsys):
    file = tmp_path / "test.jsonl"
    main(["countdown", "generate", "--count", "50", "-o", str(file)])
    capsys.readouterr()
    assert main(["countdown", "generate", "--count", "50", "--exclude", str(file)]) == 0
    fresh = set(capsys.readouterr().out.splitlines())
    assert len(fresh) == 50
    assert not fresh & set(file.read_text().splitlines())


def test_generate_when_it_fails_midway_then_the_old_file_stays(tmp_path, capsys):
    file = tmp_path / "puzzles.jsonl"
    file.write_text("old\n")
    tiny = ["--numbers", "3", "--range", "1-3", "--target", "1-10"]
    assert main(["countdown", "generate", "--count", "90", *tiny, "-o", str(file)]) == 2
    assert "only 60 puzzles of the 90 asked for exist" in capsys.readouterr().err
    assert file.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        ('{"nums": [1, 2], "target": 3}\n\n{"nums": 3}\n', "row 2 is not a puzzle"),
        ("{", "line 1"),
    ],
)
def test_generate_when_the_excluded_file_is_bad_then_says_where(content, message, tmp_path, capsys):
    file = tmp_path / "bad.jsonl"
    if content is not None:
        file.write_text(content)
    assert main(["countdown", "generate", "--count", "2", "--exclude", str(file)]) == 1
    assert message in capsys.readouterr().err


def test_generate_when_the_folder_does_not_exist_then_one_sentence(tmp_path, capsys):
    assert main(["countdown", "generate", "--count", "2", "-o", str(tmp_path / "no" / "x.jsonl")]) == 1
    assert "cannot write" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--numbers", "3-x"], ["--range", "-5"], ["--numbers", "4-3"], ["--count", "-1"]])
def test_generate_when_an_option_makes_no_sense_then_exit_code_2(option, capsys):
    try:
        code = main(["countdown", "generate", "--count", "2", *option])
    except SystemExit as stop:  # argparse's own
        code = stop.code
    assert code == 2


def test_generate_when_unsolvable_with_solution_then_refused(capsys):
    assert main(["countdown", "generate", "--count", "2", "--unsolvable", "--solution"]) == 2
    assert "--solution cannot be used" in capsys.readouterr().err
