"""The protocols as reward functions for reinforcement learning: the same marker in training as in evaluation.

TRL: `reward` (the protocol from the data), `reward_for("gsm8k-numeric")`, or an attribute such as
`rewards.gsm8k_numeric`. verl: `compute_score` and `compute_score_batch`. Anything else: `score` and `score_batch`.
No state, no signals, no main thread needed: safe in thread executors and in asyncio's. Never raises on a completion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markscheme.errors import UsageError
from markscheme.marking.marker import as_gold, judge_many
from markscheme.marking.protocol import get_protocol, protocol_names
from markscheme.marking.reading.sections import THINK_END
from markscheme.types import Mark, Verdict

# The data set columns in which the right answer is looked for, in this order; Countdown also has `nums`, `target`.
GOLD_COLUMNS = ("gold", "ground_truth", "answer", "solution")

_NO_SCORE = (Verdict.ERROR, Verdict.UNMARKABLE)


def score(completion: Any, gold: Any, protocol: str | None = None, *, format_score: float = 0.0) -> float | None:
    """1.0 if right, `format_score` if an answer was given but is not right, else 0.0; `None` if it cannot be scored."""
    return score_batch([completion], [gold], protocol, format_score=format_score, workers=1)[0]


def score_batch(
    completions: Sequence[Any],
    golds: Sequence[Any],
    protocol: str | Sequence[str] | None = None,
    *,
    format_score: float = 0.0,
    think_end: str = THINK_END,
    workers: int | None = None,
) -> list[float | None]:
    """Score many at once. Answers that need computer algebra are worked on side by side, in the worker processes."""
    names = [protocol] * len(completions) if protocol is None or isinstance(protocol, str) else list(protocol)
    if not len(completions) == len(golds) == len(names):
        raise UsageError(f"{len(completions)} completions need as many golds and protocols, not {len(golds)}.")
    scores: list[float | None] = [None] * len(completions)
    scorable = []
    for index, (gold, name) in enumerate(zip(golds, names, strict=True)):
        if gold is not None:
            rule = get_protocol(name or _default_protocol(gold))
            scorable.append((index, rule, as_gold(gold, rule)))
    jobs = ((rule, text_of(completions[index]), gold, think_end, None) for index, rule, gold in scorable)
    for (index, _, _), mark in zip(scorable, judge_many(jobs, workers), strict=True):
        scores[index] = reward_of(mark, format_score)
    return scores


def reward_of(mark: Mark, format_score: float = 0.0) -> float | None:
    """The reward a mark is worth. A wrong or malformed answer is an answer: it earns the format score."""
    if mark.verdict in _NO_SCORE:
        return None
    if mark.correct:
        return 1.0
    return format_score if mark.verdict in (Verdict.WRONG, Verdict.MALFORMED) else 0.0


def text_of(completion: Any) -> str:
    """The text of a completion: a string, or the last message with text of a conversation."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Mapping):
        return _content(completion)
    if isinstance(completion, Iterable):
        messages = [message for message in completion if isinstance(message, Mapping)]
        spoken = [message for message in messages if message.get("role", "assistant") == "assistant"]
        return next((text for message in reversed(spoken) if (text := _content(message))), "")
    return ""


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, Iterable):  # content parts: [{"type": "text", "text": "…"}, …]
        parts = (part.get("text") for part in content if isinstance(part, Mapping))
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def _default_protocol(gold: Any) -> str:
    return "math" if isinstance(gold, str | int | float) else "countdown"


# ---- TRL --------------------------------------------------------------------------------------------------------


