"""What privacy costs and between which datasets it holds: Loss, Budget and neighbour relations."""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from dither.errors import InvalidArgument
from dither.numbers import Ball, Number, ball, exact, integer_in, lower_float, precision, upper_float

if TYPE_CHECKING:
    from dither.plain import JsonObject


FilterName: TypeAlias = Literal["basic", "advanced", "zcdp"]
FILTERS: tuple[FilterName, ...] = get_args(FilterName)
"""The rules by which losses add up under a budget."""
RHO_DIGITS = 24
"""Every rho is rounded up to so many decimal places."""

PRIVATE = "private"
"""Instead of a number that is public: of rows, or of the rows of one person that count."""
LEFT_OUT = "drop"
"""The null policy that leaves a record out; the number of records left is then private."""


class Neighbours(enum.Enum):
    """Which pairs of datasets a guarantee compares."""

    CHANGE_ONE = "change-one"
    """Same size, one record replaced: the relation of all tables whose number of rows is public."""
    ADD_REMOVE = "add-remove"
    """One record more or less."""
    ADD_REMOVE_CHANGE = "add-remove-change"
    """One record added, removed or replaced: what a change of one person looks like behind a filter."""
    PERSON = "person"
    """All rows of one person added, removed or replaced; of these a declared number counts, or what a limit says that
    was found privately."""
    EDGE = "edge"
    """Graphs on the same vertices that differ in one edge."""
    NODE = "node"
    """Graphs on the same vertices that differ in the edges of one vertex; a vertex without edges is one left out."""
    WEIGHT = "weight"
    """Graphs with the same edges that differ in the weight of one edge."""
    CHAIN = "chain"
    """The next or the previous dataset of a public chain of datasets, and no other."""
    LISTED = "listed"
    """The pairs of datasets that a public, finite data space lists, and no others."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Relation:
    """Between which datasets the losses of one dataset hold.  Losses of different relations do not add up.

    >>> str(Relation(Neighbours.PERSON, ("customer",), 10))
    'person, identified by customer, up to 10 rows each'
    """

    neighbours: Neighbours
    unit: tuple[str, ...] = ()
    """The columns that tell people, or edges, apart; none where every row stands for itself."""
    rows_per_unit: int | str = 1
    """How many rows of one person count; "private" where each release finds a limit and pays for it."""

    def to_dict(self) -> JsonObject:
        """Plain values for JSON."""
        return {"neighbours": str(self.neighbours), "unit": list(self.unit), "rows_per_unit": self.rows_per_unit}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Relation:  # JSON
        """The relation that ``to_dict`` wrote."""
        return cls(Neighbours(plain["neighbours"]), tuple(plain["unit"]), _row_limit(plain["rows_per_unit"]))

    def __str__(self) -> str:
        unit = f", identified by {' and '.join(self.unit)}" if self.unit else ""
        if self.neighbours is not Neighbours.PERSON:
            return f"{self.neighbours}{unit}"
        private = self.rows_per_unit == PRIVATE
        return f"{self.neighbours}{unit}, {'all rows' if private else f'up to {self.rows_per_unit} rows'} each"


def _row_limit(plain: int | str) -> int | str:
    return plain if plain == PRIVATE else int(plain)


@dataclass(frozen=True)
class Concentrated:
    """A loss in zero-concentrated terms: delta-approximate rho-zCDP, every Renyi divergence of order a at most rho a.

    Proofs of the rhos that mechanisms state: docs/proofs/concentrated.md.
    """

    rho: Fraction
    delta: Fraction = Fraction(0)

    def __add__(self, other: Concentrated) -> Concentrated:
        """Both of them, the second chosen with knowledge of what the first released."""
        return Concentrated(self.rho + other.rho, self.delta + other.delta)


def rho_up(rho: Fraction | Ball) -> Fraction:
    """A bound on rho with few digits; a ball must have been computed at the precision in force."""
    units = 10**RHO_DIGITS
    whole = math.ceil(rho * units) if isinstance(rho, Fraction) else integer_in((rho * units).upper().ceil())
    return Fraction(whole, units)


@functools.lru_cache(maxsize=4096)
def any_pure_rho(epsilon: Fraction) -> Fraction:
    """The least rho that every epsilon-DP mechanism has, rounded up: ``epsilon tanh(epsilon / 2)``."""
    if epsilon == 0:
        return Fraction(0)
    with precision(192):
        return rho_up(ball(epsilon) * ball(epsilon / 2).tanh())


def bounded_range_rho(epsilon: Fraction) -> Fraction:
    """The rho of a draw of bounded range, rounded up: ``epsilon^2 / 8``, or what every pure mechanism has if less."""
    return min(rho_up(epsilon**2 / 8), any_pure_rho(epsilon))


@dataclass(frozen=True, order=False)
class Loss:
    """A privacy loss: (epsilon, delta)-differential privacy.

    >>> Loss(0.5) + Loss(0.25, 1e-6)
    Loss(epsilon=0.75, delta=1e-06)

    A mechanism whose loss has a known law also states its rho, which adds up under a zCDP filter.  Losses of the same
    epsilon and delta are equal whatever their rho is.  A stated rho that is above that of every mechanism of this
    epsilon and delta is replaced by the latter.

    >>> Loss(0.5).rho, Loss.bounded_range(0.5).rho
    (0.12245933120185457, 0.03125)
    >>> Loss.bounded_range(20.0).rho == Loss(20.0).rho
    True
    """

    epsilon: float
    delta: float = 0.0
    stated: Concentrated | None = field(default=None, compare=False, repr=False, kw_only=True)
    """What the mechanism proves about its own law; None: only that it is (epsilon, delta)-DP."""

    def __post_init__(self) -> None:
        # What was lost is rounded up; delta = 1 (nothing is promised) is a possible result of composition.
        object.__setattr__(
            self, "epsilon", _number(self.epsilon, _positive("epsilon", self.epsilon, zero=True), _sum_up)
        )
        object.__setattr__(self, "delta", _number(self.delta, _probability("delta", self.delta, one=True), _sum_up))
        if self.stated is not None:
            general = self._general
            if self.stated.rho > general.rho and self.stated.delta >= general.delta:
                object.__setattr__(self, "stated", general)

    @classmethod
    def asked(cls, epsilon: Number, delta: Number = 0.0) -> Loss:
        """The loss that a user states: epsilon must be positive, and at least 1e-9 (nothing is computed below)."""
        if isinstance(epsilon, (int, float)) and isinstance(delta, (int, float)):
            return _plain_loss(epsilon, delta)
        return _loss(epsilon, delta)

    @classmethod
    def bounded_range(cls, epsilon: Number) -> Loss:
        """The loss of an answer drawn so that the logarithms of all ratios lie in an interval of length epsilon."""
        loss = cls(epsilon)  # type: ignore[arg-type]  # it takes any number
        return cls(loss.epsilon, stated=Concentrated(bounded_range_rho(loss.exact_epsilon)))

    def stated_fields(self) -> dict[str, float]:
        """What a release or a quote says of its law in plain values, beside epsilon and delta; nothing if unknown."""
        if self.stated is None:
            return {}
        beside = {"rho_delta": _sum_up(self.stated.delta)} if self.stated.delta else {}
        return {"rho": _sum_up(self.stated.rho), **beside}

    @classmethod
    def from_fields(cls, plain: Mapping[str, Any]) -> Loss:  # JSON
        """The loss of plain values, with what they state of its law."""
        rho, delta = plain.get("rho"), plain.get("rho_delta") or 0
        stated = None if rho is None else Concentrated(exact(rho, "rho"), exact(delta, "rho_delta"))
        return cls(plain["epsilon"], plain["delta"], stated=stated)

    @property
    def concentrated(self) -> Concentrated:
        """What the mechanism states, or what holds for every (epsilon, delta)-DP mechanism."""
        return self.stated or self._general

    @property
    def _general(self) -> Concentrated:
        """What holds for every (epsilon, delta)-DP mechanism (docs/proofs/concentrated.md, section 4)."""
        return Concentrated(any_pure_rho(self.exact_epsilon), self.exact_delta)

    @property
    def rho(self) -> float:
        """The rho of ``concentrated``, rounded up."""
        return _sum_up(self.concentrated.rho)

    @property
    def exact_epsilon(self) -> Fraction:
        """Epsilon as the rational that it prints as."""
        return exact(self.epsilon)

    @property
    def exact_delta(self) -> Fraction:
        """Delta as the rational that it prints as."""
        return exact(self.delta)

    @property
    def is_pure(self) -> bool:
        """True if delta is zero."""
        return self.delta == 0.0

    def __add__(self, other: Loss) -> Loss:
        """Basic composition; both sums are rounded up."""
        if not isinstance(other, Loss):
            return NotImplemented
        known = self.stated is not None or other.stated is not None
        return Loss(
            _sum_up(self.exact_epsilon + other.exact_epsilon),
            min(_sum_up(self.exact_delta + other.exact_delta), 1.0),
            stated=self.concentrated + other.concentrated if known else None,
        )

    def __radd__(self, other: int) -> Loss:
        """So that ``sum`` of losses works: its start is the number 0."""
        return self if other == 0 else NotImplemented

    def pure(self) -> Loss:
        """The same epsilon without delta."""
        return Loss(self.epsilon)

    def share(self, part: Fraction) -> Loss:
        """The given part of epsilon and of delta, rounded down: shares never add up to more than the whole."""
        return Loss(_part_down(self.exact_epsilon * part), _part_down(self.exact_delta * part))

    def for_group(self, people: int) -> Loss:
        """What a group of ``people`` loses together: (k eps, delta (e^{k eps} - 1) / (e^eps - 1)), rounded up.

        Proof: docs/proofs/group-privacy.md.

        >>> Loss(0.1).for_group(3)
        Loss(epsilon=0.3, delta=0.0)
        """
        if not isinstance(people, int) or isinstance(people, bool) or people < 1:
            raise InvalidArgument("people", people, "must be a whole number of at least 1")
        epsilon = self.exact_epsilon
        # Renyi divergences along a chain of k steps grow with its square (docs/proofs/concentrated.md, section 6).
        own, stated = self.stated, None
        if own is not None and own.delta == 0:
            stated = Concentrated(own.rho * people**2)
        if self.is_pure:
            return Loss(_sum_up(epsilon * people), stated=stated)
        with precision(128):
            each = people if epsilon == 0 else ball(epsilon * people).expm1() / ball(epsilon).expm1()
            delta = upper_float(ball(self.exact_delta) * each)
        return Loss(_sum_up(epsilon * people), min(delta, 1.0), stated=stated)

    def per_step(self, steps: int) -> Loss:
        """The loss of each of ``steps`` steps that lose this much together: the inverse of ``for_group``, rounded down.

        >>> Loss(0.3).per_step(3)
        Loss(epsilon=0.1, delta=0.0)
        """
        each = self.share(Fraction(1, steps)).epsilon
        if self.is_pure or steps == 1:
            return Loss(each, self.delta)
        with precision(128):
            whole = ball(exact(each) * steps).expm1() / ball(exact(each)).expm1()
            delta = lower_float(ball(self.exact_delta) / whole)
        part = Loss(each, max(delta, 0.0))
        while part.for_group(steps).exact_delta > self.exact_delta:
            part = Loss(each, math.nextafter(part.delta, 0.0))
        return part

    def converted(self, held: Neighbours, wanted: Neighbours) -> Loss:
        """The loss under another neighbour relation; refuses where there is no conversion.

        Replacing a record is removing one and adding another, so add-remove (eps, delta) gives change-one
        (2 eps, (1 + e^eps) delta): group privacy for two steps.  The other direction does not exist.
        """
        if held is wanted or (
            held is Neighbours.ADD_REMOVE_CHANGE and wanted in (Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE)
        ):
            return self
        if held is Neighbours.ADD_REMOVE and wanted in (Neighbours.CHANGE_ONE, Neighbours.ADD_REMOVE_CHANGE):
            return self.for_group(2)
        raise InvalidArgument("wanted", str(wanted), f"a {held} guarantee says nothing about this relation")

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:g}" + (f", delta {self.delta:g}" if self.delta else "")


@dataclass(frozen=True)
class Budget:
    """What a dataset may spend in total.

    >>> Budget(1.0).covers(Loss(0.4) + Loss(0.6))
    True
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "epsilon", _number(self.epsilon, _positive("epsilon", self.epsilon, zero=False), _part_down)
        )
        object.__setattr__(self, "delta", _number(self.delta, _probability("delta", self.delta), _part_down))

    def covers(self, loss: Loss) -> bool:
        """True if ``loss`` fits, compared exactly."""
        return loss.exact_epsilon <= exact(self.epsilon) and loss.exact_delta <= exact(self.delta)

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:g}" + (f", delta {self.delta:g}" if self.delta else "")


