"""An answer in a typeset form: its text, its position, and the form."""

from __future__ import annotations

from typing import Final, NamedTuple

MAX_CONTENT: Final = 100_000  # longest answer; a longer one is ignored
TRIES: Final = 64  # candidates examined, counted from the end


class ExtractedAnswer(NamedTuple):
    """An answer in the text. `parts` holds the boxes of a list in several boxes."""

    content: str
    start: int
    end: int
    form: str  # name of the rule: boxed, json, tagged …
    parts: tuple[str, ...] = ()
    outer_end: int = 0  # end of the enclosing form


def trimmed(text: str, start: int, end: int, form: str) -> ExtractedAnswer:
    """Return the answer without surrounding spaces."""
    content = text[start:end].lstrip()
    start = end - len(content)
    content = content.rstrip()
    return ExtractedAnswer(content, start, start + len(content), form)
