"""Functions of the owner's own, with what their author states about them: distances, points of metric spaces, vectors.

They run in the owner's process on the whole data, never over HTTP, SQL or the remote client.  Privacy rests on what the
author states: a sensitivity, or the premises of a lemma, for data on which the function fails too.
"""

from __future__ import annotations

import dataclasses
import math
import secrets
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, SupportsFloat

import numpy as np

from dither.errors import InvalidArgument
from dither.mechanisms.mechanism import Prepared
from dither.mechanisms.metric_space import MetricSpace, nearby
from dither.mechanisms.norm_noise import VARIATES, Norm, norm_draw, norm_radius
from dither.numbers import exact
from dither.plain import JsonObject
from dither.privacy import Loss, Neighbours
from dither.queries.custom import CLAIM
from dither.queries.plan import Options, Plan, Result
from dither.queries.query import Query, StatisticQuery
from dither.queries.registry import Door, query
from dither.queries.tables import TableRecords
from dither.queries.unbounded import public_rows
from dither.queries.vectors import column_names
from dither.release import B_co, V_co
from dither.sensitivity.low_sample import sample_sensitivity
from dither.sources.column import Shape
from dither.sources.domain import whole
from dither.sources.schema import Schema
from dither.statistics.distances import DistanceToSet
from dither.statistics.own_code import result_of
from dither.typing import (
    Anything,
    Array,
    ArrowTable,
    ConstantsName,
    CountInterval,
    Intervals,
    Names,
    NormName,
    Number,
    NumberList,
    Numbers,
    OwnPoint,
    OwnVector,
)
from dither.typing import OwnFunction as FunctionOfData

WHY = "it takes a Python function of the owner's"
WITHOUT: Mapping[Door, str] = dict.fromkeys(("sql", "cli", "http", "page", "client"), WHY)
_FINENESS = 20
"""Without a declared step answers are multiples of a power of two about 2**20 times finer than S / eps."""
_WIDEST = 10**290
_LARGEST = Fraction(10**300)
"""Entries beyond are clamped: that moves no two vectors further apart."""


@dataclass(frozen=True)
class OwnFunction(Query[V_co, B_co, Anything, Shape, Anything]):
    """A query that runs a function of the owner's: on the data in memory, or on an Arrow table of whole rows."""

    columns: Names | None = None
    """In a session: the columns of the rows that the function gets; None: all declared ones."""
    neighbours: Neighbours = field(default=Neighbours.CHANGE_ONE, kw_only=True)
    """Between which data the author's statement holds."""
    column = None
    accepts = ()
    claim = CLAIM
    function_field: ClassVar[str] = "function"

    def __post_init__(self) -> None:
        if self.columns is not None:
            object.__setattr__(self, "columns", column_names(self.columns))
        function = getattr(self, self.function_field)
        if function is not None and not callable(function):
            raise InvalidArgument(self.function_field, type(function), "must be a function of the data")
        if not isinstance(self.neighbours, Neighbours):
            raise InvalidArgument("neighbours", self.neighbours, "must be one of dither.Neighbours")
        # Functions cannot be told apart by what they print: each object is a question of its own.
        object.__setattr__(self, "_token", secrets.token_hex(16))

    def shape(self, data: Anything) -> Shape:
        return Shape(len(data) if hasattr(data, "__len__") else 0, whole=False, nullable=False)

    def read(self, data: Anything, shape: Shape) -> Anything:  # noqa: ARG002
        return data

    def bound(self, schema: Schema) -> Query:
        if self.neighbours is not Neighbours.CHANGE_ONE:
            raise InvalidArgument("neighbours", self.neighbours, "must be change-one in a table")
        columns = tuple(schema.columns) if self.columns is None else self.columns
        for name in columns:
            schema.column(name, "columns")
        bound = dataclasses.replace(self, columns=columns)
        object.__setattr__(bound, "_token", self._token)
        return bound

    _token: ClassVar[str] = ""

    @property
    def used(self) -> tuple[str, ...]:
        return () if self.columns is None else tuple(self.columns)

    def table_facts(self, schema: Schema, shape: Shape) -> Shape:
        return public_rows(self, schema, shape)

    def select(self, records: TableRecords, prepared: Prepared | None) -> Sequence[ArrowTable]:  # noqa: ARG002
        return [records.rows(self.used)]

    def stored(self) -> JsonObject:
        return {"columns": list(self.columns or ()), "own": self._token}

    def stored_0_1_0(self) -> JsonObject:
        return {"kind": type(self).__name__, **self.stored()}  # version 0.1.0 did not have it

    plain_0_1_0 = True


