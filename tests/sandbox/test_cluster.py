"""A real Ray cluster of two local nodes runs the blocks, and one of them dies."""

import os
import socket
import threading
import time

import numpy as np
import pytest

import dither as dt
from conftest import needs_package
from dither.errors import InvalidArgument
from dither.procedures.executor import Output
from dither.sandbox import Function
from dither.sandbox.cluster import Cluster, ClusterSchedule

# On a busy machine drawing blocks may take longer than planned, which the owner is warned of.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:reading and drawing the blocks")]

OUTPUT = Output(1, bounds=(0, 1000), default=500)
PROGRAM = "def program(rows):\n    return rows.sum()"
WRONG = "def program(rows): return [1.0, 2.0]"
WHERE = "import os\ndef program(rows):\n    return float(os.getpid() == 1 and 'ray' not in __import__('sys').modules)"


@pytest.fixture
def two_nodes():
    """A head and one more node, as processes of this machine; and where clients may call."""
    needs_package("ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray
    from ray.cluster_utils import Cluster as LocalCluster

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    small = {"num_cpus": 1, "object_store_memory": 80 << 20}
    local = LocalCluster(
        initialize_head=True, head_node_args={**small, "include_dashboard": False, "ray_client_server_port": port}
    )
    second = local.add_node(**small)
    try:
        yield local, second, f"ray://127.0.0.1:{port}"
    finally:
        ray.shutdown()
        local.shutdown()


def test_blocks_survive_the_death_of_a_node(two_nodes):
    """Every block is answered in order, those of the dead node by the other; the moment of the answer is as planned.

    One test, for a cluster takes long to start: before the death, programs run inside sandboxes and not in Ray's
    workers, and one that fails on the public example is refused with the same error as on one machine.
    """
    import ray

    local, second, _ = two_nodes
    ray.init(address=local.address, log_to_driver=False)
    blocks = [np.full(10, float(place)) for place in range(16)]
    expected = [10.0 * place for place in range(16)]
    with Cluster(Function(WHERE, "program"), output=OUTPUT, slot=2.0, cores=1, losses=0) as box:
        assert box.run(blocks[:2])[:, 0].tolist() == [1.0, 1.0]

    with (
        pytest.raises(InvalidArgument, match="2 numbers instead of 1"),
        Cluster(Function(WRONG, "program"), output=OUTPUT, cores=1, losses=0, example=np.ones(3)),
    ):
        pass

    with Cluster(Function(PROGRAM, "program"), output=OUTPUT, slot=2.0, cores=1, detection=10) as box:
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
        assert taken >= planned


def mean_age(rows):
    """What the session below is asked."""
    return rows["age"].to_numpy().mean()


def test_a_session_asks_a_cluster_and_pays_once_whatever_dies(two_nodes, monkeypatch):
    """By its public address; a node dies when some blocks are done, the owner hears of all of them, one charge is made.

    Many blocks and a large epsilon: a block that was dropped would count as the default, 120, and pull the median up.
    """
    monkeypatch.setattr("dither.sandbox.cluster._CONNECTING_SECONDS", 300.0)  # however busy the machine is
    local, second, address = two_nodes
    session = dt.open({"age": [40] * 320}, columns={"age": dt.Integer(0, 120)}, budget=dt.Budget(100.0), rows=320)
    heard: list[tuple[int, int]] = []
    killers: list[threading.Thread] = []

    def progress(done, planned):
        heard.append((done, planned))
        if done >= 2 and not killers:
            killers.append(threading.Thread(target=local.remove_node, args=(second,), kwargs={"allow_graceful": False}))
            killers[0].start()

    query = dt.Program(
        mean_age,
        bounds=(0, 120),
        blocks=16,
        default=120,
        executor=address,
        progress=progress,
        settings={"slot": 0.9, "cores": 1, "detection": 10},
    )
    release = session.ask(query, epsilon=60.0, confidence=None, request_id="one")
    killers[0].join()
    assert abs(release.value - 40) < 1
    assert heard[-1] == (16, 16)
    assert session.ask(query, epsilon=60.0, confidence=None, request_id="one") == release
    assert session.budget.spent == dt.Loss(60.0)
    assert len(session.history) == 1


def test_the_plan_is_public():
    """Shares follow the cores and cover every block once; time for losses is set aside beforehand."""
    plan = ClusterSchedule(blocks=100, cores=(2, 4, 1), slot=0.1, losses=0, detection=10)
    dealt = [place for node in range(3) for place in plan.places(node)]
    assert dealt == list(range(100))
    assert [plan.share(node) for node in range(3)] == [28, 57, 15]
    assert ClusterSchedule(blocks=100, cores=(2, 4, 1), slot=0.1, losses=1, detection=10).seconds > plan.seconds + 10
    with pytest.raises(InvalidArgument, match="losses"):
        Cluster(Function(PROGRAM, "program"), output=OUTPUT, losses=-1)
