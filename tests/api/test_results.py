"""What the functions return: the figures of the report in every form, and nothing a model wrote that could run."""

import json
import pickle

import msgspec
import pytest
from loopback import Loopback, Plan

import markscheme as ms
from markscheme.errors import UsageError


def test_frames_when_averaged_over_problems_then_they_give_the_reports_accuracy(nano):
    reported = nano.report().accuracy.value
    pandas, polars = nano.to_pandas(), nano.to_polars()
    assert pandas.groupby("key").correct.mean().mean() == pytest.approx(reported)
    assert polars.select("key", "correct").group_by("key").mean()["correct"].mean() == pytest.approx(reported)
    assert len(nano.to_arrow()) == len(nano) == 32


def test_report_when_shown_then_text_html_and_frame_have_the_same_figure(nano):
    report = nano.report(pass_k=(1, 2))
    shown = f"{100 * report.accuracy.value:.1f} ["
    assert shown in repr(report)
    assert shown in report._repr_html_()
    assert report.to_pandas().loc[0, "pass@2"] == report.figures["pass@2"].value
    assert json.loads(report.text("json"))["runs"][0]["accuracy"]["value"] == report.accuracy.value


def test_report_when_of_two_runs_then_its_one_figure_is_refused_with_the_way_to_go(nano, solver):
    report = ms.report(nano, solver.path)
    assert [each.model for each in report] == ["nano", "solver"]
    with pytest.raises(UsageError, match=r"report\.runs"):
        _ = report.accuracy


def test_comparison_when_made_then_fields_rows_and_repr_agree(nano, solver):
    comparison = ms.compare(nano, solver)
    (row,) = comparison.rows()
    expected = solver.accuracy - nano.accuracy
    assert comparison.difference.estimate == row["difference"] == pytest.approx(expected)
    assert f"{100 * expected:+.1f} points" in repr(comparison)
    assert f"{100 * expected:+.1f}" in comparison._repr_html_()
    assert {row["problem"] for row in comparison.problems()} <= set(nano.snapshot().ids)
    assert comparison.plot().axes


def test_comparison_when_of_three_runs_then_every_pair_is_a_row(nano, solver, tmp_path):
    third = ms.run("countdown-sample", model="nano", limit=8, seed=5, out=tmp_path / "third", progress=False)
    ranked = ms.compare(nano, solver, third.path)
    assert len(ranked.rows()) == 3
    assert ranked.ranking.models[0].name == "solver"
    with pytest.raises(UsageError, match="ranking"):
        _ = ranked.difference


def test_plan_when_learnt_from_a_run_then_rows_are_what_the_command_prints(nano):
    plan = ms.plan(detect=20, pilot=nano)
    assert plan.to_pandas()["samples"].tolist() == [row.samples for row in plan.plan.rows]
    assert "20 points on 8 problems" in repr(plan)
    assert f"{100 * plan.plan.rows[2].detectable:.1f}" in repr(plan)
    assert "<td" in plan._repr_html_()


def test_audit_when_of_a_run_then_its_own_protocol_has_the_reports_score(nano):
    audit = nano.audit()
    assert {row["protocol"]: row["score"] for row in audit.rows()}[nano.manifest.protocol] == pytest.approx(
        nano.accuracy
    )
    assert "countdown" in repr(audit)


def test_answer_when_looked_up_then_by_number_id_or_key(nano):
    name = nano.snapshot().ids[2]
    one = nano[2, 1]
    assert nano[name, 1].response == nano[nano.snapshot().keys[2], 1].response == one.response
    assert one.mark.verdict in repr(one)
    with pytest.raises(KeyError):
        _ = nano[2, 99]
    with pytest.raises(KeyError):
        _ = nano["nobody"]


def test_html_when_a_response_holds_a_script_then_it_is_shown_and_never_run(tmp_path):
    hostile = "<script>alert(1)</script> \\boxed{<img src=x onerror=alert(1)>} ANSWER: 5"
    problem = ms.benchmark("gsm8k-sample").problems[0]
    (tmp_path / "stored.jsonl").write_text(json.dumps({"key": problem.key, "text": hostile}) + "\n")
    run = ms.run(
        "gsm8k-sample", model=f"replay/{tmp_path / 'stored.jsonl'}", limit=1, out=tmp_path / "run", progress=False
    )
    run.manifest = msgspec.structs.replace(run.manifest, model="<script>name</script>")
    for html in (run[0]._repr_html_(), run._repr_html_()):
        assert "<script" not in html
        assert "<img" not in html
    assert "&lt;script&gt;alert(1)" in run[0]._repr_html_()


