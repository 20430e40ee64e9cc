"""`hf/PATH`: any Hugging Face causal language model, in this process.

Rows of all requests in flight share one loop (`local/`). Each sample has its own seed, so it comes out the same
whatever else is running, up to rounding. The model's own sampling defaults are ignored: options that are not set are
off. `--extra-field` takes the names in `OPTIONS`; `--api completions` skips the chat template. Under torchrun each rank
uses the GPU of its local rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from markscheme.config import RunConfig
from markscheme.errors import UsageError, option
from markscheme.models.base import Completion, Model, Request, RequestFailed
from markscheme.models.batching import Batcher, Row, RowQueue
from markscheme.models.fields import extra_fields, plain_prompt
from markscheme.models.local.draws import choose, uniforms_of
from markscheme.models.local.endings import Endings
from markscheme.models.local.engine import Engine
from markscheme.models.local.loading import OPTIONS, load
from markscheme.types import Prompt

# Default without --max-tokens: long enough for most answers, and it stops a base model that never stops.
DEFAULT_MAX_TOKENS = 2048


def create(target: str, config: RunConfig) -> HuggingFace:
    """Load the model; the run begins once it is loaded."""
    if not target:
        raise UsageError("hf needs a folder or a name on the Hub: hf/PATH")
    options = extra_fields(config.extra_field)
    for name in options:
        if name not in OPTIONS:
            raise UsageError(f"hf does not know {option('extra_field')} {name}; it knows {', '.join(OPTIONS)}")
    return HuggingFace(target, chat=config.api == "chat", **options)


class HuggingFace(Model):
    """A loaded model with its tokenizer and a generating thread."""

    in_process = own_seeds = True
    samples_per_request = 16  # samples of a prompt share the computation of its prefix

    def __init__(self, target: str, *, chat: bool = True, **options: Any) -> None:
        self.name = f"hf/{target}"
        self._loaded = loaded = load(target, **options)
        self._tokenizer = loaded.tokenizer
        self._chat = chat and self._tokenizer.chat_template is not None
        self._rows: RowQueue = RowQueue(self._work)
        if loaded.forward is None:
            plain = _PlainGenerate(loaded.model, loaded.tokenizer, loaded.endings, lambda: self._rows.closed)
            self._rows = Batcher(plain, loaded.slots)
        self.concurrency = 2 * loaded.slots  # enough waiting requests that no slot is ever empty

    async def start(self, folder: Path, say: Callable[[str], None]) -> str:  # noqa: ARG002
        """Describe how the model is computed; nothing needs to be started."""
        return self._loaded.said

    async def generate(self, request: Request) -> Sequence[Completion]:
        tokens, context = self._encode(request.prompt), self._loaded.context
        if len(tokens) >= context:
            raise RequestFailed(
                "context_length", f"the prompt has {len(tokens)} tokens, the model takes {context}", retryable=False
            )
        room = min(request.sampling.max_tokens or DEFAULT_MAX_TOKENS, context - len(tokens))
        return await self._rows.put([Row(tokens, seed, room, request.sampling) for seed in request.seeds])

    async def close(self) -> None:
        """End the thread and its current work."""
        self._rows.close()

    def _work(self) -> None:
        """Run the thread: generate as long as there are rows, including those that arrive meanwhile."""
        engine: Engine = self._loaded.engine()
        with torch.inference_mode():
            while self._rows.wait():
                engine.add(self._rows.take())
                while engine.busy and not self._rows.closed:
                    try:
                        engine.step()
                    except BaseException as error:  # noqa: BLE001 - carried to whoever waits, whatever it is
                        engine.fail(error)
                    if self._rows.waiting:
                        engine.add(self._rows.take())

    def _encode(self, prompt: Prompt) -> list[int]:
        # The template has already added the special tokens.
        text, ready = (self._chat_text(prompt), True) if self._chat else (plain_prompt(prompt), False)
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=not ready)
        return ids

    def _chat_text(self, prompt: Prompt) -> str:
        """Render the prompt with the model's template. If that refuses a system message, put it before the question."""
        from jinja2 import TemplateError

        messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
        try:
            return self._template(messages)
        except TemplateError as error:
            first, *rest = messages
            if first["role"] != "system" or not rest:
                raise RequestFailed("bad_request", f"the chat template refuses: {error}", retryable=False) from None
            merged = {**rest[0], "content": f"{first['content']}\n\n{rest[0]['content']}"}
            try:
                return self._template([merged, *rest[1:]])
            except TemplateError:
                raise RequestFailed("bad_request", f"the chat template refuses: {error}", retryable=False) from None

    def _template(self, messages: list[dict[str, str]]) -> str:
        text: str = self._tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        return text


class _PlainGenerate:
    """Generate with transformers' own `generate`, in fixed batches, for models with custom attention or caches.

    Rows with the same sampling options are completed together, and in halves when memory runs out.
    """

    def __init__(self, model: Any, tokenizer: Any, endings: Endings, closed: Callable[[], bool]) -> None:
        self._model, self._tokenizer, self._endings, self._closed = model, tokenizer, endings, closed

    def __call__(self, rows: Sequence[Row]) -> list[Completion]:
        try:
            return self._complete(rows)
        except torch.OutOfMemoryError as error:
            if len(rows) == 1:
                raise RequestFailed("out_of_memory", str(error).splitlines()[0], retryable=False) from None
            torch.cuda.empty_cache()
            half = len(rows) // 2
            return self(rows[:half]) + self(rows[half:])

    def _complete(self, rows: Sequence[Row]) -> list[Completion]:
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
                    do_sample=False,  # `_drawing` samples with one seed per row
                    stop_strings=list(rows[0].sampling.stop) or None,
                ),
                logits_processor=hub.LogitsProcessorList([_drawing(rows, width)]),
                stopping_criteria=hub.StoppingCriteriaList([self._abandoned]),
                tokenizer=self._tokenizer if rows[0].sampling.stop else None,
            )
        written = out[:, width:].tolist()
        return [self._endings.completion(row, tokens[: row.room]) for row, tokens in zip(rows, written, strict=True)]

    def _abandoned(self, ids: torch.Tensor, _scores: Any, **_: Any) -> torch.Tensor:
        """Called by `generate` after each token, so that an interrupted run does not wait for thousands more."""
        return ids.new_full((ids.shape[0],), self._closed(), dtype=torch.bool)


def _drawing(rows: Sequence[Row], width: int) -> Callable[[Any, Any], Any]:
    """Sample each row's token with the row's own seed; `generate` then picks the only token left."""
    uniforms = [uniforms_of(row.seed, max(row.room for row in rows)) for row in rows]

    def draw(ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        step = ids.shape[1] - width
        now = torch.tensor([float(one[step]) for one in uniforms], dtype=torch.float64, device=scores.device)
        chosen = choose(scores, now, rows[0].sampling)
        return torch.full_like(scores, -torch.inf).scatter_(1, chosen[:, None], 0.0)

    return draw
