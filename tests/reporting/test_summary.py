"""The summary of a run: the same figures as counting by hand, and what a reader must be told."""

import msgspec
import pytest

import markscheme as ms
from markscheme.cli import main
from markscheme.errors import UsageError
from markscheme.reporting.summary import Summary, summarize
from markscheme.runs.folder import Run


def test_summary_when_counted_by_hand_then_agrees(replayed):
    run = replayed(lambda index: index % 3)  # 0, 1, 2 of 4 correct, twice
    summary = summarize(run)
    assert summary.accuracy.value == pytest.approx((0 + 1 / 4 + 2 / 4) / 3)
    assert summary.pass_at_k["2"].value == pytest.approx((0 + ms.pass_at_k(4, 1, 2) + ms.pass_at_k(4, 2, 2)) / 3)
    assert summary.verdicts["correct"] == 6
    assert summary.responses == 24
    assert summary.missing == 0
    assert summary.accuracy.low < summary.accuracy.value < summary.accuracy.high


def test_summary_when_all_are_correct_then_interval_has_width(replayed):
    summary = summarize(replayed(lambda _: 4))
    assert summary.accuracy.value == 1.0
    assert summary.accuracy.low < 0.9


def test_summary_when_k_exceeds_the_samples_then_undefined_not_zero(replayed):
    summary = summarize(replayed(lambda _: 4), pass_k=[8])
    assert summary.pass_at_k["8"].value is None


def test_summary_when_a_response_is_missing_then_counted_and_not_scored(replayed, tmp_path):
    run = replayed(lambda _: 4)
    copy = Run.create(tmp_path / "copy", run.manifest, run.questions())
    copy.save_marks("aime", run.marks("aime"))
    kept = (run.path / "responses.jsonl").read_bytes().splitlines(keepends=True)
    (copy.path / "responses.jsonl").write_bytes(b"".join(kept[1:]))
    summary = summarize(copy)
    assert summary.missing == 1
    assert summary.accuracy.value == 1.0


def test_summary_when_benchmark_has_groups_then_breaks_down(replayed):
    run = replayed(lambda index: 4 if index < 3 else 0, benchmark="math-sample", limit=93)
    summary = summarize(run)
    assert set(summary.groups) == {"subject", "level", "kind"}
    assert sum(each.problems for each in summary.groups["level"].values()) == 93


def test_summary_when_data_is_not_the_official_then_warns(replayed):
    run = replayed(lambda _: 1)
    file = msgspec.structs.replace(run.manifest.data[0], check="differs")
    run.manifest = msgspec.structs.replace(run.manifest, data=(file,))
    assert "not the official data" in summarize(run).warnings[0]


def test_report_file_when_run_is_done_then_holds_the_summary(replayed):
    run = replayed(lambda index: index % 2)
    kept = msgspec.json.decode((run.path / "report.json").read_bytes(), type=Summary)
    names = ("problems.jsonl", "responses.jsonl", f"marks/{run.marks_file(run.manifest.protocol).name}")
    sizes = {name: (run.path / name).stat().st_size for name in names}
    assert kept == msgspec.structs.replace(summarize(run), files=sizes)


def test_summary_when_the_run_is_not_marked_with_that_protocol_then_says_how_to(replayed):
    with pytest.raises(UsageError, match=r"not marked with math .* `markscheme mark"):
        summarize(replayed(lambda _: 1), protocol="math")


def test_summary_when_a_mark_belongs_to_no_problem_then_it_does_not_count(replayed):
    run = replayed(lambda _: 4)
    stray = ms.Mark(verdict=ms.Verdict.CORRECT, key="stranger")
    run.save_marks("aime", [*run.marks("aime"), stray])
    assert summarize(run).missing == 0
    assert summarize(run).verdicts["correct"] == 24


def test_summary_when_lines_were_damaged_then_warns(replayed):
    run = replayed(lambda _: 4)
    with run.marks_file("aime").open("ab") as out:
        out.write(b'{"verdict":"corr\n')
    assert "damaged" in summarize(run).warnings[0]


def test_report_when_replies_are_refusals_or_empty_then_every_format_tells_them_apart(tmp_path, capsys):
    problem = ms.benchmark("aime-sample").problems[0]
    replies = ["I'm sorry, but I can't help with that.", "", '<tool_call>{"name": "python"}</tool_call>', "No idea."]
    stored = tmp_path / "stored.jsonl"
    stored.write_bytes(
        b"".join(
            msgspec.json.encode({"key": problem.key, "sample": sample, "text": text}) + b"\n"
            for sample, text in enumerate(replies)
        )
    )
    run = ms.run("aime-sample", model=f"replay/{stored}", samples=4, limit=1, out=tmp_path / "run")
    summary = summarize(run)
    assert summary.absences == {"refusal": 1, "empty reply": 1, "tool call only": 1}
    said = "1 × refusal, 1 × empty reply, 1 × tool call only"
    assert any(said in note for note in summary.warnings)
    for how in ("table", "markdown", "json"):
        assert main(["report", str(tmp_path / "run"), "--format", how]) == 0
        assert said in " ".join(capsys.readouterr().out.split()), how


def test_report_when_about_the_whole_benchmark_then_a_random_part_is_needed_and_said(tmp_path, capsys):
    for name, options in (("first", []), ("drawn", ["--limit-seed", "7"])):
        ask = ["run", "countdown-sample", "--model", "solver", "--limit", "8", *options, "--out", str(tmp_path / name)]
        assert main(ask) == 0
    capsys.readouterr()
    assert main(["report", str(tmp_path / "drawn"), "--whole-benchmark"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "95 % intervals for the whole benchmark" in shown
    assert "8 of 100 problems were drawn at random" in shown
    assert main(["report", str(tmp_path / "first"), "--whole-benchmark"]) == 2
    assert "needs a run with --limit and --limit-seed" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "drawn"), "--whole-benchmark", "--these-problems"]) == 2
    assert "not both" in capsys.readouterr().err
