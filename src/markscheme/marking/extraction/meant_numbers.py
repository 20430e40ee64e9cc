"""Which of the numbers in a sentence is its answer, as a reader would take it.

"Mark needs 23 pounds to make 4 small beds and 3 large beds" states 23 when "8 + 15 = 23" stands before it.
"""

from __future__ import annotations

import re

from markscheme.marking.extraction.extracted import last_match
from markscheme.marking.extraction.number_words import NUMBER_RUN

_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.}])[-−]?(?:\\?[$€£¥₹]\s?)?"
    r"(?:\\[dt]?frac\{[^{}\n]{1,40}\}\{[^{}\n]{1,40}\}"
    r"|\d+(?:\.\d+)?\s?(?:[x×*·]|\\times|\\cdot)\s?10(?:\s?\^\s?\{?[-−+]?\d+\}?|[⁻⁺]?[⁰¹²³⁴-⁹]+)"  # 3.0 × 10⁵
    r"|\d{1,3}(?:\.\d{3})+,\d+(?![\d,])|\d+,\d{1,2}(?![\d,.]\d|\d|\s(?:and|or)\b)"  # 1.234,50 and 3,5
    r"|\d+(?::\d+)+"  # a time or a ratio
    r"|\d{1,2}/\d{1,2}/\d{4}(?!\d)"  # a date
    r"|\d+\s(?:years?|weeks?|days?|hours?|hrs?|minutes?|feet|foot|pounds?),?\s(?:and\s)?\d+\s(?:months?|days?|hours?|min(?:ute)?s?|seconds?|inch(?:es)?|ounces?)\b"
    r"|\d+(?:[,\u00a0\u2009\u202f]\d{3})*(?:\.\d+)?(?:\s?/\s?\d+)?(?:\s?%|\s(?:million|billion)\b)?|\.\d+)"
    r"|(?:(?<![A-Za-z0-9])|(?<=USD|EUR|CHF|GBP|CAD|AUD|INR|RMB|CNY|SGD)|(?<=Rs)|(?<=RM))\d+(?:,\d{3})*(?:\.\d+)?"
)


def meant_number(text: str, begin: int, end: int) -> tuple[int, int] | None:
    """Of several numbers: of the consequence and not its reason; not one in parentheses; the one that was worked out
    last; not one that tells when, how long or of what."""
    named = _NAMED.search(text, begin, end) or _IN_TOTAL.search(text, begin, end)
    if named is not None:
        return named.span(1)
    counted = COUNTED.match(text, begin, end)
    if counted is not None:
        return counted.span(counted.lastindex or 1)
    reason = _REASON.match(text, begin, end)
    if reason is not None and _NUMBER.search(text, reason.end(), end):
        begin = reason.end()
    last = last_match(_NUMBER, text, begin, end)
    for consequence in _CONSEQUENCE.finditer(text, begin, last.start() + 1 if last else begin):
        begin = consequence.end()
    whole = end
    condition = _CONDITION.search(text, begin, end)
    if (
        condition is not None
        and _NUMBER.search(text, begin, condition.start())
        and (condition[1] == "because" or not WORKED_OUT.search(text, condition.end(), end))
    ):
        end = condition.start()
    numbers = [
        found.span()
        for found in _NUMBER.finditer(text, begin, end)
        if not DENIED.search(text[max(begin, found.start() - 24) : found.start()])
        and not _IN_EXPRESSION.match(text, found.end(), end)
        and not REFUSED.match(text, found.end(), end)
        and not _IN_RANGE.search(text[max(begin, found.start() - 2) : found.start()])
    ]
    if len(numbers) < 2:
        compared = _TIMES_AS.search(text, begin, end) if not numbers else None  # "Ann is 3 times as old as Ben."
        return numbers[0] if numbers else compared.span(1) if compared else None
    asides = [found.span() for found in _ASIDE.finditer(text, begin, end)]
    outside = [span for span in numbers if not any(start < span[0] < stop for start, stop in asides)] or numbers
    outside = [span for span in outside if not is_circumstance(text, begin, *span)] or outside
    results = [_digits(found[1]) for found in _RESULT.finditer(text, max(0, begin - 4000), whole)]
    for result in reversed(results[-_RESULTS:]):
        for span in reversed(outside):
            if _digits(text[slice(*span)]) == result:
                return span
    stated = outside[0]
    for later in outside[1:]:
        if not _is_adjunct(text, begin, stated, later):
            stated = later
    return stated


