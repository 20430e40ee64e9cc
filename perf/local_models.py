"""Random models for perf/local.py: every token is about equally likely, so lengths are geometric around a chosen mean.

`python perf/local_models.py FOLDER KIND SIZE MEAN` saves one, a Llama or another kind that transformers knows. A mean of 0
leaves it no end token: all answers are as long as they may be.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

VOCABULARY = 1000
SIZES = {  # hidden, layers, heads, inner: about 11 and 45 million parameters
    "11M": (384, 6, 6, 1024),
    "45M": (640, 9, 10, 1792),
}
KINDS = {  # beside a Llama: fewer heads for keys, one matrix for both ends, windows
    "Llama": {},
    "Qwen3": {"num_key_value_heads": 2, "head_dim": 64, "tie_word_embeddings": True},
    "Gemma3Text": {"num_key_value_heads": 2, "head_dim": 64, "sliding_window": 64, "tie_word_embeddings": True},
    "Mistral": {"num_key_value_heads": 2, "sliding_window": 64},
}


def make(folder: Path, kind: str, size: str, mean: int) -> Path:
    """Save model and tokenizer into `folder`."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import AutoModelForCausalLM, GenerationConfig, PreTrainedTokenizerFast

    import markscheme as ms

    ends = [f"<|end{number}|>" for number in range(VOCABULARY // mean if mean else 1)]
    # Whole words, so that a text has as many tokens when it is read again: peers give only the text.
    problems = ms.benchmark("gsm8k-sample")
    texts = [f"{one.statement} {one.solution}" for one in problems.problems]
    words = Counter(word for text in texts for word in re.findall(r"\w+|[^\w\s]+", text))
    listed = ["<|pad|>", *ends, "<|unknown|>", *(word for word, _ in words.most_common(VOCABULARY))]
    listed += [f"word{number}" for number in range(VOCABULARY)]
    model_of_words = models.WordLevel({word: at for at, word in enumerate(listed[:VOCABULARY])}, "<|unknown|>")
    splitter = Tokenizer(model_of_words)
    splitter.pre_tokenizer = pre_tokenizers.Whitespace()
    splitter.add_special_tokens(["<|pad|>", *ends])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=splitter, pad_token="<|pad|>", eos_token=ends[0], unk_token="<|unknown|>"
    )
    hidden, layers, heads, inner = SIZES[size]
    torch.manual_seed(0)
    config = getattr(import_module("transformers"), f"{kind}Config")(
        vocab_size=VOCABULARY,
        hidden_size=hidden,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        max_position_embeddings=8192,
        bos_token_id=None,
        pad_token_id=0,
        # A list, or none that can be drawn: token 0 is padding, and nobody ends there.
        eos_token_id=list(range(1, 1 + len(ends))) if mean else VOCABULARY + 1,
        **KINDS[kind],
    )
    model = AutoModelForCausalLM.from_config(config)
    model.generation_config = GenerationConfig(eos_token_id=config.eos_token_id, pad_token_id=0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    print(f"{sum(one.numel() for one in model.parameters()) / 1e6:.1f} million parameters")
    return folder


if __name__ == "__main__":
    make(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
