"""What is really sent: templates, few-shot examples, and the hash that pins them.

Examples come from a pool that is never the evaluated split, are drawn with a seed, and stand in the system message
in the order drawn. Placeholders are replaced, not formatted: statements are full of braces.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from markscheme.errors import UsageError
from markscheme.types import Message, Problem, Prompt

_PLACEHOLDER = re.compile(r"\{(statement|solution|gold)\}")


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """One way to put a problem to a model. `{statement}`, `{solution}` and `{gold}` stand for the problem's parts."""

    summary: str
    user: str
    system: str | None = None
    example: str | None = None
    """How one worked example reads; a template without it takes no few-shot examples."""


def draw_examples(pool: Sequence[Problem], count: int, seed: int, evaluated: Iterable[Problem]) -> list[Problem]:
    """`count` examples from the pool, the same for the same seed, and never a problem that is being evaluated."""
    asked = {problem.key for problem in evaluated}
    if count <= len(pool):
        drawn = random.Random(seed).sample(pool, count)
        if not any(problem.key in asked for problem in drawn):
            return drawn
    allowed = [problem for problem in pool if problem.key not in asked]
    if count > len(allowed):
        raise UsageError(f"--fewshot {count} is more than the {len(allowed)} examples of the pool; ask for fewer")
    return random.Random(seed).sample(allowed, count)


def build_prompt(template: Template, problem: Problem, examples: Sequence[Problem], seed: int | None) -> Prompt:
    """The messages for one problem."""
    return next(build_prompts(template, [problem], examples, seed))


def build_prompts(
    template: Template, problems: Iterable[Problem], examples: Sequence[Problem], seed: int | None
) -> Iterator[Prompt]:
    """The messages for each problem; the examples are written out once and shared."""
    system = template.system
    if examples:
        if template.example is None:
            raise UsageError("this prompt variant takes no few-shot examples; leave --fewshot out or choose another")
        shown = "\n\n".join(_fill(template.example, example) for example in examples)
        system = f"{system}\n\n{shown}" if system else shown
    before = (Message("system", system),) if system else ()
    ids = tuple(example.id for example in examples)
    for problem in problems:
        yield Prompt(
            messages=(*before, Message("user", _fill(template.user, problem))),
            fewshot_ids=ids,
            fewshot_seed=seed if examples else None,
        )


def prompts_sha256(prompts: Iterable[Prompt]) -> str:
    """One hash over every message of every prompt, in order: equal hashes mean the same questions in the same words."""
    digest = hashlib.sha256()
    for prompt in prompts:
        digest.update(msgspec.json.encode(prompt.messages) + b"\n")
    return digest.hexdigest()


def _fill(text: str, problem: Problem) -> str:
    parts = {"statement": problem.statement, "solution": problem.solution or "", "gold": str(problem.gold)}
    # One pass, so that a statement which itself contains "{gold}" is left as it is.
    return _PLACEHOLDER.sub(lambda match: parts[match[1]], text)