def _loss(epsilon: Number, delta: Number) -> Loss:
    if 0 < exact(epsilon, "epsilon") < Fraction(1, 10**9):
        raise InvalidArgument("epsilon", epsilon, "must be a number of at least 1e-9")
    return Loss(
        _number(epsilon, _positive("epsilon", epsilon, zero=False), _part_down),
        _number(delta, _probability("delta", delta), _part_down),
    )


_plain_loss = functools.lru_cache(maxsize=256, typed=True)(_loss)


_LARGEST = 10**300


def _positive(argument: str, value: Number, *, zero: bool) -> Fraction:
    number = exact(value, argument)
    if number < 0 or (number == 0 and not zero) or number > _LARGEST:
        raise InvalidArgument(argument, value, "must be a positive finite number")
    return number


def _probability(argument: str, value: Number, *, one: bool = False) -> Fraction:
    number = exact(value, argument)
    if not 0 <= number < 1 and not (one and number == 1):
        raise InvalidArgument(argument, value, "must be a number in [0, 1)")
    return number


def _number(value: Number, number: Fraction, rounded: Callable[[Fraction], float]) -> float:
    """A float as it is, any other number rounded in the given direction."""
    return float(value) if isinstance(value, float) else rounded(number)


def _sum_up(value: Fraction) -> float:
    """The shortest-printing float at or above ``value``: sums of decimals stay the decimals people expect."""
    nearest = value.numerator / value.denominator
    return nearest if exact(nearest) >= value else math.nextafter(nearest, math.inf)


