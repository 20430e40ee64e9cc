"""Terminal, Markdown, LaTeX, CSV, JSON and viewer print the same figures and the same caveats, also of odd runs."""

import csv
import html
import io
import json
import re

import pytest

from markscheme.cli import main
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.figures import plus_minus

FORMS = ("table", "markdown", "latex", "csv", "json")
NAMES = ("whole", "lost", "silent", "too few", "families", "contests", "all at once")


def rewrite(file, change):
    """Each line of a JSON-lines file as `change` makes it; None leaves it out."""
    lines = [change(json.loads(line)) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines if line is not None))


def lose(run, lost):
    """Responses and marks of these (place of the problem, sample) pairs never came back."""
    places = {question.problem.key: place for place, question in enumerate(run.questions())}

    def kept(line):
        return None if lost(places[line["key"]], line.get("sample", 0)) else line

    for file in (*run.path.glob("responses*.jsonl"), *run.path.glob("marks/*.jsonl")):
        rewrite(file, kept)


def families(run, count):
    """The problems come from so many contests, as the benchmark itself says."""

    places = iter(range(10_000))

    def in_turn(question):
        question["problem"]["cluster"] = f"contest {next(places) % count}"
        return question

    rewrite(run.path / "problems.jsonl", in_turn)
    (run.path / "report.json").unlink()  # it was of problems without families


@pytest.fixture(scope="module")
def odd(replayed):
    """Runs that lack responses, so many that pass@4 is undefined, of families, of too few families, and all at once."""
    made = {}
    for name in NAMES:
        made[name] = replayed(lambda index: (index * 3) % 5, name=name.replace(" ", "-"), limit=12, pass_k=(1, 2, 4))
    lose(made["lost"], lambda place, sample: place % 3 == 0 and sample > place % 2)
    lose(made["silent"], lambda place, sample: place < 2)
    lose(made["too few"], lambda place, sample: place < 7 and sample == 3)
    families(made["families"], 6)
    families(made["contests"], 3)
    families(made["all at once"], 7)
    lose(made["all at once"], lambda place, sample: place % 4 == 1 and sample in (1, 3))
    return made


def shown_by_viewer(folder, tmp_path):
    """The words of the run's page in the exported site."""
    site = tmp_path / "site"
    assert main(["view", str(folder), "--export", str(site)]) == 0
    pages = [file for file in site.rglob("index.html") if "part-figures" in file.read_text()]
    page = pages[0].read_text()
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))


@pytest.mark.parametrize("name", NAMES)
def test_report_when_a_run_is_odd_then_six_surfaces_agree_on_figures_and_caveats(odd, name, tmp_path, capsys):
    folder = odd[name].path
    shown = {}
    for form in FORMS:
        assert main(["report", str(folder), "--format", form]) == 0
        shown[form] = capsys.readouterr().out
    shown["viewer"] = shown_by_viewer(folder, tmp_path)
    summary = json.loads(shown["json"])["runs"][0]
    row = next(csv.DictReader(io.StringIO(shown["csv"])))
    figures = {"accuracy": summary["accuracy"], "truncation": summary["truncation"]}
    figures |= {f"pass@{k}": each for k, each in summary["pass_at_k"].items()}
    assert [name for name, each in figures.items() if each["value"] is None] == ["pass@4"] * (name == "too few")
    for figure, each in figures.items():
        if each["value"] is None:  # five of twelve problems have four samples
            assert "pass@4 is undefined" in " ".join(summary["warnings"])
            assert (row[figure], row[f"{figure}_low"]) == ("", "")
            assert float(row[f"{figure}_lowest"]) == each["lowest"]
            assert all("undefined" in shown[form] for form in ("table", "markdown", "viewer"))
            continue
        value, low, high = (100 * each[part] for part in ("value", "low", "high"))
        assert [float(row[figure]), float(row[f"{figure}_low"])] == [each["value"], each["low"]]
        assert f"{value:.1f} [{low:.1f}, {high:.1f}]" in shown["markdown"]
        assert plus_minus(Estimate(each["value"], each["low"], each["high"])) in shown["latex"]
        if figure != "truncation":  # a screen has the rates of verdicts that occurred
            assert f"{value:.1f} %  95 % interval {low:.1f} to {high:.1f}" in shown["table"]
        if figure not in ("truncation", "pass@1"):  # pass@1 is accuracy by another name
            assert f"{low:.1f} to {high:.1f}" in shown["viewer"]
        assert f"{value:.1f}" in shown["viewer"]
    assert bool(summary.get("warnings")) == (name != "whole")
    for note in summary.get("warnings", []):
        plain = re.sub(r"\s+", " ", note)
        assert all(plain in re.sub(r"\s+", " ", text.replace('""', '"')) for text in shown.values()), note
    assert (summary.get("cluster") == "cluster") == (name in ("families", "all at once"))
