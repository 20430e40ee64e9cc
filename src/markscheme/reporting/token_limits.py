"""The figures of a run at smaller token limits: responses are cut at the limit and marked again as cut off.

The position of each token comes from the server (log-probabilities), from the tokenizer, or else from the share of
characters; the result says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from markscheme.errors import UsageError, needed, option
from markscheme.marking import mark_many
from markscheme.reporting.estimates import Estimate, as_estimate, estimate, rate
from markscheme.reporting.picks import picks_of
from markscheme.reporting.sheets import Document, Sheet, Show, flat
from markscheme.reporting.summary import marked_label
from markscheme.reporting.table import interval_of
from markscheme.runs.folder import Run
from markscheme.statistics import Counts, Population, interval
from markscheme.statistics.counts import from_correct, tally
from markscheme.types import Mark, Response, Verdict

# The end of each token of a response, in characters of thinking and text together; None if unknown.
Ends = Callable[[Response], Sequence[int] | None]


class AtLimit(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a run at one limit."""

    limit: int
    figures: dict[str, Estimate]  # accuracy, pass@k and maj@k
    truncation: Estimate
    cut: Estimate  # share of responses that reach the limit
    tokens: float  # mean per response


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A number of samples with a token limit: no cheaper choice has a figure as high."""

    tokens: float  # mean of all samples of a problem
    samples: int
    limit: int
    figure: str
    value: Estimate


class TokenLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What `report --token-limits --json` prints."""

    run: str
    benchmark: str
    model: str
    protocol: str
    population: Population
    offsets: str  # source of the token positions
    rows: tuple[AtLimit, ...]
    frontier: tuple[Choice, ...]


def read_limits(text: str) -> list[int]:
    """Read `1k,2k,512` as ascending numbers of tokens; 1k is 1024."""
    try:
        words = [word.strip().lower() for word in text.split(",")]
        limits = sorted({int(word[:-1]) * 1024 if word.endswith("k") else int(word) for word in words})
    except ValueError:
        raise UsageError(f"token limits are numbers of tokens such as 1k,2k,4k, not {text!r}") from None
    if limits[0] < 1:
        raise UsageError(f"a token limit must be at least 1, not {limits[0]}")
    return limits


def token_limits(
    run: Run,
    limits: Sequence[int],
    protocol: str | None = None,
    population: Population = "problems drawn",
    tokenizer: str | None = None,
) -> TokenLimits:
    """Return the figures of a run at smaller limits."""
    snapshot, manifest = run.snapshot(), run.manifest
    label = marked_label(snapshot, protocol)
    if snapshot.planned:
        raise UsageError(
            f"{run.path} chose its samples by its answers ({option('until')}), so other limits would have chosen other samples"
        )
    problems = {question.problem.key: question.problem for question in snapshot.questions()}
    responses = [each for each in snapshot.responses() if not each.error]
    stored = {(mark.key, mark.sample): mark for mark in snapshot.marks(label)}
    how, ends = _known_ends(run, responses, tokenizer)
    lengths = [_length(each, ends, run.path) for each in responses]
    most = max(lengths, default=0)
    pooled = _Pooled(snapshot.numbers, snapshot.counts(label), population)
    ks = [k for k in (2**power for power in range(1, 11)) if k <= manifest.samples]
    rows = []
    for limit in [each for each in limits if each < most] + [max(most, limits[-1])]:
        cut = [length > limit for length in lengths]
        every = zip(responses, lengths, cut, strict=True)
        pairs = ((_cut(each, limit, length, ends), problems[each.key]) for each, length, is_cut in every if is_cut)
        again = {(mark.key, mark.sample): mark for mark in mark_many(pairs, label.partition("@")[0])}
        counts = pooled.counts(stored | again)
        names = ["accuracy", *(f"pass@{k}" for k in ks), *(f"maj@{k}" for k in ks if k > 2)]
        ended = [is_cut or each.finish_reason == "length" for each, is_cut in zip(responses, cut, strict=True)]
        rows.append(
            AtLimit(
                limit=limit,
                figures={name: estimate(name, counts, population) for name in names},
                truncation=rate(counts, Verdict.TRUNCATED, population),
                cut=pooled.share([each.key for each in responses], ended),
                tokens=float(np.mean([min(length, limit) for length in lengths])) if lengths else 0.0,
            )
        )
    return TokenLimits(
        run=str(run.path),
        benchmark=manifest.benchmark,
        model=manifest.model,
        protocol=label,
        population=population,
        offsets=how,
        rows=tuple(rows),
        frontier=tuple(_undominated(_choices(rows, ks))),
    )


