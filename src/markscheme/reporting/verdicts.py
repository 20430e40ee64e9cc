"""How verdicts are shown, in one table: a symbol, a word, a meaning, and colours that never stand alone.

Plots take Okabe and Ito's colours, which people who see fewer of them can tell apart. The viewer's colours are for text:
by day and by night each has a contrast of 4.5:1 or more.
"""

from __future__ import annotations

from typing import NamedTuple

from markscheme.runs.columns import UNMARKED, VERDICTS
from markscheme.types import Verdict


class Look(NamedTuple):
    """One verdict as people see it."""

    name: str
    symbol: str
    meaning: str
    plot: str  # its colour in a plot for a paper
    day: str  # its colour in the viewer, on a light ground
    night: str

    @property
    def word(self) -> str:
        """The name as people write it."""
        return "not marked" if self.name == "unmarked" else self.name.replace("_", " ")


_TABLE = (
    Look(Verdict.CORRECT, "✓", "earns the mark", "#009E73", "#17734d", "#57c08d"),
    Look(Verdict.WRONG, "✗", "another answer than the gold", "#D55E00", "#bd2c2c", "#f07f78"),
    Look(Verdict.NO_ANSWER, "∅", "nothing could be extracted", "#F0E442", "#5f646b", "#a3a9b0"),
    Look(Verdict.TRUNCATED, "…", "cut off before an answer", "#E69F00", "#a05a00", "#e0a14a"),
    Look(Verdict.MALFORMED, "≁", "an answer in a form the task forbids", "#CC79A7", "#8a3ea8", "#c98be2"),
    Look(
        Verdict.UNMARKABLE,
        "?",
        "the gold cannot be read, or the marker ran out of time",
        "#56B4E9",
        "#4a5fb0",
        "#93a5ec",
    ),
    Look(Verdict.ERROR, "!", "the model never answered; missing, not wrong", "#8a8a8a", "#3c4046", "#c3c8cd"),
    Look("unmarked", "·", "no mark under this protocol", "#8a8a8a", "#6a7076", "#9299a0"),
)
LOOKS = {str(look.name): look for look in _TABLE}


def look(code: int) -> Look:
    """The look of a verdict by its code in the columns."""
    return LOOKS["unmarked" if code == UNMARKED else str(VERDICTS[code])]


def style_sheet() -> str:
    """The colours as the viewer's style sheet has them: a variable and a class a verdict."""
    day, night = (" ".join(f"--{each.name}: {getattr(each, time)};" for each in _TABLE) for time in ("day", "night"))
    classes = " ".join(f".v-{each.name} {{ --v: var(--{each.name}); }}" for each in _TABLE)
    return (
        f":root {{ {day} }}\n"
        f'@media (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {night} }} }}\n'
        f':root[data-theme="dark"] {{ {night} }}\n{classes}\n'
    )
