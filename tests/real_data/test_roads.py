"""The road network of New York: a large sparse graph with weights, in the right order of time and with a warning."""

import warnings

import numpy as np
import pytest

import dither as dt
from dither.queries.trees import BridgeWarning, MSTCost
from dither.sources.graph import Graph


@pytest.fixture(name="roads", scope="module")
def roads_fixture():
    """Edges, weights and the number of vertices."""
    from conftest import needs_data

    with np.load(needs_data("graphs/USA-road-NY.npz")) as data:
        return data["edges"], int(data["n"]), {name: data[f"weight_{name}"] for name in ("dist", "time")}


@pytest.mark.filterwarnings("ignore::dither.queries.trees.BridgeWarning")
@pytest.mark.parametrize(("weight", "cost"), [("dist", 261_159_288), ("time", 628_527_136)])
def test_spanning_tree_of_the_roads(roads, weight, cost):
    """The cost is the published one under a cap that no weight exceeds."""
    edges, n, weights = roads
    graph = Graph(edges, n=n, weights=weights[weight], cap=1_000_000)
    assert dt.inspect.value(MSTCost(), graph) == cost


def test_roads_with_dead_ends_gain_nothing(roads):
    """A dead end is a bridge: the smooth bound is nearly the cap, the warning says why, and auto is the worst case.

    False alarms: noise beyond 25 times its scale, e^-25 = 1.4e-11.
    """
    edges, n, weights = roads
    graph = Graph(edges, n=n, weights=weights["dist"], cap=100_000)
    with pytest.warns(BridgeWarning, match="gains nothing"):
        assert dt.inspect.smooth(MSTCost(), graph, beta=0.1) > 100_000 * np.exp(-0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BridgeWarning)
        release = dt.mst_cost(graph, epsilon=1.0)
    assert release.mechanism == "worst_case"
    assert abs(release.value - 261_159_288) < 100_000 * 25
