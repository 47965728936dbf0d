"""The server's threads: whatever may wait for a disk or a database is done here, away from the event loop."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Value = TypeVar("Value")


class Threads:
    """Threads for short work, for what must never stand behind other work, and for work that takes long."""

    def __init__(self) -> None:
        self._short = ThreadPoolExecutor(8, thread_name_prefix="public")
        # Whatever else goes on: tokens are looked up and health is answered.
        self._reserved = ThreadPoolExecutor(2, thread_name_prefix="reserved")
        self._long = ThreadPoolExecutor(2, thread_name_prefix="long")

    async def run(self, work: Callable[..., Value], *values: Any) -> Value:
        """Do short public work, so that nobody else waits for it."""
        return await _in_thread(self._short, work, values)

    async def run_reserved(self, work: Callable[..., Value], *values: Any) -> Value:
        """Look up a token: never behind anything else."""
        return await _in_thread(self._reserved, work, values)

    async def run_long(self, work: Callable[..., Value], *values: Any) -> Value:
        """What owners ask for and may take minutes: a source that is looked at, a ledger that is verified."""
        return await _in_thread(self._long, work, values)

    def close(self) -> None:
        """Finish what is under way."""
        for pool in (self._short, self._reserved, self._long):
            pool.shutdown(wait=True)


async def _in_thread(pool: ThreadPoolExecutor, work: Callable[..., Value], values: tuple[Any, ...]) -> Value:
    context = contextvars.copy_context()

    def run() -> Value:
        try:
            return context.run(work, *values)
        except StopIteration as error:  # a future would never end with this one
            raise RuntimeError("an iterator ended early") from error

    return await asyncio.get_running_loop().run_in_executor(pool, run)
