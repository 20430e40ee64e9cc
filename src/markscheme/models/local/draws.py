"""Sample a token from the row's own seed, so that other rows never change a sample.

`nano` samples in numpy by the same rule and from the same numbers, so the same weights give the same text in both.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from markscheme.types import Sampling

# Below this temperature the likeliest token has all the probability, and dividing by it would overflow.
COLDEST = 1e-6

# Tokens that nearly always contain the nucleus of `top_p`: selecting them is cheaper than sorting a vocabulary.
LIKELY = 256


def uniforms_of(seed: int, steps: int) -> npt.NDArray[np.float32]:
    """Return the uniform numbers in [0, 1) that decide each token of a sample."""
    return np.random.default_rng(seed).random(steps, dtype=np.float32)


def choose(logits: torch.Tensor, uniforms: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Choose one token per row: the likeliest at temperature 0, else sampled from the (truncated) distribution."""
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
    # Double precision: in single precision, a sum over a vocabulary would shift the borders between unlikely tokens.
    total = chances.cumsum(dim=-1, dtype=torch.float64)
    return torch.searchsorted(total, uniforms[:, None] * total[:, -1:], right=True).squeeze(-1)


def _least_of_nucleus(chances: torch.Tensor, top_p: float) -> torch.Tensor:
    """Return the smallest probability in the nucleus: that of the first token at which the cumulative sum reaches p."""
    enough = top_p * chances.sum(dim=-1, keepdim=True)
    for number in (min(LIKELY, chances.shape[-1]), chances.shape[-1]):
        ranked = chances.topk(number).values
        sums = ranked.cumsum(dim=-1)
        if bool((sums[:, -1:] >= enough).all()):
            break
    reached = (sums < enough).sum(dim=-1, keepdim=True).clamp_(max=ranked.shape[-1] - 1)
    return ranked.gather(-1, reached)
