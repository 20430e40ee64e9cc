"""`markscheme compare` and `markscheme plan` on run folders."""

import json
import re

import msgspec
import pytest

import markscheme as ms
from markscheme.cli import main
from markscheme.errors import UsageError
from markscheme.reporting.comparing import Terms, compare_runs, find_differences
from markscheme.runs.folder import Run


@pytest.fixture(scope="module")
def runs(replayed):
    """Two models and a third: B solves more than A, C is as good as B."""
    return [
        replayed(lambda index: index % 3, name="a"),
        replayed(lambda index: min(4, index % 3 + 2), name="b"),
        replayed(lambda index: min(4, 3 - index % 2 + 1), name="c"),
    ]


def test_compare_runs_when_one_is_better_then_difference_and_moved_problems_by_id(runs):
    found = compare_runs(runs[:2], Terms())
    assert found.comparison is not None
    assert found.comparison.difference.estimate == pytest.approx(0.5)
    assert found.comparison.better == 6
    ids = {question.problem.id for question in runs[0].questions()}
    assert {found.problems[each.key] for each in found.comparison.moved} <= ids


def test_compare_when_printed_then_says_what_a_reader_needs(runs, capsys):
    assert main(["compare", str(runs[0].path), str(runs[1].path)]) == 0
    shown = capsys.readouterr().out
    assert "B − A  +50.0 points" in shown
    assert "6 shared problems" in shown
    assert "p = " in shown
    assert "a sample of similar problems" in shown
    assert "moved most" in shown


