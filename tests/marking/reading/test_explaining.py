"""What `explain` says of a reading is what the marker did."""

import json
from pathlib import Path

import msgspec
import pytest

from markscheme.cli import main
from markscheme.errors import UsageError
from markscheme.marking import explain, mark
from markscheme.types import Problem, Response

CASES = Path(__file__).parent.parent / "cases"
ROWS = [json.loads(line) for line in (CASES / "reading.jsonl").read_text(encoding="utf-8").splitlines()][:80]
RETRACTED = "It is not 5. The answer is 8. Wait, actually it is 7."


def test_explain_when_an_answer_was_retracted_then_shows_clauses_moods_and_the_rule():
    told = explain(RETRACTED, gold="5")
    assert (told.kind, told.language, told.answer, told.counts) == ("value", "english", "7", True)
    assert [(each.value, each.mood, each.won) for each in told.candidates] == [
        ("5", "denied", False),
        ("8", "retracted", False),
        ("7", "asserted", True),
    ]
    assert "BUT" in told.clauses[-1].opener
    assert {token.text: token.classes for token in told.tokens}["is not"] == ("NOT",)
    assert RETRACTED[slice(*told.answer_span)] == "7"
    text = str(told)
    assert "stated     the answer is       retracted    8" in text
    assert "7  <- the answer" in text


@pytest.mark.parametrize("gold", ["5", "\\frac12", "x+1"])
def test_explain_when_golds_differ_in_value_only_then_is_the_same(gold):
    assert explain(RETRACTED, gold=gold) == explain(RETRACTED)


def test_explain_on_recorded_responses_gives_the_answer_that_was_marked():
    compared = 0
    for row in ROWS:
        if row["protocol"] in ("math", "aime"):
            found = mark(row["response"], gold=row["gold"], protocol=row["protocol"])
            told = explain(row["response"], gold=row["gold"], protocol=row["protocol"])
            assert (told.answer if told.counts else None) == found.answer, row
            assert msgspec.json.decode(msgspec.json.encode(told), type=type(told)) == told
            compared += 1
    assert compared > 40


def test_explain_when_the_answer_is_far_from_the_end_then_shows_the_text_around_it():
    told = explain("So it is $\\boxed{5}$.\n" + "The garden has a wall. " * 200, gold="5")
    assert (told.rank, told.rule, told.answer) == ("typeset", "boxed", "5")
    assert told.span[0] <= told.answer_span[0] < told.span[1] < 600


def test_explain_when_a_text_is_huge_then_shows_a_bounded_part():
    told = explain("word " * 400_000 + "The answer is 5.", gold="5")
    assert told.answer == "5"
    assert told.span[1] - told.span[0] <= 600


@pytest.mark.parametrize(
    ("response", "cut_off", "why"),
    [
        (Response(key="k", sample=0, text="So far 3 + 4 = 7", finish_reason="length"), True, "the server stopped it"),
        (Response(key="k", sample=0, text="3 + 4 = 7", finish_reason="stop"), False, "the server says"),
        ("The first bag has 3 apples and the second has 4 apples, so that both of them hold the", True, "stops within"),
        ("The answer is 7.\n\nQuestion: What is 2 + 2?", False, "invented"),
        ("The answer is 7.", False, "complete"),
        ("", False, "nothing to read"),
    ],
)
def test_explain_when_a_response_ended_or_not_then_says_why(response, cut_off, why):
    told = explain(response, gold="7")
    assert told.cut_off is cut_off
    assert why in told.ending


def test_explain_when_the_problem_has_choices_then_reads_their_texts():
    problem = Problem(id="1", statement="Which one is green?", gold="B", choices=("a stone", "moss"))
    told = explain("The answer is moss.", problem, protocol="math")
    assert told.kind == "letter"
    assert told.answer == "B"


@pytest.mark.parametrize(
    "response", ["\x1b[31mThe answer is 5.\x1b[0m", "\ud800 is 5", "答案是５。", "│ 23 │", "\\boxed{", "#### ", "\x00"]
)
def test_explain_on_odd_characters_gives_text_that_fits_a_terminal_and_a_file(response):
    told = explain(response, gold="5")
    msgspec.json.encode(told)
    assert all(line.isprintable() for line in str(told).split("\n"))


def test_explain_when_a_protocol_has_a_rule_of_its_own_or_nothing_came_back_then_says_so():
    with pytest.raises(UsageError, match="its own rule"):
        explain("5", gold="5", protocol="normalized")
    with pytest.raises(UsageError, match="no text to explain"):
        explain(Response(key="k", sample=0, text="", error="refused"), gold="5")


@pytest.fixture
def file(tmp_path):
    rows = [{"question": f"q{n}", "gold": "7", "response": RETRACTED} for n in range(12)]
    path = tmp_path / "outputs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_command_on_a_file_prints_the_first_ten_and_says_that_there_are_more(file, capsys):
    assert main(["mark", str(file), "--explain"]) == 0
    shown = capsys.readouterr()
    assert shown.out.count("7  <- the answer") == 10
    assert "--limit N shows more" in shown.err
    assert main(["mark", str(file), "--explain", "--limit", "12", "--json"]) == 0
    shown = capsys.readouterr()
    told = json.loads(shown.out)
    assert len(told) == 12
    assert told[0]["mark"]["verdict"] == "correct"
    assert told[0]["explanation"]["rule"] == "said"
    assert not shown.err


def test_command_on_a_text_with_its_gold_prints_how_it_was_read(capsys):
    assert main(["mark", "Richtig ist B.", "--explain", "--gold", "B"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("correct (math@")
    assert "language   german" in out
    assert "ist‹IS CONNECT› B‹letter›" in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--explain", "-p", "normalized"], "does not read sentences"),
        (["--explain", "--out", "x"], "cannot be used with --out"),
        (["--explain", "-p", "math", "-p", "aime"], "one protocol"),
        (["--gold", "5"], "--gold needs --explain"),
        (["--limit", "5"], "--limit needs --explain"),
    ],
)
def test_command_with_options_that_do_not_go_together_says_which(file, capsys, arguments, told):
    assert main(["mark", str(file), *arguments]) != 0
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    "response",
    [
        "The answer is 5. This is wrong.", "The answer is 5. That's not right.", "\\boxed{5} This is wrong.",
        "<answer>5</answer> That is wrong.", "Svaret er 5. Det er forkert.", "答案是5。这是错的。",
    ],
)  # fmt: skip
def test_phrase_that_calls_an_answer_wrong_when_it_is_one_token_then_takes_it_back(response):
    assert mark(response, gold="5").verdict == "no_answer"


@pytest.mark.parametrize(
    "response", ["The answer is 5. Wait, let me check. Yes.", "\\boxed{5} is right.", "答案是5。这是对的。"]
)
def test_phrase_that_calls_nothing_wrong_when_it_follows_an_answer_then_changes_nothing(response):
    assert mark(response, gold="5").correct