@query(
    "distance_to_property",
    of="table",
    without=WITHOUT,
    parameters=dict.fromkeys(("columns", "neighbours", "distance", "most")),
    proof="metric_spaces",
)
@dataclass(frozen=True)
class DistanceToProperty(OwnFunction[int, CountInterval], StatisticQuery[int, CountInterval, Anything]):
    """How many records would have to change until the data have a property.

    distance: computes it; any function that changes by at most 1 between neighbours will do.  It is rounded down and
        clamped to [0, most]; where it fails, or is no number, it counts as ``most``.
    most: the public greatest distance; by default the number of records.

    Guarantee  eps-DP for the stated neighbours, if ``distance`` changes by at most 1 between them.
    Theorem    DMNS06 section 3.2: the distance to any set has sensitivity 1; docs/proofs/metric_spaces.md section 6.
    Constants  Integer Laplace noise of scale 1 / eps.
    Cost       That of ``distance``, whose running time may depend on the data: pad it.

    >>> import dither as dt
    >>> zeros_left = lambda bits: sum(1 for bit in bits if not bit)     # changes until all bits are ones
    >>> 10 <= dt.distance_to_property([0] * 40 + [1] * 60, distance=zeros_left, epsilon=1.0).value <= 70
    True
    """

    distance: FunctionOfData = field(kw_only=True)
    most: int | None = field(default=None, kw_only=True)
    noun: ClassVar[str] = "distance to a property"
    function_field = "distance"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.distance is None:
            raise InvalidArgument("distance", None, "must be a function of the data")
        if self.most is not None:
            whole("most", self.most, least=1, most=1 << 60)

    def resolve(self, shape: Shape) -> DistanceToSet:
        if self.most is None and not shape.records:
            raise InvalidArgument(
                "most", None, "must be the greatest distance there can be, where the data have no length"
            )
        return DistanceToSet(self.distance, self.most or shape.records, self.neighbours)

    def missing(self, shape: Shape) -> None:  # noqa: ARG002
        return None


@dataclass(frozen=True)
class MetricPlan(Plan):
    """A point of a finite metric space, ready to be drawn."""

    label: str
    query: MetricRelease
    rate: Fraction
    """The public decay of the probability per step of the metric."""
    radius: float | None
    """With the stated confidence the answer is at most so far from the true point: public."""
    loss: Loss
    neighbours: Neighbours
    confidence: float | None
    claim = CLAIM
    mechanism = "metric_space"
    noise = "exponential"

    def run(self, records: Anything) -> Result:
        space = self.query.space
        return Result(space.points[nearby(space, self.query.centre(records), self.rate)])


