"""`markscheme mark` as its users call it: files of their own, several protocols, every form of output."""

import json

import pytest

from markscheme.cli import main
from markscheme.marking.protocol import Protocol, _loaded

ROWS = [
    {"question": "Find it to the nearest hundredth.", "gold": "\\pi", "response": "\\boxed{3.14}"},
    {"question": "Half?", "gold": "\\frac12", "response": "It is $\\frac{2}{4}$."},
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "outputs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_mark_with_several_protocols_as_json_has_one_score_each(file, capsys):
    assert main(["mark", str(file), "-p", "math", "-p", "normalized", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)["protocols"]
    assert [(score["protocol"], score["verdicts"].get("correct", 0)) for score in scores] == [
        ("math@9", 2),
        ("normalized@4", 0),
    ]


def test_mark_as_markdown_prints_a_table(file, capsys):
    assert main(["mark", str(file), "--format", "markdown"]) == 0
    out = capsys.readouterr().out
    assert "| protocol | score |" in out
    assert "2 correct" in out


def test_mark_on_a_file_of_puzzles_judges_by_countdown(tmp_path, capsys):
    path = tmp_path / "puzzles.jsonl"
    path.write_text(json.dumps({"nums": [3, 5, 2], "target": 16, "response": "<answer>2*(3+5)</answer>"}) + "\n")
    assert main(["mark", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["protocols"][0]["protocol"] == "countdown@6"


@pytest.mark.parametrize(
    ("content", "told"),
    [("", "holds no outputs"), ("nonsense\n", "bad.jsonl:0: the line is not a JSON object"), ("{}\n", "no output")],
)
def test_mark_on_a_bad_file_says_what_and_fails(tmp_path, capsys, content, told):
    path = tmp_path / "bad.jsonl"
    path.write_text(content)
    assert main(["mark", str(path)]) != 0
    assert told in capsys.readouterr().err


def test_audit_when_a_verdict_has_a_flag_then_shows_it_beside_the_reason(file, capsys):
    assert main(["audit", str(file), "-p", "math", "-p", "normalized", "--format", "markdown"]) == 0
    assert "equal (rounded)" in capsys.readouterr().out


def test_mark_when_the_golds_are_in_a_file_then_how_it_is_read_is_told(tmp_path, capsys):
    (tmp_path / "mine.jsonl").write_text('{"question": "What is 6 times 7?", "answer": "42"}\n')
    (tmp_path / "outputs.jsonl").write_text('{"question": "What is 6 times 7?", "response": "It is 42."}\n')
    assert main(["mark", str(tmp_path / "outputs.jsonl"), "-b", str(tmp_path / "mine.jsonl")]) == 0
    assert "mine.jsonl is read as statement = question; gold = answer" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["mark", "audit", "mark run", "run"])
def test_protocol_that_fails_on_responses_when_marking_then_says_on_how_many_and_exits_non_zero(
    command, file, tmp_path, monkeypatch, capsys
):
    def broken(*_):
        raise KeyError("not my day")

    for name in ("broken", "broken@1"):  # as an installed package would bring it
        monkeypatch.setitem(_loaded, name, Protocol("broken", "1", "never judges", "text", broken))
    folder = str(tmp_path / "run")
    problems = tmp_path / "problems.jsonl"
    problems.write_text(
        "".join(json.dumps({"question": row["question"], "answer": row["gold"]}) + "\n" for row in ROWS)
    )
    asked = ["run", str(problems), "--model", f"replay/{file}", "--out", folder, "--json"]
    if command == "run":
        assert main([*asked, "--protocol", "broken"]) == 1
    elif command == "mark run":
        assert main(asked) == 0
        assert main(["mark", folder, "-p", "broken"]) == 1
    else:
        assert main([command, str(file), "-p", "broken"]) == 1
    assert "broken@1 failed on 2 of 2 responses" in capsys.readouterr().err
