"""Where the sources of the contract of records are built."""

import pytest

from contract.record_sources import Place


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Where all files lie."""
    return tmp_path_factory.mktemp("records")


@pytest.fixture
def place(request, folder):
    """``place(name)``: where a source of this name can be built; a server is started when it is first needed."""
    return lambda name: Place(folder, request.getfixturevalue)
