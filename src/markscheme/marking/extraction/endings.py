r"""Whether a response breaks off: in the middle of a formula, a box, a list or a sentence.

Servers do not always say why they stopped. A text that breaks off has concluded nothing, so that only an answer that
was stated before counts. Looks at the last two thousand characters, and at nothing that a finished text may end in.
"""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.extraction.open_formulas import WINDOW, in_box, in_brackets, in_formula
from markscheme.marking.extraction.sections import ResponseSections

_ENDS_OPEN: Final = re.compile(
    r"[,(\[{=+×·:;&\\<>≤≥^_/∈→⇒|－（【「《，、：；]\Z|(?<![\w)}\]*])[-*−]\Z|(?<!\S)[-−$]\Z|<<[^<>\n]{0,80}\Z"
    r"|\\(?:d?frac|sqrt|cdot|times|left|right|text|boxed|begin|end|quad|leq|geq|approx|implies|Rightarrow"
    r"|b(?:o(?:xe?)?)?|d?f(?:ra?)?|te?x?|sq?r?|lef?|c(?:do?)?|tim?)\Z"
)
"""An operator, an opening bracket, a command that takes an argument, or the first letters of one."""
_SHORT_ENDS_OPEN: Final = re.compile(
    r"[=+×·^({\\]\Z|<<[^<>\n]{0,80}\Z|\\box?e?d?\Z|\b(?:the|a|an|of|to|and|is|are|by|with|that|than|per|we|where)\Z"
)
_ENDS_WELL: Final = re.compile(r"(?:[.!?。！？।…\"'”’)\]}）】」』`%°$€£¥]|\\\]|\\\)|:\)|\w\s?[²³])[*_~\s]*\Z")
_LEADS_TO_A_FORMULA: Final = re.compile(
    r"\b(?:by|since|minus|plus|that|with|from|let|when|if|where|because)\s(?:\$[^$\n]{1,80}\$|\\\([^()\n]{1,80}\\\))\Z",
    re.IGNORECASE,
)
_LIST_MARK: Final = re.compile(r"(?:[-*•]|\*{0,2}\d{1,2}[.)]|#{1,6}|\*\*)\s?\*{0,2}")
_HEADING: Final = re.compile(
    r"\s*(?:#{1,6}\s(?![-$\\]?\d)|\*\*?(?:Step|Case|Part)\s|Step\s\d{1,2}\b|Case\s\d{1,2}\b)(?![^\n]*\d[^\n]*\.\Z)[^\n=]*\Z"
)
_WORDS: Final = re.compile(r"[^\W\d_]{2,}")
_SENTENCE_END: Final = re.compile(r"[.!?](?:\s|\Z)|[。！？।]")
_CONNECTING: Final = re.compile(
    r"\b(?:the|a|an|of|to|and|or|is|are|was|were|be|in|on|at|by|for|with|from|that|which|this|these|we|it|its|so|then|than|as|if|when"
    r"|because|since|has|have|had|will|can|must|let|where|but|each|both|into|using|also|get|gives|find|need|their|his|her|our)\Z",
    re.IGNORECASE,
)
_POLITE: Final = re.compile(
    r"(?:I\shope|Let\sme\sknow|Is\sthere\sanything|Do\syou\s(?:want|have)|Would\syou\slike|If\syou\shave|Feel\sfree|Please\slet)[^\n]{0,200}\Z"
)
"""What a chat model says behind its answer, as a line of its own."""
_BEHIND_A_RULE: Final = re.compile(r"\n---\s{1,4}[^\x00-\u024f][^\n\d=:*#]{1,200}[.?!।。]\Z")
"""The same in other scripts, behind a horizontal rule."""
_OPENS_JSON: Final = re.compile(
    r"[^\n{]{0,120}\s{0,4}(?:```\s?(?:json)?\s{0,4})?\{\s{0,20}\"[a-z_ ]{1,30}\"\s?:", re.IGNORECASE
)
_STATED_LAST: Final = re.compile(
    r"(?:ANSWER|nswer|####|\nA)(?:\sis)?:?[*\s]{0,4}[-$]{0,2}\d[\d.,/]{0,15}%?(?:\s[mb]illion|\sthousand)?[.*]{0,3}\Z"
)
_OPENS_FENCED: Final = re.compile(r"```\s?json\s{0,4}\{[^`]*\Z")
_SHORTEST: Final = 80
"""A shorter response that ends in a word or a value is an answer as it stands."""


