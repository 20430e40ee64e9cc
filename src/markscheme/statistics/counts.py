"""Counts per problem and verdict: all that the statistics see of a run.

The input is one (problem key, verdict) pair per response. `error` is missing data: it is reported, but is not a sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from markscheme.errors import UsageError
from markscheme.statistics.arrays import ArrayLike, Bools, Floats, Ints
from markscheme.types import Verdict

VERDICTS = tuple(Verdict)
_COLUMN = {verdict: column for column, verdict in enumerate(VERDICTS)}
_SCORED = [column for verdict, column in _COLUMN.items() if verdict is not Verdict.ERROR]


class Round(msgspec.Struct, frozen=True):
    """A round of adaptive sampling: the planned mean of samples per problem, and what came back for each problem."""

    planned: int
    n: tuple[int, ...]
    c: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Picks:
    """The single samples of a problem, for metrics that pick one of k."""

    correct: Bools
    answers: Ints  # class of each sample's answer: equal answers share a number, -1 for no answer
    scores: Mapping[str, Floats]  # by the name of a score column


@dataclass(frozen=True)
class Counts:
    """The number of samples by problem and verdict: `table[problem, verdict]`, rows as in `keys`."""

    keys: tuple[str, ...]
    table: Ints
    # Set if problems were sampled more often because of earlier answers, when n and c alone would mislead.
    rounds: tuple[Round, ...] = ()
    asked: tuple[int, ...] = ()  # samples requested of each problem, if known; those that did not come back are missing
    # A label per problem (contest, template): problems with the same label are not independent draws.
    clusters: tuple[str, ...] = ()
    picks: Mapping[str, Picks] | None = None  # by problem key, for metrics that need more than counts
    # Verdicts by request (a row each) for each problem, if a request returned several samples, which may be dependent.
    requests: tuple[Ints, ...] = ()
    # The stratum of each problem if a part of each was drawn, and the size of each in the whole benchmark.
    strata: tuple[str, ...] = ()
    strata_sizes: Mapping[str, int] | None = None
    whole: int = 0  # size of the benchmark that these were drawn from at random; a selection loses it

    @property
    def missing(self) -> Ints:
        """Requested samples that did not come back, per problem."""
        asked = np.array(self.asked, dtype=np.int64) if self.asked else self.table.sum(axis=1)
        missing: Ints = np.maximum(asked - self.n, 0)
        return missing

    @property
    def n(self) -> Ints:
        """Samples that came back, per problem."""
        scored: Ints = self.table[:, _SCORED].sum(axis=1)
        return scored

    @property
    def c(self) -> Ints:
        """Correct samples, per problem."""
        return self.table[:, _COLUMN[Verdict.CORRECT]]

    @property
    def independent(self) -> Ints:
        """Independent units per problem: requests with an answer, or samples."""
        if not self.requests:
            return self.n
        return np.array([int((table[:, _SCORED].sum(axis=1) > 0).sum()) for table in self.requests], dtype=np.int64)

    def batches(self) -> list[tuple[Ints, Ints]]:
        """Return, for each problem, the samples and correct samples of each request with an answer."""
        pairs = [(table[:, _SCORED].sum(axis=1), table[:, _COLUMN[Verdict.CORRECT]]) for table in self.requests]
        return [(n[n > 0], c[n > 0]) for n, c in pairs]

    def totals(self) -> dict[str, int]:
        """Return the number of responses of each verdict that occurs."""
        times = zip(VERDICTS, self.table.sum(axis=0).tolist(), strict=True)
        return {str(verdict): count for verdict, count in times if count}

    def select(self, keys: Iterable[str]) -> Counts:
        """Select problems, in this order."""
        row = {key: index for index, key in enumerate(self.keys)}
        wanted = tuple(keys)
        unknown = [key for key in wanted if key not in row]
        if unknown:
            raise UsageError(f"{len(unknown)} problems have no counts here, the first is {unknown[0]!r}")
        rows = [row[key] for key in wanted]
        rounds = (Round(r.planned, tuple(r.n[i] for i in rows), tuple(r.c[i] for i in rows)) for r in self.rounds)
        return Counts(
            wanted,
            self.table[rows],
            tuple(rounds),
            tuple(self.asked[i] for i in rows) if self.asked else (),
            tuple(self.clusters[i] for i in rows) if self.clusters else (),
            self.picks,
            tuple(self.requests[i] for i in rows) if self.requests else (),
        )

    def filled_in(self, right: bool, least: int = 1) -> Counts:
        """Return the counts if every missing sample were wrong, or right; with rounds, in the last one.

        Every problem then has at least `least` samples.
        """
        lost = self.lacking(least)
        made = from_correct(self.n + lost, self.c + (lost if right else 0), self.keys)
        rounds = self.rounds
        if rounds:
            n, c = np.array(rounds[-1].n) + lost, np.array(rounds[-1].c) + (lost if right else 0)
            rounds = (*rounds[:-1], Round(rounds[-1].planned, tuple(n.tolist()), tuple(c.tolist())))
        requests = tuple(
            np.concatenate([table, _table(np.ones(more, np.int64), np.full(more, right))])
            for table, more in zip(self.requests, lost.tolist(), strict=bool(self.requests))
        )
        return replace(self, table=made.table, rounds=rounds, asked=(), requests=requests)

    def lacking(self, least: int) -> Ints:
        """Return the samples per problem that are missing, or lacking for a metric that needs `least`."""
        lacking: Ints = np.maximum(self.missing, least - self.n)
        return lacking

    def of(self, verdict: Verdict) -> Counts:
        """Count this verdict as `correct` and all others as `wrong`; `error` is a share of all requested samples."""
        part, whole = self.table[:, _COLUMN[verdict]], self.n
        if verdict is Verdict.ERROR:
            part, whole = self.missing, self.n + self.missing
        made = replace(from_correct(whole, part, self.keys), clusters=self.clusters, whole=self.whole)
        made = replace(made, strata=self.strata, strata_sizes=self.strata_sizes)
        if verdict is Verdict.ERROR or not self.requests:
            return made
        parts = ((table[:, _SCORED].sum(axis=1), table[:, _COLUMN[verdict]]) for table in self.requests)
        return replace(made, requests=tuple(_table(n, c) for n, c in parts))

    def by(self, group: Mapping[str, str]) -> dict[str, Counts]:
        """Split by a label per problem (subject, level, contest part), leaving out problems without one."""
        members: dict[str, list[str]] = {}
        for key in self.keys:
            if key in group:
                members.setdefault(group[key], []).append(key)
        return {label: self.select(keys) for label, keys in sorted(members.items())}


def tally(pairs: Iterable[tuple[str, Verdict]], keys: Iterable[str] = ()) -> Counts:
    """Count (problem key, verdict) pairs, one per response, or a `Counter` of such pairs.

    Name all `keys` to fix the order of rows and to keep problems without a response.
    """
    rows = {key: index for index, key in enumerate(keys)}
    counted = Counter(pairs)
    for key, _ in counted:
        rows.setdefault(key, len(rows))
    table = np.zeros((len(rows), len(VERDICTS)), dtype=np.int64)
    for (key, verdict), times in counted.items():
        table[rows[key], _COLUMN[verdict]] += times
    return Counts(tuple(rows), table)


def from_correct(n: ArrayLike, c: ArrayLike, keys: Iterable[str] | None = None) -> Counts:
    """Return counts from n samples and c correct samples per problem."""
    samples, correct = np.atleast_1d(np.asarray(n, dtype=np.int64)), np.atleast_1d(np.asarray(c, dtype=np.int64))
    if samples.shape != correct.shape or samples.ndim != 1:
        raise UsageError("n and c must be lists with one entry per problem")
    if np.any(correct < 0) or np.any(correct > samples):
        raise UsageError("the number of correct samples must be between 0 and the number of samples")
    names = tuple(str(index) for index in range(len(samples))) if keys is None else tuple(keys)
    if len(names) != len(samples):
        raise UsageError(f"{len(names)} keys for {len(samples)} problems: the numbers must be equal")
    return Counts(names, _table(samples, correct))


def _table(n: Ints, c: Ints | Bools) -> Ints:
    table = np.zeros((n.size, len(VERDICTS)), dtype=np.int64)
    table[:, _COLUMN[Verdict.CORRECT]] = c
    table[:, _COLUMN[Verdict.WRONG]] = n - c
    return table
