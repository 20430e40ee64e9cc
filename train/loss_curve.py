"""Draws the loss of a training: `python train/loss_curve.py train/nano-loss.jsonl docs/images/nano-loss.svg`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt


def draw(log: Path, image: Path) -> None:
    """Loss against steps, one panel a stage; logarithmic, since skills are learned in steps one looks for."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    stages = list(dict.fromkeys(line["stage"] for line in lines))
    figure, panels = plt.subplots(
        1, len(stages), figsize=(7, 3), width_ratios=[2, 1], sharey=True, layout="constrained"
    )
    for axes, stage in zip(panels, stages, strict=True):
        rows = [line for line in lines if line["stage"] == stage]
        axes.semilogy([row["step"] for row in rows], [row["loss"] for row in rows], color="#3b6fb6", linewidth=1.5)
        axes.set(xlabel=f"step of the {stage} stage")
        axes.grid(visible=True, which="both", alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set(ylabel="loss per token (nats)")
    figure.savefig(image, metadata={"Date": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
