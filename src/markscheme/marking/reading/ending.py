"""Decide whether a response is complete: by its finish reason, then its open structures, then its last clause.

Servers do not always report why they stopped. In a text that was cut off, only an answer stated earlier counts. Only
the last two thousand characters are examined, and of a paragraph that is longer, its dollar signs.
"""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.reading import kinds
from markscheme.marking.reading.boxes import FORGOTTEN, closing_brace, last_box
from markscheme.marking.reading.clauses import ASSERTED, Clause, clauses
from markscheme.marking.reading.grammar import ANNOUNCED, CHOSEN, CONCLUDED, STATED, Candidate, candidates
from markscheme.marking.reading.lexer import Lexed, lex, near_end
from markscheme.marking.reading.plainly import LINE, labelled
from markscheme.marking.reading.sections import ResponseSections
from markscheme.marking.reading.values import LETTERS, VALUE, WORD_CLASSES, Kind

_WINDOW: Final = 2_000  # characters examined at the end of a response
_WHOLE: Final = _WINDOW - 100  # a longer paragraph may have begun before them
_PARAGRAPH: Final = 12_000  # longest paragraph whose dollar signs are counted
_LAST: Final = 600  # characters from the end that are read as sentences
_SHORT: Final = 80  # a shorter response that ends in a word or value counts as complete
_THOUGHT: Final = 60  # an answer with less text before it does not end a line of thought
_WORKED: Final = 140  # a shorter text is a sentence or two and needs no conclusion
_LONG_THOUGHT: Final = 1_200
_CIRCLE: Final = 40
_ROUNDS: Final = 5  # repetitions of the last words that count as a loop
_FEW_WORDS: Final = 4
_KINDS: Final = (LETTERS, VALUE, Kind("word", sum(WORD_CLASSES.values())))
_OPENS: Final = kinds.COMMA | kinds.COLON | kinds.EQUALS | kinds.OPEN | kinds.HASHES
_TELLING: Final = kinds.NUMBER | kinds.FORMULA | kinds.BOX | kinds.LETTER
_ENDED: Final = kinds.STOP | kinds.ASKS | kinds.BOX
_OPERATORS: Final = frozenset("+-*/×·÷^_&\\<>≤≥∈|−=")
_CONCLUDES: Final = (
    kinds.SO | kinds.ANSWER | kinds.RESULT | kinds.FINAL | kinds.GOOD | kinds.CHOOSE | kinds.UNKNOWN | kinds.YES | kinds.NO
    | kinds.REMARK
)  # fmt: skip
_ENDS_WHOLE: Final = re.compile(r"(?:[.!?。！？।)\]}”\"'`$*>✅]|\\\])\s*\Z")
_COMMAND: Final = re.compile(
    r"(?!\\(?:pi|infty|alpha|beta|theta|circ|emptyset|checkmark|blacksquare|square|Box)\Z)\\[a-zA-Z]{1,12}\Z|<<[^<>\n]{0,80}\Z"
)
_LIST_MARK: Final = re.compile(r"\s*(?:[-*•]|\*{0,2}\d{1,2}[.)]|#{1,6}|\*\*)\s?\*{0,2}")
_STRUCTURED: Final = re.compile(
    r"\\\(|\\\[|\*\*[A-Z\d]|^[ \t]{0,12}\d{1,2}\.\s|^#{1,6}\s|\$\$|\$[a-zA-Z\\(]", re.MULTILINE
)
_JSON: Final = re.compile(
    r"[^\n{]{0,120}\s{0,4}(?:```\s?(?:json)?\s{0,4})?\{\s{0,20}\"[a-z_ ]{1,30}\"\s?:", re.IGNORECASE
)
_STOPS: Final = (".", "!", "?", "。", "！", "？", "।", ":", "：")
_CLOSES: Final = ("\\]", "$$", "```", "**", ">", ".$", ".\\)")
_AFTER_BOX: Final = re.compile(
    r"[\s$\\)\]]{0,4}(?:\\?text\{[^{}\n]{0,20}\}|[^\W\d_]{1,12})?[\s$\\\])}.*_。।!|✅-]{0,30}\Z"
)
_COMMANDS: Final = (("\\(", "\\)"), ("\\[", "\\]"), ("\\begin{", "end{"))  # the backslash of the last is sometimes lost
_PRICE: Final = re.compile(r"(?:<<[^<>\n]*>>)?[-−]?[\d.,]+k?(?:\s|[.)/*x=+-]|\Z)")
_FORMULA_OPENS: Final = re.compile(r"\$[a-zA-Z\\(]")
_SPACED_FORMULA: Final = re.compile(r"\$ [a-zA-Z\\(][^$\n]{0,200} \$")
_WORD: Final = re.compile(r"[a-z]{3}")
_NUMBER: Final = re.compile(r"\d[\d,.]*+")