def is_cut_off(sections: ResponseSections) -> bool:
    """Whether a response did not end by itself: as its server says, or as its text shows.

    A model that went on to invent a next question had ended before; what was cut off is the invention. Where the server says
    that the model stopped by itself, a missing full stop is style; within a formula or after "the" a stop string cut it.
    """
    if sections.end < sections.sequel_end:
        return False
    return sections.cut_off or breaks_off(sections.text, sections.start, sections.end, ended=sections.ended)


def is_stub(sections: ResponseSections) -> bool:
    """Whether a whole response is a few words that only open a sentence, "To find": as an answer they are wrong, but they
    may be one ("The empty set"), so this is asked when they turned out not to be."""
    tail = sections.text[sections.start : min(sections.end, sections.start + _SHORTEST)].strip()
    return not sections.ended and sections.end - sections.start < _SHORTEST and _lacks_its_end(tail)


def breaks_off(text: str, start: int, end: int, *, ended: bool = False) -> bool:
    """Whether `text[start:end]` stops before it has said what it was saying."""
    tail = text[max(start, end - WINDOW) : end].rstrip()
    if _STATED_LAST.search(tail, max(0, len(tail) - 40)):  # most texts that end in an answer, at a tenth of the cost
        return False
    if not tail:
        return 0 < start < end and not ended  # thinking that was closed, and a new line for an answer
    if _breaks(text, start, end, tail):
        return True
    after = text[max(start, end - 40) : end]
    blank = after[len(after.rstrip()) :]
    # a blank line, the indent of the next one, or Markdown's sign that the line goes on
    left_open = "\n" in blank[:-1] or blank == "  \n"
    return not ended and (_trails_off(tail, left_open=left_open, thought=start > 0) or _wanders(tail, start))


def _wanders(tail: str, start: int) -> bool:
    """Whether a text goes round in circles, or is thinking whose marks are missing, as a chat template that opens `<think>`
    itself leaves it: what it calculated last is not what it would have answered."""
    return (not start and len(_HESITATES.findall(tail)) > 1) or tail.count(tail[-_CIRCLE:]) >= _ROUNDS


_CIRCLE: Final = 40
_ROUNDS: Final = 5
"""Nobody says the last words of a text so often."""


_HESITATES: Final = re.compile(
    r"\b(?:[Ww]ait,|Hmm+\b|[Hh]old\son|Alternatively,|(?:Okay|Alright),\s(?:so|let)\b|[Ll]et\sme\s(?:double|re-?c|verify|check|see|think|try|just|test|make)"
    r"|I\sthink\b|[Mm]aybe\sI\b|I\s(?:might|must)\shave\b)"
)


def may_be_whole(sections: ResponseSections) -> bool:
    """Whether a text that seems to break off only lacks its full stop or a word of conclusion: then its last value counts
    if it is right, for people write `5 x 9 = 45 apples in all` too, and is nobody's wrong answer if it is not. Among
    formulas, a text without its full stop was cut."""
    text, start, end = sections.text, sections.start, sections.end
    tail = text[max(start, end - WINDOW) : end].rstrip()
    plain = "\\" not in tail and tail.count("$") == len(_AMOUNTS.findall(tail))
    closed = plain or tail.endswith((".", "。", "।", "**", "$", "\\]", "\\)")) or _DRAWS.search(tail) is not None
    line = tail[tail.rfind("\n") + 1 :]
    few = len(_WORDS.findall(line)) < _FEW and not (_OPENS.match(line) or line.startswith(("A ", "An ")))
    stated = few or _VALUE.search(line, _last_sentence_end(line.rstrip("$*_. "))) is not None
    if not (closed and stated) or sections.cut_off or _is_unclosed(line) or _breaks(text, start, end, tail):
        return False
    if _wanders(tail, start):
        return tail.endswith(".") and _DRAWS.search(tail) is not None
    return _INDENT.search(text, end - 12, end) is None


_INDENT: Final = re.compile(r"\n[ \t]{2,}\Z")
"""A next line was begun."""
_FEW: Final = 4
"""A last line of fewer words may be the answer itself."""
_DRAWS: Final = re.compile(
    r"\n\W{0,4}(?:Therefore|Thus|Hence|So|Finally|In total)\b[^\n]{0,200}\Z|[故所]以?[^\n。]{0,80}\Z"
)
"""A last line that draws a conclusion."""
_VALUE: Final = re.compile(r"\d|\\(?:pi|sqrt|infty|text)\b")
_AMOUNTS: Final = re.compile(r"\$(?=\$?\s?(?:<<)?[\d.])|(?<=\d)\$")


