"""Decide whether a response is complete: by its finish reason, then its open structures, then its last clause.

Servers do not always report why they stopped. In a text that was cut off, only an answer stated earlier counts. Only
the last two thousand characters are examined.
"""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.reading import kinds
from markscheme.marking.reading.boxes import last_box
from markscheme.marking.reading.clauses import ASSERTED, Clause, clauses
from markscheme.marking.reading.grammar import ANNOUNCED, CHOSEN, CONCLUDED, STATED, Candidate, candidates
from markscheme.marking.reading.lexer import Lexed, Token, lex, near_end
from markscheme.marking.reading.open_formulas import WINDOW, in_box, in_brackets, in_formula
from markscheme.marking.reading.plainly import labelled
from markscheme.marking.reading.sections import ResponseSections
from markscheme.marking.reading.values import LETTERS, VALUE, WORD_CLASSES, Kind

_LAST: Final = 600  # characters from the end that are read as sentences
_LINE: Final = 120
_SHORT: Final = 80  # a shorter response that ends in a word or value counts as complete
_THOUGHT: Final = 60  # an answer with less text before it does not end a line of thought
_WORKED: Final = 140  # a shorter text is a sentence or two and needs no conclusion
_LONG_THOUGHT: Final = 1_200
_CIRCLE: Final = 40
_ROUNDS: Final = 5  # repetitions of the last words that count as a loop
_KINDS: Final = (LETTERS, VALUE, Kind("word", sum(WORD_CLASSES.values())))
_OPENS: Final = kinds.COMMA | kinds.COLON | kinds.EQUALS | kinds.OPEN | kinds.HASHES
_TELLING: Final = kinds.NUMBER | kinds.FORMULA | kinds.BOX | kinds.LETTER
_OPERATORS: Final = frozenset("+-*/×·÷^_&\\<>≤≥∈|−=")
_CONCLUDES: Final = (
    kinds.SO | kinds.ANSWER | kinds.RESULT | kinds.FINAL | kinds.GOOD | kinds.CHOOSE | kinds.UNKNOWN | kinds.YES | kinds.NO
)  # fmt: skip
_MEASURED: Final = kinds.NUMBER | kinds.UNIT
_ENDS_WHOLE: Final = re.compile(r"(?:[.!?。！？।)\]}”\"'`$*>✅]|\\\])\s*\Z")
_COMMAND: Final = re.compile(r"\\[a-zA-Z]{1,12}\Z|<<[^<>\n]{0,80}\Z")
_WHOLE_COMMAND: Final = re.compile(
    r"\\(?:pi|infty|alpha|beta|theta|circ|%|emptyset|checkmark|blacksquare|square|Box)\Z"
)
_LIST_MARK: Final = re.compile(r"\s*(?:[-*•]|\*{0,2}\d{1,2}[.)]|#{1,6}|\*\*)\s?\*{0,2}")
_STRUCTURED: Final = re.compile(
    r"\\\(|\\\[|\*\*[A-Z\d]|^[ \t]{0,12}\d{1,2}\.\s|^#{1,6}\s|\$\$|\$[a-zA-Z\\(]", re.MULTILINE
)
_JSON: Final = re.compile(
    r"[^\n{]{0,120}\s{0,4}(?:```\s?(?:json)?\s{0,4})?\{\s{0,20}\"[a-z_ ]{1,30}\"\s?:", re.IGNORECASE
)
_STOPS: Final = (".", "!", "?", "。", "！", "？", "।", ":", "：")
_CLOSES: Final = ("\\]", "$$", "```", "**", "</answer>", ".$", ".\\)")
_TAG: Final = re.compile(r"<(answer|ans|solution)>[^<>]{1,200}</\1>\W{0,8}\Z|\"answer\"\s?:")
_AFTER_BOX: Final = re.compile(
    r"[\s$\\)\]]{0,4}(?:\\?text\{[^{}\n]{0,20}\}|[^\W\d_]{1,12})?[\s$\\\])}.*_。।!|✅-]{0,30}\Z"
)


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
    tail = text[max(start, end - WINDOW) : end].rstrip()
    if not tail:
        return 0 < start < end and not ended  # closed thinking, and a new line for an answer
    if tail[-1] not in ("}", "`") and _JSON.match(text, start, end):
        return True
    stop = max(start, end - WINDOW) + len(tail)
    line = text.rfind("\n", max(start, stop - _LINE), stop) + 1
    if line > start and labelled(text, line, stop) is not None:
        return False
    if _is_open(text, start, end, tail):
        return True
    if _states_in_last_line(text, start, stop):
        return False
    lexed = lex(text, near_end(text, start, stop), stop)
    parts = clauses(lexed)
    if not parts:
        return False
    if _stops_short(lexed, parts[-1], tail):
        return True
    if ended:
        return False
    stops = _sets_stops(tail)
    stated = _stated_at_end(lexed, parts, trailing=3 if stops else 6, long=len(tail) > _WORKED)
    blank = text[max(start, end - 40) : end]
    blank = blank[len(blank.rstrip()) :]
    if not stated and len(tail) >= _SHORT and ("\n" in blank[:-1] or blank == "  \n"):
        return True  # the next paragraph was started
    if tail.count(tail[-_CIRCLE:]) >= _ROUNDS and not stated:
        return True
    if len(tail) < _SHORT and not start:
        return not stated and _is_begun(lexed, parts[-1])
    if len(tail) < _SHORT and "\n" not in tail.lstrip() and lexed.tokens[parts[0].first].kinds & _TELLING:
        return False  # a bare last line after closed thinking
    if start == 0 and _is_thinking(text, end, lexed):
        return not ends_with_answer(text, start, end)
    if not _is_complete(lexed, tail, stated, stops):
        return True
    if len(tail) < _WORKED and "\n" not in tail.strip() and lexed.tokens[-1].kinds & kinds.STOP:
        return False  # a sentence or two after closed thinking
    return not stated and (start > 0 or len(tail) > _WORKED) and _concludes_nothing(lexed, parts, tail, after=start > 0)


