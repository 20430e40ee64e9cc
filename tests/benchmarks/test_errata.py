"""Golds that are known to be wrong: read, applied to the score, and looked for among runs."""

import json

import pytest

import markscheme as ms
from markscheme.benchmarks.errata import AMBIGUOUS, read_errata, shipped_errata
from markscheme.cli import main
from markscheme.errors import DataError

QUESTIONS = {"a": ("2 + 2?", "5"), "b": ("3 + 3?", "6"), "c": ("How long is it?", "7"), "d": ("1 + 1?", "2")}
ERRATA = [
    {"problem": "a", "wrong": "miscounted", "gold": "4", "source": "us"},
    {"problem": "c", "wrong": "does not say of what", "gold": AMBIGUOUS, "source": "us"},
]


def lines(file, rows):
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """The folder of a benchmark, and a function that runs it with these answers by a model of this name."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": name, "question": text, "answer": gold} for name, (text, gold) in QUESTIONS.items()]
    lines(tmp_path / "quiz.jsonl", rows)

    def run(model, **answers):
        said = {**{name: gold for name, (_, gold) in QUESTIONS.items()}, **answers}
        stored = lines(tmp_path / f"{model}.jsonl", [{"id": key, "response": text} for key, text in said.items()])
        return ms.run("quiz.jsonl", model=f"replay/{stored}", out=f"runs/{model}", progress=False)

    run.folder = tmp_path
    return run


def test_report_when_golds_are_known_to_be_wrong_then_has_the_score_with_and_without(asked, capsys):
    lines(asked.folder / "quiz.errata.jsonl", ERRATA)
    asked("one", a="4", c="8")
    summary = ms.report("runs/one").runs[0]
    assert summary.accuracy.value == 0.5  # b and d
    assert (summary.errata.accuracy.value, summary.errata.corrected, summary.errata.left_out) == (1.0, 1, 1)
    assert main(["report", "runs/one"]) == 0
    assert "accuracy with errata" in capsys.readouterr().out
    assert main(["verify", "runs/one"]) == 0


def test_errata_when_given_by_a_file_or_by_key_then_apply_all_the_same(asked):
    run = asked("one", a="4")
    assert run.report().runs[0].errata is None
    key = run.snapshot().keys[0]
    file = lines(asked.folder / "more.jsonl", [{**ERRATA[0], "problem": "another name", "key": key}])
    assert ms.report(run, errata=file).runs[0].errata.accuracy.value == 1.0


def test_report_when_the_errata_beside_cannot_be_read_then_says_so_and_has_the_rest(asked):
    (asked.folder / "quiz.errata.jsonl").write_text("rubbish")
    summary = asked("one").report().runs[0]
    assert summary.accuracy.value == 1.0
    assert any("not an erratum" in note for note in summary.warnings)


def test_suspects_when_models_agree_on_another_answer_then_the_problem_is_named(asked, capsys):
    for model, b in {"one": "6", "two": "8", "three": "9"}.items():
        asked(model, a="4", b=b)
    asked("four", a="The answer is $4$.", d="3")
    (found,) = ms.suspects("runs")
    assert (found.problem, found.gold, found.answer, found.agree, found.models) == ("a", "5", "4", 4, 4)
    assert ms.suspects("runs", least=5) == []
    assert main(["errata", "suspects", "runs"]) == 0
    assert "other than the gold" in capsys.readouterr().out


def test_suspects_when_one_model_was_run_often_then_it_is_one_witness(asked):
    asked("one", a="4")
    for copy in ("again", "once more"):
        ms.run("quiz.jsonl", model=f"replay/{asked.folder / 'one.jsonl'}", out=f"runs/{copy}", progress=False)
    assert ms.suspects("runs", least=2) == []


@pytest.mark.parametrize(
    "line", ['{"problem": "a"}', "[]", '{"problem": "a", "wrong": "", "gold": 4, "source": ""}', "\xff"]
)
def test_errata_when_a_line_cannot_be_read_then_it_is_named(tmp_path, line):
    file = lines(tmp_path / "bad.jsonl", ERRATA)
    file.write_bytes(file.read_bytes() + line.encode("latin-1"))
    with pytest.raises(DataError, match="line 3, is not an erratum"):
        read_errata(file)


def test_shipped_errata_when_read_then_each_names_its_problem_its_gold_and_its_source(capsys):
    assert main(["errata", "list", "gsm8k"]) == 0
    assert "GSM8K-Platinum" in capsys.readouterr().out
    for known in shipped_errata().values():
        assert len({each.key for each in known}) == len(known)
        assert all(len(each.key) == 16 and each.wrong and each.gold and each.source for each in known)
    assert sum(each.gold == AMBIGUOUS for each in shipped_errata()["gsm8k"]) == 110
