"""The audit: every protocol on the same responses, who disagrees with whom, and examples of each kind."""

import json

import pytest

from markscheme.cli import main
from markscheme.errors import MarkingError
from markscheme.marking.bulk.audit import applicable_protocols, audit
from markscheme.types import CountdownGold, Problem, Response

PROTOCOLS = ["gsm8k-strict", "gsm8k-numeric", "gsm8k-lm-eval-strict"]


def pairs(*texts, gold="18"):
    problem = Problem(id="p", statement="s", gold=gold)
    return [(Response(key=problem.key, sample=sample, text=text), problem) for sample, text in enumerate(texts)]


def test_audit_when_protocols_disagree_counts_every_pair_both_ways():
    found = audit(pairs("#### 18", "####18", "The answer is 18", "#### 19", "#### 18.0"), PROTOCOLS)
    scores = {score.protocol: score.score for score in found.scores}
    assert scores == {"gsm8k-strict@6": 0.6, "gsm8k-numeric@9": 0.8, "gsm8k-lm-eval-strict@4": 0.2}
    assert found.disagreements == {
        "gsm8k-strict": {"gsm8k-numeric": 1, "gsm8k-lm-eval-strict": 2},
        "gsm8k-numeric": {"gsm8k-strict": 1, "gsm8k-lm-eval-strict": 3},
        "gsm8k-lm-eval-strict": {"gsm8k-strict": 2, "gsm8k-numeric": 3},
    }
    assert found.differing == 3
    assert [(pattern.right, pattern.responses) for pattern in found.patterns] == [
        (["gsm8k-strict", "gsm8k-numeric"], 2),
        (["gsm8k-numeric"], 1),
    ]


def test_audit_when_few_examples_are_kept_shows_each_pattern_first():
    found = audit(pairs("####18", "#### 18.0", "The answer is 18"), PROTOCOLS, keep=2)
    assert [difference.sample for difference in found.differences] == [0, 2]
    assert found.differences[0].marks["gsm8k-lm-eval-strict"].verdict == "no_answer"


def test_audit_when_a_response_never_came_counts_it_apart():
    lost = Response(key="k", sample=0, error="timed out")
    problem = Problem(id="p", statement="s", gold="18")
    found = audit([(lost, problem), *pairs("#### 18")], PROTOCOLS)
    assert (found.responses, found.errors) == (2, 1)
    assert [score.score for score in found.scores] == [1.0, 1.0, 1.0]


def test_audit_without_responses_says_so():
    with pytest.raises(MarkingError):
        audit([])


def test_applicable_protocols_follow_the_kind_of_gold():
    assert applicable_protocols(CountdownGold((1, 2), 3)) == ["countdown"]
    names = applicable_protocols("18")
    assert "countdown" not in names
    assert {"gsm8k-strict", "math", "aime", "boxed-exact"} <= set(names)


@pytest.fixture
def file(tmp_path):
    rows = [{"id": f"q{n}", "response": text, "gold": "18"} for n, text in enumerate(("#### 18", "####18", "nothing"))]
    path = tmp_path / "outputs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_mark_command_on_a_file_prints_a_row_a_protocol_and_writes_the_marks(file, tmp_path, capsys):
    arguments = [
        "mark",
        str(file),
        "-p",
        "gsm8k-strict",
        "-p",
        "gsm8k-lm-eval-strict",
        "--out",
        str(tmp_path / "marks"),
    ]
    assert main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["score"] for row in told["protocols"]] == [pytest.approx(2 / 3), pytest.approx(1 / 3)]
    lines = (tmp_path / "marks" / "gsm8k-strict" / "part-00000.jsonl").read_text().splitlines()
    assert [json.loads(line)["verdict"] for line in lines] == ["correct", "correct", "no_answer"]
    assert main(arguments) == 0
    assert "gsm8k-strict@6" in capsys.readouterr().out


def test_audit_command_in_every_format_shows_scores_and_reasons(file, capsys):
    assert main(["audit", str(file), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["differing"] == 2
    assert main(["audit", str(file), "--format", "markdown"]) == 0
    page = capsys.readouterr().out
    assert "| gsm8k-lm-eval-strict@4 | 33.3 % |" in page
    assert "no match of" in page
    assert main(["audit", str(file)]) == 0
    assert "points depend on the protocol" in " ".join(capsys.readouterr().out.split())


def test_mark_command_on_a_run_keeps_the_marks_in_its_folder(tmp_path, capsys):
    outputs = tmp_path / "o.jsonl"
    from markscheme.benchmarks import benchmark

    problems = benchmark("gsm8k-sample").problems[:3]
    outputs.write_text("".join(json.dumps({"key": p.key, "text": f"#### {p.gold}"}) + "\n" for p in problems))
    folder = tmp_path / "run"
    main(["run", "gsm8k-sample", "--model", f"replay/{outputs}", "--limit", "3", "--out", str(folder), "--json"])
    capsys.readouterr()
    assert main(["mark", str(folder), "-p", "gsm8k-strict", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["protocols"][0]["score"] == 1.0
    assert (folder / "marks" / "gsm8k-strict.jsonl").exists()
    assert main(["audit", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["responses"] == 3


def test_mark_command_when_the_protocol_is_unknown_stops_with_exit_2(file, capsys):
    assert main(["mark", str(file), "-p", "nope"]) == 2
    assert "no protocol" in capsys.readouterr().err


def test_audit_when_a_gold_is_no_number_then_the_numeric_protocols_are_left_out_and_named():
    problems = [Problem(id="1", statement="a", gold="18"), Problem(id="2", statement="b", gold=r"\frac{1}{2}")]
    texts = [r"#### 18", r"\boxed{1/2}"]
    pairs = [(Response(key=p.key, sample=0, text=text), p) for p, text in zip(problems, texts, strict=True)]
    result = audit(pairs)
    assert {"gsm8k-strict", "aime"} <= set(result.left_out)
    assert result.left_out["aime"].startswith("1 of 2 golds")
    compared = {each.protocol.partition("@")[0] for each in result.scores}
    assert "math" in compared
    assert not compared & set(result.left_out)
    assert not set(result.disagreements) & set(result.left_out)
    assert all(set(each.marks) <= compared for each in result.differences)


def test_audit_when_every_gold_is_a_number_then_nothing_is_left_out():
    problem = Problem(id="1", statement="a", gold="18")
    result = audit([(Response(key=problem.key, sample=0, text="I'm sorry, but I can't help with that."), problem)])
    assert result.left_out == {}
    assert all(each.flags.get("refusal") == 1 for each in result.scores)
