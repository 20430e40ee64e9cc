"""Trackers are told by their real clients, offline, and read back with their own readers."""

import importlib
import json
import os
import struct
import threading

import pytest
from kept_runs import wait_until

import markscheme as ms
from markscheme.cli import main
from markscheme.errors import UsageError
from markscheme.running.live import Live
from markscheme.tracking import COLUMNS, TRACKERS, final_figures, identity, live
from markscheme.tracking.live import Tracked, live_figures


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with right and wrong answers."""
    out = tmp_path_factory.mktemp("runs") / "nano"
    return ms.run("countdown-sample", model="nano", samples=2, pass_k=(1, 2), limit=6, out=out, progress=False)


@pytest.fixture(autouse=True)
def offline(tmp_path, monkeypatch):
    """Every client writes into this folder (Trackio into that of conftest.py) and asks nobody."""
    monkeypatch.chdir(tmp_path)
    settings = {
        "WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_DIR": str(tmp_path),
        "MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_TRACKING_URI": f"file://{tmp_path}/mlruns",
        "TENSORBOARD_LOGDIR": str(tmp_path / "events"),
    }  # fmt: skip
    for name, value in settings.items():
        monkeypatch.setenv(name, value)


def log_records(content):
    """The records of a file in the format of LevelDB's log, which the client writes behind a header of seven bytes."""
    place, record = 7, b""
    while place + 7 <= len(content):
        if 32768 - place % 32768 < 7:  # no room for a header: the block is filled up
            place += 32768 - place % 32768
            continue
        length, kind = struct.unpack_from("<HB", content, place + 4)
        record += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield record
            record = b""


def wandb_records(folder):
    """What the client wrote down: figures by name, files of artefacts, options; decoded with its own protocol."""
    protocol = importlib.import_module("wandb.proto.wandb_internal_pb2")
    figures, packed, config, records = {}, set(), {}, []

    def ended():  # a process of the client's own does the writing
        records.clear()
        for file in sorted(folder.glob("wandb/offline-run-*/*.wandb")):
            records.extend(map(protocol.Record.FromString, log_records(file.read_bytes())))
        return any(record.HasField("exit") for record in records)

    wait_until(ended)
    for record in records:
        history = record.history.item
        figures |= {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in history}
        packed |= {entry.path for entry in record.artifact.manifest.contents}
        config |= {item.key: json.loads(item.value_json) for item in record.run.config.update}
    return figures, packed, config


@pytest.mark.needs("wandb")
def test_wandb_when_a_run_is_pushed_then_figures_table_and_artefact_are_there(run, tmp_path, monkeypatch):
    # The client looks at the command line by itself, where no gate of ours stands before it.
    monkeypatch.setattr("sys.argv", ["markscheme", "run", "--extra-field", "note=sk-typed-on-the-command-line"])
    assert main(["push", str(run.path), "--to", "wandb"]) == 0
    figures, packed, config = wandb_records(tmp_path)
    accuracy = run.summary.accuracy
    assert (figures["accuracy"], figures["accuracy_low"], figures["accuracy_high"]) == pytest.approx(
        (accuracy.value, accuracy.low, accuracy.high)
    )
    assert figures["pass_at_2"] == pytest.approx(run.summary.pass_at_k["2"].value)
    assert config["benchmark"] == "countdown-sample"
    assert config["protocol"] == run.manifest.protocol
    written = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert not any(b"typed-on-the-command-line" in content for content in written)
    table = next(tmp_path.glob("wandb/offline-run-*/files/media/table/*.json"))
    content = json.loads(table.read_text())
    assert content["columns"] == list(COLUMNS)
    texts = {response.text for response in run.responses()}
    assert {row[COLUMNS.index("text")] for row in content["data"]} == texts
    assert {"manifest.json", "responses.jsonl", "marks/countdown.jsonl"} <= packed


@pytest.mark.needs("mlflow")
def test_mlflow_when_a_run_is_pushed_twice_then_it_is_there_once_with_everything(run, tmp_path):
    import mlflow

    run.push("mlflow")
    run.push("mlflow")
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("markscheme")
    (told,) = client.search_runs([experiment.experiment_id])
    metrics = told.data.metrics
    assert metrics["accuracy"] == pytest.approx(run.accuracy)
    assert metrics["accuracy_low"] <= metrics["accuracy"] <= metrics["accuracy_high"]
    assert metrics["verdicts/correct"] == run.summary.verdicts["correct"]
    assert told.data.params["model"] == "nano"
    assert told.info.status == "FINISHED"
    kept = {file.path for file in client.list_artifacts(told.info.run_id, "run")}
    assert {"run/manifest.json", "run/responses.jsonl", "run/marks"} <= kept
    table = client.load_table(experiment.experiment_id, "responses.json", [told.info.run_id])
    assert len(table) == len(run)
    assert set(table["verdict"]) == set(run.summary.verdicts)


