"""Edges of a graph in an engine: a table of PostgreSQL, Spark, SQLite or DuckDB, or a frame, with two columns of ends.

Both ends, and the weight where there is one, are read in one pass and one snapshot; what is no vertex becomes -1 or the
number of vertices inside the engine, record by record, so no entry can make it raise an error.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from dither.errors import InvalidArgument
from dither.privacy import Neighbours
from dither.sources.engines.engine import LARGEST_DOUBLE, Engine, clamped, double_literal
from dither.sources.engines.factory import engine_of
from dither.sources.graph import Graph
from dither.sources.graph_schema import GraphSchema
from dither.sources.predicates import literal

_NUMBERS = ("whole", "real", "decimal", "boolean")
_MOST_WHOLE = 2.0**53
"""Beyond all grids: what larger weights count as, and missing ones, before they are clamped."""


class EdgeTable:
    """Private: the edge list that a schema declares, where an engine has it."""

    def __init__(self, schema: GraphSchema) -> None:
        self.schema = schema
        self._engine: Engine = engine_of(schema.source, table=schema.table, engine=schema.engine, folder=schema.folder)
        self._types = self._checked()

    def __repr__(self) -> str:
        return "EdgeTable(<private>)"

    def _checked(self) -> dict[str, str]:
        """The stored types of the columns that are read: public facts only."""
        stored_types = self._engine.stored_types()
        accepted = (*_NUMBERS, "text") if self._engine.casts_text else _NUMBERS
        names = {"ends": self.schema.ends, "weight": () if self.schema.weight is None else (self.schema.weight,)}
        for argument, columns in names.items():
            for name in columns:
                if name not in stored_types:
                    raise InvalidArgument(argument, name, self._engine.absent_column())
                if stored_types[name] not in accepted:
                    raise InvalidArgument(
                        argument, name, f"must be a column of numbers; the source stores {stored_types[name]}"
                    )
        return {name: stored_types[name] for columns in names.values() for name in columns}

    @property
    def called(self) -> str:
        """What errors call the source."""
        return self.schema.table or self.schema.name

    def fingerprint(self, below: Path | None = None) -> str:
        """Which source this is, in public terms."""
        return self._engine.fingerprint(below)

    def state(self) -> str | None:
        """What the source says about its last change; for owners only."""
        return self._engine.state()

    def ready(self) -> None:
        """Fail, before anything is charged, if the source is not there."""
        self._engine.ready()

    def close(self) -> None:
        """Let go of connections."""
        self._engine.close()

    def read(self) -> Graph:
        """The graph: private."""
        with self._engine.snapshot():
            if self.schema.weight is None:
                return self._graph(self._all_ends())
            weight = exp.Coalesce(this=self._number(self.schema.weight), expressions=[double_literal(LARGEST_DOUBLE)])
            query = self._ends().select(exp.alias_(weight, "w"))
            batches = list(self._engine.stream(query, ("whole", "whole", "real")))
        parts = [np.concatenate([batch.column(place).to_numpy() for batch in batches] or [[]]) for place in range(3)]
        return self._graph(_pairs(parts[0], parts[1]), self._stored(parts[2]))

    def read_public(self) -> Graph | None:
        """The public edges, with zeros for the weights, which are not read; None if the edges are private."""
        if self.schema.weight is None:
            return None
        pairs = self.read_ends()
        return self._graph(pairs, self._stored(np.zeros(len(pairs))))

    def read_ends(self) -> NDArray[np.int32]:
        """Private: both ends of every record; one that is no vertex is -1 or the number of vertices."""
        with self._engine.snapshot():
            return self._all_ends()

    def _all_ends(self) -> NDArray[np.int32]:
        return _pairs(*self._engine.long_arrays(self._ends()))

    def _graph(self, pairs: NDArray[np.int32], weights: NDArray[np.generic] | None = None) -> Graph:
        schema = self.schema
        return Graph(
            pairs,
            n=schema.vertices,
            weights=weights,
            cap=schema.cap,
            step=schema.step,
            neighbours="node" if schema.neighbours is Neighbours.NODE else "edge",
        )

    def _ends(self) -> exp.Select:
        """Both ends of every record as whole numbers from -1 to the number of vertices."""
        ends = (exp.alias_(self._vertex(name), f"e{place}") for place, name in enumerate(self.schema.ends))
        return exp.select(*ends).from_(self._engine.table())

    def _vertex(self, name: str) -> exp.Expr:
        low, high = (double_literal(end) for end in (-1.0, float(self.schema.vertices)))
        known = exp.Coalesce(this=self._number(name), expressions=[low.copy()])
        inside = clamped(known, low, high)
        whole = self._engine.nearest(inside)
        same = exp.EQ(this=exp.cast(whole.copy(), "double"), expression=inside.copy())
        return exp.cast(exp.case().when(same, whole).else_(literal(-1)), "bigint")

    def _number(self, name: str) -> exp.Expr:
        return self._engine.number(name, self._types[name])

    def _stored(self, weights: NDArray[np.float64]) -> NDArray[np.generic]:
        """Weights of the type that the source declares: it decides about their grid."""
        if self._types[str(self.schema.weight)] not in ("whole", "boolean"):
            return weights
        return np.clip(weights, -_MOST_WHOLE, _MOST_WHOLE).astype(np.int64)


def _pairs(sources: NDArray[np.int64], targets: NDArray[np.int64]) -> NDArray[np.int32]:
    """Two columns; the number of vertices is below 2**31, and so is every end."""
    pairs = np.empty((len(sources), 2), dtype=np.int32)
    pairs[:, 0], pairs[:, 1] = sources, targets
    return pairs
