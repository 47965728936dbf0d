"""Sessions of the server: charged and stored here, read in the worker process of the dataset."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dither.interfaces.http.programs import programs_of, seconds_of
from dither.interfaces.http.workers import Answers, DatasetWorker
from dither.ledger import Ledger
from dither.session.account import PaidSession
from dither.session.graphs import GraphSession
from dither.session.session import Session
from dither.sources.descriptors import check_descriptors
from dither.sources.engines.factory import guessed
from dither.sources.files import state_of_file
from dither.sources.graph_schema import GraphSchema
from dither.sources.schema import Schema


@dataclass(frozen=True)
class _Elsewhere:
    """Stands for an engine that a worker holds."""

    schema: Schema
    worker: DatasetWorker

    def fingerprint(self) -> str:
        """Opens the source."""
        mark: str = self.worker.opened()["fingerprint"]
        return mark

    def state(self) -> str | None:
        """Of a file what its folder says of it, which needs no worker."""
        if (self.schema.engine or guessed(self.schema.source)) == "duckdb":
            return state_of_file(Path(self.schema.folder or ".") / self.schema.source)
        return self.worker.state()

    def close(self) -> None:
        """Nothing is open here."""


class _InWorker(PaidSession):
    """A session that reads in a worker.  It holds nothing that threads could not share."""

    _worker: DatasetWorker

    @contextlib.contextmanager
    def prepared(self, plans: Sequence[Any]) -> Iterator[Callable[[], Answers]]:
        """Prepared, and after the charge read, in the worker."""
        with self._worker.prepared(list(plans), sum(seconds_of(one) for one in programs_of(list(plans)))) as read:
            check_descriptors()  # of this process; the worker has looked at its own
            yield read


class TableInWorker(_InWorker, Session):
    """A session over a table."""

    def __init__(self, schema: Schema, ledger: Ledger, worker: DatasetWorker) -> None:
        self._worker = worker
        elsewhere: Any = _Elsewhere(schema, worker)
        super().__init__(schema, ledger=ledger, engine=elsewhere)


class GraphInWorker(_InWorker, GraphSession):
    """A session over a graph."""

    def __init__(self, schema: GraphSchema, ledger: Ledger, worker: DatasetWorker) -> None:
        self._worker = worker
        super().__init__(schema, ledger=ledger)

    def _ready(self) -> None:
        self._worker.opened()

    def _read_public(self) -> None:
        """Nothing is planned here, so the public edges are not read."""


def session_in(worker: DatasetWorker, schema: Any, ledger: Ledger) -> TableInWorker | GraphInWorker:
    """Open a dataset's source in its worker and its account here; errors are for owners."""
    if isinstance(schema, GraphSchema):
        return GraphInWorker(schema, ledger, worker)
    return TableInWorker(schema, ledger, worker)
