"""A real Hugging Face Llama of a few thousand parameters, with a tokenizer and a chat template, made on the spot."""

import itertools
from pathlib import Path

TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def make_tiny_llama(folder: Path) -> Path:
    """Save model and tokenizer into `folder`; random weights from a fixed seed."""
    fast, size = _tokenizer(())
    _model(size, hidden_size=32).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def make_scripted_llama(folder: Path, pieces: list[str], **shape: int) -> Path:
    """One that answers every chat with the same `pieces`, each a token of its own: what comes next follows from the last token."""
    import torch

    fast, size = _tokenizer(pieces)
    model = _model(size, hidden_size=32 * -(-size // 32), **shape)
    ids = fast.convert_tokens_to_ids
    script = ["<|assistant|>", *pieces, "<|end|>"]
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if name.endswith(("o_proj.weight", "down_proj.weight", "lm_head.weight", "embed_tokens.weight")):
                weights.zero_()  # without them nothing is added to a token's own vector
        for token in range(size):
            model.model.embed_tokens.weight[token, token] = 1.0
        for before, after in itertools.pairwise(script):
            model.lm_head.weight[ids(after), ids(before)] = 10.0
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def _tokenizer(pieces):
    """Bytes, the marks of a chat, and `pieces` as whole tokens."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    specials = ["<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: index for index, token in enumerate(specials + letters)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(specials)
    tokenizer.add_tokens([AddedToken(piece, normalized=False) for piece in pieces])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<|pad|>", eos_token="<|end|>", chat_template=TEMPLATE
    )
    return fast, tokenizer.get_vocab_size()


def _model(vocab_size, hidden_size, **shape):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.set_num_threads(1)  # threads that wait for each other are slow where other tests run beside
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=hidden_size,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        eos_token_id=1,
        pad_token_id=0,
        bos_token_id=None,
        initializer_range=0.6,  # far from uniform, so that greedy and sampled text differ
        **shape,
    )
    return LlamaForCausalLM(config)
