"""Who wants to know how far long work has come.

Real progress depends on private data: it is for the owner's eyes, never for an analyst's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Progress: TypeAlias = Callable[[float], None]
"""Called now and then with the share of the work that is done."""

_listener: ContextVar[Progress | None] = ContextVar("_listener", default=None)


@contextmanager
def reporting(to: Progress | None) -> Iterator[None]:
    """Within this block long work reports to a callback.

    >>> seen = []
    >>> with reporting(seen.append):
    ...     report(0.5)
    >>> seen
    [0.5]
    """
    token = _listener.set(to)
    try:
        yield
    finally:
        _listener.reset(token)


def report(share: float) -> None:
    """Call the listener, if there is one."""
    listener = _listener.get()
    if listener is not None:
        listener(share)
