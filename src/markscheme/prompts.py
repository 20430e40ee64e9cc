"""Prompts: templates, few-shot examples, and the hash that pins them.

Examples come from a pool that is never the evaluated split, drawn with a seed or fixed by the template. They are in the
system message, before the question, or chat turns. Placeholders are replaced, not formatted: statements are full of braces.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from markscheme.errors import UsageError, option
from markscheme.types import Message, Problem, Prompt

_PLACEHOLDER = re.compile(r"\{(statement|solution|gold|answer)\}")
_FIELD = re.compile(r"\{(\w+)\}")

Wording = str | dict[str, str]  # a text, or one per language (`en`, `de` …) of the problems' metadata


class Template(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a problem is put to a model.

    `{statement}` is the question; worked examples also have `{solution}`, `{gold}`, and `{answer}`: the solution, with the gold in
    a box after it if it has no box.
    """

    user: Wording
    summary: str = ""
    system: Wording | None = None
    example: Wording | None = None  # the text of one worked example, for `style` system and user
    # The assistant's message in a worked example, for `style` turns.
    reply: str = "{answer}"
    # Where worked examples go (default: in the system message if there is an `example`, else as turns).
    style: Literal["system", "user", "turns"] | None = None
    fewshot: int | None = None  # default number of worked examples (default: the benchmark's)
    # Fixed examples in this order, by id, key or hash; else they are drawn from the pool.
    examples: tuple[str, ...] = ()
    # User messages after the answers; `{statement}` and `{FIELD}` of the problem's metadata are filled in.
    then: tuple[str, ...] = ()
    # Default stop texts: the start of a next question by a base model.
    stop: tuple[str, ...] = ()

    @property
    def where(self) -> Literal["system", "user", "turns"]:
        return self.style or ("turns" if self.example is None else "system")


def check_template(template: Template) -> None:
    """Raise `ValueError` for a template that asks nothing or gives the answer away."""
    wordings = [*template.user.values()] if isinstance(template.user, dict) else [template.user]
    if any("{statement}" not in text for text in wordings):
        raise ValueError("`user` has no {statement}, so nothing would be asked")
    for name, text in [*(("user", text) for text in wordings), *(("then", text) for text in template.then)]:
        if placeholder := _PLACEHOLDER.search(text.replace("{statement}", "")):
            raise ValueError(f"`{name}` has {placeholder[0]}, which would give the answer away")
    if template.example is None and template.where != "turns":
        raise ValueError(f"examples in the {template.where} message need `example`: how one of them reads")


def custom_template(user: str) -> Template:
    """Return the template of a user's text."""
    return _checked(Template(summary="given by the user", user=user), "this prompt")


def further_turns(template: Template, then: tuple[str, ...]) -> Template:
    """Return the template with other user messages after the answer."""
    return _checked(msgspec.structs.replace(template, then=then), option("then"))


def _checked(template: Template, what: str) -> Template:
    try:
        check_template(template)
    except ValueError as problem:
        raise UsageError(f"{what} cannot be used: {problem}") from None
    return template


def draw_examples(pool: Sequence[Problem], count: int, seed: int, evaluated: Iterable[Problem]) -> list[Problem]:
    """Return `count` examples from the pool, the same for the same seed, and never an evaluated problem."""
    asked = {problem.key for problem in evaluated}
    if count <= len(pool):
        drawn = random.Random(seed).sample(pool, count)
        if not any(problem.key in asked for problem in drawn):
            return drawn
    allowed = [problem for problem in pool if problem.key not in asked]
    if count > len(allowed):
        raise UsageError(
            f"{option('fewshot')} {count} is more than the {len(allowed)} examples of the pool; ask for fewer"
        )
    return random.Random(seed).sample(allowed, count)


def fixed_examples(pool: Sequence[Problem], names: Sequence[str], count: int) -> list[Problem]:
    """Return the first `count` examples that a template names by id or key."""
    if count > len(names):
        raise UsageError(f"{option('fewshot')} {count} is more than the {len(names)} examples that this prompt fixes")
    wanted = set(names)
    named = {name: problem for problem in pool for name in _names(problem) if name in wanted}
    if missing := [name for name in names[:count] if name not in named]:
        raise UsageError(
            f"the few-shot pool has no problem {missing[0]}, which this prompt shows; is it another split?"
        )
    return [named[name] for name in names[:count]]


def _names(problem: Problem) -> tuple[str, str, str]:
    """Return the names of an example: its id, its key, and a hash of its letters and digits, which spacing does not change."""
    letters = "".join(character for character in problem.statement.lower() if character.isalnum())
    return problem.id, problem.key, hashlib.sha256(letters.encode()).hexdigest()[:16]


def build_prompt(template: Template, problem: Problem, examples: Sequence[Problem], seed: int | None) -> Prompt:
    return next(build_prompts(template, [problem], examples, seed))


def build_prompts(
    template: Template, problems: Iterable[Problem], examples: Sequence[Problem], seed: int | None
) -> Iterator[Prompt]:
    """Yield the messages for each problem; examples are formatted once per language."""
    ids = tuple(example.id for example in examples)
    drawn = seed if examples and not template.examples else None
    written: dict[str, tuple[str, tuple[Message, ...], str]] = {}
    for problem in problems:
        language = str(problem.metadata.get("language", ""))
        if language not in written:
            written[language] = (_worded(template.user, language), *_before(template, examples, language))
        user, messages, prefix = written[language]
        last = Message("user", prefix + _fill(user, problem))
        then = tuple(_said_next(text, problem) for text in template.then)
        yield Prompt(messages=(*messages, last), fewshot_ids=ids, fewshot_seed=drawn, then=then)


def _before(template: Template, examples: Sequence[Problem], language: str) -> tuple[tuple[Message, ...], str]:
    """Return the messages before the question, and the text before it in its own message."""
    system = _worded(template.system, language) if template.system is not None else ""
    turns: list[Message] = []
    shown = ""
    if template.where == "turns":
        for example in examples:
            turns.append(Message("user", _fill(_worded(template.user, language), example)))
            turns.append(Message("assistant", _fill(template.reply, example)))
    elif examples and template.example is not None:
        form = _worded(template.example, language)
        shown = "\n\n".join(_fill(form, example) for example in examples)
        if template.where == "system":
            system, shown = f"{system}\n\n{shown}" if system else shown, ""
    first = (Message("system", system),) if system else ()
    return (*first, *turns), f"{shown}\n\n" if shown else ""


def prompts_sha256(prompts: Iterable[Prompt]) -> str:
    """Return one hash over all messages in order: equal hashes mean the same questions in the same words."""
    digest = hashlib.sha256()
    for prompt in prompts:
        asked = (prompt.messages, prompt.then) if prompt.then else prompt.messages
        digest.update(msgspec.json.encode(asked) + b"\n")
    return digest.hexdigest()


def _worded(wording: Wording, language: str) -> str:
    if isinstance(wording, str):
        return wording
    if language not in wording:
        raise UsageError(f"this prompt has no wording for the language {language!r}; it has {', '.join(wording)}")
    return wording[language]


def _said_next(text: str, problem: Problem) -> str:
    known = {**problem.metadata, "statement": problem.statement}
    return _FIELD.sub(lambda match: str(known.get(match[1], match[0])), text)


def _fill(text: str, problem: Problem) -> str:
    parts = {"statement": problem.statement, "solution": problem.solution or "", "gold": str(problem.gold)}
    box = f"\\boxed{{{problem.gold}}}"
    parts["answer"] = parts["solution"] if "\\boxed" in parts["solution"] else f"{parts['solution']}\n\n{box}".strip()
    # One pass, so that a "{gold}" in the statement is kept.
    return _PLACEHOLDER.sub(lambda match: parts[match[1]], text)
