r"""Answers that are announced in other languages than English: the eleven of MGSM, and those of other multilingual sets.

One table: the words with which a language says "the answer". What follows is read like any announced value.
"""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.extraction.extracted import ExtractedAnswer, trimmed, unenclosed
from markscheme.marking.extraction.value_spans import SEGMENT, value_span

ANNOUNCEMENTS: Final = {
    # MGSM's own worked examples end in these sentences; the rest is how chat models head their last line.
    "Bengali": r"(?:চূড়ান্ত |সঠিক )?উত্তর(?:টি|টা)?(?: হল| হলো| হবে| হচ্ছে)?",
    "German": r"(?:[Ee]ndgültige |[Rr]ichtige |[Ff]inale )?(?:Antwort|Endergebnis|Ergebnis|Lösung)\b(?: lautet| ist| beträgt)?(?: also| somit| daher)?",
    "Spanish": r"(?:[Rr]espuesta|[Rr]esultado)\b(?: final| correcta)?(?: es| sería)?(?: igual a)?",
    "French": r"(?:[Rr]éponse|[Rr]ésultat)\b(?: finale?| correcte)?(?: est| serait)?(?: donc)?(?: de)?",
    "Japanese": r"(?:最終的な|正しい)?(?:答え|答|解答|正解)(?:は|が)?",
    "Russian": r"(?:[Оо]кончательный |[Пп]равильный |[Ии]тоговый )?[Оо]твет(?: равен| есть| будет| составляет)?",
    "Swahili": r"[Jj]ibu(?: la mwisho| sahihi| lake)?(?: ni)?",
    "Telugu": r"(?:తుది |సరైన |చివరి )?(?:సమాధానం|జవాబు)(?: అనేది)?",
    "Thai": r"คำตอบ(?:สุดท้าย|ที่ถูกต้อง)?(?:ก็)?(?:คือ|เป็น|:)|ตอบ(?=\s?[:\d$\\])",
    "Chinese": r"(?:最终|最后|正确|故|所以|因此)?(?:的)?(?:答案|答)(?:应该|应|就)?(?:是|为|等于)?",
    "Portuguese": r"[Rr]esposta(?: final| correta)?(?: é| seria)?",
    "Italian": r"[Rr]isposta(?: finale| corretta)?(?: è)?",
    "Korean": r"(?:최종 |정)?답(?:은|이|변은)?",
    "Arabic": r"(?:الجواب|الإجابة|الاجابة)(?: النهائي| النهائية| الصحيحة)?(?: هو| هي)?",
    "Hindi": r"(?:अंतिम |सही )?(?:उत्तर|जवाब)(?: है)?",
    "Vietnamese": r"(?:[Đđ]áp án|[Cc]âu trả lời|[Đđ]áp số)(?: cuối cùng| đúng)?(?: là)?",
    "Turkish": r"[Cc]evap(?: şudur)?",
    "Indonesian": r"[Jj]awaban(?:nya)?(?: akhir| akhirnya)?(?: adalah)?",
    "Polish": r"[Oo]dpowiedź(?: to)?",
    "Danish, Norwegian, Swedish": r"(?:[Ee]ndelige?t? |[Kk]orrekte? |[Rr]ätt )?[Ss]var(?:et)?\b(?: er| är| lyder| blir)?",
    "Dutch": r"(?:[Ee]ind)?[Aa]ntwoord(?: is)?",
    "Czech": r"[Oo]dpověď(?: je)?",
    "Hungarian": r"[Vv]álasz",
    "Finnish": r"[Vv]astaus(?: on)?",
    "Ukrainian": r"[Вв]ідповідь",
    "Greek": r"[Αα]πάντηση(?: είναι)?",
    "Persian": r"(?:پاسخ|جواب)(?: نهایی)?",
    "Hebrew": r"תשובה",
}  # fmt: skip
_LEAD: Final = re.compile(
    rf"(?<![A-Za-z])(?:{'|'.join(ANNOUNCEMENTS.values())})[\s*_）」』)]{{0,6}}+(?:(?P<colon>[:：=】\]])|[—–-](?=\s))?"
    rf"[\s*_:：>#]{{0,12}}+[「『【（(\[]{{0,3}}?(?:(?=[-−+]?[$€£¥₹]?\d|[$\\√π(\[{{（]|[A-J](?![\w-])|[-−])|(?(colon)(?=\S)|(?!)))"
)
_IN_ASCII: Final = (
    "ntwort", "rgebnis", "espuesta", "esultado", "ibu ", "ibu:", "esposta", "isposta", "evap", "awaban", "var:", "varet ",
    "ntwoord", "astaus",
)  # fmt: skip
"""What a text without any accent must contain to be worth the search; with an "answer" in it, it is English."""
_DENIED: Final = re.compile(r"(?:不|没有|非|nicht|keine?|no|pas|не)\s?\Z")
_REACH: Final = 8_000
_COPULA_END: Final = re.compile(
    r"\s{0,4}(?:です|である|だ|になります|となります|అవుతుంది|అవుతాయి|ఉన్నాయి|হবে|হয়|টি|입니다|이다|है|ครับ|ค่ะ)[\s.।。]{0,6}\Z"
)


def _has_word(text: str, begin: int, end: int) -> bool:
    return any(text.find(word, begin, end) >= 0 for word in _IN_ASCII)


def declared_abroad(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """What the last announcement in another language says."""
    begin = max(start, end - _REACH)
    # "Jibu ni 5." is the shortest in ASCII; behind a box there is usually less.
    if text.isascii() and (end - begin < 10 or text.find("nswer", begin, end) >= 0 or not _has_word(text, begin, end)):
        return None
    last = None
    for lead in _LEAD.finditer(text, begin, end):
        if not _DENIED.search(text[max(begin, lead.start() - 8) : lead.start()]):
            last = lead
    if last is None:
        return None
    at, finish = value_span(text, last.end(), end)
    formula = SEGMENT.fullmatch(text, at, finish)
    if formula is not None:
        at, finish = formula.span(formula.lastindex or 0)
    copula = _COPULA_END.search(text, max(at, finish - 30), finish)
    answer = trimmed(text, at, copula.start() if copula is not None and copula.start() > at else finish, "abroad")
    return unenclosed(text, last.start(), answer) if answer.content else None
