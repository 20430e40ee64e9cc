"""`nanochat/sft` (or `mid`, `rl`, `base`): a checkpoint of nanochat, with its own loader, tokenizer and engine.

nanochat is a repository, not a package: it is imported from the Python path or from the folder in `NANOCHAT_DIR`. All
samples of a problem are one batch of its engine, as in its own evaluation. They share one seed and, in versions of the
engine that sample a batch's first token once, that token. `--extra-field` takes `model_tag`, `step`, `device_type` and
`dtype`.

Three generations of the repository are supported: with autocast; with its own compute dtype (`NANOCHAT_DTYPE`), which
autocast would break; and with the loader in `harness/`, where the chat model of any training stage is called `chat`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from markscheme.config import RunConfig
from markscheme.errors import ModelError, UsageError, first_line, option
from markscheme.models.base import Completion, Model, Request, RequestFailed
from markscheme.models.fields import extra_fields
from markscheme.types import Prompt

SOURCES = ("base", "mid", "sft", "rl")
OPTIONS = ("device_type", "dtype", "model_tag", "step")
DEVICES = ("", "cuda", "cpu", "mps")
DEFAULT_MAX_TOKENS = 512
LONGEST_PROMPT = 2048  # tokens at which nanochat's `render_conversation` silently cuts a conversation


def create(target: str, config: RunConfig) -> NanoChat:
    """Load a checkpoint; refuse options that the engine does not support."""
    if target not in SOURCES:
        raise UsageError(f"nanochat has the sources {', '.join(SOURCES)}, not {target!r}; for example nanochat/sft")
    for name in ("top_p", "stop"):
        if getattr(config, name) not in (None, ()):
            raise UsageError(f"nanochat's engine has no {name.replace('_', '-')}; leave the option out")
    options = extra_fields(config.extra_field)
    for name in options:
        if name not in OPTIONS:
            raise UsageError(f"nanochat does not know {option('extra_field')} {name}; it knows {', '.join(OPTIONS)}")
    return NanoChat(target, **options)


class NanoChat(Model):
    """A loaded checkpoint. It answers one request at a time in the calling thread and yields to others after each
    token.

    It must be the calling thread because the engine's calculator sets its time limit with SIGALRM, which Python allows
    only in the main thread. Elsewhere every calculation would fail silently and the model would score lower.
    """

    concurrency = 1
    in_process = True
    samples_per_request = 1024  # a problem's samples go into one request unless the user says otherwise

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
            raise UsageError(f"nanochat does not know device type {device_type!r} or dtype {dtype!r}")
        load, engine, own_precision = _import()
        import torch

        from markscheme.models.local.loading import default_device

        kind = device_type or default_device().partition(":")[0]
        self.name = f"nanochat/{source}"
        try:
            device = torch.device(kind, int(os.environ.get("LOCAL_RANK", 0))) if kind == "cuda" else torch.device(kind)
            if kind == "cuda":
                torch.cuda.set_device(device)  # attention kernels are launched on the current device
            self._model, self._tokenizer, meta = load(source, device, model_tag=model_tag, step=step)
        except FileNotFoundError as error:
            raise ModelError(
                f"nanochat finds no checkpoint for {source}, tag {model_tag or 'any'}, step {'the last' if step is None else step}: {error}; "
                "NANOCHAT_BASE_DIR says where they are"
            ) from None
        except KeyError:  # from the loader's table of sources; later versions have no `mid`
            raise ModelError(
                f"this nanochat does not know checkpoints of {source}; of {', '.join(SOURCES)}, choose one "
                "that its checkpoint_manager.py lists"
            ) from None
        except (OSError, AssertionError, RuntimeError, TypeError, ValueError) as error:
            # The loader's checks are assertions; a mismatched checkpoint can raise any of torch's exceptions.
            raise ModelError(f"nanochat cannot load {source} on {kind}: {first_line(error)}") from None
        self._engine = engine(self._model, self._tokenizer)
        self._ends = {self._tokenizer.encode_special("<|assistant_end|>"), self._tokenizer.get_bos_token_id()}
        self._served = f"{source}{f' {model_tag}' if model_tag else ''}{_step(meta, step)}"
        # nanochat's own evaluation generates under autocast on a GPU, and in the checkpoint's precision elsewhere.
        self._autocast: Any = (
            torch.autocast("cuda", dtype=getattr(torch, dtype))
            if kind == "cuda" and not own_precision
            else contextlib.nullcontext()
        )
        self._turn = asyncio.Lock()

    async def generate(self, request: Request) -> Sequence[Completion]:
        tokens = self._tokenizer.render_for_completion(conversation(request.prompt))
        if len(tokens) > LONGEST_PROMPT:
            raise RequestFailed(
                "context_length", f"the prompt is longer than the {LONGEST_PROMPT} tokens of nanochat", retryable=False
            )
        rows: list[list[int]] = [[] for _ in request.samples]
        ended = [False] * len(rows)
        async with self._turn:
            with self._autocast:
                for column in self._columns(tokens, request):
                    for row, token in enumerate(column):
                        if token in self._ends:
                            ended[row] = True
                        elif not ended[row]:
                            rows[row].append(token)
                    if all(ended):
                        break
                    await asyncio.sleep(0)  # let the display refresh and a second Ctrl-C be noticed
        return [
            Completion(
                text=self._tokenizer.decode(row),
                finish_reason="stop" if done else "length",  # cut off if it has no end token
                prompt_tokens=len(tokens) if index == 0 else 0,  # the prompt is computed once
                completion_tokens=len(row),
                model=self._served,
            )
            for index, (row, done) in enumerate(zip(rows, ended, strict=True))
        ]

    def _columns(self, tokens: list[int], request: Request) -> Iterator[list[int]]:
        """Yield one token per sample at each step; older engines also return which tokens were forced."""
        sampling = request.sampling
        for step in self._engine.generate(
            tokens,
            num_samples=len(request.samples),
            max_tokens=sampling.max_tokens or DEFAULT_MAX_TOKENS,
            temperature=sampling.temperature or 0.0,
            top_k=sampling.top_k,
            seed=request.seeds[0],
        ):
            yield step[0] if isinstance(step, tuple) else step


def conversation(prompt: Prompt) -> dict[str, Any]:
    """Return the prompt as a nanochat conversation, whose last message, the assistant's, is still empty."""
    messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
    return {"messages": [*messages, {"role": "assistant", "content": ""}]}


