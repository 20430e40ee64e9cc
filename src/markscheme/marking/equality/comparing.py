"""The public comparison of two answers. It never guesses, raises or hangs; it may say that it cannot decide."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from numbers import Number
from typing import Final, Literal, NamedTuple

import msgspec

from markscheme.errors import UsageError
from markscheme.marking.equality.algebra.exact import TooBig, Undefined, Unreadable, effort_spent, fresh_effort
from markscheme.marking.equality.kinds import Choice, ParsedAnswer, Scalar, difference, key
from markscheme.marking.equality.read.cleaning import clean
from markscheme.marking.equality.read.parsing import read
from markscheme.marking.equality.read.products import letters_apart
from markscheme.marking.equality.read.tokens import scan
from markscheme.marking.equality.read.tree import flat, tree
from markscheme.marking.equality.read.wording import words_of
from markscheme.marking.equality.rules.rulebook import Comparator
from markscheme.marking.equality.units import read_unit, with_unit_set_apart

# How it was decided: the same text, exact arithmetic, a numerical difference, computer algebra, or not at all.
Method = Literal["string", "exact", "numeric", "symbolic", "none"]
_WHOLE: Final = re.compile(r"\s*[-+]?[0-9]{1,1000}\s*")
_SPACES: Final = re.compile(r"(?<!\d)\s+|\s+(?!\d)")
_RANGE: Final = re.compile(
    r"(\d{1,20}(?:\.\d{1,20})?)[\s$\\%]{0,5}[-–][\s$\\]{0,5}(\d{1,20}(?:\.\d{1,20})?)(?:[^\d.-][^\d-]{0,40})?"
)
_CALCULATION: Final = re.compile(r"[\s$(]{0,9}\d[\d\s.()*/×÷·+−-]{0,200}=[\s\d.$−-]{1,40}")
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_TITLED: Final = re.compile(r"(?:Mrs?|Ms|Dr|St|Prof)\.(?:\s[A-Z][\w'’-]*)+")  # `Mr. Park` is a name, not a product
_UNWORKED: Final = re.compile(r"\\(?:sum|prod|i*nt|lim|frac\{d\}\{d)(?![a-z])")
PROOFS: Final = "markscheme.marking.equality.proofs:decide"
_TOO_BIG: Final = "too large to work out"
_CACHE_SIZE: Final = 4096
_CACHED_LENGTH: Final = 1000
_CACHED_EFFORT: Final = 200  # an answer may be short and its expansion not
_LONGEST_LAYOUT: Final = 5000


class AnswerComparison(msgspec.Struct, frozen=True):
    """The result of comparing an answer with a gold. `equal` is `None` if undecided."""

    equal: bool | None
    why: str
    flags: tuple[str, ...] = ()
    method: Method = "none"


_SAME_TEXT: Final = AnswerComparison(True, "the same text", method="string")
_SAME_NUMBER: Final = AnswerComparison(True, "the same number", method="exact")
_OTHER_NUMBER: Final = AnswerComparison(False, "another number", method="exact")
_EQUAL: Final = AnswerComparison(True, "equal", method="exact")


class _Reading(msgspec.Struct, frozen=True):
    answer: ParsedAnswer | None
    problem: str = ""


# Seconds of symbolic work, counted in steps (`_worker._counted`): what sympy has not proven by then, it seldom proves at all.
TIME_LIMIT: Final = 0.4
STEPS_PER_SECOND: Final = 125  # of sympy, on a machine that does nothing else; between 55 and 165
SLOW: Final = 3  # a busy machine, or work that makes few objects, may take this many times the CPU time


def compare(
    answer: str,
    gold: str,
    *,
    places: int | None = None,
    unit: str = "",
    choices: Mapping[str, str] | None = None,
    time_limit: float = TIME_LIMIT,
) -> AnswerComparison:
    """Compare an extracted answer with a gold answer.

    `places` is the number of decimals if the problem asks for rounding; without it a decimal equals only its exact value.
    `unit` is the unit that the problem asks for: $0.25 is 25 if it asks for cents. `choices` maps letters to texts, so that
    a letter equals its text. `time_limit` bounds the symbolic work in seconds.
    """
    if answer == gold:
        return _SAME_TEXT
    try:
        if choices and (settled := _by_choice(answer, gold, choices, time_limit)) is not None:
            return settled
        if unit and _in_unit(answer, gold, unit):
            return AnswerComparison(True, "equal", ("unit converted",), "exact")
        return _compare(answer, gold, places, time_limit)
    except Exception as problem:  # noqa: BLE001 - a bug here must cost one flagged mark and not a night's run
        return AnswerComparison(None, f"internal error: {type(problem).__name__}: {problem}"[:300])


def _by_choice(answer: str, gold: str, choices: Mapping[str, str], time_limit: float) -> AnswerComparison | None:
    """Compare if at least one side is the letter of a choice; None if neither is."""
    left, right = _letter(answer, choices), _letter(gold, choices)
    if left and right:
        return AnswerComparison(left == right, "the same choice" if left == right else "another choice", method="exact")
    if not left and not right:
        return None
    texts = (answer, choices[right]) if right else (choices[left], gold)
    result = compare(*texts, time_limit=time_limit)
    return msgspec.structs.replace(result, flags=("choice by its text",)) if result.equal else None


def _letter(text: str, choices: Mapping[str, str]) -> str:
    parsed = _read(text).answer
    letter = parsed.letter if isinstance(parsed, Choice) else ""
    if isinstance(parsed, Scalar) and parsed.unit is None:
        letter = parsed.letters.upper()
    return letter if letter in choices else ""


def _in_unit(answer: str, gold: str, unit: str) -> bool:
    """True if an amount equals a number of the asked unit: $0.25 is 25 cents."""
    left, right, asked = _read(answer).answer, _read(gold).answer, read_unit(unit)
    if not isinstance(left, Scalar) or not isinstance(right, Scalar) or left.unit is None or right.unit is not None:
        return False
    if asked is None or asked.word or asked == left.unit:
        return False
    return _same(Comparator(), left, replace(right, unit=asked)) is True


def _compare(answer: str, gold: str, places: int | None, time_limit: float) -> AnswerComparison:
    known = _compared.get((answer, gold, places))
    if known is not None:
        return known
    decided = _decide(answer, gold, places, time_limit)
    if decided.equal is not None and len(answer) + len(gold) <= _CACHED_LENGTH:
        if len(_compared) >= _CACHE_SIZE:
            _compared.clear()
        _compared[answer, gold, places] = decided
    return decided


_compared: Final[dict[tuple[str, str, int | None], AnswerComparison]] = {}


def _decide(answer: str, gold: str, places: int | None, time_limit: float) -> AnswerComparison:
    if places is None and _WHOLE.fullmatch(answer) and _WHOLE.fullmatch(gold):
        return _SAME_NUMBER if int(answer) == int(gold) else _OTHER_NUMBER
    right = _read(gold)
    left = _read(answer)
    if left.answer is None or right.answer is None:
        return _by_second_meaning(answer, gold) or _unread(answer, gold, left, right)
    comparator = Comparator(places=places)
    verdict = _same(comparator, left.answer, right.answer)
    if verdict:
        if _other_range(answer, gold):
            return AnswerComparison(False, "another range", method="exact")
        if _other_calculation(answer, gold):
            return AnswerComparison(False, "another calculation", method="exact")
        return AnswerComparison(True, "equal", tuple(comparator.flags), "exact") if comparator.flags else _EQUAL
    if verdict is False:
        if _same_but_for_spaces(answer, gold):
            return _SAME_TEXT
        method: Method = "numeric" if comparator.numeric else "exact"
        why = difference(left.answer, right.answer)
        return _by_second_meaning(answer, gold) or AnswerComparison(False, why, method=method)
    if _same_tokens(answer, gold):
        return _SAME_TEXT
    if comparator.exhausted:
        return AnswerComparison(None, _TOO_BIG)
    return _prove(answer, gold, tuple(comparator.flags), time_limit)


def _prove(answer: str, gold: str, flags: tuple[str, ...], time_limit: float) -> AnswerComparison:
    """Ask sympy in a worker process whether values that agree numerically are equal.

    The worker parses both texts again, which takes 1 of the 30 ms or more that sympy needs, so that only text is sent.
    """
    from markscheme.marking.sandbox import default_pool

    steps = round(time_limit * STEPS_PER_SECOND)
    outcome = default_pool().run(PROOFS, [answer, gold], time_limit=SLOW * time_limit, steps=steps)
    if outcome.status != "done" or outcome.value is None:
        why = "computer algebra could not decide" if outcome.status == "done" else outcome.why
        return AnswerComparison(None, why)
    verdict: bool = outcome.value
    return AnswerComparison(verdict, "equal" if verdict else "different", flags if verdict else (), "symbolic")


def equal(a: str | float, b: str | float) -> bool:
    """True if two answers are mathematically equal, in either order. Undecided counts as `False`."""
    for answer in (a, b):
        if not isinstance(answer, str | Number):
            raise UsageError(f"equal compares texts and numbers, not a {type(answer).__name__}")
    a, b = str(a), str(b)
    return compare(a, b).equal is True and (a == b or compare(b, a).equal is True)


def canonical_key(answer: str) -> str | None:
    """Return a hashable key. Equal keys mean equal answers; `None` means that there is no cheap canonical form."""
    try:
        parsed = _read(answer).answer
    except Exception:  # noqa: BLE001 - as in `compare`: None is always a correct answer
        return None
    return None if parsed is None else key(parsed)


def _same_but_for_spaces(answer: str, gold: str) -> bool:
    """True if two texts differ only in white space that is not between digits."""
    return "".join(answer.split()) == "".join(gold.split()) and _SPACES.sub("", answer) == _SPACES.sub("", gold)


def _other_range(answer: str, gold: str) -> bool:
    """True if both texts are ranges with different ends: 0.6 - 0.8 and 0.0 - 0.2 would be equal as differences."""
    if "-" not in answer and "–" not in answer:
        return False
    ranges = [m for text in (answer, gold) if (m := _RANGE.fullmatch(text.strip(" $\\")))]
    ends = [(Fraction(m[1]), Fraction(m[2])) for m in ranges]
    return len(ends) == 2 and ends[0] != ends[1] and all(low < high for low, high in ends)


def _other_calculation(answer: str, gold: str) -> bool:
    """True if both texts are calculations with a result, `12 * 2 - 22 = 2`, from different numbers."""
    if "=" not in gold or not (_CALCULATION.fullmatch(gold) and _CALCULATION.fullmatch(answer)):
        return False
    numbers = [sorted(map(Fraction, _NUMBER.findall(text))) for text in (answer, gold)]
    return len(numbers[1]) > 2 and numbers[0] != numbers[1]  # `8 = 8.0` calculates nothing


def _same_tokens(answer: str, gold: str) -> bool:
    """True if two texts that cannot be parsed differ only in layout."""
    texts = [clean(text) for text in (answer, gold) if len(text) <= _LONGEST_LAYOUT]
    if len(texts) < 2 or max(map(len, texts)) > _LONGEST_LAYOUT:
        return False
    return _layout(texts[0]) == _layout(texts[1])


def _layout(text: str) -> list[str]:
    """Return the tokens of a cleaned text, with all optional braces if the braces match."""
    tokens = scan(text)
    try:
        return [t.text for t in flat(tree(tokens))]
    except Unreadable:
        return [t.text for t in tokens]


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
    if _same_tokens(answer, gold) or _same_but_for_spaces(answer, gold):
        return _SAME_TEXT
    if right.answer is None and _TITLED.fullmatch(gold):
        same = words_of(answer) == words_of(gold)
        return AnswerComparison(same, "the same words" if same else "other words", method="string")
    if right.answer is None:
        return AnswerComparison(None, f"the gold answer cannot be read: {right.problem}")
    if left.problem == _TOO_BIG or _UNWORKED.search(answer):
        return AnswerComparison(None, f"the answer cannot be read: {left.problem}")
    return AnswerComparison(False, f"the answer cannot be read: {left.problem}", method="exact")


class _Meaning(NamedTuple):
    """A second meaning of the same text."""

    sign: str  # only texts with this sign are rewritten
    rewrite: Callable[[str], str]
    sides: Literal["either", "answer", "both"] = "either"
    flag: str = ""


_LIST_COMMA: Final = re.compile(r"(?<=\d),(?=\s?[1-9]\d{2}(?!\d))")
_SPACED_GROUPS: Final = re.compile(r"\s*[-+$\\]*\d{1,3}(?:,(?: |\\[,;: ]\s?)\d{3})+(?!\d)[^,]*")
_SPACED_COMMA: Final = re.compile(r",(?: |\\[,;: ]\s?)")
_DECIMAL_COMMA: Final = re.compile(
    r"(?P<sign>[-+]?\s?\\?\$?\s?)(?:(?P<groups>\d{1,3}(?:\.\d{3})+)|(?P<whole>\d+)(?=,))(?:,(?P<part>\d+))?(?P<tail>[^\d,.].*)?"
)
_LETTERED_BASE: Final = re.compile(r"(?<=\d)_(?:[a-z]|\{[a-z]\})(?=\$?\Z)")
_CHOOSE: Final = re.compile(r"(?<![A-Za-z\\])C\s*\(\s*(\w{1,9})\s*,\s*(\w{1,9})\s*\)")
_LOG: Final = re.compile(r"\\?(?<![A-Za-z])log(?![A-Za-z]|\s*_)")
_IMAGINARY: Final = re.compile(r"(?<!\\)(?<![A-Za-z]{2})[Ij](?![A-Za-z]{2})")


def _point_for_comma(text: str) -> str:
    """Rewrite `0,5`, `1.234,56` and `1.234.567`, as most of Europe writes them, with a decimal point.

    `1,234` is more likely 1234, and `-3,0` two solutions, so they stay.
    """
    m = _DECIMAL_COMMA.fullmatch(text.strip()) if len(text) < 100 else None
    if m is None or (m["groups"] is None and (m["part"] == "0" or (len(m["part"]) == 3 and m["whole"] != "0"))):
        return text
    if m["groups"] is not None and m["part"] is None and m["groups"].count(".") < 2:
        return text
    whole = (m["groups"] or m["whole"]).replace(".", "")
    return m["sign"] + whole + (f".{m['part']}" if m["part"] else "") + (m["tail"] or "")


_MEANINGS: Final = (
    _Meaning(",", lambda text: _LIST_COMMA.sub(";", text)),  # 1,234 as a list
    _Meaning(",", lambda text: _SPACED_COMMA.sub(",", text) if _SPACED_GROUPS.fullmatch(text) else text, "answer"),
    *(_Meaning(sign, with_unit_set_apart, "both") for sign in (" ", "\\", ")")),  # 5 m as an amount
    _Meaning("frac", letters_apart),  # \frac13 mL^2 is not an amount if the gold is \frac{mL^2}{3}
    _Meaning(",", _point_for_comma, flag="decimal comma"),
    _Meaning(".", _point_for_comma, flag="decimal comma"),
    _Meaning("_", lambda text: _LETTERED_BASE.sub("", text), "answer"),  # 1020_b, if the gold is just 1020
    _Meaning("C", lambda text: _CHOOSE.sub(r"\\binom{\1}{\2}", text) if len(text) < 300 else text),  # C(n, 2)
    _Meaning("log", lambda text: _LOG.sub(r"\\lg ", text), "both"),  # base e or base 10
    _Meaning("I", lambda text: _IMAGINARY.sub("i", text), "both"),  # as sympy writes it
    _Meaning("j", lambda text: _IMAGINARY.sub("i", text), "both"),  # as engineers do
)


def _second_meanings(answer: str, gold: str) -> Iterator[tuple[str, str, str]]:
    """Yield the answer and the gold with a second meaning of one or both of them, and the flag."""
    for sign, rewrite, sides, flag in _MEANINGS:
        left = rewrite(answer) if sign in answer else answer
        right = rewrite(gold) if sign in gold and sides != "answer" else gold
        if sides == "both" and (left != answer or right != gold):
            yield left, right, flag
        elif left != answer:
            yield left, gold, flag
        if sides == "either" and right != gold:
            yield answer, right, ""


def _by_second_meaning(answer: str, gold: str) -> AnswerComparison | None:
    """Return the comparison if a second meaning makes the answers equal. Long texts are not cached and have none."""
    if max(len(answer), len(gold)) > _CACHED_LENGTH:
        return None
    for left, right, flag in _second_meanings(answer, gold):
        one, two = _read(left).answer, _read(right).answer
        comparator = Comparator()
        if one is not None and two is not None and _same(comparator, one, two):
            flags = (*comparator.flags, flag) if flag else tuple(comparator.flags)
            return AnswerComparison(True, "equal", flags, "exact")
    return None


_cache: Final[dict[str, _Reading]] = {}  # golds and common answers recur


def _read(text: str) -> _Reading:
    known = _cache.get(text)
    if known is not None:
        return known
    fresh_effort()
    try:
        reading = _Reading(read(text))
    except (TooBig, RecursionError):
        reading = _Reading(None, _TOO_BIG)
    except (Unreadable, Undefined) as problem:
        apart = with_unit_set_apart(text)  # 5 kJ/mol is not a product either
        reading = _read(apart) if apart != text else _Reading(None, str(problem) or type(problem).__name__)
    if len(text) <= _CACHED_LENGTH and effort_spent() <= _CACHED_EFFORT:
        if len(_cache) >= _CACHE_SIZE:
            _cache.clear()
        _cache[text] = reading
    return reading