@pytest.mark.needs("tensorboard")
def test_tensorboard_when_a_run_is_pushed_then_its_own_reader_finds_figures_and_responses(run, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run.push("tensorboard")
    (folder,) = (tmp_path / "events").iterdir()
    events = EventAccumulator(str(folder))
    events.Reload()
    (scalar,) = events.Scalars("accuracy")
    assert scalar.value == pytest.approx(run.accuracy)
    assert scalar.step == len(run)
    shown = [event.tensor_proto.string_val[0].decode() for event in events.Tensors("responses")]
    assert len(shown) == min(len(run), 10)  # as many as TensorBoard keeps of a text
    assert all("problem_id" in text for text in shown)


@pytest.mark.needs("trackio")
def test_trackio_when_a_run_is_pushed_then_its_own_reader_finds_the_figures(run):
    import trackio

    run.push("trackio")
    from trackio.sqlite_storage import SQLiteStorage

    (told,) = trackio.Api().runs("markscheme")
    assert told.name.startswith("nano-")
    assert told.config["protocol"] == run.manifest.protocol
    logged = SQLiteStorage.get_logs("markscheme", told.name)
    assert [entry["accuracy"] for entry in logged if "accuracy" in entry] == [pytest.approx(run.accuracy)]
    assert any("responses" in entry for entry in logged)
    assert SQLiteStorage.get_run_artifacts("markscheme", told.name, told.id)


@pytest.mark.needs("tensorboard")
def test_run_when_it_is_tracked_then_there_are_points_while_it_goes_on(tmp_path, monkeypatch):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    monkeypatch.setattr(live, "EVERY", 0.01)
    told = ms.run("countdown-sample", model="nano", samples=4, limit=24, out="tracked", track="tensorboard")
    (folder,) = (tmp_path / "events").iterdir()
    events = EventAccumulator(str(folder))
    events.Reload()
    steps = [point.step for point in events.Scalars("live/done")]
    assert steps == sorted(steps)
    assert steps[0] < len(told)
    assert events.Scalars("accuracy")[-1].value == pytest.approx(told.accuracy)


@pytest.mark.needs("mlflow")
def test_run_when_it_is_tracked_then_the_folder_that_is_told_holds_its_report():
    import mlflow

    ms.run("countdown-sample", model="solver", limit=2, out="tracked", progress=False, track="mlflow")
    client = mlflow.MlflowClient()
    (told,) = client.search_runs([client.get_experiment_by_name("markscheme").experiment_id])
    assert "run/report.json" in {file.path for file in client.list_artifacts(told.info.run_id, "run")}


class Failing:
    """A tracker whose server has gone."""

    def __init__(self, run):
        raise ConnectionError("for zq7Rk2Wx9LmP4vTn8BsY1c the server has gone")


@pytest.mark.needs("tensorboard")
def test_run_when_its_tracker_fails_then_it_goes_on_and_says_how_to_tell_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("markscheme.tracking.tensorboard.create", Failing)
    monkeypatch.setenv("WANDB_API_KEY", "zq7Rk2Wx9LmP4vTn8BsY1c")
    code = main(
        ["run", "countdown-sample", "--model", "solver", "--limit", "3", "--out", "kept", "--track", "tensorboard"]
    )
    assert code == 0
    assert "for *** the server has gone; `markscheme push kept --to tensorboard`" in capsys.readouterr().err
    assert ms.load("kept").manifest.status == "complete"
    assert not [one for one in threading.enumerate() if one.name == "markscheme-tensorboard"]  # it has ended
    assert main(["push", "kept", "--to", "tensorboard"]) == 1
    assert "refused kept: for *** the server has gone" in capsys.readouterr().err


def test_tracker_when_unknown_or_not_installed_then_refused_before_anything_is_asked(tmp_path, monkeypatch, capsys):
    assert main(["run", "countdown-sample", "--model", "solver", "--out", "x", "--track", "neptune"]) == 2
    assert f"there are {', '.join(TRACKERS)}" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()

    def missing(name):
        if name == "markscheme.tracking.wandb":
            raise ModuleNotFoundError("No module named 'wandb'")
        return importlib.import_module(name)

    monkeypatch.setattr("markscheme.errors.import_module", missing)
    with pytest.raises(UsageError, match=r"^wandb cannot be imported .*: pip install 'markscheme\[wandb\]'"):
        ms.run("countdown-sample", model="solver", out="y", track="wandb")
    assert not (tmp_path / "y").exists()


def test_figures_when_told_then_each_has_its_interval_and_nothing_undefined(run):
    figures = final_figures(run.summary)
    assert figures["accuracy_low"] <= figures["accuracy"] <= figures["accuracy_high"]
    assert sum(value for name, value in figures.items() if name.startswith("verdicts/")) == len(run)
    assert all(isinstance(value, int | float) for value in figures.values())


def test_live_figures_when_two_problems_are_scored_then_a_mean_with_bounds():
    now = Live(4)
    assert "live/accuracy" not in live_figures(now)
    now.scored("a", True)
    now.scored("b", False)
    figures = live_figures(now)
    assert figures["live/accuracy_low"] <= figures["live/accuracy"] == 0.5 <= figures["live/accuracy_high"]


def test_identity_when_the_folder_is_moved_then_the_same(run, tmp_path):
    import shutil

    shutil.copytree(run.path, tmp_path / "elsewhere")
    assert identity(ms.load(tmp_path / "elsewhere")) == identity(run)


def test_tracked_when_no_time_has_passed_then_the_display_still_shows(run, monkeypatch):
    from markscheme.running.progress import Quiet

    shown = []
    display = Quiet()
    display.show = shown.append
    Tracked(display, [], run.path).show(Live(1))
    assert len(shown) == 1


@pytest.mark.needs("mlflow", "sqlalchemy", "alembic")
def test_mlflow_when_nothing_is_set_then_its_default_database_takes_the_run(tmp_path, launch):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    out = tmp_path / "run"
    assert launch("run", "countdown-sample", "--model", "solver", "--limit", 2, "--out", out, env=kept).wait(200) == 0
    told = launch("push", out, "--to", "mlflow", env=kept, cwd=tmp_path)
    assert "is in MLflow" in told.communicate(timeout=200)[0]
    assert (tmp_path / "mlflow.db").exists()