class Reward:
    """A reward function for TRL's trainers; `reward_for` makes it. A class, so that it has a name and can be pickled."""

    def __init__(
        self, protocol: str | None, gold_column: str | None, format_score: float, think_end: str, name: str
    ) -> None:
        if protocol is not None:
            get_protocol(protocol)  # a misspelt name is told now, not after the first rollout
        self.protocol, self.gold_column = protocol, gold_column
        self.format_score, self.think_end = format_score, think_end
        self.__name__ = name

    def __call__(
        self,
        prompts: Sequence[Any] | None = None,  # noqa: ARG002 - TRL's signature
        completions: Sequence[Any] = (),
        completion_ids: Sequence[Any] | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> list[float | None]:
        """One reward a completion, `None` where there is nothing to score against."""
        protocol = self.protocol or kwargs.get("protocol")
        golds = _golds(kwargs, self.gold_column, len(completions))
        return score_batch(
            completions, golds, protocol, format_score=self.format_score, think_end=self.think_end, workers=None
        )

    def __repr__(self) -> str:
        return f"<markscheme reward {self.__name__}>"


def reward_for(
    protocol: str | None = None,
    *,
    gold_column: str | None = None,
    format_score: float = 0.0,
    think_end: str = THINK_END,
) -> Reward:
    """A TRL reward function for a protocol; without one, the data's column `protocol` names it for each row.

    `gold_column` is the data set column with the right answer (default: the first of `GOLD_COLUMNS` there is).
    `format_score` is the reward of an answer that is not right: TinyZero gives 0.1 for Countdown.
    """
    name = (protocol or "reward").replace("-", "_").partition("@")[0]
    return Reward(protocol, gold_column, format_score, think_end, name)


def reward(
    prompts: Sequence[Any], completions: Sequence[Any], completion_ids: Sequence[Any] | None = None, **kwargs: Any
) -> list[float | None]:
    """TRL's signature as it stands; the data has the gold and may have a column `protocol`."""
    return _REWARD(prompts, completions, completion_ids, **kwargs)


def _golds(columns: Mapping[str, Any], named: str | None, count: int) -> Sequence[Any]:
    if named is not None:
        if columns.get(named) is None:
            raise UsageError(f"the data has no column {named!r} to score against.")
        return list(columns[named])
    if columns.get("nums") is not None and columns.get("target") is not None:
        pairs = zip(columns["nums"], columns["target"], strict=True)
        return [None if nums is None else {"nums": nums, "target": target} for nums, target in pairs]
    for column in GOLD_COLUMNS:
        if columns.get(column) is not None:
            return list(columns[column])
    if not count:
        return []
    raise UsageError(f"the data has none of the columns {', '.join(GOLD_COLUMNS)}; name yours with gold_column=….")


_REWARD = reward_for()


def __getattr__(name: str) -> Any:
    """`rewards.gsm8k_numeric` is the TRL reward function of the protocol `gsm8k-numeric`."""
    protocol = name.replace("_", "-")
    if name.startswith("_") or protocol not in protocol_names():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return reward_for(protocol)


# ---- verl -------------------------------------------------------------------------------------------------------

# Which protocol a verl `data_source` is judged by, when none is named; `aime…` is `aime`, anything else `math`.
DATA_SOURCES = {
    "openai/gsm8k": "gsm8k-numeric",
    "countdown": "countdown",
    "Jiayi-Pan/Countdown-Tasks-3to4": "countdown",
}


def compute_score(
    data_source: str | None,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> float:
    """verl's custom reward function. `protocol` and `format_score` come from `reward_kwargs` or from `extra_info`.

    verl needs a number: what cannot be scored is 0.0.
    """
    scores = compute_score_batch([data_source], [solution_str], [ground_truth], [extra_info], **kwargs)
    return scores[0]


def compute_score_batch(
    data_sources: Sequence[str | None],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
    **kwargs: Any,
) -> list[float]:
    """verl's batch reward function (reward manager `batch`): one call for the whole batch, side by side."""
    extras = [None] * len(solution_strs) if extra_infos is None else list(extra_infos)
    protocols = [
        kwargs.get("protocol") or (extra or {}).get("protocol") or _of_source(source, gold)
        for source, gold, extra in zip(data_sources, ground_truths, extras, strict=True)
    ]
    scores = score_batch(
        list(solution_strs),
        list(ground_truths),
        protocols,
        format_score=kwargs.get("format_score", 0.0),
        think_end=kwargs.get("think_end", THINK_END),
    )
    return [0.0 if each is None else each for each in scores]


def _of_source(source: str | None, gold: Any) -> str:
    if source in DATA_SOURCES:
        return DATA_SOURCES[source]
    if source and "aime" in source.lower():
        return "aime"
    return "math" if gold is None else _default_protocol(gold)
