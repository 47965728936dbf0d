"""A table on every engine: DuckDB, a real PostgreSQL, a real Spark in local mode."""

import pytest

from contract.record_sources import BY_ENGINE, Place
from dither.sources.engines.factory import ENGINES, engine_of


@pytest.fixture
def engines_of(request, tmp_path_factory, spark):  # named, so that tests of Spark run one after the other
    """``engines_of(table)``: the same Arrow table on all engines, by their names."""
    place = Place(tmp_path_factory.mktemp("engines"), request.getfixturevalue)
    assert BY_ENGINE.keys() == ENGINES.keys()

    def opened(table):
        sources = {name: build(place, table) for name, build in BY_ENGINE.items()}
        return {name: engine_of(one["source"], table=one.get("table"), engine=name) for name, one in sources.items()}

    return opened
