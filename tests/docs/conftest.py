"""Examples of the documentation may register queries; other tests look at what ships."""

import pytest

from dither.queries import registry


@pytest.fixture(autouse=True)
def _registry_as_it_was():
    known = dict(registry.entries())
    yield
    registry._ENTRIES.clear()
    registry._ENTRIES.update(known)
