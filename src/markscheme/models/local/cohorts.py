"""Keys and values: cohorts of rows of similar length, and prefixes that many rows share.

Rows of a cohort are aligned at their ends: a step writes one column for all of them and reads as far back as the
longest row. Lengths differ little within a cohort, so little is read for nothing; a single batch for all rows would read four
times as much with geometric lengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

import torch

# Columns by which a cohort grows. Growing copies it, so blocks must not be small; the last block is half empty on
# average, so not large either.
BLOCK = 64

Row = TypeVar("Row")


class Prefix:
    """Keys and values of consecutive tokens: of a prompt, or (as `stem`) of what several prompts begin with."""

    def __init__(self, tokens: Sequence[int], stem: Prefix | None = None) -> None:
        self.tokens, self.stem = tokens, stem
        """`tokens` are all tokens, including those of the stem."""
        self.keys: dict[int, torch.Tensor] = {}
        self.values: dict[int, torch.Tensor] = {}
        """By layer: heads × tokens after the stem × width."""
        self.done = 0
        """Number of computed tokens after the stem."""

    @property
    def before(self) -> int:
        """Tokens of the stem."""
        return len(self.stem.tokens) if self.stem else 0

    @property
    def left(self) -> int:
        """Tokens still to be computed."""
        return len(self.tokens) - self.before - self.done

    def write(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Store the next tokens of a layer (heads × tokens × width); return all of its tokens so far."""
        end = self.done + keys.shape[1]
        if layer not in self.keys:
            room = len(self.tokens) - self.before
            self.keys[layer] = keys.new_empty((keys.shape[0], room, keys.shape[2]))
            self.values[layer] = values.new_empty((values.shape[0], room, values.shape[2]))
        self.keys[layer][:, self.done : end] = keys
        self.values[layer][:, self.done : end] = values
        return self.keys[layer][:, :end], self.values[layer][:, :end]

    def size(self) -> int:
        """Size in bytes."""
        return sum(one.nbytes for one in (*self.keys.values(), *self.values.values()))


class Cohort(Generic[Row]):
    """Rows of similar length after one stem (or none). A place may be reused when its row leaves."""

    def __init__(self, width: int, filled: int, stem: Prefix | None) -> None:
        self.width, self.filled, self.stem = width, filled, stem
        self.rows: list[Row] = []
        self.lengths: list[int] = []
        """Number of columns of each row, counted from the end."""
        self.keys: dict[int, torch.Tensor] = {}
        self.values: dict[int, torch.Tensor] = {}
        """By layer: places × heads × columns × width."""
        self._mask: dict[tuple[torch.device, torch.dtype], torch.Tensor] = {}

    @property
    def free(self) -> int:
        """Places for further rows."""
        return self.width - len(self.rows)

    def add(self, row: Row, prefix: Prefix) -> None:
        """Add a row that begins with what the prefix holds after its stem."""
        if not self.keys:
            self._allocate(prefix)
        place, start = len(self.rows), self.filled - prefix.done
        for ours, theirs in ((self.keys, prefix.keys), (self.values, prefix.values)):
            for layer, tensor in ours.items():
                tensor[place, :, start : self.filled] = theirs[layer]
        self._append(row, prefix.done)

    def write(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Store one token per row of a layer (rows × heads × width); return everything so far, including this column."""
        rows, end = len(self.rows), self.filled + 1
        self.keys[layer][:rows, :, self.filled] = keys
        self.values[layer][:rows, :, self.filled] = values
        return self.keys[layer][:rows, :, :end], self.values[layer][:rows, :, :end]

    def mask(self, like: torch.Tensor, window: int | None) -> torch.Tensor | None:
        """Return 0 where a row's token may attend and -inf elsewhere; `None` if all rows are full."""
        first = max(0, self.filled + 1 - window) if window else 0
        if min(self.lengths) >= self.filled - first:
            return None
        kind = (like.device, like.dtype)
        if kind not in self._mask:
            hidden = torch.arange(self.filled + 1)[None, :] < self.filled - torch.tensor(self.lengths)[:, None]
            mask = torch.zeros(hidden.shape).masked_fill_(hidden, -torch.inf)
            self._mask[kind] = mask[:, None, None, :].to(like.device, like.dtype)
        return self._mask[kind][..., first:]

    def advance(self) -> None:
        """Count the column that a step has written in every layer."""
        self.filled += 1
        self.lengths = [length + 1 for length in self.lengths]
        self._mask.clear()

    def grow(self) -> None:
        """Add a block of columns."""
        longer = [
            {layer: _longer(one, len(self.rows)) for layer, one in kept.items()} for kept in (self.keys, self.values)
        ]
        self.keys, self.values = longer

    def growth(self) -> int:
        """Bytes that growing takes."""
        return self.size() * BLOCK // max(1, self.columns())

    def remove(self, places: Sequence[int]) -> None:
        """Remove rows; the last ones fill the gaps."""
        for place in sorted(places, reverse=True):
            last = len(self.rows) - 1
            if place != last:
                self.rows[place], self.lengths[place] = self.rows[last], self.lengths[last]
                start = self.filled - self.lengths[place]
                for tensor in self._tensors():
                    tensor[place, :, start : self.filled] = tensor[last, :, start : self.filled]
            self.rows.pop()
            self.lengths.pop()
        self._mask.clear()

    def take(self, other: Cohort[Row]) -> None:
        """Take over the rows of a cohort that is not longer than this one."""
        for ours, theirs in ((self.keys, other.keys), (self.values, other.values)):
            for layer, tensor in ours.items():
                old = theirs[layer][: len(other.rows), :, : other.filled]
                places = slice(len(self.rows), len(self.rows) + len(other.rows))
                tensor[places, :, self.filled - other.filled : self.filled] = old
        for row, length in zip(other.rows, other.lengths, strict=True):
            self._append(row, length)

    def size(self) -> int:
        """Size in bytes."""
        return sum(one.nbytes for one in self._tensors())

    def columns(self) -> int:
        """Columns that have memory."""
        return next((tensor.shape[2] for tensor in self.keys.values()), 0)

    def _append(self, row: Row, length: int) -> None:
        self.rows.append(row)
        self.lengths.append(length)
        self._mask.clear()

    def _allocate(self, prefix: Prefix) -> None:
        columns = self.filled + BLOCK
        for ours, like in ((self.keys, prefix.keys), (self.values, prefix.values)):
            for layer, tensor in like.items():
                # Zeros, because masked values are still multiplied and a NaN in fresh memory would spoil the sum.
                ours[layer] = tensor.new_zeros((self.width, tensor.shape[0], columns, tensor.shape[2]))

    def _tensors(self) -> Iterator[torch.Tensor]:
        yield from self.keys.values()
        yield from self.values.values()


def _longer(tensor: torch.Tensor, rows: int) -> torch.Tensor:
    places, heads, columns, width = tensor.shape
    longer = tensor.new_empty((places, heads, columns + BLOCK, width))
    longer[:rows, :, :columns] = tensor[:rows]
    longer[rows:, :, :columns] = 0
    longer[:, :, columns:] = 0
    return longer
