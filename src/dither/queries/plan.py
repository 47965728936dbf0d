"""A plan: everything public about an answer, made before anything is charged or read."""

from __future__ import annotations

import contextlib
import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, Literal

from dither.errors import InvalidArgument, NotApplicable
from dither.mechanisms.mechanism import Prepared
from dither.numbers import exact
from dither.privacy import LEFT_OUT, FilterName, Loss, Neighbours, Simultaneous, fraction_of_unit
from dither.release import POPULATION, SAMPLE, ClampedTo, Counted, IntervalName, PersonLimit, Released
from dither.sources.grid import Grid

if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import TypeVar

    from dither.typing import Confidence, MechanismChoice, NoiseChoice, Number

    R_contra = TypeVar("R_contra", contravariant=True, default=Any)
else:
    from typing import TypeVar

    R_contra = TypeVar("R_contra", contravariant=True)

AUTO: Literal["auto"] = "auto"


@dataclass(frozen=True)
class Options:
    """What an analyst says about an answer besides the query: the loss, the mechanism and the confidence interval."""

    loss: Loss
    mechanism: MechanismChoice = AUTO
    noise: NoiseChoice = AUTO
    confidence: Fraction | None = None
    """Of each interval."""
    interval: IntervalName = SAMPLE
    """What the interval covers."""
    simultaneous: Simultaneous | None = None
    """Where all intervals are to hold at once: what each of them may miss then depends on how many there are."""
    ledger: FilterName | None = None
    """How the losses of the dataset add up, where there is a ledger: under "zcdp" as rho, else as epsilon."""

    @classmethod
    def asked(
        cls,
        epsilon: Number,
        delta: Number = 0.0,
        mechanism: MechanismChoice = AUTO,
        noise: NoiseChoice = AUTO,
        confidence: Confidence = 0.95,
        interval: IntervalName = SAMPLE,
    ) -> Options:
        """From what a user wrote."""
        loss = Loss.asked(epsilon, delta)
        if interval not in (SAMPLE, POPULATION):
            raise InvalidArgument("interval", interval, f"must be {SAMPLE!r} or {POPULATION!r}")
        if interval == POPULATION and confidence is None:
            raise InvalidArgument("interval", interval, "needs a confidence, such as confidence=0.95")
        if isinstance(confidence, Simultaneous):
            return cls(loss, mechanism, noise, confidence.each(1), interval, confidence)
        level = None if confidence is None else exact(confidence, "confidence")
        return cls(loss, mechanism, noise, level, interval)

    def for_all(self, planned: Plan, groups: int | None = 1) -> Options:
        """The same for intervals that hold at once; planned: the query as it is without, which knows how many.

        groups: how many groups have an answer each; None: they are found, so their number is not known before.
        """
        if self.simultaneous is None or planned.confidence is None:
            return self
        if groups is None or planned.intervals is None:
            raise NotApplicable(
                "confidence",
                "Simultaneous",
                "how many intervals there are is only known afterwards: groups or categories are found",
                "declared groups or categories, or a confidence for each interval",
            )
        return replace(self, confidence=self.simultaneous.each(planned.intervals * groups))

    @property
    def level(self) -> float | None:
        """The confidence as it is printed."""
        return None if self.confidence is None else float(self.confidence)

    @property
    def together(self) -> float | None:
        """The confidence of all intervals at once, where that was asked for."""
        return None if self.simultaneous is None else float(self.simultaneous.confidence)

    @property
    def miss(self) -> Fraction | None:
        """How often the interval may fail to cover."""
        return None if self.confidence is None else 1 - fraction_of_unit("confidence", self.confidence)

    @property
    def is_auto(self) -> bool:
        """True if neither a mechanism nor a noise was asked for."""
        return all(given == AUTO for given in (self.mechanism, self.noise))

    def only_auto(self, instead: str, accepted: str) -> None:
        """Refuse a mechanism or noise where the query has none to choose."""
        for name, given in (("mechanism", self.mechanism), ("noise", self.noise)):
            if given != AUTO:
                raise NotApplicable(name, given, instead, accepted)


@dataclass(frozen=True)
class Result:
    """What leaves a plan: private no longer, in the units of the user."""

    value: Released
    """None: the mechanism declined to answer."""
    interval: Released = None
    reason: str | None = None
    """Why there is no answer, or not all of it, in public terms."""
    labels: tuple[str, ...] | None = None
    """Names of the values where the plan did not know them."""
    clamped_to: ClampedTo | None = None
    """Bounds that were found privately."""
    person_limit: PersonLimit | None = None
    """A limit of what one person contributes that was found privately."""


@dataclass(frozen=True)
class PeopleRead:
    """What is read of each person: the total of a column, or how many rows there are."""

    column: str | None
    """None: rows are counted."""
    grid: Grid
    missing: int
    """What a missing value counts as, in steps."""
    presence: bool = False
    """True if each person counts once in each group."""
    weighted: bool = False
    """True if rows are weighed, instead of totals limited."""


