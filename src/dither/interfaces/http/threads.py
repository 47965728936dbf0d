"""The server's threads: whatever may wait for a disk or a database is done here, away from the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from dither.interfaces.http.lanes import Lanes

Value = TypeVar("Value")
Values = ParamSpec("Values")


class Threads:
    """Threads for short work, for what must never stand behind other work, and for work that takes long."""

    def __init__(self) -> None:
        self._short = ThreadPoolExecutor(8, thread_name_prefix="public")
        # Whatever else goes on: tokens are looked up and health is answered.
        self._reserved = ThreadPoolExecutor(2, thread_name_prefix="reserved")
        self._writing = ThreadPoolExecutor(2, thread_name_prefix="writing")
        self._long = Lanes(2, each=1, name="long")

    async def run(self, work: Callable[Values, Value], *values: Values.args, **named: Values.kwargs) -> Value:
        """Do short public work, so that nobody else waits for it."""
        return await _in_thread(self._short, functools.partial(work, *values, **named))

    async def run_reserved(self, work: Callable[Values, Value], *values: Values.args, **named: Values.kwargs) -> Value:
        """Look up a token: never behind anything else."""
        return await _in_thread(self._reserved, functools.partial(work, *values, **named))

    async def run_writing(self, work: Callable[Values, Value], *values: Values.args, **named: Values.kwargs) -> Value:
        """Write JSON, which may be large."""
        return await _in_thread(self._writing, functools.partial(work, *values, **named))

    async def run_long(
        self, share: str, work: Callable[Values, Value], *values: Values.args, **named: Values.kwargs
    ) -> Value:
        """What may take minutes: a source that is looked at, a ledger that is verified.

        share: the dataset, or what else is looked at; one that does not answer stops no other.
        """
        return await asyncio.wrap_future(self._long.submit(functools.partial(work, *values, **named), share=share))

    def submit_long(self, work: Callable[[], Value], share: str) -> Future[Value]:
        """The same without waiting."""
        return self._long.submit(work, share=share)

    def close(self) -> None:
        """Finish what is under way."""
        for pool in (self._short, self._reserved, self._writing):
            pool.shutdown(wait=True)
        self._long.close(wait=True)


async def _in_thread(pool: ThreadPoolExecutor, work: Callable[[], Value]) -> Value:
    context = contextvars.copy_context()

    def run() -> Value:
        try:
            return context.run(work)
        except StopIteration as error:  # a future would never end with this one
            raise RuntimeError("an iterator ended early") from error

    return await asyncio.get_running_loop().run_in_executor(pool, run)
