"""`nano`: a transformer of about a million parameters, trained by this project to solve Countdown.

It is in the box so that the first command shows a real model, offline, without torch. It can do nothing else.
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
    """The model, read once a process."""
    from markscheme.nano.transformer import Transformer

    return Transformer(WEIGHTS)
