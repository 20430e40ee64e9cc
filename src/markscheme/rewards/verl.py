"""verl's custom reward functions, and its validation metrics with our estimators and intervals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from markscheme.rewards.scoring import Outcome, default_protocol, outcomes, wrong_calls

# The protocol of each verl `data_source`, used if none is named; `aime…` is `aime`, anything else `math`.
DATA_SOURCES = {
    "openai/gsm8k": "gsm8k-numeric",
    "countdown": "countdown",
    "Jiayi-Pan/Countdown-Tasks-3to4": "countdown",
}
_STATEMENT = ("question", "problem", "statement", "prompt")
_OPTIONS = ("format_score", "think_end", "strict", "form")


def compute_score(
    data_source: str | None,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> Any:
    """Score a response, as verl's custom reward function. Options come from `reward_kwargs`, `protocol` also from
    `extra_info`.

    verl needs a number: a response that cannot be scored gets 0.0. With `extras=True` the result is a dict with
    `score`, `acc`, `pred` and more, which verl logs and votes with.
    """
    return compute_score_batch([data_source], [solution_str], [ground_truth], [extra_info], **kwargs)[0]


def compute_score_batch(
    data_sources: Sequence[str | None],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
    **kwargs: Any,
) -> list[Any]:
    """Score a whole batch in parallel, as verl's batch reward function (reward manager `batch`)."""
    solutions = list(solution_strs)
    infos = [
        each if isinstance(each, Mapping) else {} for each in (extra_infos if extra_infos is not None else solutions)
    ]
    options = {name: kwargs[name] for name in _OPTIONS if name in kwargs}
    try:
        protocols = [
            kwargs.get("protocol") or info.get("protocol") or _of_source(source, gold)
            for source, gold, info in zip(data_sources, ground_truths, infos, strict=True)
        ]
    except (TypeError, ValueError) as error:
        found = wrong_calls(len(solutions), f"compute_score_batch: {error}")
    else:
        asked = [next((str(info[name]) for name in _STATEMENT if info.get(name)), "") for info in infos]
        found = outcomes(solutions, list(ground_truths), protocols, statements=asked, **options)
    return [_with_extras(each) if kwargs.get("extras") else each.score or 0.0 for each in found]


def _with_extras(outcome: Outcome) -> dict[str, Any]:
    given = outcome.extras()
    return {"score": outcome.score or 0.0, "acc": float(outcome.score == 1.0), "pred": given.pop("answer"), **given}


def _of_source(source: Any, gold: Any) -> str:
    if isinstance(source, str):
        if source in DATA_SOURCES:
            return DATA_SOURCES[source]
        if "aime" in source.lower():
            return "aime"
    return "math" if gold is None else default_protocol(gold)


def validation_metrics(
    data_sources: Sequence[str], sample_uids: Sequence[str], infos_dict: Mapping[str, Sequence[Any]], *_: Any, **__: Any
) -> dict[str, dict[str, dict[str, float]]]:
    """Return what verl's `process_validation_metrics` returns, with unbiased estimators and 95 % intervals.

    `mean@n`, `best@k/mean` (pass@k) and, with `pred`, `maj@k/mean`, each with `/low` and `/high`, for k = 2, 4, 8 … n.
    The interval resamples prompts, not samples, so it generalizes to similar problems.
    """
    correct = infos_dict.get("acc", infos_dict.get("score", ()))
    grouped: dict[str, dict[str, list[tuple[bool, str]]]] = defaultdict(lambda: defaultdict(list))
    said = infos_dict.get("pred", [""] * len(correct))
    for source, uid, right, answer in zip(data_sources, sample_uids, correct, said, strict=True):
        grouped[source][uid].append((float(right or 0.0) >= 1.0, str(answer)))
    return {source: {"acc": _estimates(prompts, "pred" in infos_dict)} for source, prompts in grouped.items()}


def _estimates(prompts: Mapping[str, Sequence[tuple[bool, str]]], votes: bool) -> dict[str, float]:
    from markscheme.statistics.metrics import interval

    counts = _counts(prompts)
    most = max(map(len, prompts.values()))
    named = {f"mean@{most}": "accuracy"}
    for k in [*(2**power for power in range(1, most.bit_length()) if 2**power < most), *([most] if most > 1 else [])]:
        named[f"best@{k}/mean"] = f"pass@{k}"
        if votes:
            named[f"maj@{k}/mean"] = f"maj@{k}"
    made: dict[str, float] = {}
    for shown, name in named.items():
        found = interval(name, counts)
        made |= {shown: found.estimate, f"{shown}/low": found.low, f"{shown}/high": found.high}
    return made


def _counts(prompts: Mapping[str, Sequence[tuple[bool, str]]]) -> Any:
    """Return counts and votes per prompt, in the form used by the statistics; equal answers are one class."""
    import numpy as np

    from markscheme.marking.equality.comparing import canonical_key
    from markscheme.statistics.counts import VERDICTS, Counts, Picks
    from markscheme.types import Verdict

    table = np.zeros((len(prompts), len(VERDICTS)), dtype=np.int64)
    picks = {}
    for row, (uid, samples) in enumerate(prompts.items()):
        right = np.array([each for each, _ in samples])
        table[row, VERDICTS.index(Verdict.CORRECT)] = right.sum()
        table[row, VERDICTS.index(Verdict.WRONG)] = (~right).sum()
        named: dict[object, int] = {True: 0}
        keys = [True if was_right else (canonical_key(said) or said) for was_right, said in samples]
        classes = [-1 if key == "" else named.setdefault(key, len(named)) for key in keys]
        picks[uid] = Picks(right, np.array(classes), {})
    return Counts(tuple(prompts), table, picks=picks)
