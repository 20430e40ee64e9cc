"""`gsm8k-lm-eval-flexible`: lm-evaluation-harness' flexible-extract as it is, for comparison.

The last match of its pattern, which may be `$.` or `-5` out of `18-5`, compared as a string; `gsm8k-flexible` is the
same idea without those accidents.
"""

from __future__ import annotations

import re

from markscheme.marking.extraction.sections import ResponseSections
from markscheme.marking.protocol import Assessment
from markscheme.marking.protocols.gsm8k_lm_eval_strict import compared_as_strings
from markscheme.types import Gold, Verdict

_FLEXIBLE = re.compile(r"(-?[$0-9.,]{2,})|(-?[0-9]+)")


def judge(sections: ResponseSections, gold: Gold) -> Assessment:
    """The last match in the text after thinking."""
    last = None
    for last in _FLEXIBLE.finditer(sections.text, sections.start, sections.sequel_end):  # noqa: B007 - the last one is what is wanted
        pass
    if last is None:
        return Assessment(Verdict.NO_ANSWER, why="no match of a number")
    return compared_as_strings("the last match", last[0], last.span(), gold)
