r"""The answer in which thinking ends that was never closed, or behind which nothing follows.

Some models forget the mark that closes their thinking, or give the answer before it. Only an answer made for the end counts:
a complete box or tag as the last thing, or a line "Answer: B". Of 1,110 traces that broke off within their thinking none ends
so, and of 1,800 that were cut there at random three do; "so the answer is 12" ends many of them.
"""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.extraction.boxes import last_box

_REACH: Final = 400
"""How far from the end such an answer may begin."""
_THOUGHT: Final = 60
"""Characters before the answer: a box and nothing else is no thinking that came to its end."""
_BEHIND: Final = re.compile(
    r"[\s$\\)\]]{0,4}(?:\\?text\{[^{}\n]{0,20}\}|[a-z%°]{1,12}|[\u3040-\u30ff\u4e00-\u9fff]{1,6})?[\s$\\\])}.*_。।!|✅-]{0,30}\Z"
)
"""What may stand behind a box: a unit, and what closes its formula."""
_LABEL: Final = (
    r"(?:\A|\n)[\s*_#>✅\"']{0,12}(?:(?:The\s)?(?:[Ff]inal\s|[Cc]orrect\s|FINAL\s)?(?:[Aa]nswer|ANSWER)|[Jj]ibu|(?:চূড়ান্ত\s)?উত্তর|答え|最終的な答え|(?:最终)?答案"
    r"|Antwort|Réponse(?:\sfinale)?|Respuesta(?:\sfinal)?|Resposta(?:\sfinal)?|Ответ|คำตอบ|సమాధానం|정답|답|Jawaban)[\"'*_]{0,4}\s?"
)
_STATED: Final = re.compile(
    _LABEL
    + r"(?:[:：]|\n|(?<=swer)\sis\b|は)[\s*_\"'$(\\:：]{0,12}(?:[Tt]he\s(?:final\s|correct\s)?answer\sis[:\s*_$(]{1,6})?"
    r"(?:[A-J](?:[.):]\s[^\n]{1,80})?|[-−]?\d[\d.,/]{0,20}(?:\s?[^\W\d_]{1,12}){0,2})[\s*_\"'$)\\.。।%]{0,8}\Z"
)
"""`**Answer**: A`, `Final Answer: The final answer is B.`, "Answer:" above a value; not words, which may go on."""
_TAG: Final = re.compile(r"<(?:answer|ans|solution)>[^<>]{1,200}</(?:answer|ans|solution)>\W{0,8}\Z")
_LETTER: Final = re.compile(r"[.:!?]\s{0,2}\n+\W{0,3}[A-J]\W{0,3}\Z")


def closing_answer(text: str, start: int, end: int, *, closed: bool = False) -> int | None:
    """Where the answer begins in which `text[start:end]` ends; a letter on a line of its own is one where the thinking was
    `closed` behind it, and may be the first of a word where it was not."""
    begin = max(start + _THOUGHT, end - _REACH)
    if begin >= end:
        return None
    tail = text[begin:end].rstrip()
    box = last_box(tail, 0, len(tail))
    if box is not None and box.outer_end and tail[box.outer_end - 1] == "}" and _BEHIND.match(tail, box.outer_end):
        return begin + tail.rfind("\n", 0, box.outer_start) + 1
    stated = _TAG.search(tail) or _STATED.search(tail)
    if stated is None and closed:
        stated = _LETTER.search(tail)
    return None if stated is None else begin + stated.start()
