r"""The meaning of words: a table of the ways to say yes, no solution, infinitely many, a day ….

Other words stay words, in lower case, without punctuation and without an introduction such as "it is".
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from markscheme.marking.equality.algebra import real_sets as sets
from markscheme.marking.equality.kinds import ParsedAnswer, Scalar, Text
from markscheme.marking.equality.letters import WORD
from markscheme.marking.equality.read.vocabulary import words as word_set

_DRESS: Final = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|up|normal|md|sc)?|mbox|hbox|math(?:rm|bf|it|sf|tt)|emph|boldsymbol|bm|operatorname|boxed|fbox)"
    r"\s*(?=\{)"
)
_COLON: Final = re.compile(r"(?<!\s)\s*+\\colon(?![a-zA-Z])\s*+")
_SPACING: Final = re.compile(r"\\[,;:! ]|\\q?quad(?![a-zA-Z])|~")
_WORD: Final = re.compile(rf"{WORD}|\d+(?:\.\d+)?|[^\w\s.,;:!?\"'(){{}}$*\\]", re.UNICODE)
_VERB: Final = re.compile(r" (?:is|are) ")
# Words that add nothing to what the question says.
_UNNAMED: Final = word_set(
    "it this that they these those there he she so the of only final correct given answer answers result conclusion "
    "solution solutions statement graph curve equation function limit series sequence set relation shape figure triangle "
    "day month year time date value number"
)
_INTRODUCING: Final = frozenset(["on", "due", "in", "to", "towards", "toward", "at", "the", "a", "an"])
_CLASSING: Final = frozenset(["function", "functions", "direction", "number", "numbers", "triangle"])
_YEAR: Final = "january february march april may june july august september october november december"
_MONTHS: Final = _YEAR.split()
MONTHS: Final = frozenset(month[:3] for month in _MONTHS)
_WEEK: Final = "monday tuesday wednesday thursday friday saturday sunday"
_QUADRANTS: Final = ("first 1st i 1", "second 2nd ii 2", "third 3rd iii 3", "fourth 4th iv 4")
_THINGS: Final = r"(?:(?:real|integer|such|positive|possible|valid|common|other) )*"
UNDEFINED: Final = Text("does not exist")

# Meanings and a pattern for the whole text. The first matching row wins.
_MEANINGS: Final[tuple[tuple[ParsedAnswer, str], ...]] = (
    (Text("yes"), r"yes|yes it is|yes they are|yes it does|是|是的|да|sí|oui|ja|はい|ndiyo|ใช่|হ্যাঁ|అవును"),
    (Text("no"), r"no|no it is not|no it does not|否|不是|不|нет|não|non|nein|いいえ|hapana|ไม่|না|లేదు"),
    (Text("true"), r"true|correct|对|正确|真"),  # a statement is true; whether that is a yes depends on the question
    (Text("false"), r"false|incorrect|not true|错|错误|假"),
    (Text("even"), r"even|偶|偶数|偶函数"),
    (Text("odd"), r"odd|奇|奇数|奇函数"),
    (Text("neither"), r"neither(?: even nor odd| odd nor even| of (?:them|these|the two))?|非奇非偶(?:函数)?"),
    (Text("infinitely many"), r"(?:infinite|infinitely many|infinite number|infinite number of|unlimited|∞)(?: \w+){0,2}|无数个?|无穷多个?"),
    (sets.EMPTY, rf"no {_THINGS}(?:solutions?|roots?|values?|numbers?|pairs?|triples?|integers?|functions?|[xyzn])(?: exists?)?|"
                 r"(?:has|have) no solutions?|none|(?:empty|null) set|empty|无解|空集|没有解"),
    (UNDEFINED, r"(?:limit )?(?:dne|do(?:es)? not exist|doesn t exist|undefined|not defined|no limit)|不存在|无意义"),
    (Text("cannot be determined"), r"(?:cannot|can not|can t|could not) be determined(?: \w+){0,6}|not enough info(?:rmation)?(?: \w+){0,4}|"
                                   r"insufficient information|无法确定|不能确定"),
    (Text("equal"), r"equal|same|they are (?:the same|equal)|一样多?|相等"),
    (sets.REALS, r"(?:all |any |every )?real (?:numbers?|values?|x)|all reals|全体实数|任意实数"),
    (Scalar(sets.INFINITY), r"(?:positive |plus )?infinity|正?无穷大?"),
    (Scalar(sets.MINUS_INFINITY), r"(?:negative |minus )infinity|负无穷大?"),
    *((Text(day), rf"{day}s?|{day[:3]}|{day[:4]}") for day in _WEEK.split()),
    *((Text(month), rf"{month}|{month[:3]}") for month in _MONTHS if month != "may"),
    *((Text(f"quadrant {k}"), rf"(?:{'|'.join(names.split())}) quadrant|quadrant (?:{'|'.join(names.split())})")
      for k, names in enumerate(_QUADRANTS, 1)),
)  # fmt: skip
_SAID: Final = re.compile("|".join(f"(?P<m{k}>{pattern})" for k, (_, pattern) in enumerate(_MEANINGS)))
_LONGEST: Final = 80
_LONGEST_SUBJECT: Final = 80  # characters; a longer text says more than its last clause
_DIGIT: Final = re.compile(r"\d")
_DATE: Final = re.compile(
    rf"(?:(?P<a>\d{{1,2}})(?: ?(?:st|nd|rd|th))?(?: of)? )?(?P<month>{'|'.join(f'{m}|{m[:3]}' for m in _MONTHS)})"
    r"(?: (?P<b>\d{1,2})(?: ?(?:st|nd|rd|th))?)?(?: (?P<year>\d{4}))?"
)


_NUMERIC_DATE: Final = re.compile(r"(?P<a>\d{1,2})/(?P<b>\d{1,2})/(?P<year>\d{4})|(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)")


def numeric_date(text: str) -> Text | None:
    """Read 07/28/2001 or 2001-07-28. 03/04/2001 may be in March or April, so it equals no date in words."""
    if (found := _NUMERIC_DATE.fullmatch(text)) is None:
        return None
    year, first, second = found["year"] or found["y"], int(found["a"] or found["m"]), int(found["b"] or found["d"])
    if found["a"] and max(first, second) <= 12 and first != second:
        return Text(f"date {first}/{second} {year}")
    month, day = (second, first) if first > 12 and found["a"] else (first, second)
    return Text(f"date {_MONTHS[month - 1][:3]} {day} {year}") if 1 <= month <= 12 and 1 <= day <= 31 else None


def undressed(text: str) -> str:
    r"""Remove font commands, spacing and braces, as from `\text{(C) Plane}`."""
    if "\\" in text:
        text = _SPACING.sub(" ", _DRESS.sub("", _COLON.sub(":", text)))
    return text.replace("{", "").replace("}", "").strip()


def words_of(text: str) -> str:
    return " ".join(_WORD.findall(undressed(text).lower()))


def meaning(words: str) -> ParsedAnswer | None:
    """Return the meaning of words in lower case by the table or as a date, or None."""
    if len(words) > _LONGEST:
        return None
    if m := _SAID.fullmatch(words):
        return _MEANINGS[int((m.lastgroup or "m0")[1:])][0]
    said = _without_introduction(words)
    if m := _SAID.fullmatch(said.words):
        known = _MEANINGS[int((m.lastgroup or "m0")[1:])][0]
        return replace(known, subject=said.subject) if isinstance(known, Text) else known
    m = _DATE.fullmatch(words)
    if m is None or (m["a"] is None) == (m["b"] is None):
        return None
    return Text(f"date {m['month'][:3]} {int(m['a'] or m['b'])} {m['year'] or ''}".strip())


def in_words(words: str) -> ParsedAnswer:
    known = meaning(words)
    return known if known is not None else _without_introduction(words)


def _without_introduction(words: str) -> Text:
    """Remove the subject ("it is an ellipse"), introducing words and classing words.

    A sentence of two clauses ("Ann is a saint and Tom is a sinner") stays unchanged.
    """
    subject = ""
    while not subject and (verb := _VERB.search(words)) is not None:
        before = words[: verb.start()]
        if not _UNNAMED.issuperset(before.split()):
            if len(before) >= _LONGEST_SUBJECT or _DIGIT.search(before) or _VERB.search(words, verb.end()):
                break
            subject = before
        words = words[verb.end() :]
    parts = words.split()
    while len(parts) > 1 and parts[0] in _INTRODUCING:
        del parts[0]
    if len(parts) == 2 and parts[1] in _CLASSING:
        del parts[1]
    return Text(" ".join(parts), subject.removeprefix("the "))
