"""Reads the packaged sample sets for the tests of this folder, and the numbers that stand in a text."""

import inspect
import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import markscheme

FOLDER = Path(markscheme.__file__).parent / "datasets" / "samples"

Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    """All rows of one sample file, in order."""
    with (FOLDER / f"{name}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def number(text: str) -> int | Fraction:
    """`1,250`, `0.15` or `3/4` as an exact number."""
    value = Fraction(text.replace(",", ""))
    return value.numerator if value.denominator == 1 else value


def numerals(text: str) -> list[int | Fraction]:
    """Every number written in digits, in the order of the text; `7:40` is two."""
    return [number(found) for found in re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?(?:/\d+)?", text)]


class Confirmations(dict[str, Callable[..., Any]]):
    """The independent computations of one module, by the id of the problem that each one works out."""

    def of(self, row_id: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Registers the decorated function as the confirmation of `row_id`."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            assert row_id not in self, f"{row_id} is confirmed twice"
            self[row_id] = function
            return function

        return register


def missing_numerals(statement: str, confirm: Callable[..., Any]) -> set[str]:
    """The numbers of a statement that its confirmation never mentions: the two have drifted apart."""
    source = inspect.getsource(confirm)
    body = source[source.index("def ") :]  # without the decorator, whose id is a number too
    digits = re.compile(r"\d+(?:\.\d+)?")
    return set(digits.findall(statement)) - set(digits.findall(body.replace("_", "")))
