r"""Whether a text ends in what it came to, as nearly every solution behind thinking does.

There models end in a box, an answer, a value in bold or a sentence that draws a conclusion: of 16,000 traces 60 came to an end
behind their thinking without an answer that is marked as one, while one in nine of the solutions that were cut there ended
in a sentence about some number.
"""

from __future__ import annotations

import re
from typing import Final

_FEW: Final = 3
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_BARE: Final = re.compile(
    r"\W{0,8}(?:\\[a-zA-Z]{1,8}[{( ]?)?(?:\d|[A-Ja-j]\W{0,6}\Z)|[^\s:：=]{1,20}\s?[:：=]\s?\S{1,20}\Z|\W{0,4}\\"
)
"""A text that begins with its value, or has one word and a sign that leads to it: `12 apples`, `x = 5`, `jibu: A`."""
_COMPLETE: Final = re.compile(r"(?:[.!。।！]|\*\*|[\]})$]|\d|\\\]|\\\)|%|°)[\"'”’*_)\s✅]{0,6}\Z")
_ABROAD: Final = (
    r"daher|somit|folglich|insgesamt|antwort|fazit|por\s(?:lo\s)?tanto|entonces|así\sque|en\stotal|respuesta|conclusión|donc|ainsi|par\sconséquent|réponse"
    r"|au\stotal|таким\sобразом|итак|значит|следовательно|ответ|всего|kwa\shi[vy]o|hivyo|jibu|portanto|assim|resposta|quindi|risposta|jadi|jawab\w*|sehingga"
)
_IN_OTHER_SCRIPTS: Final = (
    r"因此|所以|故|綜上|综上|结论|∴|\\therefore|したがって|よって|ゆえに|つまり|結論|答え|答[：:]|答案|ดังนั้น|สรุป|คำตอบ|সুতরাং|তাই|অতএব|উত্তর|কাজেই|కాబట్టి|అందువల్ల|అందుకే|సమాధానం"
    r"|इसलिए|अतः|उत्तर|لذلك|لذا|إذ[اًن]|وبالتالي|الإجابة|따라서|그러므로|정답"
)
"""Words with which other languages draw a conclusion or name the answer."""
_DRAWS: Final = re.compile(
    r"(?<![\w\\])(?:therefore|thus|hence|so|finally|consequently|in\s(?:conclusion|summary|total|all)|conclu\w+|answers?|altogether|overall|result(?!s)"
    rf"|also|logo|{_ABROAD})\b|{_IN_OTHER_SCRIPTS}|답",
    re.IGNORECASE,
)
_BOLD_VALUE: Final = re.compile(r"(?:\*\*|__)(?=[^*_\n]{0,80}\w)[^*_\n:：]{1,80}(?:\*\*|__)[^\n*#:：=]{0,120}\Z")
"""`Ann needs **16 pens** for her class.`"""
_HEADING: Final = re.compile(r"\n[ \t]{0,4}(?:#{1,6}\s|\*\*|\d{1,2}[.)]\s\*\*)([^\n]{1,80})\n{1,3}[^\n]{1,300}\Z")


def ends_in_result(tail: str) -> bool:
    """Whether the last sentence says what a text came to: it is all there is, or it concludes, or it has a value in bold."""
    body = tail.strip()
    if len(_WORD.findall(body)) <= _FEW and "\n" not in body and _BARE.match(body) and not body.endswith((":", "：")):
        return True
    if not _COMPLETE.search(body):
        return False
    line = body.rfind("\n", 0, max(len(body) - 2, 0)) + 1
    heading = _HEADING.search(body, max(0, len(body) - 400))
    if heading is not None and _DRAWS.search(heading[1]):
        return True
    return _DRAWS.search(body, _last_words(body, line)) is not None or _BOLD_VALUE.search(body, line) is not None


def _last_words(body: str, line: int) -> int:
    """Where the last line of words begins: a formula that is displayed belongs to the line before it."""
    at = line
    for _ in range(5):
        if at <= 0 or len(_WORD.findall(_COMMAND.sub("", body[at:]))) > _FEW:
            break
        at = body.rfind("\n", 0, at - 1) + 1
    return at


_COMMAND: Final = re.compile(r"\\[a-zA-Z]+")


CONCLUDES: Final = re.compile(
    r"(?<!\\)\b(?:therefore|thus|hence|so|finally|conclu\w+|answers?|final|total|altogether|in\sall|overall|result|means|consequently|must|only"
    r"|maximum|minimum|solutions?|is\s\*\*|should|equals|left(?!-|\s(?:side|hand))|remain\w*|there\s(?:are|is)"
    rf"|jumla|{_ABROAD})\b|{_IN_OTHER_SCRIPTS}|####|合計|మొత్తం",
    re.IGNORECASE,
)
"""The same for solutions without thinking, where more words are enough."""
_STRUCTURED: Final = re.compile(
    r"\\\(|\\\[|\*\*[A-Z\d]|^[ \t]{0,12}\d{1,2}\.\s|^#{1,6}\s|\$\$|\$[a-zA-Z\\(]", re.MULTILINE
)


def concludes_nothing(tail: str) -> bool:
    """Whether a worked solution in steps and formulas ends in one of them, without a word that draws a conclusion.

    Such solutions end in a box or in a "therefore"; of those that were cut where a sentence ends, most show only this.
    """
    body = tail.rstrip()
    last = _last_words(body, body.rfind("\n") + 1)
    if _SETS_OUT.match(body, last) or _SETS_OUT.match(body, last + last_sentence_end(body[last:-1])):
        return True
    if len(body) < _SHORT or len(_STRUCTURED.findall(body)) < 2:
        return False
    before = body[:last].rstrip()
    heading = before[before.rfind("\n") + 1 :]  # "## Answer", and below it "Ann needs **16 pens**."
    if CONCLUDES.search(heading) and _HEADS_AN_END.match(heading):
        return False
    return CONCLUDES.search(body, last) is None or _BECOMES.search(body, last) is not None


_HEADS_AN_END: Final = re.compile(
    r"\s*(?:\d{1,2}[.)]\s)?(?:#{1,6}\s|\*\*)(?!\W{0,4}(?:Step|Schritt|Étape|Paso|Шаг|第|步骤|ステップ)\s?\d)"
)
"""A heading that is not one of a step: `## Answer`, `3. **Final Answer**:`."""
_BECOMES: Final = re.compile(
    r"\b(?:constraint|condition|inequality|equation|system)s?\s(?:now\s)?(?:becomes?|reduces?\sto|turns?\sinto|can\sbe\s(?:re)?written)\b[^.\n]{0,40}:"
)
"""What is still to be solved, on a line of its own."""


_SETS_OUT: Final = re.compile(
    r"\s*(?:[-*]\s|\d{1,2}[.)]\s)?(?:We\sare\s(?:given|asked|told)\b"
    r"|(?:To\s[^.\n]{3,200},\s(?:we|let|I|you|follow|use|first)\b|We\s(?:start|begin|proceed|first|need)\b|I\s(?:need|start|begin)\b)[^\d=$\\]*\Z)"
)
"""`We are asked to find …`, `To find the area, we need the height.`: what is to be done, not what came of it."""


_SHORT: Final = 140


_SENTENCE_END: Final = re.compile(r"[.!?](?:\s|\Z)|[。！？।]")


def last_sentence_end(line: str) -> int:
    last = 0
    for stop in _SENTENCE_END.finditer(line):
        last = stop.end()
    return last
