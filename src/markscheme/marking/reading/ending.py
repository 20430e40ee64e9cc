"""Whether a response came to its end: by its finish reason, then by what it left open, then by its last clause.

Servers do not always say why they stopped. A text that broke off has concluded nothing, so that only an answer that it
stated before counts. Never more than the last two thousand characters are looked at.
"""

from __future__ import annotations

import re
from typing import Final

from markscheme.marking.reading.boxes import last_box
from markscheme.marking.reading.clauses import ASSERTED, Clause, clauses
from markscheme.marking.reading.grammar import ANNOUNCED, CHOSEN, CONCLUDED, STATED, Candidate, candidates
from markscheme.marking.reading.lexer import (
    ASKS,
    BOX,
    CLOSE,
    COLON,
    COMMA,
    EMPHASIS,
    EQUALS,
    FORMULA,
    HASHES,
    LETTER,
    NUMBER,
    OPEN,
    OTHER,
    STOP,
    WORD,
    Lexed,
    Token,
    lex,
    near_end,
)  # fmt: skip
from markscheme.marking.reading.open_formulas import WINDOW, in_box, in_brackets, in_formula
from markscheme.marking.reading.sections import ResponseSections
from markscheme.marking.reading.values import LETTERS, VALUE, WORD_CLASSES, Kind
from markscheme.marking.reading.words import BIT

_LAST: Final = 600  # characters from the end that are read as sentences
_LINE: Final = 120
_SHORT: Final = 80  # a shorter response that ends in a word or a value is an answer as it is
_THOUGHT: Final = 60  # an answer with less before it is not the end of any thinking
_WORKED: Final = 140  # a shorter text is a sentence or two, and need not draw a conclusion
_CIRCLE: Final = 40
_ROUNDS: Final = 5  # nobody says the last words of a text so often
_OPEN_KINDS: Final = (COMMA, COLON, EQUALS, OPEN, HASHES)
_KINDS: Final = (LETTERS, VALUE, Kind("word", sum(BIT[name] for name in WORD_CLASSES)))
_TELLING: Final = (NUMBER, FORMULA, BOX, LETTER)
_OPERATORS: Final = frozenset("+-*/×·÷^_&\\<>≤≥∈|−=")
_CONCLUDES: Final = sum(
    BIT[name] for name in ("SO", "ANSWER", "RESULT", "FINAL", "GOOD", "CHOOSE", "UNKNOWN", "YES", "NO")
)
_DOUBTS: Final = BIT["RETRACT"] | BIT["HEDGE"]
_CONNECT, _THINK, _STEP, _ASK, _REMARK, _IS = (
    BIT[name] for name in ("CONNECT", "THINK", "STEP", "ASK", "REMARK", "IS")
)
_NAMES: Final = BIT["ANSWER"] | BIT["OPTION"]
_ENDS_WHOLE: Final = re.compile(r"(?:[.!?。！？।)\]}”\"'`$*>]|\\\])\s*\Z")
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
_TAG: Final = re.compile(r"<(answer|ans|solution)>[^<>]{1,200}</\1>\W{0,8}\Z|\"answer\"\s?:")
_AFTER_BOX: Final = re.compile(
    r"[\s$\\)\]]{0,4}(?:\\?text\{[^{}\n]{0,20}\}|[^\W\d_]{1,12})?[\s$\\\])}.*_。।!|✅-]{0,30}\Z"
)


def is_cut_off(sections: ResponseSections) -> bool:
    """Whether a response did not end by itself: as its server says, or as its text shows.

    A model that went on to invent a next question had ended before; what was cut off is the invention. Where the server says
    that the model stopped by itself, a missing full stop is style; within a formula or after "the" a stop string cut it.
    """
    if sections.end < sections.sequel_end:
        return False
    return sections.cut_off or breaks_off(sections.text, sections.start, sections.end, ended=sections.ended)


