"""The schema of a graph: where its edge list is, how many vertices it has, and what the budget is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from dither.errors import InvalidArgument, SourceFailed
from dither.numbers import Number
from dither.privacy import Budget, Neighbours, Relation
from dither.sources.engines.factory import ENGINES, guessed
from dither.sources.files import DATABASES, check_file_columns, file_mark, state_of_file
from dither.sources.lines import inner_suffix
from dither.sources.schema import VERSIONS, check_version

if TYPE_CHECKING:
    from dither.sources.edge_table import EdgeTable
    from dither.sources.graph import Graph
    from dither.typing import Frame

MOST_VERTICES = (1 << 31) - 1
Whose: TypeAlias = Literal["edge", "node"]
"""Whose the private edges are: each one somebody's, or all those of a vertex."""


@dataclass(frozen=True)
class GraphSchema:
    """An edge list with a public number of vertices 0 .. ``vertices`` - 1.

    It is a CSV, TSV or Parquet file, or two columns of a table: of a database (``table``), of Spark, of a frame.
    Without ``weight`` every edge is a person's and private, or with ``neighbours="node"`` every vertex with its edges;
    with it the edges are public and the weights, between 0 and ``cap``, are private.
    """

    source: str | Frame
    vertices: int
    name: str = "graph"
    ends: tuple[str, str] = ("source", "target")
    weight: str | None = None
    cap: Number | None = None
    step: Number | None = None
    budget: Budget | None = None
    filter: str = "basic"
    slack: Number | None = None
    neighbours: Neighbours = field(default=Neighbours.EDGE, kw_only=True)
    """Which graphs every release compares: one edge, or all edges of one vertex; with a weight always one weight."""
    table: str | None = field(default=None, kw_only=True)
    """Of a database, the table or view with the edges."""
    engine: str | None = field(default=None, kw_only=True)
    """What reads them, where the source does not say it."""
    folder: str | None = field(default=None, compare=False)
    version: int = field(default=VERSIONS[-1], kw_only=True, compare=False)
    """Which reading of schema files it was written for; 1 is that of dither 0.1.0."""

    def __post_init__(self) -> None:
        check_version(self.version)
        if self.engine is not None and self.engine not in ENGINES:
            raise InvalidArgument("engine", self.engine, f"must be one of {', '.join(ENGINES)}")
        whole = isinstance(self.vertices, int) and not isinstance(self.vertices, bool)
        if not whole or not 1 <= self.vertices <= MOST_VERTICES:
            accepted = f"must be the public number of vertices, from 1 to {MOST_VERTICES}"
            raise InvalidArgument("vertices", self.vertices, accepted)
        if len(self.ends) != 2 or not all(isinstance(end, str) and end for end in self.ends):
            raise InvalidArgument("ends", list(self.ends), "must be the names of the two columns with the ends")
        if self.ends[0] == self.ends[1]:
            raise InvalidArgument("ends", list(self.ends), "must be the names of two different columns")
        for key, given in (("cap", self.cap), ("step", self.step)):
            if self.weight is None and given is not None:
                raise InvalidArgument(key, given, "is for a graph with a weight column: leave it out")
        if self.weight is not None and self.cap is None:
            raise InvalidArgument("cap", None, "is missing: declare a public upper bound of the weights")
        is_default = self.weight is not None and self.neighbours in (Neighbours.EDGE, Neighbours.WEIGHT)
        whose = "edge" if is_default else str(self.neighbours)
        relation = Neighbours.NODE if per_vertex(whose, weighted=self.weight is not None) else Neighbours.EDGE
        object.__setattr__(self, "neighbours", relation if self.weight is None else Neighbours.WEIGHT)

    @property
    def relation(self) -> Relation:
        """The neighbours with the columns that tell edges apart: set once, when the graph is registered."""
        return Relation(self.neighbours, tuple(sorted(self.ends)))

    @property
    def is_file(self) -> bool:
        """Whether the edges are in a file of their own; else an engine has them (``sources.edge_table``)."""
        if not isinstance(self.source, (str, Path)) or self.table is not None or "${" in str(self.source):
            return False
        is_database = inner_suffix(Path(self.source)) in DATABASES
        return not is_database and (self.engine or guessed(self.source)) == next(iter(ENGINES))

    @property
    def file(self) -> Path:
        """Where the edges are, if they are in a file."""
        return Path(self.folder or "") / str(self.source)

    @property
    def called(self) -> str:
        """What errors call the source."""
        return self.file.name

    def fingerprint(self, below: Path | None = None) -> str:
        """Which source this is, in public terms."""
        return file_mark(self.file, below)

    def state(self) -> str | None:
        """When the file was last written, and how long it is; for owners only."""
        return state_of_file(self.file)

    def ready(self) -> None:
        """Fail if the file is not there, or has not the columns: before anything is charged, and reading no edge."""
        if not self.file.is_file():
            raise SourceFailed(f"the file {self.file.name} is not there; nothing was charged")
        check_file_columns(self.file, self.ends if self.weight is None else (*self.ends, self.weight))

    def read(self) -> Graph:
        """The graph: private."""
        return self._graph(withheld=False)

    def read_public(self) -> Graph | None:
        """The public edges, with zeros for the weights, which are not read; None if the edges are private."""
        return None if self.weight is None else self._graph(withheld=True)

    def _graph(self, *, withheld: bool) -> Graph:
        from dither.sources.graph import Graph  # noqa: PLC0415  (compiled kernels are slow to load)

        start, two = self.ends
        return Graph.from_file(
            self.file,
            n=self.vertices,
            source=start,
            target=two,
            weight=self.weight,
            cap=self.cap,
            step=self.step,
            neighbours="node" if self.neighbours is Neighbours.NODE else "edge",
            withheld=withheld,
        )


def edge_list_of(schema: GraphSchema) -> GraphSchema | EdgeTable:
    """Where the edges of a schema are read: its file, or the table that an engine has."""
    if schema.is_file:
        return schema
    from dither.sources.edge_table import EdgeTable  # noqa: PLC0415  (compiled kernels are slow to load)

    return EdgeTable(schema)


@contextlib.contextmanager
def opened_edge_list(schema: GraphSchema) -> Iterator[GraphSchema | EdgeTable]:
    """The same for one reading: connections are closed at its end."""
    listed = edge_list_of(schema)
    try:
        yield listed
    finally:
        if not isinstance(listed, GraphSchema):
            listed.close()


def per_vertex(neighbours: str, *, weighted: bool) -> bool:
    """Whether vertices are people, or single edges."""
    if neighbours not in get_args(Whose):
        raise InvalidArgument("neighbours", neighbours, "must be 'edge' or 'node'")
    if weighted and neighbours != "edge":
        raise InvalidArgument("neighbours", neighbours, "is for a graph without weights: leave it out")
    return neighbours == "node"
