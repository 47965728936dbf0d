"""A worker process: it holds the engine of one dataset and does all work on its private data.

The server starts it as ``python -m dither.interfaces.http.dataset_worker DESCRIPTOR`` and talks to it over that socket.
It has no ledger and no tokens: it prepares a question, waits until the server has charged for it, reads and answers.
When the server is gone, so is the worker.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import dataclasses
import importlib
import os
import pickle
import queue
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

from dither.errors import DitherError, InvalidArgument, InvalidData, SourceFailed
from dither.interfaces.http.channel import Channel, Message, error_message
from dither.kernels.compiled import compile_always
from dither.kernels.compiled import load as load_compiler
from dither.kernels.progress import reporting
from dither.noise.entropy import watched
from dither.session.graph_quotes import graph_plan
from dither.session.plan import SessionPlan
from dither.session.reading import GraphSource, Source, TableSource
from dither.sources.descriptors import check_descriptors
from dither.sources.engines.factory import engine_for, engine_of
from dither.sources.graph_schema import GraphSchema
from dither.sources.schema import Schema
from dither.sources.schema_file import read_schema

if TYPE_CHECKING:
    from dither.typing import AskOptions

_MOST_IDLE = 8
_REPORTS = 0.1
"""Seconds between two messages about how far the work has come."""
_PARENT_DEATH_SIGNAL = 1


class Sources:
    """Sources of one dataset.  They are not for several threads at once, so each borrower has one alone."""

    def __init__(self, schema: Schema | GraphSchema) -> None:
        self.schema = schema
        self._idle: list[Source] = []
        self._lock = threading.Lock()

    def opened(self) -> list[str]:
        """Open a source, kept for later; its marks.  Errors say where it is, so they are for owners."""
        source = self._opened()
        self._keep(source)
        return source.marks(Path(self.schema.folder or ""))

    def _opened(self) -> TableSource | GraphSource:
        check_descriptors()  # an engine without them would say that the source can't be read
        if isinstance(self.schema, GraphSchema):
            load_compiler()  # every question of a graph needs it
            return GraphSource(self.schema)
        return TableSource(self.schema, engine_for(self.schema))

    @contextlib.contextmanager
    def borrowed(self) -> Iterator[Source]:
        """A source for exclusive use."""
        source = self._taken() or self._new()
        is_sound = False
        try:
            yield source
            is_sound = True
        except SourceFailed:
            while (other := self._pop()) is not None:  # connections may be broken, or the public edges others
                other.close()
            raise
        except DitherError:
            is_sound = True
            raise
        finally:
            if is_sound:
                self._keep(source)
            else:
                source.close()

    def _pop(self) -> Source | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _taken(self) -> Source | None:
        """One that is idle; not one whose public edges may be others by now, for which nothing was planned."""
        while (source := self._pop()) is not None:
            if not (isinstance(source, GraphSource) and source.may_have_other_edges):
                return source
            source.close()
        return None

    def _new(self) -> Source:
        try:
            return self._opened()
        except (InvalidArgument, InvalidData):
            raise _unreadable() from None

    def _keep(self, source: Source) -> None:
        with self._lock:
            if len(self._idle) < _MOST_IDLE:
                self._idle.append(source)
                return
        source.close()


class Worker:
    """Answers the server's messages; every question has a thread."""

    def __init__(self, channel: Channel, schema: Schema | GraphSchema) -> None:
        self._channel = channel
        self._sources = Sources(schema)
        self._waiting: dict[int, queue.SimpleQueue[str]] = {}

    def run(self) -> None:
        """Until the server closes the connection."""
        while (message := self._channel.receive()) is not None:
            number, action = message["id"], message["do"]
            if action in ("read", "end"):
                waiting = self._waiting.get(number)
                if waiting is not None:  # (a question that failed meanwhile is gone)
                    waiting.put(action)
                continue
            self._waiting[number] = queue.SimpleQueue()
            work = {
                "open": self._open,
                "state": self._state,
                "columns": self._columns,
                "prepare": self._answer,
            }[action]
            threading.Thread(target=self._work, args=(work, number, message), daemon=True).start()

    def _work(self, work: Callable[[int, Message], Message | None], number: int, message: Message) -> None:
        try:
            reply = work(number, message)
        except Exception as error:  # noqa: BLE001  (it crosses to the server, in public terms)
            reply = error_message(error)
        self._waiting.pop(number, None)
        if reply is not None:
            self._send(number, reply)

    def _send(self, number: int, reply: Message) -> None:
        try:
            self._channel.send({"id": number, **reply})
        except OSError:
            os._exit(0)  # the server is gone

    def _open(self, number: int, message: Message) -> Message:  # noqa: ARG002
        """Look at the source, as its schema declares it."""
        return {"marks": self._sources.opened()}

    def _state(self, number: int, message: Message) -> Message:  # noqa: ARG002
        """What the source says of its last change."""
        with self._sources.borrowed() as source:
            return {"state": source.state()}

    def _columns(self, number: int, message: Message) -> Message:  # noqa: ARG002
        """The columns that the source has, whatever its schema declares; no record is read."""
        schema = self._sources.schema
        if isinstance(schema, GraphSchema):
            raise RuntimeError("the columns of a graph are declared with it")
        place = {"table": schema.table, "engine": schema.engine, "folder": schema.folder}
        engine = engine_of(schema.source, **place, layout=schema.layout)
        try:
            return {"columns": engine.stored_types()}
        finally:
            engine.close()

    def _answer(self, number: int, message: Message) -> Message | None:
        """Prepare a question, and read once the server says that it is charged."""
        plans = pickle.loads(base64.b64decode(message["plans"]))  # noqa: S301  (from the server, who started this)
        with self._sources.borrowed() as source:
            if isinstance(source, GraphSource):
                _check_ready(source)
                if source.edges is not None:
                    plans = [_planned_here(source, plan) for plan in plans]
            with source.prepared(plans) as read:
                self._send(number, {"ready": True})
                if self._waiting[number].get() != "read":
                    return None
                # Said before it is done: the server knows it even of a process that ends then.
                with reporting(self._progress(number)), watched(lambda: self._send(number, {"drew": True})):
                    answers = read()
        return {"answers": answers}

    def _progress(self, number: int) -> Callable[[float], None]:
        last = -_REPORTS

        def report(share: float) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= _REPORTS:
                last = now
                self._send(number, {"share": float(share)})

        return report