def is_cut_off(sections: ResponseSections) -> bool:
    """True if a response was cut off, according to its server or its text.

    A response that continues with an invented question was complete before it. If the server reports a normal stop, a
    missing full stop is a matter of style; within a formula or after "the", a stop string cut the text.
    """
    if sections.end < sections.sequel_end:
        return False
    return sections.cut_off or breaks_off(sections.text, sections.start, sections.end, ended=sections.ended)


def breaks_off(text: str, start: int, end: int, *, ended: bool = False) -> bool:
    """True if `text[start:end]` stops in the middle of something."""
    tail = text[max(start, end - _WINDOW) : end].rstrip()
    if not tail:
        return 0 < start < end and not ended  # closed thinking, and a new line for an answer
    if (tail[-1] not in "}`" and _JSON.match(text, start, end)) or _is_open(text, start, end, tail):
        return True
    stop = max(start, end - _WINDOW) + len(tail)
    if labelled(text, start, stop) is not None:
        return False
    lexed = lex(text, near_end(text, start, stop), stop)
    parts = clauses(lexed)
    if not parts or ended:
        return bool(parts) and _stops_short(lexed, tail)
    if _stops_short(lexed, tail):
        return True
    if start and len(parts) == 1 and parts[0].kinds & kinds.LETTER and _is_lone_answer(lexed, parts[0]):
        return False  # a choice on the only line after closed thinking
    stops = _sets_stops(tail)
    stated = _stated_at_end(lexed, parts, trailing=3 if stops else 6, long=len(tail) > _WORKED)
    if len(tail) < _SHORT and not start:
        return not stated and _is_begun(lexed, parts[-1])
    if not stated and (tail.count(tail[-_CIRCLE:]) >= _ROUNDS or text.startswith(("\n\n", "  \n"), stop)):
        return True  # a loop, or the next paragraph was started
    thinking = _is_thinking(text, end, lexed)
    if not thinking and not _is_complete(lexed, tail, stated, stops):
        return True
    idle = not stated and len(tail) > _WORKED and _concludes_nothing(lexed, parts, tail, after=start > 0)
    return (thinking or idle) and not ends_with_answer(text, start, end)


def ends_with_answer(text: str, start: int, end: int) -> bool:
    """True if the last sentences of `text[start:end]` are complete, state an answer and do not doubt it.

    Such a response is judged even if its thinking was never closed: text cut off in its thinking rarely ends so.
    """
    begin = max(start, end - _LAST)
    tail = text[begin:end].rstrip()
    if end - start < _THOUGHT or not tail:
        return False
    box = last_box(tail, max(0, len(tail) - 300), len(tail))
    if box is not None and tail[box.outer_end - 1] == "}" and _AFTER_BOX.match(tail, box.outer_end):
        return True
    if tail.endswith(">") and tail.rfind("</", len(tail) - 12) >= 0:
        return True  # a closed tag
    line = tail.rfind("\n", max(0, len(tail) - LINE)) + 1
    lexed = lex(tail, line, len(tail))
    if line and any(
        each.rank >= STATED and each.value.last >= len(lexed.tokens) - 2
        for kind in (VALUE, LETTERS)
        for each in candidates(lexed, kind)
    ):
        return True  # Answer: 72
    lexed = lex(tail, 0, len(tail))
    last, paragraph = clauses(lexed)[-1:], tail.rfind("\n\n")
    if not last or not (_ENDS_WHOLE.search(tail) or _is_lone_answer(lexed, last[0])):
        return False
    places = [token.start for token in lexed.tokens if token.kinds & kinds.BOX]
    for each in (each for kind in _KINDS for each in candidates(lexed, kind) if each.mood == ASSERTED):
        begins = lexed.tokens[each.value.first].start
        ends = each.value.first >= last[0].first and 0 <= paragraph < begins and each.rank >= CONCLUDED
        if each.rank >= CHOSEN or each.rule in ANNOUNCED or ends:
            places.append(begins)
    after = [token for token in lexed.tokens if token.start >= max(places, default=0)]
    return bool(places) and not any(token.kinds & (kinds.RETRACT | kinds.HEDGE) for token in after)


def _is_lone_answer(lexed: Lexed, last: Clause) -> bool:
    """True if the last line is just "B" or "Option B"; a clause within a line may be any thought."""
    lead = lexed.text[: lexed.tokens[last.first].start].rstrip(' *_#>"')[-1:]
    return lead in ("\n", "") and last.last - last.first < 7 and bool(last.kinds & (_TELLING | kinds.ANSWER))