def _states_in_last_line(text: str, start: int, stop: int) -> bool:
    """True if the last line announces an answer and ends with it: "ANSWER: 72".

    This is the common case and cheap to check.
    """
    line = text.rfind("\n", max(start, stop - _LINE), stop) + 1
    if line <= start:
        return False
    lexed = lex(text, line, stop)
    return any(
        each.rank >= STATED and each.mood == ASSERTED and each.value.last >= len(lexed.tokens) - 2
        for kind in (VALUE, LETTERS)
        for each in candidates(lexed, kind)
    )


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
    if _TAG.search(tail) or _states_in_last_line(text, start, begin + len(tail)):
        return True
    lexed = lex(tail, 0, len(tail))
    if not lexed.tokens or not (_ENDS_WHOLE.search(tail) or _is_lone_answer(lexed)):
        return False
    last, paragraph = clauses(lexed)[-1].first, tail.rfind("\n\n")
    places = [token.start for token in lexed.tokens if token.kinds & kinds.BOX]
    for each in (each for kind in _KINDS for each in candidates(lexed, kind) if each.mood == ASSERTED):
        begins = lexed.tokens[each.value.first].start
        ends = each.value.first >= last and 0 <= paragraph < begins and each.rank >= CONCLUDED
        if each.rank >= CHOSEN or each.rule in ANNOUNCED or ends:
            places.append(begins)
    after = [token for token in lexed.tokens if token.start >= max(places, default=0)]
    return bool(places) and not any(token.kinds & (kinds.RETRACT | kinds.HEDGE) for token in after)


def _is_lone_answer(lexed: Lexed) -> bool:
    """True if a text ends in a line such as "Answer: B"."""
    last = clauses(lexed)[-1]
    first, size = lexed.tokens[last.first], last.last - last.first + 1
    if lexed.text[: first.start].rstrip(' *_#>"')[-1:] not in ("\n", ""):
        return False  # "… so the answer is 12" within a line may be any thought
    lone = size == 1 and first.kinds & (kinds.LETTER | kinds.NUMBER)
    return bool(lone or (size < 8 and last.kinds & (kinds.ANSWER | kinds.OPTION)))


def _is_open(text: str, start: int, end: int, tail: str) -> bool:
    """True if a text stops within a formula, a box or a command."""
    if len(tail) < _SHORT and not start:
        return len(tail) > 20 and in_brackets(tail)
    if in_formula(text, start, end, tail) or in_box(tail, start):
        return True
    command = _COMMAND.search(tail, max(0, len(tail) - 90))
    return command is not None and not _WHOLE_COMMAND.search(tail, max(0, len(tail) - 20))


