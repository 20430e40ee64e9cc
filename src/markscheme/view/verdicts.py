"""How verdicts are shown: a symbol, a word and a class for the colour, never the colour alone."""

from __future__ import annotations

from dataclasses import dataclass

from markscheme.runs.columns import UNMARKED, VERDICTS
from markscheme.types import Verdict


@dataclass(frozen=True)
class Look:
    """One verdict as people see it."""

    name: str
    symbol: str
    word: str
    meaning: str


_LOOKS = {
    Verdict.CORRECT: ("✓", "correct", "earns the mark"),
    Verdict.WRONG: ("✗", "wrong", "another answer than the gold"),
    Verdict.NO_ANSWER: ("∅", "no answer", "nothing could be extracted"),
    Verdict.TRUNCATED: ("…", "truncated", "cut off before an answer"),
    Verdict.MALFORMED: ("≁", "malformed", "an answer in a form the task forbids"),
    Verdict.UNMARKABLE: ("?", "unmarkable", "the gold cannot be read, or the marker ran out of time"),
    Verdict.ERROR: ("!", "error", "the model never answered; missing, not wrong"),
}
LOOKS: dict[str, Look] = {str(name): Look(str(name), *rest) for name, rest in _LOOKS.items()}
NOT_MARKED = Look("unmarked", "·", "not marked", "no mark under this protocol")
LOOKS["unmarked"] = NOT_MARKED


def look(code: int) -> Look:
    """By the code that stands in the columns."""
    return NOT_MARKED if code == UNMARKED else LOOKS[str(VERDICTS[code])]
