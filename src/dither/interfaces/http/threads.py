"""The server's threads: whatever may wait for a disk or a database is done here, away from the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

Value = TypeVar("Value")
Values = ParamSpec("Values")


class Threads:
    """Threads for short work, for what must never stand behind other work, and for work that takes long."""

    def __init__(self) -> None:
        self._short = ThreadPoolExecutor(8, thread_name_prefix="public")
        # Whatever else goes on: tokens are looked up and health is answered.
        self._reserved = ThreadPoolExecutor(2, thread_name_prefix="reserved")
        self._long = ThreadPoolExecutor(2, thread_name_prefix="long")

    async def run(self, work: Callable[Values, Value], *values: Values.args, **named: Values.kwargs) -> Value:
        """Do short public work, so that nobody else waits for it."""
        return await _in_thread(self._short, functools.partial(work, *values, **named))

    async def run_reserved(self, work: Callable[Values, Value], *values: Values.args, **named: Values.kwargs) -> Value:
        """Look up a token: never behind anything else."""
        return await _in_thread(self._reserved, functools.partial(work, *values, **named))

    async def run_long(self, work: Callable[Values, Value], *values: Values.args, **named: Values.kwargs) -> Value:
        """What owners ask for and may take minutes: a source that is looked at, a ledger that is verified."""
        return await _in_thread(self._long, functools.partial(work, *values, **named))

    def close(self) -> None:
        """Finish what is under way."""
        for pool in (self._short, self._reserved, self._long):
            pool.shutdown(wait=True)


async def _in_thread(pool: ThreadPoolExecutor, work: Callable[[], Value]) -> Value:
    context = contextvars.copy_context()

    def run() -> Value:
        try:
            return context.run(work)
        except StopIteration as error:  # a future would never end with this one
            raise RuntimeError("an iterator ended early") from error

    return await asyncio.get_running_loop().run_in_executor(pool, run)
