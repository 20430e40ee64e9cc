"""What the functions return: the figures of the report in every form, and nothing a model wrote that could run."""

import json
import pickle
import shutil
import sys

import msgspec
import pytest
from loopback import Loopback, Plan

import markscheme as ms
from markscheme.cli import main
from markscheme.errors import UsageError
from markscheme.reporting.table import write_parquet


def test_frames_when_averaged_over_problems_then_they_give_the_reports_accuracy(nano):
    reported = nano.report().accuracy.value
    pandas, polars = nano.to_pandas(), nano.to_polars()
    assert pandas.groupby("key").correct.mean().mean() == pytest.approx(reported)
    assert polars.select("key", "correct").group_by("key").mean()["correct"].mean() == pytest.approx(reported)
    assert len(nano.to_arrow()) == len(nano) == 32


@pytest.mark.parametrize(
    ("package", "extra", "use"),
    [
        ("pandas", "frames", lambda run, _: run.to_pandas()),
        ("polars", "frames", lambda run, _: run.to_polars()),
        ("pyarrow", "frames", lambda run, _: run.to_arrow()),
        ("matplotlib", "plots", lambda run, _: run.report().plot()),
        ("pyarrow", "data", lambda run, file: write_parquet(run.report().table, file)),
    ],
)
def test_package_when_it_is_not_installed_then_it_is_named_with_its_extra(
    nano, monkeypatch, tmp_path, package, extra, use
):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=rf"^{package} cannot be imported .*pip install 'markscheme\[{extra}\]'$"):
        use(nano, tmp_path / "x.parquet")


def test_report_when_shown_then_text_html_and_frame_have_the_same_figure(nano):
    report = nano.report(pass_k=(1, 2))
    shown = f"{100 * report.accuracy.value:.1f} "
    assert f"accuracy    {shown}[" in repr(report)
    assert f"{shown}[" in report._repr_html_()
    assert "<svg" in report._repr_html_()
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
    assert f"{100 * expected:+.1f} [" in repr(comparison)
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
    assert judged.to_pandas()[["marked", "judged"]].values.tolist() == [["correct", "correct"]]
    assert "1 response judged, 1 right" in repr(judged)
    assert "<td" in judged._repr_html_()
    assert run.report(protocol=judged.protocol).accuracy.value == 1
    with pytest.raises(UsageError, match="open or about all"):
        ms.judge(run, model="openai/j", which="some", progress=False)


def test_judge_when_asked_about_a_labelled_file_then_it_stands_among_the_graders(tmp_path):
    file = tmp_path / "labelled.jsonl"
    file.write_text(json.dumps({"response": "\\boxed{5}", "gold": "5", "correct": True, "problem": "2 + 3?"}) + "\n")
    with Loopback(Plan(text="The same value.\nVERDICT: RIGHT")) as server:
        judged = ms.judge(file, model="openai/j", base_url=server.url, progress=False)
    assert "1 response judged, 1 right" in repr(judged)
    assert "ms.benchmark_the_graders" in judged._repr_html_()
    assert any("judge:j" in row["grader"] for row in ms.benchmark_the_graders(file).rows())


def test_graders_when_measured_then_a_row_each_with_its_errors(tmp_path):
    rows = [
        {"response": "\\boxed{5}", "gold": "5", "correct": True},
        {"response": "#### 4", "gold": "5", "correct": False},
    ]
    (tmp_path / "labelled.jsonl").write_text("\n".join(map(json.dumps, rows)))
    graders = ms.benchmark_the_graders(tmp_path / "labelled.jsonl", protocol=["math", "gsm8k-strict"])
    errors = {row["grader"].partition("@")[0]: row for row in graders.rows()}
    assert (errors["math"]["false_negative"], errors["gsm8k-strict"]["false_negative"]) == (0.0, 1.0)
    title, _, head, _, worst, *_ = repr(graders).splitlines()
    assert title.endswith("1 right and 1 wrong responses")
    assert "false negatives" in head
    assert worst.startswith("2 gsm8k-strict")
    assert "100.0 % [" in worst
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


