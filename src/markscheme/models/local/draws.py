"""How a token is drawn: from the row's own seed, so that no neighbour changes a sample.

`nano` draws in numpy by the same rule and from the same numbers, so the same weights give the same text in both.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from markscheme.types import Sampling

# Below this temperature the likeliest token has all the chances, and dividing by it leaves the range of floats.
COLDEST = 1e-6

# Tokens among which the nucleus of `top_p` nearly always lies: finding them is cheaper than sorting a vocabulary.
LIKELY = 256


def luck_of(seed: int, steps: int) -> npt.NDArray[np.float32]:
    """The numbers in [0, 1) that decide each token of a sample."""
    return np.random.default_rng(seed).random(steps, dtype=np.float32)


def choose(logits: torch.Tensor, luck: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """One token a row: the likeliest at temperature 0, else drawn from the (truncated) distribution by `luck`."""
    temperature = sampling.temperature or 0.0
    if temperature < COLDEST:
        return logits.argmax(dim=-1)
    scores = logits.float()
    if sampling.top_k and sampling.top_k < scores.shape[-1]:
        least = scores.topk(sampling.top_k).values[:, -1:]
        scores = scores.masked_fill(scores < least, -torch.inf)
    chances = ((scores - scores.amax(dim=-1, keepdim=True)) / temperature).exp_()
    if sampling.top_p is not None and sampling.top_p < 1:
        chances.masked_fill_(chances < _least_of_nucleus(chances, sampling.top_p), 0)
    # In double precision: a sum over a vocabulary in single would move the borders between unlikely tokens.
    total = chances.cumsum(dim=-1, dtype=torch.float64)
    return torch.searchsorted(total, luck[:, None] * total[:, -1:], right=True).squeeze(-1)


def _least_of_nucleus(chances: torch.Tensor, top_p: float) -> torch.Tensor:
    """The smallest chance that still counts: the first token that reaches p does, everything less likely does not."""
    enough = top_p * chances.sum(dim=-1, keepdim=True)
    for number in (min(LIKELY, chances.shape[-1]), chances.shape[-1]):
        ranked = chances.topk(number).values
        sums = ranked.cumsum(dim=-1)
        if bool((sums[:, -1:] >= enough).all()):
            break
    reached = (sums < enough).sum(dim=-1, keepdim=True).clamp_(max=ranked.shape[-1] - 1)
    return ranked.gather(-1, reached)
