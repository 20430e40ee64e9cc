"""The calls that Weights & Biases and Trackio share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markscheme.runs.folder import Run
from markscheme.tracking import Tracker, identity, title


class WandbCalls(Tracker):
    """A client's module and its run."""

    def __init__(self, client: Any, begun: Any, run: Run) -> None:
        self._client, self._run = client, begun
        self._name = f"{title(run)}-{identity(run)[:6]}"
        self._axis = "responses_there" if run.manifest.config.step is None else "training_step"

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Log the step as a figure: the client's own steps must grow, also when a run is pushed again."""
        self._run.log({**figures, self._axis: step})

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        table = self._client.Table(columns=list(columns), data=[list(row) for row in rows], allow_mixed_types=True)
        self._run.log({"responses": table})

    def artefact(self, folder: Path) -> None:
        """Log a version of an artefact with the run's name."""
        artefact = self._client.Artifact(self._name, type="markscheme-run")
        artefact.add_dir(str(folder))
        self._run.log_artifact(artefact)

    def close(self) -> None:
        self._run.finish()
