"""`math-verify`: Hugging Face's Math-Verify unchanged, for comparison. Needs the extra `math-verify`.

It enforces time limits with signals, which only work in a main thread, and loads sympy; so it runs in a worker process,
with our time limit as well as its own of five seconds. It sees the response after thinking.
"""

from __future__ import annotations

from typing import Any

from markscheme.errors import UsageError
from markscheme.marking.protocol import Assessment, get_protocol
from markscheme.marking.reading.sections import ResponseSections
from markscheme.types import Gold, Verdict

TIME_LIMIT = 30.0  # Seconds. Its own limits apply to each parse and comparison, this one to all of them together.
MAX_LENGTH = 200_000  # only the end of a longer response is passed: the library's patterns take a minute on a megabyte


def judge(sections: ResponseSections, gold: Gold) -> Assessment:
    """Return the library's verdict on the text, and the answer it used."""
    from markscheme.marking.sandbox import default_pool

    if not get_protocol("math-verify").available():
        raise UsageError("protocol 'math-verify' needs the library: pip install 'markscheme[math-verify]'.")
    text = sections.final[-MAX_LENGTH:]
    outcome = default_pool().run(f"{__name__}:ask", [text, str(gold)], time_limit=TIME_LIMIT)
    if outcome.status != "done":
        return Assessment(Verdict.UNMARKABLE, "", f"Math-Verify: {outcome.why}", (sections.start, sections.end))
    right, answer, gold_read = outcome.value
    span = (sections.start, sections.end)
    if not gold_read:
        return Assessment(Verdict.UNMARKABLE, answer, "Math-Verify cannot read the gold", span)
    if not answer:
        return Assessment(Verdict.NO_ANSWER, why="Math-Verify finds no answer")
    return Assessment.of(right, answer, str(gold)[:60], span, shown=f"Math-Verify: {answer[:60]}")


def ask(text: str, gold: str) -> list[Any]:
    """Run the library in the worker: return whether the answer is right, how it shows it, and whether it parsed the
    gold.
    """
    from math_verify import parse, verify

    # A bare gold needs dollars to be parsed as LaTeX.
    wanted = parse(gold if "$" in gold or "\\boxed" in gold else f"${gold}$")
    found = parse(text)
    return [bool(wanted) and bool(verify(wanted, found)), str(found[-1]) if found else "", bool(wanted)]
