"""Totals and spreads where no bounds are known: bounds are drawn first, then the bounded query is asked within them.

What draws and noise spend adds up to the epsilon that was asked for; the bounds are part of the release, and the answer
and its interval are about the records clamped to them (docs/proofs/fitted_bounds.md).
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from dither.errors import InvalidArgument
from dither.mechanisms.mechanism import MOST_EPSILON
from dither.numbers import exact
from dither.privacy import Loss, Neighbours
from dither.procedures.fitted_bounds import (
    HIGHEST,
    LOWEST,
    Bracket,
    FittedBounds,
    limit,
    plan_bounds,
    plan_private_bounds,
)
from dither.procedures.ordered import Ordered
from dither.procedures.unbounded_quantiles import SIZE_SHARE
from dither.queries.plan import Options, Plan, Result, StatisticPlan, WithinDrawnPlan
from dither.queries.query import relation_of
from dither.queries.unbounded import (
    TOO_FEW,
    BoundsOptional,
    SizeTest,
    count_plan,
    counted_missing,
    released_float,
)
from dither.release import ClampedTo, Counted
from dither.sources.column import Column, Shape
from dither.sources.grid import Grid
from dither.typing import Interval

if TYPE_CHECKING:
    from dither.queries.query import Query
    from dither.sources.schema import Schema

BEYOND_SHARE = Fraction(1, 10)
"""The part of epsilon for how many records lie beyond the bounds."""


@dataclass(frozen=True)
class BoundsFitted(BoundsOptional[float, Interval]):
    """A query about one column whose bounds are drawn where none are known.

    non_negative: all records count as at least 0, and only an upper bound is drawn; only without bounds.
    count_beyond: a tenth of epsilon says how many records lie beyond the bounds that were drawn; only without bounds.
    """

    non_negative: bool = field(default=False, kw_only=True)
    count_beyond: bool = field(default=False, kw_only=True)
    takes_unit = True
    drops_without_bounds = True
    since_0_1_0 = ("non_negative", "count_beyond")
    moves_with_records: ClassVar[bool] = True
    """True if the statistic of shifted records is known from that of the records and their public number."""
    counts_people_without_bounds: ClassVar[bool] = False
    """True if it is answered without bounds where people own any number of rows."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("non_negative", "count_beyond"):
            given = getattr(self, name)
            if not isinstance(given, bool):
                raise InvalidArgument(name, given, "must be True or False")
            if given and self.bounds is not None:
                raise InvalidArgument(name, given, "is for columns without bounds: leave it out, or leave out bounds")

    @abstractmethod
    def moved(self, number: Fraction, centre: Fraction, records: int) -> Fraction:
        """The statistic of records that lie ``centre`` higher."""

    def within(self, bounds: Grid) -> Query:
        """The same query of records on a grid."""
        low, high = bounds.ends
        ends = (low * bounds.step, high * bounds.step)
        return dataclasses.replace(
            self, bounds=ends, step=bounds.step, nulls=None, non_negative=False, count_beyond=False
        )

    def plan_without_bounds(self, facts: Shape, options: Options) -> Plan:
        asked = min(options.loss.exact_epsilon, Fraction(int(MOST_EPSILON)))
        positive, unit, moves = self.non_negative, self._unit(facts), not facts.private or self.moves_with_records
        rest, size = asked, None
        if facts.private:
            fitted, least = plan_private_bounds(
                facts.records, facts.neighbours, asked, non_negative=positive, unit=unit, moves=moves
            )
            size = SizeTest.of(facts, asked, least)
            rest -= SIZE_SHARE * asked
        else:
            fitted = plan_bounds(facts.records, asked, non_negative=positive, unit=unit, moves=moves)
        counted = BEYOND_SHARE * asked if self.count_beyond else Fraction(0)
        rest -= fitted.composition.epsilon + counted
        inner = dataclasses.replace(options, loss=Loss.asked(rest, options.loss.delta))
        plain = dataclasses.replace(facts, whole=False, nullable=False)
        plan = FittedPlan(
            self.label,
            self,
            plain,
            fitted,
            inner,
            size,
            count_plan("records beyond", plain, counted, options.confidence) if self.count_beyond else None,
            options.loss,
            counted_missing(self.nulls, facts),
        )
        plan.rehearse()
        return plan

    def _unit(self, facts: Shape) -> int | None:
        """The exponent of the declared unit, which no limit is smaller than."""
        if self.step is None:
            return 0 if facts.whole else None
        unit = exact(self.step, "step")
        if not limit(LOWEST) <= unit <= limit(HIGHEST - 2):
            raise InvalidArgument("step", self.step, "must be between 2**-64 and 2**64 where no bounds are known")
        return unit.numerator.bit_length() - unit.denominator.bit_length() - 1

    # --- in a table ----------------------------------------------------------------------------------------------

    def table_facts(self, schema: Schema, shape: Shape) -> Shape:
        if schema.limit_is_private and self.counts_people_without_bounds:
            return shape
        return super().table_facts(schema, shape)


