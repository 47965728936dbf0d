"""Columns that stay in their engine: totals, bins, and windows of ranks around quantiles, fetched when asked for.

Every record is a finite number before anything else is asked of it, missing ones being their public value (see
``Selection.value``), so no count, sum or comparison below has a case of its own for them.

Ranks are found by bracketing: a sample suggests two values around each run of ranks wanted, one pass counts what lies
below them all (and sums it, where sums between ranks are wanted), one fetches what lies between.  The counts verify the
brackets, and one is widened where it was too narrow; so the sample decides how long reading takes and nothing else.
Small tables are fetched whole; the environment variable ``DITHER_FEW_ROWS`` says how small (0: brackets always).
"""

from __future__ import annotations

import functools
import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, cast

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
    VALUE,
    Key,
    Selection,
    all_groups,
    count_if,
    counted,
    end_name,
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
_LIMB_BITS = 26

Bracket: TypeAlias = tuple[int, int]
"""Grid points from the first to before the second."""
Wanted: TypeAlias = Callable[[float], tuple[int, int]]
"""The first and the last rank wanted, by how many records there are."""


class BelowBracket(NamedTuple):
    """How many records lie below either end of a bracket, and the sum of those below the first; None: not asked."""

    first: int
    second: int
    total: int | None


@dataclass
class Segment:
    """A run of ranks: sorted values with multiplicities; ``offset`` records lie before it."""

    offset: int
    values: NDArray[np.int64]
    ends: NDArray[np.int64]
    """How many records up to each value, from the start of the segment."""
    before: int | None = None
    """The exact sum of the records before it; None where nobody asked."""

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

    def up_to(self, rank: int) -> int:
        """The exact sum of the values at ranks 1..rank, of which the last is in it or just before it."""
        assert self.before is not None  # noqa: S101  (for the type checker)
        return self.before + (self.total(self.offset + 1, rank) if rank > self.offset else 0)


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
        self._sums: dict[int, tuple[int, int]] | None = None
        self._squares: dict[int, tuple[int, int, int]] | None = None
        self._complete: bool | None = None
        self.shares: tuple[float, ...] = ()
        """Around which quantiles ranks will be wanted: a hint."""
        self.width = DEFAULT_WIDTH
        """How many ranks on either side: a hint."""
        self.summed = False
        """Whether sums between ranks will be wanted: a hint."""

    def __repr__(self) -> str:
        return "EngineColumns(<private>)"

    def each(self) -> list[EngineColumn]:
        """The column of every group."""
        return [EngineColumn(self, index) for index in range(len(self.selection.groups))]

    # --- counts -----------------------------------------------------------------------------------------

    def records(self, index: int) -> int:
        """How many records a group has."""
        for known in (self._sums, self._squares):
            if self._groups is None and known is not None:
                return known.get(index, (0,))[0]
        if self._groups is None and self.shares:
            self._prefetch()  # which counts on its way
        return self._counted()[index].records

    def _counted(self) -> list[_Group]:
        if self._groups is None:
            self._count({})
        assert self._groups is not None  # noqa: S101  (for the type checker)
        return self._groups

    def _from(self, brackets: dict[int, tuple[float, ...]] | None = None, fraction: float | None = None) -> exp.Select:
        return self.selection.grouped(self.name, self.grid, self._missing, brackets, fraction)

    def _count(self, brackets: Mapping[int, Sequence[Bracket]]) -> dict[int, list[BelowBracket]]:
        """Of these groups (all if none is named), what lies below the ends of each of their brackets."""
        columns = [counted()]
        ends = self._ends(brackets)
        most = max((len(each) for each in ends.values()), default=0)
        under = [exp.LT(this=column(VALUE), expression=column(end_name(place))) for place in range(most)]
        columns += [count_if(one) for one in under]
        if self.summed:
            columns += [
                self.selection.engine.exact_sum(exp.case().when(one.copy(), self._shifted()).else_(literal(0)))
                for one in under[::2]
            ]
        rows = self.selection.engine.rows(all_groups(self._from(ends or None), self.selection, *columns))
        found = {int(row[0]): [int(number or 0) for number in row[1:]] for row in rows}
        none = [0] * len(columns)
        if self._groups is None and (not brackets or len(brackets) == len(self.selection.groups)):
            self._groups = [_Group(found.get(index, none)[0]) for index in range(len(self.selection.groups))]
            self._verify(self._groups[0].records)
        return {
            index: [self._below(found.get(index, none)[1:], place, most) for place in range(len(each))]
            for index, each in brackets.items()
        }

    def _below(self, numbers: list[int], place: int, ends: int) -> BelowBracket:
        first, second = numbers[2 * place : 2 * place + 2]
        total = numbers[ends + place] + first * self.grid.ends[0] if self.summed else None
        return BelowBracket(first, second, total)

    def _ends(self, brackets: Mapping[int, Sequence[Bracket]]) -> dict[int, tuple[float, ...]]:
        """The ends of brackets in the column's own units: the doubles that round into them.

        Every group has as many; those of a group with fewer brackets are filled up with empty ones.
        """
        most = max((len(each) for each in brackets.values()), default=0)
        empty = (self.grid.ends[0], self.grid.ends[0])
        listed = {index: [*each, *[empty] * (most - len(each))] for index, each in brackets.items()}
        flat = thresholds(self.grid, [end for each in listed.values() for bracket in each for end in bracket])
        places = flat.reshape(len(listed), 2 * most) if listed else flat
        return {index: tuple(float(end) for end in each) for index, each in zip(listed, places, strict=True)}

    # --- ranks ------------------------------------------------------------------------------------------

    def ranks(self, index: int, first: int, last: int) -> NDArray[np.int64]:
        """The order statistics of ranks first..last, all of them between 1 and the number of records."""
        return self._holding(index, first, last).at(first, last)

    def _holding(self, index: int, first: int, last: int) -> Segment:
        """A segment with these ranks, and with the sum of what lies before it where sums are wanted."""
        if self._complete is None:
            self._prefetch()
        group = self._counted()[index]
        for segment in group.segments:
            if segment.holds(first, last) and not (self.summed and segment.before is None):
                return segment
        reach = 4 * (last - first + 1)
        self._load({index: [lambda _: (max(first - reach, 1), min(last + reach, group.records))]})
        return self._holding(index, first, last)

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
        if self.shares:
            around: list[Wanted] = [functools.partial(_around, share, self.width) for share in self.shares]
            self._load(dict.fromkeys(range(groups), around))

    def _steps(self) -> exp.Expr:
        return self.selection.steps(column(VALUE), self.grid)

    def _shifted(self) -> exp.Expr:
        """The steps above the grid's lower end."""
        low = self.grid.ends[0]
        return self._steps() if low == 0 else exp.Paren(this=exp.Sub(this=self._steps(), expression=literal(low)))

    def _sorted(self, query: exp.Select) -> list[NDArray[np.int64]]:
        """The sorted steps of every group.  Group and steps travel as one number where they fit: one column to sort."""
        engine, groups = self.selection.engine, len(self.selection.groups)
        if not self.selection.by:
            return [np.sort(engine.arrays(query.select(exp.alias_(self._steps(), "s")))[0])]
        place, bits = exp.column(GROUP, table="g"), self.grid.points.bit_length()
        if bits + groups.bit_length() > 62:
            indices, values = engine.arrays(query.select(exp.alias_(place, GROUP), exp.alias_(self._steps(), "s")))
            return [np.sort(values[inside]) for inside in by_group(indices, groups)]
        high = exp.Mul(this=exp.cast(place, "bigint"), expression=literal(1 << bits))
        packed = np.sort(
            engine.arrays(query.select(exp.alias_(exp.Add(this=high, expression=self._shifted()), "s")))[0]
        )
        starts = np.searchsorted(packed, np.arange(groups + 1, dtype=np.int64) << bits)
        packed &= (1 << bits) - 1
        packed += self.grid.ends[0]
        return [packed[starts[group] : starts[group + 1]] for group in range(groups)]

    def _load_everything(self) -> None:
        query = all_groups(self._from(), self.selection, exp.alias_(self._steps(), "s"), exp.alias_(counted(), "c"))
        indices, values, counts = self.selection.engine.arrays(query.group_by(self._steps()))
        self._groups = []
        for inside in by_group(indices, len(self.selection.groups)):
            order = np.argsort(values[inside], kind="stable")
            ends = np.cumsum(counts[inside][order])
            segment = Segment(0, values[inside][order], ends, 0)
            self._groups.append(_Group(segment.last, [segment]))
        self._verify(self._groups[0].records)

    def _load(self, wanted: dict[int, list[Wanted]]) -> None:
        """Fetch segments that hold the wanted ranks (cut to what there is) of these groups."""
        brackets: dict[int, list[tuple[Bracket, BelowBracket]]] = {index: [] for index in wanted}
        short, slack = dict(wanted), SLACK
        low, high = self.grid.ends
        while short:
            tried = {index: [self._bracket(index, ranks, slack) for ranks in each] for index, each in short.items()}
            found = self._count(tried)
            groups = self._counted()
            for index, each in list(short.items()):
                left = []
                for ranks, bracket, below in zip(each, tried[index], found[index], strict=True):
                    first, last = ranks(groups[index].records)
                    if below.first < max(first, 1) and below.second >= min(last, groups[index].records):
                        brackets[index].append((bracket, below))
                    elif bracket == (low, high + 1):
                        raise SourceFailed("the source changed while it was being read; what was charged stays charged")
                    else:
                        left.append(ranks)
                short[index] = left
                if not left:
                    del short[index]
            slack *= 6
        self._fetch(brackets)

    def _bracket(self, index: int, ranks: Wanted, slack: float) -> Bracket:
        """Grid points [a, b) that probably hold these ranks, from the sample."""
        low, high = self.grid.ends
        sample = self._sample[index] if self._sample is not None else np.zeros(0, dtype=np.int64)
        size = len(sample)
        if size < 50:
            return low, high + 1
        total = max(self._groups[index].records if self._groups is not None else size / self._fraction, 1.0)
        spots = []
        for rank, side in zip(ranks(total), (-1.0, 1.0), strict=True):
            share = min(max(rank / total, 0.0), 1.0)
            spots.append(share * size + side * (slack * math.sqrt(size * share * (1.0 - share)) + slack))
        first, last = math.floor(spots[0]), math.ceil(spots[1])
        return (low if first < 0 else int(sample[first])), (high + 1 if last >= size else int(sample[last]) + 1)

    def _fetch(self, brackets: dict[int, list[tuple[Bracket, BelowBracket]]]) -> None:
        ends = self._ends({index: [bracket for bracket, _ in each] for index, each in brackets.items()})
        inside = [
            exp.and_(
                exp.GTE(this=column(VALUE), expression=column(end_name(place))),
                exp.LT(this=column(VALUE), expression=column(end_name(place + 1))),
            )
            for place in range(0, max(len(each) for each in ends.values()), 2)
        ]
        fetched = self._sorted(self._from(ends).where(exp.or_(*inside)))
        groups = self._counted()
        for index, each in brackets.items():
            for bracket, below in each:
                start, stop = np.searchsorted(fetched[index], bracket)
                if stop - start != below.second - below.first:
                    raise SourceFailed("the source changed while it was being read; what was charged stays charged")
                found, counts = _counted_runs(fetched[index][start:stop])
                groups[index].segments.append(Segment(below.first, found, np.cumsum(counts), below.total))

    # --- totals and bins --------------------------------------------------------------------------------

    def sums(self, index: int) -> tuple[int, int]:
        """The number of records, and the sum of their steps above the grid's lower end: exact."""
        if self._squares is not None:
            return self._squares.get(index, (0, 0, 0))[:2]
        if self._sums is None:
            total = self.selection.engine.exact_sum(self._shifted())
            rows = self.selection.engine.rows(all_groups(self._from(), self.selection, counted(), total))
            self._sums = {int(row[0]): (int(row[1]), int(row[2] or 0)) for row in rows}
            self._verify_ungrouped(self._sums)
        return self._sums.get(index, (0, 0))

    def squares(self, index: int) -> tuple[int, int, int]:
        """The same, and the sum of their squares."""
        if self._squares is None:
            rows = self.selection.engine.rows(self._limb_sums())
            self._squares = {int(row[0]): _moments(*row[1:]) for row in rows}
            self._verify_ungrouped(self._squares)
        return self._squares.get(index, (0, 0, 0))

    def _verify_ungrouped(self, known: Mapping[int, tuple[int, ...]]) -> None:
        if known and not self.selection.by:
            self._verify(known[0][0])

    def _limb_sums(self) -> exp.Select:
        """Exact sums of steps and squares: limbs of 26 bits have products of 54, and 2**40 of those fit 128 bits."""
        engine = self.selection.engine
        group = exp.column("i", table="g") if self.selection.by else literal(0)
        inner = self._from().select(exp.alias_(self._shifted(), "s"), exp.alias_(group, "i"))
        limbs = exp.select(
            "i", exp.alias_(exp.BitwiseRightShift(this=column("s"), expression=literal(_LIMB_BITS)), "high")
        )
        limbs = limbs.select(
            exp.alias_(exp.BitwiseAnd(this=column("s"), expression=literal((1 << _LIMB_BITS) - 1)), "low")
        ).from_(inner.subquery("shifted"))
        names = (("high",), ("low",), ("high", "high"), ("high", "low"), ("low", "low"))
        sums = [engine.exact_sum(_product(*one)) for one in names]
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
        self.summed = True
        low, high = self._holding(index, first, first), self._holding(index, last, last)
        if low.holds(first, last):
            return low.total(first, last)
        return high.up_to(last) - low.up_to(first - 1)


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
        number, shifted = self._all.sums(self._index)
        return shifted + number * self.grid.ends[0]

    def moments(self) -> tuple[int, int]:
        """The exact sums of the records, and of their squares, above the lower end of the grid."""
        return self._all.squares(self._index)[1:]

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
    limb = 1 << _LIMB_BITS
    return int(number), high * limb + low, (both_high * limb + 2 * mixed) * limb + both_low


def _product(*names: str) -> exp.Expr:
    factors: list[exp.Expr] = [column(name) for name in names]
    return functools.reduce(lambda one, two: exp.Mul(this=one, expression=two), factors)


def _around(share: float, width: int, records: float) -> tuple[int, int]:
    """The ranks on either side of a quantile."""
    at = max(share * records, 1.0)
    return int(at) - width, math.ceil(at) + width


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
    found: Counter[Key] = Counter()
    for *parts, number in selection.engine.rows(query):
        key = tuple(map(_plain_key, parts))
        if None not in key:
            found[cast("Key", key)] += int(number)
    return dict(found)


def _plain_key(part: str | float) -> str | int | None:
    """A text, or a whole number; None for any other number, which is no key: rounded it would be that of others."""
    return part if isinstance(part, str) else int(part) if part == int(part) else None


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
