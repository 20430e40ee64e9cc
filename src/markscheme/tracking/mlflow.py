"""MLflow. `MLFLOW_TRACKING_URI` and `MLFLOW_EXPERIMENT_NAME` set the destination."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import mlflow

from markscheme.runs.folder import Run
from markscheme.tracking import PROJECT, Tracker, identity, logged_options, title

TAG = "markscheme.run"


class MlflowTracker(Tracker):
    """A run of an MLflow experiment, found again by its tag."""

    def __init__(self, run: Run) -> None:
        self._client = mlflow.MlflowClient()
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
        experiment = self._client.get_experiment_by_name(name)
        home = experiment.experiment_id if experiment is not None else self._client.create_experiment(name)
        earlier = self._client.search_runs([home], f"tags.`{TAG}` = '{identity(run)}'")
        self._id = (earlier[0] if earlier else self._begin(home, run)).info.run_id

    def _begin(self, experiment: str, run: Run) -> Any:
        tags = {TAG: identity(run), "benchmark": run.manifest.benchmark, "model": run.manifest.model}
        begun = self._client.create_run(experiment, run_name=title(run), tags=tags)
        for name, value in logged_options(run).items():
            self._client.log_param(begun.info.run_id, _allowed(name), str(value)[:500])  # longer ones are refused
        return begun

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        for name, value in figures.items():
            self._client.log_metric(self._id, _allowed(name), float(value), step=step)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        # The same as `log_table`, which would append to an earlier table instead of replacing it.
        content = {"columns": list(columns), "data": [list(row) for row in rows]}
        self._client.log_dict(self._id, content, "responses.json")
        made = '[{"path": "responses.json", "type": "table"}]'
        self._client.set_tag(self._id, "mlflow.loggedArtifacts", made)

    def artefact(self, folder: Path) -> None:
        self._client.log_artifacts(self._id, str(folder), "run")

    def close(self) -> None:
        self._client.set_terminated(self._id)


def _allowed(name: str) -> str:
    """Replace characters that MLflow does not allow in names."""
    return "".join(sign if sign.isalnum() or sign in "_-./ " else "_" for sign in name)


create = MlflowTracker
