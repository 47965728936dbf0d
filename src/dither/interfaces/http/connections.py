"""How many connections there may be, how long each may take, and what makes room when there are too many.

A connection *waits* while no whole request is there.  The longest waiting one is closed for a new one: half-open
connections, however many, only ever push out each other.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import re
import socket
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, ClassVar, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from dither.interfaces.http.problems import MEDIA_TYPE, Refused, problem, problem_text
from dither.interfaces.http.response_headers import HEADERS

HEADER_SECONDS = 10.0
"""A request's headers arrive within this time; so does a TLS handshake."""
WRITE_SECONDS = 30.0
"""Seconds after which a client that reads nothing is disconnected."""
KEEP_ALIVE = 5
BACKLOG = 128
"""Connections that wait in the kernel; also how many are accepted before those that wait make room."""
ROUNDS = 3
"""Of the event loop, from accepting a connection to reading what it sent."""
LARGEST_HEADERS = 64 * 1024


_ABSOLUTE = re.compile(rb"https?://[^/?#]*", re.IGNORECASE)
"""The scheme and the host before the path, which a server has to accept (RFC 9112, 3.2.2)."""


class StrictConnection(h11.Connection):
    """HTTP/1.1 without a request that says twice where it ends: proxies disagree on those.

    A target in absolute form becomes its path: ``GET http://host/healthz`` is ``GET /healthz``.
    """

    def next_event(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}
            if {b"content-length", b"transfer-encoding"} <= names:
                raise h11.RemoteProtocolError("Content-Length and Transfer-Encoding together")
            host = _ABSOLUTE.match(event.target)
            if host is not None:
                path = event.target[host.end() :]
                target = path if path.startswith(b"/") else b"/" + path
                return dataclasses.replace(event, target=target)
        return event


class LimitedProtocol(H11Protocol):
    """One connection among ``most``."""

    most: ClassVar[int]
    highest: ClassVar[int]
    """Connections whose descriptor has this number or a higher one use the reserve: one that waits is closed."""
    waiting: ClassVar[OrderedDict[LimitedProtocol, None]]

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],  # of the application, which says what is in it
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.conn = StrictConnection(h11.SERVER, LARGEST_HEADERS)
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))  # that of a socket, which is read and written
        self.waiting[self] = None
        self._timer("headers", HEADER_SECONDS)
        if self._is_crowded:
            self._make_room(ROUNDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self.waiting.pop(self, None)
        for name in ("headers", "writing"):
            self._no_timer(name)
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_waiting:
            self._timer("headers", HEADER_SECONDS)
        else:
            self.waiting.pop(self, None)
            self._no_timer("headers")

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._is_waiting and self in self.connections:
            self.waiting[self] = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._timer("writing", WRITE_SECONDS)

    def resume_writing(self) -> None:
        self._no_timer("writing")
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        body = problem_text(
            problem(Refused(400, "malformed", f"{msg} Nothing was read, nothing was charged."))
        ).encode()
        headers = [
            ("Content-Type", MEDIA_TYPE),
            ("Content-Length", str(len(body))),
            *HEADERS.items(),
            ("Connection", "close"),
        ]
        with contextlib.suppress(h11.LocalProtocolError):  # an answer has begun already
            for event in (h11.Response(status_code=400, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _make_room(self, rounds: int) -> None:
        """After some rounds of the loop: what has arrived already, at connections accepted just now, is read first."""
        if rounds:
            self.loop.call_soon(self._make_room, rounds - 1)
        elif self._is_crowded and self.waiting:
            oldest, _ = self.waiting.popitem(last=False)
            self.connections.discard(oldest)
            oldest.transport.abort()

    @property
    def _is_crowded(self) -> bool:
        """Whether there are too many connections, or too few descriptors: the kernel gives the lowest that is free."""
        number = self.transport.get_extra_info("socket").fileno()
        return len(self.connections) > self.most or number >= self.highest

    @property
    def _is_waiting(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _timer(self, name: str, seconds: float) -> None:
        """Started once for each request: single bytes do not extend the limit."""
        if name not in self._timers:
            self._timers[name] = self.loop.call_later(seconds, self._given_up)

    def _no_timer(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _given_up(self) -> None:
        self.transport.abort()


RESERVE = 32
"""Descriptors that connections which wait do not use: with them health is answered and the ledger written."""


def limited(most: int, descriptors: int = 1 << 20) -> type[LimitedProtocol]:
    """The protocol of a server with so many connections at most, in a process with so many descriptors."""
    facts = {"most": most, "highest": max(RESERVE, descriptors - RESERVE), "waiting": OrderedDict()}
    return type("Limited", (LimitedProtocol,), facts)


class LimitedServer(uvicorn.Server):
    """A server that says when it begins to end, and does not wait long for a TLS handshake."""

    def __init__(self, config: uvicorn.Config, stopping: Callable[[], None]) -> None:
        super().__init__(config)
        self._stopping = stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if self.config.is_ssl:
            loop: Any = asyncio.get_running_loop()  # one whose method may be replaced
            loop.create_server = functools.partial(loop.create_server, ssl_handshake_timeout=HEADER_SECONDS)
        await super().startup(sockets=sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stopping()
        await super().shutdown(sockets=sockets)
