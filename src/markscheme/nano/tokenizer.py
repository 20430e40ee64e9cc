"""The tokens of `nano`: numbers 0 to 999, four operators, brackets, and a few marks used in its reasoning.

A Countdown question is reduced to `41 70 18 35 > 46 ?`, since the words around the numbers carry no information.
`train/nano.py` writes the same rules to `tokenizer.json` for the Hugging Face libraries, and a test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

SPECIAL = ("<pad>", "<bos>", "<eos>")
SIGNS = (">", "?", "+", "-", "*", "/", "=", "(", ")", ",", ";", "<answer>", "</answer>")
LARGEST = 999
VOCABULARY = (*SPECIAL, *SIGNS, *map(str, range(LARGEST + 1)))
PAD, BOS, EOS = range(3)

# In order: the list of permitted signs in the question is not part of the puzzle; the target is announced by a word;
# everything after the question mark is instructions.
REPLACEMENTS = ((r"\(\+, -, \*, /\)", ""), (r"target", ">"), (r"\?[\s\S]*", "?"))
# A comma directly after a number, as in "41, 70", only separates; the model's own commas are separate tokens.
WORD = r"</?answer>|(?<!\d)(?:0|[1-9]\d{0,2})(?!\d)|[>?+\-*/=();]|(?<=\s),"

_REPLACEMENTS = tuple((re.compile(pattern), text) for pattern, text in REPLACEMENTS)
_WORD = re.compile(WORD)
ID = {word: index for index, word in enumerate(VOCABULARY)}


def encode(text: str) -> list[int]:
    """Return the tokens of a text. Anything that is not a token is skipped, including larger numbers."""
    for pattern, replacement in _REPLACEMENTS:
        text = pattern.sub(replacement, text)
    return [BOS, *(ID[word] for word in _WORD.findall(text))]


def decode(tokens: Iterable[int]) -> str:
    return " ".join(VOCABULARY[token] for token in tokens if token >= len(SPECIAL))