@query(
    "metric_release",
    of="table",
    without=WITHOUT,
    parameters=dict.fromkeys(("columns", "neighbours", "function", "space", "sensitivity", "default", "constants")),
    proof="metric_spaces",
)
@dataclass(frozen=True)
class MetricRelease(OwnFunction[Hashable, None]):
    """A point of a finite metric space, drawn near the one that a function of the data gives.

    function: gives a point of the space; None: the data are that point.  Where it fails, or gives no point of the
        space, its value is ``default`` (by default the first point): the stated sensitivity must hold for that too.
    space: ``MetricSpace.of(points, distance)``; public.
    sensitivity: the greatest distance of the function's values between neighbours.
    The release's query says how far the answer is from the true point at most, with the stated confidence.

    Guarantee  eps-DP for the stated neighbours.
    Theorem    DMNS06 Theorem 2 and Remark 1, with the minus sign that Eq. 4 lacks; docs/proofs/metric_spaces.md
               section 3.
    Constants  Paper: t = eps/(2S), or eps/S where the normaliser is the same everywhere.  Ours: the greatest t for
               which ``t d(z, z') + ln Z(z')/Z(z) <= eps`` is proved for all centres within S, up to twice the paper's.
    Cost       O(m^3) whole-number operations to check the metric once, O(m^2) to fit t, O(m) to draw.

    >>> import dither as dt
    >>> ring = dt.MetricSpace.of(range(5), lambda p, q: min((p - q) % 5, (q - p) % 5))
    >>> dt.metric_release(3, space=ring, epsilon=4.0, sensitivity=1).value in range(5)
    True
    """

    function: OwnPoint | None = field(default=None, kw_only=True)
    space: MetricSpace = field(kw_only=True)
    sensitivity: Number = field(kw_only=True)
    default: Hashable = field(default=None, kw_only=True)
    constants: ConstantsName = field(default="exact", kw_only=True)
    noun: ClassVar[str] = "point of a metric space"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.space, MetricSpace):
            raise InvalidArgument("space", type(self.space), "must be a MetricSpace.of(points, distance)")
        if self.constants not in ("exact", "paper"):
            raise InvalidArgument("constants", self.constants, 'must be "exact" or "paper"')
        if self.default is not None and self.default not in self.space.points:
            raise InvalidArgument("default", self.default, "must be a point of the space")
        self._reach  # noqa: B018  (refuses what is no sensitivity)

    @property
    def _reach(self) -> int:
        result: int = self.space.reach(max(exact(self.sensitivity, "sensitivity"), Fraction(0)))
        if result == 0:
            accepted = "must be at least the least distance between two points"
            raise InvalidArgument("sensitivity", self.sensitivity, accepted)
        return result

    def plan(self, facts: Shape, options: Options) -> MetricPlan:  # noqa: ARG002
        options.only_auto("a point of a metric space is drawn", 'mechanism="auto"')
        loss = Loss(options.loss.epsilon)
        rate = self.space.rate(loss.exact_epsilon, self._reach, self.constants)
        radius = None if options.miss is None else float(self.space.radius(rate, float(options.miss)))
        label = self.label if radius is None else f"{self.label} ({options.level:.0%} within {radius:g})"
        return MetricPlan(label, self, rate, radius, loss, self.neighbours, options.level)

    def centre(self, data: Anything) -> int:
        """The place of the true point among the points of the space: private."""
        places = {point: index for index, point in enumerate(self.space.points)}
        fallback = 0 if self.default is None else places[self.default]
        place: int | None = result_of(
            lambda given: places.get(given if self.function is None else self.function(given)), data
        )
        return fallback if place is None else place


@dataclass(frozen=True)
class VectorPlan(Plan):
    """A vector with noise of a norm, ready to be drawn."""

    label: str
    query: _Vector
    dimension: int
    scale: Fraction
    step: Fraction
    radius: float | None
    """With the stated confidence the distance from the true vector, in the norm, is at most this: public."""
    loss: Loss
    neighbours: Neighbours
    confidence: float | None
    claim = CLAIM
    mechanism = "norm"

    @property
    def noise(self) -> str:
        return f"exp(-{self.query.measured_in} norm)"

    def run(self, records: Anything) -> Result:
        true = self.query.vector(records, self.dimension)
        steps = norm_draw([number / self.step for number in true], self.scale / self.step, self.query.measured_in)
        value = tuple(_nearest(self.step * number) for number in steps)
        radius = self.radius
        return Result(value, None if radius is None else tuple((part - radius, part + radius) for part in value))


