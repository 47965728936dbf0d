"""Small universes of everything that can be asked: all datasets of a few records, and all pairs of neighbours."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np

from dither.audit.enumeration import Records, as_column, datasets, neighbours
from dither.privacy import Neighbours
from dither.queries.query import StatisticQuery
from dither.queries.trees import MSTCost
from dither.sources.column import Column, Shape, Table
from dither.sources.graph import Graph
from dither.sources.grid import Grid
from dither.statistics.statistic import Statistic, VectorStatistic
from dither.statistics.unknown_size import for_people

RUNGS = 6
"""How many rungs tell two ladders of so few records apart."""


@dataclass(frozen=True, eq=False)
class World:
    """A statistic, some datasets and which of them are neighbours."""

    statistic: Statistic | VectorStatistic
    data: Sequence[Any]
    pairs: Sequence[tuple[int, int]]
    """Ordered: both (i, j) and (j, i)."""

    @functools.cached_property
    def facts(self) -> list[Hashable]:
        """All that a mechanism sees of each dataset: the value, the first rungs and, where there is one, the chain."""
        return [seen(self.statistic, data) for data in self.data]

    @functools.cached_property
    def different_pairs(self) -> list[tuple[Any, Any]]:
        """A pair of datasets for every combination of facts: no mechanism can tell more pairs apart."""
        distinct = {(self.facts[here], self.facts[there]): (here, there) for here, there in self.pairs}
        return [(self.data[here], self.data[there]) for here, there in distinct.values()]


def seen(statistic: Statistic | VectorStatistic, data: Any) -> Hashable:
    """What mechanisms know of a dataset, as something that can be compared."""
    if isinstance(statistic, VectorStatistic):
        ranked = tuple(sorted(data.values.tolist())) if isinstance(data, Column) else ()
        return (tuple(int(value) for value in statistic.values(data)), ranked)
    rungs = tuple(int(rung) for rung in statistic.ladder(data).rungs(0, RUNGS))
    chained: tuple[int, ...] = ()
    if hasattr(statistic, "reachable_values"):
        reachable = statistic.reachable_values(data)
        reach = min(RUNGS + 2, reachable.top, -reachable.bottom)
        chained = tuple(int(link) for link in reachable.values(-reach, reach))
    lipschitz_proxy = getattr(statistic, "gauge", None)
    steady = () if lipschitz_proxy is None else (int(lipschitz_proxy(data)), int(statistic.local(data)))  # type: ignore[attr-defined]
    return (int(statistic.value(data)), rungs, chained, steady)


def _pairs(universe: Sequence[Any], near: Callable[[Any], Iterable[Any]]) -> list[tuple[int, int]]:
    number = {x: i for i, x in enumerate(universe)}
    return [(number[x], number[y]) for x in universe for y in near(x) if y in number]


def column_world(query: StatisticQuery, values: Sequence[int], records: int) -> World:
    """All columns of so many records; neighbours change one."""
    statistic = query.resolve(Shape(records, whole=True, nullable=False))
    universe = datasets(values, records)
    grid = _grid_of(statistic)
    data = [as_column(x, grid) for x in universe]
    return World(statistic, data, _pairs(universe, lambda x: neighbours(x, values)))


def table_world(query: StatisticQuery, values: Sequence[int], records: int, columns: int = 2) -> World:
    """All tables of whole numbers; neighbours change one row.  Rows in rising order: statistics do not see it."""
    shape = Shape(records, whole=True, nullable=False, columns=columns)
    statistic = query.resolve(shape)
    rows = list(product(values, repeat=columns))
    universe = list(combinations_with_replacement(rows, records))
    grids = query.grids(shape)  # type: ignore[attr-defined]
    data = [Table([Column(np.array(x, dtype=np.int64)[:, j], grid) for j, grid in enumerate(grids)]) for x in universe]

    def near(x: Any) -> set[Any]:
        return {tuple(sorted((*x[:i], row, *x[i + 1 :]))) for i in range(records) for row in rows} - {x}

    return World(statistic, data, _pairs(universe, near))


def selection_world(
    query: StatisticQuery, values: Sequence[int], most: int, relation: Neighbours, rows: int = 1
) -> World:
    """All selections of at most so many records; neighbours add, remove (and replace) up to ``rows`` of them."""
    shape = Shape(most, whole=True, nullable=False, private=True, neighbours=relation, rows_per_person=rows)
    statistic = query.resolve(shape)
    if isinstance(statistic, Statistic):
        statistic = for_people(statistic, rows)
    universe = [x for size in range(most + 1) for x in combinations_with_replacement(values, size)]
    grid = _grid_of(statistic)
    data = [as_column(x, grid) for x in universe]

    def near(x: Records) -> set[Records]:
        within = {x}
        for _ in range(rows):
            within |= {z for y in within for z in _one_step(y, values, most, relation)}
        return within - {x}

    return World(statistic, data, _pairs(universe, near))


def _one_step(x: Records, values: Sequence[int], most: int, relation: Neighbours) -> set[Records]:
    found = {tuple(sorted((*x, v))) for v in values if len(x) < most}
    found |= {tuple(sorted(x[:i] + x[i + 1 :])) for i in range(len(x))}
    if relation is not Neighbours.ADD_REMOVE:
        found |= {tuple(sorted((*x[:i], v, *x[i + 1 :]))) for i in range(len(x)) for v in values}
    return found - {x}


def _grid_of(statistic: Any) -> Grid:
    grid = getattr(statistic, "records_on", None) or getattr(statistic, "grid", None)
    if grid is not None:
        return grid  # type: ignore[no-any-return]
    # Bins have no grid of records: a record is the number of its bin.
    return Grid(Fraction(1), 0, len(statistic.labels) - 1)


@functools.cache
def small_graphs(vertices: int) -> list[Graph]:
    """Every graph on so many vertices, numbered by its edges as bits."""
    edges = list(combinations(range(vertices), 2))
    return [
        Graph([edge for bit, edge in enumerate(edges) if code >> bit & 1], n=vertices)
        for code in range(1 << len(edges))
    ]


def graph_world(query: StatisticQuery, vertices: int) -> World:
    """All graphs; neighbours differ in one edge."""
    graphs = small_graphs(vertices)
    bits = vertices * (vertices - 1) // 2
    statistic = query.resolve(graphs[0].shape)
    return World(statistic, graphs, [(code, code ^ (1 << bit)) for code in range(len(graphs)) for bit in range(bits)])


def weighted_world(edges: Sequence[tuple[int, int]], vertices: int, values: Sequence[int]) -> World:
    """All weightings of a public graph; neighbours change one weight."""
    universe = list(product(values, repeat=len(edges)))
    cap = max(values)
    data = [Graph(np.array(edges), n=vertices, weights=np.array(x), cap=cap) for x in universe]

    def near(x: Records) -> Iterable[Records]:
        return ((*x[:i], v, *x[i + 1 :]) for i in range(len(x)) for v in values if v != x[i])

    query = MSTCost()
    return World(query.resolve(query.shape(data[0])), data, _pairs(universe, near))


def chain_world(query: StatisticQuery, length: int) -> World:
    """The datasets of a chain; neighbours follow each other."""
    statistic = query.resolve(Shape(length, whole=True, nullable=False))
    steps = [(k, k + 1) for k in range(length)]
    return World(statistic, list(range(length + 1)), steps + [(there, here) for here, there in steps])
