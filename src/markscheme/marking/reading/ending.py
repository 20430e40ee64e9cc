"""Whether a text ended, and with a stated answer: then it is judged, even if its thinking was never closed.

Of texts that broke off inside their thinking hardly any end in a whole sentence that states an answer; of those that
came to their end and forgot to close it nearly all do.
"""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.reading.clauses import ASSERTED
from markscheme.marking.reading.grammar import ANNOUNCED, CHOSEN, candidates
from markscheme.marking.reading.lexer import BOX, WORD, Lexed, lex
from markscheme.marking.reading.words import BIT

_REACH: Final = 600
"""Characters from the end in which the answer is stated."""
_THOUGHT: Final = 60
"""An answer with less before it is not the end of any thinking."""
_COMPLETE: Final = re.compile(r"(?:[.!?。！？।)\]}”\"'`$*>]|\\\])\s*\Z")
_TAGGED: Final = re.compile(r"</answer>|\"answer\"\s?:")


def ends_with_answer(text: str, start: int, end: int) -> bool:
    """Whether the last sentences of `text[start:end]` are complete, state an answer and do not doubt it."""
    begin = max(start, end - _REACH)
    if end - start < _THOUGHT or not _COMPLETE.search(text, max(begin, end - 40), end):
        return False
    lexed = lex(text, begin, end)
    stated = max(_last_stated(lexed), _last_tagged(text, begin, end))
    doubts = BIT["RETRACT"] | BIT["HEDGE"]
    return stated >= 0 and not any(
        token.kind == WORD and token.classes & doubts for token in lexed.tokens if token.start >= stated
    )


def _last_stated(lexed: Lexed) -> int:
    """Where the last answer begins that is boxed, announced or chosen; -1 without one."""
    found = [token.start for token in lexed.tokens if token.kind == BOX]
    for kind in ("letter", "value"):
        for each in candidates(lexed, kind):
            if each.mood == ASSERTED and (each.rank >= CHOSEN or each.rule in ANNOUNCED):
                found.append(lexed.tokens[each.value.first].start)
    return max(found, default=-1)


def _last_tagged(text: str, begin: int, end: int) -> int:
    return max((found.start() for found in _TAGGED.finditer(text, begin, end)), default=-1)