def _breaks(text: str, start: int, end: int, tail: str) -> bool:
    """Whether a text stops where nothing can stop: within a formula, a box, a list, after "the" or an operator."""
    if tail[-1:] not in ("}", "`") and (_OPENS_JSON.match(text, start, end) or _OPENS_FENCED.search(tail)):
        return True
    if _is_short(tail) and not start:
        return len(tail) > 20 and (_SHORT_ENDS_OPEN.search(tail) is not None or in_brackets(tail))
    line = tail[tail.rfind("\n") + 1 :]
    if in_formula(tail) or in_box(tail, start):
        return True
    if (
        _LIST_MARK.fullmatch(line.strip())
        or _is_next_number(tail, line)
        or (_HEADING.fullmatch(line) and "\n" in tail and "nswer" not in line)
    ):
        return "\n" in tail
    if _POLITE.match(line):
        return False
    bare = line.rstrip("*_~ ") or line
    if _RESULT_AT_END.search(bare.removesuffix(",") if bare[-2:-1].isalpha() else bare):
        return False
    if _ENDS_OPEN.search(bare) or _CUT_WORD.search(bare) or _LEADS_TO_A_FORMULA.search(bare):
        return True
    sentence = line[_last_sentence_end(line[:-1]) :]
    if _FRAGMENT.search(tail):
        return True
    if not _ENDS_WELL.search(line) and (_CONNECTING.search(line) or _OPENING.fullmatch(sentence.strip())):
        return len(_WORDS.findall(tail)) > 2
    return _ANNOUNCES_A_STEP.match(sentence) is not None


def _is_short(tail: str) -> bool:
    """Whether a text is an answer as it stands: short, and not the beginning of something in several sentences."""
    return len(tail) < _SHORTEST and not _OPENS_WORKING.match(tail)


def _lacks_its_end(tail: str) -> bool:
    """Whether a few words open a sentence, "The least possible", and neither end it nor state a value."""
    said = _ANNOUNCED.sub("", tail.lstrip(), count=1)
    if _ENDS_WELL.search(tail) or _VALUE.search(tail):
        return False
    return _is_unclosed(said) or _OPENS.match(said) is not None or (said != tail.lstrip() and len(said.split()) > 2)


_ANNOUNCED: Final = re.compile(r"\A[*#\s]{0,8}(?:(?:Final\s)?Answer|Réponse|Antwort|Respuesta)\s?:[*\s]{0,8}")


_OPENS_WORKING: Final = re.compile(
    r"[\s\S]{0,80}[\u4e00-\u9fff][：。，][\s\S]*\n|\s*(?:#{1,6}\s[^\n]*|\*\*[^*\n]+\*\*:?|(?:Step\s1|1\.\s|To\s|We\s|Given|Let)[^\n]*)\n"
)


def _trails_off(tail: str, *, left_open: bool, thought: bool) -> bool:
    """Whether a text of some length ends without a full stop, without a word of conclusion, or before a new paragraph.
    Behind thinking (`thought`) a few words that only open a sentence are no answer either."""
    if _is_short(tail):
        return thought and _lacks_its_end(tail)
    line = tail[tail.rfind("\n") + 1 :]
    if left_open and "nswer" not in line:
        return True
    if _POLITE.match(line) or _BEHIND_A_RULE.search(tail, max(0, len(tail) - len(line) - 8)):
        return _concludes_nothing(tail[: -len(line)].rstrip("-\n "))
    bare = line.rstrip("*_~ ") or line
    ends_well = _ENDS_WELL.search(line) and not (_ENDS_IN_FORMULA.search(bare) or _ENDS_IN_BRACKET.search(bare))
    return _is_unclosed(line) or (not ends_well and _lacks_its_stop(tail, line)) or _concludes_nothing(tail)


def _is_unclosed(line: str) -> bool:
    """Whether the last line opens bold type, or its last sentence a bracket, that it does not close."""
    if line.count("**") % 2 and _OPENS_BOLD.match(line, max(0, line.rfind("**") - 1)):
        return True
    sentence = line[_last_sentence_end(line[:-1]) :]
    return sum(map(sentence.count, "([{")) > sum(map(sentence.count, ")]}"))


_OPENS_BOLD: Final = re.compile(r"(?:^|[\s(])\*\*(?!\s)")


