"""Your own function with your own bound on its sensitivity, and explicit finite data spaces."""

from __future__ import annotations

import copy
import dataclasses
import math
import secrets
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal, SupportsFloat, TypeAlias, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from dither.errors import DitherError, InvalidArgument, NotApplicable
from dither.mechanisms.mechanism import Prepared
from dither.numbers import exact
from dither.plain import JsonObject
from dither.privacy import Neighbours
from dither.queries.query import Query, StatisticQuery
from dither.queries.registry import Door, query
from dither.queries.tables import TableRecords
from dither.queries.vectors import column_names
from dither.release import Released
from dither.sensitivity.levels import LevelFunction, Levels
from dither.sources.column import Shape
from dither.sources.graph import Graph
from dither.sources.grid import MOST_STEPS, Grid
from dither.sources.schema import Schema
from dither.statistics.custom import (
    AnswerGrid,
    OwnLadder,
    OwnLevels,
    OwnLocal,
    OwnNormLadder,
    OwnSmoothBound,
    OwnStatistic,
    OwnVector,
)
from dither.statistics.finite import FiniteStatistic
from dither.statistics.own_code import number_of
from dither.statistics.statistic import Statistic, VectorStatistic
from dither.typing import (
    Anything,
    ArrowTable,
    Bounds,
    EachBounds,
    Interval,
    Names,
    NeighboursName,
    Number,
    NumberList,
    OwnFunction,
)
from dither.typing import OwnVector as OwnNumbers

CLAIM = "its privacy rests on what the author of the function claims about its sensitivity"
"""What every release of an own function says."""
STRUCTURES = ("ladder", "smooth_bound", "levels", "local_sensitivity")
MOST_RUNGS = 1024
MOST_PAIRS = 1 << 24
"""Of neighbours that a finite space may list, each pair in both orders."""
SpaceNeighbours: TypeAlias = Literal["chain"] | Callable[..., Iterable[Hashable]] | Iterable[tuple[Hashable, Hashable]]
"""A function that lists the neighbours of a dataset, pairs of datasets, or "chain"."""
SpaceValues: TypeAlias = OwnFunction | Mapping[Hashable, Number]
"""A function of a dataset, or a mapping."""
_OWNER = "it is the owner's code and runs in the owner's process alone"
_OUTSIDE: dict[Door, str] = dict.fromkeys(("sql", "cli", "http", "page", "client"), _OWNER)
_COVERS = {
    Neighbours.ADD_REMOVE_CHANGE: (Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE),
    Neighbours.PERSON: (Neighbours.ADD_REMOVE_CHANGE, Neighbours.ADD_REMOVE, Neighbours.CHANGE_ONE),
}
"""Relations whose pairs include those of others."""


