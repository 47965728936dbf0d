"""Programs are tested only where they can be isolated; there everything must hold."""

import os

import pytest

from dither.errors import NotIsolated
from dither.sandbox import require_isolation


@pytest.fixture(scope="session", autouse=True)
def isolation():
    """Skips these tests on a machine without isolation, or fails them if DITHER_REQUIRE=all."""
    try:
        require_isolation()
    except NotIsolated as error:
        if os.environ.get("DITHER_REQUIRE") == "all":
            pytest.fail(str(error))
        pytest.skip(str(error))
