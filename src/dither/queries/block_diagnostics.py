"""Diagnostics of sample and aggregate for the data owner.  NOT private: true answers and distances.

Nothing here draws noise or charges anything; ``dither.inspect`` is the only door.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dither.errors import InvalidArgument
from dither.kernels.clusters import kmeans
from dither.kernels.elementary import Floats
from dither.procedures.executor import Answers
from dither.procedures.metrics import METRICS, as_metric, common_grids, in_parts
from dither.procedures.partition import random_order
from dither.procedures.rows import Rows
from dither.procedures.space import Space
from dither.queries.programs import Program
from dither.sources.domain import whole
from dither.typing import Columns, Mixed

ACCURATE = 0.75
"""The share of samples that Definition 4.1 asks for."""


@dataclass(frozen=True)
class BlockAccuracy:
    """How near a program's answers for random people are to its answer for all.  NOT private."""

    size: int
    """How many people were drawn each time."""
    radius: float
    """Three quarters of the answers are within this distance of the answer for all (NRS11 Definition 4.1)."""
    median: float
    """Half of them are within this."""
    failed: int
    """So many of the draws counted as the default, because the program failed or answered with something else."""
    draws: int

    def __str__(self) -> str:
        failed = f", {self.failed} of {self.draws} failed" if self.failed else ""
        near = f"three quarters of the answers within {self.radius:g} of that of all"
        return f"{self.size} people: {near}{failed}; not private"


def block_accuracy(query: Program, data: Mixed, sizes: Iterable[int] | None, draws: int) -> list[BlockAccuracy]:
    """The accuracy for every size."""
    rows = Rows(data)
    times = whole("draws", draws, least=4, most=100_000)
    chosen = [whole("sizes", item, least=1, most=rows.people) for item in _doubling(rows.people, sizes)]
    run = _Answering(query)
    of_all = run.answer(rows, rows.people)
    results = []
    for size in chosen:
        answers = [run.answer(rows, size) for _ in range(times)]
        apart = np.sort([run.distance(answer, of_all) for answer in answers])
        radius, median = (float(apart[math.ceil(share * times) - 1]) for share in (ACCURATE, 0.5))
        failed = sum(answer is None for answer in answers)
        results.append(BlockAccuracy(size, radius, median, failed, times))
    return results


def _doubling(people: int, sizes: Iterable[int] | None) -> list[int]:
    if sizes is not None:
        listed = list(sizes)
        if not listed:
            raise InvalidArgument("sizes", listed, "must be at least one number of people")
        return listed
    return [size for size in (2**power for power in range(3, 40)) if size <= max(people // 2, 8) and size <= people]


class _Answering:
    """A program that runs in this process, on the owner's word, and the distance between its answers."""

    def __init__(self, query: Program) -> None:
        if not isinstance(query, Program):
            raise InvalidArgument("query", type(query), "must be a dither.Program(...)")
        if not callable(query.program):
            raise InvalidArgument(
                "query", type(query.program), "must hold a Python function, which runs in this process"
            )
        self._function = query.program
        self._space = query.answer_space
        self._output = query.answers
        self._default = 0 if self._space is None else self._space.start(query.default)
        metric = as_metric(query.metric)
        self._metric = metric or METRICS["l2"]
        if self._space is None:
            self._metric.check(self._output)
            bits = self._metric.bits(self._output.length)
            space = Space.between(self._output.bounds)
            self._grids = space.grids(bits) if in_parts(metric) else common_grids(self._output, bits)
            self._unit = 1.0 / max(self._grids[0].points - 1, 1) if in_parts(metric) else float(self._grids[0].step)

    def answer(self, rows: Rows, size: int) -> Answers | None:
        """For so many people, drawn at random; None where the program fails."""
        block = rows.block(random_order(rows.people)[:size])
        try:
            payload = self._function(block)
            return self._output.accept(payload if self._space is None else self._space.code(payload))
        except Exception:  # noqa: BLE001  (counts as the default, as in a release)
            return None

    def distance(self, answers: Answers | None, other: Answers | None) -> float:
        """Between two answers; one that failed is the default."""
        pair = np.array([self._output.default if each is None else each for each in (answers, other)])
        if self._space is not None:
            here, there = self._space.places(pair, self._default)
            return float(self._space.distances(int(here))[int(there)])
        steps = np.column_stack(
            [
                grid.quantise(np.ascontiguousarray(column), grid.ends[0]) - grid.ends[0]
                for column, grid in zip(pair.T, self._grids, strict=True)
            ]
        )
        return float(self._metric.distances(steps, self._grids)[0, 1]) * self._unit


@dataclass(frozen=True)
class Separation:
    """How much worse one cluster fewer fits (NRS11 Definition 5.1).  NOT private."""

    k: int
    cost: float
    """Sum of squared distances to the nearest of the best k centres that were found."""
    cost_with_one_fewer: float

    @property
    def phi_squared(self) -> float:
        """cost / cost_with_one_fewer: well-separated data have far less than 1."""
        if self.cost_with_one_fewer == 0:
            return 1.0 if self.cost == 0 else math.inf
        return self.cost / self.cost_with_one_fewer

    def __str__(self) -> str:
        return f"{self.k} clusters have {self.phi_squared:.3g} of the cost of {self.k - 1}; not private"


def cluster_separation(points: Columns, k: int, bounds: Iterable[tuple[float, float]] | None) -> Separation:
    """From the best clusterings that Lloyd's algorithm finds."""
    count = whole("k", k, least=2, most=1_000)
    table = np.asarray(points, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) < count or not np.isfinite(table).all():
        raise InvalidArgument("points", type(points), f"must be at least {count} rows of finite numbers")
    if bounds is not None:
        space = Space.between(bounds)
        if space.dimensions != table.shape[1] or not (space.widths > 0).all():
            raise InvalidArgument("bounds", type(bounds), "must be a pair (lower, upper) for each coordinate")
        table = space.to_cube(table)
    return Separation(count, _cost(table, count), _cost(table, count - 1))


def _cost(points: Floats, k: int) -> float:
    flat = np.ascontiguousarray(points)
    centres = kmeans(flat, np.ones(len(flat)), k)
    return float(np.min(((flat[:, None, :] - centres[None]) ** 2).sum(axis=2), axis=1).sum())
