"""Forks: what threads of this process share is put in order before one, and made anew in the child.

A child has a copy of all locks, held by threads that it does not have, and of what SQLite remembers of its locks on a
file, without having those: a new connection there would hold none, so that others take it for nobody, delete the log
it writes to, and spend what it has spent (sqlite.org/howtocorrupt.html).  So no connection to a file may be open at a
fork.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol


class Shared(Protocol):
    """Something that the threads of a process share."""

    def before_fork(self) -> None: ...
    def after_fork(self) -> None:
        """In the parent."""

    def in_child(self) -> None: ...


_TURN = threading.RLock()
_ALL: weakref.WeakSet[Shared] = weakref.WeakSet()


def prepare_for_forks(shared: Shared) -> None:
    """From now on, for as long as it lives."""
    with _TURN:
        _ALL.add(shared)


def _before() -> None:
    _TURN.acquire()  # until the fork is over: two threads would wait for each other's lanes
    for shared in list(_ALL):
        shared.before_fork()


def _after() -> None:
    for shared in list(_ALL):
        shared.after_fork()
    _TURN.release()


def _in_child() -> None:
    for shared in list(_ALL):
        shared.in_child()
    _TURN.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)
