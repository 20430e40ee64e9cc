"""The tool `python`: runs code of the model and returns what it printed.

The code of earlier calls is run again first, so their names are defined: no process has to stay alive, and a conversation
that is resumed after a kill continues as it was.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from markscheme.config import RunConfig
from markscheme.tools.base import Result, Tool
from markscheme.tools.boxes import Limits
from markscheme.tools.sandbox import Ended, Sandbox, choose_sandbox
from markscheme.types import ToolSpec

LONGEST_RESULT = 8_000  # characters of the output that the model sees: both ends


def create(config: RunConfig) -> Tool:
    """Return the tool with the limits of a run."""
    limits = Limits(config.tool_timeout, config.tool_memory, config.tool_image)
    return Python(choose_sandbox(config.sandbox, limits, unsafe=config.unsafe_tools), config.tool_state == "session")


class Python(Tool):
    """Runs Python code."""

    def __init__(self, sandbox: Sandbox, keeps: bool = True) -> None:
        self._sandbox, self.where, self._keeps = sandbox, sandbox.name, keeps
        self._session = Path(__file__).with_name("_session.py").read_text()
        kept = "Variables stay for the next call." if keeps else "Every call begins anew, without earlier variables."
        self.spec = ToolSpec(
            name="python",
            description="Run Python code (sympy and numpy may be installed). Returns what it prints and the value of its "
            f"last line. {kept}",
            parameters={
                "type": "object",
                "properties": {"code": {"type": "string", "description": "the code"}},
                "required": ["code"],
            },
        )

    async def run(self, arguments: str, earlier: Sequence[str]) -> Result:
        code = self._code(arguments)
        if code is None:
            return Result('the arguments are not {"code": "…"}', failed=True)
        before = [each for one in earlier if (each := self._code(one)) is not None] if self._keeps else []
        ended = await self._run(*before, code)
        if not ended.begun:  # earlier code no longer runs to its end, so its state is lost
            ended = await self._run(code)
        printed = ended.output.decode("utf-8", "replace").strip()
        if len(printed) > LONGEST_RESULT:
            printed = f"{printed[: LONGEST_RESULT // 2]}\n…\n{printed[-LONGEST_RESULT // 2 :]}"
        if ended.whole:
            return Result(printed, failed=ended.status != 0)
        why = ended.why or f"it ended with status {ended.status}"
        lost = "; its variables are lost" if self._keeps else ""
        return Result(f"{printed}\nthe code was stopped: {why}{lost}".strip(), failed=True, lost=True)

    async def _run(self, *codes: str) -> Ended:
        return await self._sandbox.run(self._session, json.dumps(codes).encode(), len(codes) - 1)

    def _code(self, arguments: str) -> str | None:
        code = (self.read(arguments) or {}).get("code")
        return code if isinstance(code, str) else None
