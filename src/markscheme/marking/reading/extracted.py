"""An answer as it stands in a response: its text, where it stands, and in which form it was stated."""

from __future__ import annotations

from typing import NamedTuple

MAX_CONTENT = 100_000  # an answer that has not ended after so many characters is none; looking on would only cost time
TRIES = 64  # how many candidates are looked at from the end: an answer before so many non-answers is no final answer


class ExtractedAnswer(NamedTuple):
    """An answer as it stands in the text. `parts` are the boxes of a list that stands in several boxes."""

    content: str
    start: int
    end: int
    form: str  # boxed, json, tagged …: the name of the rule
    parts: tuple[str, ...] = ()
    outer_end: int = 0  # where what encloses it ends, for forms that enclose


def trimmed(text: str, start: int, end: int, form: str) -> ExtractedAnswer:
    """The answer without the spaces around it."""
    content = text[start:end]
    start += len(content) - len(content.lstrip())
    content = content.strip()
    return ExtractedAnswer(content, start, start + len(content), form)
