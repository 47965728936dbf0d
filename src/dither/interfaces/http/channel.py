"""What the server and a worker process say to each other: JSON objects with their length before them.

Only public things cross: plans, releases that were paid for, errors in public words.  Plans go to the worker as Python
objects; nothing that a worker sends is unpickled.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from typing import TypeAlias, TypedDict

from dither import errors
from dither.errors import DitherError
from dither.interfaces.http.telemetry import WorkFailed, places_of
from dither.plain import JsonObject

_LENGTH = struct.Struct("!Q")
_LONGEST_TEXT = 4_000
_MOST_BYTES = 1 << 30
"""Of one message: far beyond any answer.  Eight bytes that are no length nearly always say more."""
_KNOWN = {name: item for name, item in vars(errors).items() if isinstance(item, type) and issubclass(item, DitherError)}


Answers: TypeAlias = list[list[JsonObject]]
"""The releases of each plan in plain JSON values."""


class Message(TypedDict, total=False):
    """What is said, by who says it and when; every message but the first has the number of its question."""

    id: int
    do: str
    plans: str
    """Pickled, in base64."""
    name: str
    text: str
    """Of the schema, or of an error."""
    called: str
    folder: str
    marks: list[str]
    """Of the source: public."""
    state: str | None
    columns: dict[str, str]
    """Names and stored types."""
    ready: bool
    share: float
    drew: bool
    """Said before the first draw."""
    answers: Answers
    failure: str
    """The type of an unexpected error, which passed these ``places``."""
    places: list[str]
    error: list[str]
    """The names of the classes of an error that was raised on purpose."""
    code: str
    status: int


class Channel:
    """One end of a connection; several threads may send, one receives."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._file = end.makefile("rb")
        self._lock = threading.Lock()

    def send(self, message: Message) -> None:
        """Send an object; OSError if the other end is closed."""
        text = json.dumps(message).encode()
        with self._lock:
            self._end.sendall(_LENGTH.pack(len(text)) + text)

    def receive(self) -> Message | None:
        """The next object; None when the other end is closed, or sends something else."""
        try:
            head = self._file.read(_LENGTH.size)
            if len(head) < _LENGTH.size:
                return None
            (length,) = _LENGTH.unpack(head)
            if length > _MOST_BYTES:
                return None
            text = self._file.read(length)
        except OSError:
            return None
        if len(text) < length:
            return None
        message: Message = json.loads(text)
        return message

    def shut(self) -> None:
        """Receive no more than what has arrived already."""
        try:
            self._end.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def close(self) -> None:
        """Let go of the connection, not while somebody sends: its number may soon be another's."""
        with self._lock:
            self._file.close()
            self._end.close()


def error_message(error: BaseException) -> Message:
    """An error as it crosses: one raised on purpose with its text, any other without."""
    if not isinstance(error, DitherError):
        return {"failure": type(error).__name__, "places": places_of(error)}
    classes = [ancestor.__name__ for ancestor in type(error).__mro__]
    return {"error": classes, "code": error.code, "status": error.status, "text": str(error)[:_LONGEST_TEXT]}


def raise_error(message: Message) -> None:
    """Raise the error that a message holds, if it holds one."""
    if "failure" in message:
        raise WorkFailed(message["failure"], message["places"])
    if "error" in message:
        cls = next((_KNOWN[name] for name in message["error"] if name in _KNOWN), DitherError)
        error = cls.__new__(cls)
        error.args = (message["text"],)
        error.code, error.status = message["code"], message["status"]  # type: ignore[misc]
        raise error