_FRAGMENT: Final = re.compile(r"[.!?:]\n{2,}[A-ZÀ-Þ][a-zß-ÿ']{0,20}\Z(?<![.\n][A-J])")
"""One word after a sentence and a blank line: a sentence that was begun. A single letter may be a choice."""
_CUT_WORD: Final = re.compile(r"\b(?:let|that|it|what|there|here|s?he|doesn|don|can|isn|won)['’]\Z", re.IGNORECASE)
_ENDS_IN_FORMULA: Final = re.compile(r"[\w,]\s(?:\$[^$\n]{0,80}[^$\n.]\$|\\\([^\n]{0,80}[^\n.]\\\))\Z")
"""Words and a formula within their line, which a full stop would follow."""
_ENDS_IN_BRACKET: Final = re.compile(
    r"[.!?]\s[A-Z][^.!?\n]{0,200}[\w,]\s\([^()\n]{1,80}\)\Z|\A(?!(?:[^\n]{0,400}[\s(])?['‘])[^\n]{1,400}\w['’]\Z"
)
"""A sentence and its bracket without a full stop; a word and half of its `'s`."""
_ANNOUNCES_A_STEP: Final = re.compile(
    r"\s*(?:(?:Now|Next|First|Then|So|Finally),?\s)?(?:let['’]?s|let\sus|let\sme|I(?:'ll|’ll|\sneed\sto)|we(?:'ll|’ll|\swill|\sneed\sto|\smust))\s(?!know)[^=\n]*\Z",
    re.IGNORECASE,
)
"""`Now, let's start with the first step.`: what follows is missing."""


def _is_next_number(tail: str, line: str) -> bool:
    """Whether the last line is only the number of the next step: `2. … 3`."""
    number = line.strip()
    return (
        len(number) < 3
        and number.isdecimal()
        and re.search(rf"^\s*{int(number) - 1}[.)]\s", tail, re.MULTILINE) is not None
    )


def _lacks_its_stop(tail: str, line: str) -> bool:
    """Whether the last line ends without a full stop, in a text that otherwise sets them, or has yet to say something."""
    stop = _last_sentence_end(line)
    sentence = line[stop:].strip()
    words = _WORDS.findall(sentence)
    if not _ALNUM.search(sentence) or "nswer" in sentence or "####" in line or _STATES.match(line):
        return False
    if _THAI.search(sentence) and _DIGIT.search(sentence) and _CONCLUDES.search(sentence):
        return False  # Thai sets no full stops
    if (stop and sentence) or _HALF_SAID.search(sentence):
        return True  # "… is 60. The formula": after a full stop on the same line, words open a sentence
    earlier = tail[: len(tail) - len(line)]
    if len(_HAN.findall(earlier)) > _MOSTLY:
        return "。" in earlier or "，" in earlier
    lines = [other for other in earlier.split("\n") if len(_WORDS.findall(other)) > 3]
    ended = sum(1 for other in lines if _ENDS_WELL.search(other) or other.rstrip("* ").endswith(":"))
    if ended * 2 > len(lines):
        return True
    if not words or _RESULT_AT_END.search(sentence):
        return False
    if ("=" not in sentence and _UNDONE.search(sentence)) or _goes_on(sentence, words):
        return bool(earlier) or len(words) > 11
    return (not lines and len(words) > 11) or (len(words) < 3 and len(earlier) > 100 and not _DIGIT.search(line))


def _goes_on(sentence: str, words: list[str]) -> bool:
    """Whether a sentence without a full stop has yet to say something: no number in it or behind its last one far to go,
    and no "is even" at its end."""
    number = _LAST_NUMBER.search(sentence)
    if number is None:
        return (len(words) > 2 or _OPENS.match(sentence) is not None) and not _SAYS_WHAT.search(sentence)
    return len(_WORDS.findall(sentence, number.start())) > 5


