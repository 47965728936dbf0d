"""Columns that stay in their engine: totals, bins, and windows of ranks around quantiles, fetched when asked for.

Every record is a finite number before anything else is asked of it, missing ones being their public value (see
``Selection.value``), so no count, sum or comparison below has a case of its own for them.

Ranks are found by bracketing: a sample suggests two values around each run of ranks wanted, and one pass counts the
records in each gap between brackets and of each value within them (and sums them, where sums are wanted).  The counts
verify the brackets, and one is widened where it was too narrow; so the sample decides how long reading takes and
nothing else.  Small tables are fetched whole; the environment variable ``DITHER_FEW_ROWS`` says how small (0: brackets
always).  The columns of a statement are read together: one sample and one pass for all of them (``SharedReading``).
"""

from __future__ import annotations

import functools
import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from dither.errors import InvalidArgument, SourceFailed
from dither.kernels.ordering import Runs, runs_of
from dither.kernels.sums import exact_dot
from dither.sources.engines.engine import column, double_literal
from dither.sources.grid import Grid
from dither.sources.people import PeopleTotals
from dither.sources.predicates import literal
from dither.sources.scans import LEFT_OUT, LIMB_BITS, PRODUCTS, Coded, Found, Part, cell_of, largest, sampled, scan
from dither.sources.selection import GROUP, VALUE, Key, Selection, counted, raw_value, thresholds
from dither.sources.states import STATES

FEW_ROWS = 250_000
"""Tables up to this size are fetched as values with their multiplicities, without brackets."""
FEW_ROWS_SETTING = "DITHER_FEW_ROWS"
FEW_POINTS = 1 << 18
LEAST_SAMPLED = 20_000
MISSED = 0.02
"""The chance, about, that a bracket of a pass is too narrow at first: the sample decides how wide they are."""
WIDER = 6.0
"""By how much the sample's error is taken for larger where one was."""
DEFAULT_WIDTH = 2_048
MOST_EXTREMES = 1 << 14
"""Up to so many extreme records, of all groups together, are aggregated by the engine in one pass without a sample."""
MOST_LISTED = 1 << 22
"""Up to about so many records within brackets are listed as they are; more, as equal ones, are counted by value."""
FEW_PER_POINT = 8
"""Who asks for counts below so large a part of all grid points gets all records, counted by value."""
_CHANGED = "the source changed while it was being read; what was charged stays charged"

Bracket: TypeAlias = tuple[int, int]
"""Grid points from the first to before the second."""
Wanted: TypeAlias = Callable[[float], tuple[int, int]]
"""The first and the last rank wanted, by how many records there are."""


@dataclass
class Segment:
    """A run of ranks: sorted values with multiplicities; ``offset`` records lie before it."""

    offset: int
    values: NDArray[np.int64]
    ends: NDArray[np.int64]
    """How many records up to each value, from the start of the segment."""
    before: int | None = None
    """The exact sum of the records before it; None where nobody asked."""
    is_cut: bool = False
    """Whether records that are equal to its first or last may be left out of it."""

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

    def runs(self, first: int, last: int) -> Runs:
        """The different values at ranks first..last."""
        start, stop = np.searchsorted(self.ends, [first - self.offset, last - self.offset], side="left")
        below = int(self.ends[start - 1]) if start else 0
        return Runs(
            self.offset + below,
            self.values[start : stop + 1],
            np.diff(self.ends[start : stop + 1], prepend=below),
        )

    def moments(self, low: int) -> tuple[int, int]:
        """The exact sums of all values above a lower end, and of their squares."""
        shifted, counts = self.values - low, np.diff(self.ends, prepend=0)
        limb = 1 << LIMB_BITS
        parts = shifted >> LIMB_BITS, shifted & (limb - 1)
        if counts.max(initial=0) < limb:  # (else there are few values: see FEW_POINTS)
            high, mixed, low_squares = (exact_dot(parts[a] * counts, parts[b]) for a, b in ((0, 0), (0, 1), (1, 1)))
        else:
            high = mixed = 0
            low_squares = sum(int(s) ** 2 * int(c) for s, c in zip(shifted, counts, strict=True))
        return exact_dot(shifted, counts), (high * limb + 2 * mixed) * limb + low_squares

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
    sums: tuple[int, ...] = ()
    """The sum of the steps above the grid's lower end, then that of their squares: as far as anybody asked."""


