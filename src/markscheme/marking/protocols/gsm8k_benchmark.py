"""`gsm8k-benchmark`: `GSM8KBenchmark` as it was published, for comparison: what stands behind the first `####`, as a string.

Digits, points and minus signs only, of the gold too: `1,010` is read as `1`, `$18` is nothing, `18.0` is not `18`.
"""

from __future__ import annotations

import re

from markscheme.marking.extraction.sections import ResponseSections
from markscheme.marking.protocol import Assessment
from markscheme.types import Gold, Verdict

_FIRST = re.compile(r"####\s*+([\d.\-]++)")


def judge(sections: ResponseSections, gold: Gold) -> Assessment:
    """The whole output is searched, thinking included; a gold without `####` is the number itself."""
    wanted = _FIRST.search(text if "####" in (text := str(gold)) else f"#### {text}")
    stated = _FIRST.search(sections.text)
    if stated is None:
        return Assessment(Verdict.NO_ANSWER, why="no #### <number>")
    right = wanted[1] if wanted else None
    verdict, relation = (Verdict.CORRECT, "is") if stated[1] == right else (Verdict.WRONG, "is not the string")
    return Assessment(verdict, stated[1], f"{stated[1][:40]} {relation} {right}", stated.span(1))