@query(
    "custom",
    of="anything",
    runs_code=True,
    without={"function": "dt.ask(dt.Custom(...), data) asks it", **_OUTSIDE},
    proof="custom",
)
@dataclass(frozen=True, eq=False)
class Custom(StatisticQuery[Released, Released, Anything, Shape, Anything]):
    """Your own function of the data, with what you claim about how far few changes can move it.

    name: what a release calls it.
    value: a function of the data that returns a number, or several where ``bounds`` has several pairs.
    ladder: ``ladder(data, k)``, at least what one more change can do after k changes (NRS11 Claim 3.3); or
    smooth_bound: ``smooth_bound(data, beta)``, at least the local sensitivity, and at most e^beta times that of any
        neighbour (NRS11 Definition 2.1); or
    levels: a ``LevelFunction``, with sensitivities in steps of the answers (COQ17); or
    local_sensitivity: ``local_sensitivity(data)``, at least the local sensitivity, with ``local_sensitivity_change``,
        the most that one change moves it.  At most one of the four; none: noise for the worst case.
    global_sensitivity: the most that one change ever moves the value; by default the width of ``bounds``.
    default: the public value where ``value`` fails: raises, or returns no finite number or not as many as there should
        be.  **All claims are about the function with this default in it.**
    neighbours: for which relation the claims hold, such as ``"change-one"``, ``"add-remove-change"`` or ``"edge"``.
    bounds: the public range of the values, which are clamped to it; a list of pairs for several numbers.
    step: the public grid of the answers; values are rounded to it.  By default a fine one between the bounds, and
        sensitivities are raised by one step of it, which covers the rounding of floats.
    norm: of several numbers, "l1" (default) or "l2": how all sensitivities are measured.
    rungs: how many rungs of a ladder are looked at; later ones count as the global sensitivity.
    columns: in a session, the columns of the Arrow table that the function gets; None: all declared ones.

    Where ``ladder``, ``smooth_bound``, ``local_sensitivity`` or the level fail or are negative, the global sensitivity,
    or the highest level, stands in; a ladder that falls is replaced by its running maximum.  The claims must hold with
    these rules applied.  Claims are not checked when a question is asked: ``dt.inspect.refute`` searches for data that
    refute them.  The functions must not depend on the order of a table's rows, on chance or on anything but the data.

    >>> import dither as dt
    >>> distinct = dt.Custom(name="different records", value=lambda x: len(set(x)), global_sensitivity=1,
    ...                      bounds=(0, 1_000), step=1, default=0)
    >>> release = dt.ask(distinct, [3, 20, 20, 60], epsilon=1.0)
    >>> release.query, release.mechanism, release.claim is not None
    ('different records', 'worst_case', True)
    """

    name: InitVar[str] = field(kw_only=True)  # the class keeps the registry's name
    value: OwnFunction | OwnNumbers = field(kw_only=True)
    ladder: OwnFunction | None = field(default=None, kw_only=True)
    smooth_bound: OwnFunction | None = field(default=None, kw_only=True)
    levels: LevelFunction | None = field(default=None, kw_only=True)
    local_sensitivity: OwnFunction | None = field(default=None, kw_only=True)
    local_sensitivity_change: Number | None = field(default=None, kw_only=True)
    global_sensitivity: Number | None = field(default=None, kw_only=True)
    default: Number | NumberList = field(kw_only=True)
    neighbours: Neighbours | NeighboursName = field(default=Neighbours.CHANGE_ONE, kw_only=True)
    bounds: EachBounds | None = field(default=None, kw_only=True)
    step: Number | None = field(default=None, kw_only=True)
    norm: Literal["l1", "l2"] | None = field(default=None, kw_only=True)
    rungs: int = field(default=MOST_RUNGS, kw_only=True)
    columns: Names | None = field(default=None, kw_only=True)
    title: str = field(init=False, repr=False)
    _statistic: ClassVar[OwnStatistic | OwnVector]
    _token: ClassVar[str]
    column = None
    nulls = None
    accepts = ("where",)
    claim = CLAIM

    def __post_init__(self, name: str) -> None:
        if not isinstance(name, str) or not name.strip() or len(name) > 200 or not name.isprintable():
            raise InvalidArgument("name", name, "must be a short printable text, such as 'largest gap'")
        object.__setattr__(self, "title", name)
        object.__setattr__(self, "_token", secrets.token_hex(16))
        object.__setattr__(self, "neighbours", relation_of(self.neighbours))
        self._check_functions()
        made = (
            self._vector(self.bounds) if _is_several(self.bounds) else self._single(cast("Bounds | None", self.bounds))
        )
        object.__setattr__(self, "_statistic", made)

    @property
    def label(self) -> str:
        return self.title

    @property
    def relation(self) -> Neighbours:
        """Between which data the claims hold."""
        return relation_of(self.neighbours)

    # --- from public facts alone ---------------------------------------------------------------------------

    def _check_functions(self) -> None:
        if not callable(self.value):
            raise InvalidArgument("value", type(self.value), "must be a function of the data")
        given = [item for item in STRUCTURES if getattr(self, item) is not None]
        if len(given) > 1:
            raise InvalidArgument(given[1], "given", f"pass one of {', '.join(STRUCTURES)}, not {given[0]} too")
        for argument, form in (
            ("ladder", "a function ladder(data, k)"),
            ("smooth_bound", "a function smooth_bound(data, beta)"),
            ("local_sensitivity", "a function of the data"),
        ):
            if getattr(self, argument) is not None and not callable(getattr(self, argument)):
                raise InvalidArgument(argument, type(getattr(self, argument)), f"must be {form}")
        if self.levels is not None and not (
            isinstance(self.levels, LevelFunction) and isinstance(self.levels.levels, Levels)
        ):
            accepted = "must be LevelFunction(Levels([1, 2, 5]), level), level a function of the data"
            raise InvalidArgument("levels", type(self.levels), accepted)
        if (self.local_sensitivity is None) != (self.local_sensitivity_change is None):
            accepted = "local_sensitivity and local_sensitivity_change, the most that one change moves it, go together"
            raise InvalidArgument("local_sensitivity_change", self.local_sensitivity_change, accepted)
        if not isinstance(self.rungs, int) or isinstance(self.rungs, bool) or not 1 <= self.rungs <= 1 << 20:
            raise InvalidArgument("rungs", self.rungs, f"must be a whole number from 1 to {1 << 20}")

    def _single(self, bounds: Bounds | None) -> OwnStatistic:
        if self.norm is not None:
            raise InvalidArgument(
                "norm", self.norm, "is for several numbers: pass bounds such as [(0, 1), (0, 1)], or leave it out"
            )
        on = self._grid(bounds, self.step)
        width = None if on.grid.low is None or on.grid.high is None else on.grid.high - on.grid.low
        default = on.place(_within(self.default, bounds, "default"))
        return self._claimed(on, default, self._most(on, width))

    def _claimed(self, on: AnswerGrid, default: int, most: int) -> OwnStatistic:
        """The statistic with the structure that is claimed."""
        facts = (cast("OwnFunction", self.value), on, default, most, self.relation)
        if self.levels is not None:
            return self._with_levels(self.levels, on, default)
        if self.ladder is not None:
            return OwnLadder(*facts, self.ladder, self.rungs)
        if self.smooth_bound is not None:
            return OwnSmoothBound(*facts, self.smooth_bound)
        if self.local_sensitivity is not None:
            change = on.outward(_not_negative(self.local_sensitivity_change, "local_sensitivity_change"))
            return OwnLocal(*facts, self.local_sensitivity, change)
        return OwnStatistic(*facts)

    def _with_levels(self, levels: LevelFunction, on: AnswerGrid, default: int) -> OwnLevels:
        if self.step is None:
            raise InvalidArgument("step", None, "levels have sensitivities in steps: declare the step, such as step=1")
        top = levels.levels.global_sensitivity
        if self.global_sensitivity is not None and on.outward(_not_negative(self.global_sensitivity)) > top:
            least = on.outward(_not_negative(self.global_sensitivity))
            accepted = f"must be a highest sensitivity of at least the global one, {least} steps"
            raise InvalidArgument("levels", top, accepted)
        return OwnLevels(cast("OwnFunction", self.value), on, default, top, self.relation, levels)

    def _vector(self, bounds: Sequence[Bounds]) -> OwnVector:
        norm: Literal["l1", "l2"] = "l1" if self.norm is None else self.norm
        if norm not in ("l1", "l2"):
            raise InvalidArgument("norm", self.norm, 'must be "l1" or "l2"')
        several = tuple(bounds)
        # One step for all of them: the norm adds up steps.
        step = max(Grid.between(value, self.step).step for value in several)
        on = tuple(self._grid(value, step) for value in several)
        listed = self.default if isinstance(self.default, (list, tuple, np.ndarray)) else (self.default,) * len(several)
        if len(listed) != len(several):
            raise InvalidArgument("default", len(listed), f"must be one number, or one for each of {len(several)}")
        default = tuple(
            column.place(_within(number, pair, "default"))
            for column, number, pair in zip(on, listed, several, strict=True)
        )
        length, spans = len(several), [column.grid.ends[1] - column.grid.ends[0] for column in on]
        diameter = sum(spans) if norm == "l1" else math.isqrt(sum(span * span for span in spans)) + 1
        # Each number is rounded by less than a step, and floats by up to a spare one.
        rounding = length if norm == "l1" else math.isqrt(length - 1) + 1
        of_norm = AnswerGrid(Grid(step, None, None), (1 + on[0].spare) * rounding)
        most = self._most(of_norm, diameter)
        labels = tuple(str(place + 1) for place in range(length))
        claims = self._claimed(of_norm, 0, most)
        function = cast("Callable[..., Sequence[SupportsFloat]]", self.value)
        facts = (function, on, default, claims.global_sensitivity, norm, self.relation, labels)
        return OwnVector(*facts) if claims.sensitivity_is_constant else OwnNormLadder(*facts, claims)

    def _grid(self, bounds: Bounds | None, step: Number | None) -> AnswerGrid:
        spare = 0 if self.step is not None else 1
        if bounds is not None:
            return AnswerGrid(Grid.between(bounds, step), spare)
        is_bounded = self.global_sensitivity is not None or self.levels is not None
        if step is None or not is_bounded:
            missing = "step" if is_bounded else "global_sensitivity"
            accepted = "bounds=(low, high), the public range of the values, or both step and global_sensitivity"
            raise InvalidArgument("bounds", None, f"pass {accepted}; {missing} is None")
        size = exact(step, "step")
        if size <= 0:
            raise InvalidArgument("step", step, "must be a positive number")
        return AnswerGrid(Grid(size, None, None), spare)

    def _most(self, on: AnswerGrid, width: int | None) -> int:
        """The global sensitivity in steps: what is claimed, and at most the width of the bounds."""
        if self.global_sensitivity is None:
            return width if width is not None else 0
        claimed = on.outward(_not_negative(self.global_sensitivity))
        if claimed > MOST_STEPS:
            accepted = "must be at most 2**52 steps: pass a larger step, or bounds"
            raise InvalidArgument("global_sensitivity", self.global_sensitivity, accepted)
        return claimed if width is None else min(claimed, width)

    # --- in memory, in sessions ----------------------------------------------------------------------------

    def shape(self, data: Anything) -> Shape:
        if isinstance(data, Graph):
            return data.shape
        if isinstance(data, Iterator):
            accepted = "must be data that can be read more than once, such as a list or an array"
            raise InvalidArgument("data", type(data), accepted)
        return Shape(1, whole=False, nullable=False, neighbours=self.relation)

    def read(self, data: Anything, shape: Shape) -> Anything:  # noqa: ARG002
        return data

    def resolve(self, shape: Shape) -> Statistic | VectorStatistic:
        """The statistic, if its claims are about neighbours such as these."""
        asked = shape.neighbours
        if asked is not self.relation and asked not in _COVERS.get(self.relation, ()):
            raise NotApplicable(
                "neighbours",
                str(self.neighbours),
                f"the claims are not about these data, whose neighbours are {asked}",
                f"neighbours={str(asked)!r} with claims that hold for it",
            )
        statistic = self._statistic
        if statistic.single is None and shape.rows_per_person > 1:
            accepted = "neighbours='person' with claims about all rows of one person"
            raise NotApplicable("neighbours", str(self.neighbours), "people own several rows here", accepted)
        return statistic

    def missing(self, shape: Shape) -> None:  # noqa: ARG002
        return None

    def bound(self, schema: Schema) -> Query:
        columns = tuple(schema.columns) if self.columns is None else column_names(self.columns)
        for name in columns:
            schema.column(name, "columns")
        known = copy.copy(self)
        object.__setattr__(known, "columns", columns)
        return known

    @property
    def used(self) -> tuple[str, ...]:
        return () if self.columns is None else tuple(self.columns)

    def table_facts(self, schema: Schema, shape: Shape) -> Shape:  # noqa: ARG002
        # Claims about people are about all of their rows at once.
        return dataclasses.replace(shape, rows_per_person=1) if self.neighbours is Neighbours.PERSON else shape

    def select(self, records: TableRecords, prepared: Prepared | None) -> Sequence[ArrowTable]:  # noqa: ARG002
        return [records.rows(self.used)]

    def stored(self) -> JsonObject:
        """The very object: functions can't be told apart by what they are called, so each object is a question."""
        return {"title": self.title, "object": self._token, "columns": list(self.columns or ())}

    def stored_0_1_0(self) -> JsonObject:
        return {"kind": "Custom", **self.stored()}

    plain_0_1_0 = True