class Plan(ABC, Generic[R_contra]):
    """A query that met public facts and a privacy loss.  Refuses when it is made; a run raises nothing that depends on
    the records.

    ``Plan[R]`` runs on private records R: what ``Query.read`` or ``Query.select`` of its query made of a source.
    """

    if TYPE_CHECKING:  # a field, a constant of the class or a property in each kind of plan

        @property
        def label(self) -> str:
            """How the release names the query."""

        @property
        def loss(self) -> Loss:
            """All that the answer costs, its interval included."""

        @property
        def neighbours(self) -> Neighbours:
            """Between which datasets the loss holds."""

        @property
        def mechanism(self) -> str:
            """The public name of the mechanism."""

        @property
        def noise(self) -> str:
            """The public name of the noise."""

        @property
        def confidence(self) -> float | None:
            """Of the interval; None: there is none."""

        @property
        def interval_of(self) -> IntervalName:
            """What the interval covers."""

        @property
        def is_widened(self) -> bool:
            """True if the interval is wider than that of the mechanism, by what sampling adds."""

        @property
        def missing(self) -> Counted:
            """The public value that missing records count as."""

        @property
        def clamped(self) -> Counted:
            """The public bounds to which values outside are clamped."""

        @property
        def answer_range(self) -> Counted:
            """Between which ends the answer can lie, or each of several; None: not known, as an end: there is none."""

        @property
        def unit(self) -> str | None:
            """What tells people apart, where neighbours differ in one of them."""

        @property
        def person_limit(self) -> PersonLimit | None:
            """How many rows of each person count, where that is declared."""

        @property
        def labels(self) -> tuple[str, ...] | None:
            """The names of several values."""

        @property
        def claim(self) -> str | None:
            """What the guarantee rests on beside the proofs of the library, such as a claim of the query's author."""

        @property
        def advice(self) -> str | None:
            """What would make the answer better, from public facts: quotes say it."""

        @property
        def derived_from(self) -> int | None:
            """The charge whose release the answer is computed from; None: it is computed from records."""

        @property
        def simultaneous(self) -> float | None:
            """The confidence of all intervals at once, where that was asked for."""

        @property
        def is_scheduled(self) -> bool:
            """True if it reads and runs on a public schedule of its own."""

        @property
        def people(self) -> PeopleRead | None:
            """What it reads of each person of a table, where it is about people and not about rows."""

    else:
        missing = clamped = labels = claim = advice = derived_from = people = simultaneous = None
        answer_range = unit = person_limit = None
        interval_of = SAMPLE
        is_scheduled = is_widened = False

    @property
    def intervals(self) -> int | None:
        """How many intervals an answer has; None where that is only known afterwards."""
        return len(self.labels or (None,))

    @property
    def released_by(self) -> Prepared | None:
        """The mechanism, where one statistic is released by one; None for procedures."""
        return None

    @property
    def read_for(self) -> Prepared | None:
        """The mechanism that the records are read for, where it says how they are read best."""
        return self.released_by

    @contextlib.contextmanager
    def opened(self) -> Iterator[Callable[[R_contra], Result]]:
        """What a run needs beside the records, such as a sandbox, from before the charge on."""
        yield self.run

    @abstractmethod
    def run(self, records: R_contra) -> Result:
        """Private records in, a public result out."""

    def run_groups(self, groups: Sequence[R_contra]) -> list[Result]:
        """The results of all groups."""
        return [self.run(records) for records in groups]


@dataclass(frozen=True)
class StatisticPlan(Plan[R_contra]):
    """One statistic, released by one mechanism."""

    label: str
    prepared: Prepared
    mechanism: str
    confidence: float | None
    missing: Counted = None
    claim: str | None = None
    relation: Neighbours | None = None
    """Between which datasets, where these are others than the statistic's own: some of their records are left out."""
    clamped: Counted = None
    interval_of: IntervalName = SAMPLE

    @property
    def released_by(self) -> Prepared:
        return self.prepared

    @property
    def loss(self) -> Loss:
        return self.prepared.loss

    @property
    def neighbours(self) -> Neighbours:
        return self.relation or self.prepared.statistic.neighbours

    @property
    def noise(self) -> str:
        return self.prepared.noise_name

    @property
    def labels(self) -> tuple[str, ...] | None:
        return self.prepared.statistic.labels

    @property
    def answer_range(self) -> Counted:
        statistic = self.prepared.statistic
        grids = statistic.answers
        if isinstance(grids, Grid):
            return _range(grids)
        if statistic.are_counts:
            return (0, None)
        ranges = [_range(grid) for grid in {id(grid): grid for grid in grids}.values()]
        return ranges[0] if len(set(ranges)) == 1 else tuple(_range(grid) for grid in grids)

    def run(self, records: R_contra) -> Result:
        outcome = self.prepared.run(records)
        if outcome.refused:
            return Result(None, reason=self.prepared.refusal)
        grids = self.prepared.statistic.answers
        answer: Released = outcome.answer
        ends: Released = outcome.interval
        if isinstance(grids, Grid):
            return Result(grids.value(answer), None if ends is None else tuple(grids.value(end) for end in ends))
        if all(grid.step == 1 for grid in {id(grid): grid for grid in grids}.values()):
            return Result(answer, ends)  # whole steps are the numbers themselves
        each = tuple(grid.value(number) for grid, number in zip(grids, answer, strict=True))
        return Result(
            each, None if ends is None else tuple(grid.all_values(pair) for grid, pair in zip(grids, ends, strict=True))
        )


