"""Calls of a tool as part of the text, for models without tool calls of their own: the published ways, by name."""

from __future__ import annotations

from typing import NamedTuple

from markscheme.tools.base import Result


class TextFormat(NamedTuple):
    """How a model calls in its text, and how the result follows there. The call is the end of what the model says."""

    opens: str
    closes: str
    result: str  # with {} for what the tool gave
    stop: str  # at which generation ends, since the model would invent the result
    shows_errors: bool = True

    def call(self, text: str) -> str | None:
        """What the text ends by calling with. Servers leave out the text at which they stop."""
        opened = text.rfind(self.opens)
        code, closed, after = text[opened + len(self.opens) :].partition(self.closes)
        if opened < 0 or after.strip() or not (closed or self.stop == self.closes):
            return None
        return code

    def answered(self, text: str, result: Result) -> str:
        """What follows the text of a call."""
        missing = self.closes if self.closes not in text[text.rfind(self.opens) :] else ""
        line = "\n" if self.result.startswith("```") and not text.endswith("\n") else ""
        shown = self.result.replace("{}", result.text) if self.shows_errors or not result.failed else ""
        return f"{missing}{line}{shown}"


FORMATS = {
    # ToRA (Gou et al. 2023), NeMo-Skills
    "fenced": TextFormat("```python\n", "\n```", "```output\n{}\n```\n", "```output"),
    # nanochat's engine: an expression; where it cannot be computed nothing follows
    "nanochat": TextFormat(
        "<|python_start|>", "<|python_end|>", "<|output_start|>{}<|output_end|>", "<|python_end|>", shows_errors=False
    ),
}
