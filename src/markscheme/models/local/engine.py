"""The loop: each step is one forward pass for the newest token of every row and the next prompts.

A row that ends leaves at once and the next takes its slot. Samples of a prompt share its keys and values, and what many
prompts begin with (few-shot examples) is computed once, as their stem. When memory runs out there are fewer slots, and
the youngest rows continue later from what they have written.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from markscheme.models.base import RequestFailed
from markscheme.models.batching import Entry
from markscheme.models.local.attention import Part, current
from markscheme.models.local.cohorts import BLOCK, Cohort, Prefix
from markscheme.models.local.draws import choose, uniforms_of
from markscheme.models.local.endings import Endings

# Most prompt tokens per step, which bounds both their scores and the wait of the other rows.
READ = 2048
STEM = 128  # tokens that prompts must share to make a stem worthwhile
STEMS = 4  # stems that are remembered
COHORTS = 6  # more cohorts than this are merged where they fit: each costs its own attention in every layer
APART = 128  # columns by which a new row may be shorter than its cohort

# Takes tokens, their positions, and the indices whose logits are wanted; returns these logits.
Forward = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(eq=False)
class Active:
    """A row in progress."""

    entry: Entry
    uniforms: npt.NDArray[np.float32]
    written: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)


@dataclass(eq=False)
class Group:
    """Rows that wait for the same tokens: the samples of one prompt, or one row that must restart."""

    tokens: tuple[int, ...]
    rows: deque[Active]
    prefix: Prefix | None = None
    logits: torch.Tensor | None = None  # after the last token, once the prompt is read


class Engine:
    """Rows in, completions out; call `step` while it is `busy`."""

    def __init__(
        self, forward: Forward, endings: Endings, *, slots: int, budget: int, stems: bool = True, logprobs: bool = False
    ) -> None:
        self._forward, self._endings = forward, endings
        self.slots, self._budget = slots, budget
        """`budget`: bytes of keys and values."""
        self._width = max(4, -(-slots // 4))
        self._with_stems, self._logprobs = stems, logprobs
        self._waiting: dict[tuple[int, ...], Group] = {}
        self._reading: list[Group] = []
        self._entering: list[tuple[Active, Prefix]] = []
        self._cohorts: list[Cohort[Active]] = []
        self._stems: list[Prefix] = []
        self._token_bytes = 0.0

    @property
    def busy(self) -> bool:
        """True if a step would do anything."""
        return bool(self._waiting or self._reading or self._entering or self._cohorts)

    def add(self, entries: Iterable[Entry]) -> None:
        """Add rows to generate; rows with the same prompt form a group."""
        for entry in entries:
            row = Active(entry, uniforms_of(entry.row.seed, entry.row.room))
            tokens = tuple(entry.row.tokens)
            self._waiting.setdefault(tokens, Group(tokens, deque())).rows.append(row)

    def fail(self, error: BaseException) -> None:
        """Fail every row and forget them all."""
        groups = (*self._waiting.values(), *self._reading)
        for row in [*self._rows(), *(row for group in groups for row in group.rows)]:
            row.entry.fail(error)
        for kept in (self._waiting, self._reading, self._entering, self._cohorts, self._stems):
            kept.clear()

    def step(self) -> None:
        """Generate one token for every row, and read the next prompts."""
        try:
            self._enter()
            self._admit()
            parts, reading, logits = self._pass()
        except (torch.OutOfMemoryError, RuntimeError) as error:
            if not _out_of_memory(error):
                raise
            self._shrink(error)
            return
        for part in parts:
            if isinstance(part.of, Cohort):
                part.of.advance()
            else:
                part.of.done += part.end - part.start
        for group, place in reading:
            group.logits = logits[place].clone()
        rows = [row for cohort in self._cohorts for row in cohort.rows]
        self._draw(rows, logits[: len(rows)])
        for cohort in self._cohorts:
            cohort.remove([place for place, row in enumerate(cohort.rows) if self._ended(row)])
        self._cohorts = [cohort for cohort in self._cohorts if cohort.rows]
        self._begin()

    def _enter(self) -> None:
        """Put rows that have their first token into a cohort: the shortest that is long enough, else a new one."""
        self._entering.sort(key=lambda one: -one[1].done)
        while self._entering:
            row, prefix = self._entering[0]
            fits = [
                cohort
                for cohort in self._cohorts
                if cohort.free and cohort.stem is prefix.stem and 0 <= cohort.filled - prefix.done <= APART
            ]
            cohort = min(fits, key=lambda one: one.filled, default=None) or Cohort(
                min(self._width, self.slots), prefix.done, prefix.stem
            )
            cohort.add(row, prefix)
            if not fits:
                self._cohorts.append(cohort)
            self._entering.pop(0)
        if len(self._cohorts) > COHORTS:
            self._merge()
        for cohort in self._cohorts:
            if cohort.filled >= cohort.columns():
                if self._bytes() + cohort.growth() > self._budget and self._live() > 1:
                    raise RuntimeError("not enough memory")
                cohort.grow()

    def _merge(self) -> None:
        """Merge cohorts that fit into one, those with the least waste first."""
        while len(self._cohorts) > COHORTS:
            pairs = [
                ((long.filled - short.filled) * len(short.rows), place, short, long)
                for place, (short, long) in enumerate(
                    (a, b) for a in self._cohorts for b in self._cohorts if a is not b and a.filled <= b.filled
                )
                if short.stem is long.stem and len(short.rows) <= long.free
            ]
            if not pairs:
                return
            _, _, short, long = min(pairs)
            long.take(short)
            self._cohorts.remove(short)

    def _admit(self) -> None:
        """Start reading prompts while there are slots for their rows."""
        ahead = max(1, self.slots // 8)  # these are ready when a row ends
        free = self.slots + ahead - self._live() - sum(len(group.rows) for group in self._reading)
        for tokens, group in list(self._waiting.items()):
            group.rows = deque(row for row in group.rows if not row.entry.abandoned)
            needed = self._bytes() + (len(tokens) + BLOCK) * self._token_bytes
            if free <= 0 or (needed > self._budget and (self._reading or self._live())):
                break
            del self._waiting[tokens]
            if group.rows:
                group.prefix = Prefix(tokens, self._stem_of(tokens))
                self._reading.append(group)
                free -= len(group.rows)

    def _stem_of(self, tokens: tuple[int, ...]) -> Prefix | None:
        """Return the longest stem that the tokens begin with, or a new one if many waiting prompts share it."""
        if not self._with_stems:
            return None
        for stem in sorted(self._stems, key=lambda one: -len(one.tokens)):
            if len(stem.tokens) < len(tokens) and tokens[: len(stem.tokens)] == stem.tokens:
                return stem
        alike = [same for other in list(self._waiting)[: 2 * STEMS] if (same := _common(tokens, other)) >= STEM]
        if not alike:
            return None
        stem = Prefix(tokens[: min(alike)])
        while stem.left:
            self._run([Part(stem, 0, min(READ, stem.left))], keep=[0])
            stem.done += min(READ, stem.left)
        self._stems = [*self._stems[-STEMS + 1 :], stem]
        return stem

    def _pass(self) -> tuple[list[Part], list[tuple[Group, int]], torch.Tensor]:
        """Build this step's sequence; return which groups it reads completely and where their logits are."""
        parts: list[Part] = []
        keep: list[int] = []
        at = 0
        for cohort in self._cohorts:
            parts.append(Part(cohort, at, at + len(cohort.rows)))
            at += len(cohort.rows)
        keep += range(at)
        read: list[tuple[Group, int]] = []
        room = READ
        for group in self._reading:
            assert group.prefix is not None
            tokens = min(room, group.prefix.left)
            if tokens:
                parts.append(Part(group.prefix, at, at + tokens))
                at, room = at + tokens, room - tokens
                if tokens == group.prefix.left:
                    read.append((group, len(keep)))
                    keep.append(at - 1)
        return parts, read, self._run(parts, keep)

    def _run(self, parts: list[Part], keep: list[int]) -> torch.Tensor:
        tokens: list[int] = []
        positions: list[int] = []
        for part in parts:
            if isinstance(part.of, Cohort):
                before = len(part.of.stem.tokens) if part.of.stem else 0
                tokens += [row.written[-1] for row in part.of.rows]
                positions += [before + length for length in part.of.lengths]
            else:
                first = part.of.before + part.of.done
                positions += range(first, first + part.end - part.start)
                tokens += part.of.tokens[first : first + part.end - part.start]
        current.parts = parts
        if not tokens:  # every prompt is read, and all their rows ended at once
            return torch.empty(0)
        logits = self._forward(torch.tensor([tokens]), torch.tensor([positions]), torch.tensor(keep))
        if not self._token_bytes:
            self._token_bytes = _token_bytes(parts)
        return logits

    def _begin(self) -> None:
        """Give rows whose prompt is read their first token, as far as there are slots."""
        first: list[tuple[Active, Group]] = []
        free = self.slots - self._live()
        for group in self._reading:
            while group.rows and group.logits is not None and len(first) < free:
                first.append((group.rows.popleft(), group))
        self._reading = [group for group in self._reading if group.rows]
        if first:
            logits = torch.stack([group.logits for _, group in first if group.logits is not None])
            self._draw([row for row, _ in first], logits)
        self._entering += [(row, group.prefix) for row, group in first if group.prefix and not self._ended(row)]

    def _draw(self, rows: Sequence[Active], logits: torch.Tensor) -> None:
        """Sample the next token of each row."""
        kinds: dict[Any, list[int]] = {}
        for place, row in enumerate(rows):
            kinds.setdefault(row.entry.row.sampling, []).append(place)
        for sampling, places in kinds.items():
            these = logits if len(kinds) == 1 else logits[places]
            uniforms = [float(rows[place].uniforms[len(rows[place].written)]) for place in places]
            chosen = choose(these, torch.tensor(uniforms, dtype=torch.float64, device=these.device), sampling)
            if self._logprobs:
                likely = these.float().log_softmax(dim=-1).gather(-1, chosen[:, None]).squeeze(-1).tolist()
                for place, logprob in zip(places, likely, strict=True):
                    rows[place].logprobs.append(logprob)
            for place, token in zip(places, chosen.tolist(), strict=True):
                rows[place].written.append(token)

    def _ended(self, row: Active) -> bool:
        """Return whether a row is done (then it is answered) or was cancelled."""
        if row.entry.abandoned:
            return True
        if self._endings.reason(row.entry.row, row.written) is None:
            return False
        more: dict[str, Any] = {"logprobs": row.logprobs} if self._logprobs else {}
        row.entry.finish(self._endings.completion(row.entry.row, row.written, **more))
        return True

    def _shrink(self, error: BaseException) -> None:
        """Halve the slots: the youngest rows wait again, with what they have written appended to their prompt."""
        live = sorted(self._rows(), key=lambda row: -len(row.written))
        if len(live) + len(self._reading) <= 1:
            for row in [*live, *(row for group in self._reading for row in group.rows)]:
                row.entry.fail(RequestFailed("out_of_memory", str(error).partition("\n")[0], retryable=False))
            live, self._reading = [], []
        self.slots = max(1, min(self.slots, max(len(live), len(self._reading))) // 2)
        again = set(live[self.slots :])
        for cohort in self._cohorts:
            cohort.remove([place for place, row in enumerate(cohort.rows) if row in again or row not in live])
        self._cohorts = [cohort for cohort in self._cohorts if cohort.rows]
        self._entering = [(row, prefix) for row, prefix in self._entering if row in live and row not in again]
        self._stems.clear()
        back = [Group((*row.entry.row.tokens, *row.written), deque([row])) for row in again]
        former, self._waiting = (*self._reading, *back, *self._waiting.values()), {}
        for group in former:
            self._waiting.setdefault(group.tokens, Group(group.tokens, deque())).rows.extend(group.rows)
        self._reading = []

    def _rows(self) -> list[Active]:
        return [row for cohort in self._cohorts for row in cohort.rows] + [row for row, _ in self._entering]

    def _live(self) -> int:
        return sum(len(cohort.rows) for cohort in self._cohorts) + len(self._entering)

    def _bytes(self) -> int:
        prefixes = {*self._stems, *(prefix for _, prefix in self._entering)}
        prefixes |= {group.prefix for group in self._reading if group.prefix}
        return sum(one.size() for one in self._cohorts) + sum(one.size() for one in prefixes)


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the length of the common beginning, leaving at least one token of each."""
    most = min(len(first), len(second)) - 1
    return next((at for at in range(most) if first[at] != second[at]), most)


def _token_bytes(parts: Sequence[Part]) -> float:
    """Return the bytes of keys and values per token."""
    prefix = next(part.of for part in parts if isinstance(part.of, Prefix))
    return prefix.size() / (len(prefix.tokens) - prefix.before)


def _out_of_memory(error: BaseException) -> bool:
    """Recognise memory exhaustion: a GPU's allocator has its own exception, the CPU's only a message."""
    words = ("can't allocate memory", "not enough memory")
    return isinstance(error, torch.OutOfMemoryError) or any(word in str(error) for word in words)
