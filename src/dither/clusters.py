"""Clusterings of private points: k-means and mixtures of spherical Gaussians.

What an answer costs and how many blocks are used is decided from public facts before anything is read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dither.errors import InvalidArgument, NotApplicable
from dither.kernels.elementary import Floats
from dither.privacy import Loss, Neighbours, fraction_of_unit
from dither.procedures.clusters import MOST_DIMENSIONS, ClusterPlan, Space, plan_clusters
from dither.procedures.private_pass import Components
from dither.release import Release
from dither.session.plan import schema_digest
from dither.session.programs import declared_rows
from dither.sources.column import columns_of
from dither.sources.engines.engine import Engine
from dither.sources.grid import Grid
from dither.sources.schema import Schema
from dither.sources.types import Integer, Real

_NARROWEST, _WIDEST = Fraction(1, 1 << 400), Fraction(1 << 400)


def kmeans(
    points: Any, *, k: Any, bounds: Any, blocks: Any = None, epsilon: Any, delta: Any, confidence: Any = 0.95
) -> Release:
    """The centres of k clusters; neighbours change one point.

    Random blocks of points are clustered one by one.  Where most blocks agree, an average of their centres is certified
    and released with little noise; where they do not, a noisy histogram takes its place.  Private passes of Lloyd's
    algorithm over all points follow.  It never refuses.

    points: a two-dimensional array, a frame, or a mapping of names to columns; missing entries count as the middle of
        their bounds.
    bounds: a pair (lower, upper) for all coordinates, or one pair for each; points outside are moved to the boundary.
    blocks: how many blocks, by default from a public rule; 0 goes without them.
    epsilon, delta: the whole price; delta > 0 is needed.
    confidence: of the error bars, which cost nothing.  A bar is a lower and an upper corner; it covers each coordinate
        of the last pass without its noise: the mean of the points nearest to the centre before.  None gives no bars.

    The value is a tuple of k centres, sorted by their first coordinate; ``mechanism`` says how they were begun.

    >>> import numpy as np
    >>> corners = np.array([[0.2, 0.2], [0.8, 0.8]])
    >>> points = corners[np.arange(20_000) % 2] + 0.05 * np.sin(np.arange(40_000) ** 2).reshape(-1, 2)
    >>> release = kmeans(points, k=2, bounds=(0, 1), epsilon=2.0, delta=1e-6)
    >>> bool(np.abs(np.array(release.value) - corners).max() < 0.1)
    True
    """
    return KMeans(k=k, bounds=bounds, blocks=blocks).ask(points, epsilon=epsilon, delta=delta, confidence=confidence)


def gaussian_mixture(
    points: Any, *, k: Any, bounds: Any, blocks: Any = None, epsilon: Any, delta: Any, confidence: Any = 0.95
) -> Release:
    """Centres, shares and standard deviations of k spherical Gaussians; neighbours change one point.

    As ``kmeans``, with expectation-maximisation in place of Lloyd's algorithm.  The value is a tuple of k components,
    sorted by their first coordinate; each is a tuple of the centre's coordinates, its share of the points and the
    standard deviation of each coordinate.  Bars are for the centres.

    >>> import numpy as np
    >>> corners = np.array([[0.2, 0.2], [0.8, 0.8]])
    >>> points = corners[np.arange(20_000) % 2] + 0.05 * np.sin(np.arange(40_000) ** 2).reshape(-1, 2)
    >>> release = gaussian_mixture(points, k=2, bounds=(0, 1), epsilon=2.0, delta=1e-6)
    >>> [round(share, 1) for *centre, share, deviation in release.value]
    [0.5, 0.5]
    """
    question = GaussianMixture(k=k, bounds=bounds, blocks=blocks)
    return question.ask(points, epsilon=epsilon, delta=delta, confidence=confidence)


@dataclass(frozen=True)
class PlannedClusters:
    """Clusters of a registered dataset, planned from its schema."""

    schema: Schema
    query: KMeans
    made: ClusterPlan
    loss: Loss
    level: float | None
    asked: dict[str, Any]
    costs_nothing = False
    is_dated = False
    by = ()

    @property
    def label(self) -> str:
        """How releases name the question."""
        return self.query.label

    def answer(self, engine: Engine) -> Release:
        """Read all rows and answer."""
        columns = tuple(self.query.columns or ())
        with engine.snapshot():
            _, shown = declared_rows(self.schema, engine, columns, None, int(self.schema.most_rows))
        points = np.column_stack([shown.column(name).to_numpy().astype(np.float64) for name in columns])
        return self.query.released(self.made, points, self.loss, self.level)


@dataclass(frozen=True)
class KMeans:
    """The centres of k clusters as a question about the named ``columns``, or all of them."""

    columns: Sequence[str] | None = None
    k: Any = field(kw_only=True)
    bounds: Any = field(default=None, kw_only=True)
    """In a session they may be left out: then they are those that the schema declares."""
    blocks: Any = field(default=None, kw_only=True)
    kind: ClassVar[str] = "kmeans"
    soft: ClassVar[bool] = False
    part: ClassVar[str] = "centre"

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, (int, np.integer)) or self.k < 1:
            raise InvalidArgument("k", self.k, "a whole number of at least 1 is accepted")
        if self.bounds is not None:
            _pairs(self.bounds, None)

    @property
    def label(self) -> str:
        """How a release names the question."""
        return self.kind if self.columns is None else f"{self.kind} of {', '.join(self.columns)}"

    def plan(self, records: int, dimensions: int, loss: Loss, miss: float | None = None) -> ClusterPlan:
        """The algorithm and its price, from public facts alone."""
        space = Space(*zip(*_pairs(self.bounds, dimensions), strict=True))
        return plan_clusters(records, space, int(self.k), loss, soft=self.soft, blocks=self.blocks, miss=miss)

    def ask(self, data: Any, *, epsilon: Any, delta: Any = 0.0, confidence: Any = 0.95) -> Release:
        """Ask it of an array, a frame or a mapping of names to columns."""
        points = _points(data, self.columns)
        loss = Loss.asked(epsilon, delta)
        miss = None if confidence is None else float(1 - fraction_of_unit("confidence", confidence))
        plan = self.plan(len(points), points.shape[1], loss, miss)
        return self.released(plan, points, loss, None if confidence is None else float(confidence))

    def released(self, plan: ClusterPlan, points: Floats, loss: Loss, level: float | None) -> Release:
        """Run a plan."""
        if not plan.composition.fits(loss):
            raise RuntimeError("the parts of a plan cost more than the whole")
        found = plan.run(points)
        rows = self._rows(found.components)
        order = sorted(range(len(rows)), key=rows.__getitem__)
        bars = found.components.bars
        return Release(
            value=tuple(rows[place] for place in order),
            interval=None if bars is None else tuple((_row(bars[0][place]), _row(bars[1][place])) for place in order),
            confidence=level,
            loss=loss,
            neighbours=Neighbours.CHANGE_ONE,
            query=self.label,
            mechanism=found.start,
            noise="gaussian",
            labels=tuple(f"{self.part} {c + 1}" for c in range(int(self.k))),
        )

    def planned(
        self,
        schema: Schema,
        *,
        epsilon: Any,
        delta: Any = 0.0,
        where: Any = None,
        by: Any = None,
        mechanism: Any = "auto",
        noise: Any = "auto",
        confidence: Any = 0.95,
    ) -> PlannedClusters:
        """The plan in a session, from the schema alone."""
        for name, given in (("where", where), ("by", by)):
            if given is not None:
                raise InvalidArgument(name, given, "clusters are those of a whole table")
        if mechanism != "auto" or noise != "auto":
            raise NotApplicable("mechanism", mechanism, "clusters have one of their own", "nothing to choose")
        if not isinstance(schema.rows, int) or schema.unit is not None:
            raise NotApplicable("query", self.kind, "the number of rows must be public, one for each person", "rows=")
        columns = tuple(schema.columns) if self.columns is None else tuple(self.columns)
        ends = [_declared_ends(schema, name) for name in columns]
        query = dataclasses.replace(self, columns=columns, bounds=ends if self.bounds is None else self.bounds)
        loss = Loss.asked(epsilon, delta)
        level = None if confidence is None else fraction_of_unit("confidence", confidence)
        made = query.plan(schema.rows, len(columns), loss, None if level is None else float(1 - level))
        asked = {
            "query": {"kind": self.kind, "columns": list(columns), "k": int(self.k), "blocks": self.blocks,
                      "bounds": [list(pair) for pair in _pairs(query.bounds, len(columns))]},
            "epsilon": loss.epsilon, "delta": loss.delta, "confidence": None if level is None else float(level),
            "schema": schema_digest(schema, set(columns)),
        }  # fmt: skip
        return PlannedClusters(schema, query, made, loss, None if level is None else float(level), asked)

    def _rows(self, components: Components) -> list[tuple[float, ...]]:
        return [_row(centre) for centre in components.centres]


@dataclass(frozen=True)
class GaussianMixture(KMeans):
    """A mixture of k spherical Gaussians as a question about the named ``columns``, or all of them."""

    kind: ClassVar[str] = "gaussian_mixture"
    soft: ClassVar[bool] = True
    part: ClassVar[str] = "component"

    def _rows(self, components: Components) -> list[tuple[float, ...]]:
        if components.shares is None or components.deviations is None:
            raise RuntimeError("a pass tells shares and deviations")
        return [_row(one) for one in np.column_stack([components.centres, components.shares, components.deviations])]


def _declared_ends(schema: Schema, name: str) -> tuple[float, float]:
    kind = schema.column(name, "columns")
    if not isinstance(kind, (Real, Integer)) or kind.drops_nulls:
        raise InvalidArgument("columns", name, "columns of numbers whose missing values are not dropped")
    low, high = kind.grid.ends
    return float(kind.grid.value(low)), float(kind.grid.value(high))


def _row(numbers: Floats) -> tuple[float, ...]:
    return tuple(float(number) for number in numbers)


def _points(data: Any, names: Sequence[str] | None) -> Floats:
    """The points as an array with NaN where an entry is missing: shapes and types are public."""
    if hasattr(data, "column_names"):
        data = {name: data[name] for name in data.column_names}
    if names is not None:
        held = list(data) if isinstance(data, Mapping) else list(getattr(data, "columns", ()))
        for name in names:
            if name not in held:
                raise InvalidArgument("columns", name, "names of columns of the data are accepted")
        data = {name: data[name] for name in names}
    columns = columns_of(data, "points") if not isinstance(data, Mapping) or data else []
    if not 1 <= len(columns) <= MOST_DIMENSIONS:
        raise InvalidArgument(
            "points", f"{len(columns)} coordinates", f"from 1 to {MOST_DIMENSIONS} coordinates are accepted"
        )
    return np.column_stack([_floats(column) for column in columns])


def _floats(column: Any) -> Floats:
    real = column.astype(np.float64)
    return np.asarray(real.filled(np.nan) if isinstance(real, np.ma.MaskedArray) else real)


def _pairs(bounds: Any, dimensions: int | None) -> list[tuple[float, float]]:
    """A pair of floats for each coordinate; None leaves open how many there are."""
    accepted = "a pair (lower, upper) for all coordinates, or one pair for each, is accepted"
    if bounds is None or isinstance(bounds, (str, bytes)) or not hasattr(bounds, "__len__"):
        raise InvalidArgument("bounds", bounds, accepted)
    each = len(bounds) > 0 and all(hasattr(pair, "__len__") and not isinstance(pair, (str, bytes)) for pair in bounds)
    pairs = [tuple(pair) for pair in bounds] if each else [tuple(bounds)] * (dimensions or 1)
    if dimensions is not None and len(pairs) != dimensions:
        raise InvalidArgument("bounds", f"{len(pairs)} pairs", f"one pair, or {dimensions} of them, is accepted")
    for pair in pairs:
        grid = Grid.between(pair)
        # Squares of lengths, down to 2**-48 of a width, must be floats that are neither infinite nor zero.
        if not _NARROWEST <= grid.step * (grid.points - 1) <= _WIDEST:
            raise InvalidArgument("bounds", pair, "a width between 2**-400 and 2**400 is accepted")
    return [(float(low), float(high)) for low, high in pairs]
