r"""The letter that a response chooses: `(B)`, `B.`, `Choice_B`, "the closest option is (I)", 故选B, up to ten letters.

Asked only where the gold is a letter. Announcements are one table; the last one in the response wins, and only without
any is a line that opens with a letter taken for the choice.
"""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.extraction.extracted import ExtractedAnswer, last_match

_LETTER: Final = r"(?P<letter>[A-Ja-j])(?![A-Za-z0-9'’]|\^|\s?(?:[=+/]|\*(?!\*)))"
_OPEN: Final = r"(?>(?:[\s*_$({\[（【《「\"'“`:：]|\\text(?:bf|rm|it)?\{|\\mathbf\{|\\mathrm\{|\\boxed\{|\\\(){0,8})"
_CAPITAL: Final = r"(?P<letter>[A-J])(?:(?![A-Za-z0-9'’]|\^|\s?(?:[=+/]|\*(?!\*)))|(?=[A-J]{1,4}(?![A-Za-z0-9])))"
_NOUN: Final = r"(?:answers?|options?|choices?|selection|alternatives?|statements?|respuestas?|réponse|Antwort|opción|ответ|вариант)"

_ANNOUNCEMENTS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # "The answer is (B)", "correct option: **B. 12**", "The closest option is (I)": simple-evals', MMLU-Pro's prompts.
        rf"(?i:{_NOUN})(?:\s(?i:to|for|among|from|that|which|here|of|matches|closest)[^.:\n]{{1,80}}?)?\s{{0,2}}+[*_]{{0,3}}+\s?"
        rf"(?:(?i:is|are|be|would\sbe|should\sbe|must\sbe|will\sbe|seems\sto\sbe|appears\sto\sbe|es|est|ist)\b|[:：=-])"
        rf"\s?(?:(?i:therefore|thus|clearly|likely|probably|most\slikely|definitely|then|the|option|choice|answer|letter|alternative|number|la|le|die)\s){{0,4}}{_OPEN}{_CAPITAL}",
        # "Option B is correct", "(B) is the right answer", "choice B fits best".
        rf"(?:(?i:option|choice|answer|alternative)\s{{0,2}}+)?{_OPEN}{_CAPITAL}[\s)\]}}*_.:]{{0,6}}+(?:[^.\n]{{0,60}}?\s)?(?i:is|would\sbe|seems|must\sbe|fits)\s(?:(?i:the|our|therefore|thus|also|most|likely|probably|indeed)\s){{0,3}}"
        rf"(?i:correct|right|best|closest|answer|true|solution)\b(?!\s(?i:if|when|only))",
        # "I choose C", "select option D", "we pick (A)", "mark B".
        rf"(?i:\b(?:choose|select|pick|chose|selected|go\swith|goes?\sfor|corresponds?\sto|matches|mark))\s(?:(?i:the|option|choice|answer|letter|with)\s){{0,3}}{_OPEN}{_CAPITAL}",
        # `Choice_B`, `Option_C`, `choice: d`: how instruction-tuned models name the field.
        rf"(?i:\b(?:choice|option|answer))[_ ]?[:：_]\s?{_OPEN}{_LETTER}",
        # 故选B, 答案是B, 【答案】 B, 应选 (C): how Chinese solutions end; GAOKAO-Bench, C-Eval, CMATH.
        rf"(?:故选|应选|所以选|因此选|选择|选|答案(?:选项)?|正确选项|正确答案|最终答案)(?>(?:应该|应|就|选项|选|项|[是为：:】\]\s>=]){{0,6}}){_OPEN}{_CAPITAL}",
        # 选项D正确, D选项是正确的, (B) 正确.
        rf"(?:选项|答案)?\s?{_OPEN}{_CAPITAL}[\s)）】\]*]{{0,4}}+(?:选?项|答案)?(?:的说法|的描述|的叙述)?(?:是|为)?\s?(?:最)?(?:正确|对的|符合题意)",
    )
)
_FIRST_LINE: Final = re.compile(
    rf"\s*(?>(?:[\s*_#>({{\[（【\"'`$]|\\text(?:bf|rm)?\{{|\\boxed\{{){{0,8}}){_LETTER}(?=[\s*_)}}\]）】\"'`$]*(?:[.:)）、\n]|\Z))"
)
_LAST_LINE: Final = re.compile(
    rf"(?>(?:[\s*_#>\-]|(?:So|Thus|Therefore|Hence|Answer|A|Ans|ANS|Final)[,:.]?\s)*){_OPEN}{_LETTER}(?P<close>[\s*_)}}\]）】\"'`$.,:;、。]*)(?P<rest>[^\n]{{0,300}})"
)
_OPTION: Final = re.compile(r"\W{0,4}([A-J])[).:]\s*\S")
_IN_BRACKETS: Final = re.compile(r"[(（\[]\s?(?P<letter>[A-J])\s?[)）\]]")
_CONTENT: Final = re.compile(
    rf"(?>(?:[\s*_(\[{{$（【\"'`]|\\(?:text|textbf|mathbf|mathrm|textrm|bold|rm|bf|boxed|[( ])|(?i:the|correct|final|answer|option|choice|is|alternative|letter|选项|答案|是|选)(?=[\s_:：({{A-J])|[:：_]){{0,12}}){_LETTER}"
    rf"(?P<after>[\s*_)}}\]）】\"'`$.,:;、。\\]*)(?P<rest>.*)",
    re.DOTALL,
)
_ANOTHER: Final = re.compile(
    r"[\s*_)}\]）】.,]*(?:,|、|，|and|or|&|和|或|与|/)\s{0,3}[(（]?[A-J](?![A-Za-z0-9'’])|[A-J]{1,4}(?![A-Za-z0-9'’])"
    r"|[)）]\s{0,3}(?:(?!because|since|not\b|as\b|is\b|but\b)[\w'-]{1,20}\s){1,4}[(（][A-J](?=[)）])"
)
"""A further letter: `A and C`, `ACD`, `(B) wall (E) table`."""
_SEVERAL: Final = re.compile(
    r"(?>(?:[\s*_({\[$]|\\(?:text|textbf|mathbf|mathrm|rm|bf)\b){0,8})((?>[A-J](?:[\s,、，;；&和与及{}$()]|\\[,; ]|and\b){0,8}){2,10})[\s.。)}\]$*]*"
)


