"""A text cut into clauses, and the mood of what a clause says of a value.

A clause ends with its sentence or line, or where "but", "because" or "if" begins the next one. Whether a value is
asserted is decided here once, from the lexicon, for every form in which an answer can be given.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from markscheme.marking.reading.lexer import (
    ASKS,
    BOX,
    CLOSE,
    COLON,
    COMMA,
    EMPHASIS,
    EQUALS,
    FORMULA,
    LETTER,
    LINE,
    NUMBER,
    OPEN,
    OTHER,
    STOP,
    WORD,
    Lexed,
    Token,
)  # fmt: skip
from markscheme.marking.reading.words import BIT

ASSERTED, DENIED, RETRACTED, HEDGED, CONDITIONAL, ASKED, REASON, BOUNDED, OPERATED = (
    "asserted", "denied", "retracted", "hedged", "conditional", "asked", "reason", "bounded", "operated",
)  # fmt: skip
_BUT, _BECAUSE, _IF, _NOT, _BAD, _GOOD, _HEDGE = (
    BIT[name] for name in ("BUT", "BECAUSE", "IF", "NOT", "BAD", "GOOD", "HEDGE")
)
_BOUND, _OPERATE, _IS, _ANSWER, _OPTION, _FILLER, _AND, _OR = (
    BIT[name] for name in ("BOUND", "OPERATE", "IS", "ANSWER", "OPTION", "FILLER", "AND", "OR")
)
_CUTS: Final = _BUT | _BECAUSE | _IF
_ASK: Final = BIT["ASK"]
_WITHIN: Final = BIT["WITHIN"]
_UNIT: Final = BIT["UNIT"]
_THAT: Final = BIT["THIS"]
_WOULD: Final = BIT["WOULD"]
_SO: Final = BIT["SO"]
_RESCALE: Final = BIT["RESCALE"]
_MINUS: Final = BIT["MINUS"]
_UNTRUE: Final = _BAD | BIT["FALSE"]
_TAKES_BACK: Final = BIT["RETRACT"] | BIT["NO"]
_ARROWS: Final = ("→", "⇒", "\\Rightarrow", "\\implies")
_BULLETS: Final = ("- ", "• ", "+ ", "– ")
_VALUES: Final = (NUMBER, FORMULA, BOX, LETTER)
# Classes of words with which a clause has said something.
_SAYING: Final = _IS | _NOT | _GOOD | _BAD | BIT["YES"] | BIT["NO"] | BIT["CHOOSE"] | BIT["REMARK"] | BIT["STEP"]
_SKIPPED: Final = (EMPHASIS, OPEN, CLOSE)


class Clause(NamedTuple):
    """Tokens `first` to `last`, without the one that ends it."""

    first: int
    last: int
    opener: int  # classes of the word that begins it, of those that cut
    ender: int  # kind of the token that ends it
    line: int  # number of its line
    supposed: bool = False  # whether a condition goes before it


def clauses(lexed: Lexed) -> list[Clause]:
    """The clauses of a text, in order."""
    found: list[Clause] = []
    first, opener, line, depth, supposed = 0, 0, 0, 0, False
    tokens = lexed.tokens
    for at, token in enumerate(tokens):
        depth = max(0, depth + (token.kind == OPEN) - (token.kind == CLOSE)) if token.kind not in (STOP, LINE) else 0
        if at == first and at and token.kind == OTHER and lexed.text[token.start : token.end + 1] in _BULLETS:
            first = at + 1
        elif token.kind in (STOP, ASKS, LINE):
            if at > first:
                found.append(Clause(first, at - 1, opener, token.kind, line, supposed))
            elif token.kind == ASKS and found:
                found[-1] = found[-1]._replace(ender=ASKS)
            first, opener = at + 1, 0
            line += token.kind == LINE
        elif depth == 0 and _begins_clause(lexed, at, first):
            if at > first and any(each.kind not in _SKIPPED for each in tokens[first:at]):
                found.append(Clause(first, at - 1, opener, WORD, line))
                first = at
            opener = token.classes & _CUTS
        elif token.kind == COMMA and opener & (_IF | _BECAUSE):
            found.append(Clause(first, at - 1, opener, COMMA, line))
            first, opener, supposed = at + 1, 0, bool(opener & _IF)
    if first < len(tokens):
        found.append(Clause(first, len(tokens) - 1, opener, LINE, line))
    return [
        each._replace(supposed=True) if each.ender == WORD and following.opener & _IF else each
        for each, following in zip(found, [*found[1:], *found[-1:]], strict=True)
    ]


def _begins_clause(lexed: Lexed, at: int, first: int) -> bool:
    """Whether a word begins a clause: "but", "because", "if"; "so" after a comma; "no" between two commas.

    "The remainder when 15 is divided by 4" has said nothing yet where "when" comes, and goes on."""
    tokens, token = lexed.tokens, lexed.tokens[at]
    if token.kind == EQUALS:
        return at > first and lexed.text.startswith(_ARROWS, token.start)
    if token.kind == LETTER and at > first and tokens[at - 1].kind == COMMA:
        judged = [each for each in tokens[first:at] if each.kind == WORD and each.classes & (_GOOD | _BAD)]
        return bool(judged) and any(each.kind == LETTER for each in tokens[first:at])  # A is wrong, B is right
    if token.kind != WORD:
        return False
    if token.classes & _CUTS:
        if token.classes & _BUT or at == first:
            return True
        return any(
            each.kind in _VALUES or (each.kind == WORD and each.classes & _SAYING) for each in tokens[first:at]
        ) or all(each.kind in _SKIPPED for each in tokens[first:at])
    if at == first or tokens[at - 1].kind != COMMA:
        return False
    return bool(token.classes & _SO) or (
        bool(token.classes & _TAKES_BACK) and at + 1 < len(tokens) and tokens[at + 1].kind in (COMMA, WORD)
    )


def mood_of(lexed: Lexed, clause: Clause, at: int, last: int) -> str:
    """How the clause says the value in tokens `at` to `last`."""
    tokens = lexed.tokens
    if clause.ender == ASKS:
        return ASKED
    if clause.opener & _IF:
        return CONDITIONAL
    near = _before(tokens, clause.first, at)
    if near & _BOUND and not _goes_on(tokens, last, clause.last):
        return BOUNDED
    if near & _AND and _is_between(tokens, clause.first, at):
        return BOUNDED
    following = tokens[last + 1 : min(last + 2, clause.last) + 1]
    after = following[0].classes if following and following[0].kind == WORD else 0
    compared = after & (_BOUND | _MINUS) and len(following) > 1 and following[1].kind == NUMBER  # 5 more than 3
    if (near & _OPERATE and not near & _IS) or after & _RESCALE or compared:
        return OPERATED
    if clause.supposed and any(token.classes & _WOULD for token in tokens[clause.first : at]):
        return CONDITIONAL  # "If x were 2, the answer would be 5"
    if _is_denied(tokens, clause.first, at) or is_called_bad(tokens, last + 1, clause.last):
        return DENIED
    if _is_refused(lexed, following) and not any(
        token.kind in _VALUES or token.kind == COMMA for token in tokens[last + 1 : clause.last + 1]
    ):
        return DENIED
    if any(token.kind == WORD and token.classes & _HEDGE for token in following):
        return HEDGED  # where the verb comes last
    if _is_sought(tokens, clause.first, at):
        return ASKED
    if _is_hedged(tokens, clause.first, at):
        return HEDGED
    return REASON if clause.opener & _BECAUSE else ASSERTED


def _is_refused(lexed: Lexed, following: list[Token]) -> bool:
    """Whether the word right after a value denies it, as where the verb comes last: Aではない, 5이 아닙니다."""
    if not following or following[0].kind != WORD:
        return False
    particle = not lexed.text[following[0].start].isascii() and following[0].end - following[0].start < 3
    return any(token.kind == WORD and token.classes & _NOT for token in following[: 1 + particle])


def _is_between(tokens: list[Token], first: int, at: int) -> bool:
    """Whether a value is the upper end of "between 2 and 5"."""
    for token in reversed(tokens[first : at - 1]):
        if token.kind == WORD and token.classes & (_BOUND | _IS):
            return bool(token.classes & _BOUND)
    return False


def _goes_on(tokens: list[Token], last: int, end: int) -> bool:
    """Whether more of a sentence follows a value, as in "she needs at least 34 boxes", which says how many."""
    if tokens[last].kind == WORD and not tokens[last].classes & BIT["NUMBER"]:
        return True  # a unit is a part of the value
    return last < end and tokens[last + 1].kind == WORD and not tokens[last + 1].classes & (_AND | _OR | _IS)


def _is_denied(tokens: list[Token], first: int, at: int) -> bool:
    """Whether a "not" before a value is about it: "those that are not red are 5" says that something is 5."""
    copula = False
    for place in range(at - 1, first - 1, -1):
        token = tokens[place]
        if token.kind != WORD:
            continue
        if token.classes & _UNTRUE and (token.classes | tokens[place + 1].classes) & (_THAT | _ANSWER):
            return True  # "it is impossible that", "the wrong answer is", "a common mistake is"
        if token.classes & _BAD and not copula and (place >= at - 3 or tokens[place + 1].classes & _WITHIN):
            return True
        if token.classes & _NOT:
            if token.classes & _TAKES_BACK and tokens[place + 1].kind == COMMA:
                continue  # "No, it is 35"
            return not copula or bool(tokens[place + 1].classes & _IS)
        copula = copula or (bool(token.classes & _IS) and not tokens[place - 1].classes & _WITHIN)
    return False


def _is_sought(tokens: list[Token], first: int, at: int) -> bool:
    """Whether a value belongs to a question: "to find how many of the 34 seats are left"."""
    for place in range(at - 1, first - 1, -1):
        token = tokens[place]
        if token.kind in (EQUALS, COLON) or (token.kind == WORD and token.classes & (_IS | _ANSWER)):
            return False
        if token.kind == WORD and token.classes & _ASK and not _is_relative(tokens, first, place):
            return True
    return False


def _is_relative(tokens: list[Token], first: int, place: int) -> bool:
    """Whether a "who" or "which" belongs to the noun or comma before it, and asks nothing."""
    if place == first:
        return False
    before = tokens[place - 1]
    return before.kind == COMMA or (before.kind == WORD and not before.classes & ~_UNIT)


def _is_hedged(tokens: list[Token], first: int, at: int) -> bool:
    """Whether a "perhaps" opens the clause or belongs to the verb of the value."""
    copula = False
    for place in range(at - 1, first - 1, -1):
        classes = tokens[place].classes if tokens[place].kind == WORD else 0
        if classes & _HEDGE and (not copula or place <= first + 1 or tokens[place + 1].classes & _IS):
            return True
        copula = copula or bool(classes & _IS)
    return False


def _before(tokens: list[Token], first: int, at: int) -> int:
    """The classes of the word right before a value, past emphasis, brackets and fillers; of "is" and the one before it."""
    found = 0
    for token in reversed(tokens[first:at]):
        if token.kind == WORD and not token.classes & (_FILLER | BIT["MINUS"]):
            found |= token.classes
            if not token.classes & _IS or found != token.classes:
                return found
            continue
        if token.kind not in (EMPHASIS, OPEN, WORD):
            return found
    return found


def is_called_bad(tokens: list[Token], first: int, last: int) -> bool:
    """Whether what follows a value says that it is wrong: "is wrong", "is not the answer", "cannot be right"."""
    denied, copula = False, -9
    for place, token in enumerate(tokens[first : last + 1]):
        if token.kind in (NUMBER, FORMULA, BOX) or (token.kind == LETTER and place):
            return False
        if token.kind != WORD:
            continue
        if token.classes & _IS:
            copula = place
        if token.classes & _NOT:
            denied = not denied
        elif token.classes & _BAD and (place < 3 or place - copula < 4):
            return not denied
        elif token.classes & (_GOOD | _ANSWER | _OPTION):
            return denied
    return False
