"""What perf/local.py measures beside whole commands, each in a process of its own.

`python perf/local_peers.py batching MODEL DTYPE PROMPTS SAMPLES MOST`: transformers' own continuous batching, by itself.
`python perf/local_peers.py ideal MODEL DTYPE PROMPTS SAMPLES TOKENS`: the prompts read once, and as many full batches of forward
passes as that many tokens need, with keys and values of their mean length; nothing is drawn and no row ever ends.
Both print how many tokens they made.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ROWS = 64


def prompts_of(file: str, tokenizer: Any) -> list[list[int]]:
    """The tokens of each prompt."""
    return [tokenizer.encode(json.loads(line)["prompt"]) for line in Path(file).read_text().splitlines()]


def batching(model: Any, prompts: list[list[int]], samples: int, most: int) -> int:
    """`generate_batch` on every sample."""
    hub: Any = import_module("transformers")
    config = hub.GenerationConfig(
        max_new_tokens=most, do_sample=True, temperature=1.0, top_k=0, use_cuda_graph=False,
        eos_token_id=model.generation_config.eos_token_id, pad_token_id=0,
    )  # fmt: skip
    answers = model.generate_batch(
        inputs=[prompt for prompt in prompts for _ in range(samples)],
        generation_config=config,
        continuous_batching_config=hub.ContinuousBatchingConfig(max_memory_percent=0.1),
        progress_bar=False,
    )
    return sum(len(one.generated_tokens) for one in answers.values())


def ideal(model: Any, prompts: list[list[int]], samples: int, tokens: int) -> int:
    """Full batches, read and written at the mean length."""
    import torch

    from markscheme.models.local.attention import Part, current
    from markscheme.models.local.cohorts import Cohort, Prefix
    from markscheme.models.local.loading import adopt

    forward, _ = adopt(model)
    assert forward is not None
    for prompt in prompts:
        current.parts = [Part(Prefix(prompt), 0, len(prompt))]
        forward(torch.tensor([prompt]), torch.tensor([range(len(prompt))]), torch.tensor([len(prompt) - 1]))
    length = round(sum(map(len, prompts)) / len(prompts) + tokens / len(prompts) / samples / 2)
    prefix = Prefix([5] * length)
    current.parts = [Part(prefix, 0, length)]
    forward(torch.tensor([prefix.tokens]), torch.tensor([range(length)]), torch.tensor([0]))
    prefix.done = length
    rows = min(ROWS, len(prompts) * samples)
    cohort: Cohort[int] = Cohort(rows, length, None)
    for row in range(rows):
        cohort.add(row, prefix)
    current.parts = [Part(cohort, 0, rows)]
    steps = -(-tokens // rows)
    for _ in range(steps):
        forward(torch.tensor([[5] * rows]), torch.tensor([[length] * rows]), torch.arange(rows))
    return steps * rows


def main(kind: str, folder: str, dtype: str, file: str, samples: str, number: str) -> None:
    """Load, do, print."""
    import torch

    torch.set_num_threads(1)
    hub: Any = import_module("transformers")
    model = hub.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
    prompts = prompts_of(file, hub.AutoTokenizer.from_pretrained(folder))
    with torch.no_grad():  # its continuous batching writes from another thread, which inference mode forbids
        print({"batching": batching, "ideal": ideal}[kind](model, prompts, int(samples), int(number)))


if __name__ == "__main__":
    main(*sys.argv[1:])