def _part_down(value: Fraction) -> float:
    nearest = value.numerator / value.denominator
    return nearest if exact(nearest) <= value else math.nextafter(nearest, -math.inf)


@dataclass(frozen=True)
class Simultaneous:
    """A confidence of all intervals of an answer at once: ``confidence=dt.Simultaneous(0.95)``.

    Each interval may miss with an equal share of what all may (Bonferroni), so each is wider.

    >>> Simultaneous(0.95).each(10)
    Fraction(199, 200)
    """

    confidence: Number = 0.95
    queries: int = 1
    """How many queries share what may miss: those that are asked together."""

    def among(self, queries: int) -> Simultaneous:
        """The same of one of so many queries that are asked together."""
        return dataclasses.replace(self, queries=self.queries * max(queries, 1))

    def each(self, intervals: int) -> Fraction:
        """The confidence of each of so many intervals of one query."""
        missed = 1 - fraction_of_unit("confidence", exact(self.confidence, "confidence"))
        return 1 - missed / (max(intervals, 1) * self.queries)


def fraction_of_unit(argument: str, value: Number, *, closed: bool = False) -> Fraction:
    """A rational strictly between 0 and 1 (or including both ends)."""
    number = exact(value, argument)
    if closed and not 0 <= number <= 1:
        raise InvalidArgument(argument, value, "must be a number in [0, 1]")
    if not closed and not 0 < number < 1:
        raise InvalidArgument(argument, value, "must be a number strictly between 0 and 1")
    return number