FRAMES = ("to_pandas", "to_polars", "to_arrow")


def kinds(frame):
    """Column names and types, as text, of any of the three kinds of frame."""
    if hasattr(frame, "dtypes"):
        types = frame.dtypes.items() if hasattr(frame.dtypes, "items") else frame.schema.items()
        return {name: str(kind) for name, kind in types}
    return {field.name: str(field.type) for field in frame.schema}


@pytest.fixture(scope="session")
def unlucky(tmp_path_factory):
    """A run whose responses are right, wrong, truncated, failed and never asked for; and what the report says of it."""
    folder = tmp_path_factory.mktemp("unlucky")
    problems = ms.benchmark("gsm8k-sample").problems[:6]
    lines = [
        {"key": problems[0].key, "text": f"ANSWER: {problems[0].gold}"},
        {"key": problems[1].key, "text": "ANSWER: -1"},
        {"key": problems[2].key, "text": "so far", "finish_reason": "length"},
        {"key": problems[3].key, "error": "the server went away", "error_kind": "server"},
        {"key": problems[4].key, "text": f"ANSWER: {problems[4].gold}"},
    ]
    (folder / "stored.jsonl").write_text("\n".join(map(json.dumps, lines)))
    model = f"replay/{folder / 'stored.jsonl'}"
    return ms.run("gsm8k-sample", model=model, limit=6, out=folder / "run", progress=False)


def test_frames_when_a_run_is_empty_unmarked_or_unlucky_then_columns_have_the_same_types(nano, unlucky, tmp_path):
    empty, unmarked = (ms.load(shutil.copytree(unlucky.path, tmp_path / name)) for name in ("empty", "unmarked"))
    for folder in (empty, unmarked):
        shutil.rmtree(folder.path / "marks")
    (empty.path / "responses.jsonl").unlink()
    for method in FRAMES:
        usual = kinds(getattr(nano, method)())
        usual.pop("numbers")  # what Countdown knows of its problems
        for run in (unlucky, empty, unmarked):
            assert kinds(getattr(ms.load(run), method)()) == usual
    assert len(empty.to_pandas()) == 0
    assert unmarked[0].mark is None
    assert unmarked.to_pandas()["correct"].isna().all()
    assert "not marked" in repr(unmarked)
    assert "not marked" in unmarked[0]._repr_html_()
    assert unmarked._repr_html_() is None


def test_frames_when_responses_are_missing_then_they_give_the_reports_accuracy(unlucky):
    assert unlucky.accuracy == pytest.approx(2 / 4)
    assert unlucky.to_pandas().groupby("key").correct.mean().mean() == pytest.approx(unlucky.accuracy)
    shares = unlucky.to_polars().select("key", "correct").group_by("key").mean()
    assert shares["correct"].mean() == pytest.approx(unlucky.accuracy)


@pytest.mark.parametrize("method", FRAMES)
def test_results_when_handed_on_then_every_kind_of_frame_has_the_columns_of_the_rows(method, nano, solver):
    comparison = ms.compare(nano, solver)
    results = [nano.report(), comparison, comparison.problems(), nano.audit(), ms.plan(detect=9, pilot=nano)]
    results += [nano.report().groups(), ms.data.list("gsm8k"), ms.list_benchmarks(), ms.list_protocols()]
    results += [ms.dry_run("countdown-sample", model="nano", limit=3)]
    for each in results:
        frame = getattr(each, method)()
        assert list(kinds(frame)) == list(each.columns()) == list(each.rows()[0])
        assert len(frame) == len(each.rows())


