"""What an edge list holds beside edges: exact figures for its owner, NOT private."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dither.sources.graph import file_ends
from dither.sources.graph_schema import GraphSchema, opened_edge_list


@dataclass(frozen=True)
class EdgeFigures:
    """How many records there are, and what they are: each is of one of the other kinds."""

    records: int
    edges: int
    not_vertices: int
    """With an end that is missing, no whole number, or outside of the vertices."""
    loops: int
    repeated: int
    """Of an edge that is there already, in this direction or the other."""


def edge_figures(schema: GraphSchema) -> EdgeFigures:
    """Read all records of a graph's source; weights are not looked at."""
    with opened_edge_list(schema) as listed:
        listed.ready()
        if isinstance(listed, GraphSchema):
            pairs = np.stack(file_ends(listed.file, listed.ends), axis=1)
        else:
            pairs = listed.read_ends().astype(np.int64)
    outside = ((pairs < 0) | (pairs >= schema.vertices)).any(axis=1)
    loops = ~outside & (pairs[:, 0] == pairs[:, 1])
    usable = pairs[~outside & ~loops]
    edges = len(np.unique(usable.min(axis=1) * schema.vertices + usable.max(axis=1)))  # (below 2**62)
    return EdgeFigures(len(pairs), edges, int(outside.sum()), int(loops.sum()), len(usable) - edges)
