"""`hf/PATH`: any Hugging Face causal language model, in this process.

Rows of all requests in flight are batched by length of prompt. Each sample is drawn with its own seed, so that the same
sample comes out whatever it was batched with (but for rounding). The model's own sampling defaults are not used: what
is not asked for is off. `--extra-field` takes `device`, `dtype` and `batch_size`; `--api completions` leaves the chat
template out. Under torchrun each rank uses the GPU of its local rank.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markscheme.config import RunConfig
from markscheme.errors import ModelError, UsageError, first_line
from markscheme.models.base import Completion, Model, Request, RequestFailed
from markscheme.models.batching import Batcher, Row
from markscheme.models.fields import extra_fields, plain_prompt
from markscheme.types import Prompt, Sampling

if TYPE_CHECKING:
    import torch
    from transformers import LogitsProcessor

DEFAULT_MAX_TOKENS = 2048
"""Without --max-tokens: long enough for most answers, and a base model that never stops does stop."""

DEFAULT_BATCH = 16
OPTIONS = ("batch_size", "device", "dtype")


def create(target: str, config: RunConfig) -> HuggingFace:
    """Load the model; the run begins when it stands."""
    if not target:
        raise UsageError("hf needs a folder or a name on the Hub: hf/PATH")
    options = extra_fields(config.extra_field)
    for name in options:
        if name not in OPTIONS:
            raise UsageError(f"hf does not know --extra-field {name}; it knows {', '.join(OPTIONS)}")
    return HuggingFace(target, chat=config.api == "chat", **options)


class HuggingFace(Model):
    """A loaded model with its tokenizer and a thread that generates."""

    in_process = True

    def __init__(
        self,
        target: str,
        *,
        chat: bool = True,
        batch_size: int = DEFAULT_BATCH,
        device: str | None = None,
        dtype: str | None = None,
    ) -> None:
        try:
            import torch

            hub: Any = import_module("transformers")  # typed in parts only
        except ImportError as error:
            raise UsageError(f"hf cannot load its libraries ({error}): pip install 'markscheme[hf]'") from None
        if type(batch_size) is not int or batch_size < 1:
            raise UsageError(f"--extra-field batch_size={batch_size} is not a positive whole number")
        self.name = f"hf/{target}"
        try:
            self.device = torch.device(device or default_device())
        except RuntimeError as error:
            raise UsageError(f"--extra-field device={device} is no device: {first_line(error)}") from None
        if dtype is not None and not isinstance(getattr(torch, str(dtype), None), torch.dtype):
            raise UsageError(f"--extra-field dtype={dtype} is no type of torch; say bfloat16, float16 or float32")
        # Half precision on a CPU is slower than single, so there it is only used when asked for.
        kind = dtype or ("float32" if self.device.type == "cpu" else "auto")
        path = str(Path(target).expanduser()) if Path(target).expanduser().exists() else target
        try:
            self._tokenizer = hub.AutoTokenizer.from_pretrained(path, padding_side="left")
            self._model = hub.AutoModelForCausalLM.from_pretrained(path, dtype=kind)
            self._model.to(self.device).eval()
        except (OSError, ValueError, KeyError, RuntimeError, AssertionError) as error:
            raise ModelError(f"hf cannot load {target!r}: {first_line(error)}") from None
        self._chat = chat and self._tokenizer.chat_template is not None
        own = self._model.generation_config
        ends = own.eos_token_id if own.eos_token_id is not None else self._tokenizer.eos_token_id
        self._ends: list[int] = [ends] if isinstance(ends, int) else list(ends or ())
        added = self._tokenizer.added_tokens_decoder
        self._special = {str(token): number for number, token in added.items() if token.special}
        if self._tokenizer.pad_token_id is None:  # padding is masked out, so any token will do
            self._tokenizer.pad_token_id = self._ends[0] if self._ends else 0
        # `generate` fills what it is not told from the model's own defaults: leave it none but the end tokens.
        self._model.generation_config = hub.GenerationConfig(
            eos_token_id=self._ends or None, pad_token_id=self._tokenizer.pad_token_id
        )
        self._context: int = getattr(self._model.config, "max_position_embeddings", None) or 1 << 30
        self._batcher = Batcher(self._generate, batch_size)
        self.concurrency = 4 * batch_size  # enough waiting to find rows of like length

    async def answer(self, request: Request) -> Sequence[Completion]:
        """One completion a sample."""
        tokens = self._encode(request.prompt)
        limit = request.sampling.max_tokens or DEFAULT_MAX_TOKENS
        if len(tokens) >= self._context:
            raise RequestFailed(
                "context_length",
                f"the prompt has {len(tokens)} tokens, the model takes {self._context}",
                retryable=False,
            )
        room = min(limit, self._context - len(tokens))
        return await self._batcher.put([Row(tokens, seed, room, request.sampling) for seed in request.seeds])

    async def close(self) -> None:
        """End the thread, and with it what it is doing."""
        self._batcher.close()

    def _encode(self, prompt: Prompt) -> list[int]:
        # A template has written the special tokens already.
        text, ready = (self._chat_text(prompt), True) if self._chat else (plain_prompt(prompt), False)
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=not ready)
        return ids

    def _chat_text(self, prompt: Prompt) -> str:
        """The prompt in the model's template; where that refuses a system message, the message leads the question."""
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

    def _generate(self, rows: Sequence[Row]) -> list[Completion]:
        """Complete rows of one kind of sampling together; where memory runs out, in halves."""
        import torch

        try:
            return self._complete(rows)
        except torch.OutOfMemoryError as error:
            if len(rows) == 1:
                raise RequestFailed("out_of_memory", str(error).splitlines()[0], retryable=False) from None
            torch.cuda.empty_cache()
            half = len(rows) // 2
            return self._generate(rows[:half]) + self._generate(rows[half:])

    def _complete(self, rows: Sequence[Row]) -> list[Completion]:
        import torch

        hub: Any = import_module("transformers")
        sampling = rows[0].sampling
        width = max(len(row.tokens) for row in rows)
        pad = self._tokenizer.pad_token_id
        ids = torch.tensor([[pad] * (width - len(row.tokens)) + row.tokens for row in rows], device=self.device)
        mask = torch.tensor(
            [[0] * (width - len(row.tokens)) + [1] * len(row.tokens) for row in rows], device=self.device
        )
        drawing: list[LogitsProcessor] = []
        if sampling.temperature:  # at 0 and without one, the likeliest token
            drawing.append(seeded_sampling([row.seed for row in rows], sampling, self.device))
        with torch.inference_mode():
            out = self._model.generate(
                ids,
                attention_mask=mask,
                generation_config=hub.GenerationConfig(
                    max_new_tokens=max(row.room for row in rows),
                    do_sample=False,  # the drawing, if any, is done by `seeded_sampling`, with a seed a row
                    stop_strings=list(sampling.stop) or None,
                ),
                logits_processor=hub.LogitsProcessorList(drawing),
                stopping_criteria=hub.StoppingCriteriaList([self._nobody_waits]),
                tokenizer=self._tokenizer if sampling.stop else None,
            )
        generated = out[:, width:].tolist()
        return [self._completion(row, tokens) for row, tokens in zip(rows, generated, strict=True)]

    def _nobody_waits(self, ids: torch.Tensor, _scores: Any, **_: Any) -> torch.Tensor:
        """Asked by `generate` after each token: an interrupted run does not wait for thousands more."""
        import torch

        return ids.new_full((ids.shape[0],), self._batcher.closed, dtype=torch.bool)

    def _completion(self, row: Row, tokens: list[int]) -> Completion:
        """The row's own part: up to its end token, its stop text, or its limit."""
        tokens = tokens[: row.room]
        # A special token does not stand in the text, where a stop is looked for.
        ends = {*self._ends, *(self._special[stop] for stop in row.sampling.stop if stop in self._special)}
        end = next((at for at, token in enumerate(tokens) if token in ends), None)
        tokens = tokens[:end]
        text: str = self._tokenizer.decode(tokens, skip_special_tokens=True)
        found = [at for stop in row.sampling.stop if (at := text.find(stop)) >= 0]
        if found:
            text = text[: min(found)]
        return Completion(
            text=text,
            finish_reason="stop" if found or end is not None else "length",
            prompt_tokens=len(row.tokens),
            completion_tokens=len(tokens),
            model=self.name.removeprefix("hf/"),
        )


