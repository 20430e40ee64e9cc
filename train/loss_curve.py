"""Draws the loss of a training: `python train/loss_curve.py train/nano-loss.jsonl docs/images/nano-loss.svg`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt


def draw(log: Path, image: Path) -> None:
    """Loss against steps, both logarithmic: the plateaus before a skill is learned are what one looks for."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    axes.loglog([line["step"] + 1 for line in lines], [line["loss"] for line in lines], color="#3b6fb6", linewidth=1.5)
    axes.set(xlabel="training step", ylabel="cross-entropy per token (nats)")
    axes.grid(visible=True, which="both", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(image, metadata={"Date": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
