"""A Llama-style decoder in numpy: loads Hugging Face weights and samples in batches with a KV cache.

It supports only what the weights of `nano` need: rotary positions, RMS norms, SwiGLU and tied embeddings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

BLOCK = 64  # tokens of the vocabulary whose probabilities are summed together in a draw
COLDEST = 1e-6  # below this temperature sampling is greedy: dividing by it would leave the range of floats

Floats = npt.NDArray[np.floating[Any]]  # float32 throughout; numpy's own annotations lose that on the way
Tokens = npt.NDArray[np.integer[Any]]


class Transformer:
    """The weights, ready to run. Everything is converted to float32."""

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file

        config = json.loads((folder / "config.json").read_text())
        weights = {name: array.astype(np.float32) for name, array in load_file(folder / "model.safetensors").items()}
        self.heads: int = config["num_attention_heads"]
        self.width: int = config["hidden_size"] // self.heads
        self.longest: int = config["max_position_embeddings"]
        self._epsilon: float = config["rms_norm_eps"]
        self._embedding = weights["model.embed_tokens.weight"]
        self._unembedding = np.ascontiguousarray((self._embedding * weights["model.norm.weight"]).T)
        self._layers = [
            _Layer(weights, f"model.layers.{number}.", self.width) for number in range(config["num_hidden_layers"])
        ]
        rotary = config.get("rope_parameters") or {}
        theta = float(rotary.get("rope_theta") or config.get("rope_theta") or 10_000.0)
        frequency = theta ** (-np.arange(0, self.width, 2) / self.width)
        self._turns = np.exp(1j * np.outer(np.arange(self.longest), frequency)).astype(np.complex64)

    def new_cache(self, rows: int, length: int) -> Cache:
        """Return a cache for the keys and values of `rows` sequences of up to `length` tokens."""
        return Cache(len(self._layers), rows, self.heads, min(length, self.longest), self.width)

    def forward(self, tokens: Tokens, cache: Cache) -> Floats:
        """Return logits after each of `tokens` (rows × new tokens), which continue the cache, and extend the cache."""
        rows, new = tokens.shape
        start, end = cache.length, cache.length + new
        # One row per token: with three axes numpy would compute one product per sequence.
        x: Floats = self._embedding[tokens.reshape(-1)]
        for layer, keys, values in zip(self._layers, cache.keys, cache.values, strict=True):
            heads = (_rms_norm(x, self._epsilon) @ layer.qkv).reshape(rows, new, 3, self.heads, self.width)
            rotated = heads[:, :, :2].view(np.complex64)
            rotated *= self._turns[start:end, None, None]
            query, keys[:rows, :, start:end], values[:rows, :, start:end] = heads.transpose(2, 0, 3, 1, 4)
            mixed = _attend(query, keys[:rows, :, :end], values[:rows, :, :end])
            x += mixed.transpose(0, 2, 1, 3).reshape(rows * new, -1) @ layer.output
            inner = _rms_norm(x, self._epsilon) @ layer.gate_up
            gate, up = inner[:, : inner.shape[1] // 2], inner[:, inner.shape[1] // 2 :]
            up *= gate
            np.exp(np.negative(gate, out=gate), out=gate)
            gate += 1
            up /= gate
            x += up @ layer.down
        cache.length = end
        logits: Floats = _rms_norm(x, self._epsilon) @ self._unembedding
        return logits.reshape(rows, new, -1)


class _Layer:
    """The matrices of one layer, transposed and joined so that one product replaces three."""

    def __init__(self, weights: dict[str, Any], prefix: str, width: int) -> None:
        def matrix(*names: str, norm: str | None = None) -> Floats:
            joined = np.concatenate([weights[f"{prefix}{name}.weight"] for name in names])
            # Includes the weights of the norm before it.
            return np.ascontiguousarray((joined if norm is None else joined * weights[f"{prefix}{norm}.weight"]).T)

        self.qkv = matrix("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", norm="input_layernorm")
        self.qkv[:, : len(self.qkv)] /= np.float32(np.sqrt(width))  # scales the scores
        # A value of the first half of a head is rotated with one of the second: side by side they are a complex number.
        rotated = self.qkv[:, : 2 * len(self.qkv)].reshape(-1, 2, width // 2)
        self.qkv[:, : 2 * len(self.qkv)] = rotated.swapaxes(1, 2).reshape(len(self.qkv), -1)
        self.output = matrix("self_attn.o_proj")
        self.gate_up = matrix("mlp.gate_proj", "mlp.up_proj", norm="post_attention_layernorm")
        self.down = matrix("mlp.down_proj")


class Cache:
    """Keys and values of the tokens so far for a batch of sequences of equal length."""

    def __init__(self, layers: int, rows: int, heads: int, length: int, width: int) -> None:
        self.keys = [np.empty((rows, heads, length, width), dtype=np.float32) for _ in range(layers)]
        self.values = [np.empty((rows, heads, length, width), dtype=np.float32) for _ in range(layers)]
        self.length = 0

    def copy(self, rows: npt.NDArray[np.intp], length: int) -> Cache:
        """Return a copy of these rows, in this order, with room for `length` tokens."""
        first = self.keys[0]
        new = Cache(len(self.keys), len(rows), first.shape[1], length, first.shape[3])
        new.length = self.length
        for ours, theirs in ((new.keys, self.keys), (new.values, self.values)):
            for to, old in zip(ours, theirs, strict=True):
                to[:, :, : self.length] = old[rows, :, : self.length]
        return new

    def move(self, source: int, target: int) -> None:
        """Overwrite a row with another."""
        for array in (*self.keys, *self.values):
            array[target, :, : self.length] = array[source, :, : self.length]


def generate(
    model: Transformer,
    prompts: Sequence[Sequence[int]],
    uniforms: Floats,
    *,
    end: int,
    temperature: float,
    top_k: int | None = None,
    top_p: float | None = None,
    given_up: Callable[[], bool] = lambda: False,
) -> list[list[int]]:
    """Continue each prompt until `end` or as many tokens as `uniforms` has columns.

    `uniforms[row, step]` in [0, 1) decides each draw, so a sample depends on its own seed and not on its neighbours. All prompts
    must have the same length. A continuation whose last token is not `end` was cut off. Generation stops when `given_up`,
    called at every token, returns True.
    """
    steps = min(uniforms.shape[1], model.longest - len(prompts[0]))
    # Samples of one puzzle share their prompt: it is processed once and its cache copied.
    distinct = list(dict.fromkeys(map(tuple, prompts)))
    place = {prompt: index for index, prompt in enumerate(distinct)}
    read = model.new_cache(len(distinct), len(prompts[0]))
    logits = model.forward(np.array(distinct, dtype=np.int64), read)[:, -1]
    copies = np.array([place[tuple(prompt)] for prompt in prompts])
    cache, logits = read.copy(copies, len(prompts[0]) + steps), logits[copies]

    written: list[list[int]] = [[] for _ in prompts]
    rows = np.arange(len(prompts))  # the continuation that each row of the batch belongs to
    for step in range(steps):
        chosen = choose(logits, uniforms[rows, step], temperature, top_k, top_p)
        for row, token in zip(rows.tolist(), chosen.tolist(), strict=True):
            written[row].append(token)
        # A row that ends is replaced by the last one, so that no other row moves.
        left = len(rows)
        for ended in np.flatnonzero(chosen == end)[::-1].tolist():
            left -= 1
            if ended != left:
                cache.move(left, ended)
                rows[ended], chosen[ended] = rows[left], chosen[left]
        rows, chosen = rows[:left], chosen[:left]
        if not left or step == steps - 1 or given_up():
            break
        logits = model.forward(chosen[:, None], cache)[:, -1]
    return written


def choose(
    logits: Floats, uniforms: Floats, temperature: float, top_k: int | None = None, top_p: float | None = None
) -> Tokens:
    """Return one token per row: the likeliest at temperature 0, else drawn from the (truncated) distribution by `uniforms`."""
    if temperature < COLDEST:
        likeliest: Tokens = logits.argmax(axis=1)
        return likeliest
    if top_k is not None and top_k < logits.shape[1]:
        # By the logits themselves: after the division two of them may be equal.
        least = np.partition(logits, -top_k, axis=1)[:, -top_k, None]
        logits = np.where(logits >= least, logits, -np.inf)
    chances = logits - logits.max(axis=1, keepdims=True)
    chances /= np.float32(temperature)
    np.exp(chances, out=chances)
    if top_p is not None:
        ranked = -np.sort(-chances, axis=1)
        total = np.cumsum(ranked, axis=1)
        # The token that reaches p is still included.
        reached = (total < top_p * total[:, -1:]).sum(axis=1)
        least = ranked[np.arange(len(ranked)), reached][:, None]
        chances = np.where(chances >= least, chances, 0)
    return _drawn(chances, uniforms)


def _drawn(chances: Floats, uniforms: Floats) -> Tokens:
    """Return the tokens that `uniforms` selects from the cumulative distribution."""
    rows = np.arange(len(chances))
    # First the block, then the token in it: cumulative sums over the whole vocabulary take five times as long.
    blocks = np.add.reduceat(chances, np.arange(0, chances.shape[1], BLOCK), axis=1, dtype=np.float64)
    total = np.cumsum(blocks, axis=1)
    aim = uniforms.astype(np.float64) * total[:, -1]
    block = (total <= aim[:, None]).sum(axis=1)
    aim -= np.where(block > 0, total[rows, block - 1], 0)
    places = block[:, None] * BLOCK + np.arange(BLOCK)
    inside = np.where(
        places < chances.shape[1], chances.take(rows[:, None] * chances.shape[1] + places, mode="clip"), 0
    )
    drawn = (np.cumsum(inside, axis=1, dtype=np.float64) <= aim[:, None]).sum(axis=1)
    # Rounding may move the draw past the last possible token of the block.
    last = BLOCK - 1 - (inside[:, ::-1] > 0).argmax(axis=1)
    tokens: Tokens = block * BLOCK + np.minimum(drawn, last)
    return tokens


def _attend(query: Floats, keys: Floats, values: Floats) -> Floats:
    """Return causal attention of the new tokens over everything before them. Queries are already scaled."""
    new, length = query.shape[2], keys.shape[2]
    scores = query @ keys.transpose(0, 1, 3, 2)
    if new > 1:
        scores[..., length - new :] += np.triu(np.full((new, new), -np.inf, dtype=np.float32), 1)
    scores -= scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores, out=scores)
    mixed: Floats = weights @ values
    mixed /= weights.sum(axis=-1, keepdims=True)
    return mixed


def _rms_norm(x: Floats, epsilon: float) -> Floats:
    """Apply the norm without its weights, which are part of the next matrix."""
    squares = np.einsum("ij,ij->i", x, x)[:, None]
    normed: Floats = x / np.sqrt(squares / np.float32(x.shape[1]) + np.float32(epsilon))
    return normed
