r"""The value that a sentence states: in bold, else its last formula, else the number that was worked out.

A guess, as a reader makes it; whoever calls this has found nothing that is marked as the answer.
"""

from __future__ import annotations

import re

from markscheme.marking.extraction.extracted import ExtractedAnswer, last_match, trimmed
from markscheme.marking.extraction.meant_numbers import COUNTED, DENIED, WORKED_OUT, is_circumstance, meant_number
from markscheme.marking.extraction.number_words import NUMBER_RUN
from markscheme.marking.extraction.value_spans import is_money, value_span

MAX_SENTENCE = 2_000
"""Of a longer sentence only the end is read."""

_SCRIPTS = r"\u0400-\u04ff\u0590-\u06ff\u0900-\u0dff\u0e00-\u0e7f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af"
TELLING = re.compile(r"\d|\\[a-zA-Z]{2,}|\$|=|[½⅓⅔¼¾]|\b(?:is|are)\s+\*\*")
"""What a passage must hold to state a value."""

_WORD = re.compile(rf"(?<![\\A-Za-z{{])[A-Za-z]{{2,}}|[{_SCRIPTS}]")
_TEXT = re.compile(r"\\(?:text|textbf|textit|textrm|mbox|mathrm|operatorname)\s?\{[^{}]*\}")
_NO_PROSE = re.compile(
    r"or|and|sin|cos|tan|cot|sec|csc|log|ln|exp|sqrt|pi|inf|infty|oo|mod|max|min|gcd|lcm|det|deg|text|frac|cup|union"
    r"|cm|mm|km|kg|mg|ml|ft|in|mi|lb|oz|am|pm|hr",
    re.IGNORECASE,
)
"""Words that stand in formulas, and units."""
_VALUE_AND_UNIT = re.compile(
    r"\s*+[-+−]?[$€£¥₹]?\\?\$?[\d.,/]++\s*+(?>(?:%|\\%|[^\W\d_]++[23²³^]*+)?)(?>(?:\s++[^\W\d_]++){0,2})\s*+\.?\s*+"
)
_BOLD = re.compile(r"\*\*([^*\n]{1,200})\*\*")
_FORMULA = re.compile(
    r"\\\[((?>(?:[^\\]|\\[^\[\]]){1,1000}))\\\]|\\\(((?>(?:[^\\\n]|\\[^()\n]){1,1000}))\\\)|\$\$([^$]{1,1000})\$\$|(?<!\\)\$((?>(?:[^$\\\n]|\\.){1,500}))\$",
    re.DOTALL,
)
_BARE_NAME = re.compile(
    r"\s*(?:[A-Za-z](?:_\{?\w\}?)?|[a-z]\([a-z]\)|(?:\\(?:triangle|angle|overline)\s?\{?)?[A-Z]{2,4}\}?)[\s.,]*"
)
"""What only names something: `x`, `f(x)`, `\\triangle ABC`."""


def is_prose(line: str) -> bool:
    """Whether a line is a sentence around a value, rather than a value (with its unit)."""
    if _VALUE_AND_UNIT.fullmatch(line):
        return False
    words = 0
    for word in _WORD.finditer(_TEXT.sub("", line)):
        if not _NO_PROSE.fullmatch(word[0]):
            words += 1
            if words >= 2:
                return True
    return words == 1 and not line[:1].isdigit() and TELLING.search(line) is not None


