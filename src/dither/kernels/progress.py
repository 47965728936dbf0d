"""Who wants to know how far long work has come.

Real progress depends on private data: it is for the owner's eyes, never for an analyst's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from dither.errors import InvalidArgument

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
    check_progress(to)
    token = _listener.set(to)
    try:
        yield
    finally:
        _listener.reset(token)


def check_progress(to: object) -> None:  # anything that was given
    """Refuse what cannot be called, before anything is read."""
    if to is not None and not callable(to):
        raise InvalidArgument("progress", to, "must be a function: pass progress=dt.ProgressBar(), or progress=print")


def report(share: float) -> None:
    """Call the listener, if there is one."""
    listener = _listener.get()
    if listener is not None:
        listener(share)
