"""The public comparison of two answers. Decides or says that it cannot; never guesses, raises or hangs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal

import msgspec

from markscheme.marking.equality.algebra.exact import TooBig, Undefined, Unreadable, fresh_effort
from markscheme.marking.equality.kinds import Choice, ParsedAnswer, Scalar, difference, key, weight
from markscheme.marking.equality.read.arguments import tokenise
from markscheme.marking.equality.read.cleaning import clean
from markscheme.marking.equality.read.parsing import read
from markscheme.marking.equality.rules.rulebook import Comparator
from markscheme.marking.equality.units import read_unit

Method = Literal["string", "exact", "numeric", "symbolic", "none"]
"""What settled it: the same text, exact arithmetic, a numerical difference, computer algebra, or nothing."""
_WHOLE: Final = re.compile(r"\s*[-+]?[0-9]{1,1000}\s*")
_SPACES: Final = re.compile(r"(?<!\d)\s+|\s+(?!\d)")
_LIST_LIKE: Final = re.compile(r"\d,\s?\d{3}(?!\d)")
_SPACED_GROUPS: Final = re.compile(r"\s*[-+$\\]*\d{1,3}(?:, \d{3})+(?!\d)[^,]*")
_BARE_UNIT: Final = re.compile(
    r"([-\d.,/\s]*\d)\s*(?:\s([mgshL](?:/[mgshL])?)((?:\^\{?[23]\}?)?)|\(([A-Za-z]{1,3})\)())\s*\.?"
)
_DECIMAL_COMMA: Final = re.compile(
    r"(?P<sign>[-+]?\s?\\?\$?\s?)(?:(?P<groups>\d{1,3}(?:\.\d{3})+)|(?P<whole>\d+)(?=,))(?:,(?P<part>\d+))?(?P<tail>[^\d,.].*)?"
)
_CHOOSE: Final = re.compile(r"(?<![A-Za-z\\])C\s*\(\s*(\w{1,9})\s*,\s*(\w{1,9})\s*\)")
_UNWORKED: Final = re.compile(r"\\(?:sum|prod|i*nt|lim|frac\{d\}\{d)(?![a-z])")
PROOFS: Final = "markscheme.marking.equality.proofs:decide"
_TOO_BIG: Final = "too large to work out"
_CACHE_SIZE: Final = 4096
_CACHED_LENGTH: Final = 1000
_LONGEST_LAYOUT: Final = 5000
_CACHED_WEIGHT: Final = 60  # terms: an answer may be short and its expansion not


class AnswerComparison(msgspec.Struct, frozen=True):
    """What came of comparing an answer with a gold. `equal` is `None` when neither could be shown."""

    equal: bool | None
    why: str
    flags: tuple[str, ...] = ()
    method: Method = "none"


_SAME_TEXT: Final = AnswerComparison(True, "the same text", method="string")
_SAME_NUMBER: Final = AnswerComparison(True, "the same number", method="exact")
_OTHER_NUMBER: Final = AnswerComparison(False, "another number", method="exact")


class _Reading(msgspec.Struct, frozen=True):
    """A read answer, or the reason why it could not be read."""

    answer: ParsedAnswer | None
    problem: str = ""


def compare(
    answer: str,
    gold: str,
    *,
    places: int | None = None,
    unit: str = "",
    choices: Mapping[str, str] | None = None,
    time_limit: float = 3.0,
) -> AnswerComparison:
    """Whether an extracted answer earns the mark for a gold answer.

    What the problem says may be given: `places`, the decimal places where it asks for rounding (without it a decimal
    equals only what it is exactly); `unit`, in which it asks for the answer, so that $0.25 is 25 where cents are asked
    for; `choices`, from letter to text: the two then stand for each other. `time_limit` bounds the symbolic work in
    seconds.
    """
    if answer == gold:
        return _SAME_TEXT
    try:
        if choices and (settled := _by_choice(answer, gold, choices, time_limit)) is not None:
            return settled
        if unit and _in_unit(answer, gold, unit):
            return AnswerComparison(True, "equal", ("unit converted",), "exact")
        return _compare(answer, gold, places, time_limit)
    except Exception as problem:  # noqa: BLE001 - a bug here must cost one mark, flagged, and not a night's run
        return AnswerComparison(None, f"internal error: {type(problem).__name__}: {problem}"[:300])


def _by_choice(answer: str, gold: str, choices: Mapping[str, str], time_limit: float) -> AnswerComparison | None:
    """The verdict where one side is the letter of a choice; None where neither is."""
    left, right = _letter(answer, choices), _letter(gold, choices)
    if left and right:
        return AnswerComparison(left == right, "the same choice" if left == right else "another choice", method="exact")
    if not left and not right:
        return None
    texts = (answer, choices[right]) if right else (choices[left], gold)
    result = compare(*texts, time_limit=time_limit)
    return msgspec.structs.replace(result, flags=("choice by its text",)) if result.equal else None


def _letter(text: str, choices: Mapping[str, str]) -> str:
    """The letter of the choice that a text names, or an empty text."""
    parsed = _read(text).answer
    letter = parsed.letter if isinstance(parsed, Choice) else ""
    if isinstance(parsed, Scalar) and parsed.unit is None:
        letter = parsed.letters.upper()
    return letter if letter in choices else ""


def _in_unit(answer: str, gold: str, unit: str) -> bool:
    """Whether an amount is so many of a unit: $0.25 is 25 cents."""
    left, right, asked = _read(answer).answer, _read(gold).answer, read_unit(unit)
    if not isinstance(left, Scalar) or not isinstance(right, Scalar) or left.unit is None or right.unit is not None:
        return False
    if asked is None or asked.word or asked == left.unit:
        return False
    return _same(Comparator(), left, replace(right, unit=asked)) is True


def _compare(answer: str, gold: str, places: int | None, time_limit: float) -> AnswerComparison:
    if places is None and _WHOLE.fullmatch(answer) and _WHOLE.fullmatch(gold):
        return _SAME_NUMBER if int(answer) == int(gold) else _OTHER_NUMBER
    right = _read(gold)
    left = _read(answer)
    if left.answer is None or right.answer is None:
        return _unread(answer, gold, left, right)
    comparator = Comparator(places=places)
    verdict = _same(comparator, left.answer, right.answer)
    if verdict is False:
        alike = type(left.answer) is type(right.answer) and not isinstance(left.answer, Scalar)
        if _SPACES.sub("", answer) == _SPACES.sub("", gold) or (alike and _same_tokens(answer, gold)):
            return _SAME_TEXT
        other = _other_readings(answer, gold)
        if other is not None:
            return other
    if verdict is None:
        if _same_tokens(answer, gold):
            return _SAME_TEXT
        if comparator.exhausted:
            return AnswerComparison(None, _TOO_BIG)
        return _prove(answer, gold, tuple(comparator.flags), time_limit)
    method: Method = "numeric" if comparator.numeric and verdict is False else "exact"
    flags = tuple(comparator.flags) if verdict else ()
    return AnswerComparison(verdict, "equal" if verdict else difference(left.answer, right.answer), flags, method)


def _prove(answer: str, gold: str, flags: tuple[str, ...], time_limit: float) -> AnswerComparison:
    """The last resort: sympy in a worker process, asked whether values that agree numerically are really equal.

    It reads both texts again: about 1 ms of the 30 ms and more that sympy takes, and nothing has to travel but text.
    """
    from markscheme.marking.sandbox import default_pool

    outcome = default_pool().run(PROOFS, [answer, gold], time_limit=time_limit)
    if outcome.status != "done" or outcome.value is None:
        why = "computer algebra could not decide" if outcome.status == "done" else outcome.why
        return AnswerComparison(None, why)
    verdict: bool = outcome.value
    return AnswerComparison(verdict, "equal" if verdict else "different", flags if verdict else (), "symbolic")


def equal(a: str, b: str) -> bool:
    """Whether two answers are the same mathematics, either of them being the gold. Undecided is `False`."""
    return compare(a, b).equal is True and (a == b or compare(b, a).equal is True)


def canonical_key(answer: str) -> str | None:
    """A hashable key; equal keys mean equal answers. `None` where the fast paths have no canonical form."""
    try:
        found = _read(answer).answer
    except Exception:  # noqa: BLE001 - as in `compare`: no key is always a right answer
        return None
    return None if found is None else key(found)


def _same_tokens(answer: str, gold: str) -> bool:
    """Whether two texts differ only in layout, for answers that are the same but beyond reading."""
    if max(len(answer), len(gold)) > _LONGEST_LAYOUT:
        return False
    left, right = ([t.text for t in tokenise(clean(text))] for text in (answer, gold))
    return left == right


def _same(comparator: Comparator, a: ParsedAnswer, b: ParsedAnswer) -> bool | None:
    fresh_effort()
    try:
        return comparator.same(a, b)
    except (TooBig, RecursionError):
        comparator.exhausted = True
        return None
    except (Undefined, Unreadable):
        return False


def _unread(answer: str, gold: str, left: _Reading, right: _Reading) -> AnswerComparison:
    if _same_tokens(answer, gold):
        return _SAME_TEXT
    if right.answer is None:
        return AnswerComparison(None, f"the gold answer cannot be read: {right.problem}")
    if left.problem == _TOO_BIG or _UNWORKED.search(answer):
        return AnswerComparison(None, f"the answer cannot be read: {left.problem}")
    return AnswerComparison(False, f"the answer cannot be read: {left.problem}", method="exact")


def _other_readings(answer: str, gold: str) -> AnswerComparison | None:
    """Texts with two meanings: 1,234 as a list, `5 m` as an amount. Equal in either meaning is equal."""
    for a, b in _alternatives(answer, gold):
        one, two = _read(a[0], lists=a[1]), _read(b[0], lists=b[1])
        if one.answer is None or two.answer is None:
            continue
        comparator = Comparator()
        if _same(comparator, one.answer, two.answer):
            if a[0] != answer and _point_for_comma(answer) == a[0]:
                comparator.flag("decimal comma")
            return AnswerComparison(True, "equal", tuple(comparator.flags), "exact")
    return None


def _alternatives(answer: str, gold: str) -> list[tuple[tuple[str, bool], tuple[str, bool]]]:
    lists = bool(_LIST_LIKE.search(answer)), bool(_LIST_LIKE.search(gold))
    found = []
    if lists[0]:
        found.append(((answer, True), (gold, False)))
    if lists[1]:
        found.append(((answer, False), (gold, True)))
    if _SPACED_GROUPS.fullmatch(answer):
        found.append(((answer.replace(", ", ","), False), (gold, False)))
    for own, other, flip in ((answer, gold, False), (gold, answer, True)):
        m = _BARE_UNIT.fullmatch(own) if len(own) < 100 else None
        if m is not None:
            pair = ((rf"{m[1]}\text{{ {m[2] or m[4]}}}{m[3] or ''}", False), (other, False))
            found.append((pair[1], pair[0]) if flip else pair)
        rewritten = [_point_for_comma(own), _CHOOSE.sub(_binomial, own) if "C" in own and len(own) < 300 else None]
        for text in rewritten:
            if text is not None and text != own:
                pair = ((text, False), (other, False))
                found.append((pair[1], pair[0]) if flip else pair)
    return found


def _point_for_comma(text: str) -> str | None:
    """`0,5`, `1.234,56` and `1.234.567` as most of Europe writes them; `1,234` is left alone, for it is rather 1234."""
    m = _DECIMAL_COMMA.fullmatch(text.strip()) if len(text) < 100 else None
    if m is None or (m["groups"] is None and len(m["part"] or "") == 3 and m["whole"] != "0"):
        return None
    if m["groups"] is not None and m["part"] is None and m["groups"].count(".") < 2:
        return None
    whole = (m["groups"] or m["whole"]).replace(".", "")
    return m["sign"] + whole + (f".{m['part']}" if m["part"] else "") + (m["tail"] or "")


def _binomial(m: re.Match[str]) -> str:
    """`C(n, 2)`, which may be a point or a product, as a number of choices."""
    return rf"\binom{{{m[1]}}}{{{m[2]}}}"


_cache: Final[dict[tuple[str, bool], _Reading]] = {}
"""What was read before; golds and common answers come again and again."""


def _read(text: str, *, lists: bool = False) -> _Reading:
    known = _cache.get((text, lists))
    if known is not None:
        return known
    found = _read_now(text, lists)
    if len(text) <= _CACHED_LENGTH and (found.answer is None or weight(found.answer) <= _CACHED_WEIGHT):
        if len(_cache) >= _CACHE_SIZE:
            _cache.clear()
        _cache[text, lists] = found
    return found


def _read_now(text: str, lists: bool) -> _Reading:
    fresh_effort()
    try:
        return _Reading(read(text, lists=lists))
    except TooBig:
        return _Reading(None, _TOO_BIG)
    except (Unreadable, Undefined) as problem:
        return _Reading(None, str(problem) or type(problem).__name__)
    except RecursionError:
        return _Reading(None, _TOO_BIG)
