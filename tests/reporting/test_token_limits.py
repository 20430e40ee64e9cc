"""Curves over token limits from one run are what real runs at those limits are, and loops are found where they begin."""

import json

import pytest

import markscheme as ms
from markscheme.cli import main
from markscheme.errors import UsageError
from markscheme.reporting.loops import loop_start
from markscheme.reporting.token_limits import _cut, _from_events, _from_lengths, read_limits, token_limits
from markscheme.types import Response

LIMITS = [12, 24, 48, 96]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("limits")
    return ms.run("countdown-sample", model="nano", samples=4, limit=6, out=folder / "whole", progress=False)


def test_limits_when_real_runs_are_made_with_the_same_seeds_then_every_mark_and_figure_agrees(whole, tmp_path):
    """`nano` draws every sample from its own seed, so a real run with a smaller limit is a prefix of this one."""
    curve = token_limits(whole, LIMITS)
    assert curve.offsets == "the tokenizer of nano"
    for row in curve.rows[:-1]:
        out = tmp_path / str(row.limit)
        real = ms.run(
            "countdown-sample", model="nano", samples=4, limit=6, max_tokens=row.limit, out=out, progress=False
        )
        report = ms.report(real, metric=["maj@4"], pass_k=(2, 4))
        assert {name: row.figures[name] for name in ("accuracy", "pass@2", "pass@4", "maj@4")} == {
            name: report.figures[name] for name in ("accuracy", "pass@2", "pass@4", "maj@4")
        }
        assert row.truncation == report.runs[0].truncation
        assert row.tokens == pytest.approx(report.runs[0].usage.completion_tokens / 24)
    assert [row.limit for row in curve.rows[:-1]] == LIMITS
    assert curve.rows[-1].figures["accuracy"] == ms.report(whole).accuracy


def test_frontier_when_made_then_no_choice_is_beaten_by_a_cheaper_one(whole):
    frontier = token_limits(whole, LIMITS).frontier
    assert [each.tokens for each in frontier] == sorted(each.tokens for each in frontier)
    assert [each.value.value for each in frontier] == sorted(each.value.value for each in frontier)


def test_report_when_limits_are_asked_for_then_every_format_has_them(whole, capsys, tmp_path):
    run = str(whole.path)
    assert main(["report", run, "--token-limits", "12,96"]) == 0
    assert "few long or many short" in capsys.readouterr().out
    assert main(["report", run, "--token-limits", "12,96", "--json"]) == 0
    assert [row["limit"] for row in json.loads(capsys.readouterr().out)["rows"]][:2] == [12, 96]
    assert main(["report", run, "--token-limits", "12,96", "--format", "latex"]) == 0
    assert r"\begin{tabular}" in capsys.readouterr().out
    assert main(["report", run, "--token-limits", "12,96", "--format", "csv", "-o", str(tmp_path / "x.csv")]) == 0
    assert (tmp_path / "x.csv").read_text().startswith("run,benchmark,model,limit,accuracy,")
    assert main(["report", run, "--token-limits", "many"]) == 2
    assert "such as 1k,2k,4k" in capsys.readouterr().err


def test_limits_when_read_then_thousands_are_of_1024():
    assert read_limits("2k,512,1K") == [512, 1024, 2048]
    with pytest.raises(UsageError):
        read_limits("0")


@pytest.mark.parametrize(
    ("limit", "thinking", "text"),
    [(1, "ab", ""), (2, "abcd", ""), (3, "abcd", "Thus"), (4, "abcd", "Thus 12")],
)
def test_cut_when_the_limit_is_in_the_thinking_then_no_text_is_left(limit, thinking, text):
    response = Response(key="k", sample=0, reasoning="abcd", text="Thus 12", completion_tokens=4, finish_reason="stop")
    cut = _cut(response, limit, 4, lambda _: [2, 4, 8, 11])
    assert (cut.reasoning, cut.text, cut.finish_reason) == (thinking, text, "length")


def test_cut_when_the_server_listed_its_tokens_then_these_decide_and_else_the_share_of_characters():
    response = Response(
        key="k", sample=0, text="one two six", completion_tokens=3, metadata={"token_lengths": [3, 4, 4]}
    )
    assert _cut(response, 2, 3, _from_lengths).text == "one two"
    assert _cut(response, 1, 2, lambda _: None).text == "one tw"


def test_cut_when_the_stream_had_an_event_per_token_then_these_decide_in_the_thinking_too():
    response = Response(
        key="k", sample=0, reasoning="abc", text="one two", completion_tokens=4, metadata={"event_lengths": "1234"}
    )
    assert _cut(response, 1, 4, _from_events).reasoning == "a"
    assert _cut(response, 3, 4, _from_events).text == "one"
    assert _from_events(Response(key="k", sample=0, text="x", metadata={"event_lengths": "1-"})) is None


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("Let me see. " + "so 3 + 4 = 7, " * 20, 11),  # the blank before it is said again, too
        ("Let me see. " + "so 3 + 4 = 7, " * 20 + "so 3 +", 11),
        ("a" * 500, 0),
        ("So 3 + 4 = 7. " * 3 + "The answer is 7.", None),
        ("".join(f"{n} is not it. " for n in range(60)), None),
        ("short", None),
        ("x" * 9_000 + "wait, " * 4_000, 9_000),
    ],
)
def test_loop_when_a_text_ends_in_one_then_where_it_begins(text, start):
    assert loop_start(text) == start


def test_report_when_responses_loop_then_it_says_so(tmp_path):
    problems = ms.benchmark("aime-sample").problems[:2]
    lines = [
        {"problem_id": p.id, "sample": 0, "text": "Hm. " + "So x = 2, again. " * 40, "finish_reason": "length"}
        for p in problems
    ]
    (tmp_path / "o.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = ms.run("aime-sample", model=f"replay/{tmp_path / 'o.jsonl'}", limit=2, out=tmp_path / "run", progress=False)
    (summary,) = ms.report(run).runs
    assert (summary.loops.cut_off, summary.loops.loops) == (2, 2)
    assert any("repeat themselves up to the limit" in note for note in summary.warnings)
