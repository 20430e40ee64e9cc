"""A Llama-shaped decoder in numpy: loads the Hugging Face weights and samples from them in batches, with a KV cache.

It is here so that the first command shows a real model on a machine without torch. It knows rotary positions, RMS
norms, SwiGLU and tied embeddings, which is what our weights need, and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

FULL_ENOUGH = 0.8
"""Share of a batch that must still be going on. Finished rows leave it together: each time, the cache is copied."""

COLDEST = 1e-6
"""Below this temperature the likeliest token has all the chances, and dividing by it leaves the range of floats."""

Floats = npt.NDArray[np.floating[Any]]
"""float32 throughout; numpy's own annotations lose that on the way."""
Tokens = npt.NDArray[np.integer[Any]]


class Transformer:
    """The weights, ready to run. Everything is float32, whatever the file holds."""

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file

        config = json.loads((folder / "config.json").read_text())
        weights = {name: array.astype(np.float32) for name, array in load_file(folder / "model.safetensors").items()}
        self.heads: int = config["num_attention_heads"]
        self.width: int = config["hidden_size"] // self.heads
        self.longest: int = config["max_position_embeddings"]
        self._epsilon: float = config["rms_norm_eps"]
        self._embedding = weights["model.embed_tokens.weight"]
        self._norm = weights["model.norm.weight"]
        self._layers = [_Layer(weights, f"model.layers.{number}.") for number in range(config["num_hidden_layers"])]
        rotary = config.get("rope_parameters") or {}
        theta = float(rotary.get("rope_theta") or config.get("rope_theta") or 10_000.0)
        frequency = theta ** (-np.arange(0, self.width, 2) / self.width)
        angles = np.outer(np.arange(self.longest), frequency)
        self._cos = np.concatenate([np.cos(angles)] * 2, axis=1).astype(np.float32)
        self._sin = np.concatenate([np.sin(angles)] * 2, axis=1).astype(np.float32)

    def new_cache(self, rows: int, length: int) -> Cache:
        """Room for the keys and values of `rows` sequences of up to `length` tokens."""
        return Cache(len(self._layers), rows, self.heads, min(length, self.longest), self.width)

    def forward(self, tokens: Tokens, cache: Cache) -> Floats:
        """Logits behind each of `tokens` (rows × new tokens), which follow what the cache holds; extends the cache."""
        rows, new = tokens.shape
        start, end = cache.length, cache.length + new
        cos, sin = self._cos[start:end], self._sin[start:end]
        # A new token sees everything before it and itself, nothing behind it.
        hidden = np.triu(np.full((new, new), -np.inf, dtype=np.float32), 1) if new > 1 else None
        # One row a token: a product of two matrices, where numpy takes three axes for one product a sequence.
        x: Floats = self._embedding[tokens.reshape(-1)]
        for layer, keys, values in zip(self._layers, cache.keys, cache.values, strict=True):
            normed = _rms_norm(x, layer.attention_norm, self._epsilon)
            query, key, value = (
                (normed @ layer.qkv).reshape(rows, new, 3, self.heads, self.width).transpose(2, 0, 3, 1, 4)
            )
            keys[:, :, start:end] = _rotate(key, cos, sin)
            values[:, :, start:end] = value
            scores = _rotate(query, cos, sin) @ keys[:, :, :end].transpose(0, 1, 3, 2) / np.float32(np.sqrt(self.width))
            if hidden is not None:
                scores[..., start:] += hidden
            mixed = _softmax(scores) @ values[:, :, :end]
            x = x + mixed.transpose(0, 2, 1, 3).reshape(rows * new, -1) @ layer.output
            normed = _rms_norm(x, layer.mlp_norm, self._epsilon)
            gate, up = np.split(normed @ layer.gate_up, 2, axis=-1)
            x = x + (gate / (1 + np.exp(-gate)) * up) @ layer.down
        cache.length = end
        logits: Floats = _rms_norm(x, self._norm, self._epsilon) @ self._embedding.T
        return logits.reshape(rows, new, -1)


