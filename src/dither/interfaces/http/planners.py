"""Who gets a helper process for a plan or a quote, for how long, and what is remembered of it.

Analysts are served in rounds, and no analyst holds all helpers.  What overruns, or was asked by
somebody who has hung up, is ended with its process.
"""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar, TypeVarTuple

from dither.interfaces.answers import Problem
from dither.interfaces.http.fork_server import Forked, ForkServer
from dither.interfaces.http.problems import Refused

HELPER = "dither.interfaces.http.planning:helper"
MOST_KEPT, LARGEST_KEPT = 1_000, 64 * 1024
"""Outcomes that are remembered, and bytes of each."""
LONGEST = 300.0
"""Seconds that anybody waits, the queue included: by the clock, so a busy machine must not use them up."""
_PULSE = 0.05
"""Seconds between looks at whether somebody still waits."""
Value = TypeVar("Value")
Values = TypeVarTuple("Values")


class Reply(NamedTuple):
    """What a helper sent."""

    text: bytes
    made: Any  # what the work returned
    """The same unpickled: what was asked of it, or a problem."""


class Ticket:
    """One request for a helper."""

    def __init__(self, who: str, message: bytes, loop: asyncio.AbstractEventLoop) -> None:
        self.who, self.message = who, message
        self.outcome: asyncio.Future[Reply] = loop.create_future()
        self.is_given_up = threading.Event()


