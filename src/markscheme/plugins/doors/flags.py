"""Values of the doors' flags, refused where they are typed and under the name that was typed."""

from __future__ import annotations

import argparse


def positive(word: str) -> int:
    """A whole number of 1 or more."""
    try:
        value = int(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number") from None
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return value
