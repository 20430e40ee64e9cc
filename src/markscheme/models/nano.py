"""`nano`: the small Countdown transformer that ships with the package, run in numpy. A demonstration model.

Samples that wait at the same time are generated in batches, one per core. Each sample has its own seed, so the other
samples in its batch change nothing but the last bits of a float.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import UsageError, option
from markscheme.models.base import Completion, Model, Request, RequestFailed
from markscheme.models.batching import Batcher, Row
from markscheme.nano.tokenizer import EOS, LARGEST, VOCABULARY, decode, encode
from markscheme.types import Sampling

if TYPE_CHECKING:
    from threadpoolctl import threadpool_limits

    from markscheme.nano.transformer import Transformer

BATCH = 256  # sequences per batch: more would gain nothing and delay the first answers

MOST_CORES = 4  # the GIL keeps more threads from gaining anything

MOST_TOKENS = 208  # room for about nine attempts with four numbers; it was not trained on longer texts

_QUESTION = re.compile(r"(?:\d+ )+> \d+ \?")


def create(target: str, config: RunConfig) -> Nano:
    """Create the model, which takes no target and no extra fields."""
    if target:
        raise UsageError(f"nano takes nothing after its name: use `nano`, not `nano/{target}`")
    if config.extra_field:
        raise UsageError(f"nano takes no {option('extra_field')}")
    return Nano()


class Nano(Model):
    """The transformer and its worker threads."""

    name = "nano"
    in_process = own_seeds = True

    def __init__(self) -> None:
        self._model: Transformer | None = None
        self._numpy_threads: threadpool_limits | None = None
        cores = usable_cores()
        self.concurrency = 2 * BATCH * cores  # the next batch waits while this one is being generated
        self._batcher = Batcher(self._generate, BATCH, threads=cores)

    def check(self, statements: Sequence[str]) -> None:
        if not any(_QUESTION.fullmatch(" ".join(VOCABULARY[each] for each in encode(text)[1:])) for text in statements):
            raise UsageError(
                "nano can only play Countdown, and these problems are not Countdown puzzles; choose another model"
            )

    def as_sent(self, sampling: Sampling) -> Sampling:
        """Return the sampling with nano's own token limit applied."""
        return msgspec.structs.replace(sampling, max_tokens=_limit(sampling))

    async def generate(self, request: Request) -> Sequence[Completion]:
        tokens = read_puzzle(request)
        longest = self._loaded().longest
        if len(tokens) >= longest:
            reason = f"the puzzle has {len(tokens)} words, and nano takes {longest - 1}"
            raise RequestFailed("context_length", reason, retryable=False)
        room = min(_limit(request.sampling), longest - len(tokens))
        return await self._batcher.put([Row(tokens, seed, room, request.sampling) for seed in request.seeds])

    async def close(self) -> None:
        self._batcher.close()
        if self._numpy_threads is not None:
            self._numpy_threads.restore_original_limits()

    def _loaded(self) -> Transformer:
        """Load the transformer on first use, so that checking options stays cheap."""
        if self._model is None:
            from threadpoolctl import threadpool_limits

            from markscheme.nano import load

            self._model = load()
            # The matrices are small. If numpy's own threads shared them, each product would wait for the slowest
            # thread, spinning: twice the processor time for nothing on idle cores, and many times the wall time on busy
            # ones.
            self._numpy_threads = threadpool_limits(1, user_api="blas")
        return self._model

    def _generate(self, rows: Sequence[Row]) -> list[Completion]:
        """Complete rows with the same sampling options; prompts of equal length run together."""
        by_length: dict[int, list[int]] = defaultdict(list)
        for place, row in enumerate(rows):
            by_length[len(row.tokens)].append(place)
        completions: dict[int, Completion] = {}
        for places in by_length.values():
            completions |= zip(places, self._complete([rows[place] for place in places]), strict=True)
        return [completions[place] for place in range(len(rows))]

    def _complete(self, rows: Sequence[Row]) -> list[Completion]:
        import numpy as np

        from markscheme.nano.transformer import generate

        sampling, room = rows[0].sampling, rows[0].room  # equal lengths leave equal room
        written = generate(
            self._loaded(),
            [row.tokens for row in rows],
            np.stack([np.random.default_rng(row.seed).random(room, dtype=np.float32) for row in rows]),
            end=EOS,
            temperature=sampling.temperature or 0.0,
            top_k=sampling.top_k,
            top_p=sampling.top_p,
            given_up=lambda: self._batcher.closed,
        )
        return [_completion(row, tokens) for row, tokens in zip(rows, written, strict=True)]


def read_puzzle(request: Request) -> list[int]:
    """Return the tokens of the puzzle in a request; refuse anything that is not a puzzle or has unknown numbers."""
    text = request.prompt.messages[-1].content
    tokens = encode(text)
    words = [VOCABULARY[token] for token in tokens[1:]]
    if not _is_puzzle(tokens):
        reason = (
            f"nano can only play Countdown, and {request.problem_id} is not a Countdown puzzle; choose another model"
        )
        raise RequestFailed("not a puzzle", reason, retryable=False, fatal=True)
    stated = re.findall(r"\d+", text.partition("?")[0])
    if stated != [word for word in words if word.isdigit()] or not _QUESTION.fullmatch(" ".join(words)):
        reason = f"nano cannot read {request.problem_id}: it knows whole numbers from 0 to {LARGEST} and one target"
        raise RequestFailed("not readable", reason, retryable=False)
    return tokens


def _is_puzzle(tokens: Sequence[int]) -> bool:
    """Return whether there is a target and a question."""
    return {">", "?"} <= {VOCABULARY[token] for token in tokens}


def usable_cores() -> int:
    """Return the number of cores this process may use; Ray and batch systems set `OMP_NUM_THREADS`."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(int(threads) if threads.isdigit() else allowed, MOST_CORES))


def _limit(sampling: Sampling) -> int:
    return min(sampling.max_tokens or MOST_TOKENS, MOST_TOKENS)


def _completion(row: Row, tokens: list[int]) -> Completion:
    """Cut the text at its end token, a stop text or the limit."""
    text = decode(tokens)
    ends = [at for stop in row.sampling.stop if (at := text.find(stop)) >= 0]
    return Completion(
        text=text[: min(ends)] if ends else text,
        finish_reason="stop" if ends or tokens[-1] == EOS else "length",
        prompt_tokens=len(row.tokens),
        completion_tokens=len(tokens),
        model="markscheme-nano",
    )