class SharedReading:
    """Private: the columns that a statement asks for, and how they are read: one sample and one pass for all."""

    def __init__(self) -> None:
        self._columns: list[EngineColumns] = []
        self._people: dict[str | None, PeopleTotals] = {}

    def __repr__(self) -> str:
        return "SharedReading(<private>)"

    def people(self, selection: Selection, name: str | None) -> PeopleTotals:
        """Everybody's totals, of which each question reads its own; without a column's missing values by themselves."""
        dropped = name if selection.drops(name) else None
        return self._people.setdefault(dropped, PeopleTotals(selection, dropped))

    def close(self) -> None:
        """Let go of what an engine keeps."""
        for totals in self._people.values():
            totals.close()

    def add(self, columns: EngineColumns) -> None:
        """Read this column together with the others; all have the same filter and groups, and nobody owns rows."""
        self._columns.append(columns)

    def column(
        self, selection: Selection, name: str | None, grid: Grid, missing: int, expected: int | None
    ) -> EngineColumns:
        """A column that is to be read: of queries that read the same one in the same way, the same."""
        for item in self._columns:
            if not item.is_read and item.reads_as(selection, name, grid, missing):
                return item
        return EngineColumns(selection, name, grid, missing, expected, self)

    def read(self) -> None:
        """All that is known to be wanted of the columns that were not read before."""
        new = [item for item in self._columns if not item.is_read]
        if len(new) == 1 and new[0].read_extremes():
            return
        estimated = functools.cache(new[0].estimated_rows)
        sample = [item for item in new if item.shares and not item.is_read_whole(estimated)]
        if sample:
            fraction = _sampled_share(
                estimated(), len(sample[0].selection.groups), max(len(item.shares) for item in sample)
            )
            for item, steps in zip(sample, sampled([item.steps_part() for item in sample], fraction), strict=True):
                item.sample, item.fraction = steps, fraction
        wishes = [item.first_wish() for item in new]
        for item, wish, result in zip(new, wishes, scan([wish.part for wish in wishes]), strict=True):
            item.take(wish, result)
        for item in sample:
            item.widen()


@dataclass(frozen=True)
class _Wish:
    """A part of a pass, and what its codes mean."""

    part: Part
    brackets: Mapping[int, Sequence[Bracket]] | None
    """Disjoint, in rising order, as many in every group; None: no ranks."""
    powers: int
    """Up to which power steps are summed."""


