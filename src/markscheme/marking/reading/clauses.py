"""Split a text into clauses and find the mood in which each clause states a value.

A clause ends with its sentence or line, or where "but", "because" or "if" begins the next one. This module decides for
every form of answer whether a value is asserted; the words come from the lexicon.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from markscheme.marking.reading import kinds
from markscheme.marking.reading.lexer import Lexed, Token

ASSERTED, DENIED, RETRACTED, HEDGED, CONDITIONAL, ASKED, REASON, BOUNDED, OPERATED = (
    "asserted", "denied", "retracted", "hedged", "conditional", "asked", "reason", "bounded", "operated",
)  # fmt: skip
VALUES: Final = kinds.NUMBER | kinds.FORMULA | kinds.BOX | kinds.LETTER
_CUTS: Final = kinds.BUT | kinds.BECAUSE | kinds.IF
_TAKES_BACK: Final = kinds.RETRACT | kinds.NO
_ENDS: Final = kinds.STOP | kinds.ASKS | kinds.LINE
_ARROWS: Final = ("→", "⇒", "\\Rightarrow", "\\implies")
_JOINTS: Final = ("'", "’", "-", ":")
_DASHES: Final = ("—", "–", "-")
_BULLETS: Final = ("- ", "• ", "+ ", "– ")
# A clause with one of these kinds has content.
_SAYING: Final = (
    VALUES | kinds.IS | kinds.NOT | kinds.GOOD | kinds.BAD | kinds.YES | kinds.NO | kinds.CHOOSE | kinds.REMARK | kinds.STEP
)  # fmt: skip
# Words that add nothing to the value before them.
LIGHT: Final = (
    kinds.FILLER | kinds.SO | kinds.LIKELY | kinds.THIS | kinds.OPTION | kinds.NOT | kinds.HEDGE | kinds.BOUND | kinds.OPERATE
    | kinds.APPROX | kinds.ANSWER | kinds.GOOD | kinds.BAD
)  # fmt: skip
_STEM: Final = 8  # letters shared by the forms of a long word
_SKIPPED: Final = kinds.EMPHASIS | kinds.OPEN | kinds.CLOSE
_CONTENT: Final = ~(kinds.EMPHASIS | kinds.CLOSE)


class Clause(Struct, frozen=True, gc=False):
    """Tokens `first` to `last`, without the one that ends the clause."""

    first: int
    last: int
    opener: int  # BUT, BECAUSE or IF if such a word opens the clause
    ender: int  # form of the token that ends the clause
    supposed: bool = False  # whether a condition precedes the clause
    kinds: int = 0  # kinds of all its tokens


def clauses(lexed: Lexed) -> list[Clause]:
    """Return the clauses of a text in order."""
    if "clauses" not in lexed.made:
        lexed.made["clauses"] = _cut(lexed)
    found: list[Clause] = lexed.made["clauses"]
    return found


def _cut(lexed: Lexed) -> list[Clause]:
    found: list[Clause] = []
    first, opener, depth, supposed = 0, 0, 0, False
    here = 0  # kinds of the tokens since `first`
    tokens = lexed.tokens
    for at, token in enumerate(tokens):
        form = token.kinds
        before, here = here, here | form
        if form & _SKIPPED:
            depth = max(0, depth + bool(form & kinds.OPEN) - bool(form & kinds.CLOSE))
        elif form & _ENDS:
            if before & _CONTENT:
                found.append(Clause(first, at - 1, opener, form & _ENDS, supposed, before))
            elif form & kinds.ASKS and found:
                found[-1] = replace(found[-1], ender=kinds.ASKS)
            first, opener, depth, supposed, here = at + 1, 0, 0, False, 0
        elif at == first and lexed.text[token.start : token.end + 1] in _BULLETS:
            first, here = at + 1, 0
        elif depth == 0 and form & kinds.NOT and form & kinds.BUT and lexed.has(VALUES, max(first, at - 2), at - 1):
            found.append(Clause(first, at, opener, kinds.WORD, False, here))  # "not … but" after a value: AではなくB
            first, opener, here = at + 1, 0, 0
        elif depth == 0 and _begins_clause(lexed, at, first, before):
            if before & ~_SKIPPED:
                found.append(Clause(first, at - 1, opener, kinds.WORD, False, before))
                first, here = at, form
            opener = form & _CUTS
        elif form & kinds.COMMA and opener & (kinds.IF | kinds.BECAUSE):
            found.append(Clause(first, at - 1, opener, kinds.COMMA, False, before))
            first, opener, supposed, here = at + 1, 0, bool(opener & kinds.IF), 0
    if here & _CONTENT:
        found.append(Clause(first, len(tokens) - 1, opener, kinds.LINE, False, here))
    for at, following in enumerate(found[1:]):
        if found[at].ender == kinds.WORD and following.opener & kinds.IF:
            found[at] = replace(found[at], supposed=True)
    return found


def _begins_clause(lexed: Lexed, at: int, first: int, said: int) -> bool:
    """True for a word that begins a clause: "but", "because", "if"; "so" after a comma; "no" between two commas.

    The tokens before it are of the kinds in `said`.
    """
    tokens, form, before = lexed.tokens, lexed.tokens[at].kinds, lexed.tokens[at - 1].kinds
    if form & _CUTS:
        if form & kinds.BUT:  # not in "she would still have 4", "it is actually 5"
            return at == first or not before & (kinds.IS | kinds.WOULD)
        if form & kinds.BECAUSE and at > first and before & kinds.WITHIN:
            return False  # "the given line", "in the case where"
        # In "The remainder when 15 is divided by 4", the clause has no content yet at "when" and continues.
        return bool(said & _SAYING) or not said & ~_SKIPPED
    if at == first:
        return False
    if form & kinds.EQUALS:
        return lexed.text.startswith(_ARROWS, tokens[at].start)
    if not before & kinds.COMMA:
        if form & kinds.SO and at > first + 1 and tokens[first].kinds & (kinds.BECAUSE | kinds.IF):
            return True  # "When x is 3 we obtain 10"
        return bool(form & kinds.RETRACT) and lexed.said(at - 1, at - 1) in _DASHES
    if form & (kinds.LETTER | kinds.OPTION):  # A is wrong, B is right
        judged = said & kinds.LETTER and said & (kinds.GOOD | kinds.BAD)
        letter = next((place for place in range(first, at) if tokens[place].kinds & kinds.LETTER), at) if judged else at
        return lexed.has(kinds.GOOD | kinds.BAD, letter + 1, at - 1)
    return bool(form & kinds.SO) or (bool(form & _TAKES_BACK) and lexed.has(kinds.COMMA | kinds.WORD, at + 1, at + 1))


def numbers_a_step(lexed: Lexed, number: int) -> bool:
    """True for a clause that is only the number of a step or item, followed by its text on the line: "2. Divide"."""
    clause, following = clauses(lexed)[number], clauses(lexed)[number + 1 : number + 2]
    token = lexed.tokens[clause.first]
    if clause.first != clause.last or not token.kinds & kinds.NUMBER or not following:
        return False
    rest = lexed.text[token.end : lexed.tokens[following[0].first].start].strip(" *_")
    _, opens, lead = lexed.text[max(0, token.start - 4) : token.start].rpartition("\n")
    return rest == "." and bool(opens) and not lead.strip(" *#>-")


def mood_of(lexed: Lexed, clause: Clause, at: int, last: int) -> str:
    """Return the mood in which the clause states the value in tokens `at` to `last`."""
    tokens = lexed.tokens
    if clause.ender == kinds.ASKS:
        return ASKED
    if clause.opener & kinds.IF:
        return CONDITIONAL
    near = _before(tokens, clause.first, at)
    typeset = last
    while typeset < clause.last and (
        tokens[typeset + 1].kinds & kinds.EMPHASIS or lexed.said(typeset + 1, typeset + 1) == "$"
    ):
        typeset += 1  # what closes **5** or $\boxed{5}$ is part of the value
    after_value = typeset + 1 + _suffix(lexed, typeset, clause.last)
    following = tokens[after_value : min(after_value + 1, clause.last) + 1]
    after = following[0].kinds if following else 0
    if near & kinds.BOUND and not _goes_on(tokens, typeset, clause.last):
        return BOUNDED
    compared = after & (kinds.BOUND | kinds.MINUS) and len(following) > 1 and following[1].kinds & kinds.NUMBER
    if (near & kinds.OPERATE and not near & kinds.IS) or compared or _is_rescaled(lexed, after_value - 1, clause.last):
        return OPERATED  # twice 5, 5 more than 3, 5の2倍
    counted = tokens[last].kinds & kinds.NUMBER or clause.kinds & kinds.ANSWER
    if after & kinds.BOUND and counted and not _goes_on(tokens, after_value, clause.last):
        return BOUNDED  # "the answer is 5 or more", 答えは5以上です
    if (clause.supposed or tokens[clause.first].kinds & kinds.NOT) and clause.kinds & kinds.WOULD:
        return CONDITIONAL  # "If x were 2, the answer would be 5", "Without the tax it would be 5"
    if _is_denied(tokens, clause.first, at) or is_called_bad(tokens, last + 1, clause.last):
        return DENIED
    particle = following and not lexed.text[following[0].start].isascii() and following[0].end - following[0].start < 3
    refused = any(token.kinds & kinds.NOT for token in following[: 1 + bool(particle)])  # Aではない, 5이 아닙니다
    if refused and not lexed.has(VALUES | kinds.COMMA, last + 1, clause.last):
        return DENIED
    if any(token.kinds & kinds.HEDGE for token in following) or _is_hedged(tokens, clause.first, at):
        return HEDGED
    if _is_sought(tokens, clause.first, at) and not _is_worked_out(lexed, at, last):
        return ASKED
    return REASON if clause.opener & kinds.BECAUSE else ASSERTED


def _suffix(lexed: Lexed, last: int, end: int) -> int:
    """Return the number of tokens of an inflection after a value: 7'den, 7-nél, 7:n."""
    tokens = lexed.tokens
    if last + 2 >= end or lexed.said(last + 1, last + 1) not in _JOINTS or not tokens[last + 2].kinds & kinds.WORD:
        return 0
    return 2 if tokens[last + 1].start == tokens[last].end and tokens[last + 2].start == tokens[last + 1].end else 0


