"""`solver`: answers Countdown with the exact solver. It is the upper bound and needs nothing installed.

It reads the puzzle from the question as any model would, and says so if the question is not a puzzle.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from markscheme.config import RunConfig
from markscheme.errors import UsageError
from markscheme.models.base import Completion, Model, Request, RequestFailed

_PUZZLE = re.compile(r"numbers ([\d, ]+).*?target (?:of )?(\d+)", re.DOTALL)


def create(target: str, config: RunConfig) -> Solver:  # noqa: ARG001 - the signature of every backend
    """Create the solver, which takes no target."""
    if target:
        raise UsageError(f"the solver takes nothing after its name: use `solver`, not `solver/{target}`")
    return Solver()


class Solver(Model):
    """Finds one exact solution, or proves that there is none."""

    name = "solver"
    concurrency = 4
    own_sampling = True

    async def generate(self, request: Request) -> Sequence[Completion]:
        """Return the same solution for every sample."""
        try:
            text = await asyncio.to_thread(_solve, request.statement)
        except UsageError as error:  # a puzzle that the solver cannot take, such as one with nine numbers
            raise RequestFailed("not solvable here", str(error), retryable=False) from None
        return [Completion(text=text, finish_reason="stop", model=self.name) for _ in request.samples]


def _solve(statement: str) -> str:
    from markscheme.countdown import solve

    puzzle = _PUZZLE.search(statement)
    if puzzle is None:
        return "This is not a Countdown puzzle: I see no numbers and target."
    numbers = [int(word) for word in re.findall(r"\d+", puzzle[1])]
    target = int(puzzle[2])
    solution = solve(numbers, target)
    if solution is None:
        return f"There is no way to make {target} from these numbers."
    return f"<answer>{solution.expression} = {target}</answer>"
