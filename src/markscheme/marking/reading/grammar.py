r"""The rules that find an answer in clauses: a short ranked list over one slot for the value.

The same rules serve numbers, expressions, choices and words, in every language of the lexicon. The last asserted
statement of the highest rank wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from markscheme.marking.reading.clauses import ASSERTED, REASON, Clause, clauses, mood_of
from markscheme.marking.reading.lexer import (
    BOX,
    CLOSE,
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
)  # fmt: skip
from markscheme.marking.reading.values import Kind, Value, is_choice, value_in
from markscheme.marking.reading.words import BIT

_B = BIT
_ANSWER, _IS, _SO, _CHOOSE, _GOOD, _BAD, _NOT, _OPTION = (
    BIT[name] for name in ("ANSWER", "IS", "SO", "CHOOSE", "GOOD", "BAD", "NOT", "OPTION")
)
_NO: Final = BIT["NO"]
_FINAL, _REMARK, _RETRACT, _THIS, _STEP, _WITHIN, _FILLER, _UNKNOWN, _LIKELY, _ASK = (
    BIT[name] for name in ("FINAL", "REMARK", "RETRACT", "THIS", "STEP", "WITHIN", "FILLER", "UNKNOWN", "LIKELY", "ASK")
)
TYPESET, STATED, CHOSEN, CONCLUDED, SAID = 5, 4, 3, 2, 1
"""The ranks: in a form made for it; announced as the answer; called right or chosen; concluded or set apart; merely said."""


ANNOUNCED: Final = ("the answer is", "below a heading")
"""Rules by which an answer is announced, whether a value or a sentence follows."""


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
    heading = remarking = False
    for number, clause in enumerate(clauses(lexed)):
        classes = _classes(lexed, clause)
        if remarking and found and classes & (_BAD | _NOT):
            found[-1], remarking = found[-1]._replace(mood="retracted"), False  # the check failed
        remarking = (remarking and not classes & (_SO | _ANSWER)) or _is_remark(lexed, clause)
        said = [] if remarking else list(_of_clause(lexed, clause, number, kind, heading, plainly))
        heading = (not remarking and _is_heading(lexed, clause)) or (
            heading and not said and clause.last - clause.first < 3
        )
        if said and found and classes & (_RETRACT | _NO) and _opens_with(lexed, clause, _RETRACT | _NO):
            said = [each._replace(rank=max(each.rank, found[-1].rank)) for each in said]
            found[-1] = found[-1]._replace(mood="retracted")
        elif not said and found and takes_back(lexed, clause):
            found[-1] = found[-1]._replace(mood="retracted")
        if kind == "value" and classes & _UNKNOWN and not said:
            said = [
                Candidate(
                    CONCLUDED,
                    "cannot be said",
                    Value(clause.first, clause.last, lexed.said(clause.first, clause.last)),
                    ASSERTED,
                    number,
                )
            ]
        found.extend(said)
    return found


def _classes(lexed: Lexed, clause: Clause) -> int:
    classes = 0
    for token in lexed.tokens[clause.first : clause.last + 1]:
        classes |= token.classes
    return classes


_TELLING: Final = (WORD, NUMBER, LETTER, FORMULA, BOX)


def _opens_with(lexed: Lexed, clause: Clause, classes: int) -> bool:
    """Whether one of the first words of a clause is of a class."""
    return any(token.classes & classes for token in lexed.tokens[clause.first : min(clause.last, clause.first + 4) + 1])


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
        yield Candidate(rank, rule, value, mood, number)
        if mood == ASSERTED:
            return


def _stated(lexed: Lexed, clause: Clause, kind: Kind, heading: bool, plainly: bool) -> Iterator[tuple[int, str, Value]]:
    """What each rule finds in a clause, the strongest first."""
    tokens, first, last = lexed.tokens, clause.first, clause.last
    if tokens[first].kind == HASHES and (value := value_in(lexed, kind, first + 1, last)) is not None:
        yield STATED, "after ####", value
        return
    if heading and (value := _meant(lexed, kind, first, last)) is not None:
        direct = _is_lone(lexed, clause, value) or kind != "value" or tokens[value.first - 1].kind == EMPHASIS
        yield (STATED if direct else CONCLUDED), "below a heading", value
        return
    for at in range(first, last + 1):
        token = tokens[at]
        if token.kind == HASHES and (value := value_in(lexed, kind, at + 1, last)) is not None:
            yield STATED, "after ####", value
            return
        if token.kind == WORD and token.classes & _ANSWER:
            slot = _slot_after(lexed, at, last)
            if slot is not None and (value := _in_slot(lexed, kind, slot, last, plainly)) is not None:
                sentence = kind == "value" and tokens[slot - 1].kind == COLON and _words(lexed, slot, value.first) > 1
                yield (CONCLUDED if sentence else STATED), "the answer is", value
                return
    for at in range(first, last + 1):
        token = tokens[at]
        if (
            (
                token.kind == WORD
                and token.classes & (_GOOD | _OPTION)
                and (slot := _slot_after(lexed, at, last)) is not None
            )
            and (value := _in_slot(lexed, kind, slot, last)) is not None
            and (kind == "letter" or token.classes & _GOOD)
        ):
            yield CHOSEN, "the right one is", value
            return
        if (
            token.kind == WORD
            and token.classes & _CHOOSE
            and (value := value_in(lexed, kind, at + 1, last)) is not None
        ) and kind != "value":
            yield CHOSEN, "chosen", value
            return
    if (value := _called_good(lexed, clause, kind)) is not None:
        yield CHOSEN, "called right", value
        return
    value = _meant(lexed, kind, first, last)
    if value is None:
        return
    concludes = any(token.kind == WORD and token.classes & _SO for token in tokens[first : last + 1])
    apart = value.first > first and tokens[value.first - 1].kind == EMPHASIS
    lone = _is_lone(lexed, clause, value)
    if kind == "letter" and value.first - first < 2 and not lone:
        following = lexed.text[tokens[value.last].end : tokens[value.last].end + 1]
        if following in (")", ".", ":", "]"):
            yield SAID, "a label", value
            return
    rule = "concluded" if concludes else "set apart" if apart else "a line of its own" if lone else "said"
    yield (CONCLUDED if concludes or apart or lone else SAID), rule, value


_LEADS: Final = (COLON, EQUALS)


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
        if token.kind in (BOX, NUMBER) or (token.kind == LETTER and is_choice(lexed, place)):
            return place if tokens[at].classes & _ANSWER else None
    return None


_PHRASE: Final = 10
"""Tokens between "answer" and "is": "the answer to the second part of the problem is"."""


def _in_slot(lexed: Lexed, kind: Kind, slot: int, last: int, plainly: bool = False) -> Value | None:
    """The value that a slot gives: near its beginning, else what its sentence means."""
    tokens = lexed.tokens
    if kind == "value" and not plainly:
        for at in range(last - 1, slot, -1):  # "the answer is that the coefficient of x is 15"
            if tokens[at].kind == WORD and tokens[at].classes & _IS and tokens[at - 1].kind == WORD:
                if (value := value_in(lexed, kind, at + 1, last)) is not None:
                    slot = at + 1
                break
    value = value_in(lexed, kind, slot, last)
    if value is None or kind == "text":
        return value
    words = _words(lexed, slot, value.first)
    if plainly or kind == "letter":
        return value if words <= (0 if plainly else 3) else None
    return value if words <= 2 else _meant(lexed, kind, slot, last)


_LIGHT: Final = sum(
    BIT[name]
    for name in (
        "FILLER",
        "SO",
        "LIKELY",
        "THIS",
        "OPTION",
        "NOT",
        "HEDGE",
        "BOUND",
        "OPERATE",
        "APPROX",
        "ANSWER",
        "GOOD",
        "BAD",
    )
)


def _words(lexed: Lexed, first: int, end: int) -> int:
    """How many words of content are in tokens `first` up to `end`."""
    return sum(1 for token in lexed.tokens[first:end] if token.kind == WORD and not token.classes & _LIGHT)


def _called_good(lexed: Lexed, clause: Clause, kind: Kind) -> Value | None:
    """A value that is said to be right: "B is correct", "12 is the answer"."""
    value = value_in(lexed, kind, clause.first, clause.last)
    if value is None or kind == "text":
        return None
    copula = False
    for token in lexed.tokens[value.last + 1 : clause.last + 1]:
        if token.kind == WORD and token.classes & _IS:
            copula = True
        elif token.kind == WORD and token.classes & (_GOOD | _ANSWER):
            return value if copula or kind == "letter" else None
        elif token.kind in (NUMBER, FORMULA, COMMA, LETTER):
            return None
    return None


def _is_lone(lexed: Lexed, clause: Clause, value: Value) -> bool:
    """Whether a value is all that its line says."""
    return (
        not any(
            token.kind == WORD and not token.classes & (_OPTION | _FILLER | _B["UNIT"])
            for place, token in enumerate(lexed.tokens[clause.first : clause.last + 1], clause.first)
            if not value.first <= place <= value.last
        )
        and clause.last - clause.first < 12
    )


def _meant(lexed: Lexed, kind: Kind, first: int, last: int) -> Value | None:
    """The value that a clause means, of several: the one it ends in, unless that is a circumstance."""
    if kind == "word" and (value := value_in(lexed, kind, first, last)) is not None and value.first - first < 2:
        return value
    if kind == "text":
        for at in range(last, first - 1, -1):
            if lexed.tokens[at].kind == WORD and lexed.tokens[at].classes & _IS and at < last:
                return value_in(lexed, kind, at + 1, last)
        return value_in(lexed, kind, first, last)
    found: list[tuple[int, Value]] = []
    at = first
    while at <= last and (value := value_in(lexed, kind, at, last)) is not None:
        found.append((_weight(lexed, value, first, last) if kind == "value" else len(found), value))
        at = value.last + 1
    if not found:
        return None
    best = max(weight for weight, _ in found)
    return [value for weight, value in found if weight == best][-1]


_RESULT: Final = re.compile(r"=\s?\\?[$€£]?(\d[\d,]*(?:\.\d+)?)")


def _weight(lexed: Lexed, value: Value, first: int, last: int) -> int:
    """How likely a number in a clause is what the clause is about."""
    tokens = lexed.tokens
    before = tokens[value.first - 1] if value.first > first else None
    after = tokens[value.last + 1] if value.last < last else None
    weight = 0
    place = value.first - 1
    while place >= first and (
        tokens[place].kind in (EMPHASIS, OPEN) or (tokens[place].kind == WORD and tokens[place].classes & _FILLER)
    ):
        place -= 1
    near = tokens[place] if place >= first else None
    if near is not None:
        if near.kind == EQUALS or (near.kind == WORD and near.classes & _IS):
            weight += 4
        elif near.kind == COLON or (near.kind == WORD and near.classes & _SO):
            weight += 3
    if weight == 0:
        weight -= _circumstance(lexed, value.first, first)
    if tokens[value.first].kind == WORD and tokens[value.first].classes & BIT["NUMBER"]:
        weight -= 1
    if before is not None and before.kind == EMPHASIS:
        weight += 3
    if after is not None and after.kind == EQUALS:
        weight -= 5
    if before is not None and before.kind == OPEN and after is not None and after.kind == CLOSE:
        weight -= 2
    return weight


def _circumstance(lexed: Lexed, at: int, first: int) -> int:
    """How much a number belongs to a phrase such as "for 3" or "after giving away 40", or is listed with one that does."""
    for place in range(at - 1, max(first, at - 8) - 1, -1):
        token = lexed.tokens[place]
        if token.kind == WORD and token.classes & (_WITHIN | _STEP) and not token.classes & (_IS | _FILLER):
            return 3 if place == at - 1 else 2
        if token.kind in (EQUALS, COLON, COMMA) or (token.kind == WORD and token.classes & _IS):
            return 0
    return 0


def _is_heading(lexed: Lexed, clause: Clause) -> bool:
    """Whether a line only announces the answer: "Final answer:", "## Answer"."""
    tokens = lexed.tokens[clause.first : clause.last + 1]
    return (
        clause.ender == LINE
        and any(token.kind == WORD and token.classes & _ANSWER for token in tokens)
        and not any(token.kind in (NUMBER, FORMULA, BOX, LETTER) for token in tokens)
        and tokens[-1].kind in (WORD, COLON, EMPHASIS)
        and sum(1 for token in tokens if token.kind == WORD) <= _HEADING
    )


_HEADING: Final = 6


def takes_back(lexed: Lexed, clause: Clause) -> bool:
    """Whether a clause without a value says that the answer before it is wrong: "This answer is wrong", "That is not right"."""
    subject = denied = False
    for token in lexed.tokens[clause.first : clause.last + 1]:
        if token.kind != WORD:
            continue
        if token.classes & _ASK:
            return False
        denied = denied or bool(token.classes & _NOT)
        if token.classes & (_THIS | _ANSWER | _RETRACT):
            subject = True
        elif subject and (token.classes & _BAD or (denied and token.classes & _GOOD)):
            return True
        elif not token.classes & (_IS | _NOT | _LIGHT):
            subject = False
    return False


def _lists_choices(asserted: list[Candidate]) -> bool:
    """Whether a text ends in several choices, each at the head of its line."""
    last = asserted[-2:]
    return (
        len(last) == 2
        and all(each.rule == "a label" for each in last)
        and last[0].value.content != last[1].value.content
    )


def best(found: list[Candidate]) -> Candidate | None:
    """The last asserted candidate of the highest rank."""
    asserted = [each for each in found if each.mood in (ASSERTED, REASON)]
    if _lists_choices(asserted):
        return None
    if not asserted or (found[-1].mood == "asked" and all(each.rank == SAID for each in asserted)):
        return None
    top = (
        max(each.rank for each in asserted if each.mood == ASSERTED)
        if any(each.mood == ASSERTED for each in asserted)
        else 0
    )
    if top >= CHOSEN:
        return [each for each in asserted if each.rank == top and each.mood == ASSERTED][-1]
    return [each for each in asserted if each.mood == ASSERTED or top == 0][-1]
