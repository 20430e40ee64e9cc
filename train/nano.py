"""Trains `nano`, the demonstration model: a small Llama-shaped transformer that solves Countdown.

    python train/nano.py --out WEIGHTS --exclude TEST.jsonl …          (needs `pip install markscheme[train]`)

The puzzles come from the package's own generator, each once, with one of their solutions drawn by chance. The model
learns to write the steps with the numbers that are left after each, then the equation. Puzzles of the `--exclude`
files, and those of `countdown-sample`, never enter. The same seed gives the same weights on the same machine and
torch version.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordLevel
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from markscheme.countdown.expression import Tree, parse
from markscheme.countdown.generator import Demand, generate
from markscheme.countdown.solver import iter_solutions
from markscheme.datasets.packaged import read_sample
from markscheme.nano import tokenizer as words
from markscheme.types import CountdownGold

SHAPE = {"hidden_size": 128, "intermediate_size": 384, "num_hidden_layers": 5, "num_attention_heads": 4}
LONGEST = 64
"""Tokens of a puzzle with its solution."""
POSITIONS = 128
ENDLESS = 10_000_000
"""Puzzles asked of the generator: more than any training takes."""

Step = tuple[int, str, int, int]
"""`a sign b = c`"""


class Puzzles:
    """An endless supply of puzzles with a worked solution, as token rows."""

    def __init__(self, seed: int, excluded: list[CountdownGold], share_of_four: float) -> None:
        self._random = random.Random(seed)
        self._share_of_four = share_of_four
        self._three, self._four = (
            self._solved(generate(ENDLESS, Demand(sizes=(size, size)), seed=seed, exclude=excluded)) for size in (3, 4)
        )

    def batch(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Token rows and the mask of what the model is taught to write (the question is given, not learned)."""
        rows = np.full((size, LONGEST), words.PAD, dtype=np.int64)
        taught = np.zeros((size, LONGEST), dtype=bool)
        for index in range(size):
            question, answer = next(self._four if self._random.random() < self._share_of_four else self._three)
            rows[index, : len(question) + len(answer)] = question + answer
            taught[index, len(question) : len(question) + len(answer)] = True
        width = int(taught.any(axis=0).nonzero()[0].max()) + 1
        return rows[:, :width], taught[:, :width]

    def _solved(self, puzzles: Iterator[CountdownGold]) -> Iterator[tuple[list[int], list[int]]]:
        for puzzle in puzzles:
            solutions = [solution.expression for solution in iter_solutions(puzzle.nums, puzzle.target, whole=True)]
            self._random.shuffle(solutions)
            for solution in solutions:
                steps = worked(parse(solution).tree)
                if steps is not None:
                    yield encode_puzzle(puzzle), encode_solution(list(puzzle.nums), steps)
                    break


def worked(tree: Tree) -> list[Step] | None:
    """The steps that evaluate an expression, or nothing if one leaves the numbers that `nano` can say."""
    steps: list[Step] = []

    def value(node: Tree) -> int:
        if isinstance(node, int):
            return node
        if len(node) == 2:
            raise ValueError("a solution is written without negative steps")
        sign, left, right = node
        a, b = value(left), value(right)
        c = a + b if sign == "+" else a - b if sign == "-" else a * b if sign == "*" else a // b
        steps.append((a, sign, b, c))
        return c

    value(tree)
    return steps if all(0 <= step[3] <= words.LARGEST for step in steps) else None


def encode_puzzle(puzzle: CountdownGold) -> list[int]:
    """`<bos> 41 70 18 35 > 46 ?`"""
    return words.encode(f"{' '.join(map(str, puzzle.nums))} > {puzzle.target} ?")


def encode_solution(numbers: list[int], steps: list[Step]) -> list[int]:
    """Each step, what is left behind it, and at last the equation.

    `70 + 35 = 105 , 41 18 105 ; … <answer> … </answer> <eos>`
    """
    left = [(number, str(number)) for number in numbers]
    text = []
    for a, sign, b, c in steps:
        first = left.pop(next(i for i, (value, _) in enumerate(left) if value == a))
        second = left.pop(next(i for i, (value, _) in enumerate(left) if value == b))
        left.append((c, f"( {first[1]} {sign} {second[1]} )"))
        text.append(f"{a} {sign} {b} = {c}")
        if len(left) > 1:
            text.append(f", {' '.join(str(value) for value, _ in left)} ;")
    equation = left[0][1][2:-2]
    _, *tokens = words.encode(f"{' '.join(text)} <answer> {equation} </answer>")
    return [*tokens, words.EOS]


def excluded_puzzles(files: list[Path]) -> list[CountdownGold]:
    """The puzzles of these files and of the sample that the package itself is shown on."""
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    rows += read_sample("countdown-sample")[0]
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
    """Warm up over 200 steps, then a cosine down to a twentieth."""
    if step < 200:
        return peak * (step + 1) / 200
    progress = (step - 200) / max(1, steps - 200)
    return peak * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * progress)))


def train(args: argparse.Namespace) -> None:
    """The whole training: the loss to `loss.jsonl`, the model at the end and every 500 steps."""
    torch.set_num_threads(args.threads)
    model = new_model(args.seed)
    print(f"{model.num_parameters():,} parameters")
    puzzles = Puzzles(args.seed + 1, excluded_puzzles(args.exclude), args.share_of_four)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.rate, betas=(0.9, 0.98), weight_decay=0.01)
    args.out.mkdir(parents=True, exist_ok=True)
    began = time.time()
    with (args.out / "loss.jsonl").open("w") as log:
        for step in range(args.steps):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, args.steps, args.rate)
            rows, taught = (torch.from_numpy(array) for array in puzzles.batch(args.batch))
            logits = model(input_ids=rows[:, :-1]).logits
            wanted = rows[:, 1:]
            loss = torch.nn.functional.cross_entropy(logits[taught[:, 1:]], wanted[taught[:, 1:]])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if step % 50 == 0:
                line = {"step": step, "loss": round(loss.item(), 4), "minutes": round((time.time() - began) / 60, 2)}
                print(json.dumps(line), file=log, flush=True)
            if step % 500 == 499 or step == args.steps - 1:
                save(model, args.out)


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--exclude", type=Path, nargs="*", default=[], help="files of puzzles that must not be seen")
    parser.add_argument("--steps", type=int, default=5_000)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--share-of-four", type=float, default=0.7)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
