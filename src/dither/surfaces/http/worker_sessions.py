"""Sessions of the server: planned, charged and stored here; read in the worker process of the dataset."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither.data.graph_schema import GraphSchema
from dither.ledger import Ledger
from dither.session.account import PaidSession
from dither.session.graphs import GraphSession
from dither.session.session import Session
from dither.surfaces.http.programs import programs_of, seconds_of
from dither.surfaces.http.workers import Answers, DatasetWorker


@dataclass(frozen=True)
class _Elsewhere:
    """Stands for an engine that a worker holds."""

    mark: str

    def fingerprint(self) -> str:
        return self.mark

    def close(self) -> None:
        """Nothing is open here."""


class _InWorker(PaidSession):
    """A session that reads in a worker.  It holds nothing that threads could not share."""

    _worker: DatasetWorker

    @contextlib.contextmanager
    def prepared(self, plans: Sequence[Any]) -> Iterator[Callable[[], Answers]]:
        """Prepared, and after the charge read, in the worker."""
        with self._worker.prepared(list(plans), sum(seconds_of(one) for one in programs_of(list(plans)))) as read:
            yield read


class TableInWorker(_InWorker, Session):
    """A session over a table."""

    def __init__(self, schema: Any, ledger: Ledger, worker: DatasetWorker) -> None:
        self._worker = worker
        elsewhere: Any = _Elsewhere(worker.opened()["fingerprint"])
        super().__init__(schema, ledger=ledger, engine=elsewhere)


class GraphInWorker(_InWorker, GraphSession):
    """A session over a graph; of one with private weights it has the public edges, to plan with."""

    def __init__(self, schema: GraphSchema, ledger: Ledger, worker: DatasetWorker) -> None:
        self._worker = worker
        self._opened = worker.opened()
        super().__init__(schema, ledger=ledger)

    def _ready(self) -> None:
        """The worker looks."""

    def _read_public(self) -> Any:
        if self._opened["edges"] is None:
            return None
        from dither.data.graph import Graph  # (compiled kernels are slow to load)

        edges = np.frombuffer(base64.b64decode(self._opened.pop("edges")), dtype=np.int64).reshape(-1, 2)
        weights = np.zeros(len(edges), dtype=np.dtype(self._opened["weights"]))
        schema = self.schema
        return Graph(edges, n=schema.vertices, weights=weights, cap=schema.cap, step=schema.step)


def session_in(worker: DatasetWorker, schema: Any, ledger: Ledger) -> TableInWorker | GraphInWorker:
    """Open a dataset's source in its worker and its account here; errors are for owners."""
    if isinstance(schema, GraphSchema):
        return GraphInWorker(schema, ledger, worker)
    return TableInWorker(schema, ledger, worker)
