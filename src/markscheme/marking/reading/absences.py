"""Explain why a reply has no answer: a refusal, a content filter, an empty reply, or only a tool call.

The reason becomes a flag of the mark, so that refusals can be told apart from wrong answers.
"""

from __future__ import annotations

import re
from typing import Final

from markscheme.types import Response

REFUSAL: Final = "refusal"
FILTERED: Final = "content filter"
EMPTY: Final = "empty reply"
TOOL_CALL: Final = "tool call only"
ABSENCES: Final = (REFUSAL, FILTERED, EMPTY, TOOL_CALL)

_CALLS: Final = re.compile(
    r"\s{0,40}(?:<tool_call>|<function_call>|<\|python_tag\|>|<\|tool_calls|\[TOOL_CALLS\]|```tool_c|\{\s{0,20}\"(?:name|function|tool)\"\s?:)"
)
_VALUE: Final = re.compile(r"\d|\\[(\[]|\$|boxed")
_LONGEST_REFUSAL: Final = 800


def absence(text: str, response: Response | None = None) -> str | None:
    """Return the reason why a reply has no answer, or `None` for an ordinary reply."""
    if response is not None and response.finish_reason == "content_filter":
        return FILTERED
    if not text or text.isspace():
        beside = " ".join(map(str, response.metadata)) if response is not None else ""  # message fields
        return TOOL_CALL if "tool" in beside else REFUSAL if "refusal" in beside else EMPTY
    if not text[0].isalnum() and _CALLS.match(text):
        return TOOL_CALL
    return REFUSAL if len(text) < _LONGEST_REFUSAL and not _VALUE.search(text) and _refuses(text) else None


def _refuses(text: str) -> bool:
    """True if a text opens with a refusal and gives no value."""
    from markscheme.marking.reading import kinds  # load the lexicon only when it is needed
    from markscheme.marking.reading.lexer import lex

    lexed = lex(text, 0, len(text))
    return lexed.has(kinds.REFUSE, 0, 1) and not lexed.has(kinds.LETTER, 0, len(lexed.tokens))