_HALF_SAID: Final = re.compile(
    r"(?:\d|\\\)|\$),\s(?!(?:as|too|respectively|inclusive)\b)[^\d$\\=,]{2,40}\Z"
    r"|^(?:Therefore|Thus|Hence|So|Finally|Next),?\s(?:the|each)\s(?![^\n]*(?:[=:]|\b(?:is|are|was|were|be|equals?|gives?|has|have|will|must|can)\b))"
)
"""A value and a clause that says none, or a subject without its verb."""
_ALNUM: Final = re.compile(r"\w")
_DIGIT: Final = re.compile(r"\d")
_STATES: Final = re.compile(r"\s*(?:A|Ans|Result)\s?:|\W{0,3}[A-J][.):]\s")
"""`A: 26`, `(C) the greatest distance`: a line that is the answer."""
_HAN: Final = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_THAI: Final = re.compile(r"[\u0e00-\u0e7f]")
_MOSTLY: Final = 10
"""Fewer signs of a script than this are a remark among another one."""
_UNDONE: Final = re.compile(r"\d\s?(?:[-+*×]|\s/\s)\s?[$]?\d[\d.,]*\Z")
"""Words and a calculation that is not worked out: `Ricky picks 10 - 2`."""
_LAST_NUMBER: Final = re.compile(r"(?:[\d$\\%°]|\*\*)(?=[^\d$\\%°*]*\Z)")
_SAYS_WHAT: Final = re.compile(r"\b(?:is|are|was|be|has|have|equals|no|not|yes)\s(?:\S+\s){0,2}\S+\Z", re.IGNORECASE)
_OPENS: Final = re.compile(
    r"(?:[-*]\s)?(?:Therefore|Thus|Hence|So|Next|Now|Then|First|Second|Third|Finally|Since|Here|Also|However|But|Substituting|He|She"
    r"|Simplifying|Given|Let|Using|For|If|When|We|This|The|It|In|From|By|To|Because|Note|Similarly|Adding|Solving|That|There|They)\b"
)
_OPENING: Final = re.compile(_OPENS.pattern + r"[,\s]*(?:we|the|let|it|this|there|each|let's|find|need|to|know|in)?\s*")
"""What only opens a sentence."""
_RESULT_AT_END: Final = re.compile(
    r"=\s?(?:<<[^<>]*>>)?[-$€£]{0,2}[\d.,/]{1,20}%?(?:\s?[a-zA-Z/%-]{1,20}){0,3}(?<![/-])\Z"
)
"""A calculation and what it comes to, with its unit: a statement, full stop or not."""


def _last_sentence_end(line: str) -> int:
    last = 0
    for stop in _SENTENCE_END.finditer(line):
        last = stop.end()
    return last


_CONCLUDES: Final = re.compile(
    r"(?<!\\)\b(?:therefore|thus|hence|so|finally|conclu\w+|answers?|final|total|altogether|in\sall|overall|result|means|consequently|must|only"
    r"|maximum|minimum|solutions?|is\s\*\*|should|equals|left(?!-|\s(?:side|hand))|remain\w*|there\s(?:are|is)"
    r"|daher|somit|folglich|insgesamt|antwort|por\s(?:lo\s)?tanto|entonces|respuesta|donc|ainsi|par\sconséquent|réponse|таким\sобразом|итак|значит"
    r"|следовательно|ответ|всего|kwa\shi[vy]o|hivyo|jibu|jumla|portanto|quindi)\b|因此|所以|故|綜上|综上|∴|\\therefore|####"
    r"|したがって|よって|ゆえに|答え|答[：:]|合計|ดังนั้น|สรุป|คำตอบ|সুতরাং|তাই|অতএব|উত্তর|কাজেই|కాబట్టి|అందువల్ల|అందుకే|సమాధానం|మొత్తం|इसलिए|अतः|उत्तर|لذلك|لذا|إذ[اًن]|وبالتالي|الإجابة|따라서|그러므로",
    re.IGNORECASE,
)
_STRUCTURED: Final = re.compile(
    r"\\\(|\\\[|\*\*[A-Z\d]|^[ \t]{0,12}\d{1,2}\.\s|^#{1,6}\s|\$\$|\$[a-zA-Z\\(]", re.MULTILINE
)


def _concludes_nothing(tail: str) -> bool:
    """Whether a worked solution in steps and formulas ends in one of them, without a word that draws a conclusion.

    Such solutions end in a box or in a "therefore"; of those that were cut where a sentence ends, most show only this.
    """
    body = tail.rstrip()
    last = _last_paragraphs(body)
    if _SETS_OUT.match(body, last) or _SETS_OUT.match(body, last + _last_sentence_end(body[last:-1])):
        return True
    if len(body) < _SHORT or len(_STRUCTURED.findall(body)) < 2:
        return False
    before = body[:last].rstrip()
    heading = before[before.rfind("\n") + 1 :]  # "## Answer", and below it "Ann needs **16 pens**."
    if heading.lstrip().startswith(("#", "**")) and _CONCLUDES.search(heading):
        return False
    return _CONCLUDES.search(body, last) is None or _BECOMES.search(body, last) is not None


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


def _last_paragraphs(body: str) -> int:
    """Where the last line of words begins: a formula that is displayed on its own belongs to the line before it."""
    at = len(body)
    for _ in range(6):
        at = max(body.rfind("\n", 0, at), 0)
        if not at or len(_WORDS.findall(re.sub(r"\\[a-zA-Z]+", "", body[at:]))) > 3:
            break
    return at
