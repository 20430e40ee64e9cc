r"""The vocabulary of the tokeniser, from `vocabulary.toml`: commands, functions, constants, and which letters make a word."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

from markscheme.marking.reading.number_words import NUMBER_WORDS


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TABLES: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text("utf-8"))


def _by_name(table: dict[str, str]) -> dict[str, str]:
    return {name: meaning for meaning, names in table.items() for name in names.split()}


def _tokens(kinds: dict[str, dict[str, str]]) -> dict[str, tuple[str, str]]:
    return {name: (kind, text) for kind, table in kinds.items() for name, text in _by_name(table).items()}


def _set(name: str) -> frozenset[str]:
    return words(_TABLES["sets"][name])


FUNCTIONS: Final = _by_name(_TABLES["functions"])
INVERSE: Final[dict[str, str]] = _TABLES["inverse"]
COMMANDS: Final = _tokens(_TABLES["commands"])
_PLAIN: Final = _tokens(_TABLES["plain"])
_VARIANTS: Final[dict[str, str]] = _TABLES["variants"]
CONNECTIVES: Final = _by_name(_TABLES["joining"])
OF_SEVERAL: Final = _set("of_several")
GREEK: Final = _set("greek")
SKIPPED: Final = _set("skipped") | {" ", "\n", "\t"}
SPACING: Final = _set("spacing") | {" ", "\n", "\t"}
FRACTIONS: Final = _set("fractions")
BINOMIALS: Final = _set("binomials")
FONTS: Final = _set("fonts")
DISCARDED: Final = _set("discarded")
UPRIGHT: Final = _set("upright")
MATRICES: Final = _set("matrices")
SHORT_WORDS: Final = _set("short_words")

# From this character on a single letter is a word or a measure (或, 分, 歳), never the name of a variable.
_FIRST_SIGN: Final = "\u0900"
_AFTER_PI: Final = frozenset("rhlRHL")


def command(name: str) -> tuple[str, str] | None:
    """Return the token of a command without arguments, or None."""
    known = COMMANDS.get(name)
    if known is not None:
        return known
    if name in FUNCTIONS:
        return ("f", FUNCTIONS[name])
    if name in GREEK:
        return ("v", _VARIANTS.get(name, name))
    return None


def plain(run: str) -> list[tuple[str, str]]:
    """Return the tokens of letters written together outside `\\text`: a function, a constant, variables, or a word."""
    if len(run) == 1:
        return [("x" if run >= _FIRST_SIGN else "v", run)]
    known = _PLAIN.get(run)
    if known is not None:
        return [known]
    if run in FUNCTIONS:
        return [("f", FUNCTIONS[run])]
    if run in GREEK:
        return [("v", _VARIANTS.get(run, run))]
    if is_word(run):
        return [("x", run)]
    for size in (6, 5, 4, 3, 2):
        head, rest = run[:size], run[size:]
        if 0 < len(rest) <= 2 and (head in FUNCTIONS or head in _PLAIN):
            return [*plain(head), *plain(rest)]
    return [("v", letter) for letter in run]


def is_word(run: str) -> bool:
    """True if letters are a word rather than a product of variables such as `abc` or `xy`."""
    lower = run.lower()
    if lower in SHORT_WORDS or lower in NUMBER_WORDS:
        return True
    if not run.isascii() or len(run) > 6:
        return True
    if len(run) >= 4 and run.islower() and list(run) != sorted(run):
        return True  # a product of that many variables is written in order, `abcd`; "ways" and "balls" are words
    # Three letters or more with e, i, o or u: as variables those would be constants or are hardly ever used.
    if len(run) < 3 or not any(v in lower for v in "eiou") or lower.startswith("sqrt"):
        return False
    if lower.startswith("pi"):
        return len(run) > 3 and not _AFTER_PI.issuperset(run[2:])  # Pine and Pisa, but piRh
    return not any(lower[:size] in FUNCTIONS for size in range(len(run) - 2, len(run) + 1))  # sinxy, but not "single"
