"""Programs are tested only where they can be isolated; there everything must hold."""

import pytest

from conftest import missing
from dither.errors import NotIsolated
from dither.sandbox import require_isolation


@pytest.fixture(scope="session", autouse=True)
def isolation():
    """Skips these tests on a machine without isolation, or fails them if DITHER_REQUIRE=all."""
    try:
        require_isolation()
    except NotIsolated as error:
        missing(str(error))
