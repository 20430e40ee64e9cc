"""maj@k, best-of-k and other figures by name, from run folders and the command line."""

import json

import pytest

import markscheme as ms
from markscheme.cli import main
from markscheme.errors import UsageError
from markscheme.reporting.summary import summarize


@pytest.fixture(scope="module")
def voted(tmp_path_factory):
    """Two problems of four samples: one outvoted only if equal answers in two spellings vote together, one half right."""
    folder = tmp_path_factory.mktemp("voted")
    problems = ms.benchmark("math-sample").problems[:2]
    texts = [
        [problems[0].gold, problems[0].gold, "123456/2", "61728"],
        [problems[1].gold, problems[1].gold, problems[1].gold, None],
    ]
    lines = [
        {
            "problem_id": problem.id,
            "sample": sample,
            "text": "Let me think about" if text is None else f"\\boxed{{{text}}}",
            "finish_reason": "length" if text is None else "stop",
            "completion_tokens": 10 * (sample + 1),
            "metadata": {"score": -sample},
        }
        for problem, row in zip(problems, texts, strict=True)
        for sample, text in enumerate(row)
    ]
    file = folder / "outputs.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return ms.run("math-sample", model=f"replay/{file}", samples=4, limit=2, out=folder / "run")


def test_metrics_when_equal_answers_are_spelt_differently_then_they_vote_together(voted):
    found = summarize(voted, metrics=["maj@4", "maj@3", "pass^2"]).metrics
    # Two right against 61728 twice is a tie; three right against silence is not.
    assert found["maj@4"].value == pytest.approx((0.5 + 1) / 2)
    # Of three: two right and one wrong wins, one right and two wrong loses, half of the draws each.
    assert found["maj@3"].value == pytest.approx((0.5 + 1) / 2)
    assert found["pass^2"].value == pytest.approx((1 / 6 + 1 / 2) / 2)
    assert found["maj@4"].low < found["maj@4"].value < found["maj@4"].high


def test_metrics_when_best_of_k_has_a_column_then_the_highest_or_the_lowest_wins(voted):
    found = summarize(voted, metrics=["best-of-4:completion_tokens", "best-of-4:-completion_tokens"]).metrics
    assert found["best-of-4:completion_tokens"].value == 0.0  # the longest are wrong or silent
    assert found["best-of-4:-completion_tokens"].value == 1.0


def test_metrics_when_fewer_samples_than_k_then_undefined(voted):
    assert summarize(voted, metrics=["maj@8", "g-pass@8:0.5"]).metrics["maj@8"].value is None


@pytest.mark.parametrize("name", ["maj", "maj@0", "best-of-4", "best-of-4:nothing", "luck"])
def test_metrics_when_unknown_then_a_sentence_says_so(voted, name):
    with pytest.raises(UsageError):
        summarize(voted, metrics=[name])


def test_report_when_metrics_are_named_then_every_format_has_them(voted, replayed, capsys):
    other = replayed(lambda _: 2)
    options = ["--metric", "maj@4,pass^4", "--metric", "pass^2", "-k", "1,2,4"]
    shown = {}
    for form in ("table", "markdown", "csv", "latex", "json"):
        assert main(["report", str(voted.path), str(other.path), *options, "--format", form]) == 0
        shown[form] = capsys.readouterr().out
    assert all("maj@4" in text for text in shown.values())
    assert "75.0 [" in shown["table"]
    assert json.loads(shown["json"])["runs"][0]["metrics"]["pass^2"]["value"] == pytest.approx(1 / 3)


def test_report_when_about_these_problems_then_narrower_and_said(replayed, capsys):
    run = replayed(lambda index: index % 3 + 1)
    here, drawn = summarize(run, population="these problems"), summarize(run)
    assert here.accuracy.value == drawn.accuracy.value
    assert main(["report", str(run.path), "--these-problems"]) == 0
    assert "these exact problems" in capsys.readouterr().out


def test_summary_when_verdicts_differ_then_rates_have_truncation_first(voted):
    rates = summarize(voted).rates
    assert list(rates) == ["truncated", "correct", "wrong"]
    assert rates["truncated"].value == pytest.approx(1 / 8)
    assert sum(rate.value for rate in rates.values()) == pytest.approx(1)
