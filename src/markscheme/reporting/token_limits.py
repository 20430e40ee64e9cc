"""Every smaller token limit from one run: responses are cut where the limit would have struck and marked again as cut off.

Where each token ends is known from the server's tokens (log-probabilities), from the tokenizer, or else taken from the share
of characters, and the result says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from markscheme.errors import UsageError, needed
from markscheme.marking import mark_many
from markscheme.reporting.estimates import Estimate, as_estimate, estimate, rate
from markscheme.reporting.figures import bounds, plus_minus
from markscheme.reporting.picks import picks_of
from markscheme.reporting.summary import marked_label
from markscheme.reporting.table import csv_text, interval_of, latex_table, markdown_table
from markscheme.reporting.terminal import print_table, print_wide
from markscheme.runs.columns import CODE, UNMARKED, VERDICTS
from markscheme.runs.folder import Run
from markscheme.statistics import Counts, Population, interval
from markscheme.statistics.counts import from_correct
from markscheme.types import Mark, Response, Verdict

# Where each token of a response ends, in characters of thinking and text together; None where that is not known.
Ends = Callable[[Response], Sequence[int] | None]


class AtLimit(msgspec.Struct, frozen=True, kw_only=True):
    """What a run would have been with this limit."""

    limit: int
    figures: dict[str, Estimate]  # accuracy, pass@k and maj@k
    truncation: Estimate
    cut: Estimate  # the share of responses that the limit ends
    tokens: float  # of a response, on average


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """So many samples of so many tokens at most: no other choice has a higher figure for as few tokens."""

    tokens: float  # of all samples of a problem, on average
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
    offsets: str  # how it is known where a token ends
    rows: tuple[AtLimit, ...]
    frontier: tuple[Choice, ...]


def read_limits(text: str) -> list[int]:
    """`1k,2k,512` in tokens, ascending; 1k is 1024."""
    try:
        words = [word.strip().lower() for word in text.split(",")]
        limits = sorted({int(word[:-1]) * 1024 if word.endswith("k") else int(word) for word in words})
    except ValueError:
        raise UsageError(f"--token-limits takes numbers of tokens such as 1k,2k,4k, not {text!r}") from None
    if limits[0] < 1:
        raise UsageError(f"a token limit is at least 1, not {limits[0]}")
    return limits


def token_limits(
    run: Run,
    limits: Sequence[int],
    protocol: str | None = None,
    population: Population = "problems drawn",
    tokenizer: str | None = None,
) -> TokenLimits:
    """The figures of a run at smaller limits."""
    snapshot, manifest = run.snapshot(), run.manifest
    label = marked_label(snapshot, protocol)
    if snapshot.planned:
        raise UsageError(
            f"{run.path} chose its samples by its answers (--until), so that other limits would have chosen others"
        )
    problems = {question.problem.key: question.problem for question in snapshot.questions()}
    responses = [each for each in snapshot.responses() if not each.error]
    stored = {(mark.key, mark.sample): mark for mark in snapshot.marks(label)}
    how, ends = _known_ends(run, responses, tokenizer)
    lengths = [_length(each, ends, run.path) for each in responses]
    most = max(lengths, default=0)
    rows, frontier = [], []
    ks = [k for k in (2**power for power in range(1, 11)) if k <= manifest.samples]
    for limit in [each for each in limits if each < most] + [max(most, limits[-1])]:
        cut = [length > limit for length in lengths]
        every = zip(responses, lengths, cut, strict=True)
        shorter = [_cut(each, limit, length, ends) for each, length, is_cut in every if is_cut]
        pairs = ((each, problems[each.key]) for each in shorter)
        again = {(mark.key, mark.sample): mark for mark in mark_many(pairs, label.partition("@")[0])}
        counts = _counts(snapshot.keys, snapshot.counts(label), stored | again)
        names = ["accuracy", *(f"pass@{k}" for k in ks), *(f"maj@{k}" for k in ks if k > 2)]
        figures = {name: estimate(name, counts, population) for name in names}
        kept = [min(length, limit) for length in lengths]
        mean = float(np.mean(kept)) if kept else 0.0
        ended = [is_cut or each.finish_reason == "length" for each, is_cut in zip(responses, cut, strict=True)]
        rows.append(
            AtLimit(
                limit=limit,
                figures=figures,
                truncation=rate(counts, Verdict.TRUNCATED, population),
                cut=_share(snapshot.keys, responses, ended, population),
                tokens=mean,
            )
        )
        votes = {1: "accuracy", 2: "pass@2"} | {k: f"maj@{k}" for k in ks if k > 2}
        frontier += [
            Choice(tokens=k * mean, samples=k, limit=limit, figure=votes[k], value=figures[votes[k]])
            for k in (1, *ks)
            if k != 2 and figures[votes[k]].value is not None
        ]
    return TokenLimits(
        run=str(run.path),
        benchmark=manifest.benchmark,
        model=manifest.model,
        protocol=label,
        population=population,
        offsets=how,
        rows=tuple(rows),
        frontier=tuple(_undominated(frontier)),
    )


def _known_ends(run: Run, responses: Sequence[Response], tokenizer: str | None) -> tuple[str, Ends]:
    """How it is known where tokens end; refuses conversations."""
    if any(each.turns for each in responses):
        raise UsageError(
            f"{run.path} holds conversations: a limit would have struck in every turn, so cutting the last says nothing"
        )
    if responses and all(each.metadata.get("token_lengths") for each in responses):
        return "the server's tokens", _from_lengths
    return _token_ends(run.manifest.config.model, tokenizer)


def _undominated(choices: Sequence[Choice]) -> Iterator[Choice]:
    """Those that are better than every cheaper one, cheapest first."""
    best = -1.0
    for each in sorted(choices, key=lambda choice: (choice.tokens, -(choice.value.value or 0))):
        if (each.value.value or 0) > best:
            best = each.value.value or 0
            yield each


def _counts(keys: Sequence[str], as_it_was: Counts, marks: dict[tuple[str, int], Mark]) -> Counts:
    """The counts and votes of these marks."""
    table = np.zeros((len(keys), len(VERDICTS)), np.int64)
    place = {key: number for number, key in enumerate(keys)}
    correct: dict[str, dict[int, bool]] = {}
    answers: dict[str, dict[int, str | None]] = {}
    for (key, sample), mark in marks.items():
        code = CODE.get(mark.verdict, UNMARKED)
        if key in place and code != UNMARKED:
            table[place[key], code] += 1
        if key in place and mark.verdict is not Verdict.ERROR:
            correct.setdefault(key, {})[sample] = mark.verdict is Verdict.CORRECT
            answers.setdefault(key, {})[sample] = mark.answer
    return replace(as_it_was, table=table, picks=picks_of(correct, answers))


def _share(keys: Sequence[str], responses: Sequence[Response], cut: Sequence[bool], population: Population) -> Estimate:
    """The share of the responses that a limit ends, averaged over problems."""
    place = {key: number for number, key in enumerate(keys)}
    at = [place[each.key] for each in responses]
    n, c = np.bincount(at, minlength=len(keys)), np.bincount(at, np.array(cut, float), len(keys))
    return as_estimate(interval("accuracy", from_correct(n, c.round().astype(int), keys), population=population))


def _length(response: Response, ends: Ends, path: Path) -> int:
    if response.completion_tokens is not None:
        return response.completion_tokens
    known = ends(response)
    if known is None:
        raise UsageError(
            f"{path}: the server did not say how many tokens {response.problem_id} sample {response.sample} has; --tokenizer NAME counts them"
        )
    return len(known)


def _cut(response: Response, limit: int, length: int, ends: Ends) -> Response:
    """The response as the limit would have left it."""
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
    """From the length of each token of the text, as the server has listed them."""
    lengths = response.metadata.get("token_lengths")
    if not isinstance(lengths, list) or not all(isinstance(each, int) for each in lengths):
        return None
    return list(accumulate(lengths, initial=len(response.reasoning or "")))[1:]


def _token_ends(model: str, named: str | None) -> tuple[str, Ends]:
    """How it is known where tokens end, for a model's spec or a tokenizer that the user names."""
    if model == "nano" and named is None:
        return "the tokenizer of nano", lambda response: [
            end - 1 for end in accumulate(len(word) + 1 for word in response.text.split(" "))
        ]
    local = Path(model.partition("/")[2]) / "tokenizer.json"
    if named is None and not local.is_file():
        return "the share of characters: the tokenizer is not known (--tokenizer NAME names it)", lambda _: None
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