def _is_rescaled(lexed: Lexed, last: int, end: int) -> bool:
    """True if the words right after a value change it: "7 squared", 7の2倍, 7'nin iki katı."""
    for place in range(last + 1, min(end, last + 3) + 1):
        token = lexed.tokens[place]
        if token.kinds & kinds.RESCALE:
            return True
        particle = token.end - token.start < 4 and not token.kinds & ~(kinds.WORD | kinds.CONNECT)
        if not (token.kinds & (kinds.NUMBER | kinds.NUMERAL) if place > last + 1 else particle):
            return False
    return False


def _goes_on(tokens: list[Token], last: int, end: int) -> bool:
    """True if the sentence continues after a value: "she needs at least 34 boxes" gives a quantity."""
    if tokens[last].kinds & kinds.WORD and not tokens[last].kinds & (kinds.NUMERAL | kinds.BOUND):
        return True  # a unit is part of the value
    after = tokens[last + 1].kinds if last < end else 0
    return bool(after & kinds.WORD) and not after & (kinds.AND | kinds.OR | kinds.IS)


def _is_denied(tokens: list[Token], first: int, at: int) -> bool:
    """True if a "not" before a value denies it. In "those that are not red are 5", it does not."""
    copula = apart = listed = False
    verb = at
    for place in range(at - 1, first - 1, -1):
        here, following = tokens[place].kinds, tokens[place + 1].kinds
        if not here & kinds.WORD:
            listed = listed or bool(here & kinds.COMMA)
            apart = apart or bool(here & kinds.COMMA and following & (kinds.THIS | kinds.IS))  # "it isn't 12, it's 15"
            continue
        if here & (kinds.BAD | kinds.FALSE) and (here | following) & (kinds.THIS | kinds.ANSWER):
            return True  # "it is impossible that", "the wrong answer is", "a common mistake is"
        bad = here & kinds.BAD and not here & kinds.RETRACT and not copula and not listed
        if bad and (place >= at - 3 or following & kinds.WITHIN):
            return True
        if here & kinds.NOT and not (here & _TAKES_BACK and following & (kinds.COMMA | kinds.COLON)):  # "No, it is 35"
            if following & kinds.GOOD and tokens[min(place + 2, at)].kinds & kinds.THIS:
                return True  # "it is not true that"
            done = place == at - 3 and not following & ~(kinds.WORD | kinds.GOOD | kinds.UNIT)
            if done and tokens[at - 1].kinds & kinds.WITHIN and not tokens[at].kinds & kinds.WORD:
                return False  # "she was not dreaming for 6 hours"
            relative = kinds.THIS | kinds.QUESTION
            if (
                any(each.kinds & relative for each in tokens[max(first + 1, place - 2) : place])
                and following & kinds.IS
            ):
                return place + 1 == verb  # "the number of those that will not be used is 5"
            unlikely = place == first and following & kinds.THIS and not here & kinds.NO  # "No way it is 5"
            return bool(unlikely) or (not apart and (not copula or bool(following & kinds.IS)))
        if here & kinds.IS and not copula and not tokens[place - 1].kinds & kinds.WITHIN:
            copula, verb = True, place
    return False


