"""A Ray cluster of two nodes on this machine, to which the tests are connected."""

from contextlib import contextmanager

import pytest


@contextmanager
def two_nodes(*, path=None, folder=None, without=()):
    """The head with one core and `second` with two; they may have another PATH or folder, and lack some variables."""
    import ray
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")  # 15 by default: beside other tests nothing would move
        if path is not None:
            patch.setenv("PATH", path)
        if folder is not None:
            patch.chdir(folder)
        for name in without:
            patch.delenv(name, raising=False)
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        cluster.second = cluster.add_node(num_cpus=2)
    try:
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        cluster.wait_for_nodes()
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
