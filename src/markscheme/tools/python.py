"""The tool `python`: runs what the model wrote and gives back what it printed.

Names that earlier calls of a conversation defined are there, because their code is run again first: no process has to
be kept alive, and a conversation that is resumed after a kill goes on as it was.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from markscheme.config import RunConfig
from markscheme.tools.base import Result, Tool
from markscheme.tools.sandbox import Sandbox
from markscheme.types import ToolSpec

LONGEST_RESULT = 8_000  # characters that the model gets to see: both ends of what was printed


def create(config: RunConfig) -> Tool:
    """The tool with the limits of a run."""
    return Python(Sandbox(config.tool_timeout, config.tool_memory, unsafe=config.unsafe_tools))


class Python(Tool):
    """Runs Python code."""

    spec = ToolSpec(
        name="python",
        description="Run Python code (sympy and numpy may be installed). Returns what it prints and the value of its last "
        "line. Variables stay for the next call.",
        parameters={
            "type": "object",
            "properties": {"code": {"type": "string", "description": "the code"}},
            "required": ["code"],
        },
    )

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox, self.where = sandbox, sandbox.name
        self._session = Path(__file__).with_name("_session.py").read_text()

    async def run(self, arguments: str, earlier: Sequence[str]) -> Result:
        code = _code(arguments)
        if code is None:
            return Result('the arguments are not {"code": "…"}', failed=True)
        before = [each for one in earlier if (each := _code(one)) is not None]
        command = (sys.executable, "-I", "-c", self._session)
        ended = await self._sandbox.run(command, json.dumps([*before, code]).encode())
        printed = ended.output.decode("utf-8", "replace").strip()
        if len(printed) > LONGEST_RESULT:
            printed = f"{printed[: LONGEST_RESULT // 2]}\n…\n{printed[-LONGEST_RESULT // 2 :]}"
        if ended.status == 0:
            return Result(printed)
        reason = ended.why and f"the code was stopped: {ended.why}"
        return Result("\n".join(filter(None, [printed, reason])) or "the code ended without a word", failed=True)


def _code(arguments: str) -> str | None:
    """The code of a call: of a native one in its field, of one in the text as it is."""
    if not arguments.lstrip().startswith("{"):
        return arguments if arguments.strip() else None
    try:
        given = json.loads(arguments, strict=False)
    except (ValueError, RecursionError):
        return None
    code = given.get("code") if isinstance(given, dict) else None
    return code if isinstance(code, str) else None
