"""`judge-reply`: the verdict in a judge model's reply. `correct` means "the answer is the gold", `wrong` that it is
not.

The question's choices hold the words for right, wrong and optionally undecided; ` | ` separates synonyms. A bare word
must be the entire reply; an explicit form such as `VERDICT: RIGHT` may also be the last line. Any other reply, or two
different verdicts, counts as no verdict.
"""

from __future__ import annotations

from markscheme.marking.protocol import Assessment
from markscheme.marking.reading.sections import ResponseSections
from markscheme.types import Gold, Verdict

# Markdown and full stops around a word do not matter; xVerify's model may keep its brackets.
_DECORATION = " \t*_`\"'.[]"


def judge(sections: ResponseSections, _gold: Gold) -> Assessment:
    """Read the judge's verdict. The gold is not used, as the judge already compared with it."""
    reply = sections.text[sections.start : sections.sequel_end]
    lines = [line.strip(_DECORATION).casefold() for line in reply.splitlines() if line.strip(_DECORATION)]
    words = [[word.casefold() for word in choice.split(" | ")] for choice in sections.choices]
    said = [(number, word) for line in lines for number, known in enumerate(words) for word in known if line == word]
    if not lines or sections.cut_off or not any(word == lines[-1] for _, word in said):
        return Assessment(Verdict.NO_ANSWER, why="no verdict in the words that were asked for")
    number, word = said[-1]
    if len(lines) > 1 and ":" not in word:
        return Assessment(Verdict.NO_ANSWER, why=f"{word!r} is not the entire reply")
    if any(other != number for other, _ in said):
        return Assessment(Verdict.NO_ANSWER, why="two different verdicts")
    if number > 1:
        return Assessment(Verdict.NO_ANSWER, word, "undecided, says the judge")
    return Assessment((Verdict.CORRECT, Verdict.WRONG)[number], word, f"the judge says {word!r}")
