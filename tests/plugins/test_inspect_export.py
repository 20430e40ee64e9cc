"""A run as an Inspect log: read back by Inspect itself, and by our own import."""

import json
import subprocess
import sys

import msgspec
import pytest

import markscheme as ms
from markscheme.cli import main
from markscheme.runs.folder import Run
from markscheme.runs.journal import Journal

pytestmark = pytest.mark.needs("inspect_ai")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with several verdicts, thinking in one response, and an error in place of another."""
    out = tmp_path_factory.mktemp("runs") / "nano"
    made = ms.run("countdown-sample", model="nano", samples=2, pass_k=(1, 2), limit=6, out=out, progress=False)
    first, second, *_ = made.responses()
    thinking = msgspec.structs.replace(first, reasoning="let me see", reasoning_tokens=3)
    failed = msgspec.structs.replace(second, text="", error="server gone", error_kind="server")
    lines = [thinking if one == first else failed if one == second else one for one in made.responses()]
    (out / "responses.jsonl").unlink()
    with Journal(out / "responses.jsonl") as journal:
        journal.write(lines)
    return ms.load(out)


@pytest.fixture(scope="module")
def log(run, tmp_path_factory):
    file = tmp_path_factory.mktemp("logs") / "nano.eval"
    assert main(["export", str(run.path), "-o", str(file)]) == 0
    return file


def test_log_when_inspect_reads_it_then_every_sample_has_what_the_run_has(run, log):
    from inspect_ai.log import read_eval_log

    read = read_eval_log(str(log))
    assert (read.eval.task, read.eval.model, read.eval.config.epochs) == ("countdown-sample", "nano", 2)
    assert read.eval.dataset.samples == 6
    assert read.eval.model_generate_config.temperature == 0.8
    by_place = {(str(sample.id), sample.epoch): sample for sample in read.samples}
    assert len(by_place) == len(run) == 12
    for answer in run.answers():
        sample = by_place[answer.problem.id, answer.response.sample + 1]
        if answer.response.error is not None:
            assert sample.error.message == "server gone"
            assert not sample.scores
            continue
        score = sample.scores["countdown"]
        assert sample.output.completion == answer.response.text
        assert (score.value == "C") == answer.mark.correct
        assert (score.answer, score.metadata["verdict"]) == (answer.mark.answer, answer.mark.verdict)
        usage = sample.model_usage["nano"]
        assert (usage.input_tokens, usage.output_tokens) == (
            answer.response.prompt_tokens, answer.response.completion_tokens,
        )  # fmt: skip
        assert [message.role for message in sample.messages] == ["user", "assistant"]
        assert answer.problem.statement in sample.input
        assert sample.metadata["key"] == answer.problem.key


def test_log_when_inspect_reads_its_header_then_the_figures_are_the_reports(run, log):
    from inspect_ai.log import read_eval_log

    header = read_eval_log(str(log), header_only=True)
    (score,) = header.results.scores
    accuracy = run.summary.accuracy
    assert (score.name, score.scorer) == ("countdown", run.manifest.protocol)
    assert score.metrics["accuracy"].value == pytest.approx(accuracy.value)
    assert score.metrics["accuracy, low"].value == pytest.approx(accuracy.low)
    assert score.metrics["accuracy, high"].value == pytest.approx(accuracy.high)
    assert "pass@2" in score.metrics
    assert (header.results.total_samples, header.results.completed_samples) == (12, 11)
    used = header.stats.model_usage["nano"]
    answered = [one for one in run.responses() if one.error is None]
    assert used.output_tokens >= sum(one.completion_tokens for one in answered)


def test_log_when_imported_again_then_the_same_responses_and_verdicts(run, log, tmp_path):
    main(["import", str(log), "--out", str(tmp_path / "back"), "--json"])
    back = Run.open(tmp_path / "back")
    assert main(["verify", str(tmp_path / "back")]) == 0

    def told(one):
        return {(each.key, each.sample): (each.text, each.reasoning, each.error) for each in one.responses()}

    def verdicts(one):
        return {(mark.key, mark.sample): mark.verdict for mark in one.marks("countdown")}

    assert told(back) == told(run)
    assert (
        verdicts(back).items()
        >= {place: verdict for place, verdict in verdicts(run).items() if told(run)[place][2] is None}.items()
    )


def test_log_when_inspect_view_bundles_it_then_it_is_listed(run, tmp_path):
    assert main(["export", str(run.path), "-o", str(tmp_path / "logs")]) == 0
    command = ["view", "bundle", "--log-dir", str(tmp_path / "logs"), "--output-dir", str(tmp_path / "site")]
    inspect = [sys.executable, "-c", "from inspect_ai._cli.main import main; main()", *command]
    subprocess.run(inspect, check=True, capture_output=True)
    (listing,) = (tmp_path / "site").rglob("listing.json")
    (entry,) = json.loads(listing.read_text()).values()
    assert (entry["status"], entry["task"], entry["model"]) == ("success", "countdown-sample", "nano")
    assert entry["primary_metric"]["value"] == pytest.approx(run.accuracy)


def test_export_when_several_runs_shall_be_one_file_then_a_sentence(run, tmp_path, capsys):
    again = ms.run("countdown-sample", model="solver", limit=1, out=tmp_path / "solver", progress=False)
    assert main(["export", str(run.path), str(again.path), "-o", str(tmp_path / "one.eval")]) == 2
    assert "name a folder with --output" in capsys.readouterr().err
