"""Tables in every format say the same, and undefined is never 0."""

import csv
import io
import json

import msgspec
import pytest

import markscheme as ms
from markscheme.cli import main
from markscheme.errors import UsageError
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.figures import caveats, plus_minus
from markscheme.reporting.pivot import pivot
from markscheme.reporting.report_text import print_comparison_table
from markscheme.reporting.settings import legend, run_names
from markscheme.reporting.summary import summarize
from markscheme.reporting.table import Table, document, macro_average, make_table, write_parquet


@pytest.fixture(scope="module")
def table(replayed):
    return make_table([summarize(replayed(lambda index: index % 3)), summarize(replayed(lambda _: 4))])


def test_csv_when_read_back_then_has_the_figures(table):
    first, second = csv.DictReader(io.StringIO(document(table).text("csv")))
    assert float(first["accuracy"]) == pytest.approx(0.25)
    assert float(second["pass@2"]) == 1.0
    assert float(second["accuracy_low"]) < 1.0


def test_json_when_read_back_then_has_every_run(table):
    assert [run["benchmark"] for run in json.loads(document(table).text("json"))["runs"]] == ["aime-sample"] * 2


def test_parquet_when_read_back_then_equals_the_csv(table, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    write_parquet(table, tmp_path / "t.parquet")
    rows = pq.read_table(tmp_path / "t.parquet").to_pylist()
    assert [row["accuracy"] for row in rows] == [pytest.approx(0.25), 1.0]


def test_markdown_when_printed_then_states_problems_samples_protocol_and_data(table):
    text = document(table).text("markdown")
    assert "25.0 [" in text
    assert "6 problems × 4 samples, protocol aime@9, data " in text


def test_latex_when_model_has_underscores_then_they_are_escaped(table):
    odd = msgspec.structs.replace(table.runs[0], model="a_b&c")
    text = document(Table([odd], {})).text("latex")
    assert r"aime-sample & a\_b\&c & 6 $\times$ 4 & $25.0_{-" in text


def test_latex_when_the_interval_is_not_symmetric_then_both_distances():
    assert plus_minus(Estimate(1.0, 0.68, 1.0)) == "$100.0_{-32.0}^{+0.0}$"
    assert plus_minus(Estimate(0.5, 0.4, 0.6)) == r"$50.0 \pm 10.0$"


@pytest.fixture(scope="module")
def partial(replayed):
    """Two of six problems have two samples of four, so pass@4 is complete for four of six."""
    run = replayed(lambda index: 4 - index % 2, name="partial", pass_k=(1, 4))
    keys = [question.problem.key for question in run.questions()][:2]
    for file in run.path.glob("responses*.jsonl"):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        kept = [line for line in lines if not (line["key"] in keys and line.get("sample", 0) > 1)]
        file.write_text("".join(json.dumps(line) + "\n" for line in kept))
    marks = run.path / "marks" / "aime.jsonl"
    lines = [json.loads(line) for line in marks.read_text().splitlines()]
    kept = [line for line in lines if not (line["key"] in keys and line.get("sample", 0) > 1)]
    marks.write_text("".join(json.dumps(line) + "\n" for line in kept))
    return run


def test_report_when_problems_lack_samples_then_every_format_says_how_many_and_what_they_could_be(partial, capsys):
    path = str(partial.path)
    said = "pass@4 has 4 of 6 problems complete and estimates the rest from their samples; it would be 100.0 if all missing responses are wrong"
    shown = {}
    for form in ("table", "markdown", "csv", "latex", "json"):
        assert main(["report", path, "--format", form]) == 0
        shown[form] = capsys.readouterr().out
    assert all(said in shown[form] for form in shown)
    assert "4 of 6 problems" in next(line for line in shown["table"].splitlines() if line.startswith("pass@4"))
    row = next(csv.DictReader(io.StringIO(shown["csv"])))
    assert (row["pass@4_problems"], row["pass@4_if_wrong"]) == ("4", "1.0")
    figure = json.loads(shown["json"])["runs"][0]["pass_at_k"]["4"]
    assert (figure["problems"], figure["undefined"], figure["if_right"]) == (4, 2, 1.0)
    assert figure["low"] < 1.0


def test_report_when_printed_then_every_format_says_which_population(table, replayed, capsys):
    path = str(replayed(lambda index: index % 3).path)
    for option, said in (([], "a sample of similar problems"), (["--these-problems"], "these exact problems")):
        for form in ("table", "markdown", "latex"):
            assert main(["report", path, *option, "--format", form]) == 0
            assert said in capsys.readouterr().out


def test_report_when_two_benchmarks_then_the_macro_average_is_in_every_format(table):
    few, many = (
        msgspec.structs.replace(run, benchmark=name, model="m") for run, name in zip(table.runs, "ab", strict=True)
    )
    made = make_table([few, many])
    average = f"{100 * made.macro['accuracy'].value:.1f}"
    assert "the macro average is about these 2 benchmarks and no others" in document(made).text("markdown")
    assert f"| {average} [" in document(made).text("markdown").split("macro average")[1]
    assert f"& ${average}" in document(made).text("latex").split("macro average")[-1]
    assert list(csv.DictReader(io.StringIO(document(made).text("csv"))))[-1]["run"] == "macro average"


def test_report_when_rates_are_printed_then_correct_has_the_interval_of_accuracy(table):
    for run in table.runs:
        assert (run.rates["correct"].low, run.rates["correct"].high) == (run.accuracy.low, run.accuracy.high)


def test_report_when_clustered_then_wider_and_said(replayed, capsys):
    run = replayed(lambda index: 4 * (index % 2), name="families", benchmark="math-sample", limit=12)
    assert main(["report", str(run.path), "--json", "--cluster", "level"]) == 0
    found = json.loads(capsys.readouterr().out)["runs"][0]
    assert found["cluster"] == "level"
    assert main(["report", str(run.path), "--cluster", "level"]) == 0
    assert "with the same level are not treated as independent" in capsys.readouterr().out
    assert main(["report", str(run.path), "--cluster", "colour"]) == 2
    assert "'colour'" in capsys.readouterr().err


def test_report_when_samples_are_repeated_then_the_variance_table_says_what_more_would_buy(table, capsys):
    found = table.runs[0].variance
    assert found.half_width_endless <= found.half_width_more <= found.half_width
    assert found.these_half_width_more < found.these_half_width
    assert "4 more samples per problem" in document(table).text("markdown")


def test_caveats_when_problems_are_few_then_the_report_says_what_they_may_lack(table):
    said = "3 problems say little about similar problems: a kind that makes up one problem in 5 has a 51 % chance of being absent here"
    assert said in caveats(msgspec.structs.replace(table.runs[0], problems=3))
    assert not any("say little" in note for note in caveats(msgspec.structs.replace(table.runs[0], problems=30)))
    assert not any(
        "say little" in note
        for note in caveats(msgspec.structs.replace(table.runs[0], problems=3, population="these problems"))
    )


def test_caveats_when_one_sample_on_exactly_these_problems_then_what_it_cannot_tell(table):
    once = msgspec.structs.replace(table.runs[0], samples=1, population="these problems")
    assert any("no narrower than that for similar problems" in note for note in caveats(once))
    more = msgspec.structs.replace(once, samples=2)
    assert not any("no narrower than" in note for note in caveats(more))


def test_figures_when_undefined_then_never_zero(table):
    undefined = msgspec.structs.replace(table.runs[0], accuracy=Estimate(None), pass_at_k={})
    shown = Table([undefined], {})
    assert "| undefined |" in document(shown).text("markdown")
    assert next(csv.DictReader(io.StringIO(document(shown).text("csv"))))["accuracy"] == ""
    assert "& -- " in document(shown).text("latex")


def test_macro_average_when_two_benchmarks_of_one_model_then_each_weighs_the_same(table):
    few, many = (
        msgspec.structs.replace(run, benchmark=name, model="m", problems=size)
        for run, name, size in zip(table.runs, ("a", "b"), (30, 1319), strict=True)
    )
    assert make_table([few, many]).macro["accuracy"].value == pytest.approx((0.25 + 1.0) / 2)
    assert make_table([few, few]).macro == {}, "the same benchmark twice has no macro average"


def test_macro_average_when_one_is_undefined_then_undefined(table):
    broken = msgspec.structs.replace(table.runs[0], accuracy=Estimate(None))
    assert macro_average([broken, table.runs[1]])["accuracy"].value is None


def test_report_command_when_several_runs_then_prints_one_table(replayed, capsys):
    from markscheme.cli import main

    runs = [str(replayed(lambda _: 1).path), str(replayed(lambda _: 3).path)]
    assert main(["report", *runs, "-k", "1,4"]) == 0
    shown = capsys.readouterr().out
    assert "25.0" in shown
    assert "75.0" in shown


def test_report_command_when_parquet_has_no_file_then_says_so(replayed, capsys):
    from markscheme.cli import main

    assert main(["report", str(replayed(lambda _: 1).path), "--format", "parquet"]) == UsageError.exit_code
    assert "-o FILE.parquet" in capsys.readouterr().err


def test_save_results_when_written_then_one_full_line_a_response(replayed, tmp_path, capsys):
    from markscheme.cli import main

    file = tmp_path / "results.jsonl"
    assert main(["report", str(replayed(lambda _: 1).path), "--save-results", str(file)]) == 0
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(lines) == 24
    assert sum(line["correct"] for line in lines) == 6
    assert all(line["problem"] and line["gold"] and line["text"] for line in lines)


def test_plots_when_written_then_are_images(replayed, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    from markscheme.cli import main

    assert main(["report", str(replayed(lambda index: index % 3).path), "--plots", str(tmp_path / "p")]) == 0
    files = {file.name: file.read_bytes() for file in (tmp_path / "p").iterdir()}
    assert set(files) == {"pass-at-k.png", "accuracy-tokens.png", "solve-rates.png", "verdicts.png"}
    assert all(content.startswith(b"\x89PNG") and len(content) > 5000 for content in files.values())


@pytest.fixture
def sweep(table):
    """Two models at two token limits on two benchmarks, in which one setting is the benchmark's own default."""
    one = table.runs[0]

    def run(name, benchmark, limit, accuracy):
        return msgspec.structs.replace(
            one,
            run=f"runs/{name}-{benchmark}-{limit}",
            benchmark=benchmark,
            model=f"openai/{name}",
            settings={"name": name, "max_tokens": limit},
            sampling={"temperature": {"aime": 0.6, "gsm8k": 0.0}[benchmark], "max_tokens": limit},
            accuracy=Estimate(accuracy, accuracy - 0.1, accuracy + 0.1, problems=6),
        )

    cells = [(n, b, k) for n in ("small", "large") for b in ("aime", "gsm8k") for k in (1024, 4096)]
    return make_table([run(*cell, 0.2 + number / 16) for number, cell in enumerate(cells)])


def test_table_when_settings_differ_then_they_are_columns_in_every_format(sweep, capsys):
    assert sweep.differing == ["name", "max_tokens"]  # not the temperature, which each benchmark chose
    rows = list(csv.DictReader(io.StringIO(document(sweep).text("csv"))))
    assert [row["max_tokens"] for row in rows[:2]] == ["1024", "4096"]
    assert rows[0]["name"] == "small"
    assert rows[0]["model"] == "openai/small"
    assert (
        document(sweep)
        .text("markdown")
        .startswith("| benchmark | model | max tokens | problems × samples | accuracy |")
    )
    assert "| aime | small | 1024 |" in document(sweep).text("markdown")
    assert "aime & small & 1024 &" in document(sweep).text("latex")
    assert json.loads(document(sweep).text("json"))["differing"] == ["name", "max_tokens"]
    print_comparison_table(sweep)
    shown = capsys.readouterr().out
    assert "max tokens" in shown
    assert "small is openai/small; large is openai/large" in shown


def test_pivot_when_models_and_benchmarks_are_many_then_one_row_a_model_and_setting(sweep):
    latex = pivot(sweep, "accuracy").text("latex")
    assert r"\begin{tabular}{llrrr}" in latex
    assert r"small & 1024 & $20.0 \pm 10.0$ & $32.5 \pm 10.0$ & $26.2 \pm 7.1$ \\" in latex
    rows = json.loads(pivot(sweep, "accuracy").text("json"))
    assert [(row["model"], row["max_tokens"]) for row in rows] == [
        ("small", "1024"), ("small", "4096"), ("large", "1024"), ("large", "4096"),
    ]  # fmt: skip
    assert rows[0]["aime"] == pytest.approx(0.2)
    assert rows[0]["macro average_low"] == pytest.approx(0.2625 - 0.1 / 2**0.5)
    with pytest.raises(UsageError, match="one run"):
        pivot(Table([*sweep.runs, sweep.runs[0]], {}, sweep.differing), "accuracy").text("csv")


def test_names_when_only_a_setting_differs_then_that_is_the_name(sweep):
    two = [run for run in sweep.runs if run.benchmark == "aime" and run.model == "openai/small"]
    assert run_names(two, ["x/a", "x/b"]) == ["max tokens 1024", "max tokens 4096"]
    assert legend(two, ["x/a", "x/b"]) == ("max tokens", ["1024", "4096"])
    assert run_names([two[0], two[0]], ["x/a", "x/b"]) == ["a", "b"]


def test_names_when_a_run_has_no_value_of_the_setting_then_the_model_is_its_name(sweep):
    one = next(run for run in sweep.runs if run.benchmark == "aime" and run.model == "openai/small")
    seeded = msgspec.structs.replace(one, settings={**one.settings, "seed": 4})
    assert run_names([one, seeded], ["x/a", "x/b"]) == ["openai/small", "openai/small · seed 4"]


def test_where_when_it_names_a_setting_then_only_these_runs_are_left(replayed):
    one, two = replayed(lambda index: 2), replayed(lambda index: 1, benchmark="math-sample")
    assert [run.benchmark for run in ms.report(one, two, where="benchmark=math-sample")] == ["math-sample"]
    assert len(ms.report(one, two, where=["samples=4", "benchmark=math-sample,aime-sample"])) == 2
    with pytest.raises(UsageError, match="no run has samples 3; the values are 4"):
        ms.report(one, two, where="samples=3")
    with pytest.raises(UsageError, match="did you mean temperature"):
        ms.report(one, where="temprature=1")


def test_plots_when_runs_are_many_then_one_figure_a_question(replayed, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    runs = [replayed(lambda index, right=right: right, name=f"m{right}") for right in range(4)]
    assert main(["report", *(str(run.path) for run in runs), "--plots", str(tmp_path), "--plot-lines", "3"]) == 0
    assert sorted(file.stem for file in tmp_path.iterdir()) == [
        "accuracy-tokens",
        "pass-at-k",
        "solve-rates",
        "verdicts",
    ]
    assert "the best 3 of 4 runs" in capsys.readouterr().err