def breaks_off(text: str, start: int, end: int, *, ended: bool = False) -> bool:
    """Whether `text[start:end]` stops before it has said what it was saying."""
    tail = text[max(start, end - WINDOW) : end].rstrip()
    if not tail:
        return 0 < start < end and not ended  # thinking that was closed, and a new line for an answer
    if _is_open(text, start, end, tail):
        return True
    stop = max(start, end - WINDOW) + len(tail)
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
        return True  # the next paragraph was begun
    if tail.count(tail[-_CIRCLE:]) >= _ROUNDS and not stated:
        return True
    if len(tail) < _SHORT and not start:
        return not stated and _is_begun(lexed, parts)
    if len(tail) < _SHORT and "\n" not in tail.lstrip() and lexed.tokens[parts[0].first].kind in _TELLING:
        return False  # a bare last line after closed thinking
    if start == 0 and _is_thinking(text, end, lexed):
        return not ends_with_answer(text, start, end)
    if not _is_complete(lexed, tail, stated):
        return True
    return not stated and (start > 0 or len(tail) > _WORKED) and _concludes_nothing(lexed, parts, tail, after=start > 0)


def _states_in_last_line(text: str, start: int, stop: int) -> bool:
    """Whether the last line announces an answer and ends in it, "ANSWER: 72": most texts that end so, at a fraction of the cost."""
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
    """Whether the last sentences of `text[start:end]` are complete, state an answer and do not doubt it: then it is judged, even
    if its thinking was never closed. Of texts that broke off inside their thinking hardly any end so."""
    begin = max(start, end - _LAST)
    tail = text[begin:end].rstrip()
    if end - start < _THOUGHT or not tail:
        return False
    box = last_box(tail, max(0, len(tail) - 300), len(tail))
    if box is not None and tail[box.outer_end - 1] == "}" and _AFTER_BOX.match(tail, box.outer_end):
        return True
    if _TAG.search(tail):
        return True
    if _states_in_last_line(text, start, begin + len(tail)):
        return True
    lexed = lex(tail, 0, len(tail))
    if not lexed.tokens or not (_ENDS_WHOLE.search(tail) or _is_lone_answer(lexed)):
        return False
    at, last = -1, clauses(lexed)[-1].first
    paragraph = tail.rfind("\n\n")
    for kind in _KINDS:
        for each in candidates(lexed, kind):
            begins = lexed.tokens[each.value.first].start
            ends = each.value.first >= last and 0 <= paragraph < begins and each.rank >= CONCLUDED
            if each.mood == ASSERTED and (each.rank >= CHOSEN or each.rule in ANNOUNCED or ends):
                at = max(at, begins)
    at = max([at, *(token.start for token in lexed.tokens if token.kind == BOX)])
    return at >= 0 and not any(
        token.kind == WORD and token.classes & _DOUBTS for token in lexed.tokens if token.start >= at
    )


def _is_lone_answer(lexed: Lexed) -> bool:
    """Whether a text ends in a line such as "Answer: B"."""
    last = clauses(lexed)[-1]
    tokens = lexed.tokens[last.first : last.last + 1]
    if lexed.text[: tokens[0].start].rstrip(' *_#>"')[-1:] not in ("\n", ""):
        return False  # "… so the answer is 12" within a line may be any thought
    lone = len(tokens) == 1 and tokens[0].kind in (LETTER, NUMBER)
    return lone or (len(tokens) < 8 and any(each.kind == WORD and each.classes & _NAMES for each in tokens))


def _is_open(text: str, start: int, end: int, tail: str) -> bool:
    """Whether a text stops within a formula, a box, a JSON reply or a command."""
    if tail[-1] not in ("}", "`") and _JSON.match(text, start, end):
        return True
    if len(tail) < _SHORT and not start:
        return len(tail) > 20 and in_brackets(tail)
    if in_formula(text, start, end, tail) or in_box(tail, start):
        return True
    command = _COMMAND.search(tail, max(0, len(tail) - 90))
    return command is not None and not _WHOLE_COMMAND.search(tail, max(0, len(tail) - 20))


