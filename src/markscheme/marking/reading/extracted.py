"""An answer in a typeset form: its text, its position, and the form."""

from __future__ import annotations

from typing import Final, NamedTuple

MAX_CONTENT: Final = 100_000  # an answer that has not ended after so many characters does not count
TRIES: Final = 64  # how many candidates are looked at from the end


class ExtractedAnswer(NamedTuple):
    """An answer in the text. `parts` are the boxes of a list in several boxes."""

    content: str
    start: int
    end: int
    form: str  # boxed, json, tagged …: the name of the rule
    parts: tuple[str, ...] = ()
    outer_end: int = 0  # the end of what encloses it


def trimmed(text: str, start: int, end: int, form: str) -> ExtractedAnswer:
    """The answer without the spaces around it."""
    content = text[start:end].lstrip()
    start = end - len(content)
    content = content.rstrip()
    return ExtractedAnswer(content, start, start + len(content), form)
