"""nano's weights as a GGUF file, for llama.cpp: `python nano_gguf.py WEIGHTS FILE` (needs gguf, numpy, safetensors).

llama.cpp has no tokenizer of whole words found by a pattern. Each word becomes a piece of SentencePiece behind its space,
which reads `41 70 18 > 46 ?` as nano's own tokenizer does and writes the same words; the prompt has to be reduced to that.
"""

import json
import sys
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import load_file

NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
}  # fmt: skip
WHOLE = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}
TEMPLATE = "{{ messages[-1]['content'] }}"


def interleaved(weight, heads):
    """The rows of queries and keys as llama.cpp turns them: pairs side by side, where Hugging Face has two halves."""
    return weight.reshape(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def write(weights: Path, file: Path) -> None:
    """The whole model with its words."""
    config = json.loads((weights / "config.json").read_text())
    vocabulary = json.loads((weights / "tokenizer.json").read_text())["model"]["vocab"]
    out = gguf.GGUFWriter(file, "llama")
    out.add_context_length(config["max_position_embeddings"])
    out.add_embedding_length(config["hidden_size"])
    out.add_block_count(config["num_hidden_layers"])
    out.add_feed_forward_length(config["intermediate_size"])
    out.add_head_count(config["num_attention_heads"])
    out.add_head_count_kv(config["num_key_value_heads"])
    out.add_layer_norm_rms_eps(config["rms_norm_eps"])
    out.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    out.add_rope_dimension_count(config["head_dim"])
    words = sorted(vocabulary, key=vocabulary.get)
    out.add_tokenizer_model("llama")
    out.add_token_list([word if number < 3 else f"▁{word}" for number, word in enumerate(words)])
    out.add_token_scores([float(len(word)) for word in words])
    out.add_token_types([gguf.TokenType.CONTROL] * 3 + [gguf.TokenType.NORMAL] * (len(words) - 3))
    out.add_pad_token_id(0)
    out.add_bos_token_id(1)
    out.add_eos_token_id(2)
    out.add_unk_token_id(0)
    out.add_add_bos_token(True)
    out.add_add_space_prefix(True)
    out.add_chat_template(TEMPLATE)
    for name, weight in load_file(weights / "model.safetensors").items():
        weight = weight.astype(np.float32)
        if name not in WHOLE:
            _, _, layer, rest = name.split(".", 3)
            what = rest.removesuffix(".weight")
            if what in ("self_attn.q_proj", "self_attn.k_proj"):
                weight = interleaved(weight, config["num_attention_heads"])
        out.add_tensor(WHOLE.get(name) or f"blk.{layer}.{NAMES[what]}.weight", weight)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