def _is_adjunct(text: str, begin: int, stated: tuple[int, int], later: tuple[int, int]) -> bool:
    """Whether the later number only tells when, how or of what: `saw 75 bees in the last 6 hours`, `has 58 left after giving 40
    away`. Nothing new is said between the two, and the first is not in such a phrase itself; a price may be an answer."""
    between = text[stated[1] : later[0]]
    if between == " to " or (
        between.endswith(" to ") and _CHANGES.search(text[max(begin, stated[0] - 40) : stated[0]])
    ):
        return False  # a range, or what something falls to
    if len(between) > 120 or _SAYS_MORE.search(between) or not _PREPOSITION.search(between) or _SUMS_UP.search(between):
        return False
    priced = text[later[0]] in "$€£\\" and text[stated[0]] not in "$€£\\"
    before = text[max(begin, stated[0] - 40) : stated[0]]
    return not priced and (_IN_PHRASE.search(before) is None or _NEEDED.search(before) is not None)


_SAYS_MORE = re.compile(
    r"[=;?]|[.,:]\s|\b(?:is|are|was|were|be|equals?|will|would|can|has|have|had|makes?|gets?|got|costs?|leaves?|leaving|making|becomes?|so|then|means?"
    r"|that|which|who|and|or|but|takes?|needs?|each|gives?|remains?|ist|sind|hat|est|sont|es|son|tiene|ni|и|oder|ou|y|o|und|et)\b"
)
_CHANGES = re.compile(
    r"\b(?:falls?|fell|drop(?:s|ped)?|rises?|rose|reduc(?:es?|ed)|increas(?:es?|ed)|decreas(?:es?|ed)|improv(?:es?|ed)|grows?|grew)\b"
)
_SUMS_UP = re.compile(
    r"\b(?:total|sum|profit|cost|price|amount|average)\sof\s\Z|\b(?:for|at|with)\san?\s(?:\w+\s)?\w+\sof\s[$€£]?\Z"
)
_PREPOSITION = re.compile(
    r"\b(?:after|before|by|with|without|in|on|over|for|from|during|within|of|at|than|compared|including|under|until|between|when|if|per"
    r"|à|de|en|al|del|para|con|por|antes|después|pour|dans|avec|après|für|in|nach|mit|von|bis|innerhalb|в|за|до|для)\b"
)
_IN_PHRASE = re.compile(
    r"(?:\b(?:from|for|with|in|after|at|by|to|on|over|than|[Tt]he|[Tt]hese|those|his|her|their|its|all|each|every|first|last|next|if|when|since|selling|buying|using|multiply(?:ing)?|divid(?:e|ing)|add(?:ing)?|subtract(?:ing)?"
    r"|(?<!total\s)(?<!profit\s)(?<!cost\s)(?<!amount\s)(?<!sum\s)(?<!average\s)(?<!grade\s)(?<!score\s)(?<!speed\s)(?<!maximum\s)(?<!minimum\s)of)\s"
    r"|\b[A-Z][a-z]+\s|\A\W*(?:If|In|After|When|Since|With|For|At|Out)\b[^,]*)\Z"
)


