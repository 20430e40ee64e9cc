"""TensorBoard event files, below `TENSORBOARD_LOGDIR` or in `runs.tensorboard` next to the run folders."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import time
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.plugins.text.metadata import create_summary_metadata
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from markscheme.runs.folder import Run
from markscheme.tracking import Tracker, identity, logged_options, title

SHOWN = 100  # responses in the text tab, which has no pages


class TensorboardTracker(Tracker):
    """One folder of events per run. TensorBoard has no artefacts, so it gets the path of the run folder."""

    def __init__(self, run: Run) -> None:
        home = Path(os.environ.get("TENSORBOARD_LOGDIR", f"{run.path.parent}.tensorboard"))
        self._writer = EventFileWriter(str(home / f"{title(run)}-{identity(run)[:6]}"))
        self._text("options", "\n".join(f"    {name}: {value}" for name, value in logged_options(run).items()))
        self._step = 0

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        self._step = step
        values = [Summary.Value(tag=name, simple_value=float(value)) for name, value in figures.items()]
        self._add(Summary(value=values), step)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        for number, row in enumerate(rows[:SHOWN]):
            said = json.dumps(dict(zip(columns, row, strict=True)), indent=2, ensure_ascii=False)
            self._text("responses", "\n".join(f"    {line}" for line in said.splitlines()), number)

    def artefact(self, folder: Path) -> None:
        self._text("run folder", str(folder.absolute()))

    def close(self) -> None:
        self._writer.close()

    def _text(self, tag: str, text: str, step: int = 0) -> None:
        content = TensorProto(dtype=DT_STRING, string_val=[text.encode()])
        metadata = create_summary_metadata(display_name=tag, description="")
        self._add(Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=content)]), step)

    def _add(self, summary: Summary, step: int) -> None:
        self._writer.add_event(Event(wall_time=time(), step=step, summary=summary))


create = TensorboardTracker
