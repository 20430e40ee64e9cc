"""Weights & Biases. Its client has its own settings: `WANDB_MODE=offline`, `WANDB_PROJECT` …."""

from __future__ import annotations

import os

import wandb

from markscheme.runs.folder import Run
from markscheme.tracking import PROJECT, identity, logged_options, title
from markscheme.tracking.wandb_calls import WandbCalls


def create(run: Run) -> WandbCalls:
    """Start or continue the run of this id."""
    begun = wandb.init(
        project=os.environ.get("WANDB_PROJECT", PROJECT),
        id=identity(run),
        resume="allow",
        name=title(run),
        group=run.manifest.benchmark,
        tags=[run.manifest.benchmark, run.manifest.protocol],
        config=logged_options(run),
        # Else the client sends the command line, which may contain a key (`--extra-field note=$KEY`).
        settings=wandb.Settings(x_disable_meta=True),
    )
    return WandbCalls(wandb, begun, run)