def _stops_short(lexed: Lexed, clause: Clause, tail: str) -> bool:
    """Whether the last token is one after which something must come: an operator, a comma, "the", the mark of a list."""
    line = tail[tail.rfind("\n") + 1 :]
    if "\n" in tail and (_LIST_MARK.fullmatch(line) or _is_next_number(tail, line)):
        return True
    last = lexed.tokens[-1]
    if last.kind in _OPEN_KINDS:
        return tail[-1] not in ")]}\"'”" and len(tail) > 20
    if last.kind == OTHER and lexed.text[last.start : last.end] in _OPERATORS:
        before = lexed.tokens[-2] if len(lexed.tokens) > 1 else None
        return before is None or before.kind in (*_TELLING, WORD, CLOSE) or last.start > before.end
    if last.kind == WORD and last.classes & _CONNECT and len(lexed.tokens) > 3:
        return not last.classes & (BIT["UNIT"] | BIT["YES"] | BIT["NO"]) or bool(last.classes & BIT["FILLER"])
    if last.kind == STOP or last.kind == ASKS:
        return False
    return _heads_a_step(lexed, clause, tail)


def _heads_a_step(lexed: Lexed, clause: Clause, tail: str) -> bool:
    """Whether the last line is the heading of a step that is missing: `### Step 2: Add them`."""
    tokens = lexed.tokens[clause.first : clause.last + 1]
    line = tail[tail.rfind("\n") + 1 :].lstrip()
    marked = line.startswith(("#", "**"))
    step = next((token.classes & _STEP for token in tokens if token.kind == WORD), 0)
    return (
        "\n" in tail
        and bool(step or line.startswith("#"))
        and (marked or len(tokens) < 8)
        and not any(token.kind == WORD and token.classes & _CONCLUDES & ~_STEP for token in tokens)
        and not any(token.kind in (EQUALS, FORMULA, BOX) for token in tokens)
        and not any(token.kind == NUMBER for token in tokens[2:])
    )


def _is_next_number(tail: str, line: str) -> bool:
    """Whether the last line is only the number of the next step: `2. … 3`."""
    number = line.strip()
    return (
        len(number) < 3
        and number.isdecimal()
        and re.search(rf"^\s*{int(number) - 1}[.)]\s", tail, re.MULTILINE) is not None
    )


def _stated_at_end(lexed: Lexed, parts: list[Clause], *, trailing: int, long: bool) -> bool:
    """Whether the last sentence gives an answer: announced, concluded, or a value with few words after it."""
    tokens, first = lexed.tokens, parts[-1].first
    for part in reversed(parts[:-1]):
        if part.ender not in (WORD, COMMA):
            break
        first = part.first
    early = parts[max(0, len(parts) - 3)].first
    for kind in _KINDS:
        for each in candidates(lexed, kind):
            if each.mood != ASSERTED or each.value.last < early:
                continue
            if each.rank >= CHOSEN or (each.rule in ANNOUNCED and tokens[-1].kind == STOP):
                return True
            if each.rule == "a label" and each.value.first >= parts[-1].first and each.clause in (0, len(parts) - 1):
                return True  # "C. The bottom one"
            chained = each.value.content.count("=") > 1
            if each.value.first < first or (
                each.rule == "a line of its own" and long and not chained and _is_formula(tokens, each)
            ):
                continue  # a formula on a line of its own may be any step
            trails = sum(token.kind == WORD for token in tokens[each.value.last + 1 :])
            equated = each.value.first > first and tokens[each.value.first - 1].kind in (EQUALS, EMPHASIS)
            if each.rank >= CONCLUDED and (trails < trailing or tokens[-1].kind == STOP):
                return True
            if kind is VALUE and (equated or "=" in each.value.content) and trails < trailing:
                return True
    return False


def _is_formula(tokens: list[Token], each: Candidate) -> bool:
    return any(token.kind in (FORMULA, EQUALS) for token in tokens[each.value.first : each.value.last + 1])


def _sets_stops(tail: str) -> bool:
    """Whether most lines of a text end in a full stop or a colon."""
    lines = [line.rstrip(" *_") for line in tail.split("\n")[:-1] if len(line.split()) > 3]
    return sum(1 for line in lines if line.endswith(_STOPS)) * 2 > len(lines)


