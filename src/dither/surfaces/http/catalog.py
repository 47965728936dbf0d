"""The registered datasets: schema files below the home folder, and sessions over them that worker threads borrow."""

from __future__ import annotations

import dataclasses
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dither.data.engines.opened import guessed
from dither.data.graph_schema import GraphSchema
from dither.data.schema import Schema
from dither.data.schema_file import load_schema, read_schema
from dither.errors import Contradiction, DitherError, InvalidArgument, InvalidData, SourceFailed, UnknownDataset
from dither.ledger import Ledger
from dither.quotes.priors import declared_prior
from dither.session.opening import open as open_session
from dither.surfaces.http.telemetry import log

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}\Z")
_ADDRESSES = ("postgresql://", "postgres://")
_MOST_IDLE = 8
PASSWORDS = "DITHER_SOURCE_"
"""Sources may name environment variables that begin so, and no others."""
_VARIABLE = re.compile(r"\$\{([^}]*)\}?")


class Dataset:
    """One registered dataset.  Sessions are not for several threads at once, so each borrower has one alone."""

    def __init__(self, schema: Schema | GraphSchema, ledger: Ledger) -> None:
        self.name = schema.name
        self.schema = schema
        self._ledger = ledger
        self._idle: list[Any] = []
        self._is_closed = False
        self._lock = threading.Lock()

    @property
    def is_graph(self) -> bool:
        """True for a graph, false for a table."""
        return isinstance(self.schema, GraphSchema)

    def open(self) -> Any:
        """A new session; errors say where the source is, so they are for owners."""
        opened = open_session(self.schema, ledger=self._ledger)
        opened.on_changed_source = lambda message: log("source changed", dataset=self.name, detail=message)
        return opened

    def source_has_changed(self) -> bool | None:
        """For owners: whether stored answers are of an earlier state of the source; None if that is not known."""
        with suppress(DitherError), self.session() as session:
            changed: bool | None = session.source_has_changed
            return changed
        return None

    def _opened(self) -> Any:
        try:
            return self.open()
        except (InvalidArgument, InvalidData):
            raise SourceFailed(f"the source of {self.name!r} cannot be read now; nothing was charged") from None

    @contextmanager
    def session(self) -> Iterator[Any]:
        """A session that nobody else uses meanwhile."""
        with self._lock:
            session = self._idle.pop() if self._idle else None
        if session is None:
            session = self._opened()
        try:
            yield session
        except BaseException as error:
            if isinstance(error, SourceFailed):
                session.close_source()  # its connection may be broken
                raise self._without_source(error) from None
            if isinstance(error, DitherError):
                self._return(session)
            else:
                session.close_source()
            raise
        else:
            self._return(session)

    def _without_source(self, error: SourceFailed) -> SourceFailed:
        """What failed and whether it was charged, without the name of a file or table: that is the owner's."""
        return SourceFailed(f"the source of {self.name!r} could not be read; {str(error).rpartition('; ')[2]}")

    def _return(self, session: Any) -> None:
        with self._lock:
            if len(self._idle) < _MOST_IDLE and not self._is_closed:
                self._idle.append(session)
                return
        session.close_source()

    def close(self) -> None:
        """Let go of idle sessions, and of those that are in use once they are returned."""
        with self._lock:
            idle, self._idle, self._is_closed = self._idle, [], True
        for session in idle:
            session.close_source()


class Catalog:
    """All datasets of a home folder; several servers may share it, so files are looked at anew every time."""

    def __init__(self, home: Path, ledger: Ledger, roots: tuple[Path, ...] = ()) -> None:
        self._folder = home / "datasets"
        self._data = home / "data"
        self._roots = tuple(root.resolve() for root in (self._data, *roots))
        self._ledger = ledger
        self._lock = threading.Lock()
        self._known: dict[str, tuple[tuple[int, int], Dataset]] = {}

    def names(self) -> list[str]:
        """All registered names."""
        return sorted(one.stem for one in self._folder.glob("*.toml") if NAME.match(one.stem))

    def dataset(self, name: str) -> Dataset:
        """A dataset that is registered."""
        file = self._file(name)
        try:
            status = file.stat()
        except OSError:
            raise UnknownDataset(name) from None
        stamp = (status.st_mtime_ns, status.st_size)
        with self._lock:
            known = self._known.get(name)
            if known is not None and known[0] == stamp:
                return known[1]
            schema = load_schema(file)
            made = Dataset(self._placed(schema, name), self._ledger)
            self._known[name] = (stamp, made)
        if known is not None:
            known[1].close()
        return made

    def register(self, name: str, text: str) -> Dataset:
        """Check a schema against its source, open its account, and keep its file."""
        if not NAME.match(name):
            raise InvalidArgument(
                "name", name, "1 to 64 letters of A-Z and a-z, digits, _ and -, not beginning with -, are accepted"
            )
        file = self._file(name)
        if file.exists() and file.read_text(encoding="utf-8") != text:
            raise Contradiction(f"dataset {name!r} is registered with another schema; nothing was changed")
        schema = self._placed(read_schema(text, "schema", name=name), name)
        if schema.budget is None:
            raise InvalidArgument("budget", None, "a section [budget] with epsilon is needed")
        for told in getattr(schema, "priors", {}).values():
            declared_prior(told)  # refuses what is no prior
        made = Dataset(schema, self._ledger)
        made.open().close_source()  # the source is there, its columns are as declared, the ledger knows the budget
        self._written(file, text)
        return self.dataset(name)

    def close(self) -> None:
        """Let go of all sessions."""
        with self._lock:
            known, self._known = self._known, {}
        for _, dataset in known.values():
            dataset.close()

    def _file(self, name: str) -> Path:
        if not NAME.match(name):
            raise UnknownDataset(name)
        return self._folder / f"{name}.toml"

    def _placed(self, schema: Any, name: str) -> Any:
        """The schema under its registered name, with a source that the server may open."""
        source = str(schema.source)
        for variable in _VARIABLE.findall(source):
            if not variable.startswith(PASSWORDS):
                # Whoever registers data could otherwise have any secret of the server's sent to an address of theirs.
                raise InvalidArgument("source", f"${{{variable}}}", f"variables whose names begin with {PASSWORDS}")
        if not isinstance(schema, GraphSchema):
            # A Spark source names a path of its own, which could be anywhere.
            engine = "postgres" if source.startswith(_ADDRESSES) else "duckdb"
            if (schema.engine or guessed(source)) != engine:
                raise InvalidArgument(
                    "source", source, "a file below the server's data folder, or a postgresql:// address, is accepted"
                )
        if isinstance(schema, GraphSchema) or not source.startswith(_ADDRESSES):
            file = (self._data / source).resolve()
            if "${" in source or not any(file.is_relative_to(root) for root in self._roots):
                raise InvalidArgument("source", source, "a file below the server's data folder is accepted")
        return dataclasses.replace(schema, name=name, folder=str(self._data))

    def _written(self, file: Path, text: str) -> None:
        """All or nothing, and durable."""
        partial = file.with_name(f".{file.name}.{os.getpid()}.{threading.get_ident()}")
        partial.unlink(missing_ok=True)
        # An address may hold a password: for the server's own eyes, wherever the folder lies.
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="utf-8") as out:  # noqa: PTH123
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        partial.replace(file)