@query(
    "finite_space",
    of="finite space",
    runs_code=True,
    without={
        "function": "dt.ask(dt.FiniteSpace(...), dataset) asks it",
        **dict.fromkeys(("session", "quote"), "its data are one of the datasets that it lists"),
        **_OUTSIDE,
    },
    proof="custom",
)
@dataclass(frozen=True, eq=False)
class FiniteSpace(StatisticQuery[float, Interval, Hashable]):
    """A function on a public, finite list of datasets; the data asked about are one of them.

    datasets: all that the data can be, each hashable: numbers, texts, tuples, frozensets.
    neighbours: a function that lists the neighbours of a dataset, a list of pairs of datasets, or "chain" for each and
        the next.  Every pair counts in both orders.
    value: a function of a dataset, or a mapping; evaluated for all of them when the space is made.
    step: the grid of the values; by default the largest of which all of them are multiples.
    default: the dataset that data outside of the space count as; by default the first.

    Local, global and smooth sensitivities, ladders, levels and reachable values are enumerated, so every mechanism
    answers.  All of that is public; which of the datasets the data are is not.

    >>> import dither as dt
    >>> pay = [24634, 29475, 37468, 48104, 69624, 113511]
    >>> space = dt.FiniteSpace(range(7), neighbours="chain", value=lambda k: sum(pay[:k]))  # COQ17 Example 5
    >>> space.local_sensitivity(1), space.global_sensitivity, 0 <= dt.ask(space, 3, epsilon=1.0).value <= 322816
    (29475, 113511, True)
    """

    datasets: Iterable[Hashable]
    neighbours: SpaceNeighbours = field(kw_only=True)
    value: SpaceValues = field(kw_only=True)
    step: Number | None = field(default=None, kw_only=True)
    default: Hashable = field(default=None, kw_only=True)
    noun: ClassVar[str] = "value in a finite space"
    _statistic: ClassVar[FiniteStatistic]
    _number: ClassVar[dict[Hashable, int]]
    column = None
    nulls = None

    def __post_init__(self) -> None:
        if not isinstance(self.datasets, Iterable) or isinstance(self.datasets, (str, bytes)):
            raise InvalidArgument("datasets", type(self.datasets), "must be a list of hashable datasets")
        listed = tuple(self.datasets)
        numbered = _numbered(listed)
        if not listed:
            raise InvalidArgument("datasets", "none", "must have at least one dataset")
        object.__setattr__(self, "datasets", listed)
        if self.default is not None and self.default not in numbered:
            raise InvalidArgument("default", self.default, "must be one of the datasets")
        pairs = _pairs(self.neighbours, listed, numbered)
        steps, grid = _placed(_values(self.value, listed), self.step)
        object.__setattr__(self, "_number", numbered)
        object.__setattr__(self, "_statistic", FiniteStatistic(steps, pairs, grid))

    @property
    def statistic(self) -> FiniteStatistic:
        """The enumerated space: public."""
        return self._statistic

    @property
    def pairs(self) -> list[tuple[Hashable, Hashable]]:
        """All pairs of neighbours, each in both orders."""
        listed = tuple(self.datasets)
        return [(listed[here], listed[there]) for here, there in self.statistic.pairs.T.tolist()]

    @property
    def global_sensitivity(self) -> int | float:
        """The most that one step to a neighbour moves the value."""
        return self._in_units(self.statistic.global_sensitivity)

    def local_sensitivity(self, dataset: Hashable) -> int | float:
        """The most that one step from this dataset moves the value."""
        return self._in_units(self.statistic.local(self._place(dataset)))

    def ladder(self, dataset: Hashable) -> list[int | float]:
        """The largest local sensitivity within 0, 1, 2, ... steps; the last number holds from there on."""
        own = self.statistic.rungs[:, self._place(dataset)].tolist()
        return [self._in_units(sensitivity) for sensitivity in own[: own.index(own[-1]) + 1]]

    def smooth_sensitivity(self, dataset: Hashable, beta: Number) -> float:
        """``max_y LS(y) e^{-beta d(x, y)}`` (NRS11 Definition 2.2), to float accuracy."""
        smoothness = exact(beta, "beta")
        if smoothness < 0:
            raise InvalidArgument("beta", beta, "must be a number of at least 0")
        grid = self.statistic.answers
        return self.statistic.smooth_sensitivity(self._place(dataset), smoothness) * float(grid.step)

    @property
    def levels(self) -> tuple[int | float, ...]:
        """The different local sensitivities in rising order: level 1 has the first (COQ17 section 3.2)."""
        return tuple(self._in_units(int(sensitivity)) for sensitivity in self.statistic.levels.sensitivities)

    def level(self, dataset: Hashable) -> int:
        """The level of a dataset, from 1."""
        return self.statistic.level_of(self._place(dataset))

    def lowest_neighbour_level(self, level: int) -> int:
        """The lowest level below this one that neighbours of its datasets have, or this one: tau_k of COQ17."""
        return min(self._related(level))

    def highest_neighbour_level(self, level: int) -> int:
        """The highest level above this one that neighbours of its datasets have, or this one: l_k of COQ17."""
        return max(self._related(level))

    def _related(self, level: int) -> Sequence[int]:
        levels = self.statistic.levels
        if not isinstance(level, int) or not 1 <= level <= levels.count:
            raise InvalidArgument("level", level, f"must be a whole number from 1 to {levels.count}")
        return levels.related(level)

    def _in_units(self, steps: int) -> int | float:
        return self.statistic.answers.value(steps)

    def _place(self, dataset: Hashable) -> int:
        result = self._known(dataset)
        if result is None:
            raise InvalidArgument("dataset", type(dataset), "must be one of the datasets")
        return result

    def _known(self, dataset: Hashable) -> int | None:
        try:
            return self._number.get(dataset)
        except Exception:  # noqa: BLE001  (data that can't be hashed are outside of the space, whatever they hold)
            return None

    def shape(self, data: Hashable) -> Shape:  # noqa: ARG002
        return Shape(len(self._number), whole=True, nullable=False, neighbours=Neighbours.LISTED)

    def resolve(self, shape: Shape) -> FiniteStatistic:  # noqa: ARG002
        # A space that is too large to be enumerated is refused here, before anything is read.
        return self.statistic.enumerated()

    def read(self, data: Hashable, shape: Shape) -> int:  # noqa: ARG002
        result = self._known(data)
        if result is not None:
            return result
        return 0 if self.default is None else self._place(self.default)

    def missing(self, shape: Shape) -> None:  # noqa: ARG002
        return None