def _stops_short(lexed: Lexed, clause: Clause, tail: str) -> bool:
    """True if the last token needs a continuation: an operator, a comma, "the", a list marker."""
    line = tail[tail.rfind("\n") + 1 :]
    if "\n" in tail and (_LIST_MARK.fullmatch(line) or _is_next_number(tail, line)):
        return True
    last = lexed.tokens[-1]
    if last.kinds & _OPENS:
        return tail[-1] not in ")]}\"'”" and len(tail) > 20
    if last.kinds & kinds.OTHER and lexed.text[last.start : last.end] in _OPERATORS:
        before = lexed.tokens[-2] if len(lexed.tokens) > 1 else None
        operand = _TELLING | kinds.WORD | kinds.CLOSE
        return before is None or bool(before.kinds & operand) or last.start > before.end
    if last.kinds & kinds.CONNECT and len(lexed.tokens) > 3:
        return not last.kinds & (kinds.UNIT | kinds.YES | kinds.NO) or bool(last.kinds & kinds.FILLER)
    return not last.kinds & (kinds.STOP | kinds.ASKS) and _heads_a_step(lexed, clause, tail, line.lstrip())


def _heads_a_step(lexed: Lexed, clause: Clause, tail: str, line: str) -> bool:
    """True if the last line is a heading without its step: `### Step 2: Add them`."""
    tokens = lexed.tokens[clause.first : clause.last + 1]
    step = next((token.kinds & kinds.STEP for token in tokens if token.kinds & kinds.WORD), 0)
    return (
        "\n" in tail
        and bool(step or line.startswith("#"))
        and (line.startswith(("#", "**")) or len(tokens) < 8)
        and not clause.kinds & (_CONCLUDES | kinds.EQUALS | kinds.FORMULA | kinds.BOX)
        and not lexed.has(kinds.NUMBER, clause.first + 2, clause.last)
    )


def _is_next_number(tail: str, line: str) -> bool:
    """True if the last line is only the number of the next step: `2. … 3`."""
    number = line.strip()
    return (
        len(number) < 3
        and number.isdecimal()
        and re.search(rf"^\s*{int(number) - 1}[.)]\s", tail, re.MULTILINE) is not None
    )


def _stated_at_end(lexed: Lexed, parts: list[Clause], *, trailing: int, long: bool) -> bool:
    """True if the last sentence gives an answer: announced, concluded, or a value with few words after it."""
    first, early = parts[_last_sentence(parts)].first, parts[max(0, len(parts) - 3)].first
    return any(
        each.mood == ASSERTED and each.value.last >= early and _ends_in(lexed, parts, each, kind, first, trailing, long)
        for kind in _KINDS
        for each in candidates(lexed, kind)
    )


def _last_sentence(parts: list[Clause]) -> int:
    """Return the index of the first clause of the last sentence."""
    begin = len(parts) - 1
    while begin and parts[begin - 1].ender in (kinds.WORD, kinds.COMMA):
        begin -= 1
    return begin


def _ends_in(
    lexed: Lexed, parts: list[Clause], each: Candidate, kind: Kind, first: int, trailing: int, long: bool
) -> bool:
    """True if a candidate of the last clauses is the answer given by the last sentence, which starts at token `first`."""
    tokens, value = lexed.tokens, each.value
    stops = any(token.kinds & kinds.STOP for token in tokens[parts[-1].last + 1 :])
    if each.rank >= CHOSEN or (each.rule in ANNOUNCED and stops):
        return True
    if each.rule == "a label" and value.first >= parts[-1].first and each.clause in (0, len(parts) - 1):
        return True  # "C. The bottom one"
    formula = lexed.has(kinds.FORMULA | kinds.EQUALS, value.first, value.last) and value.content.count("=") < 2
    if value.first < first or (each.rule == "a line of its own" and long and formula):
        return False  # a formula on its own line may be any step
    few = sum(bool(token.kinds & kinds.WORD) for token in tokens[value.last + 1 :]) < trailing
    equated = value.first > first and tokens[value.first - 1].kinds & (kinds.EQUALS | kinds.EMPHASIS)
    if each.rank >= CONCLUDED and (few or stops):
        return True
    return few and kind is VALUE and bool(equated or "=" in value.content)


def _sets_stops(tail: str) -> bool:
    """True if most lines of a text end in a full stop or a colon."""
    lines = [line.rstrip(" *_") for line in tail.split("\n")[:-1] if len(line.split()) > 3]
    return sum(1 for line in lines if line.endswith(_STOPS)) * 2 > len(lines)


