"""How verdicts are shown: a symbol, a word, a meaning, and colours that are never the only cue.

Plots use Okabe and Ito's colour-blind safe palette. The viewer's text colours have a contrast of at least 4.5:1 in
light and dark mode.
"""

from __future__ import annotations

from typing import NamedTuple

from markscheme.runs.columns import UNMARKED, VERDICTS
from markscheme.types import Verdict


class Look(NamedTuple):
    """How one verdict is shown."""

    name: str
    symbol: str
    meaning: str
    plot: str  # colour in a plot
    day: str  # colour in the viewer in light mode
    night: str

    @property
    def word(self) -> str:
        """The name in words."""
        return "not marked" if self.name == "unmarked" else self.name.replace("_", " ")


_TABLE = (
    Look(Verdict.CORRECT, "✓", "earns the mark", "#009E73", "#17734d", "#57c08d"),
    Look(Verdict.WRONG, "✗", "an answer other than the gold", "#D55E00", "#bd2c2c", "#f07f78"),
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
    Look(Verdict.ERROR, "!", "the model did not answer; missing, not wrong", "#8a8a8a", "#3c4046", "#c3c8cd"),
    Look("unmarked", "·", "no mark under this protocol", "#8a8a8a", "#6a7076", "#9299a0"),
)
LOOKS = {str(look.name): look for look in _TABLE}


def look(code: int) -> Look:
    """Return how a verdict is shown, by its code in the columns."""
    return LOOKS["unmarked" if code == UNMARKED else str(VERDICTS[code])]


def style_sheet() -> str:
    """Return the viewer's style sheet of colours: a variable and a class per verdict."""
    day, night = (" ".join(f"--{each.name}: {getattr(each, time)};" for each in _TABLE) for time in ("day", "night"))
    classes = " ".join(f".v-{each.name} {{ --v: var(--{each.name}); }}" for each in _TABLE)
    return (
        f":root {{ {day} }}\n"
        f'@media (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {night} }} }}\n'
        f':root[data-theme="dark"] {{ {night} }}\n{classes}\n'
    )