WORKED_OUT = re.compile(r"=[^=\n]*\d")
"""A calculation with its result."""
_NAMED = re.compile(r"(?<![\w.,])(-?\d[\d,]*(?:\.\d+)?)\s*=\s*[A-Za-z]\W*\Z")
"""`10 = b` at the end."""
_IN_TOTAL = re.compile(
    r"\b(?:(?:for|making|with)\sa\s(?:grand\s)?total\sof|to\sget)\s(\\?[$€£]?\d[\d,]*+(?>(?:\.\d+)?))(?=[^\d=]*\Z)"
)
"""`3 cats, 9 dogs and 7 rabbits, for a total of 19 pets`, `add her 12 to his 7 to get 19 pets`."""
COUNTED = re.compile(
    r"\s*(?:(?:So|Thus|Therefore|Hence|In\stotal|Altogether),?\s|[A-Z][^.=\d\n]{0,120}(?:,|\sthat)\s)?(?:[Tt]here\s(?:are|is|were|was|will\sbe|would\sbe)\s(?:a\stotal\sof\s|exactly\s|only\s)?"
    rf"(?:(\d[\d,]*+(?>(?:\.\d+)?))\s+[A-Za-z]|({NUMBER_RUN.pattern})\s+(?!solution|root|value|answer|case|possib|integer|number|point|pair)[a-z])"
    r"|(\d[\d,]*+)\s[a-z]+\s(?:think|believe|prefer|chose|voted|said|say|like|want|(?:have|has)(?!\s\d))\s)(?![^\n]*(?:[=;]|,\s(?:so|which|therefore|thus|and\seach)\s))"
)
"""`There are 30 boxes in 6 crates`, `There are two bars above 40`, `16 people think that horse 12 will win`: the count that the
sentence begins with."""
_REASON = re.compile(r"\s*(?:Since|As|Because|If|When|Given)\s[^,]*(?:,(?!\s)[^,]*)*,\s")
_CONSEQUENCE = re.compile(r"[,;]\s*(?:and\s+)?(?:so|therefore|thus|hence|meaning|which means)\s")
_CONDITION = re.compile(
    r"(?:\s(if|because|assuming|so\sthat)|,\s(as|considering)|(?<=\w)\s(by)(?=\s[a-z]{2,12}ing\s)"
    r"|(?<!need)(?<!needs)(?<!has)(?<!have)(?<!had)(?<!want)(?<!wants)(?<!going)(?<!able)(?<!due)(?<!up)(?<!equal)(?<!equivalent)(?<!left)"
    r"\s(to)(?=\s(?!be\s|the\s|a\s|an\s|get\sto)[a-z]{2,12}\s))\s"
)
"""What follows tells why, how or what for: `16 yards to make 20 small masks`, `saves 250 by choosing option 1`."""
_RESULTS = 6
"""How many calculations back a number may have been worked out."""
_ASIDE = re.compile(r"\([^()\n]{1,200}\)")
_RESULT = re.compile(
    r"=\s*(?:<<[^<>\n]*>>)?\s*\\?[$€£]?\s*(?:<<[^<>\n]*>>)?(\d[\d,]*+(?>(?:\.\d+)?)|\.\d++)(?!\s*(?:[+*×÷\d]|[-/]\s*[\d($]))"
)
DENIED = re.compile(
    r"\b(?:not|cannot|can't|isn't|never|nicht|no\ses|não\sé|non\sè|pas|не|(?:greater|less|more|fewer|larger|smaller|higher|lower|other)\sthan|anything\sbut|instead\sof|half\sof|(?:square|cube)\sroot\sof|out\sof|negative|minus|twice|under|below|above"
    r"|(?:page|step|problem|question|equation|room|base|figure|chapter)|(?:größer|kleiner)\sals|(?:mayor|menor)\sque)"
    r"\s+(?:be\s+|equal\s+(?:to\s+)?)?[\\($]{0,2}\Z|不是\s?\Z"
)
_TIMES_AS = re.compile(r"(?<![\w.,])(\d+)\stimes\sas\b")
REFUSED = re.compile(
    r"\stimes\s(?:as|older|larger|longer|bigger|faster)\b|\s?(?:is|was|would\sbe)\s(?:not\s(?:the\s(?:answer|right|correct)|correct|right|possible)|wrong|incorrect)\b"
)
"""`12 is wrong`; but `12 are not red` may be the answer."""
_IN_EXPRESSION = re.compile(r"π|[xyz](?![A-Za-z])|\s?[-+*/×÷−]\s?[A-Za-z](?![A-Za-z])|[-–]\d|[⁻⁺⁰¹²³⁴-⁹]|\^")
"""`160 - x red roses`, `75-111 pages`, `10⁵`: half of an expression or of a range is no value."""
_IN_RANGE = re.compile(r"√\Z|\d[-–]\Z|[)^/]\Z|\^\{\Z")
_BEFORE = re.compile(
    r"(?:\b(?:d'ici|dans|pendant|nach|durante|en|in(?:\sa)?|for|over|after|every|per|within|during|each|all|by|at|than|the|these|those|(?:goal|budget)\sof|Option|Plan|Day|Week|Team|Step|to\s(?!pay|spend|earn|save|receive|be|make|get|obtain|give|yield|find|produce|conclude)\w+|\w{2,}ing))\s+\Z"
)
_NEEDED = re.compile(r"\b(?:needs?|has|have|must)\s(?:to\s)?[a-z]+\s\Z")
"""`needs to add 4 liters`: what is to be done is what was asked for."""
_TIME = re.compile(
    r"\s*(?:minut|hour|day|week|month|year|second|time|p\.?m|a\.?m|mois|jour|heure|an(?:née)?s?\b|semaine|stunde|tag|woche|monat"
    r"|jahr|hora|día|semana|mes(?:es)?\b|año)",
    re.IGNORECASE,
)
_EACH = re.compile(r"\s*(?:[a-z]+\s)?(?:each|apiece|per\b|a\spiece)")
_ALWAYS = (
    "goal", "budget", "Option", "Plan", "Day", "Week", "Team", "Step", "all", "after", "every", "per", "each", "the",
    "these", "those", "than",
)  # fmt: skip


def is_circumstance(text: str, begin: int, start: int, stop: int) -> bool:
    """`after 3 days`, `every 5`, `the 16 glasses`, `to reach 100`, `selling 9 eggs`: what the sentence already knew."""
    before = _BEFORE.search(text[max(begin, start - 24) : start])
    if before is None or _NEEDED.search(text[max(begin, start - 40) : start]):
        return False
    word = before[0].split()[0]
    if (word == "for" and text[start] not in "$\\€£") or (word == "at" and _EACH.match(text, stop)):
        return True
    return word in _ALWAYS or word.endswith("ing") or word == "to" or _TIME.match(text, stop) is not None


def _digits(number: str) -> str:
    digits = number.replace(",", "").strip(" $\\€£¥₹%")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits
