"""Score completions against golds, for every trainer. Never raises on bad input.

A call that cannot be valid (a missing column, lists of different lengths) is reported once on standard error; its
completions score 0 and their outcomes give the reason.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from markscheme.errors import MarkschemeError, UsageError, first_line
from markscheme.marking.marker import FAILED, Job, as_gold, judge_many
from markscheme.marking.protocol import Protocol, get_protocol
from markscheme.marking.protocols.math import gold_answer
from markscheme.marking.reading.sections import THINK_END, read
from markscheme.rewards.strict import in_form, level_of, refusal
from markscheme.types import Mark, Problem, Response, Verdict

_NO_SCORE = (Verdict.ERROR, Verdict.UNMARKABLE)


class Outcome(NamedTuple):
    """A reward with the details that a trainer may log or use for shaping."""

    score: float | None  # None: cannot be scored
    verdict: str
    answer: str = ""
    truncated: bool = False
    form: bool = False  # an answer is given in the requested form
    refused: str = ""  # why a strict level refuses a correct response
    why: str = ""

    def extras(self) -> dict[str, Any]:
        """Return numbers and texts of fixed types, as trainers collect them in columns."""
        return {
            "verdict": self.verdict,
            "answer": self.answer,
            "truncated": float(self.truncated),
            "format": float(self.form),
            "refused": self.refused,
            "why": self.why,
        }


class Options(NamedTuple):
    """How completions are rewarded."""

    format_score: float = 0.0  # for a wrong answer
    strict: str | bool | None = None  # a level of `strict.LEVELS`
    form: str | None = None  # one of `strict.FORMS`, if the prompt does not name it
    think_end: str = THINK_END


def score(completion: Any, gold: Any, protocol: Any = None, **options: Any) -> float | None:
    """Return 1.0 if right, `format_score` for a wrong answer, else 0.0; `None` if it cannot be scored."""
    return outcomes([completion], [gold], protocol, workers=1, **options)[0].score


def score_batch(
    completions: Sequence[Any], golds: Sequence[Any], protocol: Any = None, **options: Any
) -> list[float | None]:
    """Score many completions at once. Computer algebra runs in parallel in the worker processes."""
    return [each.score for each in outcomes(completions, golds, protocol, **options)]


def outcomes(
    completions: Sequence[Any],
    golds: Sequence[Any],
    protocol: Any = None,
    *,
    statements: Sequence[str] | None = None,
    finish: Sequence[str | None] | None = None,
    workers: int | None = None,
    **options: Any,
) -> list[Outcome]:
    """Return an outcome for each completion, in order.

    `protocol` is one for all or one for each, by name or as an object; the default is `math`, or `countdown` for a
    puzzle. If a gold is a list, any of its members is right. `statements` let a strict level see the question, `finish`
    are finish reasons (`length` means truncated).
    """
    try:
        chosen = Options(**options)
        level = level_of(chosen.strict)
        for name in ("form", "think_end"):
            if not isinstance(getattr(chosen, name), str | None):
                raise UsageError(f"{name} is a text, not {type(getattr(chosen, name)).__name__}")
        count = len(completions)
        protocols = list(protocol) if isinstance(protocol, list | tuple) else list(repeat(protocol, count))
        asked = (
            [each if isinstance(each, str) else "" for each in statements] if statements is not None else [""] * count
        )
        ends = list(finish) if finish is not None else [None] * count
        if not count == len(golds) == len(protocols) == len(asked) == len(ends):
            raise UsageError(f"{count} completions need as many golds, protocols and prompts, not {len(golds)}")
    except (MarkschemeError, TypeError) as error:
        return [_wrong_call(first_line(error)) for _ in completions]
    found: list[Outcome | None] = [None] * count
    jobs: list[Job] = []
    places: list[int] = []
    for at, (gold, name) in enumerate(zip(golds, protocols, strict=True)):
        try:
            for one in _alternatives(gold):
                rule = get_protocol(name or default_protocol(one))
                right = as_gold(one, rule)
                text = text_of(completions[at])
                response = text if ends[at] is None else Response(key="-", sample=0, text=text, finish_reason=ends[at])  # type: ignore[arg-type]
                problem = Problem(id="", statement=asked[at], gold=right, key="-") if asked[at] else None
                jobs.append((rule, response, right, chosen.think_end, problem))
                places.append(at)
        except Exception as error:  # noqa: BLE001 - a trainer's own classes may raise anything
            found[at] = _wrong_call(first_line(error))
    try:
        marks = list(judge_many(jobs, workers))
    except MarkschemeError as error:  # the protocol cannot be used at all
        return [_wrong_call(first_line(error)) for _ in completions]
    for at, job, mark in zip(places, jobs, marks, strict=True):
        before = found[at]
        if before is None or (before.score or 0.0) < 1.0:
            found[at] = max(before or _NOTHING, _outcome(job, mark, chosen, level), key=_worth)
    return [each or _NOTHING for each in found]


_NOTHING = Outcome(None, str(Verdict.UNMARKABLE), why="the gold answer is missing")


def _worth(outcome: Outcome) -> float:
    return -1.0 if outcome.score is None else outcome.score


def _alternatives(gold: Any) -> Sequence[Any]:
    """Return the golds of a row: none, one, or those of a list. A list of a puzzle's numbers is not one."""
    if gold is None:
        return ()
    if hasattr(gold, "tolist") and hasattr(gold, "dtype"):  # a NumPy value from a Parquet file
        gold = gold.tolist()
    return [each for each in gold if each is not None] if isinstance(gold, list | tuple | set) else [gold]


def _outcome(job: Job, mark: Mark, options: Options, level: str | None) -> Outcome:
    rule, response, gold, think_end, problem = job
    text = response if isinstance(response, str) else response.text
    cut_off = not isinstance(response, str) and response.finish_reason == "length"
    refused, form = "", mark.verdict in (Verdict.CORRECT, Verdict.WRONG)
    if level is not None:
        sections = read(text, think_end=think_end, cut_off=cut_off, problem=problem)
        form = in_form(sections, options.form)
        if mark.correct:
            right = gold_answer(gold) if isinstance(gold, str) else ""
            kind = rule.asks(gold) if rule.asks is not None else None
            refused = refusal(level, mark, sections, right, kind, options.form)
    said = mark.flags and FAILED in mark.flags
    if said:
        _tell(mark.why)
    return Outcome(
        0.0 if refused or said else reward_of(mark, options.format_score),
        str(mark.verdict),
        mark.answer or "",
        cut_off or mark.verdict is Verdict.TRUNCATED or refused == "cut off",
        form,
        refused,
        mark.why,
    )


def reward_of(mark: Mark, format_score: float = 0.0) -> float | None:
    """Return the reward of a mark. A wrong or malformed answer still earns the format score."""
    if mark.verdict in _NO_SCORE:
        return None
    if mark.correct:
        return 1.0
    return format_score if mark.verdict in (Verdict.WRONG, Verdict.MALFORMED) else 0.0


_told: set[str] = set()


def _tell(reason: str) -> None:
    """Report a reason once per process; a trainer would repeat it for every completion."""
    if reason not in _told and len(_told) < 100:
        _told.add(reason)
        print(f"markscheme: reward: {reason}", file=sys.stderr, flush=True)


def _wrong_call(reason: str) -> Outcome:
    _tell(reason)
    return Outcome(0.0, str(Verdict.UNMARKABLE), why=reason)


def wrong_calls(count: int, reason: str) -> list[Outcome]:
    """Return the outcomes of a call that cannot be scored."""
    return [_wrong_call(reason) for _ in range(count)]


def default_protocol(gold: Any) -> str:
    return "countdown" if isinstance(gold, Mapping) or hasattr(gold, "target") else "math"


def usable(protocol: Any) -> Protocol | None:
    """Return the protocol, checked when a reward is created, before the first rollout."""
    return None if protocol is None else get_protocol(protocol)


def text_of(completion: Any) -> str:
    """Return the text of a completion: a string, or the last message with text of a conversation."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Mapping):
        return _content(completion)
    if isinstance(completion, Iterable):
        messages = [message for message in map(_as_mapping, completion) if message is not None]
        spoken = [message for message in messages if message.get("role", "assistant") == "assistant"]
        return next((text for message in reversed(spoken) if (text := _content(message))), "")
    return ""


def statement_of(prompt: Any) -> str:
    """Return the question of a prompt: a string, or the last user message of a conversation."""
    if isinstance(prompt, Iterable) and not isinstance(prompt, str | Mapping):
        asked = [message for message in map(_as_mapping, prompt) if message and message.get("role") == "user"]
        return _content(asked[-1]) if asked else ""
    return text_of(prompt)


def _as_mapping(message: Any) -> Mapping[str, Any] | None:
    if hasattr(message, "model_dump"):  # a pydantic message, as in verifiers
        message = message.model_dump()
    return message if isinstance(message, Mapping) else None


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, Iterable):  # content parts: [{"type": "text", "text": "…"}, …]
        parts = (part.get("text") for part in content if isinstance(part, Mapping))
        return "".join(part for part in parts if isinstance(part, str))
    return ""
