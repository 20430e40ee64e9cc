"""A pytest plug-in: the fixture `markscheme_gate` fails a test if a policy's limits are broken or inconclusive."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from markscheme.reporting.gate import Gate


@pytest.fixture
def markscheme_gate() -> Callable[..., Gate]:
    """Check a policy: `markscheme_gate("gate.toml", "runs/head", against="runs/base")`; `open="pass"` lets inconclusive
    limits pass.
    """

    def check(policy: Any, *runs: Any, against: Any = (), aa: Any = (), open: str = "fail") -> Gate:
        from markscheme.reporting.gate import gate_from, gate_markdown

        folders = [
            [each] if isinstance(each, str) or hasattr(each, "__fspath__") else list(each) for each in (against, aa)
        ]
        result = gate_from(policy, list(runs), *folders)
        if result.decision == "fail" or (result.decision == "inconclusive" and open == "fail"):
            pytest.fail(gate_markdown(result), pytrace=False)
        return result

    return check