class EngineColumns:
    """Private: one column of a selection, for all of its groups at once."""

    def __init__(
        self,
        selection: Selection,
        name: str | None,
        grid: Grid,
        missing: int,
        expected: int | None,
        shared: SharedReading | None = None,
    ) -> None:
        """``expected``: the public number of records of the whole table, verified when it is read."""
        self.selection, self.name, self.grid = selection, name, grid
        self._missing = None if selection.drops(name) else raw_value(grid, missing)
        self.expected = expected
        self._groups: list[_Group] | None = None
        self._complete = False
        self.sample: list[NDArray[np.int64]] | None = None
        """Steps above the grid's lower end of some records, group by group."""
        self.fraction = 1.0
        self.shares: tuple[float, ...] = ()
        """Around which quantiles ranks will be wanted: a hint."""
        self._hinted = 0
        self.width = DEFAULT_WIDTH
        """How many ranks on either side: a hint."""
        self.summed = False
        """Whether sums between ranks will be wanted: a hint."""
        self.powers = 0
        """Up to which power the steps of all records will be summed: a hint."""
        self.tied = False
        """Whether values are wanted with all of their records."""
        self._below: dict[int, dict[int, int]] = {}
        """How many records of a group are less than a point, where somebody asked."""
        self._shared = SharedReading() if shared is None else shared
        self._shared.add(self)

    def __repr__(self) -> str:
        return "EngineColumns(<private>)"

    def each(self) -> list[EngineColumn]:
        """The column of every group."""
        return [EngineColumn(self, index) for index in range(len(self.selection.groups))]

    def reads_as(self, selection: Selection, name: str | None, grid: Grid, missing: int) -> bool:
        """Whether these are the same numbers of the same records."""
        asked = (selection.reads, name, grid, None if selection.drops(name) else raw_value(grid, missing))
        return asked == (self.selection.reads, self.name, self.grid, self._missing)

    def hint(self, shares: tuple[float, ...] = (), width: int = 0, powers: int = 0, *, summed: bool = False) -> None:
        """What will be wanted, beside what others want."""
        self.shares = (*self.shares, *(share for share in shares if share not in self.shares))
        self.width = max(self._hinted, width) or DEFAULT_WIDTH
        self._hinted = max(self._hinted, width)
        self.powers, self.summed = max(self.powers, powers), self.summed or summed

    # --- what is read -----------------------------------------------------------------------------------

    @property
    def is_read(self) -> bool:
        """Whether the first pass is over."""
        return self._groups is not None

    def estimated_rows(self) -> int:
        """About how many rows there are."""
        declared = self.expected or self.selection.schema.rows
        return declared if isinstance(declared, int) else self.selection.engine.estimated_rows()

    def is_read_whole(self, estimated: Callable[[], int]) -> bool:
        """Decide, before the first pass, whether all values are fetched; else windows are."""
        few = few_rows()
        whole = few > 0 and self.grid.points * len(self.selection.groups) <= FEW_POINTS
        self._complete = whole or estimated() <= few
        return self._complete

    def steps_part(self) -> Part:
        """The steps of every record."""
        return self._part("steps")

    def first_wish(self) -> _Wish:
        """What the first pass is for, by the hints."""
        powers = max(self.powers, int(self.summed))
        groups = range(len(self.selection.groups))
        if self._complete:
            return _Wish(self.steps_part(), {index: [self._everything] for index in groups}, 0)
        if not self.shares:
            return self._wish(None, powers)
        return self._wish({index: self._brackets(index, self._around(), self._slack) for index in groups}, powers)

    @property
    def _slack(self) -> float:
        """How many standard deviations of the sample brackets are wider than the ranks wanted, at first."""
        ends = 2 * max(len(self.shares), 1) * len(self.selection.groups)
        return NormalDist().inv_cdf(1.0 - MISSED / ends)

    def _around(self) -> list[Wanted]:
        return [functools.partial(_around, share, self.width) for share in self.shares]

    @property
    def _everything(self) -> Bracket:
        low, high = self.grid.ends
        return low, high + 1

    def _part(self, coded: Coded | None, ends: Mapping[int, tuple[float, ...]] | None = None, powers: int = 0) -> Part:
        return Part(self.selection, self.name, self.grid, self._missing, coded, ends or {}, powers)

    def _wish(self, brackets: dict[int, list[Bracket]] | None, powers: int) -> _Wish:
        if brackets is None:
            return _Wish(self._part(None, powers=powers), None, powers)
        most = max(len(each) for each in brackets.values())
        behind = self.grid.ends[1] + 1
        filled = {index: [*each, *[(behind, behind)] * (most - len(each))] for index, each in brackets.items()}
        flat = thresholds(self.grid, [end for each in filled.values() for ends in each for end in ends])
        places = flat.reshape(len(filled), 2 * most)
        ends = {index: tuple(float(end) for end in each) for index, each in zip(filled, places, strict=True)}
        listed = self.sample is not None and self._sampled_within(self.sample, brackets) <= MOST_LISTED * self.fraction
        return _Wish(replace(self._part("brackets", ends, powers), listed=listed), filled, powers)

    def _sampled_within(self, sample: list[NDArray[np.int64]], brackets: Mapping[int, Sequence[Bracket]]) -> int:
        """How many records of the sample are in brackets."""
        low, within = self.grid.ends[0], 0
        for index, each in brackets.items():
            first, last = np.searchsorted(sample[index], np.array(each, dtype=np.int64).T - low)
            within += int((last - first).sum())
        return within

    def _read(self, wish: _Wish) -> None:
        """A pass for this column alone, over the groups that have brackets or over all."""
        self.take(wish, scan([wish.part], None if wish.brackets is None else list(wish.brackets))[0])

    def take(self, wish: _Wish, results: dict[int, Found]) -> None:
        """Keep what a pass has found."""
        if self._groups is None:
            self._groups = [_Group(_records_of(results.get(index))) for index in range(len(self.selection.groups))]
            self._verify(self._groups)
        for index in range(len(self._groups)) if wish.brackets is None else wish.brackets:
            group, here = self._groups[index], results.get(index)
            if _records_of(here) != group.records:
                raise SourceFailed(_CHANGED)
            if wish.powers:
                group.sums = (0,) * wish.powers if here is None else _moments(here, wish.powers)
            if wish.brackets is not None:
                group.segments += self._segments(wish.brackets[index], here, wish.powers)

    def _segments(self, brackets: Sequence[Bracket], result: Found | None, powers: int) -> list[Segment]:
        low = self.grid.ends[0]
        if result is None:
            return [Segment(0, _NONE, _NONE, 0) for _ in brackets]
        segments, offset, total = [], 0, 0
        for place, bracket in enumerate(brackets):
            gap = result.codes == LEFT_OUT - 1 - place
            offset += int(result.counts[gap].sum())
            total += _steps_of(result, powers, gap)
            start, stop = np.searchsorted(result.codes, [max(end - low, 0) for end in bracket])
            codes, counts = result.codes[start:stop], result.counts[start:stop]
            # With one bracket around everything there are no gaps, and nothing lies before it.
            before = total + low * offset if powers or bracket == self._everything else None
            segments.append(Segment(offset, codes + low, np.cumsum(counts), before))
            offset += int(counts.sum())
            total += _steps_of(result, powers, slice(start, stop))
        return segments

    def read_extremes(self) -> bool:
        """Read the least or the largest records alone, where the hints ask for nothing else: one pass, no sample."""
        sides = {share == 1.0 for share in self.shares if share == 1.0 or share * self.estimated_rows() <= 1.0}
        count, groups = self.width + 3, len(self.selection.groups)
        only_ranks = not self.summed and not self.powers and few_rows() > 0
        if len(self.shares) != 1 or len(sides) != 1 or not only_ranks or count * groups > MOST_EXTREMES:
            return False
        is_maximum = sides.pop()
        result = largest(self.steps_part(), count, least=not is_maximum)
        if result is None:
            return False
        low = self.grid.ends[0]
        self._groups = []
        for index in range(groups):
            records, codes = result.get(index, (0, _NONE))
            _, values, counts = runs_of(codes)
            offset = records - len(codes) if is_maximum else 0
            self._groups.append(_Group(records, [Segment(offset, values + low, np.cumsum(counts), is_cut=True)]))
        self._verify(self._groups)
        return True

    def widen(self) -> None:
        """Read the hinted ranks of groups whose brackets turned out too narrow."""
        self._load(dict.fromkeys(range(len(self.selection.groups)), self._around()), WIDER * self._slack)

    def _verify(self, groups: Sequence[_Group]) -> None:
        self.selection.check_rows(sum(group.records for group in groups), self.expected)

    def _known(self) -> list[_Group]:
        if self._groups is None:
            self._shared.read()
        assert self._groups is not None  # noqa: S101  (for the type checker)
        return self._groups

    # --- counts and ranks -------------------------------------------------------------------------------

    def records(self, index: int) -> int:
        """How many records a group has."""
        return self._known()[index].records

    def ranks(self, index: int, first: int, last: int) -> NDArray[np.int64]:
        """The order statistics of ranks first..last, all of them between 1 and the number of records."""
        return self._holding(index, first, last).at(first, last)

    def runs(self, index: int, first: int, last: int) -> Runs:
        """The different values at these ranks, with all of their records."""
        self.tied = True
        return self._holding(index, first, last).runs(first, last)

    def near(self, index: int, ranks: Sequence[int]) -> NDArray[np.int64]:
        """Values that lie near these ranks, from the sample, or at them, where all values are held."""
        records, whole = self._known()[index].records, self._whole(index)
        wanted = np.array(ranks, dtype=np.int64)
        if whole is not None:
            return whole.values[np.searchsorted(whole.ends, wanted, side="left")]
        if self.sample is None:
            self._take_sample()
        sample = _NONE if self.sample is None else self.sample[index]
        places = np.minimum((wanted * (len(sample) / max(records, 1))).astype(np.int64), len(sample) - 1)
        return sample[places] + self.grid.ends[0] if len(sample) else _NONE

    def below(self, index: int, points: Sequence[int]) -> NDArray[np.int64]:
        """How many records are less than each of these grid points: exact, by one pass for those not asked before."""
        low, high = self.grid.ends
        records, whole = self._known()[index].records, self._whole(index)
        if whole is not None:
            until = np.searchsorted(whole.values, np.array(points, dtype=np.int64), side="left")
            return np.concatenate([[0], whole.ends])[until]
        known = self._below.setdefault(index, {})
        unknown = sorted({point for point in points if low < point <= high and point not in known})
        if FEW_PER_POINT * len(unknown) > self.grid.points:
            self._read(_Wish(self.steps_part(), {index: [self._everything]}, 0))
            return self.below(index, points)
        if unknown:
            ends = {index: tuple(float(end) for end in thresholds(self.grid, unknown))}
            result = scan([self._part("cells", ends)], [index])[0].get(index)
            if _records_of(result) != records:
                raise SourceFailed(_CHANGED)
            held = np.zeros(len(unknown) + 1, dtype=np.int64)
            if result is not None:
                held[result.codes] = result.counts
            known.update(zip(unknown, np.cumsum(held).tolist(), strict=False))
        return np.array([0 if point <= low else known.get(point, records) for point in points], dtype=np.int64)

    def _whole(self, index: int) -> Segment | None:
        """All values of a group, if they are few: fetched where they were not yet."""
        group = self._known()[index]
        for segment in group.segments:
            if segment.offset == 0 and segment.last == group.records:
                return segment
        if self.sample is not None or not group.records or not self.is_read_whole(self.estimated_rows):
            return None
        self._read(_Wish(self.steps_part(), {index: [self._everything]}, 0))
        return self._whole(index)

    def _take_sample(self) -> None:
        self.fraction = _sampled_share(self.estimated_rows(), len(self.selection.groups), 1)
        (self.sample,) = sampled([self.steps_part()], self.fraction)

    def _holding(self, index: int, first: int, last: int) -> Segment:
        """A segment with these ranks, and with the sum of what lies before it where sums are wanted."""
        group = self._known()[index]
        held = self._held(index, first, last)
        if held is not None:
            return held
        if self.sample is None and self.is_read_whole(self.estimated_rows):
            self._read(_Wish(self.steps_part(), {index: [self._everything]}, 0))
            return self._holding(index, first, last)
        reach = 4 * (last - first + 1)
        self._load({index: [lambda _: (max(first - reach, 1), min(last + reach, group.records))]}, self._slack)
        return self._holding(index, first, last)

    def _held(self, index: int, first: int, last: int) -> Segment | None:
        for segment in self._known()[index].segments:
            lacks = (self.summed and segment.before is None) or (self.tied and segment.is_cut)
            if segment.holds(first, last) and not lacks:
                return segment
        return None

    def _load(self, wanted: dict[int, list[Wanted]], slack: float) -> None:
        """Fetch segments that hold the wanted ranks (cut to what there is) of these groups, if none does yet."""
        tried: dict[int, list[Bracket]] = {}
        while short := {index: left for index, each in wanted.items() if (left := self._missed(index, each))}:
            if any(tried.get(index) == [self._everything] for index in short):
                raise SourceFailed(_CHANGED)
            if self.sample is None:
                self._take_sample()
            tried = {index: self._brackets(index, each, slack) for index, each in short.items()}
            self._read(self._wish(tried, max(self.powers, int(self.summed))))
            slack *= WIDER

    def _missed(self, index: int, each: Sequence[Wanted]) -> list[Wanted]:
        """Those of the wanted ranks that no segment holds."""
        records = self._known()[index].records
        cut = [(ranks, max(first, 1), min(last, records)) for ranks in each for first, last in [ranks(records)]]
        return [ranks for ranks, first, last in cut if first <= last and self._held(index, first, last) is None]

    def _brackets(self, index: int, each: Sequence[Wanted], slack: float) -> list[Bracket]:
        """Disjoint brackets that probably hold these ranks, in rising order."""
        merged: list[Bracket] = []
        for low, high in sorted(self._bracket(index, ranks, slack) for ranks in each):
            if merged and low <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
            else:
                merged.append((low, high))
        return merged

    def _bracket(self, index: int, ranks: Wanted, slack: float) -> Bracket:
        """Grid points [a, b) that probably hold these ranks, from the sample."""
        low, high = self.grid.ends
        sample = self.sample[index] if self.sample is not None else _NONE
        size = len(sample)
        if size < 50:
            return self._everything
        total = max(self._groups[index].records if self._groups is not None else size / self.fraction, 1.0)
        spots = []
        for rank, side in zip(ranks(total), (-1.0, 1.0), strict=True):
            share = min(max(rank / total, 0.0), 1.0)
            spots.append(share * size + side * (slack * math.sqrt(size * share * (1.0 - share)) + slack))
        first, last = math.floor(spots[0]), math.ceil(spots[1])
        return (
            low if first < 0 else low + int(sample[first]),
            high + 1 if last >= size else low + int(sample[last]) + 1,
        )

    # --- totals -----------------------------------------------------------------------------------------

    def sums(self, index: int) -> tuple[int, int]:
        """The number of records, and the sum of their steps above the grid's lower end: exact."""
        group = self._summed(index, 1)
        return group.records, group.sums[0]

    def squares(self, index: int) -> tuple[int, int, int]:
        """The same, and the sum of their squares."""
        group = self._summed(index, 2)
        return group.records, group.sums[0], group.sums[1]

    def _summed(self, index: int, powers: int) -> _Group:
        if self._groups is None:
            self.powers = max(self.powers, powers)
        group = self._known()[index]
        if len(group.sums) < powers:
            whole = next(
                (segment for segment in group.segments if segment.offset == 0 and segment.last == group.records), None
            )
            if whole is None:
                self._read(self._wish(None, powers))
            else:
                group.sums = whole.moments(self.grid.ends[0])
        return group

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

    def runs(self, first: int, last: int) -> Runs:
        """The different values at ranks first..last (from 1 to the number of records), with all of their records."""
        return self._all.runs(self._index, first, last)

    def near(self, ranks: Sequence[int]) -> NDArray[np.int64]:
        """Values that lie near these ranks (from 1 to the number of records): they may suggest, and decide nothing."""
        return self._all.near(self._index, ranks)

    def below(self, points: Sequence[int]) -> NDArray[np.int64]:
        """How many records are less than each of these grid points: exact."""
        return self._all.below(self._index, points)

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


