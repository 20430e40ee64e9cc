"""How worker processes share the tests: file by file, what takes longest first, what needs the same preparation together.

With a file goes what its tests share: a server, a browser, a cluster, a heavy import. And no worker waits in the end for
another that took up a long file last.
"""

import pytest
from xdist.scheduler import LoadScopeScheduling

LONGEST = (
    "models/fleet/test_managed_servers.py",
    "plugins/test_lm_eval.py",
    "test_docs.py",
    "models/fleet/test_ray.py",
    "models/fleet/test_real_vllm.py",
    "view/test_view_browser.py",
    "plugins/test_inspect.py",
    "compat/test_chat_eval.py",
    "models/fleet/test_ranks.py",
    "models/test_foreign_server.py",
    "models/local/test_engine.py",
    "running/test_attacks.py",
    "nano/test_nano.py",
    "running/test_whole_runs.py",
    "experiments/test_experiments.py",
    "statistics/test_coverage.py",
)
TOGETHER = {
    "plugins/test_lm_eval_model.py": "plugins/test_lm_eval.py",  # a process that has lm_eval and torch already
    "marking/bulk/test_ray_marking.py": "models/fleet/test_ray.py",  # a cluster
}


def scope_of(nodeid: str) -> str:
    """The file that a test is asked for with."""
    file = nodeid.partition("::")[0].removeprefix("tests/")
    return TOGETHER.get(file, file)


class ByFile(LoadScopeScheduling):
    """Gives a free worker the next file."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def longest_first(items: list[pytest.Item]) -> None:
    """Order the tests; within a file they keep their order."""
    place = {file: number for number, file in enumerate(LONGEST)}
    items.sort(key=lambda item: (place.get(scope_of(item.nodeid), len(place)), scope_of(item.nodeid)))
