"""Tool calls in the text, for models without native tool calls: the published formats, by name."""

from __future__ import annotations

from typing import NamedTuple

from markscheme.tools.base import Result


class TextFormat(NamedTuple):
    """How a model calls a tool at the end of its text, and how the result follows."""

    opens: str
    closes: str
    result: str  # {} is the output of the tool
    stop: str  # generation stops here, else the model would invent the result
    shows_errors: bool = True

    def call(self, text: str) -> str | None:
        """Return the code of the call that ends a text. Servers leave out the stop text."""
        opened = text.rfind(self.opens)
        code, closed, after = text[opened + len(self.opens) :].partition(self.closes)
        if opened < 0 or after.strip() or not (closed or self.stop == self.closes):
            return None
        return code

    def answered(self, text: str, result: Result) -> str:
        """Return the text that follows a call."""
        missing = self.closes if self.closes not in text[text.rfind(self.opens) :] else ""
        line = "\n" if self.result.startswith("```") and not text.endswith("\n") else ""
        shown = self.result.replace("{}", result.text) if self.shows_errors or not result.failed else ""
        return f"{missing}{line}{shown}"


FORMATS = {
    # ToRA (Gou et al. 2023), NeMo-Skills
    "fenced": TextFormat("```python\n", "\n```", "```output\n{}\n```\n", "```output"),
    # nanochat's engine: an expression; nothing follows if it cannot be computed
    "nanochat": TextFormat(
        "<|python_start|>", "<|python_end|>", "<|output_start|>{}<|output_end|>", "<|python_end|>", shows_errors=False
    ),
}
