"""The interface of tools, and the table of them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

from markscheme.config import RunConfig
from markscheme.errors import UsageError, nearest, option
from markscheme.types import ToolSpec

# The tools by name; `markscheme.tools.NAME` has a function `create(config) -> Tool`.
TOOLS = {
    "python": "runs Python in a sandbox",
}


class Result(NamedTuple):
    """The result of a call."""

    text: str
    failed: bool = False
    lost: bool = False  # the state that earlier calls left is lost


class Tool(ABC):
    """Answers calls. It has no state: a call gets the arguments of earlier ones."""

    spec: ToolSpec
    where: str = "this process"  # where calls run, as shown to the user

    def read(self, arguments: str) -> dict[str, Any] | None:
        """Return the arguments of a call by name; None if they are not a JSON object.

        A call in the text has no names: it is the value of the first parameter.
        """
        if not arguments.lstrip().startswith("{"):
            return {next(iter(self.spec.parameters["properties"])): arguments} if arguments.strip() else None
        try:
            given = json.loads(arguments, strict=False)
        except (ValueError, RecursionError):
            return None
        return given if isinstance(given, dict) else None

    @abstractmethod
    async def run(self, arguments: str, earlier: Sequence[str]) -> Result:
        """Return the result of a call. `earlier` are the arguments of earlier calls of this tool, since the last one with `lost`.

        Arguments that cannot be used give a `failed` result; only a bug is raised.
        """


def make_tools(config: RunConfig, usual: tuple[str, ...] = ()) -> dict[str, Tool]:
    """Return the tools of a run, ready to be called; refuse one that is unknown or cannot run here.

    `usual` are the benchmark's, for when the user names none; the name `none` means no tools.
    """
    if config.tool_format != "native" and not (config.tools or usual):
        raise UsageError(f"{option('tool_format', config.tool_format)} needs {option('tools', 'python')}")
    wanted = [name for name in dict.fromkeys(config.tools or usual) if name != "none"]
    for name in wanted:
        if name not in TOOLS:
            raise UsageError(f"there is no tool {name!r}; {nearest(name, TOOLS, 'there are ' + ', '.join(TOOLS))}")
    return {name: import_module(f"markscheme.tools.{name}").create(config) for name in wanted}