@dataclass(frozen=True)
class _Vector(OwnFunction[Numbers, Intervals]):
    """A vector in R^d that a function of the data gives, with noise for its sensitivity in a norm."""

    function: OwnVector | None = field(default=None, kw_only=True)
    dimension: int | None = field(default=None, kw_only=True)
    step: Number | None = field(default=None, kw_only=True)
    default: NumberList | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.function is not None and self.dimension is None:
            raise InvalidArgument("dimension", None, "must be the length of the function's vectors")
        if self.dimension is not None:
            whole("dimension", self.dimension, least=1, most=1 << 20)
        if self.step is not None:
            _positive("step", self.step)
        if self.default is not None and result_of(_read, self.default, len(self.default)) is None:
            raise InvalidArgument("default", type(self.default), "must be a vector of finite numbers")
        self.stated  # noqa: B018  (refuses what is no sensitivity)

    @property
    def measured_in(self) -> Norm:
        """The norm of the sensitivity and of the noise."""
        return "l1"

    @property
    @abstractmethod
    def stated(self) -> Fraction:
        """The sensitivity that the author states, in the norm."""

    def shape(self, data: Anything) -> Shape:
        if self.function is not None:
            return super().shape(data)
        # A list of rows is refused as a matter of its shape; what else a list holds is looked at when it is read.
        length = 0
        if isinstance(data, np.ndarray):
            length = len(data) if data.ndim == 1 and data.dtype.kind in "iufbO" else 0
        elif isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
            length = 0 if all(hasattr(record, "__len__") for record in data) else len(data)
        if not length:
            raise InvalidArgument("value", type(data), "must be one dimension of at least one number")
        return Shape(length, whole=False, nullable=False)

    def plan(self, facts: Shape, options: Options) -> VectorPlan:
        options.only_auto("the noise is that of the norm", 'mechanism="auto"')
        dimension = self.dimension if self.dimension is not None else facts.records
        if self.default is not None and len(self.default) != dimension:
            raise InvalidArgument("default", len(self.default), f"must be a vector of {dimension} numbers")
        loss = Loss(options.loss.epsilon)
        scale = self.stated / loss.exact_epsilon
        if scale > _WIDEST:
            raise InvalidArgument("sensitivity", float(self.stated), "must be at most 1e290 times epsilon")
        step = _fine(scale) if self.step is None else _positive("step", self.step)
        missed = options.miss
        radius = None if missed is None else norm_radius(dimension, scale, self.measured_in, step, float(missed))
        return VectorPlan(self.label, self, dimension, scale, step, radius, loss, self.neighbours, options.level)

    def vector(self, data: Anything, dimension: int) -> list[Fraction]:
        """The true vector; where the function fails or gives something else, the public default: private."""
        results: list[Fraction] | None = result_of(
            lambda given: _read(given if self.function is None else self.function(given), dimension), data
        )
        fallback = [Fraction(0)] * dimension if self.default is None else _read(self.default, dimension)
        return results or fallback or [Fraction(0)] * dimension


@query(
    "norm_release",
    of="table",
    without=WITHOUT,
    parameters=dict.fromkeys(
        ("columns", "neighbours", "function", "dimension", "sensitivity", "norm", "step", "default")
    ),
    proof="metric_spaces",
)
@dataclass(frozen=True)
class NormRelease(_Vector):
    """A vector that a function of the data gives, plus noise of density proportional to ``exp(-eps |z| / S)``.

    function: gives a vector of ``dimension`` numbers; None: the data are that vector.  Where it fails, or gives
        something else, its value is ``default`` (by default zeros): the stated sensitivity must hold for that too.
    sensitivity: S, the most that the function, as it is computed, moves between neighbours, in the norm.
    norm: "l1", "l2" or "linf".
    step: the public grid of the answers; by default a power of two near 2**-20 S / eps.
    The intervals hold all at once: with the stated confidence the noise is within them in every coordinate.

    Guarantee  eps-DP for the stated neighbours.
    Theorem    DMNS06 Theorem 2 and Remark 1: the normaliser is the same around every point of R^d.  The noise is a
               Gamma(d) length in a direction of the norm's cone measure; docs/proofs/metric_spaces.md section 4.
    Constants  No factor 2.  l1 is one Laplace variable of scale S / eps for each coordinate.
    Cost       O(d) balls, about 0.02 ms each.

    >>> import dither as dt
    >>> release = dt.norm_release([10.0, -3.0], epsilon=2.0, sensitivity=0.01, norm="linf")
    >>> len(release.value), release.loss
    (2, Loss(epsilon=2.0, delta=0.0))
    """

    sensitivity: Number = field(kw_only=True)
    norm: NormName = field(default="l2", kw_only=True)
    noun: ClassVar[str] = "vector"

    def __post_init__(self) -> None:
        if self.norm not in VARIATES:
            raise InvalidArgument("norm", self.norm, 'must be "l1", "l2" or "linf"')
        super().__post_init__()

    @property
    def measured_in(self) -> Norm:
        return self.norm

    @property
    def stated(self) -> Fraction:
        return _positive("sensitivity", self.sensitivity)