def stated_value(text: str, begin: int, end: int) -> ExtractedAnswer:
    """The value that `text[begin:end]` states, or all of it when there is none to be found."""
    begin = max(begin, end - MAX_SENTENCE)
    left_open = text.startswith("between ", begin, end) or _LEFT_OPEN.search(text, begin, end)
    if left_open or UNDETERMINED.search(text, begin, end):
        return trimmed(text, begin, end, "concluded")
    undefined = _UNDEFINED.search(text, begin, end)
    if undefined is not None:
        return trimmed(text, *undefined.span(1), "concluded")
    bold = last_match(_BOLD, text, begin, end)
    if bold is not None and (
        TELLING.search(bold[1]) or _COPULA_BEFORE.search(text[max(begin, bold.start() - 8) : bold.start()])
    ):
        begin, end = bold.span(1)
        if not is_prose(bold[1]):
            return undelimited(text, begin, end)
    said = _predicate(text, begin, end)
    if said is not None:
        return said
    formulas = [found for found in _FORMULA.finditer(text, begin, end) if not (found[4] and is_money(found[4]))]
    telling = [found for found in formulas if not _BARE_NAME.fullmatch(found[found.lastindex or 0])]
    if formulas and (
        counted := _NUMBER_AT_END.match(text, formulas[-1].end(), end) or _GIVES.match(text, formulas[-1].end(), end)
    ):
        return trimmed(text, *counted.span(1), "concluded")
    counted = _COUNTED_FORMULA.match(text, begin, end) if formulas else None
    if counted is not None:
        return trimmed(text, *counted.span(1), "concluded")
    counted = COUNTED.match(text, begin, end) if formulas else None
    if (
        counted is not None
        and counted[1]
        and counted.end(1) <= formulas[0].start()
        and not _GOES_ON.search(text, counted.end(1), end)
    ):
        return trimmed(text, *counted.span(1), "concluded")
    asked = _TO_DO.match(text, begin, end) or (not formulas and _SETS_OUT.search(text, begin, end))
    if asked and not WORKED_OUT.search(text, begin, end):
        return trimmed(text, begin, end, "concluded")
    if formulas:
        stated = [
            found
            for found in telling
            if not (is_circumstance(text, begin, *found.span()) or _is_condition(text, found))
        ]
        if not telling and (named := meant_number(text, formulas[-1].end(), end)) is not None:
            return trimmed(text, *named, "concluded")  # "The value of $x$ that solves it comes out as 12."
        return _formulas(text, stated or telling or formulas)
    number = meant_number(text, begin, end)
    if number is None and not TELLING.search(text, begin, end):
        spelled = list(_SPELLED_COUNT.finditer(text, begin, end)) or list(_SPELLED.finditer(text, begin, end))
        number = spelled[0].span(spelled[0].lastindex or 0) if len(spelled) == 1 else None
    return trimmed(text, *(number or (begin, end)), "concluded")