def _choices(rows: Sequence[AtLimit], ks: Sequence[int]) -> list[Choice]:
    """Return one sample, or a vote of k, at each limit."""
    votes = {1: "accuracy"} | {k: f"maj@{k}" for k in ks if k > 2}
    return [
        Choice(tokens=k * row.tokens, samples=k, limit=row.limit, figure=name, value=row.figures[name])
        for row in rows
        for k, name in votes.items()
        if row.figures[name].value is not None
    ]


def _known_ends(run: Run, responses: Sequence[Response], tokenizer: str | None) -> tuple[str, Ends]:
    """Return the source of token positions and a function that gives them; refuse conversations."""
    if any(each.turns for each in responses):
        raise UsageError(
            f"{run.path} holds conversations: a limit applies to every turn, so cutting only the last says nothing"
        )
    if responses and all(each.metadata.get("token_lengths") for each in responses):
        return "the server's tokens", _from_lengths
    if responses and all(each.metadata.get("event_lengths") for each in responses):
        return "the events of the stream", _from_events
    return _token_ends(run.manifest.config.model, tokenizer)


def _undominated(choices: Sequence[Choice]) -> Iterator[Choice]:
    """Yield the choices that are better than every cheaper one, cheapest first."""
    best = -1.0
    for each in sorted(choices, key=lambda choice: (choice.tokens, -(choice.value.value or 0))):
        if (each.value.value or 0) > best:
            best = each.value.value or 0
            yield each


class _Pooled(NamedTuple):
    """The problems of a run, to count marks and shares over."""

    places: dict[str, int]  # number of each problem, by key
    original: Counts
    population: Population

    def counts(self, marks: dict[tuple[str, int], Mark]) -> Counts:
        """Return the counts and votes of these marks."""
        correct: dict[str, dict[int, bool]] = {}
        answers: dict[str, dict[int, str | None]] = {}
        known = {place: mark for place, mark in marks.items() if place[0] in self.places}
        table = tally(((key, mark.verdict) for (key, _), mark in known.items()), self.places).table
        for (key, sample), mark in known.items():
            if mark.verdict is not Verdict.ERROR:
                correct.setdefault(key, {})[sample] = mark.verdict is Verdict.CORRECT
                answers.setdefault(key, {})[sample] = mark.answer
        return replace(self.original, table=table, picks=picks_of(correct, answers))

    def share(self, of: Sequence[str], chosen: Sequence[bool]) -> Estimate:
        """Return the share of responses chosen, averaged over problems; `of` is the problem of each response."""
        at = [self.places[key] for key in of]
        n = np.bincount(at, minlength=len(self.places))
        c = np.bincount(at, np.array(chosen, float), len(self.places)).round().astype(int)
        return as_estimate(interval("accuracy", from_correct(n, c, self.places), population=self.population))


def _length(response: Response, ends: Ends, path: Path) -> int:
    if response.completion_tokens is not None:
        return response.completion_tokens
    known = ends(response)
    if known is None:
        raise UsageError(
            f"{path}: the server did not report the tokens of {response.problem_id} sample {response.sample}; "
            f"{option('tokenizer', 'NAME')} counts them"
        )
    return len(known)


