"""The registered datasets: schema files below the home folder, and the session and the worker process of each."""

from __future__ import annotations

import dataclasses
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from dither.errors import (
    Contradiction,
    DitherError,
    InvalidArgument,
    InvalidData,
    SourceFailed,
    UnknownDataset,
    came_after_draw,
    note_draw,
)
from dither.interfaces.http.telemetry import log
from dither.interfaces.http.worker_sessions import session_in
from dither.interfaces.http.workers import DatasetWorker, Workers, WorkerSource
from dither.ledger import Ledger
from dither.plain import Given
from dither.quotes.priors import declared_prior
from dither.session.graphs import GraphSession
from dither.session.session import Session
from dither.sources.engines.factory import ENGINES, guessed
from dither.sources.graph_schema import GraphSchema
from dither.sources.schema import Schema
from dither.sources.schema_file import VERSION, read_schema, schema_text, written

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}\Z")
MOST_FILES = 1_000
"""Files that are listed."""
PASSWORDS = "DITHER_SOURCE_"
"""Sources may name environment variables that begin so, and no others."""
_VARIABLE = re.compile(r"\$\{([^}]*)\}?")


class Dataset:
    """One registered dataset.  Its session plans and charges; whatever is private is read by its worker process."""

    def __init__(
        self, schema: Schema | GraphSchema, ledger: Ledger, worker: DatasetWorker, warnings: Sequence[str] = ()
    ) -> None:
        self.name = schema.name
        self.schema = schema
        self.warnings = tuple(warnings)
        """For owners: what to change in the schema file."""
        self._ledger, self._worker = ledger, worker
        self._session: Session | GraphSession | None = None

    @property
    def is_graph(self) -> bool:
        """True for a graph, false for a table."""
        return isinstance(self.schema, GraphSchema)

    @property
    def is_planned_by_schema(self) -> bool:
        """True unless questions are planned from public edges too, which are read from the source."""
        return not isinstance(self.schema, GraphSchema) or self.schema.weight is None

    def open(self) -> Session | GraphSession:
        """The session; errors say where the source is, so they are for owners."""
        if self._session is None:
            opened = session_in(self._worker, self.schema, self._ledger)
            opened._on_changed_source = lambda message: log("source changed", dataset=self.name, detail=message)
            self._session = opened
        return self._session

    def stored_types(self) -> dict[str, str]:
        """For owners: the columns that the source has, whatever is declared."""
        return self._worker.stored_types()

    @property
    def is_open(self) -> bool:
        """True once its source was opened."""
        return self._session is not None

    def open_account(self) -> None:
        """Open the source, which registers the dataset in the ledger; errors do not say where the source is."""
        with self.session():
            pass

    def source_has_changed(self) -> bool | None:
        """For owners: whether stored answers are of an earlier state of the source; None if that is not known."""
        if self._session is None:  # (it is opened elsewhere, and nobody waits for that here)
            return None
        with suppress(DitherError), self.session() as session:
            changed: bool | None = session.source_has_changed
            return changed
        return None

    def _opened(self) -> Session | GraphSession:
        try:
            return self.open()
        except (InvalidArgument, InvalidData):
            raise SourceFailed(f"the source of {self.name!r} cannot be read now; nothing was charged") from None

    @contextmanager
    def session(self) -> Iterator[Session | GraphSession]:
        """The session, for any number of threads; errors do not say where the source is."""
        try:
            yield self._opened()
        except SourceFailed as error:
            raise self._without_source(error) from None

    def _without_source(self, error: SourceFailed) -> SourceFailed:
        """Whether it was charged, without the name of a file or table: that is the owner's.

        The text is the same whatever failed: all that may have is in it.
        """
        rows = None if isinstance(self.schema, GraphSchema) else self.schema.rows
        other = ""
        if isinstance(rows, int):
            other = f", or does not have the {rows:,} rows that its schema declares (for its owner: dither check)"
        charged = str(error).rpartition("; ")[2]
        result = SourceFailed(f"the source of {self.name!r} could not be read{other}; {charged}")
        if came_after_draw(error):
            note_draw(result)
        return result

    def close(self) -> None:
        """End the worker, once it has finished what is under way."""
        self._worker.close()


