"""Attention over cohorts and prefixes, registered with `transformers` under the name `markscheme`.

All tokens of a step form one sequence, whatever their rows, so every product with the weights is computed once for all
of them. Attention splits the sequence: a cohort's tokens attend to what their rows have read, a prompt's tokens to the
prompt.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from markscheme.models.local.cohorts import Cohort, Prefix

NAME = "markscheme"


@dataclass
class Part:
    """A slice of the sequence: the newest token of each row of a cohort, or the next tokens of a prompt."""

    of: Cohort[Any] | Prefix
    start: int
    end: int
    _masks: dict[tuple[Any, ...], torch.Tensor | None] = field(default_factory=dict)

    def mask(self, like: torch.Tensor, tokens: int, columns: int, window: int | None, *, always: bool) -> Any:
        """Return which columns each of the last `tokens` of a prompt may attend to; `None` for plain causal attention.

        The mask is the same in every layer with the same window.
        """
        kind = (like.device, window, always)
        if kind not in self._masks:
            mask = None
            if always or tokens < columns or (window and columns > window):
                mask = torch.ones(tokens, columns, device=like.device, dtype=torch.bool).tril_(columns - tokens)
                if window:
                    mask = mask.triu_(columns - tokens - window + 1)
            self._masks[kind] = mask
        return self._masks[kind]


class Current(threading.local):
    """The state of this thread's forward pass. Not every model passes unknown arguments down to its attention."""

    def __init__(self) -> None:
        self.windows = set()

    parts: list[Part]
    windows: set[int]  # layers that were called with a window


current = Current()


def register() -> None:
    """Register the name with transformers. Without a mask function of that name, models create no mask."""
    from transformers import AttentionInterface

    # `torch.compile` stops here: the keys and values change at every step, and it would compile each step anew.
    AttentionInterface.register(NAME, torch.compiler.disable(attend))  # type: ignore[no-untyped-call, unused-ignore]


class Rule(NamedTuple):
    """How a layer attends."""

    layer: int
    scale: float
    window: int | None  # tokens that a token sees, including itself
    softcap: float | None  # bound on the scores (Gemma 2)
    sinks: torch.Tensor | None  # score per head that directs part of its attention to nothing (gpt-oss)

    def weights(self, scores: torch.Tensor, sinks: torch.Tensor | None) -> torch.Tensor:
        """Softmax over the scores, and over the sinks if there are any."""
        if sinks is None:
            return scores.float().softmax(dim=-1).to(scores.dtype)
        column = sinks.expand(*scores.shape[:-1], 1)
        return torch.cat([scores.float(), column.float()], dim=-1).softmax(dim=-1)[..., :-1].to(scores.dtype)

    def scores(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Return scaled and bounded scores, without a mask."""
        scores = query @ keys.transpose(-1, -2) * self.scale
        return scores if self.softcap is None else self.softcap * torch.tanh(scores / self.softcap)


def attend(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,  # noqa: ARG001 - ours are made here
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attend with the shapes of transformers: 1 × heads × tokens × width in, 1 × tokens × heads × width out."""
    scale = scaling if scaling is not None else query.shape[-1] ** -0.5
    rule = Rule(module.layer_idx, scale, sliding_window, softcap, s_aux)
    if sliding_window:
        current.windows.add(module.layer_idx)
    out = value.new_empty((1, query.shape[2], query.shape[1], value.shape[-1]))
    for part in current.parts:
        here = slice(part.start, part.end)
        compute = _decode if isinstance(part.of, Cohort) else _read
        out[0, here] = compute(part, rule, query[0, :, here], key[0, :, here], value[0, :, here])
    return out, None


def _decode(part: Part, rule: Rule, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Attend for one token per row of a cohort: rows × heads × width."""
    cohort = part.of
    assert isinstance(cohort, Cohort)
    keys, values = cohort.write(rule.layer, key.transpose(0, 1), value.transpose(0, 1))
    if rule.window:
        keys, values = keys[:, :, -rule.window :], values[:, :, -rule.window :]
    rows, heads = keys.shape[:2]
    # Heads that share keys become further queries, which avoids a copy of the keys per head.
    grouped = query.transpose(0, 1).reshape(rows, heads, -1, query.shape[-1])
    mask = cohort.mask(query, rule.window)
    if cohort.stem is None and rule.softcap is None and rule.sinks is None:
        out = torch.nn.functional.scaled_dot_product_attention(grouped, keys, values, attn_mask=mask, scale=rule.scale)
        return out.flatten(1, 2)
    scores = rule.scores(grouped, keys)
    scores = scores if mask is None else scores + mask
    sinks = None if rule.sinks is None else rule.sinks.view(heads, -1, 1)
    if cohort.stem is None:
        return (rule.weights(scores, sinks) @ values).reshape(rows, -1, values.shape[-1])
    # One product with the stem serves all rows: it is read once, not once per row.
    stem_keys, stem_values = cohort.stem.keys[rule.layer], cohort.stem.values[rule.layer]
    length = stem_keys.shape[1]
    together = grouped.transpose(0, 1).reshape(heads, -1, grouped.shape[-1])
    shared = rule.scores(together, stem_keys).view(heads, rows, -1, length).transpose(0, 1)
    weights = rule.weights(torch.cat([shared, scores], dim=-1), sinks)
    out = weights[..., :length].transpose(0, 1).reshape(heads, -1, length) @ stem_values
    out = out.view(heads, rows, -1, out.shape[-1]).transpose(0, 1) + weights[..., length:] @ values
    return out.reshape(rows, -1, out.shape[-1])


def _read(part: Part, rule: Rule, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Attend for the next tokens of a prompt: tokens × heads × width."""
    prefix = part.of
    assert isinstance(prefix, Prefix)
    keys, values = prefix.write(rule.layer, key, value)
    if prefix.stem is not None:
        keys = torch.cat([prefix.stem.keys[rule.layer], keys], dim=1)
        values = torch.cat([prefix.stem.values[rule.layer], values], dim=1)
    heads, tokens = keys.shape[0], query.shape[1]
    plain = rule.softcap is None and rule.sinks is None
    mask = part.mask(query, tokens, keys.shape[1], rule.window, always=not plain)
    if plain:
        out = torch.nn.functional.scaled_dot_product_attention(
            query[None], keys[None], values[None],
            attn_mask=mask, is_causal=mask is None and tokens > 1, scale=rule.scale, enable_gqa=heads != query.shape[0],
        )[0]  # fmt: skip
        return out.transpose(0, 1)
    scores = rule.scores(query.view(heads, -1, *query.shape[1:]), keys[:, None]).masked_fill(~mask, -torch.inf)
    sinks = None if rule.sinks is None else rule.sinks.view(heads, -1, 1, 1)
    out = rule.weights(scores, sinks) @ values[:, None]
    return out.reshape(-1, tokens, out.shape[-1]).transpose(0, 1)