_UNDEFINED = re.compile(
    r"(?:\$|\\\)|\b(?:value|limit|expression|slope|result))\sis\s(undefined|not\sdefined|indeterminate)[\s.*_]*\Z"
)
"""`$\\tan 90^\\circ$ is undefined.` says so, and not what the formula would come to."""
_SPELLED = re.compile(rf"(?<!\bthe\s)(?<!\bthese\s)(?<!\bthose\s){NUMBER_RUN.pattern}", re.IGNORECASE)
"""Not `of the three people`, which the sentence already knew."""
_SPELLED_COUNT = re.compile(
    rf"\b[Tt]here\s(?:are|is)\s(?:a\stotal\sof\s|only\s)?({NUMBER_RUN.pattern})(?![^\n]*,\sand\seach\s)", re.IGNORECASE
)
_GIVES = re.compile(
    r"(?:[^\n$\\]{0,80}?\b(?:gives?|giving|yields?|answer\sof)|\s(?:has|have))\s(?:us\s)?(?:exactly\s|a\stotal\sof\s)?([-−]?\$?\d[\d,]*(?:\.\d+)?)"
    r"(?:\s[a-z]+){0,4}[\s.]*\Z"
)
"""Behind the last formula, the number that its sentence gives: `… gives 125.`, `has 2 vertical asymptotes.`"""
_NUMBER_AT_END = re.compile(
    rf"[^，（(\n]{{0,200}}?[{_SCRIPTS}][\s:：]{{0,3}}([-−]?[$€£¥₹]?\d[\d,]*(?:\.\d+)?%?)(?:\s?[A-Za-zΩ°]{{1,5}})?\s?(?:[{_SCRIPTS}]{{1,10}}\s?){{0,2}}[.。।\s]*\Z"
)
"""Behind a formula in a sentence of another script, the number that it ends in: `$x$ का मान 3 है।`, `满足 $x>2$ 的数共有7个。`"""
UNDETERMINED = re.compile(
    r"(?:impossible|not\spossible|unable)\sto\s(?:determine|find|say|answer|know|calculate|provide)"
    r"|(?:not\s(?:enough|sufficient)|insufficient|does(?:\snot|n't)\s(?:provide|give|contain)(?:\sany)?(?:\senough|\ssufficient)?)\s(?:information|data|context|details)"
    r"|(?:cannot|can't|can\snot)\s(?:be\s)?(?:determine|answer|provide|calculate)",
    re.IGNORECASE,
)
"""A sentence that says so states no value, whatever numbers stand in it."""
_LEFT_OPEN = re.compile(r"\b(?:[Ee]ither|might|may|could)\b[^.\n]{0,60}\d[^.\n]{0,40}\bor\b[^.\n]{0,40}\d")
"""Nor does one that leaves a choice."""
_SETS_OUT = re.compile(
    r"\b(?:need|want|ask(?:s|ed)?|trying)\s(?:to\s(?:find|determine|know)\s)?how\s(?:many|much)\b|,\s(?:find|determine|calculate|compute)\s"
    r"|\b(?:problem|question)\s(?:says|states|asks|mentions)\b|(?<!to\s)\bstart(?:s|ing)?\swith\b|\b(?:[Hh]ow|[Ww]hat|[Ww]hich)\b[^?\n]*\?\s*\Z"
)
"""What is asked or given, not what came of it."""
_TO_DO = re.compile(
    r"\s*To\s(?:find|determine|convert|simplify|compute|evaluate|calculate|solve)\b(?:(?!\b(?:is|are|gives?|get|yields?|makes?|equals)\b)[^=])*\Z"
)
"""`To simplify $(3 - 1)^4$, we proceed as follows.`: the question's own expression."""
_COPULA = re.compile(
    r"(?:\b(?:is|are|was|were|(?:will|would|must|should|can)\s+be|equals|equal\s+to|has\s+a\s+value\s+of|answer\s+of)"
    r"|\b(?:simplifies|evaluates|reduces|comes|amounts)\s+to(?=\s+[-−]?\d)|\bround(?:s|ed)(?:\s+up|\s+down)?\s+to)\s+"
    r"(?:equal\s+to\s+|equivalent\s+to\s+the\s+(?:fraction|decimal)\s+|either\s+|exactly\s+|simply\s+|indeed\s+)?(?=\S)"
)
_SUBORDINATE = re.compile(
    r"\b(?:since|because|if|when(?![^,.]*\bdivided\sby\s\S{1,20}\s\Z)|who)\s[^,.]*\Z", re.IGNORECASE
)
_COPULA_BEFORE = re.compile(r"\b(?:is|are|be)\s+\Z")
_AND_THEN = re.compile(
    r"[\s.,;:!)*_]*\Z|,?\s\(?(?:(?P<where>(?:which\s)?(?:is\s)?(?:attained|achieved|reached|occur(?:s|ring)|obtained|happens|when|where|at|in\sbase))|which|with|as|because|since|i\.e|that\sis"
    r"|in\s(?:dollars|cents|simplest|lowest|terms|scientific)|or\s(?:about|approximately|roughly)|approximately|about|≈)(?![a-z])"
    r"|\s?[A-Za-z]+(?:\s[a-z]+){0,2}(?:\$?\^\{?[23]\}?\$?)?[\s.]*\Z"
)
"""What may follow the value that a clause ends in: nothing, its unit, where it is attained, or its approximation."""
MAX_CALCULATION = 300
_CALCULATION = re.compile(
    r"[^,=]{0,200}?\d[\d.,%)]{0,20}\s{0,3}(?:[a-z]{1,9}\s{0,3})?(?:[-+*/×÷·x]|\\times|\\cdot|\\div)\s{0,3}[$(]{0,3}\d[^,]*="
)
_VALUE_THEN_WORDS = re.compile(r"[^A-Za-z]*[\dπ)}%$²³](?:\s+[A-Za-z]+){0,3}[\s.]*")