def _is_sought(tokens: list[Token], first: int, at: int) -> bool:
    """True if a value belongs to a question: "to find how many of the 34 seats are left"."""
    concluded = 0
    for place in range(at - 1, first - 1, -1):
        here, before = tokens[place].kinds, tokens[place - 1].kinds
        concluded |= here & kinds.SO
        if here & (kinds.EQUALS | kinds.COLON | kinds.IS | kinds.ANSWER):
            return False
        if here & kinds.ASK and here & kinds.QUESTION:  # "add": an instruction where it opens the clause
            return place == first and not concluded
        # A "who" or "which" after a noun or a comma is a relative pronoun.
        relative = before & kinds.COMMA or (
            before & kinds.WORD and not before & ~(kinds.UNIT | kinds.WORD | kinds.SYMBOL)
        )
        if here & kinds.ASK and (place == first or not relative):
            return True
    return False


def _is_worked_out(lexed: Lexed, at: int, last: int) -> bool:
    """True for a calculation with its result: "Add 5 + 3 = 8", but not for the task "Solve 2x = 8"."""
    said = lexed.union(at, last)
    return bool(said & kinds.EQUALS) and not said & (kinds.WORD | kinds.LETTER | kinds.FORMULA)


def _is_hedged(tokens: list[Token], first: int, at: int) -> bool:
    """True if "perhaps" opens the clause or modifies the verb of the value, or if it is unknown whether it is the answer."""
    copula = False
    for place in range(at - 1, first - 1, -1):
        here, following = tokens[place].kinds, tokens[place + 1].kinds
        if here & kinds.HEDGE and (not copula or place <= first + 1 or following & kinds.IS):
            return True
        if here & kinds.UNKNOWN and following & (kinds.IF | kinds.ASK):
            return True  # "I do not know whether the answer is 5"
        copula = copula or bool(here & kinds.IS)
    return False


