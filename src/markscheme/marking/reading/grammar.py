"""Find answers in clauses with a short ranked list of rules over one slot for the value.

The same rules serve numbers, expressions, choices and words in every language of the lexicon. The last asserted
statement of the highest rank wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from markscheme.marking.reading import kinds
from markscheme.marking.reading.clauses import (
    ASKED,
    ASSERTED,
    CONDITIONAL,
    DENIED,
    LIGHT,
    REASON,
    RETRACTED,
    Clause,
    beginnings,
    clauses,
    mood_of,
    numbers_a_step,
    takes_back,
)
from markscheme.marking.reading.free_words import closeness, denies, goes_on
from markscheme.marking.reading.lexer import Lexed, Token
from markscheme.marking.reading.meaning import is_label, is_named, meant_value
from markscheme.marking.reading.quantities import Value
from markscheme.marking.reading.slots import content_words, slot_after, value_in_slot
from markscheme.marking.reading.values import Kind, value_in

# The ranks: typeset as an answer; announced as the answer; called right or chosen; concluded or emphasized; only
# mentioned.
TYPESET, STATED, CHOSEN, CONCLUDED, SAID = 5, 4, 3, 2, 1
UNSAID: Final = "cannot be said"  # rule for a clause that reports no answer
# Rules that announce an answer, as a value or a sentence.
ANNOUNCED: Final = ("the answer is", "below a heading", "told as the answer")
_TELLING: Final = kinds.WORD | kinds.NUMBER | kinds.LETTER | kinds.FORMULA | kinds.BOX
VALUES: Final = _TELLING & ~kinds.WORD | kinds.NUMERAL | kinds.SYMBOL  # one of these is in every number or expression
_NAMES: Final = kinds.ANSWER | kinds.RESULT
_NEGATIVE: Final = ("no", "false", "none")
_SAME: Final = LIGHT | kinds.RESULT | kinds.IS | kinds.UNIT | kinds.FINAL  # words for the answer itself
_HEADING: Final = 6  # most words of a line that only announces the answer
_OPENING: Final = 20  # most characters before the first word of a text
_SHORT_LINE: Final = 12  # most tokens of a line that consists of a value only


class Candidate(Struct, frozen=True, gc=False):
    """A possible answer found in a clause."""

    rank: int
    rule: str
    value: Value
    mood: str
    clause: int
    closeness: int = 0  # words that the clause shares with the question, if the answer is free words


def candidates(lexed: Lexed, kind: Kind, *, plainly: bool = False) -> list[Candidate]:
    """Return the possible answers in a text in order, with retracted ones marked.

    With `plainly`, a value must come right after "the answer is": text after a box is more often a remark than a second
    answer.
    """
    if (kind, plainly) not in lexed.made:
        lexed.made[kind, plainly] = _candidates(lexed, kind, plainly)
    found: list[Candidate] = lexed.made[kind, plainly]
    return found


def _candidates(lexed: Lexed, kind: Kind, plainly: bool) -> list[Candidate]:
    found: list[Candidate] = []
    heading, remarking = 0, False
    named: set[str] = set()  # first words of the chosen option's text
    for number, clause in enumerate(clauses(lexed)):
        here = clause.kinds
        remarking = (
            remarking and not here & (kinds.SO | kinds.ANSWER | kinds.FINAL) and not _is_alone(lexed, clause, kind)
        ) or (bool(here & kinds.REMARK) and not clause.opener & kinds.BECAUSE and _is_remark(lexed, clause))
        if numbers_a_step(lexed, number):
            heading &= kinds.ANSWER
            continue
        said = [] if remarking else list(_of_clause(lexed, clause, number, kind, heading, plainly))
        if said and kind.name == "letter" and _has_its_text(lexed, clause, kind, said[-1].value, heading):
            named.update(beginnings(lexed, said[-1].value.last + 1, clause.last))
        kept = heading if not said and clause.last - clause.first < 3 else 0  # a fence or a quotation mark
        told = remarking or any(each.rank >= STATED for each in said)  # "Answer: Ann" announces nothing more
        heading = (0 if told else _heads(lexed, number)) or kept
        if said and found and kind.name == "text" and not found[0].clause and goes_on(lexed, clause, found[0].value):
            said = []
        agrees = kind.name == "word" and found and found[-1].value.content in _NEGATIVE  # "No. That is impossible."
        if found and not said and not agrees and takes_back(lexed, clause, named):
            found[-1] = replace(found[-1], mood=RETRACTED)
        elif found and said:
            another = here & (kinds.RETRACT | kinds.NO) and _takes_another(lexed, clause)
            if another or (here & kinds.BUT and _corrects(lexed, clause, said[-1])):
                said = [replace(each, rank=max(each.rank, found[-1].rank)) for each in said]
            if another:
                found[-1] = replace(found[-1], mood=RETRACTED)
        found.extend(_unspoken(lexed, clause, number, kind, said) or said)
    return found


def _unspoken(lexed: Lexed, clause: Clause, number: int, kind: Kind, said: list[Candidate]) -> list[Candidate]:
    """Return the answer of a clause that reports none: "none of them is right", "it cannot be determined"."""
    here = clause.kinds
    if kind.name == "letter" and not said and here & kinds.NONE and here & (_NAMES | kinds.GOOD):
        rank, rule = STATED, "none of them"
    elif kind.name == "value" and here & kinds.UNKNOWN and (not said or _is_unsaid(lexed, clause, said[0].value)):
        rank, rule = CONCLUDED, UNSAID
    elif kind.name == "word" and not said and here & kinds.ANSWER and here & (kinds.HEDGE | kinds.UNKNOWN):
        rank, rule = STATED, UNSAID
    else:
        return []
    whole = Value(clause.first, clause.last, lexed.said(clause.first, clause.last))
    return [Candidate(rank, rule, whole, ASSERTED, number)]


def _is_unsaid(lexed: Lexed, clause: Clause, value: Value) -> bool:
    """True if a value is only something that cannot be found: "it is impossible to find f(0)"."""
    unknown = False
    for token in lexed.tokens[clause.first : value.first]:
        unknown = (unknown or bool(token.kinds & kinds.UNKNOWN)) and not (unknown and token.kinds & kinds.IS)
    return unknown


def best(found: list[Candidate]) -> Candidate | None:
    """Return the last asserted candidate of the highest rank; without an announced or chosen one, the last."""
    denied = {each.value.content: at for at, each in enumerate(found) if each.mood == DENIED}
    asserted = [
        each
        for at, each in enumerate(found)
        if each.mood == ASSERTED and (each.rank >= STATED or denied.get(each.value.content, -1) < at)
    ]  # "x = 7, but 7 is too large"
    asserted = asserted or [each for each in found if each.mood == REASON and each.rank > SAID]
    if not asserted:
        return None
    top = max(each.rank for each in asserted)
    listed = {each.value.content for each in asserted[-2:] if each.rule == "a label"}
    if top == SAID and (len(listed) > 1 or found[-1].mood == ASKED):
        return None  # a list of choices, or a question
    if len(listed) > 1 and top < CHOSEN:
        asserted = [each for each in asserted if each.rule != "a label"]  # the other choices, discussed at the end
    if top >= CHOSEN:
        # Steps have answers too: after "Answer: 96", "Answer: Jason stored 23 bales" is the later one.
        return [each for each in asserted if each.rank == top or each.rule == "told as the answer"][-1]
    if any(each.closeness for each in asserted):
        concluded = [each for each in asserted if each.rule == "concluded" and each.closeness]
        closest = concluded[-1] if concluded else max(reversed(asserted), key=lambda each: each.closeness)
        return replace(closest, rank=STATED) if closest.closeness > 1 else closest
    apart = [each for each in asserted if each.rank == CONCLUDED]
    return asserted[0] if apart == asserted[:1] and apart[0].rule == "set apart" else asserted[-1]


def _takes_another(lexed: Lexed, clause: Clause) -> bool:
    """True if a clause opens with "actually", "wait" or "no": its value replaces the earlier answer."""
    opens = bool(lexed.tokens[clause.first].kinds & kinds.NO)
    return opens or lexed.has(kinds.RETRACT, clause.first, min(clause.last, clause.first + 4))


def _corrects(lexed: Lexed, clause: Clause, said: Candidate) -> bool:
    """True for a clause that only gives another value: "One might say 5, but it is 3"."""
    plain = kinds.BUT | kinds.THIS | kinds.IS | kinds.FILLER | kinds.LIKELY | kinds.SO | kinds.UNIT | kinds.OPTION
    words = lexed.tokens[clause.first : said.value.first] + lexed.tokens[said.value.last + 1 : clause.last + 1]
    return bool(clause.opener & kinds.BUT) and all(
        not token.kinds & kinds.WORD or token.kinds & plain for token in words
    )


def _is_remark(lexed: Lexed, clause: Clause) -> bool:
    for token in [each for each in lexed.tokens[clause.first : clause.last + 1] if each.kinds & _TELLING][:3]:
        if not token.kinds & kinds.WORD or token.kinds & (kinds.ANSWER | kinds.SO | kinds.REMARK):
            return bool(token.kinds & kinds.REMARK)
    return False


def _of_clause(
    lexed: Lexed, clause: Clause, number: int, kind: Kind, heading: int, plainly: bool
) -> Iterator[Candidate]:
    may_say = VALUES if kind.name == "value" else 0 if kind.words else kind.classes
    if may_say and not clause.kinds & may_say:
        return
    for rank, rule, value in _stated(lexed, clause, kind, heading, plainly):
        own = _has_its_text(lexed, clause, kind, value, heading) or (kind.name == "word" and _is_answered(lexed, value))
        said = replace(clause, last=value.last) if own else clause
        mood = mood_of(lexed, said, value.first, value.last)
        # A choice whose text is a question; "Answer: she would earn $140 if she worked" repeats the question's condition.
        if (mood, rule) in ((ASKED, "a label"), (CONDITIONAL, "told as the answer")):
            mood = ASSERTED
        shared = closeness(lexed, kind, clause.first, clause.last) if kind.given else 0
        mood = DENIED if shared and denies(lexed, kind, clause.first, clause.last) else mood
        yield Candidate(rank, rule, value, mood, number, shared)
        if mood == ASSERTED:
            return


def _is_answered(lexed: Lexed, value: Value) -> bool:
    """True for a word with which a reply begins: "No, that is impossible"."""
    following = lexed.tokens[value.last + 1 : value.last + 2]
    opens = not lexed.text[: lexed.tokens[value.first].start].strip(" *_\n")
    return opens and bool(following) and bool(following[0].kinds & kinds.COMMA)


def _has_its_text(lexed: Lexed, clause: Clause, kind: Kind, value: Value, heading: int) -> bool:
    """True if a choice is announced with its text, whose wording does not matter: "The answer is (B) impossible"."""
    if kind.name != "letter" or value.last == clause.last or not is_label(lexed, value):
        return False
    place = value.first - 1
    while place >= clause.first and lexed.tokens[place].kinds & (kinds.EMPHASIS | kinds.OPEN | kinds.OPTION):
        place -= 1
    if place >= clause.first:
        return bool(lexed.tokens[place].kinds & (kinds.IS | kinds.COLON))
    following, start = lexed.tokens[value.last + 1 : value.last + 4], lexed.tokens[value.first].start
    word = next((token.kinds for token in following if token.kinds & kinds.WORD), kinds.IS)
    if heading:
        return not word & (kinds.IS | kinds.NOT)
    if start >= _OPENING or lexed.text[:start].strip(" *([\n"):
        return False
    rest, judgement = lexed.tokens[value.last + 1 : clause.last + 1], kinds.COLON | kinds.EMPHASIS | kinds.BAD
    judged = rest[0].kinds & kinds.COLON and all(token.kinds & judgement for token in rest)  # "B: wrong"
    return not word & (kinds.IS | kinds.NOT) and not judged


def _stated(lexed: Lexed, clause: Clause, kind: Kind, heading: int, plainly: bool) -> Iterator[tuple[int, str, Value]]:
    """Return the candidates of each rule in a clause, the strongest first."""
    tokens, first, last = lexed.tokens, clause.first, clause.last
    if clause.kinds & kinds.HASHES and (value := _hashed(lexed, clause, kind)) is not None:
        yield STATED, "after ####", value
        return
    if heading and (value := meant_value(lexed, kind, clause, first, last)) is not None:
        emphasised = tokens[value.first - 1].kinds & kinds.EMPHASIS
        direct = _is_lone(lexed, clause, value) or kind.name != "value" or emphasised
        yield (STATED if direct and heading & kinds.ANSWER else CONCLUDED), "below a heading", value
        return
    if clause.kinds & _NAMES:
        yield from _announced(lexed, clause, kind, plainly)
    if clause.kinds & (kinds.GOOD | kinds.OPTION | kinds.CHOOSE | kinds.ANSWER):
        yield from _chosen(lexed, clause, kind)
    value = meant_value(lexed, kind, clause, first, last)
    if value is None or (kind.name in ("value", "letter") and is_named(lexed, value, first)):
        return
    lone = _is_lone(lexed, clause, value)
    if kind.name == "letter" and value.first - first < 2 and not lone and is_label(lexed, value):
        yield SAID, "a label", value
        return
    apart = value.first > first and tokens[value.first - 1].kinds & kinds.EMPHASIS
    marks = sum(bool(token.kinds & kinds.EMPHASIS) for token in tokens[first : last + 1])
    if clause.kinds & kinds.SO:
        yield CONCLUDED, "concluded", value
    elif apart:
        yield CONCLUDED, "set apart" if marks == 2 else "in bold", value
    else:
        yield (CONCLUDED, "a line of its own", value) if lone else (SAID, "said", value)


def _hashed(lexed: Lexed, clause: Clause, kind: Kind) -> Value | None:
    """#### VALUE, but not the heading `#### 2. The sum`."""
    tokens, last = lexed.tokens, clause.last
    at = next(at for at in range(clause.first, last + 1) if tokens[at].kinds & kinds.HASHES)
    heads = clause.ender != kinds.LINE and last + 2 < len(tokens) and not tokens[last + 2].kinds & kinds.LINE
    value = None if heads else value_in(lexed, kind, at + 1, last)
    if value is not None and value.last < last and tokens[value.last + 1].kinds & kinds.LABEL:
        return None  # #### 12th Grade
    return value if value is not None and content_words(lexed, at + 1, value.first) == 0 else None