def test_run_when_marked_again_then_figures_follow(nano, tmp_path):
    stored = [{"key": each.key, "text": "The answer is 3"} for each in ms.benchmark("gsm8k-sample").problems[:5]]
    (tmp_path / "stored.jsonl").write_text("\n".join(map(json.dumps, stored)))
    run = ms.run(
        "gsm8k-sample", model=f"replay/{tmp_path / 'stored.jsonl'}", limit=5, out=tmp_path / "run", progress=False
    )
    run.mark("gsm8k-strict")
    strict = run.report(protocol="gsm8k-strict")
    assert strict.runs[0].protocol.startswith("gsm8k-strict@")
    assert strict.accuracy.value == 0.0
    assert {mark.verdict for mark in run.marks("gsm8k-strict")} == {"no_answer"}


def test_data_when_listed_then_a_record_a_file():
    listed = ms.data.list("gsm8k")
    assert {row["file"] for row in listed.rows()} == {"gsm8k/test.jsonl", "gsm8k/train.jsonl"}
    assert "gsm8k/test.jsonl" in listed._repr_html_()


def test_judge_when_asked_from_python_then_its_opinion_is_one_more_protocol(tmp_path):
    problem = ms.benchmark("gsm8k-sample").problems[0]
    (tmp_path / "stored.jsonl").write_text(json.dumps({"key": problem.key, "text": f"It is {problem.gold}."}) + "\n")
    options = {"model": f"replay/{tmp_path / 'stored.jsonl'}", "limit": 1, "out": tmp_path / "run", "progress": False}
    run = ms.run("gsm8k-sample", **options)
    with Loopback(Plan(text="The same value.\nVERDICT: RIGHT")) as server:
        judged = ms.judge(run, model="openai/j", base_url=server.url, which="all", progress=False)
    assert (judged.asked, judged.verdicts["correct"]) == (1, 1)
    assert "judge:j" in ms.load(run.path).snapshot().protocols
    with pytest.raises(UsageError, match="open or about all"):
        ms.judge(run, model="openai/j", which="some", progress=False)


def test_graders_when_measured_then_a_row_each_with_its_errors(tmp_path):
    rows = [
        {"response": "\\boxed{5}", "gold": "5", "correct": True},
        {"response": "#### 4", "gold": "5", "correct": False},
    ]
    (tmp_path / "labelled.jsonl").write_text("\n".join(map(json.dumps, rows)))
    graders = ms.benchmark_the_graders(tmp_path / "labelled.jsonl", protocol=["math", "gsm8k-strict"])
    errors = {row["grader"].partition("@")[0]: row for row in graders.rows()}
    assert (errors["math"]["false_negative"], errors["gsm8k-strict"]["false_negative"]) == (0.0, 1.0)
    assert "100.0% false negatives" in repr(graders)
    assert "gsm8k-strict" in graders._repr_html_()


def test_run_when_gone_through_then_every_response_once(nano):
    assert len(list(nano)) == len(nano) == 32
    assert nano.snapshot().ids[0] in nano
    assert "nobody" not in nano
    with pytest.raises(UsageError, match="problem and sample"):
        _ = nano[:3]


def test_run_when_another_object_adds_to_the_folder_then_both_say_the_same(tmp_path):
    options = {"model": "solver", "out": tmp_path / "run", "progress": False}
    first = ms.run("countdown-sample", limit=2, **options)
    second = ms.load(tmp_path / "run")
    assert second.summary.problems == 2
    first.extend(limit=4, progress=False)
    assert second.summary.problems == 4
    assert "4 problems" in repr(second)


def test_results_when_pickled_after_a_look_then_they_come_back(nano, solver):
    again = pickle.loads(pickle.dumps(ms.compare(nano, solver)))
    assert again.difference == ms.compare(nano, solver).difference
    assert pickle.loads(pickle.dumps(nano)).accuracy == nano.accuracy


def test_comparison_when_a_margin_is_given_then_it_is_answered(nano, solver):
    comparison = ms.compare(nano, solver, margin=50)
    assert comparison.margin.not_worse
    assert "by 50 points or more: ruled out" in repr(comparison)
    assert ms.compare(nano, solver).margin is None


def test_audit_when_protocols_give_different_verdicts_then_arrow_has_every_column(nano):
    audit = nano.audit()
    assert set(audit.to_arrow().column_names) == set(audit.to_pandas().columns)
    assert "unmarkable" in audit.to_arrow().column_names


def test_html_when_a_response_is_endless_then_both_ends_are_shown_and_the_answer_is_marked(tmp_path):
    problem = ms.benchmark("gsm8k-sample").problems[0]
    text = "word " * 400_000 + "ANSWER: 7"
    (tmp_path / "stored.jsonl").write_text(json.dumps({"key": problem.key, "text": text}) + "\n")
    options = {"limit": 1, "out": tmp_path / "run", "progress": False}
    run = ms.run("gsm8k-sample", model=f"replay/{tmp_path / 'stored.jsonl'}", **options)
    html = run[0]._repr_html_()
    assert len(html) < 200_000
    assert "characters are left out" in html
    assert "<mark>7</mark>" in html
