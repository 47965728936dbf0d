"""Columns that stay in their engine: totals, bins, and windows of ranks around quantiles, fetched when asked for.

Every record is a finite number before anything else is asked of it, missing ones being their public value (see
``Selection.value``), so no count, sum or comparison below has a case of its own for them.

Ranks are found by bracketing: a sample suggests two values around the ranks wanted, one pass counts what lies below
them, one fetches what lies between.  The counts verify the bracket, and it is widened where it was too narrow; so
the sample decides how long reading takes and nothing else.  Small tables are fetched whole instead; the environment
variable ``DITHER_FEW_ROWS`` says how small (0: brackets always).
"""

from __future__ import annotations

import functools
import math
import os
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from dither.errors import InvalidArgument, SourceFailed
from dither.kernels.sums import exact_dot
from dither.sources.engines.engine import column, double_literal
from dither.sources.grid import Grid
from dither.sources.predicates import literal
from dither.sources.selection import (
    GROUP,
    HIGH,
    LOW,
    VALUE,
    Key,
    Selection,
    all_groups,
    count_if,
    counted,
    raw_value,
    thresholds,
)
from dither.sources.states import STATES

FEW_ROWS = 250_000
"""Tables up to this size are fetched as values with their multiplicities, without brackets."""
FEW_ROWS_SETTING = "DITHER_FEW_ROWS"
FEW_POINTS = 1 << 18
SAMPLED = 60_000
"""How many sampled records suggest brackets; never more than half of the table."""
SAMPLED_EACH = 2_000
"""And how many for each group, as far as the table goes."""
SLACK = 4.0
"""How many standard deviations of the sample a bracket is wider than the ranks wanted, at first."""
DEFAULT_WIDTH = 2_048
_LIMB = 1 << 26


@dataclass
class Segment:
    """A run of ranks: sorted values with multiplicities; ``offset`` records lie before it."""

    offset: int
    values: NDArray[np.int64]
    ends: NDArray[np.int64]
    """How many records up to each value, from the start of the segment."""

    @property
    def last(self) -> int:
        """The highest rank it holds."""
        return self.offset + (int(self.ends[-1]) if len(self.ends) else 0)

    def holds(self, first: int, last: int) -> bool:
        """Whether all these ranks are in it."""
        return self.offset < first and last <= self.last

    def at(self, first: int, last: int) -> NDArray[np.int64]:
        """The values at ranks first..last."""
        places = np.searchsorted(self.ends, np.arange(first, last + 1) - self.offset, side="left")
        return self.values[places]

    def total(self, first: int, last: int) -> int:
        """The exact sum of the values at ranks first..last."""
        upper = np.clip(self.ends, first - 1 - self.offset, last - self.offset)
        copies = np.diff(upper, prepend=first - 1 - self.offset)
        base = int(self.values[0])
        return base * (last - first + 1) + exact_dot(self.values - base, copies)


@dataclass
class _Group:
    records: int
    segments: list[Segment] = field(default_factory=list)