def _is_begun(lexed: Lexed, parts: list[Clause]) -> bool:
    """Whether a short text is the beginning of a sentence: "Ann has 12 red p"; `12 red pens` is an answer."""
    last = parts[-1]
    tokens = lexed.tokens[last.first : last.last + 1]
    words = [token for token in tokens if token.kind == WORD]
    if lexed.tokens[-1].kind in (STOP, ASKS, CLOSE, EMPHASIS, FORMULA, BOX) or not words:
        return False
    if any(token.kind == EQUALS or token.classes & (_CONCLUDES | _IS) for token in tokens):
        return bool(words[0].classes & (_CONNECT | _STEP)) and len(words) < 3
    if words[-1].classes & BIT["UNIT"] and any(token.classes & BIT["NUMBER"] for token in words):
        return False
    opens = lexed.text[tokens[0].start].isupper() and tokens[0].kind == WORD
    return opens and len(words) > (1 if any(token.kind == NUMBER for token in tokens) else 2)


def _is_thinking(text: str, end: int, lexed: Lexed) -> bool:
    """Whether a text thinks aloud where no thinking was set apart: it opens so, or has second thoughts at its end."""
    doubts = sum(1 for token in lexed.tokens if token.kind == WORD and token.classes & _THINK)
    if doubts >= 2:
        return True
    head = lex(text, 0, min(end, 60))
    opens = any(token.kind == WORD and token.classes & _THINK for token in head.tokens[:4])
    return opens and (end > 1_200 or doubts > 0)


def thinks_on(sections: ResponseSections, at: int) -> bool:
    """Whether a text without marks of thinking has second thoughts after a place: what it said there was only a thought."""
    if sections.start or sections.ended or sections.end < sections.sequel_end:
        return False
    lexed = lex(sections.text, near_end(sections.text, sections.start, sections.end), sections.end)
    return any(token.kind == WORD and token.start > at and token.classes & _THINK for token in lexed.tokens)


def _is_complete(lexed: Lexed, tail: str, stated: bool) -> bool:
    """Whether the last sentence has its full stop, or says its value and the text sets no full stops."""
    last = lexed.tokens[-1]
    if _is_fragment(lexed, tail):
        return False
    if last.kind in (STOP, ASKS, BOX) or tail.endswith(("\\]", "$$", "```", "**", "</answer>", ".$", ".\\)")):
        return tail.count("**") % 2 == 0 or not tail.endswith("**")
    if tail.endswith("}") and "\\end{" in tail[-20:]:
        return True
    sentence = tail[max(tail.rfind("\n"), *(tail.rfind(stop + " ") for stop in _STOPS[:3])) + 1 :]
    if sum(map(sentence.count, "([{")) > sum(map(sentence.count, ")]}")):
        return False
    if stated:
        return True
    if last.kind == CLOSE and tail[-1] not in ")]":
        return True
    return "\n" in tail and not _sets_stops(tail) and last.kind in (*_TELLING, CLOSE)


def _is_fragment(lexed: Lexed, tail: str) -> bool:
    """Whether the last line is a part of a word that opens sentences: "Therefor", "Th"."""
    line = tail[tail.rfind("\n") + 1 :].strip()
    if "\n" not in tail or not line.isalpha() or not line[0].isupper() or (len(line) == 1 and line in "ABCDEFGHIJ"):
        return False
    opening, word = BIT["SO"] | _CONNECT | _STEP | BIT["THIS"], line.lower()
    return any(classes & opening and entry.startswith(word) for entry, classes in lexed.words.words.items())


def _concludes_nothing(lexed: Lexed, parts: list[Clause], tail: str, *, after: bool) -> bool:
    """Whether a worked solution ends in one of its steps, without a word that draws a conclusion.

    Such solutions end in a box or a "therefore"; of those that were cut where a sentence ends, most show only this."""
    if not after and len(_STRUCTURED.findall(tail)) < 2:
        return _sets_out(lexed, parts[-1])
    for clause in parts[-2:]:
        tokens = lexed.tokens[clause.first : clause.last + 1]
        if any(token.kind == WORD and token.classes & (_CONCLUDES | _REMARK) for token in tokens):
            return False
        if any(token.kind == EMPHASIS for token in tokens) and any(token.kind in _TELLING for token in tokens):
            return False
    return True


def _sets_out(lexed: Lexed, clause: Clause) -> bool:
    """Whether a sentence says what is to be done, not what came of it: "To find the area, we need the height."."""
    tokens: list[Token] = lexed.tokens[clause.first : clause.last + 1]
    return any(token.kind == WORD and token.classes & _ASK for token in tokens[:4]) and not any(
        token.kind in _TELLING for token in tokens
    )