def default_device() -> str:
    """A GPU where there is one: under torchrun the one of the local rank."""
    import torch

    if torch.cuda.is_available():
        return f"cuda:{int(os.environ.get('LOCAL_RANK', 0)) % torch.cuda.device_count()}"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def seeded_sampling(seeds: Sequence[int], sampling: Sampling, device: torch.device) -> LogitsProcessor:
    """Draws a token for each row from the row's own generator.

    The largest of log-probability plus Gumbel noise is a fair draw, so the noise goes on the logits and `generate` takes
    the likeliest. One generator for the whole batch would make a sample depend on its neighbours.
    """
    import torch
    from transformers import LogitsProcessor, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    warpers: list[LogitsProcessor] = [TemperatureLogitsWarper(float(sampling.temperature or 1.0))]
    if sampling.top_k:
        warpers.append(TopKLogitsWarper(sampling.top_k))
    if sampling.top_p is not None and sampling.top_p < 1:
        warpers.append(TopPLogitsWarper(sampling.top_p))
    generators = [torch.Generator(device=device).manual_seed(seed) for seed in seeds]

    class Seeded(LogitsProcessor):  # type: ignore[misc, unused-ignore]
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            for warper in warpers:
                scores = warper(input_ids, scores)
            noise = torch.empty_like(scores)
            for row, generator in enumerate(generators):
                noise[row].exponential_(generator=generator)
            return scores - noise.log()

    return Seeded()