def _is_open(text: str, start: int, end: int, tail: str) -> bool:
    """True if a text stops within a formula, a box or a command.

    A tail that begins within a paragraph may begin within a formula, so the whole paragraph must be open too.
    """
    if any(tail.rfind(opening) > tail.rfind(closing) for opening, closing in _COMMANDS):
        return len(tail) > 20
    if len(tail) < _SHORT and not start:
        return False
    if _in_box(tail, start) or _COMMAND.search(tail, max(0, len(tail) - 90)):
        return True
    at = tail.rfind("\n\n") + 1
    if not _in_dollars(tail[at:]) or at or len(tail) < _WHOLE:
        return _in_dollars(tail[at:])
    paragraph = text[max(start, end - _PARAGRAPH) : end].rstrip()
    return _in_dollars(paragraph[paragraph.rfind("\n\n") + 1 :])


def _in_dollars(paragraph: str) -> bool:
    """True if dollar signs leave a formula open; one before a number may be a price."""
    if "$" not in paragraph:
        return False
    paragraph = paragraph.replace("$\\$$", "").replace("\\$", "")
    if paragraph.count("$$") % 2:
        return len(paragraph) <= _WHOLE or len(_WORD.findall(paragraph, paragraph.rfind("$$"))) < _FEW_WORDS
    marks = paragraph.replace("$$", "")
    rest = marks[marks.rfind("$") + 1 :]
    if marks.count("$") % 2 == 0 or not rest:
        return False
    if rest[0].isspace():
        return _SPACED_FORMULA.search(marks) is not None and not _PRICE.match(rest.lstrip())
    # An unpaired dollar before a number is a price, unless this text uses dollars for formulas and no word follows.
    return not _PRICE.match(rest) or (_FORMULA_OPENS.search(marks) is not None and not _WORD.search(rest))


def _in_box(tail: str, start: int) -> bool:
    """True if the last box is unclosed at the end. A response that consists of such a box only lacks the brace."""
    opened = max(tail.rfind("\\boxed{"), tail.rfind("\\fbox{"))
    if opened < 0 or start + opened < FORGOTTEN:
        return False
    return closing_brace(tail, tail.index("{", opened) + 1, len(tail)) < 0 and "\n" not in tail[opened:]


def _stops_short(lexed: Lexed, tail: str) -> bool:
    """True if the last token needs a continuation: an operator, a comma, "the", a list marker."""
    line, last = tail[tail.rfind("\n") + 1 :], lexed.tokens[-1]
    numbered = line.isdecimal() and len(line) < 3 and f"\n{int(line) - 1}." in tail  # 2. … 3
    if "\n" in tail and (numbered or _LIST_MARK.fullmatch(line)):
        return True
    if last.kinds & _OPENS:
        return tail[-1] not in ")]}\"'”" and len(tail) > 20
    if last.kinds & kinds.OTHER and lexed.text[last.start : last.end] in _OPERATORS:
        before = lexed.tokens[-2] if len(lexed.tokens) > 1 else last
        return bool(before.kinds & (_TELLING | kinds.WORD | kinds.CLOSE)) or last.start != before.end
    unit = last.kinds & (kinds.UNIT | kinds.YES | kinds.NO) and not last.kinds & kinds.FILLER
    return bool(last.kinds & kinds.CONNECT) and len(lexed.tokens) > 3 and not unit


def _stated_at_end(lexed: Lexed, parts: list[Clause], *, trailing: int, long: bool) -> bool:
    """True if the last sentence gives an answer: announced, concluded, or a value with few words after it."""
    first, early = parts[_last_sentence(parts)].first, parts[max(0, len(parts) - 3)].first
    return any(
        each.mood == ASSERTED and each.value.last >= early and _ends_in(lexed, parts, each, first, trailing, long)
        for kind in _KINDS
        for each in candidates(lexed, kind)
    )


def _last_sentence(parts: list[Clause]) -> int:
    """Return the index of the first clause of the last sentence."""
    begin = len(parts) - 1
    while begin and parts[begin - 1].ender in (kinds.WORD, kinds.COMMA):
        begin -= 1
    return begin


def _ends_in(lexed: Lexed, parts: list[Clause], each: Candidate, first: int, trailing: int, long: bool) -> bool:
    """True if a candidate of the last clauses is the answer given by the last sentence, which starts at token `first`."""
    tokens, value = lexed.tokens, each.value
    stops = any(token.kinds & kinds.STOP for token in tokens[parts[-1].last + 1 :])
    if each.rank >= CHOSEN or (each.rule in ANNOUNCED and stops) or each.rule == "a label":
        return True
    formula = lexed.has(kinds.FORMULA | kinds.EQUALS, value.first, value.last)
    if value.first < first or (each.rule == "a line of its own" and long and formula):
        return False  # a formula on its own line may be any step
    few = sum(bool(token.kinds & kinds.WORD) for token in tokens[value.last + 1 :]) < trailing
    equated = tokens[value.first - 1].kinds & (kinds.EQUALS | kinds.EMPHASIS) or "=" in value.content
    return few and bool(equated) if each.rank < CONCLUDED else few or stops