@query(
    "low_sample_release",
    of="table",
    without=WITHOUT,
    parameters=dict.fromkeys(
        ("columns", "neighbours", "function", "dimension", "reads", "within", "chance", "step", "default")
    ),
    proof="metric_spaces",
)
@dataclass(frozen=True)
class LowSampleRelease(_Vector):
    """A vector that a sampling algorithm nearly knows, with Laplace noise for the sensitivity that follows from that.

    reads, within, chance: the algorithm reads no record with a probability above ``reads``, and on every input its
        error in l1 is at most ``within`` with a probability of ``chance``, more than ``(1 + reads) / 2``.
    function, dimension, step, default: as for ``norm_release``.  The algorithm itself is not run.

    Guarantee  eps-DP for neighbours that change one record, if the premises on the sampling algorithm hold.
    Theorem    DMNS06 Lemma 1 and Proposition 1; docs/proofs/metric_spaces.md section 5.
    Constants  Scale 2 within / eps.
    Cost       One exact draw for each coordinate.

    >>> import dither as dt
    >>> dt.low_sample_release([0.5], reads=0.1, within=0.01, chance=0.9, epsilon=1.0).loss
    Loss(epsilon=1.0, delta=0.0)
    """

    reads: Number = field(kw_only=True)
    within: Number = field(kw_only=True)
    chance: Number = field(kw_only=True)
    noun: ClassVar[str] = "vector of low sample complexity"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.neighbours is not Neighbours.CHANGE_ONE:
            raise InvalidArgument("neighbours", self.neighbours, "the lemma is about neighbours that change one record")

    @property
    def stated(self) -> Fraction:
        bound = sample_sensitivity(reads=self.reads, within=self.within, chance=self.chance)
        if bound == 0:
            accepted = "must be a positive error: no function of people is known exactly"
            raise InvalidArgument("within", self.within, accepted)
        return bound


def _read(value: Sequence[SupportsFloat] | Array, dimension: int) -> list[Fraction] | None:
    """The entries as exact rationals, clamped; None or an error for what is no vector of so many finite numbers."""
    given = np.ma.filled(value.astype(np.float64), np.nan) if isinstance(value, np.ma.MaskedArray) else value
    array = np.asarray(given, dtype=np.float64)
    if array.shape == () and dimension == 1:
        array = array.reshape(1)
    if array.shape != (dimension,) or not bool(np.isfinite(array).all()):
        return None
    return [min(max(Fraction(number), -_LARGEST), _LARGEST) for number in array.tolist()]


def _positive(argument: str, value: Number) -> Fraction:
    number = exact(value, argument)
    if number <= 0:
        raise InvalidArgument(argument, value, "must be a positive number")
    return number


def _fine(scale: Fraction) -> Fraction:
    exponent = scale.numerator.bit_length() - scale.denominator.bit_length()
    return Fraction(2) ** (exponent - _FINENESS)


def _nearest(number: Fraction) -> float:
    return number.numerator / number.denominator if abs(number) < 10**308 else math.copysign(1e308, number)
