r"""Answers that are announced in other languages than English: the eleven of MGSM, and those of other multilingual sets.

One table: the words with which a language says "the answer". What follows is read like any announced value.
"""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.extraction.extracted import ExtractedAnswer, trimmed, unenclosed
from markscheme.marking.extraction.value_spans import SEGMENT, value_span

ANNOUNCEMENTS: Final = {
    # The noun, and the words for "is". MGSM's own worked examples end in these sentences; the rest is how chat models head
    # their last line. Where a language has no such word, the noun may be followed by the answer itself.
    "Bengali": (r"(?:চূড়ান্ত |সঠিক )?উত্তর(?:টি|টা)?", r" হল| হলো| হবে| হচ্ছে"),
    "German": (
        r"(?:[Ee]ndgültige |[Rr]ichtige |[Ff]inale )?(?:Antwort|Endergebnis|Ergebnis|Lösung)\b",
        r"(?: lautet| ist| beträgt)(?: also| somit| daher)?",
    ),
    "Spanish": (r"(?:[Rr]espuesta|[Rr]esultado)\b(?: final| correcta)?", r"(?: es| sería)(?: igual a)?"),
    "French": (r"(?:[Rr]éponse|[Rr]ésultat)\b(?: finale?| correcte)?", r"(?: est| serait)(?: donc)?(?: de)?"),
    "Japanese": (r"(?:最終的な|正しい)?(?:答え|答|解答|正解)", r"は"),
    "Russian": (r"(?:[Оо]кончательный |[Пп]равильный |[Ии]тоговый )?[Оо]твет", r" равен| есть| будет| составляет"),
    "Swahili": (r"[Jj]ibu(?: la mwisho| sahihi| lake)?", r" ni"),
    "Telugu": (r"(?:తుది |సరైన |చివరి )?(?:సమాధానం|జవాబు)", r"(?: అనేది)?(?=\s)"),
    "Thai": (r"คำตอบ(?:สุดท้าย|ที่ถูกต้อง)?(?:ก็)?(?=คือ|เป็น|:)|ตอบ(?=\s?[:\d$\\])", r"คือ|เป็น"),
    "Chinese": (r"(?:最终|最后|正确|故|所以|因此)?(?:的)?(?:答案|答)", r"(?:应该|应|就)?(?:是|为|等于)"),
    "Portuguese": (r"[Rr]esposta(?: final| correta)?", r" é| seria"),
    "Italian": (r"[Rr]isposta(?: finale| corretta)?", r" è"),
    "Korean": (r"(?:최종 |정)?답", r"은|이|변은"),
    "Arabic": (r"(?:الجواب|الإجابة|الاجابة)(?: النهائي| النهائية| الصحيحة)?", r" هو| هي"),
    "Hindi": (r"(?:अंतिम |सही )?(?:उत्तर|जवाब)", r" है"),
    "Vietnamese": (r"(?:[Đđ]áp án|[Cc]âu trả lời|[Đđ]áp số)(?: cuối cùng| đúng)?", r" là"),
    "Turkish": (r"[Cc]evap", r" şudur"),
    "Indonesian": (r"[Jj]awaban(?:nya)?(?: akhir| akhirnya)?", r" adalah"),
    "Polish": (r"[Oo]dpowiedź", r" to"),
    "Danish, Norwegian, Swedish": (
        r"(?:[Ee]ndelige?t? |[Kk]orrekte? |[Rr]ätt )?[Ss]var(?:et)?\b",
        r" er| är| lyder| blir",
    ),
    "Dutch": (r"(?:[Ee]ind)?[Aa]ntwoord", r" is"),
    "Czech": (r"[Oo]dpověď", r" je"),
    "Hungarian": (r"[Vv]álasz", ""),
    "Finnish": (r"[Vv]astaus", r" on"),
    "Ukrainian": (r"[Вв]ідповідь", ""),
    "Greek": (r"[Αα]πάντηση", r" είναι"),
    "Persian": (r"(?:پاسخ|جواب)(?: نهایی)?", ""),
    "Hebrew": (r"תשובה", ""),
}
_VALUE: Final = r"(?=[-−+]?\s?[$€£¥₹]?\d|[$\\√π(\[{（]|[A-J](?![\w-])|[-−])"
_LEAD: Final = re.compile(
    rf"(?<![A-Za-z])(?:{'|'.join(f'(?:{noun})(?:{copula})?' for noun, copula in ANNOUNCEMENTS.values())})"
    rf"[\s*_）」』)]{{0,6}}+(?:(?P<colon>[:：=】\]])|[—–-](?=\s))?"
    rf"[\s*_:：>#]{{0,12}}+[「『【（(\[]{{0,3}}?(?:{_VALUE}|(?(colon)(?=\S)|(?!)))"
)
_REMARK: Final = r"正确|合理|对的|否|不|什么|多少|哪|正しい|妥当|correct|richtig|falsch|juste|верн|правильн|นี้|맞|यह|সঠিক|সঠিক|sahihi|సరైన"
_SAID: Final = re.compile(
    rf"(?<![A-Za-z])(?:{'|'.join(f'(?:{noun})(?:{copula})' for noun, copula in ANNOUNCEMENTS.values() if copula)})"
    rf"[\s*_]{{1,6}}(?=\S)(?!{_REMARK})|答案(?:是|为)(?!{_REMARK}|\s)"
)
"""An announcement that may be followed by words; it counts where it ends the response, for else it may be a remark."""
_IN_ASCII: Final = (
    "ntwort", "rgebnis", "espuesta", "esultado", "ibu ", "ibu:", "esposta", "isposta", "evap", "awaban", "var:", "varet ",
    "ntwoord", "astaus",
)  # fmt: skip
"""What a text without any accent must contain to be worth the search; with an "answer" in it, it is English."""
_DENIED: Final = re.compile(r"(?:不|没有|非|nicht|keine?|no|pas|не)\s?\Z")
_REACH: Final = 8_000
_LAST_WORDS: Final = 300
_ENDS: Final = " \n\t.。।!*_`\"'」』"
_COPULA_END: Final = re.compile(
    r"\s{0,4}(?:です|である|だ|になります|となります|అవుతుంది|అవుతాయి|ఉన్నాయి|হবে|হয়|টি|입니다|이다|है|ครับ|ค่ะ)[\s.।。]{0,6}\Z"
)