def _import() -> tuple[Callable[..., tuple[Any, Any, Any]], Any, bool]:
    """Return the loader, the engine, and whether this nanochat handles its precision itself."""
    folder = os.environ.get("NANOCHAT_DIR")
    if folder:
        checkout = str(Path(folder).expanduser())
        if not (Path(checkout) / "nanochat").is_dir():
            raise ModelError(
                f"NANOCHAT_DIR is {folder}, and there is no folder nanochat in it: name a clone of nanochat"
            )
        if checkout not in sys.path:
            sys.path.insert(0, checkout)
    try:
        engine = import_module("nanochat.engine")
        common = import_module("nanochat.common")
        if find_spec("nanochat.checkpoint_manager") is not None:
            load = partial(import_module("nanochat.checkpoint_manager").load_model, phase="eval")
        else:
            load = partial(_load_from_harness, import_module("harness.checkpoint").load_model)
    except ImportError as error:
        raise ModelError(
            f"nanochat cannot be imported ({error}): it is a repository, not a package, so clone it, install what it "
            "needs, and set NANOCHAT_DIR to its folder"
        ) from None
    return load, engine.Engine, hasattr(common, "COMPUTE_DTYPE")


def _load_from_harness(load_model: Any, source: str, *where: Any, **which: Any) -> Any:
    if source not in ("base", "sft"):
        raise ModelError(f"this nanochat has no {source} checkpoints, only base and sft (which it calls chat)")
    return load_model("chat" if source == "sft" else source, *where, **which)


def _step(meta: Any, step: int | None) -> str:
    number = meta.get("step", step) if isinstance(meta, dict) else step
    return "" if number is None else f" step {number}"
