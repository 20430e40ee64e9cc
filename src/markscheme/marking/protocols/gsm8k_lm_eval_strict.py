"""`gsm8k-lm-eval-strict`: lm-evaluation-harness' strict-match as it is, for comparison; the *first* `#### N` counts.

Pattern and comparison are those of its task `gsm8k`, version 3: a string comparison after `,`, `$` and a final point
are removed, so that `#### 18.0` and `####18` are wrong.
"""

from __future__ import annotations

import re

from markscheme.marking.extraction.sections import ResponseSections
from markscheme.marking.protocol import Assessment
from markscheme.types import Gold, Verdict

_STRICT = re.compile(r"#### (\-?[0-9\.\,]+)")


def judge(sections: ResponseSections, gold: Gold) -> Assessment:
    """The first match in the text after thinking."""
    text = sections.text
    # The harness never sees an invented next question cut off, so neither does this: only thinking is set apart.
    found = _STRICT.search(text, sections.start, sections.sequel_end)
    if found is None:
        return Assessment(Verdict.NO_ANSWER, why="no match of '#### N'")
    return compared_as_strings("the first match", found[1], found.span(1), gold)


def compared_as_strings(which: str, answer: str, span: tuple[int, int], gold: Gold) -> Assessment:
    """The harness' exact_match with the regular expressions this task ignores."""
    right = str(gold)
    right = right[right.rfind("#### ") + 5 :] if "#### " in right else right
    same = _bare(answer) == _bare(right)
    verdict, relation = (Verdict.CORRECT, "is") if same else (Verdict.WRONG, "is not the string")
    return Assessment(verdict, answer, f"{which}, {answer[:40]!r}, {relation} {right[:40]!r}", span)


def _bare(text: str) -> str:
    text = text.replace(",", "").replace("$", "").lower()
    return text[:-1] if text.endswith(".") else text