def _has_word(text: str, begin: int, end: int) -> bool:
    return any(text.find(word, begin, end) >= 0 for word in _IN_ASCII)


def _last_announced(pattern: re.Pattern[str], text: str, begin: int, end: int) -> re.Match[str] | None:
    """The last announcement that is not denied."""
    last = None
    for lead in pattern.finditer(text, begin, end):
        if not _DENIED.search(text[max(begin, lead.start() - 8) : lead.start()]):
            last = lead
    return last


def declared_abroad(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """What the last announcement in another language says: a value, or the words in which the response ends."""
    return _declared(text, start, end, plain=False)


def plainly_declared_abroad(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """The same for text behind a box, where only a value counts."""
    return _declared(text, start, end, plain=True)


def _declared(text: str, start: int, end: int, *, plain: bool) -> ExtractedAnswer | None:
    begin = max(start, end - _REACH)
    # "Jibu ni 5." is the shortest in ASCII; behind a box there is usually less.
    if text.isascii() and (end - begin < 10 or text.find("nswer", begin, end) >= 0 or not _has_word(text, begin, end)):
        return None
    last = _last_announced(_LEAD, text, begin, end)
    if last is None and not plain:
        last = _last_announced(_SAID, text, max(begin, end - _LAST_WORDS), end)
        if last is not None and text[value_span(text, last.end(), end)[1] : end].strip(_ENDS):
            return None
    if last is None:
        return None
    at = last.end()
    if text[last.start() : at].rstrip().endswith("-") and (verb := _SAID.match(text, last.start(), at)):
        at = verb.end()  # "Die Antwort ist - 3": a sign; in "Ответ - 3" it is a dash
    at, finish = value_span(text, at, end)
    formula = SEGMENT.fullmatch(text, at, finish)
    if formula is not None:
        at, finish = formula.span(formula.lastindex or 0)
    copula = _COPULA_END.search(text, max(at, finish - 30), finish)
    answer = trimmed(text, at, copula.start() if copula is not None and copula.start() > at else finish, "abroad")
    return unenclosed(text, last.start(), answer) if answer.content else None
