"""Trains `nano`, the demonstration model: a small Llama-shaped transformer that solves Countdown.

    python train/nano.py --out WEIGHTS --exclude TEST.jsonl …          (needs `pip install markscheme[train]`)

The puzzles come from the package's own generator (`lessons.py`). First the model learns to write the steps of a
solution, with the numbers that are left after each, then the equation; after that, to see when an attempt has failed
and to begin again. Puzzles of the `--exclude` files, and those of `countdown-sample`, never enter. The same seed gives
the same weights on the same machine and torch version.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import torch
from lessons import LONGEST, Batch, Lessons
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordLevel
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from markscheme.benchmarks import benchmark
from markscheme.nano import tokenizer as words
from markscheme.types import CountdownGold

SHAPE = {"hidden_size": 128, "intermediate_size": 384, "num_hidden_layers": 5, "num_attention_heads": 4}
POSITIONS = 256
TOKENS = 6_000  # tokens of a batch of searches; a batch of direct lessons has about as many


def excluded_puzzles(files: list[Path]) -> list[CountdownGold]:
    """The puzzles of these files and of the sample that the package itself is shown on."""
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    rows += benchmark("countdown-sample").rows()
    return [CountdownGold(tuple(row["nums"]), row["target"]) for row in rows]


def new_model(seed: int) -> LlamaForCausalLM:
    """A fresh model of our shape."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(words.VOCABULARY),
        max_position_embeddings=POSITIONS,
        num_key_value_heads=SHAPE["num_attention_heads"],
        tie_word_embeddings=True,
        pad_token_id=words.PAD,
        bos_token_id=words.BOS,
        eos_token_id=words.EOS,
        rms_norm_eps=1e-5,
        **SHAPE,
    )
    return LlamaForCausalLM(config)


def hugging_face_tokenizer() -> PreTrainedTokenizerFast:
    """The rules of `markscheme.nano.tokenizer` in the form that the Hugging Face libraries read."""
    model = WordLevel({word: index for index, word in enumerate(words.VOCABULARY)})
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Replace(Regex(pattern), text) for pattern, text in words.REPLACEMENTS]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(words.WORD), behavior="removed", invert=True)
    tokenizer.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", words.BOS)])
    pad, bos, eos = words.SPECIAL
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=pad, bos_token=bos, eos_token=eos, model_max_length=POSITIONS
    )
    # The last message is the puzzle; a system prompt says nothing that the model could read.
    fast.chat_template = "{{ bos_token }}{{ messages[-1]['content'] }}"
    return fast


def save(model: LlamaForCausalLM, folder: Path) -> None:
    """Weights, configuration and tokenizer, as Hugging Face libraries of several years read them."""
    model.generation_config.max_new_tokens = LONGEST
    model.save_pretrained(folder)
    hugging_face_tokenizer().save_pretrained(folder)
    settings = folder / "tokenizer_config.json"
    # Version 5 of transformers writes a class name that version 4 does not know; both know this one.
    named = {**json.loads(settings.read_text()), "tokenizer_class": "PreTrainedTokenizerFast"}
    settings.write_text(json.dumps(named, indent=2) + "\n")


def learning_rate(step: int, steps: int, peak: float) -> float:
    """Warm up, then a cosine down to a twentieth."""
    warm = min(200, steps // 10 + 1)
    if step < warm:
        return peak * (step + 1) / warm
    progress = (step - warm) / max(1, steps - warm)
    return peak * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * progress)))


def teach(
    model: LlamaForCausalLM, stage: str, batch: Callable[[], Batch], steps: int, peak: float, log: TextIO
) -> None:
    """One stage of the training, with an optimizer of its own."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=peak, betas=(0.9, 0.98), weight_decay=0.01)
    began = time.time()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, steps, peak)
        rows, taught = (torch.from_numpy(array) for array in batch())
        logits = model(input_ids=rows[:, :-1]).logits
        wanted = rows[:, 1:]
        loss = torch.nn.functional.cross_entropy(logits[taught[:, 1:]], wanted[taught[:, 1:]])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0:
            minutes = round((time.time() - began) / 60, 2)
            line = {"stage": stage, "step": step, "loss": round(loss.item(), 4), "minutes": minutes}
            print(json.dumps(line), file=log, flush=True)


def train(args: argparse.Namespace) -> None:
    """Both stages: the loss to `loss.jsonl`, the model at the end of each."""
    torch.set_num_threads(args.threads)
    model = new_model(args.seed)
    print(f"{model.num_parameters():,} parameters")
    excluded = excluded_puzzles(args.exclude)
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "loss.jsonl").open("w") as log:
        direct = Lessons(args.seed + 1, excluded, args.share_of_four)
        teach(model, "direct", lambda: direct.direct(args.batch), args.steps, args.rate, log)
        save(model, args.out)
        searches = Lessons(args.seed + 2, excluded, args.share_of_four)
        teach(model, "search", lambda: searches.searching(TOKENS), args.search_steps, args.search_rate, log)
        save(model, args.out)


def arguments(about: str) -> argparse.ArgumentParser:
    """What a training can be told; its defaults are those of the model that ships."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--exclude", type=Path, nargs="*", default=[], help="files of puzzles that must not be seen")
    parser.add_argument("--steps", type=int, default=5_000, help="of direct lessons")
    parser.add_argument("--batch", type=int, default=128, help="direct lessons at once")
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--search-steps", type=int, default=1_200)
    parser.add_argument("--search-rate", type=float, default=1e-3)
    parser.add_argument("--share-of-four", type=float, default=0.7)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    return parser


if __name__ == "__main__":
    train(arguments(__doc__ or "").parse_args())
