"""The protocols as reward functions for reinforcement learning: the same marker in training as in evaluation.

TRL: `reward` (the protocol from the data), `reward_for("gsm8k-numeric")`, or an attribute such as
`rewards.gsm8k_numeric`. verl: `compute_score` and `compute_score_batch`. Anything else: `score`, `score_batch`,
`outcomes`. No state, no signals, no main thread needed: safe in threads, asyncio, fork and spawn. Never raises on bad
input.
"""

from __future__ import annotations

from typing import Any

from markscheme.marking.protocol import protocol_names
from markscheme.rewards.scoring import Outcome, outcomes, reward_of, score, score_batch, text_of
from markscheme.rewards.strict import FORMS, LEVELS
from markscheme.rewards.trl import GOLD_COLUMNS, Reward, reward, reward_for
from markscheme.rewards.verl import DATA_SOURCES, compute_score, compute_score_batch, validation_metrics

__all__ = [
    "DATA_SOURCES",
    "FORMS",
    "GOLD_COLUMNS",
    "LEVELS",
    "Outcome",
    "Reward",
    "compute_score",
    "compute_score_batch",
    "outcomes",
    "reward",
    "reward_for",
    "reward_of",
    "score",
    "score_batch",
    "text_of",
    "validation_metrics",
]


def __getattr__(name: str) -> Any:
    """Return the TRL reward function of a protocol: `rewards.gsm8k_numeric` for `gsm8k-numeric`."""
    protocol = name.replace("_", "-")
    if name.startswith("_") or protocol not in protocol_names():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return reward_for(protocol)
