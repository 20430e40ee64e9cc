"""When a row is done, and its completion: the end token, a stop text, or the limit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from markscheme.models.base import Completion
from markscheme.models.batching import Row

# Extra tokens that are decoded to find a stop text: it may begin inside a token, and a character may take several.
TAIL = 8


class Endings:
    """Watches rows for their end; knows the tokenizer."""

    def __init__(self, tokenizer: Any, ends: Sequence[int], model: str) -> None:
        self._tokenizer, self._model = tokenizer, model
        added = tokenizer.added_tokens_decoder
        special = {str(token): number for number, token in added.items() if token.special}
        # Special tokens are not part of the text that is searched for a stop.
        self.tokens = cache(lambda stop: frozenset(ends) | {special[text] for text in stop if text in special})
        """The tokens that end a row with these stop texts."""
        self._may_close = cache(self._can_close)

    def reason(self, row: Row, written: Sequence[int]) -> str | None:
        """Return `stop` or `length` if the last token ends the row."""
        last, stop = written[-1], row.sampling.stop
        if last in self.tokens(stop):
            return "stop"
        if stop and self._may_close(last, stop) and self._closes(written, stop):
            return "stop"
        return "length" if len(written) >= row.room else None

    def completion(self, row: Row, written: Sequence[int], **metadata: Any) -> Completion:
        """Return the row's text up to its end token, a stop text, or the limit."""
        ends = self.tokens(row.sampling.stop)
        end = next((at for at, token in enumerate(written) if token in ends), None)
        tokens = written[:end]
        text: str = self._tokenizer.decode(tokens, skip_special_tokens=True)
        places = [at for stop in row.sampling.stop if (at := text.find(stop)) >= 0]
        return Completion(
            text=text[: min(places)] if places else text,
            finish_reason="stop" if places or end is not None else "length",
            prompt_tokens=len(row.tokens),
            completion_tokens=len(tokens),
            model=self._model,
            metadata=metadata,
        )

    def _can_close(self, token: int, stop: tuple[str, ...]) -> bool:
        """Return whether a stop text can end in this token, so that the text need not be decoded at every step."""
        piece = self._tokenizer.decode([token])
        return "�" in piece or any(text[-1].isspace() or text[-1] in piece for text in stop)

    def _closes(self, written: Sequence[int], stop: tuple[str, ...]) -> bool:
        longest = max(map(len, stop)) + TAIL  # a token has at least one character, or is part of one
        text = self._tokenizer.decode(written[-longest:], skip_special_tokens=True)
        return any(one in text for one in stop)
