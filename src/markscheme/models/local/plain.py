"""Plain `generate` of transformers, in fixed batches: for models whose attention or cache is their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from markscheme.models.base import Completion, RequestFailed
from markscheme.models.batching import Row
from markscheme.models.local.draws import choose, luck_of
from markscheme.models.local.endings import Endings

if TYPE_CHECKING:
    import torch


class PlainGenerate:
    """Completes rows of one kind of sampling together; where memory runs out, in halves."""

    def __init__(self, model: Any, tokenizer: Any, endings: Endings, closed: Callable[[], bool]) -> None:
        self._model, self._tokenizer, self._endings, self._closed = model, tokenizer, endings, closed

    def __call__(self, rows: Sequence[Row]) -> list[Completion]:
        import torch

        try:
            return self._complete(rows)
        except torch.OutOfMemoryError as error:
            if len(rows) == 1:
                raise RequestFailed("out_of_memory", str(error).splitlines()[0], retryable=False) from None
            torch.cuda.empty_cache()
            half = len(rows) // 2
            return self(rows[:half]) + self(rows[half:])

    def _complete(self, rows: Sequence[Row]) -> list[Completion]:
        import torch

        hub: Any = import_module("transformers")
        width, pad, device = max(len(row.tokens) for row in rows), self._tokenizer.pad_token_id, self._model.device
        ids = torch.tensor([[pad] * (width - len(row.tokens)) + row.tokens for row in rows], device=device)
        seen = [[0] * (width - len(row.tokens)) + [1] * len(row.tokens) for row in rows]
        with torch.inference_mode():
            out = self._model.generate(
                ids,
                attention_mask=torch.tensor(seen, device=device),
                generation_config=hub.GenerationConfig(
                    max_new_tokens=max(row.room for row in rows),
                    do_sample=False,  # the drawing, if any, is done by `_drawing`, with a seed a row
                    stop_strings=list(rows[0].sampling.stop) or None,
                ),
                logits_processor=hub.LogitsProcessorList([_drawing(rows, width)]),
                stopping_criteria=hub.StoppingCriteriaList([self._nobody_waits]),
                tokenizer=self._tokenizer if rows[0].sampling.stop else None,
            )
        written = out[:, width:].tolist()
        return [self._endings.completion(row, tokens[: row.room]) for row, tokens in zip(rows, written, strict=True)]

    def _nobody_waits(self, ids: torch.Tensor, _scores: Any, **_: Any) -> torch.Tensor:
        """Asked by `generate` after each token: an interrupted run does not wait for thousands more."""
        import torch

        return ids.new_full((ids.shape[0],), self._closed(), dtype=torch.bool)


def _drawing(rows: Sequence[Row], width: int) -> Callable[[Any, Any], Any]:
    """Draws the token of each row from the row's own seed: `generate` then takes the only one that is left."""
    import torch

    luck = [luck_of(row.seed, max(row.room for row in rows)) for row in rows]

    def draw(ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        step = ids.shape[1] - width
        now = torch.tensor([float(one[step]) for one in luck], dtype=torch.float64, device=scores.device)
        chosen = choose(scores, now, rows[0].sampling)
        return torch.full_like(scores, -torch.inf).scatter_(1, chosen[:, None], 0.0)

    return draw
