"""A real Ray cluster of two local nodes runs the blocks, and one of them dies."""

import os
import threading
import time

import numpy as np
import pytest

from conftest import needs_package
from dither.errors import InvalidArgument
from dither.procedures.executor import Output
from dither.sandbox import Function
from dither.sandbox.cluster import Cluster, ClusterSchedule

OUTPUT = Output(1, bounds=(0, 1000), default=500)
PROGRAM = "def program(rows):\n    return rows.sum()"
WRONG = "def program(rows): return [1.0, 2.0]"
WHERE = "import os\ndef program(rows):\n    return float(os.getpid() == 1 and 'ray' not in __import__('sys').modules)"


@pytest.fixture
def two_nodes():
    """A head and one more node, as processes of this machine."""
    needs_package("ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray
    from ray.cluster_utils import Cluster as LocalCluster

    small = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
    local = LocalCluster(initialize_head=True, head_node_args=small)
    second = local.add_node(num_cpus=1, object_store_memory=80 << 20)
    ray.init(address=local.address, log_to_driver=False)
    try:
        yield local, second
    finally:
        ray.shutdown()
        local.shutdown()


def test_blocks_survive_the_death_of_a_node(two_nodes):
    """Every block is answered in order, those of the dead node by the other; the moment of the answer is as planned.

    One test, for a cluster takes long to start: before the death, programs run inside sandboxes and not in Ray's
    workers, and one that fails on the public example is refused with the same error as on one machine.
    """
    local, second = two_nodes
    blocks = [np.full(10, float(place)) for place in range(16)]
    expected = [10.0 * place for place in range(16)]
    with Cluster(Function(WHERE, "program"), output=OUTPUT, slot=0.9, cores=1, losses=0) as box:
        assert box.run(blocks[:2])[:, 0].tolist() == [1.0, 1.0]

    with (
        pytest.raises(InvalidArgument, match="2 numbers instead of 1"),
        Cluster(Function(WRONG, "program"), output=OUTPUT, cores=1, losses=0, example=np.ones(3)),
    ):
        pass

    with Cluster(Function(PROGRAM, "program"), output=OUTPUT, slot=0.9, cores=1, detection=10) as box:
        planned = box.schedule(len(blocks)).seconds
        killer = threading.Timer(1.0, lambda: local.remove_node(second, allow_graceful=False))
        killer.start()
        heard = []
        begin = time.monotonic()
        answers = box.run(blocks, progress=lambda done, planned: heard.append((done, planned)))
        taken = time.monotonic() - begin
        killer.join()
        assert answers[:, 0].tolist() == expected
        assert (box.lost_nodes, box.repeated_blocks, box.failures) == (1, 8, 0)
        assert heard[-1] == (16, 16)
        assert planned <= taken < planned + 5


def test_the_plan_is_public():
    """Shares follow the cores and cover every block once; time for losses is set aside beforehand."""
    plan = ClusterSchedule(blocks=100, cores=(2, 4, 1), slot=0.1, losses=0, detection=10)
    dealt = [place for node in range(3) for place in plan.places(node)]
    assert dealt == list(range(100))
    assert [plan.share(node) for node in range(3)] == [28, 57, 15]
    assert ClusterSchedule(blocks=100, cores=(2, 4, 1), slot=0.1, losses=1, detection=10).seconds > plan.seconds + 10
    with pytest.raises(InvalidArgument, match="losses"):
        Cluster(Function(PROGRAM, "program"), output=OUTPUT, losses=-1)
