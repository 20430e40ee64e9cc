"""`--model markscheme` for lm-evaluation-harness: its own Hugging Face model, generating with the engine of `hf/`.

It brings continuous batching to any lm_eval task. Everything else is lm_eval's: the arguments of its `hf`
(`pretrained=`, `dtype=`, `peft=` …) and log-likelihoods. `--batch_size` is ignored: slots depend on memory. Sampling is
off unless requested; a sample's seed is its index among the requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import torch
from lm_eval.api.registry import register_model
from lm_eval.models.huggingface import HFLM
from lm_eval.models.utils import handle_stop_sequences, normalize_gen_kwargs, postprocess_generated_text
from tqdm import tqdm

from markscheme.models.base import Completion
from markscheme.models.batching import Entry, Row
from markscheme.models.local.attention import NAME
from markscheme.models.local.endings import Endings
from markscheme.models.local.loading import adopt, make_engine
from markscheme.types import Sampling


class _Collected:
    """Receive completions in place of a request."""

    def __init__(self, progress: Any) -> None:
        self.future: Future[None] = Future()
        self.completions: dict[int, Completion] = {}
        self._progress = progress

    def settle(self, place: int, completion: Completion) -> None:
        self.completions[place] = completion
        self._progress.update()

    def tell(self, tell: Any) -> None:
        tell()


@register_model("markscheme")
class MarkschemeLM(HFLM):  # type: ignore[misc, unused-ignore]
    """lm_eval's `hf`, with `generate_until` by our engine for models that allow it."""

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
        """Return the text of each request in order."""
        own = self.model.config._attn_implementation
        forward, why = adopt(self.model)
        if forward is None or isinstance(getattr(self, "think_end_token", None), int):
            print(f"markscheme: generating is left to lm_eval{why or ': an end of thinking that is a token'}")
            self.model.set_attn_implementation(own)
            texts: list[str] = super().generate_until(requests, disable_tqdm)
            return texts
        asked = [request.args for request in requests]
        eos = self.tok_decode(self.eot_token_id, skip_special_tokens=False)
        stops = [handle_stop_sequences(self._options(options).get("until"), eos=eos) for _, options in asked]
        with tqdm(total=len(asked), disable=disable_tqdm, desc="generate_until") as progress:
            job: Any = _Collected(progress)
            self._generate(
                forward,
                [
                    Entry(self._row(context, options, place), job, place)
                    for place, (context, options) in enumerate(asked)
                ],
            )
        self.model.set_attn_implementation(own if own != NAME else "sdpa")
        if job.future.done():
            job.future.result()
        texts = []
        for place, one in enumerate(asked):
            text = postprocess_generated_text(
                job.completions[place].text, stops[place], getattr(self, "think_end_token", None)
            )
            self.cache_hook.add_partial("generate_until", one, text)
            texts.append(text)
        return texts

    def _generate(self, forward: Any, entries: list[Entry]) -> None:
        ends = self.model.generation_config.eos_token_id
        ends = [ends] if isinstance(ends, int) else list(ends or ())
        engine = make_engine(self.model, forward, Endings(self.tokenizer, [*ends, self.eot_token_id], "markscheme"))
        engine.add(entries)
        with torch.inference_mode():
            while engine.busy:
                engine.step()

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        normal: dict[str, Any] = dict(normalize_gen_kwargs(options, self.max_gen_toks))
        return normal

    def _row(self, context: str, options: dict[str, Any], place: int) -> Row:
        """Convert a request to a row; a context that is too long is truncated on the left, as in lm_eval."""
        known = self._options(options)
        room = known["max_gen_toks"]
        tokens = self.tok_encode(context)[-(self.max_length - room) :]
        sampling = Sampling(
            temperature=known.get("temperature", 0.0),
            top_k=known.get("top_k") or None,
            top_p=known.get("top_p"),
            stop=tuple(known.get("until") or ()),
        )
        return Row(tokens, place, room, sampling)
