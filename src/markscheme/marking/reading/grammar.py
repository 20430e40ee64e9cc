r"""The rules that find an answer in clauses: a short ranked list over one slot for the value.

The same rules serve numbers, expressions, choices and words, in every language of the lexicon. The last asserted
statement of the highest rank wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from markscheme.marking.reading.clauses import ASKED, ASSERTED, REASON, RETRACTED, Clause, clauses, mood_of
from markscheme.marking.reading.lexer import (
    BOX,
    COLON,
    COMMA,
    EMPHASIS,
    EQUALS,
    FORMULA,
    HASHES,
    LETTER,
    LINE,
    NUMBER,
    OPEN,
    WORD,
    Lexed,
    Token,
)  # fmt: skip
from markscheme.marking.reading.meaning import is_label, is_named, meant_value
from markscheme.marking.reading.quantities import Value
from markscheme.marking.reading.values import Kind, is_choice, value_in
from markscheme.marking.reading.words import BIT

_ANSWER, _IS, _SO, _CHOOSE, _GOOD, _BAD, _NOT, _OPTION, _NO, _UNIT = (
    BIT[name] for name in ("ANSWER", "IS", "SO", "CHOOSE", "GOOD", "BAD", "NOT", "OPTION", "NO", "UNIT")
)
_FINAL, _REMARK, _RETRACT, _THIS, _STEP, _WITHIN, _FILLER, _UNKNOWN, _ASK, _LABEL = (
    BIT[name] for name in ("FINAL", "REMARK", "RETRACT", "THIS", "STEP", "WITHIN", "FILLER", "UNKNOWN", "ASK", "LABEL")
)
_RESULT_OF, _OTHERS, _NONE = (BIT[name] for name in ("RESULT", "OTHERS", "NONE"))
# Classes of words that add nothing to a value that follows them.
_LIGHT: Final = sum(
    BIT[name]
    for name in (
        "FILLER", "SO", "LIKELY", "THIS", "OPTION", "NOT", "HEDGE", "BOUND", "OPERATE", "APPROX", "ANSWER", "GOOD", "BAD",
    )
)  # fmt: skip
# The ranks: in a form made for it; announced as the answer; called right or chosen; concluded or set apart; merely
# said.
TYPESET, STATED, CHOSEN, CONCLUDED, SAID = 5, 4, 3, 2, 1
# Rules by which an answer is announced, whether a value or a sentence follows.
ANNOUNCED: Final = ("the answer is", "below a heading", "told as the answer")
_TELLING: Final = (WORD, NUMBER, LETTER, FORMULA, BOX)
_LEADS: Final = (COLON, EQUALS)
_PHRASE: Final = 10  # tokens between "answer" and "is": "the answer to the second part of the problem is"
_HEADING: Final = 6  # words of a line that only announces the answer


class Candidate(NamedTuple):
    """Something a clause may give as the answer."""

    rank: int
    rule: str
    value: Value
    mood: str
    clause: int


def candidates(lexed: Lexed, kind: Kind, *, plainly: bool = False) -> list[Candidate]:
    """Everything in a text that may be its answer, in the order of the text, with what was taken back marked so.

    `plainly` asks for a value right after "the answer is": after a box, a remark is likelier than a second answer."""
    found: list[Candidate] = []
    heading = remarking = reconsidered = False
    for number, clause in enumerate(clauses(lexed)):
        classes = _classes(lexed, clause)
        wrong = classes & _BAD or (classes & _NOT and classes & _GOOD)
        failed = remarking and bool(found) and bool(wrong)
        if failed:
            found[-1] = found[-1]._replace(mood=RETRACTED)  # the check failed
        remarking = not failed and (
            (remarking and not classes & (_SO | _ANSWER | _FINAL) and not _is_alone(lexed, clause, kind))
            or _is_remark(lexed, clause)
        )
        said = [] if remarking else list(_of_clause(lexed, clause, number, kind, heading, plainly))
        heading = (not remarking and _is_heading(lexed, clause)) or (
            heading and not said and clause.last - clause.first < 3
        )
        if said and found and classes & (_RETRACT | _NO) and _takes_another(lexed, clause):
            said = [each._replace(rank=max(each.rank, found[-1].rank)) for each in said]
            found[-1] = found[-1]._replace(mood=RETRACTED)
        elif not said and found and takes_back(lexed, clause):
            found[-1] = found[-1]._replace(mood=RETRACTED)
        elif said and found and reconsidered:
            said = [each._replace(rank=max(each.rank, found[-1].rank)) for each in said]
        reconsidered = not said and (reconsidered or bool(classes & _RETRACT))
        if kind.name == "letter" and not said and classes & _NONE and classes & (_ANSWER | _RESULT_OF | _GOOD):
            whole = Value(clause.first, clause.last, lexed.said(clause.first, clause.last))
            said = [Candidate(STATED, "none of them", whole, ASSERTED, number)]
        if kind.name == "value" and classes & _UNKNOWN and (not said or _is_unsaid(lexed, clause, said[0])):
            whole = Value(clause.first, clause.last, lexed.said(clause.first, clause.last))
            said = [Candidate(CONCLUDED, "cannot be said", whole, ASSERTED, number)]
        found.extend(said)
    return found


def best(found: list[Candidate]) -> Candidate | None:
    """The last asserted candidate of the highest rank; of those that are not announced or chosen, the last."""
    asserted = [each for each in found if each.mood == ASSERTED]
    if not asserted:
        asserted = [each for each in found if each.mood == REASON and each.rank > SAID]
    if not asserted:
        return None
    top = max(each.rank for each in asserted)
    if top == SAID and _lists_choices(asserted):
        return None
    if found[-1].mood == ASKED and all(each.rank == SAID for each in asserted):
        return None
    if top >= CHOSEN:
        # Steps have answers too: after "Answer: 96", "Answer: Jason stored 23 bales" is the later one.
        return [each for each in asserted if each.rank == top or each.rule == "told as the answer"][-1]
    apart = [each for each in asserted if each.rank == CONCLUDED]
    return asserted[0] if apart == asserted[:1] and apart[0].rule == "set apart" else asserted[-1]


def _lists_choices(asserted: list[Candidate]) -> bool:
    """Whether a text ends in several choices, each at the head of its line or clause, and chooses none."""
    last = asserted[-2:]
    return (
        len(last) == 2
        and all(each.rule == "a label" for each in last)
        and last[0].value.content != last[1].value.content
    )


def _classes(lexed: Lexed, clause: Clause) -> int:
    classes = 0
    for token in lexed.tokens[clause.first : clause.last + 1]:
        classes |= token.classes
    return classes


def _takes_another(lexed: Lexed, clause: Clause) -> bool:
    """Whether a clause opens with "actually", "wait" or "no": what it gives replaces the answer before it."""
    opening = lexed.tokens[clause.first : min(clause.last, clause.first + 4) + 1]
    return bool(opening[0].classes & _NO) or any(token.classes & _RETRACT for token in opening)


def _is_unsaid(lexed: Lexed, clause: Clause, said: Candidate) -> bool:
    """Whether a value is only what cannot be found: "it is impossible to find f(0)"."""
    unknown = False
    for token in lexed.tokens[clause.first : said.value.first]:
        unknown = (unknown or bool(token.classes & _UNKNOWN)) and not (unknown and token.classes & _IS)
    return unknown


def _is_remark(lexed: Lexed, clause: Clause) -> bool:
    for token in [token for token in lexed.tokens[clause.first : clause.last + 1] if token.kind in _TELLING][:3]:
        if token.kind != WORD or token.classes & (_ANSWER | _SO | _REMARK):
            return bool(token.classes & _REMARK)
    return False


def _of_clause(
    lexed: Lexed, clause: Clause, number: int, kind: Kind, heading: bool, plainly: bool
) -> Iterator[Candidate]:
    for rank, rule, value in _stated(lexed, clause, kind, heading, plainly):
        mood = mood_of(lexed, clause, value.first, value.last)
        if mood == ASKED and rule == "a label":
            mood = ASSERTED  # a choice whose text is a question
        yield Candidate(rank, rule, value, mood, number)
        if mood == ASSERTED:
            return


def _stated(lexed: Lexed, clause: Clause, kind: Kind, heading: bool, plainly: bool) -> Iterator[tuple[int, str, Value]]:
    """What each rule finds in a clause, the strongest first."""
    tokens, first, last = lexed.tokens, clause.first, clause.last
    for at in range(first, last + 1):
        if tokens[at].kind == HASHES:
            heads = (
                clause.ender != LINE and last + 2 < len(tokens) and tokens[last + 2].kind != LINE
            )  # "#### 2. The sum"
            value = None if heads else value_in(lexed, kind, at + 1, last)
            if value is not None and _content_words(lexed, at + 1, value.first) == 0:
                yield STATED, "after ####", value
                return
    if heading and (value := meant_value(lexed, kind, clause, first, last)) is not None:
        direct = _is_lone(lexed, clause, value) or kind.name != "value" or tokens[value.first - 1].kind == EMPHASIS
        yield (STATED if direct else CONCLUDED), "below a heading", value
        return
    yield from _announced(lexed, clause, kind, plainly)
    yield from _chosen(lexed, clause, kind)
    value = meant_value(lexed, kind, clause, first, last)
    if value is None or (kind.name == "value" and is_named(lexed, value, first)):
        return
    concludes = any(token.kind == WORD and token.classes & _SO for token in tokens[first : last + 1])
    apart = value.first > first and tokens[value.first - 1].kind == EMPHASIS
    only = apart and sum(token.kind == EMPHASIS for token in tokens[first : last + 1]) == 2
    lone = _is_lone(lexed, clause, value)
    if kind.name == "letter" and value.first - first < 2 and not lone and is_label(lexed, value):
        yield SAID, "a label", value
        return
    rule = (
        "concluded"
        if concludes
        else "set apart"
        if only
        else "in bold"
        if apart
        else "a line of its own"
        if lone
        else "said"
    )
    yield (CONCLUDED if concludes or apart or lone else SAID), rule, value


def _announced(lexed: Lexed, clause: Clause, kind: Kind, plainly: bool) -> Iterator[tuple[int, str, Value]]:
    """ANSWER IS VALUE."""
    tokens, last = lexed.tokens, clause.last
    for at in range(clause.first, last + 1):
        named = tokens[at].classes & (_ANSWER | _RESULT_OF) if tokens[at].kind == WORD else 0
        if named and not (plainly and not named & _ANSWER):
            slot = _slot_after(lexed, at, last)
            if slot is not None and (value := _in_slot(lexed, kind, clause, slot, plainly)) is not None:
                words = _content_words(lexed, slot, value.first)
                sentence = kind.name == "value" and tokens[slot - 1].kind == COLON and words > 1
                weak = sentence or not named & _ANSWER  # a "result" may be that of a step
                rule = "told as the answer" if sentence and named & _ANSWER else "the answer is"
                yield (CONCLUDED if weak else STATED), rule, value
                return


def _chosen(lexed: Lexed, clause: Clause, kind: Kind) -> Iterator[tuple[int, str, Value]]:
    """GOOD IS VALUE, CHOOSE VALUE, VALUE IS GOOD."""
    tokens, last = lexed.tokens, clause.last
    for at in range(clause.first, last + 1):
        token = tokens[at]
        if token.kind != WORD:
            continue
        named = token.classes & _GOOD or (kind.name == "letter" and token.classes & _OPTION)
        slot = _slot_after(lexed, at, last) if named else None
        value = _in_slot(lexed, kind, clause, slot) if slot is not None else None
        rule = "the right one is"
        if value is None and token.classes & _CHOOSE and kind.name != "value":
            value, rule = value_in(lexed, kind, at + 1, last), "chosen"
        if value is not None:
            yield CHOSEN, rule, value
            return
    if (value := _called_good(lexed, clause, kind)) is not None:
        yield CHOSEN, "called right", value


def _slot_after(lexed: Lexed, at: int, last: int) -> int | None:
    """Where the value begins that a word announces: after "is", a colon or an equals sign, at most a phrase away."""
    tokens = lexed.tokens
    for place in range(at + 1, min(last, at + _PHRASE) + 1):
        token = tokens[place]
        if token.kind in _LEADS or (token.kind == WORD and token.classes & _IS):
            while place < last and (
                tokens[place + 1].kind in (COLON, EMPHASIS)
                or (tokens[place + 1].kind == WORD and tokens[place + 1].classes & _IS)
            ):
                place += 1
            return place + 1 if place < last else None
        if token.kind == COMMA or (token.kind in (NUMBER, FORMULA, BOX) and place > at + 2):
            return None
        if token.kind in (BOX, NUMBER) or (token.kind in (LETTER, FORMULA) and is_choice(lexed, place)):
            return place if tokens[at].classes & _ANSWER else None
    return None


def _in_slot(lexed: Lexed, kind: Kind, clause: Clause, slot: int, plainly: bool = False) -> Value | None:
    """The value that a slot gives: near its beginning, else what its sentence means."""
    tokens, last = lexed.tokens, clause.last
    if kind.name == "value" and not plainly:
        for at in range(last - 1, slot, -1):  # "the answer is that the coefficient of x is 15"
            if tokens[at].kind == WORD and tokens[at].classes & _IS and tokens[at - 1].kind == WORD:
                if (value := value_in(lexed, kind, at + 1, last)) is not None:
                    slot = at + 1
                break
    if kind.name == "value":
        slot = _after_label(lexed, slot, last)
    value = value_in(lexed, kind, slot, last)
    if value is None or kind.name == "text":
        return value
    words = _content_words(lexed, slot, value.first)
    if kind.name == "value" and words < 3 and value.first > slot and is_named(lexed, value, slot):
        return None  # "on page 5"; but "the coach lives in house number 2" tells where
    if plainly or kind.name == "letter":
        return value if words <= (0 if plainly else 3) else None
    return value if words <= 2 else meant_value(lexed, kind, clause, slot, last)


def _after_label(lexed: Lexed, slot: int, last: int) -> int:
    """Where the value of `(B) 12`, `B. 12` or `C (8.5)` begins: after its label."""
    tokens, at = lexed.tokens, slot
    while at < last and tokens[at].kind in (EMPHASIS, OPEN):
        at += 1
    if tokens[at].kind != LETTER or at == last:
        return slot
    following, gap = lexed.said(at + 1, at + 1), tokens[at + 1].start - tokens[at].end
    if following == "(" and gap == 1:
        return at + 2 if at + 2 <= last else slot
    if gap or not (following in (")", "]", ":") or (following == "." and at == slot)):
        return slot
    return at + 2 if at + 2 <= last and tokens[at + 2].kind not in (COMMA, EQUALS) else slot


def _content_words(lexed: Lexed, first: int, end: int) -> int:
    """How many words of content are in tokens `first` up to `end`."""
    return sum(1 for token in lexed.tokens[first:end] if token.kind == WORD and not token.classes & _LIGHT)


def _called_good(lexed: Lexed, clause: Clause, kind: Kind) -> Value | None:
    """A value that is said to be right: "B is correct", "12 is the answer"."""
    value = value_in(lexed, kind, clause.first, clause.last)
    if value is None or kind.name == "text":
        return None
    copula = False
    for token in lexed.tokens[value.last + 1 : clause.last + 1]:
        if token.kind == WORD and token.classes & _IS:
            copula = True
        elif token.kind == WORD and token.classes & (_GOOD | _ANSWER):
            return value if copula or kind.name == "letter" else None
        elif token.kind in (NUMBER, FORMULA, COMMA, LETTER):
            return None
    return None


def _is_lone(lexed: Lexed, clause: Clause, value: Value) -> bool:
    """Whether a value is all that its line says."""
    if clause.last - clause.first >= 12:
        return False
    return not any(
        token.kind == WORD and not token.classes & (_OPTION | _FILLER | _UNIT)
        for place, token in enumerate(lexed.tokens[clause.first : clause.last + 1], clause.first)
        if not value.first <= place <= value.last
    )


def _is_alone(lexed: Lexed, clause: Clause, kind: Kind) -> bool:
    """Whether a line is a choice or a word of a small class and nothing else, `[Yes]`: no remark has such a line."""
    if kind.name not in ("letter", "word") or clause.last - clause.first > 4:
        return False
    value = value_in(lexed, kind, clause.first, clause.last)
    return value is not None and _is_lone(lexed, clause, value)


def _is_heading(lexed: Lexed, clause: Clause) -> bool:
    """Whether a line only announces the answer: "Final answer:", "## Answer"."""
    tokens = lexed.tokens[clause.first : clause.last + 1]
    return (
        clause.ender == LINE
        and any(token.kind == WORD and token.classes & (_ANSWER | _RESULT_OF) for token in tokens)
        and not any(token.kind in (NUMBER, FORMULA, BOX, LETTER, EQUALS) for token in tokens)
        and tokens[-1].kind in (WORD, COLON, EMPHASIS)
        and sum(1 for token in tokens if token.kind == WORD) <= _HEADING
    )


def takes_back(lexed: Lexed, clause: Clause) -> bool:
    """Whether a clause without a value says that the answer before it is wrong: "This answer is wrong", "That is not right"."""
    subject, denied = True, False
    for token in lexed.tokens[clause.first : clause.last + 1]:
        if token.kind != WORD:
            continue
        if token.classes & (_ASK | _OTHERS):
            return False
        if token.classes & _RETRACT and _says_wrong(lexed, token):
            return True
        denied = denied or bool(token.classes & _NOT)
        if token.classes & _NO and token.end == lexed.tokens[clause.last].end:
            return subject  # "Wait, no."
        if token.classes & (_THIS | _ANSWER | _RETRACT):
            subject = True
        elif subject and (token.classes & _BAD or (denied and token.classes & _GOOD)):
            return True
        elif not token.classes & (_IS | _NOT | _LIGHT):
            subject = False
    return False


def _says_wrong(lexed: Lexed, token: Token) -> bool:
    """Whether a phrase of retraction says by itself that something is wrong: "this is wrong", not "wait"."""
    classes, said = token.classes, lexed.text[token.start : min(token.end, token.start + 40)].lower()
    parts = said.split()
    if len(parts) == 1 and not said.isascii():  # a script without blanks
        parts = [said[first:last] for first in range(len(said)) for last in range(first + 1, len(said) + 1)]
    for part in parts:
        classes |= lexed.words.words.get(part, 0)
    return bool(classes & _BAD or (classes & _NOT and classes & _GOOD))
