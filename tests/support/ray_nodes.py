"""A Ray cluster of two nodes on this machine, one for all tests of a process."""

import os
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from stand_in_server import install

ATTEMPTS = 6


def patiently(start):
    """Start a part of Ray, again if it fails: it allows its processes 15 and 30 s, which cannot be changed."""
    for _ in range(ATTEMPTS - 1):
        try:
            return start()
        except Exception as failure:  # noqa: BLE001 - it has no class of its own
            print(f"Ray is started again: {failure}")
    return start()


class TwoNodes:
    """The head with one core and another node with two, which a test may kill.

    They find a stand-in for `vllm` on their path, and were started in a folder that has no data.
    """

    def __init__(self, folder: Path) -> None:
        from ray.cluster_utils import Cluster

        self._folder = folder
        self._programs = install(folder / "bin").parent
        self._cluster = Cluster()
        self._start(num_cpus=1, include_dashboard=False)
        self.address = self._cluster.address
        self._second = None

    def _start(self, **node):
        with self._environment():
            return patiently(lambda: self._cluster.add_node(wait=False, **node))

    @contextmanager
    def _environment(self):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
            patch.setenv("RAY_worker_register_timeout_seconds", "200")
            patch.setenv("RAY_gcs_server_port_wait_time_s", "200")
            patch.setenv("RAY_worker_niceness", "0")  # 15 by default: beside other tests nothing would move
            patch.setenv("PATH", f"{self._programs}:{os.environ['PATH']}")
            patch.delenv("MARKSCHEME_DATA", raising=False)
            patch.chdir(self._folder)
            yield

    def have_both(self) -> None:
        """Start the second node if a test has killed it."""
        if self._second is None:
            self._second = self._start(num_cpus=2)
        self._wait_for_cores(3)

    def kill_second(self) -> None:
        """As if the machine had gone."""
        second, self._second = self._second, None
        self._cluster.remove_node(second, allow_graceful=False)

    def have_one(self) -> None:
        """Only the head, with its one core."""
        if self._second is not None:
            self.kill_second()
        self._wait_for_cores(1)

    def _wait_for_cores(self, count: int) -> None:
        import ray

        deadline = time.monotonic() + 120
        while ray.cluster_resources().get("CPU", 0) != count:
            assert time.monotonic() < deadline, f"not {count} cores: {ray.cluster_resources()}"
            time.sleep(0.05)

    def shutdown(self) -> None:
        """End every process of it."""
        self._cluster.shutdown()