class EngineColumns:
    """Private: one column of a selection, for all of its groups at once."""

    def __init__(self, selection: Selection, name: str | None, grid: Grid, missing: int, expected: int | None) -> None:
        """``expected``: the public number of records of the whole table, verified when it is read."""
        self.selection, self.name, self.grid = selection, name, grid
        dropped = name is not None and selection.schema.column(name).drops_nulls
        self._missing = None if dropped else raw_value(grid, missing)
        self.expected = expected
        self._groups: list[_Group] | None = None
        self._sample: list[NDArray[np.int64]] | None = None
        self._fraction = 1.0
        self._totals: dict[int, tuple[int, int, int]] | None = None
        self._complete: bool | None = None
        self.shares: tuple[float, ...] = ()
        """Around which quantiles ranks will be wanted: a hint."""
        self.width = DEFAULT_WIDTH
        """How many ranks on either side: a hint."""

    def __repr__(self) -> str:
        return "EngineColumns(<private>)"

    def each(self) -> list[EngineColumn]:
        """The column of every group."""
        return [EngineColumn(self, index) for index in range(len(self.selection.groups))]

    # --- counts -----------------------------------------------------------------------------------------

    def records(self, index: int) -> int:
        """How many records a group has."""
        if self._groups is None and self._totals is not None:
            return self.totals(index)[0]
        if self._groups is None and self.shares:
            self._prefetch()  # which counts on its way
        return self._counted()[index].records

    def _counted(self) -> list[_Group]:
        if self._groups is None:
            self._count({})
        assert self._groups is not None  # noqa: S101  (for the type checker)
        return self._groups

    def _from(
        self, brackets: dict[int, tuple[float, float]] | None = None, fraction: float | None = None
    ) -> exp.Select:
        return self.selection.grouped(self.name, self.grid, self._missing, brackets, fraction)

    def _count(self, brackets: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
        """For bracketed groups (all if none is), how many records lie below either end."""
        columns = [counted()]
        bounded = self._raw(brackets) or None
        if bounded is not None:
            columns += [count_if(exp.LT(this=column(VALUE), expression=column(end))) for end in (LOW, HIGH)]
        rows = self.selection.engine.rows(all_groups(self._from(bounded), self.selection, *columns))
        found = {int(row[0]): [int(number) for number in row[1:]] for row in rows}
        if self._groups is None and (bounded is None or len(bounded) == len(self.selection.groups)):
            self._groups = [_Group(found.get(index, [0])[0]) for index in range(len(self.selection.groups))]
            self._verify(self._groups[0].records)
        return {index: tuple(found.get(index, [0, 0, 0])[1:]) for index in brackets}  # type: ignore[misc]

    def _raw(self, brackets: dict[int, tuple[int, int]]) -> dict[int, tuple[float, float]]:
        """Brackets in the column's own units: the doubles that round into them."""
        lows, highs = (thresholds(self.grid, [pair[end] for pair in brackets.values()]) for end in (0, 1))
        return {index: (float(a), float(b)) for index, a, b in zip(brackets, lows, highs, strict=True)}

    # --- ranks ------------------------------------------------------------------------------------------

    def ranks(self, index: int, first: int, last: int) -> NDArray[np.int64]:
        """The order statistics of ranks first..last, all of them between 1 and the number of records."""
        if self._complete is None:
            self._prefetch()
        group = self._counted()[index]
        for segment in group.segments:
            if segment.holds(first, last):
                return segment.at(first, last)
        reach = 4 * (last - first + 1)
        self._load({index: (max(first - reach, 1), min(last + reach, group.records))})
        return self.ranks(index, first, last)

    def _prefetch(self) -> None:
        """Everything if that is little, else a window around each hinted quantile of every group."""
        engine, groups = self.selection.engine, len(self.selection.groups)
        rows = self.expected or engine.estimated_rows()
        few = few_rows()
        self._complete = rows <= few or (few > 0 and self.grid.points * groups <= FEW_POINTS)
        if self._complete:
            self._load_everything()
            return
        wanted = min(max(SAMPLED, SAMPLED_EACH * groups), max(rows // 2, 1))
        self._fraction = min(wanted / max(rows, 1), 1.0)
        self._sample = self._sorted(self._from(fraction=self._fraction))
        for share in self.shares:
            sizes = [len(one) / self._fraction for one in self._sample]
            if self._groups is not None:
                sizes = [float(group.records) for group in self._groups]
            around = (max(share * size, 1.0) for size in sizes)
            self._load({i: (int(at) - self.width, math.ceil(at) + self.width) for i, at in enumerate(around)})

    def _steps(self) -> exp.Expr:
        return self.selection.steps(column(VALUE), self.grid)

    def _sorted(self, query: exp.Select) -> list[NDArray[np.int64]]:
        """The sorted steps of every group.  Group and steps travel as one number where they fit: one column to sort."""
        engine, groups, low = self.selection.engine, len(self.selection.groups), self.grid.ends[0]
        if not self.selection.by:
            return [np.sort(engine.arrays(query.select(exp.alias_(self._steps(), "s")))[0])]
        place, bits = exp.column(GROUP, table="g"), self.grid.points.bit_length()
        if bits + groups.bit_length() > 62:
            indices, values = engine.arrays(query.select(exp.alias_(place, GROUP), exp.alias_(self._steps(), "s")))
            return [np.sort(values[inside]) for inside in by_group(indices, groups)]
        shifted = exp.Sub(this=self._steps(), expression=literal(low))
        high = exp.Mul(this=exp.cast(place, "bigint"), expression=literal(1 << bits))
        packed = np.sort(engine.arrays(query.select(exp.alias_(exp.Add(this=high, expression=shifted), "s")))[0])
        starts = np.searchsorted(packed, np.arange(groups + 1, dtype=np.int64) << bits)
        packed &= (1 << bits) - 1
        packed += low
        return [packed[starts[group] : starts[group + 1]] for group in range(groups)]

    def _load_everything(self) -> None:
        query = all_groups(self._from(), self.selection, exp.alias_(self._steps(), "s"), exp.alias_(counted(), "c"))
        indices, values, counts = self.selection.engine.arrays(query.group_by(self._steps()))
        self._groups = []
        for inside in by_group(indices, len(self.selection.groups)):
            order = np.argsort(values[inside], kind="stable")
            ends = np.cumsum(counts[inside][order])
            segment = Segment(0, values[inside][order], ends)
            self._groups.append(_Group(segment.last, [segment]))
        self._verify(self._groups[0].records)

    def _load(self, wanted: dict[int, tuple[int, int]]) -> None:
        """Fetch segments that hold the wanted ranks (cut to what there is) of these groups."""
        brackets: dict[int, tuple[int, int]] = {}
        below: dict[int, tuple[int, int]] = {}
        short, slack = dict(wanted), SLACK
        low, high = self.grid.ends
        whole = (low, high + 1)
        while short:
            tried = {index: self._bracket(index, ranks, slack) for index, ranks in short.items()}
            found = self._count(tried)
            groups = self._counted()
            for index, (first, last) in list(short.items()):
                if found[index][0] < max(first, 1) and found[index][1] >= min(last, groups[index].records):
                    brackets[index], below[index] = tried[index], found[index]
                    del short[index]
                elif tried[index] == whole:
                    raise SourceFailed("the source changed while it was being read; what was charged stays charged")
            slack *= 6
        self._fetch(brackets, below)

    def _bracket(self, index: int, ranks: tuple[int, int], slack: float) -> tuple[int, int]:
        """Grid points [a, b) that probably hold these ranks, from the sample."""
        low, high = self.grid.ends
        sample = self._sample[index] if self._sample is not None else np.zeros(0, dtype=np.int64)
        size = len(sample)
        if size < 50:
            return low, high + 1
        total = self._groups[index].records if self._groups is not None else size / self._fraction
        spots = []
        for rank, side in ((ranks[0], -1.0), (ranks[1], 1.0)):
            share = min(max(rank / max(total, 1.0), 0.0), 1.0)
            spots.append(share * size + side * (slack * math.sqrt(size * share * (1.0 - share)) + slack))
        first, last = math.floor(spots[0]), math.ceil(spots[1])
        return (low if first < 0 else int(sample[first])), (high + 1 if last >= size else int(sample[last]) + 1)

    def _fetch(self, brackets: dict[int, tuple[int, int]], below: dict[int, tuple[int, int]]) -> None:
        ends = self._raw(brackets)
        inside = exp.and_(
            exp.GTE(this=column(VALUE), expression=column(LOW)), exp.LT(this=column(VALUE), expression=column(HIGH))
        )
        each = self._sorted(self._from(ends).where(inside))
        groups = self._counted()
        for index in brackets:
            found, counts = _counted_runs(each[index])
            if len(each[index]) != below[index][1] - below[index][0]:
                raise SourceFailed("the source changed while it was being read; what was charged stays charged")
            groups[index].segments.append(Segment(below[index][0], found, np.cumsum(counts)))

    # --- totals and bins --------------------------------------------------------------------------------

    def totals(self, index: int) -> tuple[int, int, int]:
        """The number of records, and the sums of their steps and squared steps above the grid's lower end: exact."""
        if self._totals is None:
            self._totals = {int(row[0]): _moments(*row[1:]) for row in self.selection.engine.rows(self._limb_sums())}
            if self._totals:
                self._verify(self._totals[0][0] if not self.selection.by else None)
        return self._totals.get(index, (0, 0, 0))

    def _limb_sums(self) -> exp.Select:
        """Exact sums of steps and squares: limbs of 26 bits have products of 54, and 2**40 of those fit 128 bits."""
        shifted = exp.Paren(this=exp.Sub(this=self._steps(), expression=literal(self.grid.ends[0])))
        share = exp.Div(this=exp.cast(shifted, "double"), expression=double_literal(float(_LIMB)), typed=True)
        group = exp.column("i", table="g") if self.selection.by else literal(0)
        inner = self._from().select(
            exp.alias_(exp.cast(exp.Floor(this=share), "bigint"), "high"),
            exp.alias_(shifted.copy(), "s"),
            exp.alias_(group, "i"),
        )
        rest = exp.Sub(this=column("s"), expression=exp.Mul(this=column("high"), expression=literal(_LIMB)))
        limbs = exp.select("i", "high", exp.alias_(exp.Paren(this=rest), "low")).from_(inner.subquery("limbs"))
        names = (("high",), ("low",), ("high", "high"), ("high", "low"), ("low", "low"))
        sums = [_exact_sum(*one) for one in names]
        return exp.select("i", counted(), *sums).from_(limbs.subquery("parts")).group_by("i")

    def _verify(self, records: int | None) -> None:
        """The public number of rows must be what the source has."""
        if self.expected is not None and records is not None and records != self.expected:
            raise SourceFailed(
                f"the source does not have the {self.expected} rows that its schema declares: correct rows in the "
                "schema, or make it private; what was charged stays charged"
            )

    def between(self, index: int, first: int, last: int) -> int:
        """The exact sum of the steps at ranks first..last."""
        if last < first:
            return 0
        low, high = int(self.ranks(index, first, first)[0]), int(self.ranks(index, last, last)[0])
        for segment in self._counted()[index].segments:
            if segment.holds(first, last):
                return segment.total(first, last)
        if low == high:
            return low * (last - first + 1)
        # What lies strictly between the two values is summed by the engine; ties with them are counted.
        above_low, from_high = (double_literal(float(end)) for end in thresholds(self.grid, [low + 1, high]))
        up_to_low = exp.LT(this=column(VALUE), expression=above_low)
        below_high = exp.LT(this=column(VALUE), expression=from_high)
        inside = exp.and_(exp.Not(this=up_to_low.copy()), below_high.copy())
        total = exp.Sum(this=exp.cast(exp.case().when(inside, self._steps()).else_(literal(0)), "decimal(38, 0)"))
        query = all_groups(self._from(), self.selection, total, count_if(up_to_low), count_if(below_high))
        numbers = next((row for row in self.selection.engine.rows(query) if int(row[0]) == index), (index, 0, 0, 0))
        inner, lows, under = (int(number or 0) for number in numbers[1:])
        if not first <= lows <= under < last:
            raise SourceFailed("the source changed while it was being read; what was charged stays charged")
        return inner + low * (lows - first + 1) + high * (last - under)


class EngineColumn:
    """Private: the records of one group of a column, as whole numbers of grid steps; a ``Column`` that stays away."""

    __slots__ = ("_all", "_index")

    def __init__(self, columns: EngineColumns, index: int) -> None:
        self._all, self._index = columns, index

    def __repr__(self) -> str:
        return "EngineColumn(<private>)"

    @property
    def grid(self) -> Grid:
        """The public grid."""
        return self._all.grid

    @property
    def records(self) -> int:
        """The number of records: private behind a filter."""
        return self._all.records(self._index)

    def ranks(self, first: int, last: int) -> NDArray[np.int64]:
        """The order statistics of ranks first..last (from 1); the bounds stand in below 1 and above n."""
        low, high = self.grid.ends
        records = self.records
        before, after = max(0, min(last, 0) - first + 1), max(0, last - max(records, first - 1))
        inside = np.zeros(0, dtype=np.int64)
        if max(first, 1) <= min(last, records):
            inside = self._all.ranks(self._index, max(first, 1), min(last, records))
        return np.concatenate([np.full(before, low), inside, np.full(after, high)]).astype(np.int64)

    def total(self, first: int | None = None, last: int | None = None) -> int:
        """The exact sum of all records, or of those at ranks first..last."""
        if first is not None and last is not None:
            return self._all.between(self._index, first, last)
        if self._all.name is None:
            return self.records  # every record counts 1
        number, shifted, _ = self._all.totals(self._index)
        return shifted + number * self.grid.ends[0]

    def moments(self) -> tuple[int, int]:
        """The exact sums of the records, and of their squares, above the lower end of the grid."""
        return self._all.totals(self._index)[1:]

    @property
    def values(self) -> NDArray[np.int64]:
        """All records, sorted; for small tables only."""
        return self.ranks(1, self.records)


def by_group(indices: NDArray[np.int64], groups: int) -> list[NDArray[np.int64] | slice]:
    """Where the records of each group are."""
    if groups == 1:
        return [slice(None)]
    order = np.argsort(indices.astype(np.int32 if groups > 30_000 else np.int16), kind="stable")
    ends = np.searchsorted(indices[order], np.arange(groups + 1))
    return [order[ends[group] : ends[group + 1]] for group in range(groups)]


def _counted_runs(ordered: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different values of a sorted array, and how often each occurs."""
    if not len(ordered):
        return ordered, ordered
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[starts], np.diff(np.append(starts, len(ordered)))


def _moments(number: int, *sums: int | None) -> tuple[int, int, int]:
    """The number of records, their sum and the sum of their squares, from sums of limbs."""
    high, low, both_high, mixed, both_low = (int(one or 0) for one in sums)
    return int(number), high * _LIMB + low, (both_high * _LIMB + 2 * mixed) * _LIMB + both_low


def _exact_sum(*names: str) -> exp.Expr:
    factors: list[exp.Expr] = [exp.cast(column(name), "bigint") for name in names]
    product = functools.reduce(lambda one, two: exp.Mul(this=one, expression=two), factors)
    return exp.Sum(this=exp.cast(product, "decimal(38, 0)"))


def _bin_of(value: exp.Expr, inner: list[float], first: int) -> exp.Expr:
    """The index of the bin of a number, by a tree of comparisons: the engine's work grows with its depth."""
    if not inner:
        return literal(first)
    middle = len(inner) // 2
    left = exp.LT(this=value.copy(), expression=double_literal(inner[middle]))
    return (
        exp.case()
        .when(left, _bin_of(value, inner[:middle], first))
        .else_(_bin_of(value, inner[middle + 1 :], first + middle + 1))
    )


def few_rows() -> int:
    """Up to how many rows a table is fetched whole: ``FEW_ROWS``, or what the environment says."""
    given = os.environ.get(FEW_ROWS_SETTING, "").strip()
    if not given:
        return FEW_ROWS
    if not given.isdecimal():
        raise InvalidArgument(FEW_ROWS_SETTING, given, "write a whole number of rows, or remove the variable")
    return int(given)


def counts_by_key(selection: Selection, name: str | None, grid: Grid | None, missing: int | None) -> dict[Key, int]:
    """How many records each key that occurs has: private.  Records without a key are in no group."""
    keys = [column(f"k{place}") for place in range(len(selection.by))]
    known = exp.and_(*(exp.Not(this=exp.Is(this=key.copy(), expression=exp.Null())) for key in keys))
    known_as = None if grid is None or missing is None else raw_value(grid, missing)
    source = selection.records(name, grid, known_as).subquery("t")
    query = exp.select(*keys, counted()).from_(source).where(known).group_by(*(key.copy() for key in keys))
    return {tuple(_plain_key(part) for part in row[:-1]): int(row[-1]) for row in selection.engine.rows(query)}


def _plain_key(part: str | int) -> str | int:
    return part if isinstance(part, str) else int(part)


@dataclass(frozen=True)
class BinnedRecords:
    """Private: how many records of one group fall into each bin."""

    counts: tuple[int, ...]

    def __repr__(self) -> str:
        return "BinnedRecords(<private>)"

    def bin_counts(self, bins: int) -> list[int]:
        """The counts of bins 0, 1, ..., bins - 1."""
        if len(self.counts) != bins:
            raise RuntimeError("the records were cut into other bins than the mechanism was built for")
        return list(self.counts)


def binned_numbers(selection: Selection, name: str, edges: tuple[float, ...], missing: float) -> list[BinnedRecords]:
    """Records between consecutive edges, for every group; those outside are in the first and the last bin."""
    return _binned(selection, name, _bin_of(column(VALUE), list(edges[1:-1]), 0), len(edges) - 1, missing=missing)


def binned_categories(selection: Selection, name: str, categories: tuple[str, ...]) -> list[BinnedRecords]:
    """Records of each category, anything else in a last bin, for every group."""
    listed = selection.engine.values(enumerate(categories), "c", ["place", "name"])
    same = exp.EQ(this=exp.column(VALUE, table="t"), expression=exp.column("name", table="c"))
    place = exp.Coalesce(this=exp.column("place", table="c"), expressions=[literal(len(categories))])
    return _binned(selection, name, place, len(categories) + 1, joined=(listed, same))


def binned_states(selection: Selection, name: str) -> list[BinnedRecords]:
    """Records in each state of ``sources.states``, for every group; the selection reads states."""
    return _binned(selection, name, exp.cast(column(VALUE), "bigint"), len(STATES))


def _binned(
    selection: Selection,
    name: str,
    place: exp.Expr,
    bins: int,
    *,
    missing: float | None = None,
    joined: tuple[exp.Expr, exp.Expr] | None = None,
) -> list[BinnedRecords]:
    source = selection.grouped(name, None, missing)
    if joined is not None:
        source = source.join(joined[0], on=joined[1], join_type="left")
    group = exp.column(GROUP, table="g") if selection.by else literal(0)
    # Grouped by names: engines take a number behind GROUP BY for a place in the list.
    placed = source.select(exp.alias_(group, GROUP), exp.alias_(place, "s")).subquery("placed")
    keys = [exp.column(GROUP), exp.column("s")]
    query = exp.select(*keys, counted()).from_(placed).group_by(*(key.copy() for key in keys))
    counts = [[0] * bins for _ in selection.groups]
    for group, bin_index, number in selection.engine.rows(query):
        counts[int(group)][int(bin_index)] += int(number)
    return [BinnedRecords(tuple(each)) for each in counts]
