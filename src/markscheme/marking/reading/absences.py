"""Why a reply holds no answer, where it shows: a refusal, a content filter, an empty reply, or nothing but a tool call.

These become flags of the mark: a model that declined is not a model that was asked badly, and neither is one that erred.
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

_REFUSES: Final = re.compile(
    r"\W{0,4}(?:(?:I(?:'|’)?m|I\sam)\s(?:very\s)?(?:sorry|afraid|unable|not\sable)|I\s(?:apologi[sz]e|can(?:not|(?:'|’)t|\snot)|won(?:'|’)t)\b|Sorry,|As\san\sAI\b"
    r"|Unfortunately,\sI\s(?:can|am)|抱歉|对不起|很抱歉|Es\stut\smir\sleid|Lo\ssiento|Désolé|Je\ssuis\sdésolé|Извините|申し訳)",
    re.IGNORECASE,
)
_DECLINES: Final = re.compile(
    r"(?:can(?:not|(?:'|’)t|\snot)|unable|not\sable|won(?:'|’)t|decline)\s(?:to\s)?(?:\w{1,12}\s){0,2}(?:assist|help|answer|provide|comply|solve|do\sthat|fulfill|continue|complete)"
    r"|无法|不能|kann\s(?:ich\s)?nicht|no\spuedo|ne\speux\spas|не\sмогу|できません",
    re.IGNORECASE,
)
_CALLS: Final = re.compile(
    r"\s{0,40}(?:<tool_call>|<function_call>|<\|python_tag\|>|<\|tool_calls|\[TOOL_CALLS\]|```tool_c|\{\s{0,20}\"(?:name|function|tool)\"\s?:)"
)
_LONGEST_REFUSAL: Final = 800


def absence(text: str, response: Response | None = None) -> str | None:
    """What stands in the place of an answer; `None` for a reply like any other."""
    if response is not None and response.finish_reason == "content_filter":
        return FILTERED
    if not text or text.isspace():
        beside = " ".join(map(str, response.metadata)) if response is not None else ""  # names of fields of the message
        return TOOL_CALL if "tool" in beside else REFUSAL if "refusal" in beside else EMPTY
    if not text[0].isalnum() and _CALLS.match(text):
        return TOOL_CALL
    refuses = len(text) < _LONGEST_REFUSAL and _REFUSES.match(text) and _DECLINES.search(text)
    return REFUSAL if refuses else None