def limits_text(made: Sequence[TokenLimits], form: str) -> str:
    """As Markdown, LaTeX, CSV or JSON."""
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(made if len(made) > 1 else made[0]), indent=2).decode() + "\n"
    if form == "csv":
        return csv_text([row for each in made for row in _flat(each)])
    lines = []
    for each in made:
        if form == "latex":
            lines += [f"% {title(each)}", *latex_table(limit_rows(each, plus_minus), 1)]
            lines += ["", "% equal budgets", *latex_table(frontier_rows(each, plus_minus), 4), ""]
        else:
            lines += [f"{title(each)}:", "", *markdown_table(limit_rows(each, bounds)), "", f"{FRONTIER}:", ""]
            lines += [*markdown_table(frontier_rows(each, bounds)), ""]
    return "\n".join(lines)


def print_limits(made: TokenLimits) -> None:
    """At a terminal."""
    print_wide(title(made), limit_rows(made, bounds), 2)
    print_table(FRONTIER, frontier_rows(made, bounds))


FRONTIER = "few long or many short samples: the best for so many tokens"


def title(made: TokenLimits) -> str:
    """What the figures are, and how it is known where tokens end."""
    return (
        f"{made.benchmark} · {made.model} at smaller token limits, percent, with {interval_of(made.population)}; tokens end by "
        f"{made.offsets}"
    )


def _flat(made: TokenLimits) -> Iterator[dict[str, Any]]:
    for row in made.rows:
        flat: dict[str, Any] = {"run": made.run, "benchmark": made.benchmark, "model": made.model, "limit": row.limit}
        for name, each in {**row.figures, "cut_off": row.cut, "truncated": row.truncation}.items():
            flat |= {name: each.value, f"{name}_low": each.low, f"{name}_high": each.high}
        yield flat | {"tokens": row.tokens, "offsets": made.offsets}


def limit_rows(made: TokenLimits, show: Callable[[Estimate], str]) -> list[dict[str, str]]:
    """A row a limit, for people."""
    return [
        {"limit": f"{row.limit:,}", "tokens each": f"{row.tokens:,.0f}"}
        | {name: show(figure) for name, figure in row.figures.items()}
        | {"cut off": show(row.cut), "truncated": show(row.truncation)}
        for row in made.rows
    ]


def frontier_rows(made: TokenLimits, show: Callable[[Estimate], str]) -> list[dict[str, str]]:
    """A row a choice of the frontier."""
    return [
        {"tokens per problem": f"{each.tokens:,.0f}", "samples": str(each.samples), "limit": f"{each.limit:,}"}
        | {"figure": each.figure, "value": show(each.value)}
        for each in made.frontier
    ]