def relation_of(given: Neighbours | NeighboursName) -> Neighbours:
    """A neighbour relation by its name."""
    try:
        return Neighbours(given)
    except ValueError:
        accepted = ", ".join(repr(str(neighbour)) for neighbour in Neighbours)
    raise InvalidArgument("neighbours", given, f"must be one of {accepted}")


def _is_several(bounds: EachBounds | None) -> TypeGuard[Sequence[Bounds]]:
    """True for a list of pairs: the bounds of several numbers."""
    return isinstance(bounds, (list, tuple)) and len(bounds) > 0 and isinstance(bounds[0], (list, tuple))


def _within(given: Number | NumberList, bounds: Bounds | None, argument: str) -> Fraction:
    number = exact(given, argument)
    if bounds is not None:
        low, high = (exact(end, "bounds") for end in bounds)
        if not low <= number <= high:
            raise InvalidArgument(argument, given, f"must be a number between {float(low):g} and {float(high):g}")
    return number


def _not_negative(given: Number | None, argument: str = "global_sensitivity") -> Fraction:
    number = exact(given, argument)
    if number < 0:
        raise InvalidArgument(argument, given, "must be a number of at least 0")
    return number


# --- finite spaces ------------------------------------------------------------------------------------------


def _numbered(listed: tuple[Hashable, ...]) -> dict[Hashable, int]:
    try:
        numbered = {dataset: place for place, dataset in enumerate(listed)}
    except TypeError:
        accepted = "must be hashable datasets, such as tuples or frozensets"
        raise InvalidArgument("datasets", "a dataset that can't be hashed", accepted) from None
    if len(numbered) < len(listed):
        raise InvalidArgument("datasets", f"{len(listed)} of them", "must list each dataset once")
    return numbered


