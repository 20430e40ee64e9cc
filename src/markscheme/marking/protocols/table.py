"""The table of built-in protocols. The files in this folder contain the rules; their names and versions are here.

A version goes up whenever any response would be judged differently. The judging code is imported on first use, because
mathematical equality takes longer to import than `markscheme list` to run.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from markscheme.marking.protocol import Assessment, Judge, Protocol
from markscheme.marking.reading.sections import ResponseSections
from markscheme.types import Gold

if TYPE_CHECKING:
    from markscheme.marking.reading.values import Kind


def _in_file(name: str, function: str = "judge") -> Judge:
    """Return a function of a file in this folder, imported on the first call."""

    @cache
    def loaded() -> Judge:
        found: Judge = getattr(import_module(f"markscheme.marking.protocols.{name}"), function)
        return found

    def judge(sections: ResponseSections, gold: Gold) -> Assessment:
        return loaded()(sections, gold)

    return judge


def _a_number(_: Gold) -> Kind:
    from markscheme.marking.reading.values import VALUE

    return VALUE


def _as_the_gold(gold: Gold) -> Kind:
    from markscheme.marking.protocols.math import asked

    return asked(str(gold)).kind


PROTOCOLS: Final = (
    Protocol("countdown", "6", "every number once, + - * / and parentheses, exactly the target", "countdown", _in_file("countdown")),
    Protocol("gsm8k-strict", "6", "the number after the last ####, else the entire output", "number", _in_file("numeric", "strict")),
    Protocol("gsm8k-numeric", "9", "the ANSWER: line as a number, with the usual fallbacks", "number",
             _in_file("numeric", "numeric"), asks=_a_number),
    Protocol("gsm8k-flexible", "5", "the last number in the response", "number", _in_file("numeric", "flexible")),
    Protocol("gsm8k-lm-eval-strict", "4", "lm-evaluation-harness' strict-match, unchanged: the first #### N", "number",
             _in_file("published", "lm_eval_strict")),
    Protocol("gsm8k-lm-eval-flexible", "4", "lm-evaluation-harness' flexible-extract, unchanged: the last match", "number",
             _in_file("published", "lm_eval_flexible")),
    Protocol("gsm8k-benchmark", "4", "GSM8KBenchmark as documented: the first #### N as a string, else the entire output", "number",
             _in_file("published", "gsm8k_benchmark")),
    Protocol("boxed-exact", "4", "the last \\boxed{} is exactly the gold integer", "number", _in_file("published", "boxed_exact")),
    Protocol("aime", "9", "the integer from 0 to 999 that is boxed or clearly stated", "number", _in_file("numeric", "aime"), asks=_a_number),
    Protocol("nanochat-aime", "3", "nanochat's AIME tasks as published: the last \\boxed{…} as a string", "number",
             _in_file("published", "nanochat_aime")),
    Protocol("normalized", "4", "the last box, LaTeX markers and spaces removed, equal strings", "text", _in_file("normalized")),
    Protocol("math", "9", "mathematical equality with the final answer", "text", _in_file("math"), slow=True, asks=_as_the_gold),
    Protocol("math-verify", "4", "Math-Verify unchanged, for comparison", "text", _in_file("math_verify"), slow=True,
             needs="math_verify"),
    Protocol("judge-reply", "1", "what a judge says, in just the words it was asked for", "opinion", _in_file("judge_reply")),
)  # fmt: skip
