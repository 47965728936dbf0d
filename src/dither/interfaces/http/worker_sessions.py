"""Sessions of the server: charged and stored here, read in the worker process of the dataset."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from dither.interfaces.http.channel import Answers
from dither.interfaces.http.schedule import programs_of, seconds_of
from dither.interfaces.http.workers import DatasetWorker
from dither.ledger import Ledger, PostgresLedger
from dither.session.graphs import GraphSession
from dither.session.plan import SessionPlan
from dither.session.reading import GraphSource, Source, TableSource
from dither.session.session import Session
from dither.sources.descriptors import check_descriptors
from dither.sources.engines.factory import ENGINES, guessed
from dither.sources.files import state_of_file
from dither.sources.graph_schema import GraphSchema
from dither.sources.schema import Schema


class _InWorker(Source):
    """A source that a worker holds; here is nothing that threads could not share."""

    _worker: DatasetWorker

    @contextlib.contextmanager
    def prepared(self, plans: Sequence[SessionPlan]) -> Iterator[Callable[[], Answers]]:
        """Prepared, and after the charge read, in the worker."""
        check_descriptors()  # of this process; the worker looks at its own
        with self._worker.prepared(list(plans), sum(seconds_of(item) for item in programs_of(list(plans)))) as read:
            yield read

    def close(self) -> None:
        """Nothing is open here."""


def _opened_in(worker: DatasetWorker, *, has_copies: bool, reads_edges: bool = False) -> list[str]:
    """Open the source of a worker; its marks.

    has_copies: homes of other servers may be copies of this one, whose files are known by their paths in the home.
    """
    marks = worker.opened(reads_edges=reads_edges)["marks"]
    if not marks:
        raise RuntimeError("every source that a server opens has a fingerprint")
    return marks if has_copies else marks[-1:]


def _state_of(schema: Schema | GraphSchema, worker: DatasetWorker) -> str | None:
    """What a source says of its last change: of a file what its folder says, which needs no worker."""
    source = str(schema.source)
    if ENGINES[schema.engine or guessed(source)].reads_files:
        return state_of_file(Path(schema.folder or ".") / source)
    return worker.state()


class TableInWorker(_InWorker, TableSource):
    """A table."""

    def __init__(self, schema: Schema, worker: DatasetWorker, *, has_copies: bool) -> None:
        self.schema, self._worker, self._has_copies = schema, worker, has_copies

    def marks(self, below: Path | None = None) -> list[str]:  # noqa: ARG002  (the worker knows the folder)
        """Opens the source."""
        return _opened_in(self._worker, has_copies=self._has_copies)

    def state(self) -> str | None:
        """Of linked tables the worker knows it."""
        return self._worker.state() if self.schema.tables else _state_of(self.schema, self._worker)


class GraphInWorker(_InWorker, GraphSource):
    """A graph.  Whoever plans reads the public edges; here nothing is planned."""

    def __init__(self, schema: GraphSchema, worker: DatasetWorker, *, has_copies: bool) -> None:
        self._marks = _opened_in(worker, has_copies=has_copies, reads_edges=schema.weight is not None)
        self.schema, self.edges, self._worker = schema, None, worker

    def marks(self, below: Path | None = None) -> list[str]:  # noqa: ARG002  (as of a table)
        """Of the source that the worker has opened."""
        return self._marks

    def state(self) -> str | None:
        """As of a table."""
        return _state_of(self.schema, self._worker)


def session_in(worker: DatasetWorker, schema: Schema | GraphSchema, ledger: Ledger) -> Session | GraphSession:
    """Open a dataset's source in its worker and its account here; errors are for owners."""
    has_copies = isinstance(ledger, PostgresLedger)
    if isinstance(schema, GraphSchema):
        return GraphSession(schema, ledger=ledger, source=GraphInWorker(schema, worker, has_copies=has_copies))
    return Session(schema, ledger=ledger, source=TableInWorker(schema, worker, has_copies=has_copies))