def _range(grid: Grid) -> Counted:
    """Both ends of a grid as users see numbers; None where it has none."""
    return tuple(None if end is None else grid.value(end) for end in (grid.low, grid.high))


class WithinDrawnPlan(Plan[R_contra]):
    """Bounds or limits by draws, then a plan within them; which plan that is, is known afterwards."""

    if TYPE_CHECKING:

        @property
        def options(self) -> Options:
            """What is left for the answer."""

        @property
        def typical(self) -> Plan:
            """The plan within some bounds or limits: loss, mechanism and noise are those of all."""

    @property
    def mechanism(self) -> str:
        return self.typical.mechanism

    @property
    def noise(self) -> str:
        return self.typical.noise

    @property
    def confidence(self) -> float | None:
        return self.options.level


class WrappedPlan(Plan[R_contra]):
    """A plan around another one, ``inner``: it is that one in whatever it does not say itself."""

    if TYPE_CHECKING:

        @property
        def inner(self) -> Plan[R_contra]:
            """The plan that it wraps."""

    @property
    def neighbours(self) -> Neighbours:
        return self.inner.neighbours

    @property
    def mechanism(self) -> str:
        return self.inner.mechanism

    @property
    def noise(self) -> str:
        return self.inner.noise

    @property
    def confidence(self) -> float | None:
        return self.inner.confidence

    @property
    def interval_of(self) -> IntervalName:
        return self.inner.interval_of

    @property
    def is_widened(self) -> bool:
        return self.inner.is_widened

    @property
    def missing(self) -> Counted:
        return self.inner.missing

    @property
    def clamped(self) -> Counted:
        return self.inner.clamped

    @property
    def labels(self) -> tuple[str, ...] | None:
        return self.inner.labels

    @property
    def intervals(self) -> int | None:
        return self.inner.intervals

    @property
    def claim(self) -> str | None:
        return self.inner.claim

    @property
    def advice(self) -> str | None:
        return self.inner.advice

    @property
    def is_scheduled(self) -> bool:
        return self.inner.is_scheduled

    @property
    def people(self) -> PeopleRead | None:
        return self.inner.people

    @property
    def read_for(self) -> Prepared | None:
        return self.inner.read_for


@dataclass(frozen=True)
class TransformedPlan(WrappedPlan[R_contra]):
    """A rising function of what another plan releases: post-processing, which costs nothing.

    An interval that covers the number covers its image with the same probability.
    """

    label: str
    inner: Plan[R_contra]
    function: Callable[[float], float]

    @property
    def loss(self) -> Loss:
        return self.inner.loss

    @property
    def answer_range(self) -> Counted:
        match self.inner.answer_range:
            case (float() | int() as low, float() | int() as high):
                return self.function(low), self.function(high)
        return None

    def run(self, records: R_contra) -> Result:
        result = self.inner.run(records)
        if result.value is None:
            return result
        ends = None if result.interval is None else tuple(self.function(end) for end in result.interval)
        return replace(result, value=self.function(result.value), interval=ends)


@dataclass(frozen=True)
class DatedPlan(WrappedPlan[R_contra]):
    """Released numbers as dates or datetimes: post-processing."""

    inner: Plan[R_contra]
    displayed: Callable[[float], datetime.date]

    @property
    def label(self) -> str:
        return self.inner.label

    @property
    def loss(self) -> Loss:
        return self.inner.loss

    @property
    def missing(self) -> Counted:
        missing = self.inner.missing
        dates: Counted = missing if missing == LEFT_OUT else self._dates(missing)
        return dates

    @property
    def clamped(self) -> Counted:
        dates: Counted = self._dates(self.inner.clamped)
        return dates

    @property
    def answer_range(self) -> Counted:
        dates: Counted = self._dates(self.inner.answer_range)
        return dates

    def run(self, records: R_contra) -> Result:
        result = self.inner.run(records)
        return replace(result, value=self._dates(result.value), interval=self._dates(result.interval))

    def _dates(self, numbers: Released) -> Released:
        if isinstance(numbers, tuple):
            return tuple(self._dates(number) for number in numbers)
        return None if numbers is None else self.displayed(numbers)
