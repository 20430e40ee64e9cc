"""Single samples for metrics that pick one of k: classes of equal answers, and scores. Texts are streamed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from markscheme.errors import UsageError
from markscheme.runs.columns import CORRECT, UNMARKED, Mask
from markscheme.runs.snapshot import Snapshot
from markscheme.statistics import Counts, Picks, classes_of
from markscheme.statistics.metrics import metric
from markscheme.types import Response, Verdict


def with_picks(snapshot: Snapshot, protocol: str, counts: Counts, names: Sequence[str]) -> Counts:
    """Return the counts with as much of the single samples as these metrics need."""
    wanted = [metric(name) for name in names]
    fields = [each.field for each in wanted if each.needs == "scores"]
    if all(each.needs == "counts" for each in wanted):
        return counts
    verdict = snapshot.verdict(protocol)
    marked = (verdict != UNMARKED) & ~snapshot.failed
    correct: dict[str, dict[int, bool]] = {}
    columns = (snapshot.problem[marked], snapshot.sample[marked], verdict[marked] == CORRECT)
    for problem, sample, right in zip(*(column.tolist() for column in columns), strict=True):
        correct.setdefault(snapshot.keys[problem], {})[sample] = right
    answers: dict[str, dict[int, str | None]] = {}
    voting = any(each.needs == "answers" for each in wanted)
    for mark in snapshot.marks(protocol) if voting else ():
        if mark.verdict is not Verdict.ERROR:
            answers.setdefault(mark.key, {})[mark.sample] = mark.answer
    return replace(counts, picks=picks_of(correct, answers, {f: _scores(snapshot, f, marked) for f in fields}))


def picks_of(
    correct: dict[str, dict[int, bool]],
    answers: dict[str, dict[int, str | None]],
    scores: Mapping[str, Mapping[tuple[str, int], float]] = MappingProxyType({}),
) -> dict[str, Picks]:
    """Return the samples of each problem in order: correct or not, class of the answer, and scores."""
    classes, picks = _classes(answers), {}
    for key, marks in correct.items():
        samples = sorted(marks)
        picks[key] = Picks(
            np.array([marks[sample] for sample in samples], bool),
            classes.get(key, np.zeros(0, np.int64)),
            {
                field: np.array([column.get((key, sample), math.nan) for sample in samples])
                for field, column in scores.items()
            },
        )
    return picks


def _classes(answers: dict[str, dict[int, str | None]]) -> dict[str, np.ndarray]:
    """Number the answers of each problem; answers that `math` finds equal share a number."""
    from markscheme.marking.equality import canonical_key

    canonical: dict[str, str] = {}

    def name(text: str | None) -> str | None:
        if text is None:
            return None
        if text not in canonical:
            canonical[text] = canonical_key(text) or f"text {text.strip()}"
        return canonical[text]

    return {key: classes_of([name(rows[sample]) for sample in sorted(rows)]) for key, rows in answers.items()}


def _scores(snapshot: Snapshot, field: str, marked: Mask) -> dict[tuple[str, int], float]:
    scores = {(each.key, each.sample): _number(each, field) for each in snapshot.responses(marked)}
    if all(math.isnan(score) for score in scores.values()):
        raise UsageError(
            f"no response of {snapshot.folder} has a number named {field!r}; best-of-K:SCORE takes a number from the "
            "response's metadata, or completion_tokens, latency …"
        )
    return scores


def _number(response: Response, field: str) -> float:
    value = response.metadata.get(field, getattr(response, field, None))
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
