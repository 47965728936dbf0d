"""Sessions of the server: charged and stored here, read in the worker process of the dataset."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from dither.interfaces.http.channel import Answers
from dither.interfaces.http.schedule import programs_of, seconds_of
from dither.interfaces.http.workers import DatasetWorker
from dither.ledger import Ledger
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
        with self._worker.prepared(list(plans), sum(seconds_of(item) for item in programs_of(list(plans)))) as read:
            check_descriptors()  # of this process; the worker has looked at its own
            yield read

    def close(self) -> None:
        """Nothing is open here."""


class TableInWorker(_InWorker, TableSource):
    """A table."""

    def __init__(self, schema: Schema, worker: DatasetWorker) -> None:
        self.schema, self._worker = schema, worker

    def fingerprint(self) -> str:
        """Opens the source."""
        mark = self._worker.opened()["fingerprint"]
        if mark is None:
            raise RuntimeError("every table has a fingerprint")
        return mark

    def state(self) -> str | None:
        """Of a file what its folder says of it, which needs no worker."""
        if not self.schema.tables and ENGINES[self.schema.engine or guessed(self.schema.source)].reads_files:
            return state_of_file(Path(self.schema.folder or ".") / self.schema.source)
        return self._worker.state()


class GraphInWorker(_InWorker, GraphSource):
    """A graph.  Whoever plans reads the public edges; here nothing is planned."""

    def __init__(self, schema: GraphSchema, worker: DatasetWorker) -> None:
        worker.opened()
        self.schema, self.edges, self._worker = schema, None, worker
        self._edge_list = schema  # a file: see ``Catalog``


def session_in(worker: DatasetWorker, schema: Schema | GraphSchema, ledger: Ledger) -> Session | GraphSession:
    """Open a dataset's source in its worker and its account here; errors are for owners."""
    if isinstance(schema, GraphSchema):
        return GraphSession(schema, ledger=ledger, source=GraphInWorker(schema, worker))
    return Session(schema, ledger=ledger, source=TableInWorker(schema, worker))