def test_compare_when_json_then_only_json(runs, capsys):
    assert main(["compare", str(runs[0].path), str(runs[1].path), "--json", "--metric", "pass@2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["comparison"]["metric"] == "pass@2"
    assert found["ranking"] is None
    assert list(found["runs"].values()) == [str(run.path) for run in runs[:2]]


def test_compare_when_three_runs_then_ranked(runs, capsys):
    assert main(["compare", *(str(run.path) for run in runs), "--json"]) == 0
    ranking = json.loads(capsys.readouterr().out)["ranking"]
    assert len(ranking["pairs"]) == 3
    assert ranking["models"][-1]["worst_rank"] == 3
    assert main(["compare", *(str(run.path) for run in runs)]) == 0
    assert "simultaneous 95 % intervals" in capsys.readouterr().out


def test_compare_when_data_or_protocol_differ_then_refused_unless_insisted(runs, tmp_path):
    one = runs[0].manifest
    other = msgspec.structs.replace(one, protocol="aime-exact@1", prompt_sha256="f" * 64)
    found = find_differences({"a": one, "b": other}, {"a": one.protocol, "b": other.protocol})
    assert [(each.what, each.decisive) for each in found] == [("protocol", True), ("prompt", False)]
    changed = Run(runs[1].path, msgspec.structs.replace(runs[1].manifest, data=()))
    with pytest.raises(UsageError, match="--anyway"):
        compare_runs([runs[0], changed], Terms())
    assert compare_runs([runs[0], changed], Terms(anyway=True)).differences[0].what == "data"


def test_compare_when_asked_for_nonsense_then_a_sentence(runs, capsys):
    path = str(runs[0].path)
    assert main(["compare", path]) == 2
    assert main(["compare", path, path]) == 2
    assert main(["compare", path, str(runs[1].path), "--metric", "luck"]) == 2
    assert main(["compare", path, str(runs[1].path), "--protocol", "nobody"]) == 2
    assert main(["compare", *(str(run.path) for run in runs), "--margin", "2"]) == 2
    assert main(["compare", path, str(runs[1].path), "--cluster", "colour"]) == 2
    assert capsys.readouterr().err.count("markscheme: ") == 6


def test_compare_when_three_runs_on_these_problems_then_ranked_too(runs, capsys):
    assert main(["compare", *(str(run.path) for run in runs), "--these-problems", "--metric", "maj@2"]) == 0
    shown = capsys.readouterr().out
    assert "these exact problems" in shown
    assert "simultaneous" in shown


@pytest.mark.parametrize("metric", ["maj@4", "pass@4", "best-of-2:completion_tokens"])
def test_compare_when_any_metric_of_a_report_is_named_then_the_same_scores(runs, metric, capsys):
    paths = [str(run.path) for run in runs[:2]]
    assert main(["report", *paths, "--metric", metric, "--json"]) == 0
    reported = [run["metrics"][metric]["value"] for run in json.loads(capsys.readouterr().out)["runs"]]
    assert main(["compare", *paths, "--metric", metric, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["comparison"]
    assert [found["a"]["estimate"], found["b"]["estimate"]] == pytest.approx(reported)
    assert (found["p_value"] < 0.05) == (not found["difference"]["low"] <= 0 <= found["difference"]["high"])


def test_compare_when_a_margin_is_given_then_it_says_what_is_ruled_out(runs, capsys):
    assert main(["compare", str(runs[0].path), str(runs[1].path), "--margin", "2"]) == 0
    shown = capsys.readouterr().out
    assert "B worse than A by 2 points or more: ruled out" in shown
    assert "equivalent within 2 points: not shown" in shown


def test_compare_when_two_folders_of_benchmarks_then_the_mean_over_benchmarks(replayed, tmp_path, capsys):
    for side, right in (("a", lambda index: index % 3), ("b", lambda index: min(4, index % 3 + 1))):
        for benchmark in ("aime-sample", "math-sample"):
            made = replayed(right, name=side, benchmark=benchmark)
            (tmp_path / side).mkdir(exist_ok=True)
            made.path.rename(tmp_path / side / benchmark)
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--margin", "5"]) == 0
    shown = capsys.readouterr().out
    assert "mean over 2 benchmarks" in shown
    assert "+25.0 points" in shown
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["parts"]) == 2
    assert found["difference"]["estimate"] == pytest.approx(0.25)


def test_compare_when_a_plot_is_wanted_then_written(runs, tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "forest.svg"
    assert main(["compare", *(str(run.path) for run in runs), "--plot", str(file)]) == 0
    assert file.stat().st_size > 1000


def test_plan_when_few_problems_then_says_that_nothing_suffices(capsys):
    assert main(["plan", "--benchmark", "aime-sample", "--detect", "5"]) == 0
    said = capsys.readouterr().out
    assert "As a guess, no number of samples" in said
    assert "without pilots this is a guess" in said
    assert main(["plan", "--problems", "1319", "--detect", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 1


def test_plan_when_a_pilot_is_given_then_its_variance_and_tokens_are_used(runs, capsys):
    pilots = ["--pilot", str(runs[0].path)]
    assert main(["plan", "--detect", "30", *pilots, "--these-problems", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["spread"]["source"] == "pilot"
    assert found["problems"] == 6
    assert found["tokens"] == pytest.approx(6 * found["samples"] * 10)
    changed = ["--pilot", str(runs[2].path)]  # its problems gain unevenly, unlike those of the second run
    assert main(["plan", "--detect", "30", *pilots, *changed, "--json"]) == 0
    with_two = json.loads(capsys.readouterr().out)["between_difference"]
    assert main(["plan", "--detect", "30", *pilots, "--json"]) == 0
    assert with_two != json.loads(capsys.readouterr().out)["between_difference"]


def test_plan_when_asked_for_nonsense_then_a_sentence(runs, capsys):
    assert main(["plan", "--detect", "5"]) == 2
    assert main(["plan", "--problems", "30", "--detect", "0"]) == 2
    assert main(["plan", "--problems", "30", "--detect", "5", "--solve-rate", "90"]) == 2
    assert main(["plan", "--detect", "5", *(["--pilot", str(runs[0].path)] * 3)]) == 2
    assert capsys.readouterr().err.count("markscheme: ") == 4


@pytest.mark.parametrize(
    ("order", "margin", "code"), [((0, 1), None, 0), ((1, 0), None, 4), ((1, 0), 99.0, 0), ((0, 0), None, 2)]
)
def test_compare_when_it_shall_fail_if_worse_then_only_a_significant_drop_does(runs, order, margin, code, capsys):
    named = [str(runs[place].path) for place in order]  # the second is better
    beyond = [] if margin is None else ["--margin", str(margin)]
    assert main(["compare", *named, "--fail-if-worse", *beyond]) == code
    if code != 2:
        assert ms.compare(*named, margin=margin).worse == (code == 4)


def test_sentence_when_two_runs_are_compared_then_it_says_interval_pairing_protocol_and_limits(replayed):
    one, two = replayed(lambda index: 0, limit=12), replayed(lambda index: 3, limit=12, name="better")
    told = ms.compare(one, two).sentence
    assert re.search(r"better.jsonl is 75\.0 points higher than outputs.jsonl in accuracy", told)
    assert "95 % interval +" in told
    assert "paired by problem, p < 0.001" in told
    assert "marked by aime@" in told
    assert "says nothing about other prompts" in told
    same = ms.compare(one, replayed(lambda index: 0, limit=12, name="again")).sentence
    assert "no significant difference in accuracy" in same
    assert "does not show that they are equal" in same


def test_sentence_when_asked_for_in_latex_then_it_is_alone_and_escaped(replayed, capsys):
    one, two = replayed(lambda index: 1, limit=12), replayed(lambda index: 2, limit=12, name="a_b")
    assert main(["compare", str(one.path), str(two.path), "--format", "latex"]) == 0
    told = capsys.readouterr().out
    assert told.count("\n") == 1
    assert r"a\_b.jsonl is 25.0 points higher" in told
    assert r"95\,\% interval" in told
    assert main(["report", str(one.path), "--format", "markdown"]) == 0
    assert "has an accuracy of 25.0 % (95 % interval" in capsys.readouterr().out


def test_compare_when_problems_differ_then_anyway_compares_the_scores_unpaired(replayed, capsys):
    one, two = (
        replayed(lambda index: 1, limit=12),
        replayed(lambda index: 3, limit=12, benchmark="math-sample", name="two"),
    )
    with pytest.raises(UsageError, match="anyway compares"):
        ms.compare(one, two)
    compared = ms.compare(one, two, anyway=True)
    assert compared.compared.pairing == ""
    a, b = ms.report(one).accuracy, ms.report(two).accuracy
    assert compared.difference.estimate == pytest.approx(b.value - a.value)
    assert compared.difference.low == pytest.approx(
        b.value - a.value - ((b.value - b.low) ** 2 + (a.high - a.value) ** 2) ** 0.5
    )
    assert "not paired" in compared.sentence
    assert "easier problems" in compared.sentence
    assert main(["compare", str(one.path), str(two.path), "--anyway"]) == 0
    assert "24 problems, not paired" in capsys.readouterr().out


def test_compare_when_problems_name_their_template_then_anyway_pairs_by_it(tmp_path):
    def run(name, shift, right):
        rows = [
            {"question": f"What is {n} + {shift}?", "answer": str(n + shift), "template": f"t{n // 2}"}
            for n in range(12)
        ]
        file, outputs = tmp_path / f"{name}.jsonl", tmp_path / f"{name}-outputs.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        problems = ms.benchmark(str(file)).problems
        lines = [
            {"problem_id": p.id, "sample": 0, "text": f"\\boxed{{{p.gold if i % right else 'no'}}}"}
            for i, p in enumerate(problems)
        ]
        outputs.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return ms.run(str(file), model=f"replay/{outputs}", out=tmp_path / name, progress=False)

    compared = ms.compare(run("one", 1, 2), run("two", 50, 12), anyway=True)
    assert compared.compared.pairing == "template"
    assert compared.compared.comparison.problems == 6
    assert "paired by template" in compared.sentence
