"""`nano`: a transformer of about a million parameters, trained by this project to solve Countdown and nothing else.

It ships with the package so that the first command can show a real model, offline and without torch.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markscheme.nano.transformer import Transformer

WEIGHTS = Path(__file__).parent / "weights"  # a Hugging Face model folder: `hf/` and `transformers serve` load it too


@cache
def load() -> Transformer:
    from markscheme.nano.transformer import Transformer

    return Transformer(WEIGHTS)