def _check_ready(source: GraphSource) -> None:
    """Fail, in terms that are for analysts too, if a graph is no longer what it was when it was registered."""
    try:
        source.ready()
    except (InvalidArgument, InvalidData):
        raise _unreadable() from None


def _unreadable() -> SourceFailed:
    return SourceFailed("the source cannot be read now; nothing was charged")


def _planned_here(source: GraphSource, plan: SessionPlan) -> SessionPlan:
    """The same question, planned from the public edges that this source has: others may have been there before."""
    names = ("epsilon", "delta", "mechanism", "noise", "confidence")
    options = cast("AskOptions", {name: plan.asked[name] for name in names})
    planned_again = graph_plan(plan.query, source, **options)
    now, before = ((item.loss, item.loss.stated, item.asked) for item in (planned_again, plan))
    if now != before:
        raise SourceFailed("the source has changed meanwhile; nothing was charged")
    return planned_again


def main() -> None:
    """Serve one connection."""
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)
    # Only the server ends the worker: a service manager would otherwise stop both at once.
    for item in (signal.SIGTERM, signal.SIGINT):
        signal.signal(item, lambda *_: None)
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold records
    with contextlib.suppress(OSError):  # where memory runs out, it is the worker that goes, and not the server
        Path("/proc/self/oom_score_adj").write_text("500")
    channel = Channel(socket.socket(fileno=descriptor))
    compile_always()
    importlib.import_module("duckdb")  # while nobody waits
    source = channel.receive()
    if source is not None:
        schema = read_schema(source["text"], source["called"], name=source["name"])
        Worker(channel, dataclasses.replace(schema, name=source["name"], folder=source["folder"])).run()
    os._exit(0)  # whatever threads may be doing


if __name__ == "__main__":
    main()
