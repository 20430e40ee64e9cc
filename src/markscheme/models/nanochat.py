"""`nanochat/sft` (or `mid`, `rl`, `base`): a checkpoint of nanochat, with its own loader, tokenizer and engine.

nanochat is a repository, not a package: it is found on the Python path, or in the folder `NANOCHAT_DIR`. All samples of
a problem are one batch of its engine, as in its own evaluation; they share one seed, and in versions of the engine that
draw a batch's first token once, that token too. `--extra-field` takes `model_tag`, `step`, `device_type` and `dtype`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any

from markscheme.config import RunConfig
from markscheme.errors import ModelError, UsageError
from markscheme.models.base import Completion, Request, RequestFailed
from markscheme.models.fields import extra_fields
from markscheme.types import Prompt

SOURCES = ("base", "mid", "sft", "rl")
OPTIONS = ("device_type", "dtype", "model_tag", "step")
DEVICES = ("", "cuda", "cpu", "mps")
DEFAULT_MAX_TOKENS = 512
LONGEST_PROMPT = 2048
"""Tokens at which nanochat's `render_conversation` cuts a conversation off, without a word."""


def create(target: str, config: RunConfig) -> NanoChat:
    """Load a checkpoint; refuses options that the engine has no notion of."""
    if target not in SOURCES:
        raise UsageError(f"nanochat has the sources {', '.join(SOURCES)}, not {target!r}: say nanochat/sft")
    for name in ("top_p", "stop"):
        if getattr(config, name) not in (None, ()):
            raise UsageError(f"nanochat's engine has no {name.replace('_', '-')}; leave the option out")
    options = extra_fields(config.extra_field)
    for name in options:
        if name not in OPTIONS:
            raise UsageError(f"nanochat does not know --extra-field {name}; it knows {', '.join(OPTIONS)}")
    return NanoChat(target, **options)


class NanoChat:
    """A loaded checkpoint. It answers one request at a time, in the calling thread.

    In the calling thread because the engine's calculator times itself out with SIGALRM, which Python allows in the
    main thread only: elsewhere every calculation would silently fail, and the model would score less.
    """

    concurrency = 1
    samples_per_request = 1024
    """A problem's samples are asked for together unless the user says otherwise."""

    def __init__(
        self,
        source: str,
        *,
        model_tag: str | None = None,
        step: int | None = None,
        device_type: str = "",
        dtype: str = "bfloat16",
    ) -> None:
        if device_type not in DEVICES or dtype not in ("bfloat16", "float32"):
            raise UsageError(f"nanochat knows no device type {device_type!r} or no dtype {dtype!r}")
        load_model, engine = _import()
        import torch

        kind = device_type or ("cuda" if torch.cuda.is_available() else "cpu")
        local = int(os.environ.get("LOCAL_RANK", 0))
        device = torch.device(kind, local) if kind == "cuda" else torch.device(kind)
        self.name = f"nanochat/{source}"
        try:
            self._model, self._tokenizer, meta = load_model(
                source, device, phase="eval", model_tag=model_tag, step=step
            )
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ModelError(
                f"nanochat finds no checkpoint for {source}, tag {model_tag or 'any'}, step {step or 'the last'}: {error}; "
                "NANOCHAT_BASE_DIR says where they are"
            ) from None
        self._engine = engine(self._model, self._tokenizer)
        self._ends = {self._tokenizer.encode_special("<|assistant_end|>"), self._tokenizer.get_bos_token_id()}
        self._served = f"{source}{f' {model_tag}' if model_tag else ''}{_step(meta, step)}"
        # Its own evaluation generates under autocast on a GPU, and in the checkpoint's precision elsewhere.
        self._autocast: Any = (
            torch.autocast("cuda", dtype=getattr(torch, dtype)) if kind == "cuda" else contextlib.nullcontext()
        )

    async def answer(self, request: Request) -> Sequence[Completion]:
        """One completion a sample, from one batch."""
        tokens = self._tokenizer.render_for_completion(conversation(request.prompt))
        if len(tokens) > LONGEST_PROMPT:
            raise RequestFailed(
                "context_length", f"the prompt is longer than the {LONGEST_PROMPT} tokens of nanochat", retryable=False
            )
        sampling = request.sampling
        limit = sampling.max_tokens or DEFAULT_MAX_TOKENS
        rows: list[list[int]] = [[] for _ in request.samples]
        ended = [False] * len(rows)
        with self._autocast:
            for column, _ in self._engine.generate(
                tokens,
                num_samples=len(rows),
                max_tokens=limit,
                temperature=sampling.temperature or 0.0,
                top_k=sampling.top_k,
                seed=request.seeds[0],
            ):
                for row, token in enumerate(column):
                    if ended[row]:
                        continue
                    if token in self._ends:
                        ended[row] = True
                    else:
                        rows[row].append(token)
                if all(ended):
                    break
        return [
            Completion(
                text=self._tokenizer.decode(row),
                finish_reason="stop" if done else "length",  # cut off is what has no end token
                prompt_tokens=len(tokens) if index == 0 else 0,  # the prompt is computed once
                completion_tokens=len(row),
                model=self._served,
            )
            for index, (row, done) in enumerate(zip(rows, ended, strict=True))
        ]

    async def close(self) -> None:
        """Nothing to let go of."""


def conversation(prompt: Prompt) -> dict[str, Any]:
    """The prompt as nanochat has it: a conversation whose last message, the assistant's, is still to be written."""
    messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
    return {"messages": [*messages, {"role": "assistant", "content": ""}]}


def _import() -> tuple[Any, Any]:
    folder = os.environ.get("NANOCHAT_DIR")
    if folder and folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        from nanochat.checkpoint_manager import load_model
        from nanochat.engine import Engine
    except ImportError as error:
        raise ModelError(
            f"nanochat cannot be imported ({error}): it is a repository, not a package, so clone it, install what it "
            "needs, and set NANOCHAT_DIR to its folder or run from inside it"
        ) from None
    return load_model, Engine


def _step(meta: Any, step: int | None) -> str:
    found = meta.get("step", step) if isinstance(meta, dict) else step
    return "" if found is None else f" step {found}"
