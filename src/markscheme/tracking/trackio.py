"""Trackio, which has the interface of Weights & Biases. `TRACKIO_DIR` and `TRACKIO_SPACE_ID` set the destination."""

from __future__ import annotations

import os

import trackio

from markscheme.runs.folder import Run
from markscheme.tracking import PROJECT, identity, logged_options, title
from markscheme.tracking.wandb_calls import WandbCalls


def create(run: Run) -> WandbCalls:
    """Start or continue the run of this name."""
    begun = trackio.init(
        project=os.environ.get("TRACKIO_PROJECT", PROJECT),
        name=f"{title(run)}-{identity(run)[:6]}",
        resume="allow",
        config=logged_options(run),
        embed=False,
    )
    return WandbCalls(trackio, begun, run)
