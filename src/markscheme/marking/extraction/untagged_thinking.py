"""Thinking whose marks are missing, as a chat template that opens `<think>` itself leaves it.

What such a text calculated last is not what it would have answered. It shows in how it opens, and in its second thoughts.
"""

from __future__ import annotations

import re
from typing import Final

_OPENS: Final = re.compile(
    r"\s*(?![^\n]{0,60}\bstep[- ]by[- ]step\b)(?:Hmm+\b|(?:Okay|Ok|Alright|All\sright|So|First|Well),?\s(?:so\b|first|I\s(?:need|have|want|should|must|will|know|see|can)\b|I'(?:m|ll)\b|let\sme\b"
    r"|let's\s(?:see|try|think|start|tackle|figure|look|dive|go)\b|(?:the|this)\s(?:problem|question)\b|we\shave\b)|Let\sme\s(?:think|see|try|figure|recall|parse|read)\b"
    r"|嗯|好的?，(?:我|让我(?!们)|首先|这)|让我(?!们)|我(?:需要|来|得)|首先，我(?:需要|得|要)|ええと|えっと|Bien,\s(?:d[ée]ja|veamos|voyons|je)|Vale,|(?:Primero|Bueno|A\sver),\s(?:necesito|tengo|voy|entiendo|déjame|veamos)"
    r"|(?:D'accord|Bon|Alors|D'abord),\s(?:je|voyons|laiss|il\sfaut)|(?:Okay|Also|Gut|Zuerst|Zunächst),?\s(?:ich|lass|muss|mal)|(?:Хорошо|Итак|Ладно|Сначала),\s(?:мне|я|давай)|음|자,)"
)
_HESITATES: Final = re.compile(
    r"\b(?:[Ww]ait,|Hmm+\b|[Hh]old\son|Alternatively,|(?:Okay|Alright),\s(?:so|let)\b|[Ll]et\sme\s(?:double|re-?c|verify|check|see|think|try|just|test|make)"
    r"|I\sthink\b|[Mm]aybe\sI\b|I\s(?:might|must)\shave\b|[Ss]ubiri,|[Nn]goja|[Tt]unggu,)"
)
_HESITATES_ABROAD: Final = re.compile(
    r"\b(?:[Ee]spera[,.]|[Dd]éjame|[Ww]arte,|Moment,|[Aa]ttend[sez]{1,2},|[Пп]одожди|[Пп]остой)|等等|等一下|等待，|再检查|再确认|我再|不对，"
    r"|待って|確認してみ|もう一度|অপেক্ষা কর|আবার (?:পরীক্ষা|ভাব|দেখ)|รอสักครู่|เดี๋ยวก่อน|ตรวจสอบอีก|잠깐|다시\s확인"
)
"""Looked for in texts with letters that English has not."""
_TWICE: Final = 2
_CIRCLE: Final = 40
_ROUNDS: Final = 5
"""Nobody says the last words of a text so often."""


def is_thinking(text: str, start: int, end: int, tail: str) -> bool:
    """Whether a text goes round in circles, or thinks aloud where no thinking was set apart (`start`)."""
    if tail.count(tail[-_CIRCLE:]) >= _ROUNDS:
        return True
    if start or hesitates(tail, _TWICE):
        return not start
    opens = _OPENS.match(text, start, min(end, 400)) is not None
    return opens and (end - start > _LONG or hesitates(tail) or not _COMPLETE.search(tail))


_LONG: Final = 1_200
_COMPLETE: Final = re.compile(r"\d[^.\n]{0,80}[.。*]{1,3}\Z")
"""A shorter text that ends in a sentence with a value may be a whole solution: `First, I need … The total is 24.`"""


def hesitates(said: str, times: int = 1) -> bool:
    """Whether a text has second thoughts, so many times."""
    found = len(_HESITATES.findall(said))
    if found < times and not said.isascii():
        found += len(_HESITATES_ABROAD.findall(said))
    return found >= times