_BRACKETED: Final = re.compile(r"(?:left|text\s?\{)?\s?[(（]")


def letter_in(content: str) -> str | None:
    """The letter of a content that is a choice: `(B)`, `B. 12 apples`, `\\text{(C)}`, `Choice_B`, `B (6)`; of `A, C` both; `None` for `B=3`."""
    if len(content) > 2_000:
        return None
    if (several := _SEVERAL.fullmatch(content)) is not None:
        return re.sub(r"[^A-J]", "", several[1])
    choice = _CONTENT.fullmatch(content)
    if choice is None or _ANOTHER.match(content, choice.end("letter")):
        return None
    letter, after, rest = choice["letter"], choice["after"], choice["rest"]
    if rest and not re.search(r"[)\].:：、）】,]", after) and not _BRACKETED.match(rest):
        return None  # "A triangle", "B 12" are words and values, not a choice and its text
    if letter.islower() and rest and ")" not in after:
        return None
    return letter.upper()


def announced_letter(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """The letter that was announced last."""
    begin = max(start, end - _REACH)
    last: re.Match[str] | None = None
    for announcement in _ANNOUNCEMENTS:
        for match in announcement.finditer(text, begin, end):
            if last is None or match.start("letter") > last.start("letter"):
                last = match
    chosen = _extracted(text, last, end) if last is not None else None
    return None if chosen is not None and len(chosen.content) > 5 else chosen  # more is a list of all options


_REACH: Final = 6_000
"""How far before the end a choice may stand."""


_LONE: Final = re.compile(r"(?:\A|\n)[\s*_(\[]{0,8}(?P<letter>[A-J])(?:[\s*_)\].]{0,8}\Z|[.)]\s[^\n]{1,200}\Z(?<!\n))")


def lone_letter(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """A letter that is all of the last line, or opens a response of one line: nobody writes it for another reason."""
    tail = text[max(start, end - 240) : end].rstrip()
    line = max(tail.rfind("\n"), 0)
    lone = _LONE.match(tail, line)
    if lone is None or (lone["letter"] != tail[line:].strip(" *_()[].\n") and (line or len(tail) >= 240)):
        return None
    at = max(start, end - 240) + lone.start("letter")
    return ExtractedAnswer(lone["letter"], at, at + 1, "chosen")


def letter_of_lines(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """The letter that opens the last or the first line of a response that announces none."""
    finish = start + len(text[start:end].rstrip())
    line = max(text.rfind("\n", start, finish) + 1, start, finish - 2_000)
    last = _LAST_LINE.match(text, line, finish)
    before = text[max(start, line - 400) : line].rstrip().rpartition("\n")[2]
    listed = _OPTION.match(before) if _OPTION.match(text, line, finish) else None
    if last is not None and listed is not None and listed[1] != last["letter"]:
        return ExtractedAnswer(
            listed[1] + last["letter"], line, finish, "chosen"
        )  # a list of options chooses none of them
    if last is not None and (not last["rest"] or re.search(r"[)\]）】.:、]", last["close"])):
        return _extracted(text, last, finish)
    bracketed = last_match(_IN_BRACKETS, text, line, finish)
    if bracketed is not None:
        return _extracted(text, bracketed, finish)
    first = _FIRST_LINE.match(text, start, min(finish, start + 400))
    return _extracted(text, first, finish) if first is not None else None


def _extracted(text: str, match: re.Match[str], end: int) -> ExtractedAnswer:
    """The letter, with those it is listed with: of "A and C" both are the answer, which no single letter is."""
    letters, at = match["letter"].upper(), match.end("letter")
    while len(letters) < 10 and (more := _ANOTHER.match(text, at, end)) is not None:
        letters, at = letters + re.sub(r"[^A-J]", "", more[0]), more.end()
    return ExtractedAnswer(letters, match.start("letter"), at, "chosen")