def _predicate(text: str, begin: int, end: int) -> ExtractedAnswer | None:
    """What the last clause says something *is*: `The solutions are 1 and -2`, `The ratio is 2:3`."""
    for copula in reversed(list(_COPULA.finditer(text, begin, end))[-4:]):
        before = text[max(begin, copula.start() - 60) : copula.start()]
        if DENIED.search(before) or _SUBORDINATE.search(before):
            continue
        start, stop = value_span(text, copula.end(), end)
        value = text[start:stop]
        after = _AND_THEN.match(text, stop, end)
        if after is None or (after["where"] is None and WORKED_OUT.search(text, stop, end)):
            continue
        if _COUNT_AND_PHRASE.match(value) or (_TIMES_AS.match(value) and len(_DIGITS.findall(text, begin, end)) > 1):
            continue  # 52 Fridays in 2007; 3 times as old
        if _NUMBER_WORD.fullmatch(value):
            return trimmed(text, start, stop, "concluded")
        if TELLING.search(value) and (not is_prose(value) or _VALUE_THEN_WORDS.fullmatch(value)):
            formula = _FORMULA.match(text, start, stop)
            if formula is not None and not (formula[4] and is_money(formula[4])):
                if formula.end() < stop or "equation" in text[max(begin, copula.start() - 60) : copula.start()]:
                    return undelimited(text, start, stop)
                return right_hand_side(text, *formula.span(formula.lastindex or 0))
            calculated = len(value) < MAX_CALCULATION and _CALCULATION.match(value)
            return (right_hand_side if calculated else undelimited)(text, start, stop)
    return None


def _is_condition(text: str, formula: re.Match[str]) -> bool:
    """Whether a formula stands in a clause that tells when or why: `$x=\\sqrt{2}$ since $x>0$`, `$3x - 1 = 20$ when $x=7$`."""
    before = text[max(0, formula.start() - 100) : formula.start()]
    return _REASON.search(before) is not None or _RESULT_WHEN.search(before) is not None


_REASON = re.compile(r"\b(?:since|because|whose|(?<!only\s)if)\s\Z")
_RESULT_WHEN = re.compile(r"\$[^$=\n]{3,80}=\s?-?\d+\$\swhen\s\Z")
_GOES_ON = re.compile(r"\b(?:giving|making|for\s(?:an?\s|\$)|probability|total|altogether)\b|\bfor\s\$|\band\s\$")
"""A count that is not yet the result: `3 outcomes out of $8$, giving …`"""
_COUNTED_FORMULA = re.compile(
    r"\s*(?:(?:So|Thus|Therefore|Hence),?\s)?[Tt]here\s(?:are|is)\s(?:a\stotal\sof\s|exactly\s|only\s)?\$(\d[\d,]*)\$\s[a-z]+\s"
    r"(?![^\n]*(?:=|\b(?:which|but|there|giving|making|for|and|total|altogether|so)\b))"
)
"""`there are $5$ values of $k$`."""
_DIGITS = re.compile(r"\d+")
_TIMES_AS = re.compile(r"\d+\stimes(?:\sas\b|\Z)")
_COUNT_AND_PHRASE = re.compile(r"\d[\d,]*\s[A-Za-z]{3,20}\s(?:in|on|of|at|by|from|for)\s(?:\w+\s)?\d")
_NUMBER_WORD = re.compile(rf"(?:(?:negative|minus)\s)?{NUMBER_RUN.pattern}", re.IGNORECASE)
_JOINED = re.compile(r"(?:,|;)?\s?(?:and|or)?\s")


