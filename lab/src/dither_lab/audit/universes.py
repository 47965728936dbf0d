"""Small universes of everything that can be asked: all datasets of a few records, and all pairs of neighbours."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product
from typing import Any, cast

import numpy as np

from dither.privacy import Loss, Neighbours
from dither.procedures.least_squares import plan_moments
from dither.procedures.regression import RegressionFacts
from dither.queries.query import StatisticQuery
from dither.queries.trees import MSTCost
from dither.queries.weighted_cuts import WeightedMinCut
from dither.sources.column import Column, Shape, Table
from dither.sources.graph import Graph, GraphShape
from dither.sources.grid import Grid
from dither.statistics.statistic import Statistic, VectorStatistic
from dither.statistics.unknown_size import for_people
from dither_lab.audit.enumeration import Records, as_column, datasets, neighbours
from dither_lab.audit.laws.facts import Enumerated, fingerprint, is_vector, records_grid


@dataclass(frozen=True, eq=False)
class Universe:
    """A statistic, some datasets and which of them are neighbours."""

    statistic: Statistic | VectorStatistic
    data: Sequence[Any]
    pairs: Sequence[tuple[int, int]]
    """Ordered: both (i, j) and (j, i)."""
    complete: bool = True
    """Whether records reach both bounds: else enumerated sensitivities fall short of the true ones."""

    @property
    def vector(self) -> bool:
        """Whether the statistic is several numbers at once."""
        return is_vector(self.statistic)

    def enumerated(self, published: frozenset[str] = frozenset()) -> Enumerated[Any]:
        """The facts of all datasets by brute force, but for the structures that are taken as published."""
        return Enumerated(self.statistic, self.data, self.pairs, published)

    @functools.cached_property
    def facts(self) -> list[Hashable]:
        """All that a mechanism sees of each dataset."""
        return [fingerprint(self.statistic, data) for data in self.data]

    @functools.cached_property
    def different_pairs(self) -> list[tuple[Any, Any]]:
        """A pair of datasets for every combination of facts: no mechanism can tell more pairs apart."""
        distinct = {(self.facts[here], self.facts[there]): (here, there) for here, there in self.pairs}
        return [(self.data[here], self.data[there]) for here, there in distinct.values()]

    @functools.cached_property
    def distinct_data(self) -> list[Any]:
        """A dataset for every combination of facts."""
        return list(dict(zip(self.facts, self.data, strict=True)).values())


def _pairs(listed: Sequence[Any], near: Callable[[Any], Iterable[Any]]) -> list[tuple[int, int]]:
    number = {x: i for i, x in enumerate(listed)}
    return [(number[x], number[y]) for x in listed for y in near(x) if y in number]


def column_universe(query: StatisticQuery, values: Sequence[int], records: int) -> Universe:
    """All columns of so many records; neighbours change one."""
    statistic = query.resolve(Shape(records, whole=True, nullable=False))
    listed = datasets(values, records)
    grid = records_grid(statistic)
    data = [as_column(x, grid) for x in listed]
    complete = (grid.low, grid.high) == (min(values), max(values))
    return Universe(statistic, data, _pairs(listed, lambda x: neighbours(x, values)), complete)


def table_universe(query: StatisticQuery, values: Sequence[int], records: int, columns: int = 2) -> Universe:
    """All tables of whole numbers; neighbours change one row.  Rows in rising order: statistics do not see it."""
    shape = Shape(records, whole=True, nullable=False, columns=columns)
    statistic = query.resolve(shape)
    rows = list(product(values, repeat=columns))
    listed = list(combinations_with_replacement(rows, records))
    grids = query.grids(shape)  # type: ignore[attr-defined]
    data = [Table([Column(np.array(x, dtype=np.int64)[:, j], grid) for j, grid in enumerate(grids)]) for x in listed]

    def near(x: Any) -> set[Any]:
        return {tuple(sorted((*x[:i], row, *x[i + 1 :]))) for i in range(records) for row in rows} - {x}

    return Universe(statistic, data, _pairs(listed, near))


def table_selection_universe(
    query: StatisticQuery, values: Sequence[int], most: int, relation: Neighbours, rows: int = 1
) -> Universe:
    """All selections of at most so many rows of two columns; neighbours add, remove (and replace) up to ``rows``."""
    shape = Shape(most, whole=True, nullable=False, columns=2, private=True, neighbours=relation, rows_per_person=rows)
    possible = list(product(values, repeat=2))
    listed = [x for size in range(most + 1) for x in combinations_with_replacement(possible, size)]
    arrays = [np.array(x, dtype=np.int64).reshape(-1, 2) for x in listed]
    grids = query.grids(shape)  # type: ignore[attr-defined]
    data = [Table([Column(x[:, j], grid) for j, grid in enumerate(grids)]) for x in arrays]
    return Universe(query.resolve(shape), data, _pairs(listed, lambda x: _within(x, possible, most, relation, rows)))


def several_features_universe() -> Universe:
    """At most one record of a response and two features; neighbours add, remove or replace it.  Sums are linear."""
    grid = Grid(Fraction(1), 0, 2)
    statistic = plan_moments(RegressionFacts(1, 2), Loss(1.0), None, (grid, grid), grid).statistic
    rows = list(product(range(3), repeat=3))
    arrays = [np.zeros((0, 3), dtype=np.int64), *(np.array([row], dtype=np.int64) for row in rows)]
    data = [Table([Column(array[:, j], grid) for j in range(3)]) for array in arrays]
    return Universe(statistic, data, list(permutations(range(len(data)), 2)))


def selection_universe(
    query: StatisticQuery, values: Sequence[int], most: int, relation: Neighbours, rows: int = 1
) -> Universe:
    """All selections of at most so many records; neighbours add, remove (and replace) up to ``rows`` of them."""
    shape = Shape(most, whole=True, nullable=False, private=True, neighbours=relation, rows_per_person=rows)
    statistic = query.resolve(shape)
    if not is_vector(statistic):
        statistic = for_people(cast(Statistic, statistic), rows)
    listed = [x for size in range(most + 1) for x in combinations_with_replacement(values, size)]
    grid = records_grid(statistic)
    data = [as_column(x, grid) for x in listed]
    return Universe(statistic, data, _pairs(listed, lambda x: _within(x, values, most, relation, rows)))


def _within(x: Any, values: Sequence[Any], most: int, relation: Neighbours, rows: int) -> set[Any]:
    """What up to so many steps make of a selection."""
    within = {x}
    for _ in range(rows):
        within |= {z for y in within for z in _one_step(y, values, most, relation)}
    return within - {x}


def _one_step(x: Any, values: Sequence[Any], most: int, relation: Neighbours) -> set[Any]:
    results = {tuple(sorted((*x, v))) for v in values if len(x) < most}
    results |= {tuple(sorted(x[:i] + x[i + 1 :])) for i in range(len(x))}
    if relation is not Neighbours.ADD_REMOVE:
        results |= {tuple(sorted((*x[:i], v, *x[i + 1 :]))) for i in range(len(x)) for v in values}
    return results - {x}


@functools.cache
def small_graphs(vertices: int) -> list[Graph]:
    """Every graph on so many vertices, numbered by its edges as bits."""
    edges = list(combinations(range(vertices), 2))
    return [
        Graph([edge for bit, edge in enumerate(edges) if code >> bit & 1], n=vertices)
        for code in range(1 << len(edges))
    ]


def graph_universe(query: StatisticQuery, vertices: int) -> Universe:
    """All graphs; neighbours differ in one edge."""
    graphs = small_graphs(vertices)
    bits = vertices * (vertices - 1) // 2
    statistic = query.resolve(graphs[0].shape)
    return Universe(
        statistic, graphs, [(code, code ^ (1 << bit)) for code in range(len(graphs)) for bit in range(bits)]
    )


def node_universe(query: StatisticQuery, vertices: int) -> Universe:
    """All graphs; neighbours differ in the edges of one vertex."""
    graphs = small_graphs(vertices)
    own = [
        sum(1 << bit for bit, edge in enumerate(combinations(range(vertices), 2)) if vertex in edge)
        for vertex in range(vertices)
    ]
    changes = [change for change in range(1, len(graphs)) if any(change & ~bits == 0 for bits in own)]
    pairs = [(code, other) for code in range(len(graphs)) for other in sorted(code ^ change for change in changes)]
    return Universe(query.resolve(GraphShape.of(vertices, Neighbours.NODE)), graphs, pairs)


def weighted_universe(
    edges: Sequence[tuple[int, int]],
    vertices: int,
    values: Sequence[int],
    query: MSTCost | WeightedMinCut | None = None,
) -> Universe:
    """All weightings of a public graph; neighbours change one weight.  The query is by default the spanning tree's."""
    listed = list(product(values, repeat=len(edges)))
    cap = max(values)
    data = [Graph(np.array(edges), n=vertices, weights=np.array(x), cap=cap) for x in listed]

    def near(x: Records) -> Iterable[Records]:
        return ((*x[:i], v, *x[i + 1 :]) for i in range(len(x)) for v in values if v != x[i])

    asked = query or MSTCost()
    return Universe(asked.resolve(asked.shape(data[0])), data, _pairs(listed, near))


def chain_universe(query: StatisticQuery, length: int) -> Universe:
    """The datasets of a chain; neighbours follow each other."""
    statistic = query.resolve(Shape(length, whole=True, nullable=False))
    steps = [(k, k + 1) for k in range(length)]
    return Universe(statistic, list(range(length + 1)), steps + [(there, here) for here, there in steps])