def _sets_stops(tail: str) -> bool:
    """True if most lines of a text end in a full stop or a colon."""
    lines = [line.rstrip(" *_") for line in tail.split("\n")[:-1] if len(line.split()) > 3]
    return sum(1 for line in lines if line.endswith(_STOPS)) * 2 > len(lines)


def _is_begun(lexed: Lexed, last: Clause) -> bool:
    """True if a short text is an unfinished sentence: "Ann has 12 red p"; `12 red pens` is an answer."""
    tokens = lexed.tokens[last.first : last.last + 1]
    words = [token.kinds for token in tokens if token.kinds & kinds.WORD]
    if lexed.tokens[-1].kinds & (_ENDED | kinds.CLOSE | kinds.EMPHASIS | kinds.FORMULA) or not words:
        return False
    if last.kinds & (kinds.EQUALS | _CONCLUDES | kinds.IS):
        return bool(words[0] & (kinds.CONNECT | kinds.STEP)) and len(words) < 3
    if words[-1] & kinds.UNIT and last.kinds & kinds.NUMERAL:
        return False
    opens = lexed.text[tokens[0].start].isupper() and tokens[0].kinds & kinds.WORD
    return bool(opens) and len(words) > (1 if last.kinds & kinds.NUMBER else 2)


def _is_thinking(text: str, end: int, lexed: Lexed) -> bool:
    """True if a text thinks aloud without thinking tags: it opens that way, or has second thoughts at its end."""
    doubts = sum(bool(token.kinds & kinds.THINK) for token in lexed.tokens)
    return doubts > 1 or (end > _LONG_THOUGHT and lex(text, 0, min(end, 60)).has(kinds.THINK, 0, 3))


def _is_complete(lexed: Lexed, tail: str, stated: bool, stops: bool) -> bool:
    """True if the last sentence has its full stop, or gives its value in a text without full stops."""
    last = lexed.tokens[-1].kinds
    if _is_fragment(lexed, tail):
        return False
    if last & _ENDED or tail.endswith(_CLOSES) or (tail[-1] == "}" and "\\end{" in tail[-20:]):
        return tail.count("**") % 2 == 0 or not tail.endswith("**")
    sentence = tail[max(tail.rfind("\n"), *(tail.rfind(stop + " ") for stop in _STOPS[:3])) + 1 :]
    if sum(map(sentence.count, "([{")) > sum(map(sentence.count, ")]}")):
        return False
    closed = last & kinds.CLOSE
    return (
        stated
        or bool(closed and tail[-1] not in ")]")
        or ("\n" in tail and not stops and bool(last & _TELLING or closed))
    )


def _is_fragment(lexed: Lexed, tail: str) -> bool:
    """True if the last line is part of a word that opens sentences: "Therefor", "Th"."""
    line = tail[tail.rfind("\n") + 1 :].strip()
    if "\n" not in tail or not line.isalpha() or not line[0].isupper() or lexed.tokens[-1].kinds & kinds.LETTER:
        return False
    opening, word = kinds.SO | kinds.CONNECT | kinds.STEP | kinds.THIS, line.lower()
    return any(classes & opening and entry.startswith(word) for entry, classes in lexed.words.words.items())


def _repeats_result(tail: str) -> bool:
    """True if the last paragraph is one sentence with the number that the one before it ends in: "Ann has 70 coins"."""
    worked, _, said = tail.rpartition("\n\n")
    results = _NUMBER.findall(worked[-_CIRCLE * 2 :])
    lone = "\n" not in said and not _LIST_MARK.match(said) and said.endswith(_STOPS[:2])
    return lone and bool(results) and results[-1].rstrip(",.") in (each.rstrip(",.") for each in _NUMBER.findall(said))


def _concludes_nothing(lexed: Lexed, parts: list[Clause], tail: str, *, after: bool) -> bool:
    """True if a worked solution ends in one of its steps, without a word that draws a conclusion.

    Complete solutions end in a box or a "therefore". When a solution is cut at a sentence end, this is usually the only
    sign. Of a text without structure, only a sentence that announces a step shows it: "To find the area, we need the height."
    """
    if not after and len(_STRUCTURED.findall(tail)) < 2:
        tokens = lexed.tokens[parts[_last_sentence(parts)].first : parts[-1].last + 1]
        asks = any(token.kinds & kinds.ASK for token in tokens[:4])
        return asks and not any(token.kinds & _TELLING for token in tokens)
    return not _repeats_result(tail) and not any(
        part.kinds & _CONCLUDES or (part.kinds & kinds.EMPHASIS and part.kinds & _TELLING) for part in parts[-2:]
    )
