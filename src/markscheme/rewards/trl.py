"""Reward functions with the signature that TRL's trainers call: `reward(prompts, completions, completion_ids,
**columns)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markscheme.errors import UsageError
from markscheme.rewards.scoring import Outcome, outcomes, statement_of, usable, wrong_calls
from markscheme.rewards.strict import level_of

# The data set columns searched for the right answer, in this order; Countdown also has `nums`, `target`.
GOLD_COLUMNS = ("gold", "ground_truth", "answer", "solution")


class Reward:
    """A reward function, made by `reward_for`. It is a class, so that it has a name and can be pickled."""

    def __init__(self, protocol: Any, gold_column: str | None, name: str, judge: Any = None, **options: Any) -> None:
        usable(protocol)  # report a misspelt name now, not after the first rollout
        level_of(options.get("strict"))
        self.protocol, self.gold_column, self.judge, self.options = protocol, gold_column, judge, options
        self.__name__ = name

    def __call__(
        self,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] = (),
        completion_ids: Sequence[Any] | None = None,  # noqa: ARG002 - TRL's signature
        **kwargs: Any,
    ) -> list[float | None]:
        """Return a reward for each completion, `None` without a gold to score against.

        Verdicts, answers and shares go to TRL's completions table and metrics.
        """
        found = self.outcomes(prompts, completions, **kwargs)
        _log(self.__name__, found, kwargs.get("log_extra"), kwargs.get("log_metric"))
        return [each.score for each in found]

    def outcomes(self, prompts: Sequence[Any] | None, completions: Sequence[Any], **columns: Any) -> list[Outcome]:
        """Return the same with the details of each completion."""
        try:
            golds = _golds(columns, self.gold_column, len(completions))
        except (UsageError, TypeError, ValueError) as error:
            return wrong_calls(len(completions), str(error))
        asked = [statement_of(each) for each in prompts] if prompts and self.options.get("strict") else None
        protocol = self.protocol or columns.get("protocol")
        found = outcomes(completions, golds, protocol, statements=asked, **self.options)
        return found if self.judge is None else self.judge.settle(found, completions, golds, asked)

    def __repr__(self) -> str:
        return f"<markscheme reward {self.__name__}>"


def reward_for(
    protocol: Any = None,
    *,
    gold_column: str | None = None,
    format_score: float = 0.0,
    strict: str | bool | None = None,
    judge: Any = None,
    **options: Any,
) -> Reward:
    """Return a TRL reward function for a protocol; without one, the data's column `protocol` names it for each row.

    `gold_column` is the data set column with the right answer (default: the first existing one of `GOLD_COLUMNS`).
    `format_score` is the reward of a wrong answer: TinyZero gives 0.1 for Countdown. `strict` refuses tricks that an
    evaluation forgives: `"tricks"`, `"complete"`, `"form"`. `judge` settles what the marker leaves open.
    """
    label = protocol if isinstance(protocol, str) else getattr(protocol, "__name__", None) or "reward"
    name = label.rpartition(":")[2].replace("-", "_").partition("@")[0]
    return Reward(protocol, gold_column, name, judge, format_score=format_score, strict=strict, **options)


def reward(
    prompts: Sequence[Any], completions: Sequence[Any], completion_ids: Sequence[Any] | None = None, **kwargs: Any
) -> list[float | None]:
    """Score a batch with TRL's signature; the data has the gold and may have a column `protocol`."""
    return _REWARD(prompts, completions, completion_ids, **kwargs)


def _log(
    name: str, found: Sequence[Outcome], log_extra: Callable[..., Any] | None, log_metric: Callable[..., Any] | None
) -> None:
    """Log columns for each completion and shares over the batch, through TRL's logging functions."""
    if not found:
        return
    columns = {key: [each.extras()[key] for each in found] for key in found[0].extras()}
    if log_extra is not None:
        for key in ("verdict", "answer", "refused"):
            log_extra(f"{name}_{key}", columns[key])
    if log_metric is not None:
        for key in ("truncated", "format"):
            log_metric(f"{name}/{key}", sum(columns[key]) / len(found))
        log_metric(f"{name}/refused", sum(map(bool, columns["refused"])) / len(found))


def gold_column(columns: Mapping[str, Any], count: int) -> Sequence[Any]:
    """Return the golds of a batch, `None` for each if the data has none."""
    try:
        return _golds(columns, None, count)
    except UsageError:
        return [None] * count


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