def _before(tokens: list[Token], first: int, at: int) -> int:
    """Return the kinds of the word right before a value, skipping emphasis, brackets and fillers; of "is" and the word
    before it.
    """
    found = 0
    for token in reversed(tokens[first:at]):
        here = token.kinds
        if here & kinds.WORD and not here & (kinds.FILLER | kinds.MINUS):
            if found or not here & kinds.IS:
                return found | here
            found = here
        elif not here & (kinds.EMPHASIS | kinds.OPEN | kinds.WORD):
            return found
    return found


def is_called_bad(tokens: list[Token], first: int, last: int) -> bool:
    """True if the text after a value calls it wrong: "is wrong", "is not the answer", "cannot be right"."""
    denied, near = False, 3
    for place, token in enumerate(tokens[first : last + 1]):
        here = token.kinds
        if here & (kinds.NUMBER | kinds.FORMULA | kinds.BOX) or (here & kinds.LETTER and place):
            return False
        if here & kinds.IS:
            near = place + 4
        if here & kinds.NOT:
            denied = not denied
        elif here & (kinds.BAD | kinds.FALSE) and place < near:
            return not denied
        elif here & (kinds.GOOD | kinds.ANSWER | kinds.OPTION):
            after = [each.kinds for each in tokens[first + place + 1 : min(first + place + 2, last) + 1]]
            trap = after and after[0] & kinds.BAD  # "the most likely trap"
            final = first + place + len(after) == last and any(each & kinds.NOT for each in after)  # 5 सही उत्तर नहीं है
            return not denied if trap else denied or final
    return False