def _announced(lexed: Lexed, clause: Clause, kind: Kind, plainly: bool) -> Iterator[tuple[int, str, Value]]:
    """ANSWER IS VALUE."""
    tokens, last = lexed.tokens, clause.last
    for at in range(clause.first, last + 1):
        named = tokens[at].kinds & (kinds.ANSWER if plainly else _NAMES)
        slot = slot_after(lexed, at, last) if named else None
        if slot is not None and (value := value_in_slot(lexed, kind, clause, slot, plainly)) is not None:
            words = content_words(lexed, slot, value.first)
            sentence = kind.name == "value" and tokens[slot - 1].kinds & kinds.COLON and words > 1
            weak = sentence or not named & kinds.ANSWER  # a "result" may belong to a step
            rule = "told as the answer" if sentence and named & kinds.ANSWER else "the answer is"
            yield (CONCLUDED if weak else STATED), rule, value
            return


def _chosen(lexed: Lexed, clause: Clause, kind: Kind) -> Iterator[tuple[int, str, Value]]:
    """GOOD IS VALUE, CHOOSE VALUE, VALUE IS GOOD."""
    named = kinds.GOOD | (kinds.OPTION if kind.name == "letter" else 0)
    for at in range(clause.first, clause.last + 1):
        here = lexed.tokens[at].kinds
        slot = slot_after(lexed, at, clause.last) if here & named else None
        between = lexed.tokens[at + 1 : slot] if slot is not None and kind.name == "value" else []
        if any(token.kinds & kinds.WORD and not token.kinds & _SAME for token in between):
            slot = None  # "the right triangle's area is 6"
        value = value_in_slot(lexed, kind, clause, slot) if slot is not None else None
        rule = "the right one is"
        if value is None and here & kinds.CHOOSE and kind.name != "value":
            value, rule = value_in(lexed, kind, at + 1, clause.last), "chosen"
        if value is not None:
            yield CHOSEN, rule, value
            return
    if (value := _called_good(lexed, clause, kind)) is not None:
        yield CHOSEN, "called right", value


