"""The last resort: sympy in a sandbox, asked whether two answers that agree numerically are really equal."""

from __future__ import annotations

TASK = "markscheme.marking.equality.proofs:decide"


def ask(answer: str, gold: str, time_limit: float) -> tuple[bool | None, str]:
    """What sympy says of two answers within the limits, and why it says nothing when it does not."""
    from markscheme.marking import sandbox

    outcome = sandbox.default_pool().run(TASK, [answer, gold], time_limit=time_limit)
    if outcome.status != "done":
        return None, outcome.why
    return outcome.value, "computer algebra could not decide"