_NONE = np.zeros(0, dtype=np.int64)


def _records_of(result: Found | None) -> int:
    return 0 if result is None else int(result.counts.sum())


def _steps_of(result: Found, powers: int, chosen: slice | NDArray[np.bool_]) -> int:
    """The sum of the steps of some records: of their limbs where squares are summed too, 0 where nothing is."""
    if powers < 2:
        return result.total(0, chosen) if powers else 0
    return (result.total(0, chosen) << LIMB_BITS) + result.total(1, chosen)


def _moments(result: Found, powers: int) -> tuple[int, ...]:
    """The sum of the steps of all records, and that of their squares where it is wanted."""
    if powers == 1:
        return (result.total(0),)
    high, low, both_high, mixed, both_low = (result.total(place) for place in range(len(PRODUCTS)))
    limb = 1 << LIMB_BITS
    return high * limb + low, (both_high * limb + 2 * mixed) * limb + both_low


def _around(share: float, width: int, records: float) -> tuple[int, int]:
    """The ranks on either side of a quantile."""
    at = max(share * records, 1.0)
    return int(at) - width, math.ceil(at) + width


def _sampled_share(rows: int, groups: int, brackets: int) -> float:
    """Which share of the records suggests brackets; at most half.

    With s of n records of a group sampled a bracket holds some 4 n / sqrt(s) of them, and a record within one costs
    about as much as one in the sample: so (2 n)^(2/3) of them cost least.
    """
    each = math.pow(2.0 * brackets * rows / groups, 2.0 / 3.0)
    wanted = min(max(groups * each, LEAST_SAMPLED), max(rows // 2, 1))
    return min(wanted / max(rows, 1), 1.0)


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
    result: Counter[Key] = Counter()
    for *parts, number in selection.engine.rows(query):
        key = tuple(map(_plain_key, parts))
        if None not in key:
            result[cast("Key", key)] += int(number)
    return dict(result)


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
    place = cell_of(column(VALUE), [double_literal(edge) for edge in edges[1:-1]], 0)
    return _binned(selection, name, place, len(edges) - 1, missing=missing)


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
    source = selection.grouped(name, missing)
    if joined is not None:
        source = source.join(joined[0], on=joined[1], join_type="left")
    group = exp.column(GROUP, table="g") if selection.by else literal(0)
    # Grouped by names: engines take a number behind GROUP BY for a place in the list.
    placed = source.select(exp.alias_(group, GROUP), exp.alias_(place, "s")).subquery("placed")
    keys = [exp.column(GROUP), exp.column("s")]
    query = exp.select(*keys, counted()).from_(placed).group_by(*(key.copy() for key in keys))
    counts = [[0] * bins for _ in selection.groups]
    for group_index, bin_index, number in selection.engine.rows(query):
        counts[int(group_index)][int(bin_index)] += int(number)
    return [BinnedRecords(tuple(each)) for each in counts]