class Planners:
    """A few helper processes, and the requests that wait for one.  All but ``_work`` happens in one event loop."""

    def __init__(
        self, server: Callable[[], ForkServer], *, helpers: int, seconds: float, most_waiting: int, most_each: int
    ) -> None:
        self._server = server
        self._helpers, self._seconds = helpers, seconds
        self._most_waiting, self._most_each = most_waiting, most_each
        self._threads = ThreadPoolExecutor(helpers, thread_name_prefix="planner")
        self._idle: list[Forked] = []
        self._waiting: OrderedDict[str, deque[Ticket]] = OrderedDict()
        self._running: list[Ticket] = []
        self._kept: OrderedDict[Hashable, bytes] = OrderedDict()
        self._is_stopped = False

    async def run(
        self,
        who: str,
        work: Callable[[*Values], Value],
        *values: *Values,
        key: Hashable = None,
        gone: Callable[[], Coroutine[None, None, None]] | None = None,
    ) -> Value:
        """``work(*values)`` in a helper, or its outcome for the same ``key`` before; ``gone()`` ends with the wait."""
        if key is not None and key in self._kept:
            self._kept.move_to_end(key)
            return pickle.loads(self._kept[key])  # type: ignore[no-any-return]  # noqa: S301  (made below)
        self._admit(who)
        ticket = Ticket(who, pickle.dumps((work, *values)), asyncio.get_running_loop())
        self._waiting.setdefault(who, deque()).append(ticket)
        self._dispatch()
        reply, made = await self._waited(ticket, gone)
        _check(made)
        if key is not None and len(reply) <= LARGEST_KEPT:
            self._kept[key] = reply
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return made  # type: ignore[no-any-return]

    def stop(self) -> None:
        """Refuse what waits, and end what runs: it cost nothing and can be asked again."""
        self._is_stopped = True
        for ticket in [*self._running, *(ticket for waiting in self._waiting.values() for ticket in waiting)]:
            ticket.is_given_up.set()
            if not ticket.outcome.done():
                ticket.outcome.set_exception(_stopping())

    def close(self) -> None:
        """Close the pipes of the helpers, which ends them."""
        self.stop()
        self._threads.shutdown(wait=True, cancel_futures=True)
        while self._idle:
            self._idle.pop().end()

    def _admit(self, who: str) -> None:
        if self._is_stopped:
            raise _stopping()
        own = len(self._waiting.get(who, ())) + sum(item.who == who for item in self._running)
        if own >= self._most_each:
            raise Refused(
                429,
                "too-many-requests",
                f"{own} questions of yours wait to be planned already; nothing was read, nothing was charged",
                {"Retry-After": "1"},
            )
        if sum(map(len, self._waiting.values())) >= self._most_waiting:
            raise _busy()

    async def _waited(self, ticket: Ticket, gone: Callable[[], Coroutine[None, None, None]] | None) -> Reply:
        leaving = None if gone is None else asyncio.create_task(gone())
        awaited: set[asyncio.Future[Reply] | asyncio.Task[None]] = (
            {ticket.outcome} if leaving is None else {ticket.outcome, leaving}
        )
        try:
            done, _ = await asyncio.wait(awaited, timeout=LONGEST, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise _busy()
            if ticket.outcome not in done:
                raise Refused(408, "gone", "the client closed the connection; nothing was read, nothing was charged")
            return ticket.outcome.result()
        finally:
            ticket.is_given_up.set()
            ticket.outcome.cancel()
            if leaving is not None:
                leaving.cancel()
            self._forget(ticket)

    def _forget(self, ticket: Ticket) -> None:
        own = self._waiting.get(ticket.who, deque())
        with suppress(ValueError):
            own.remove(ticket)
        if not own:
            self._waiting.pop(ticket.who, None)

    def _dispatch(self) -> None:
        """Give free helpers to those whose turn it is; one analyst never has all of them."""
        most = max(1, self._helpers - 1)
        while len(self._running) < self._helpers and not self._is_stopped:
            turns = (who for who in self._waiting if sum(item.who == who for item in self._running) < most)
            who = next(turns, None)
            if who is None:
                return
            ticket = self._waiting[who].popleft()
            self._waiting.move_to_end(who)
            if not self._waiting[who]:
                del self._waiting[who]
            self._running.append(ticket)
            working = asyncio.get_running_loop().run_in_executor(self._threads, self._work, ticket)
            working.add_done_callback(lambda done, ticket=ticket: self._ended(ticket, done))  # type: ignore[misc]

    def _ended(self, ticket: Ticket, done: asyncio.Future[Reply]) -> None:
        self._running.remove(ticket)
        error = None if done.cancelled() else done.exception()
        if not ticket.outcome.done():
            if done.cancelled():
                ticket.outcome.set_exception(_stopping())
            elif error is not None:
                ticket.outcome.set_exception(error)
            else:
                ticket.outcome.set_result(done.result())
        self._dispatch()

    def call(self, work: Callable[[*Values], Value], *values: *Values) -> Value:
        """``work(*values)`` in a helper, for a question that is being answered: the thread that calls waits for it."""
        made = self._reply(pickle.dumps((work, *values)), lambda: self._is_stopped).made
        _check(made)
        return made  # type: ignore[no-any-return]

    def _work(self, ticket: Ticket) -> Reply:
        """In a thread: what a helper replies to a request."""
        return self._reply(ticket.message, ticket.is_given_up.is_set)

    def _reply(self, message: bytes, is_given_up: Callable[[], bool]) -> Reply:
        """Hand a request to a helper, and wait as long as it may take; its reply and the value."""
        try:
            helper = self._helper()
        except OSError:
            raise _busy() from None  # no process or no descriptor is left
        is_whole = False
        try:
            helper.connection.send_bytes(message)
            # Processor time: how busy the machine is must not decide about an answer.
            most = helper.processor_seconds() + self._seconds
            while not helper.connection.poll(_PULSE):
                if is_given_up():
                    raise _stopping()
                if helper.processor_seconds() > most:
                    raise Refused(
                        422,
                        "takes-too-long",
                        f"planning this takes more than {self._seconds:g} seconds of a processor: ask fewer queries "
                        "at once, a larger epsilon, or without a prior; nothing was read, nothing was charged",
                    )
            reply = helper.connection.recv_bytes()
            is_whole = True
            return Reply(reply, pickle.loads(reply))  # noqa: S301  (from a helper, which is this server's own)
        except (EOFError, ConnectionError):
            raise _busy() from None  # it was ended from outside, for want of memory perhaps
        finally:
            if is_whole:
                self._idle.append(helper)
            else:
                helper.end()

    def _helper(self) -> Forked:
        with suppress(IndexError):
            return self._idle.pop()
        return self._server().start(HELPER)


def _check(made: Value) -> None:
    """The error that a helper sent, if it is one."""
    if isinstance(made, Problem):
        if made.code == "internal":
            raise RuntimeError("a helper failed; its log says where")
        raise Refused.by(made)


def _busy() -> Refused:
    detail = "too many questions wait to be planned; nothing was read, nothing was charged"
    return Refused(503, "busy", detail, {"Retry-After": "1"})


def _stopping() -> Refused:
    return Refused(503, "stopping", "the server is ending; nothing was read, nothing was charged", {"Retry-After": "5"})
