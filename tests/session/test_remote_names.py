"""The remote session has the methods of the local one, but for those that the documentation names."""

import inspect
from pathlib import Path

import dither as dt
from dither import typing as types
from dither.interfaces.client import RemoteSession

MISSING = {"plan", "plans", "source_has_changed"}
"""They hand out what only the owner's process has: plans that can be run, and the state of the source."""


def public(found):
    """The public names of a class."""
    return {name for name in dir(found) if not name.startswith("_")}


def test_every_method_is_there_or_named_as_missing():
    """By their names, and named in docs/server.md."""
    assert public(dt.Session) - public(RemoteSession) == MISSING
    page = (Path(__file__).parents[2] / "docs" / "server.md").read_text()
    assert all(f"`{name}`" in page for name in MISSING)


def test_methods_take_the_same_options():
    """``ask``, ``sql`` and ``least_epsilon``: whatever has a keyword there has it here, but for who pays."""
    remote = {
        name: set(getattr(types, kind).__annotations__)
        for name, kind in (("ask", "RemoteSeveralOptions"), ("sql", "RemoteSqlOptions"))
    }
    for name, options in remote.items():
        local = set(inspect.signature(getattr(dt.Session, name)).parameters) - {"self", "query", "text"}
        assert local - options - {"by"} == {"analyst"}, name
