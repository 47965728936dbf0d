"""Programs are tested only where they can be isolated; there everything must hold."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def isolation(isolated):
    """Every test of this folder."""