def beginnings(lexed: Lexed, first: int, last: int) -> set[str]:
    """Return the first letters of each word, which its forms share."""
    return {lexed.said(at, at).lower()[:_STEM] for at in range(first, last + 1)}


def takes_back(lexed: Lexed, clause: Clause, named: Collection[str] = ()) -> bool:
    """True if a clause without a value calls the previous answer wrong: "This answer is wrong", "That is not right".

    Words that start like one of `named` are the topic of the question, and judge nothing.
    """
    subject, denied = True, False
    contrary = lexed.tokens[clause.first].kinds & kinds.BUT
    for place, token in enumerate(lexed.tokens[clause.first : clause.last + 1]):
        here = token.kinds
        if not here & kinds.WORD or (contrary and not place and not here & kinds.RETRACT):
            subject = subject and not here & kinds.LETTER  # "B is right; A fails"
            continue
        if contrary and place and here & kinds.NOT and clause.first + place == clause.last:
            return subject  # "but it isn't"
        if here & (kinds.ASK | kinds.OTHERS):
            return False
        if here & kinds.RETRACT and _says_wrong(lexed, token):
            return True
        denied = denied or bool(here & kinds.NOT)
        if here & kinds.NO and token.end == lexed.tokens[clause.last].end:
            return subject  # "Wait, no."
        if here & (kinds.THIS | kinds.ANSWER | kinds.RESULT | kinds.RETRACT):
            subject = True
        elif subject and (here & kinds.BAD or (denied and here & kinds.GOOD)):
            if lexed.text[token.start : token.end].lower()[:_STEM] not in named:
                return True
        elif not here & (kinds.IS | kinds.NOT | kinds.CONNECT | LIGHT):
            subject = False
    return False


def _says_wrong(lexed: Lexed, token: Token) -> bool:
    """True if a retraction phrase means "wrong" without further words: "this is wrong", not "wait"."""
    here, said = token.kinds, lexed.text[token.start : min(token.end, token.start + 40)].lower()
    parts = said.split()
    if len(parts) == 1 and not said.isascii():  # a script without spaces
        parts = [said[first:last] for first in range(len(said)) for last in range(first + 1, len(said) + 1)]
    for part in parts:
        here |= lexed.words.words.get(part, 0)
    return bool(here & kinds.BAD or (here & kinds.NOT and here & kinds.GOOD))