def _is_begun(lexed: Lexed, last: Clause) -> bool:
    """True if a short text is an unfinished sentence: "Ann has 12 red p"; `12 red pens` is an answer."""
    tokens = lexed.tokens[last.first : last.last + 1]
    words = [token.kinds for token in tokens if token.kinds & kinds.WORD]
    whole = kinds.STOP | kinds.ASKS | kinds.CLOSE | kinds.EMPHASIS | kinds.FORMULA | kinds.BOX
    if lexed.tokens[-1].kinds & whole or not words:
        return False
    if last.kinds & kinds.COLON and lexed.has(kinds.COLON, last.first, last.last - 1) and tokens[-1].kinds & _MEASURED:
        return False  # "Speed: 60 km/h"
    if last.kinds & (kinds.EQUALS | _CONCLUDES | kinds.IS):
        return bool(words[0] & (kinds.CONNECT | kinds.STEP)) and len(words) < 3
    if words[-1] & kinds.UNIT and last.kinds & kinds.NUMERAL:
        return False
    opens = lexed.text[tokens[0].start].isupper() and tokens[0].kinds & kinds.WORD
    return bool(opens) and len(words) > (1 if last.kinds & kinds.NUMBER else 2)


def _is_thinking(text: str, end: int, lexed: Lexed) -> bool:
    """True if a text thinks aloud without thinking tags: it opens that way, or has second thoughts at its end."""
    doubts = sum(bool(token.kinds & kinds.THINK) for token in lexed.tokens)
    if doubts >= 2:
        return True
    opens = lex(text, 0, min(end, 60)).has(kinds.THINK, 0, 3)
    return opens and (end > _LONG_THOUGHT or doubts > 0)


def thinks_on(sections: ResponseSections, at: int) -> bool:
    """True if a text without thinking tags has second thoughts after a position: what came before was only a thought."""
    if sections.start or sections.ended or sections.end < sections.sequel_end:
        return False
    lexed = lex(sections.text, near_end(sections.text, sections.start, sections.end), sections.end)
    return any(token.kinds & kinds.THINK and token.start > at for token in lexed.tokens)


def _is_complete(lexed: Lexed, tail: str, stated: bool, stops: bool) -> bool:
    """True if the last sentence has its full stop, or gives its value in a text without full stops."""
    last = lexed.tokens[-1].kinds
    if _is_fragment(lexed, tail):
        return False
    if last & (kinds.STOP | kinds.ASKS | kinds.BOX) or tail.endswith(_CLOSES):
        return tail.count("**") % 2 == 0 or not tail.endswith("**")
    if tail.endswith("}") and "\\end{" in tail[-20:]:
        return True
    sentence = tail[max(tail.rfind("\n"), *(tail.rfind(stop + " ") for stop in _STOPS[:3])) + 1 :]
    if sum(map(sentence.count, "([{")) > sum(map(sentence.count, ")]}")):
        return False
    if stated or (last & kinds.CLOSE and tail[-1] not in ")]"):
        return True
    return "\n" in tail and not stops and bool(last & (_TELLING | kinds.CLOSE))


def _is_fragment(lexed: Lexed, tail: str) -> bool:
    """True if the last line is part of a word that opens sentences: "Therefor", "Th"."""
    line = tail[tail.rfind("\n") + 1 :].strip()
    if "\n" not in tail or not line.isalpha() or not line[0].isupper() or (len(line) == 1 and line in "ABCDEFGHIJ"):
        return False
    opening, word = kinds.SO | kinds.CONNECT | kinds.STEP | kinds.THIS, line.lower()
    return any(classes & opening and entry.startswith(word) for entry, classes in lexed.words.words.items())


def _concludes_nothing(lexed: Lexed, parts: list[Clause], tail: str, *, after: bool) -> bool:
    """True if a worked solution ends in one of its steps, without a word that draws a conclusion.

    Complete solutions end in a box or a "therefore". When a solution is cut at a sentence end, this is usually the only
    sign.
    """
    if not after and len(_STRUCTURED.findall(tail)) < 2:
        return _sets_out(lexed.tokens[parts[_last_sentence(parts)].first : parts[-1].last + 1])
    paragraph = len(tail) - tail.rfind("\n\n")
    begins = lexed.tokens[-1].end - paragraph
    opens = next((part for part in parts if lexed.tokens[part.first].start >= begins), parts[-1])
    return not opens.kinds & kinds.REMARK and not any(
        part.kinds & (_CONCLUDES | kinds.REMARK) or (part.kinds & kinds.EMPHASIS and part.kinds & _TELLING)
        for part in parts[-2:]
    )


def _sets_out(tokens: list[Token]) -> bool:
    """True if a sentence announces a step instead of a result: "To find the area, we need the height."."""
    asks = any(token.kinds & kinds.ASK for token in tokens[:4])
    return asks and not any(token.kinds & _TELLING for token in tokens)
