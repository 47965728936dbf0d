"""Threads with a share for each dataset: work that waits for one source does not stop the work on the others."""

from __future__ import annotations

import contextvars
import functools
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Value = TypeVar("Value")
MOST_LANES = 16
"""Datasets that are worked on at once, where each is worked on by one thread: as many as have worker processes."""


class Lanes:
    """``threads`` in all, of which one share has at most ``each``; a share that has none gets one beyond that."""

    def __init__(self, threads: int, *, each: int, name: str) -> None:
        self._threads, self._each, self._most = threads, each, max(threads, MOST_LANES)
        self._pool = ThreadPoolExecutor(self._most, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, deque[Callable[[], None]]] = OrderedDict()
        self._running: Counter[str] = Counter()
        self._is_closed = False

    def submit(self, work: Callable[[], Value], *, share: str = "") -> Future[Value]:
        """Do this when its share, named by a dataset, has a thread."""
        outcome: Future[Value] = Future()
        context = contextvars.copy_context()
        with self._lock:
            if self._is_closed:
                raise RuntimeError("these threads have ended")
            task = functools.partial(self._run, share, outcome, functools.partial(context.run, work))
            self._waiting.setdefault(share, deque()).append(task)
            self._start()
        return outcome

    def _start(self) -> None:
        """Begin what may begin, share by share in turn."""
        for share in list(self._waiting):
            while share in self._waiting and self._has_room(share):
                self._running[share] += 1
                self._pool.submit(self._waiting[share].popleft())
                if not self._waiting[share]:
                    del self._waiting[share]
                else:
                    self._waiting.move_to_end(share)

    def _has_room(self, share: str) -> bool:
        total = self._running.total()
        if self._running[share] == 0:
            return total < self._most
        return total < self._threads and self._running[share] < self._each

    def _run(self, share: str, outcome: Future[Value], work: Callable[[], Value]) -> None:
        try:
            if outcome.set_running_or_notify_cancel():
                try:
                    outcome.set_result(work())
                except StopIteration as error:  # a coroutine can't wait for a future that ends with this one
                    failure = RuntimeError("an iterator ended early")
                    failure.__cause__ = error
                    outcome.set_exception(failure)
                except BaseException as error:  # noqa: BLE001  (whoever waits gets it)
                    outcome.set_exception(error)
        finally:
            with self._lock:
                self._running[share] -= 1
                if not self._running[share]:
                    del self._running[share]
                if not self._is_closed:
                    self._start()

    def close(self, *, wait: bool) -> None:
        """Begin nothing more; ``wait`` until what is under way ends."""
        with self._lock:
            self._is_closed = True
            self._waiting.clear()
        self._pool.shutdown(wait=wait, cancel_futures=True)