def test_reprs_when_there_is_much_then_they_keep_to_one_screen(nano, tmp_path):
    others = [shutil.copytree(nano.path, tmp_path / f"copy-{number}") for number in range(30)]
    text = "word " * 100_000 + "ANSWER: 7"
    problem = ms.Problem(id="long", statement="why? " * 1_000, gold="7")
    answer = ms.Answer(problem, ms.Response(key="k", sample=0, text=text), ms.mark(text, problem))
    shown = [
        ms.report(others),
        ms.data.list(),
        answer,
        ms.benchmark("gsm8k-sample"),
        ms.list_benchmarks(),
        nano.report(),
    ]
    for each in shown:
        assert len(repr(each).splitlines()) <= 30
        assert len(repr(each)) < 6_000
    assert repr(answer).endswith("ANSWER: 7")


def test_report_when_runs_have_the_same_model_then_their_folders_tell_them_apart(nano, tmp_path):
    twin = shutil.copytree(nano.path, tmp_path / "twin")
    report = ms.report(nano, twin)
    for shown in (repr(report), report._repr_html_()):
        assert "twin" in shown
    assert {row["run"] for row in report.rows()} == {str(nano.path), str(twin)}


def test_plots_when_asked_for_then_each_result_has_one(nano, tmp_path):
    (tmp_path / "labelled.jsonl").write_text(json.dumps({"response": "\\boxed{5}", "gold": "5", "correct": True}))
    graders = ms.benchmark_the_graders(tmp_path / "labelled.jsonl", protocol="math")
    for each in (nano, nano.report(), nano.audit(), ms.plan(detect=9, pilot=nano), graders):
        assert each.plot().axes[0].get_children()


def test_experiment_when_named_in_python_then_its_runs_are_shown_as_one_table(tmp_path):
    options = {"model": ["nano", "solver"], "benchmark": ["countdown-sample"], "limit": 2, "out": tmp_path / "out"}
    planned = ms.dry_run(**options)
    assert [row["to_ask"] for row in planned] == [2, 2]
    runs = ms.experiment(**options, progress=False)
    assert {run.manifest.model for run in runs} == {"nano", "solver"}
    assert repr(runs) == repr(ms.report(runs))
    assert [row["to_ask"] for row in ms.dry_run(**options)] == [0, 0]
    reused = ms.run("countdown-sample", model="nano", limit=2, out=tmp_path / "again", reuse=runs, progress=False)
    assert [one.text for one in reused.responses()] == [one.text for one in runs[0].responses()]


def test_adjudication_when_a_person_judges_then_the_report_has_the_corrected_accuracy(nano, tmp_path):
    run = ms.load(shutil.copytree(nano.path, tmp_path / "run"))
    waiting = ms.adjudicate(run, who="me", limit=20)
    assert len(waiting) == 20
    for answer in waiting:
        assert answer.mark is None
        verdict = run[answer.problem.id, answer.response.sample].mark
        waiting.label(answer, "right" if verdict.correct else "wrong")
    assert len(ms.adjudicate(run, who="me")) == 12
    assert "20 judged" in repr(waiting)
    assert run.report().figures["corrected accuracy"].value == pytest.approx(run.accuracy)
    with pytest.raises(UsageError, match="right, wrong or unsure"):
        waiting.label(answer, "maybe")


def test_show_when_a_problem_is_named_then_the_prompt_really_sent_is_there(capsys):
    shown = ms.show("gsm8k-sample", problem="gsm8k-sample/002", prompt="Q: {statement}")
    assert shown.messages[-1].content == f"Q: {shown.problem.statement}"
    main(["show", "gsm8k-sample", "--problem", "gsm8k-sample/002", "--prompt", "Q: {statement}"])
    assert capsys.readouterr().out.strip() == repr(shown)


@pytest.mark.needs("inspect_ai")
def test_export_when_imported_again_then_it_is_the_same_run(unlucky, tmp_path):
    (log,) = ms.export(unlucky, output=tmp_path / "logs")
    again = ms.import_log(log, out=tmp_path / "again")
    assert again.accuracy == unlucky.accuracy
    assert {one.text for one in again.responses()} == {one.text for one in unlucky.responses()}
