"""COQ17's data: salaries, and connected subgraphs of Gowalla at the levels of its figures."""

import igraph
import numpy as np
import pytest

from conftest import needs_data
from dither_lab.reproduce import sources


@pytest.fixture(autouse=True)
def fresh():
    """Nothing remembered from tests with stand-ins, and nothing left for them."""
    cached = (sources.salaries, sources.friendships, sources.connected_subgraph)
    for one in cached:
        one.cache_clear()
    yield
    for one in cached:
        one.cache_clear()


def test_salaries_are_the_real_ones():
    """All of them, in order, with the known median."""
    needs_data("tables/sf_salaries.parquet")
    pay, source = sources.salaries()
    assert source.real
    assert len(pay) == 148_654
    assert np.median(pay) == pytest.approx(71_426.61, abs=0.01)


@pytest.mark.parametrize(("size", "level"), [(100, 19), (500, 155)])
def test_subgraphs_have_the_papers_levels(size, level):
    """Connected, with exactly that many common neighbours at most."""
    needs_data("graphs/loc-Gowalla.npz")
    found = sources.connected_subgraph(size, level)
    assert sources.friendships()[1].real
    assert found.graph.vertices == size
    assert found.graph.frontier.most_common == level
    assert igraph.Graph(size, found.graph.edges).is_connected()