class _Layer:
    """The matrices of one layer, transposed and joined so that one product does the work of three."""

    def __init__(self, weights: dict[str, Any], prefix: str) -> None:
        def matrix(*names: str) -> Floats:
            joined = np.concatenate([weights[f"{prefix}{name}.weight"] for name in names])
            return np.ascontiguousarray(joined.T)

        self.qkv = matrix("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
        self.output = matrix("self_attn.o_proj")
        self.gate_up = matrix("mlp.gate_proj", "mlp.up_proj")
        self.down = matrix("mlp.down_proj")
        self.attention_norm: Floats = weights[f"{prefix}input_layernorm.weight"]
        self.mlp_norm: Floats = weights[f"{prefix}post_attention_layernorm.weight"]


class Cache:
    """Keys and values of the tokens so far, for a batch of sequences of equal length."""

    def __init__(self, layers: int, rows: int, heads: int, length: int, width: int) -> None:
        self.keys = [np.empty((rows, heads, length, width), dtype=np.float32) for _ in range(layers)]
        self.values = [np.empty((rows, heads, length, width), dtype=np.float32) for _ in range(layers)]
        self.length = 0

    def keep(self, rows: npt.NDArray[np.intp]) -> None:
        """Go on with these rows only, or (repeated indices) with copies of them."""
        for arrays in (self.keys, self.values):
            for layer, old in enumerate(arrays):
                new = np.empty((len(rows), *old.shape[1:]), dtype=np.float32)
                new[:, :, : self.length] = old[:, :, : self.length][rows]  # what lies behind is not written yet
                arrays[layer] = new


def generate(
    model: Transformer,
    prompts: Sequence[Sequence[int]],
    luck: Floats,
    *,
    end: int,
    temperature: float,
    top_k: int | None = None,
    top_p: float | None = None,
    given_up: Callable[[], bool] = lambda: False,
) -> list[list[int]]:
    """Continue each prompt until `end` or as many tokens as `luck` has columns.

    `luck[row, step]` in [0, 1) decides each draw, so a sample depends on its own seed and not on its neighbours.
    All prompts must have the same length. A continuation without `end` as its last token was cut off. `given_up` is asked
    at every token whether anybody still waits.
    """
    steps = min(luck.shape[1], model.longest - len(prompts[0]))
    # Samples of one puzzle share their prompt: it is read once and its cache copied.
    distinct = list(dict.fromkeys(map(tuple, prompts)))
    place = {prompt: index for index, prompt in enumerate(distinct)}
    cache = model.new_cache(len(distinct), len(prompts[0]) + steps)
    logits = model.forward(np.array(distinct, dtype=np.int64), cache)[:, -1]
    copies = np.array([place[tuple(prompt)] for prompt in prompts])
    cache.keep(copies)
    logits = logits[copies]

    written: list[list[int]] = [[] for _ in prompts]
    rows = np.arange(len(prompts))  # the continuation that each row of the batch belongs to
    going = np.ones(len(rows), dtype=bool)
    for step in range(steps):
        chosen = choose(logits, luck[rows, step], temperature, top_k, top_p)
        for row, token in zip(rows[going].tolist(), chosen[going].tolist(), strict=True):
            written[row].append(token)
        going &= chosen != end
        if not going.any() or step == steps - 1 or given_up():
            break
        if going.mean() < FULL_ENOUGH:
            left = np.flatnonzero(going)
            rows, chosen, going = rows[left], chosen[left], going[left]
            cache.keep(left)
        logits = model.forward(chosen[:, None], cache)[:, -1]
    return written


def choose(
    logits: Floats, luck: Floats, temperature: float, top_k: int | None = None, top_p: float | None = None
) -> Tokens:
    """One token a row: the likeliest at temperature 0, else drawn from the (truncated) distribution by `luck`."""
    if temperature < COLDEST:
        likeliest: Tokens = logits.argmax(axis=1)
        return likeliest
    chances = np.exp((logits - logits.max(axis=1, keepdims=True)) / np.float32(temperature))
    if top_k is not None and top_k < chances.shape[1]:
        # Ranked before the division: it may round two neighbouring logits to one chance, and both would be let in.
        least = np.partition(logits, -top_k, axis=1)[:, -top_k, None]
        chances = np.where(logits >= least, chances, 0)
    if top_p is not None:
        ranked = -np.sort(-chances, axis=1)
        total = np.cumsum(ranked, axis=1)
        # The first token that reaches p still counts; everything less likely than it does not.
        reached = (total < top_p * total[:, -1:]).sum(axis=1)
        least = ranked[np.arange(len(ranked)), reached][:, None]
        chances = np.where(chances >= least, chances, 0)
    total = np.cumsum(chances, axis=1)
    drawn: Tokens = (total <= luck[:, None] * total[:, -1:]).sum(axis=1)
    # Rounding may leave the draw behind the last token that has a chance at all.
    last: Tokens = chances.shape[1] - 1 - (chances[:, ::-1] > 0).argmax(axis=1)
    return np.minimum(drawn, last)


def _rms_norm(x: Floats, weight: Floats, epsilon: float) -> Floats:
    normed: Floats = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(epsilon)) * weight
    return normed


def _rotate(x: Floats, cos: Floats, sin: Floats) -> Floats:
    half = x.shape[-1] // 2
    turned = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    rotated: Floats = x * cos + turned * sin
    return rotated


def _softmax(scores: Floats) -> Floats:
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    normed: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return normed