class Catalog:
    """All datasets of a home folder; several servers may share it, so files are looked at anew every time."""

    def __init__(self, home: Path, ledger: Ledger, workers: Workers, roots: tuple[Path, ...] = ()) -> None:
        self._folder = home / "datasets"
        self._data = home / "data"
        self._roots = tuple(root.resolve() for root in (self._data, *roots))
        self._ledger, self._workers = ledger, workers
        self._lock = threading.Lock()
        self._known: dict[str, tuple[tuple[int, int], Dataset]] = {}

    def names(self) -> list[str]:
        """All registered names."""
        return sorted(path.stem for path in self._folder.glob("*.toml") if NAME.match(path.stem))

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
            built = self._build(name, schema_text(file), file.name)
            self._known[name] = (stamp, built)
        if known is not None:
            known[1].close()
        return built

    def _build(self, name: str, text: str, called: str) -> Dataset:
        warnings: list[str] = []
        schema = self._placed(read_schema(text, called, name=name, without_version=warnings.append), name)
        for message in warnings:
            log("schema", dataset=name, detail=message)
        source = WorkerSource(name, text, called, str(self._data))
        return Dataset(schema, self._ledger, DatasetWorker(self._workers, source), warnings)

    def register(self, name: str, text: str) -> Dataset:
        """Check a schema against its source, open its account, and keep its file."""
        if not NAME.match(name):
            raise InvalidArgument(
                "name", name, "must have 1 to 64 characters: letters of A-Z and a-z, digits, _ and -, and - not first"
            )
        file = self._file(name)
        if file.exists() and file.read_text(encoding="utf-8") != text:
            raise Contradiction(
                f"dataset {name!r} is registered with another schema: to correct that one, such as its rows, edit "
                f"HOME/datasets/{name}.toml on the server; nothing was changed"
            )
        built = self._build(name, text, "schema")
        if built.schema.budget is None:
            raise InvalidArgument("budget", None, "is missing: declare a section [budget] with epsilon")
        for prior in getattr(built.schema, "priors", {}).values():
            declared_prior(prior)  # refuses what is no prior
        try:
            built.open()  # the source is there, its columns are as declared, the ledger knows the budget
            self._written(file, text)
            self._adopt(name, built)
        finally:
            if self._known.get(name, (None, None))[1] is not built:
                built.close()
        return self.dataset(name)

    def files(self) -> tuple[list[str], bool]:
        """For owners: the files that schemas may name, and whether these are all.

        Those of the data folder by their paths in it, others whole; hidden ones, links that lead elsewhere or nowhere,
        and names that are no UTF-8 are left out.
        """
        results: list[str] = []
        for place, root in enumerate(self._roots):
            for folder, folders, files in os.walk(root):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                for name in sorted(files):
                    file = Path(folder) / name
                    if name.startswith(".") or not (file.is_file() and self._is_below(file) and _is_text(str(file))):
                        continue
                    if len(results) == MOST_FILES:
                        return results, False
                    results.append(str(file if place else file.relative_to(root)))
        return results, True

    def stored_types(self, place: Mapping[str, Given]) -> dict[str, str]:
        """For owners: the columns of a source that is not declared yet, with the types that they are stored in.

        place: what stands in the section [dataset] of its schema.
        """
        lines = [f"{key} = {written(item)}" for key, item in place.items() if isinstance(item, str | int)]
        # A schema declares at least one column; this one is never looked for.
        text = "\n".join([f"version = {VERSION}", "[dataset]", *lines, "[columns.undeclared]", 'type = "boolean"', ""])
        draft = self._build("undeclared", text, "source")
        try:
            return draft.stored_types()
        finally:
            draft.close()

    def _is_below(self, file: Path) -> bool:
        """Whether a path leads into a folder that the server may read; one that leads in a circle stays as it is."""
        if "\0" in str(file):  # (no file has such a name)
            return False
        target = Path(os.path.realpath(file))
        return any(target.is_relative_to(root) for root in self._roots)

    def _adopt(self, name: str, built: Dataset) -> None:
        """Keep a new dataset with its worker, unless the same schema was known before."""
        status = self._file(name).stat()
        with self._lock:
            self._known.setdefault(name, ((status.st_mtime_ns, status.st_size), built))

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

    def _placed(self, schema: Schema | GraphSchema, name: str) -> Schema | GraphSchema:
        """The schema under its registered name, with sources that the server may open."""
        if isinstance(schema, Schema) and schema.tables:
            for item, table in schema.tables.items():
                self._check_source(str(table.source), table.engine, f"tables.{item}.source")
        else:
            self._check_source(str(schema.source), schema.engine, "source")
        return dataclasses.replace(schema, name=name, folder=str(self._data))

    def _check_source(self, source: str, engine: str | None, argument: str) -> None:
        for variable in _VARIABLE.findall(source):
            if not variable.startswith(PASSWORDS):
                # Otherwise an owner could have any variable of the server sent to an address of their choice.
                raise InvalidArgument(
                    argument, f"${{{variable}}}", f"must use variables whose names begin with {PASSWORDS}"
                )
        looks = ENGINES[guessed(source)]
        declared = looks if engine is None else ENGINES[engine]
        # Files of one suffix may be those of several engines; an address is that of one.
        same = declared is looks or (declared.reads_files and looks.reads_files)
        if not (same and looks.is_served and declared.is_served):
            raise InvalidArgument(
                argument, source, "must be a file below the server's data folder, or a postgresql:// address"
            )
        if looks.reads_files and ("${" in source or not self._is_below(self._data / source)):
            raise InvalidArgument(argument, source, "must be a file below the server's data folder")

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


def _is_text(path: str) -> bool:
    """Whether a path can be sent: names of files are bytes."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