def _pairs(
    neighbours: SpaceNeighbours, listed: tuple[Hashable, ...], numbered: dict[Hashable, int]
) -> NDArray[np.int64]:
    """Both rows of pairs of numbers, each pair in both orders and once."""
    if neighbours == "chain":
        result: Iterable[tuple[int, int]] = ((place, place + 1) for place in range(len(listed) - 1))
    elif callable(neighbours):
        result = (
            (place, _number_of(neighbour, numbered))
            for place, dataset in enumerate(listed)
            for neighbour in neighbours(dataset)
        )
    elif isinstance(neighbours, Iterable) and not isinstance(neighbours, (str, bytes)):
        result = (_pair(neighbour, numbered) for neighbour in neighbours)
    else:
        accepted = 'must be "chain", a function that lists the neighbours of a dataset, or a list of pairs'
        raise InvalidArgument("neighbours", neighbours, accepted)
    try:
        flat = np.fromiter((place for pair in result for place in pair), dtype=np.int64).reshape(-1, 2)
    except DitherError:
        raise
    except Exception as error:
        raise InvalidArgument("neighbours", repr(error), "must be a function that lists neighbours") from error
    if len(flat) > MOST_PAIRS:
        raise InvalidArgument("neighbours", f"{len(flat)} pairs", f"must be at most {MOST_PAIRS}")
    start, other = flat[flat[:, 0] != flat[:, 1]].T
    size = len(listed)
    codes = np.unique(np.concatenate([start * size + other, other * size + start]))
    return np.stack([codes // size, codes % size])


def _pair(given: tuple[Hashable, Hashable], numbered: dict[Hashable, int]) -> tuple[int, int]:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise InvalidArgument("neighbours", given, "must be pairs of datasets")
    first, other = given
    return _number_of(first, numbered), _number_of(other, numbered)


def _number_of(dataset: Hashable, numbered: dict[Hashable, int]) -> int:
    place = numbered.get(dataset)
    if place is None:
        raise InvalidArgument("neighbours", dataset, "must be neighbours that are among the datasets")
    return place


def _values(value: SpaceValues, listed: tuple[Hashable, ...]) -> list[Fraction]:
    function = cast("OwnFunction", value.get if isinstance(value, Mapping) else value)
    if not callable(function):
        raise InvalidArgument("value", type(value), "must be a function of a dataset, or a mapping of datasets")
    results = []
    for dataset in listed:
        number = number_of(function, dataset)
        if number is None:
            raise InvalidArgument("value", dataset, "must be a finite number for every dataset, and this has none")
        results.append(number)
    return results


def _placed(values: list[Fraction], step: Number | None) -> tuple[NDArray[np.int64], Grid]:
    """The values in whole steps, and their grid."""
    if step is not None:
        size = exact(step, "step")
        if size <= 0:
            raise InvalidArgument("step", step, "must be a positive number")
    else:
        values = [_as_printed(value) for value in values]
        size = _common_step(values)
    steps = [math.floor(value / size + Fraction(1, 2)) for value in values]
    low, high = min(steps), max(steps)
    if max(abs(low), abs(high)) > MOST_STEPS:
        raise InvalidArgument("step", step, "must be larger: values must have at most 2**52 steps")
    return np.array(steps, dtype=np.int64), Grid(size, low, high)


def _as_printed(number: Fraction) -> Fraction:
    """A float as the decimal that it prints as; any other number as it is."""
    if number.denominator == 1:
        return number
    nearest = number.numerator / number.denominator
    return exact(nearest) if Fraction(nearest) == number else number


def _common_step(values: list[Fraction]) -> Fraction:
    """The largest number of which all are multiples; 1 where all are 0."""
    denominator = math.lcm(*(value.denominator for value in values))
    numerator = math.gcd(*(int(value * denominator) for value in values))
    return Fraction(numerator, denominator) if numerator else Fraction(1)
