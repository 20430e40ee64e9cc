"""What a tool is, and the table of those that there are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from markscheme.config import RunConfig
from markscheme.errors import UsageError, nearest
from markscheme.types import ToolSpec

# The tools by name; `markscheme.tools.NAME` has a function `create(config) -> Tool`.
TOOLS = {
    "python": "runs Python in a sandbox",
}


class Result(NamedTuple):
    """What a tool gives back."""

    text: str
    failed: bool = False
    lost: bool = False  # what earlier calls left for later ones is gone


class Tool(ABC):
    """Answers calls. It keeps nothing: what a call needs of earlier ones, it gets with the call."""

    spec: ToolSpec
    where: str = "this process"  # where calls run, for the user to see

    @abstractmethod
    async def run(self, arguments: str, earlier: Sequence[str]) -> Result:
        """The result of a call; `earlier` are the arguments of the calls of this tool before it, since one that lost everything.

        Whatever the model wrote is answered, with `failed` where it cannot be done: only a bug is raised.
        """


def make_tools(config: RunConfig, usual: tuple[str, ...] = ()) -> dict[str, Tool]:
    """The tools that a run offers, ready to be called; refuses one that there is not, or that cannot run here.

    `usual` are those of the benchmark, for when the user names none; the name `none` stands for none at all.
    """
    wanted = [name for name in dict.fromkeys(config.tools or usual) if name != "none"]
    for name in wanted:
        if name not in TOOLS:
            raise UsageError(f"there is no tool {name!r}; {nearest(name, TOOLS, 'there are ' + ', '.join(TOOLS))}")
    return {name: import_module(f"markscheme.tools.{name}").create(config) for name in wanted}
