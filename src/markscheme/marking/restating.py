"""Detect answers that only restate the problem: `\\sqrt{242}` for "Simplify $\\sqrt{242}$".

Such an answer equals the gold only after the work that was the task. A formula of the statement can also be the answer, such
as `\\sqrt{53}` in "What is $\\sqrt{53}$ in simplest radical form?"; then the gold is written the same way.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Final

from markscheme.marking.equality.algebra.exact import Unreadable
from markscheme.marking.equality.read.cleaning import clean
from markscheme.marking.equality.read.tokens import scan
from markscheme.marking.equality.read.tree import flat, tree
from markscheme.marking.equality.read.vocabulary import words

ASKING: Final = words(
    "evaluate simplify factor factorise factorize expand solve convert compute calculate find determine express write rewrite "
    "reduce rationalise rationalize round estimate multiply divide add subtract work what how"
)
_CHOOSING: Final = re.compile(r"\bwhich of\b", re.IGNORECASE)  # the answer is in the statement
_LONGEST: Final = 10_000  # characters of a statement that are read
_LONGEST_FORMULA: Final = 2_000
_FEWEST_WORDS: Final = 5  # of a sentence
_MEASURES: Final = frozenset({"$", "%", "°"})
_FORMULA: Final = re.compile(
    r"\$\$([^$]{1,2000})\$\$|(?<!\\)\$((?:[^$\\]|\\.){1,2000})\$|\\\(((?:[^\\]|\\[^)(]){1,2000})\\\)|\\\[((?:[^\\]|\\[^\][]){1,2000})\\\]",
    re.DOTALL,
)
_RELATION: Final = re.compile(r"[=<>≤≥≈]|\\(?:leq?|geq?|lt|gt|neq?|approx|equiv)(?![a-zA-Z])")
_PROSE: Final = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{2,}|[,;:?!=]|\.(?!\d)")
_WORD: Final = re.compile(r"\w+")
_BRACED: Final = re.compile(r"\{ (\S+) \}")
_ZEROS: Final = re.compile(r"\A0+(?=\.\d)|\.0+\Z|(?<=\.)(\d*[1-9])0+\Z")
_SLASH: Final = re.compile(r"\b(\d+) / (\d+)\b")


def restates(answer: str, statement: str) -> bool:
    """True if an answer is a formula of the statement, one side of a formula, or a sentence."""
    statement, said = statement[:_LONGEST], _WORD.findall(answer[:_LONGEST].lower())
    if len(said) >= _FEWEST_WORDS and f" {' '.join(said)} " in f" {' '.join(_WORD.findall(statement.lower()))} ":
        return True
    written = writing(answer)
    return bool(written) and any(writing(formula) == written for formula in formulas(statement))


def asks_to_work_out(statement: str, words: frozenset[str] = ASKING) -> bool:
    """True if a statement asks for a calculation, not for a choice among given values."""
    statement = statement[:_LONGEST]
    return not words.isdisjoint(_WORD.findall(statement.lower())) and not _CHOOSING.search(statement)


def is_same_writing(answer: str, gold: str) -> bool:
    r"""True if two answers differ only in layout (`\dfrac12`, `\frac{1}{2}`), units or the name of an unknown."""
    if answer == gold:  # nearly always so, and much quicker
        return True
    answer, gold = answer[:_LONGEST], gold[:_LONGEST]
    one, two = writing(answer), writing(gold)
    return one == two if one or two else _WORD.findall(answer.lower()) == _WORD.findall(gold.lower())


def formulas(statement: str) -> Iterator[str]:
    for m in _FORMULA.finditer(statement):
        yield m[m.lastindex or 0]
        yield from _RELATION.split(m[m.lastindex or 0])
    yield from filter(str.strip, _PROSE.split(_FORMULA.sub(" , ", statement)))


def writing(text: str) -> str:
    """Return a formula as normalized tokens without words, units or a leading `x =`."""
    tokens = scan(clean(text[:_LONGEST_FORMULA]))
    with contextlib.suppress(Unreadable):  # then its tokens stay as they are
        tokens = flat(tree(tokens))
    kept = [t for t in tokens if t.kind != "x" and t.text not in _MEASURES]
    if len(kept) > 2 and kept[0].kind == "v" and kept[1].text in "=∈":
        kept = kept[2:]
    written = " ".join(_ZEROS.sub(r"\1", t.text) if t.kind == "n" else t.text for t in kept)
    return _SLASH.sub(r"frac \1 \2", _BRACED.sub(r"\1", written))