def _cut(response: Response, limit: int, length: int, ends: Ends) -> Response:
    thinking, known = response.reasoning or "", ends(response)
    if known is None:
        end = round((len(thinking) + len(response.text)) * limit / length)
    else:
        end = known[limit - 1] if limit <= len(known) else len(thinking) + len(response.text)
    inside = end <= len(thinking) and bool(thinking)
    return msgspec.structs.replace(
        response,
        reasoning=thinking[:end] if inside else response.reasoning,
        text="" if inside else response.text[: end - len(thinking)],
        finish_reason="length",
        completion_tokens=limit,
    )


def _from_lengths(response: Response) -> Sequence[int] | None:
    """Add up the token lengths that the server listed."""
    lengths = response.metadata.get("token_lengths")
    if not isinstance(lengths, list) or not all(isinstance(each, int) for each in lengths):
        return None
    return list(accumulate(lengths, initial=len(response.reasoning or "")))[1:]


def _from_events(response: Response) -> Sequence[int] | None:
    """Add up the lengths of the stream's events, each of which was one token."""
    lengths = str(response.metadata.get("event_lengths"))
    known = lengths.isascii() and lengths.isalnum()
    return list(accumulate(int(length, 36) for length in lengths)) if known else None


def _token_ends(model: str, named: str | None) -> tuple[str, Ends]:
    """Return the source of token positions and a function, for a model's spec or a named tokenizer."""
    if model == "nano" and named is None:
        return "the tokenizer of nano", lambda response: [
            end - 1 for end in accumulate(len(word) + 1 for word in response.text.split(" "))
        ]
    local = Path(model.partition("/")[2]) / "tokenizer.json"
    if named is None and not local.is_file():
        return "the share of characters: the tokenizer is unknown (set --tokenizer NAME)", lambda _: None
    library: Any = needed("tokenizers", "hf")
    file = Path(named) if named else local
    file = file / "tokenizer.json" if file.is_dir() else file
    try:
        tokenizer = (
            library.Tokenizer.from_file(str(file)) if file.is_file() else library.Tokenizer.from_pretrained(named)
        )
    except Exception as problem:  # noqa: BLE001  # the library raises plain `Exception`
        raise UsageError(f"the tokenizer {named or local} cannot be loaded: {str(problem)[:200]}") from None

    def ends(response: Response) -> Sequence[int]:
        text = (response.reasoning or "") + response.text
        return [end for _, end in tokenizer.encode(text, add_special_tokens=False).offsets]

    return f"the tokenizer {named or local.parent}", ends


def document(made: Sequence[TokenLimits]) -> Document:
    """Return the tables of every run as a report."""
    return Document(
        [sheet for each in made for sheet in _sheets(each)],
        lambda: [row for each in made for row in _flat_rows(each)],
        made if len(made) > 1 else made[0],
    )


def _sheets(made: TokenLimits) -> tuple[Sheet, Sheet]:
    title = (
        f"{made.benchmark} · {made.model} at smaller token limits, percent, with {interval_of(made.population)}; "
        f"token positions from {made.offsets}"
    )

    def limits(show: Show) -> list[dict[str, str]]:
        return [
            {"limit": f"{row.limit:,}", "tokens each": f"{row.tokens:,.0f}"}
            | {name: show(figure) for name, figure in row.figures.items()}
            | {"cut off": show(row.cut), "truncated": show(row.truncation)}
            for row in made.rows
        ]

    def frontier(show: Show) -> list[dict[str, str]]:
        return [
            {"tokens per problem": f"{each.tokens:,.0f}", "samples": str(each.samples), "limit": f"{each.limit:,}"}
            | {"figure": each.figure, "value": show(each.value)}
            for each in made.frontier
        ]

    return Sheet(title, limits, 2), Sheet("few long or many short samples: the best for each token budget", frontier, 4)


def _flat_rows(made: TokenLimits) -> Iterator[dict[str, Any]]:
    for row in made.rows:
        record: dict[str, Any] = {"run": made.run, "benchmark": made.benchmark, "model": made.model, "limit": row.limit}
        for name, each in {**row.figures, "cut_off": row.cut, "truncated": row.truncation}.items():
            record |= flat(name, each)
        yield record | {"tokens": row.tokens, "offsets": made.offsets}