def _called_good(lexed: Lexed, clause: Clause, kind: Kind) -> Value | None:
    """Return a value that is called right: "B is correct", "12 is the answer"."""
    value = value_in(lexed, kind, clause.first, clause.last) if kind.name != "text" else None
    copula = kind.name == "letter"
    for token in lexed.tokens[value.last + 1 : clause.last + 1] if value is not None else ():
        if token.kinds & (kinds.GOOD | kinds.ANSWER) and not token.kinds & kinds.IS:
            return value if copula else None
        copula = copula or bool(token.kinds & kinds.IS)
        if token.kinds & (kinds.NUMBER | kinds.FORMULA | kinds.COMMA | kinds.LETTER):
            return None
    return None


def _is_lone(lexed: Lexed, clause: Clause, value: Value) -> bool:
    """True if a line consists of a value only."""
    return clause.last - clause.first < _SHORT_LINE and not any(
        _says_more(token) and not value.first <= place <= value.last
        for place, token in enumerate(lexed.tokens[clause.first : clause.last + 1], clause.first)
    )


def _says_more(token: Token) -> bool:
    return bool(token.kinds & kinds.WORD) and not token.kinds & (kinds.OPTION | kinds.FILLER | kinds.UNIT)


def _is_alone(lexed: Lexed, clause: Clause, kind: Kind) -> bool:
    """True for a choice or a word of a small class on a line of its own, `[Yes]`: a remark never looks like this."""
    if kind.name not in ("letter", "word") or clause.last - clause.first > 4:
        return False
    value = value_in(lexed, kind, clause.first, clause.last)
    return value is not None and _is_lone(lexed, clause, value)


def _heads(lexed: Lexed, number: int) -> int:
    """Return the kinds of a line that only announces an answer: "Final answer:", "## Answer"; 0 for any other line."""
    parts = clauses(lexed)
    clause = parts[number]
    here, last = clause.kinds, lexed.tokens[clause.last].kinds
    if number > 1 and parts[number - 1].opener & kinds.BECAUSE and lexed.tokens[clause.first].kinds & kinds.IS:
        here |= parts[number - 2].kinds & _NAMES  # "The answer, based on the table, is:"
    named = here & _NAMES or (kinds.ANSWER if here & kinds.GOOD and here & kinds.OPTION else 0)
    if clause.ender != kinds.LINE or not named or (here & kinds.ASK and not here & kinds.ANSWER):
        return 0
    if here & (_TELLING & ~kinds.WORD | kinds.EQUALS):
        return 0
    words = sum(bool(token.kinds & kinds.WORD) for token in lexed.tokens[clause.first : clause.last + 1])
    ends = last & kinds.COLON and lexed.tokens[clause.last - 1].kinds & kinds.ANSWER  # "We simplify to get the answer:"
    return named if (words <= _HEADING or ends) and last & (kinds.WORD | kinds.COLON | kinds.EMPHASIS) else 0