@dataclass(frozen=True)
class FittedPlan(WithinDrawnPlan[Ordered]):
    """Bounds by draws, then a statistic of the records clamped to them."""

    label: str
    query: BoundsFitted
    facts: Shape
    fitted: FittedBounds
    options: Options
    """What is left for the statistic."""
    size: SizeTest | None
    """Where the number of records is private."""
    beyond: StatisticPlan[Column] | None
    """How many records lie beyond the bounds, where that was asked for."""
    asked: Loss
    missing: Counted = None

    def rehearse(self) -> None:
        """Refuse now what would be refused later: every plan within bounds that may be drawn is like one of these."""
        for below in (0, limit(LOWEST), limit(0)):
            self.bounded(Bracket.of(0.0, Fraction(below), limit(1)).grid)
        spent = self.fitted.composition.epsilon + sum((part.loss.exact_epsilon for part in self._parts), Fraction(0))
        if spent > self.asked.exact_epsilon:
            raise RuntimeError("the parts of a plan cost more than the whole")

    def bounded(self, grid: Grid) -> Plan[Column]:
        """The plan within bounds."""
        return self.query.within(grid).plan(self.facts, self.options)

    @property
    def typical(self) -> Plan[Column]:
        """The plan within some bounds: loss, mechanism and noise are those of all."""
        return self.bounded(Bracket.of(0.0, Fraction(0), limit(0)).grid)

    @property
    def _parts(self) -> list[Plan[Column]]:
        size = None if self.size is None else self.size.counted
        return [self.typical, *(item for item in (size, self.beyond) if item is not None)]

    @property
    def loss(self) -> Loss:
        parts = [*self.fitted.losses, *(item.loss for item in self._parts)]
        stated = parts[0].concentrated
        for part in parts[1:]:
            stated = stated + part.concentrated
        return Loss(self.asked.epsilon, self.typical.loss.delta, stated=stated)

    @property
    def neighbours(self) -> Neighbours:
        return relation_of(self.facts)

    def run(self, records: Ordered) -> Result:
        if self.size is not None and not self.size.passes(records):
            return Result(None, reason=TOO_FEW)
        bracket = self.fitted.run(records)
        result = self.bounded(bracket.grid).run(bracket.column(records))
        low, high = (released_float(end) for end in bracket.ends)
        beyond = None if self.beyond is None else self.beyond.run(bracket.beyond(records))
        clamped = ClampedTo(low, high) if beyond is None else ClampedTo(low, high, beyond.value, beyond.interval)
        ends = None if result.interval is None else tuple(self._moved(end, bracket) for end in result.interval)
        return Result(self._moved(result.value, bracket), ends, clamped_to=clamped)

    def _moved(self, number: float, bracket: Bracket) -> float:
        centre = Fraction(bracket.centre)
        return released_float(self.query.moved(Fraction(number), centre, self.facts.records))