def _formulas(text: str, formulas: list[re.Match[str]]) -> ExtractedAnswer:
    """The last formula with those that it is listed with: `$x<2$ or $x>3$`, but not `$c=14$ and $a=2c=28$`."""
    first = last = formulas[-1]
    name = _side_before_equals(last)
    for before in reversed(formulas[:-1]):
        gap = text[before.end() : first.start()]
        if len(gap) < 2 or not _JOINED.fullmatch(gap) or _side_before_equals(before) != name:
            break
        first = before
    if first is last:
        return right_hand_side(text, *last.span(last.lastindex or 0))
    return trimmed(text, first.start(), last.end(), "concluded")


def _side_before_equals(formula: re.Match[str]) -> str:
    left, equals, right = formula[formula.lastindex or 0].partition("=")
    return (left.strip() if "=" not in right else formula[0]) if equals else ""


def right_hand_side(text: str, begin: int, end: int) -> ExtractedAnswer:
    """Of `21 + 49 = 70` the 70; but `x = 70` and `y = 2x + 3` stay whole, for they may be the answer."""
    if text[begin : begin + 1] == "$" == text[end - 1 : end] and text.count("$", begin, end) == 2:
        begin, end = begin + 1, end - 1
    noted = text.rfind(">>", begin, end)
    if noted >= 0 and text.find("<<", begin, noted) >= 0:
        return undelimited(text, noted + 2, end)  # GSM8K's calculator: $<<9*2=18>>18
    equals = text.rfind("=", begin, end)
    if equals > begin and _LETTER.fullmatch(text, equals + 1, end) and text.find("=", begin, equals) >= 0:
        end, equals = equals, text.rfind("=", begin, equals)  # 36 - 19 = 17 = x
    if equals > begin and text[equals - 1] not in "<>\\" and not _NAME.fullmatch(text, begin, equals):
        begin = equals + 1
    return undelimited(text, begin, end)


_LETTER = re.compile(r"\s*[A-Za-z]\s*[.,]?\s*")
_NAME = re.compile(r"[\s&{]*\\?[A-Za-z]{1,8}(?:_\{?\w+\}?)?(?:\([^()=]{1,12}\))?'{0,3}[\s&}]*")


def undelimited(text: str, begin: int, end: int) -> ExtractedAnswer:
    """A value without emphasis, bullets, math delimiters and the full stop."""
    found = trimmed(text, begin, end, "concluded")
    content, start = found.content, found.start
    # No bullet: a sign within its line, or all that there is.
    signed = content[:2] == "- " and (
        _IN_LINE.search(text[max(0, start - 40) : start]) is not None
        or (not text[:start].strip() and content == text[start:].strip())
    )
    while content and content[0] in "*_>#- \t" and not (content[0] == "-" and (signed or content[1:2] != " ")):
        content, start = content[1:], start + 1
    content = content.removesuffix('."').rstrip(" \t.,;:。*_")
    counted = _COUNTED.fullmatch(content)
    if counted:
        return ExtractedAnswer(counted[1], start, start + len(counted[1]), "concluded")
    for opened, closed in (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$")):
        if content.startswith(opened) and content.endswith(closed) and len(content) > len(opened) + len(closed):
            inside = content[len(opened) : -len(closed)]
            if opened not in inside:
                return trimmed(text, start + len(opened), start + len(opened) + len(inside), "concluded")
    return ExtractedAnswer(content, start, start + len(content), "concluded")


_IN_LINE = re.compile(r"[^\s*_>#-][^\n]*\Z")
_COUNTED = re.compile(rf"([-−]?\d[\d,]*(?:\.\d+)?)\s?[{_SCRIPTS}]+")
"""A number with a measure word of a script in which the comparison knows no units: `3页`."""
