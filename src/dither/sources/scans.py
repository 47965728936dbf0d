"""One pass over the selected records for everything that the columns of a statement want of it.

Every column gives each record a code, a whole number: its steps where they are wanted, else which gap between brackets
it lies in.  One statement counts the records of every code, and sums them where sums are wanted, with a grouping set
for each column that has codes (those of any column hold all records, from which the totals of the others follow); so a
table is read once however many columns and queries there are, and nothing but counts and sums by code leaves the
engine.  Where brackets hold few records, and the engine can, these are listed bracket by bracket instead of counted
value by value, which costs half as much.
"""

from __future__ import annotations

import contextlib
import functools
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from dither.kernels.ordering import runs_of
from dither.kernels.sums import exact_sum
from dither.sources.engines.engine import HALF_BITS, column, double_literal
from dither.sources.grid import Grid
from dither.sources.predicates import literal
from dither.sources.selection import GROUP, VALUE, Selection, counted, end_name

LEFT_OUT = -1
"""The code of a record that a column leaves out: no column gives it to a record that counts."""
Whole: TypeAlias = NDArray[np.int64]
Coded: TypeAlias = Literal["steps", "brackets", "cells"]
"""What the code of a record is: its steps, or its steps within a bracket and else the gap between brackets, or how many
numbers it reaches."""
LIMB_BITS = 26
PRODUCTS = (("high", ""), ("low", ""), ("high", "high"), ("high", "low"), ("low", "low"))
"""The limbs of steps of which sums, and sums of squares, are put together: products of two have 54 bits."""


def cell_of(value: exp.Expr, ends: Sequence[exp.Expr], first: int) -> exp.Expr:
    """How many of some rising numbers are at most this one, and ``first`` more.

    A tree of comparisons: the engine's work grows with its depth.
    """
    if not ends:
        return literal(first)
    middle = len(ends) // 2
    below = exp.LT(this=value.copy(), expression=ends[middle].copy())
    return (
        exp.case()
        .when(below, cell_of(value, ends[:middle], first))
        .else_(cell_of(value, ends[middle + 1 :], first + middle + 1))
    )


@dataclass(frozen=True)
class Part:
    """What one column wants of a pass."""

    selection: Selection
    name: str | None
    grid: Grid
    missing: float | None
    """What a record without a value counts as; None where it is left out."""
    coded: Coded | None = None
    """None: all records together."""
    ends: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    """Numbers of each group that the code compares with, as many for every group."""
    powers: int = 0
    """1: steps are summed; 2: their limbs and the products of those (``PRODUCTS``)."""
    listed: bool = False
    """Whether brackets hold few records, as far as a sample can tell."""

    def shifted(self, value: exp.Expr) -> exp.Expr:
        """The steps of a value above the grid's lower end."""
        low, steps = self.grid.ends[0], self.selection.steps(value, self.grid)
        return steps if low == 0 else exp.Paren(this=exp.Sub(this=steps, expression=literal(low)))

    def code(self, value: exp.Expr, ends: Sequence[exp.Expr]) -> exp.Expr:
        """The code of a record with this value: in gaps -2 below the first bracket, -3 behind it, ..."""
        if self.coded is None:
            return literal(0)
        if self.coded == "steps":
            return self.shifted(value)
        if self.coded == "cells":
            return cell_of(value, ends, 0)
        code = exp.case()
        for place, end in enumerate(ends):
            below = exp.LT(this=value.copy(), expression=end)
            code = code.when(below, self.shifted(value) if place % 2 else literal(LEFT_OUT - 1 - place // 2))
        return code.else_(literal(LEFT_OUT - 1 - len(ends) // 2))

    def bracket(self, value: exp.Expr, ends: Sequence[exp.Expr]) -> exp.Expr:
        """The bracket of a record from 0 on, or the code of its gap."""
        code = exp.case()
        for place, end in enumerate(ends):
            below = exp.LT(this=value.copy(), expression=end.copy())
            code = code.when(below, literal(place // 2 if place % 2 else LEFT_OUT - 1 - place // 2))
        return code.else_(literal(LEFT_OUT - 1 - len(ends) // 2))

    @property
    def sum_count(self) -> int:
        """How many numbers of a record are summed."""
        return (0, 1, len(PRODUCTS))[self.powers]

    def summed(self, value: exp.Expr) -> list[exp.Expr]:
        """These numbers: whole, and none below 0."""
        if self.powers < 2:
            return [self.shifted(value)] * self.powers
        products = ([self._limb(name, value) for name in each if name] for each in PRODUCTS)
        return [functools.reduce(lambda a, b: exp.Mul(this=a, expression=b), each) for each in products]

    def _limb(self, which: str, value: exp.Expr) -> exp.Expr:
        steps = exp.cast(self.shifted(value), "bigint")
        if which == "high":
            return exp.Paren(this=exp.BitwiseRightShift(this=steps, expression=literal(LIMB_BITS)))
        return exp.Paren(this=exp.BitwiseAnd(this=steps, expression=literal((1 << LIMB_BITS) - 1)))


@dataclass(frozen=True)
class Found:
    """Private: what one column has in one group, by code in rising order."""

    codes: Whole
    counts: Whole
    halves: tuple[tuple[Whole, Whole], ...]
    """The upper and the lower half of each sum."""

    def __repr__(self) -> str:
        return "Found(<private>)"

    def total(self, place: int, chosen: slice | NDArray[np.bool_] = slice(None)) -> int:
        """One of the sums over the codes that are chosen: exact."""
        high, low = (exact_sum(half[chosen]) for half in self.halves[place])
        return (high << HALF_BITS) + low


def sampled(parts: Sequence[Part], fraction: float) -> list[list[Whole]]:
    """Of each column the sorted codes of a sample of the records, group by group: one pass."""
    selection = parts[0].selection
    names, records = _records(parts, fraction)
    query = selection.in_groups(records)
    if selection.by:
        query = query.select(exp.alias_(exp.cast(exp.column(GROUP, table="g"), "bigint"), GROUP))
    codes = [exp.alias_(_code(item, name, ()), f"c{place}") for place, (item, name) in enumerate(_zip(parts, names))]
    matches = selection.engine.long_arrays(query.select(*codes))
    if not selection.by:
        return [[np.sort(result[result != LEFT_OUT])] for result in matches]
    each = []
    for result in matches[1:]:
        kept = result != LEFT_OUT
        each.append(_split(matches[0][kept], result[kept], len(selection.groups)))
    return each


def _split(indices: Whole, codes: Whole, groups: int) -> list[Whole]:
    """The sorted codes of every group."""
    # There are at most 2**16 groups, and numpy distributes by so few bits: half the time of sorting all at once.
    order = np.argsort(indices.astype(np.uint16), kind="stable")
    each = np.split(codes[order], np.cumsum(np.bincount(indices, minlength=groups))[:-1])
    for part in each:
        part.sort()
    return each


def _in_order(indices: Whole, codes: Whole) -> Whole:
    """The places of records in rising order of their groups and then of their codes."""
    least = int(codes.min(initial=0))
    bits = (int(codes.max(initial=0)) - least).bit_length()
    if bits + int(indices.max(initial=0)).bit_length() >= 63:
        return np.lexsort((codes, indices))
    # Stable: of parts that are in order already it is the fastest.
    return np.argsort(indices << bits | (codes - least), kind="stable")


def scan(parts: Sequence[Part], groups: Sequence[int] | None = None) -> list[dict[int, Found]]:
    """Of each column what is found in every group that has records: one pass.  groups: only these are read."""
    selection, made_of = parts[0].selection, None if groups is not None else _public_key(parts)
    keyed = [place for place, part in enumerate(parts) if _has_code(part, several=len(parts) > 1)]
    last = selection.engine.last_scan
    if made_of is not None and last is not None and last[0] == made_of:
        return _by_part(parts, selection.engine.arrays(last[1]), keyed, selection)
    names, records = _records(parts)
    query, ends = _with_ends(parts, records, groups)
    listed = _list_of(parts, keyed)
    if listed is not None and len(parts) == 1 and len(ends[0]) == 2 and not parts[0].powers:
        return [_around_brackets(parts[0], query, names[0], ends[0])]
    sums: list[str] = []
    if selection.by:
        query.select(exp.alias_(exp.cast(exp.column(GROUP, table="g"), "bigint"), GROUP), copy=False)
    for place, (item, name) in enumerate(_zip(parts, names)):
        if place in keyed and listed is not None:
            key = _unless_left_out(item, name, item.bracket(column(name), ends[place]), LEFT_OUT)
            code = item.code(column(name), ends[place])
            query.select(exp.alias_(key, f"c{place}", copy=False), exp.alias_(code, "l", copy=False), copy=False)
        elif place in keyed:
            query.select(exp.alias_(_code(item, name, ends[place]), f"c{place}", copy=False), copy=False)
        for added in item.summed(column(name)):
            number = _unless_left_out(item, name, added, 0)
            sums.append(f"s{len(sums)}")
            query.select(exp.alias_(number, sums[-1]), copy=False)
    if not query.selects:
        query.select(exp.alias_(literal(1), "c"), copy=False)
    totals = _counted(selection, query.subquery("parts", copy=False), keyed, sums, listed)
    if listed is None:
        selection.engine.last_scan = None if made_of is None else (made_of, totals)
        arrays = selection.engine.arrays(totals)
    else:
        arrays = _unlisted(*selection.engine.arrays_and_list(totals), is_grouped=bool(selection.by))
    return _by_part(parts, arrays, keyed, selection)


def _public_key(parts: Sequence[Part]) -> bytes | None:
    """All that the query of a pass is made of beside its engine, byte for byte; None where some of it is private.

    Also None of sources that are frames, or several tables: the key would hold their records.
    """
    schema = parts[0].selection.schema
    if any(part.ends or part.listed for part in parts) or schema.tables or not isinstance(schema.source, (str, Path)):
        return None
    made_of = [
        {
            **vars(part),
            "selection": {
                **vars(part.selection),
                "engine": None,
                "groups": None,
                "schema": vars(part.selection.schema),
            },
        }
        for part in parts
    ]
    with contextlib.suppress(pickle.PicklingError, TypeError, AttributeError):
        return pickle.dumps(made_of)
    return None


def _around_brackets(part: Part, query: exp.Select, name: str, ends: Sequence[exp.Expr]) -> dict[int, Found]:
    """The same where every group has one bracket and nothing is summed: counted by group alone, the cheapest way."""
    by = [exp.column(GROUP)] if part.selection.by else []
    if by:
        query = query.select(exp.alias_(exp.cast(exp.column(GROUP, table="g"), "bigint"), GROUP))
    below, before_end = (exp.LT(this=column(name), expression=end) for end in ends)
    within = exp.and_(exp.Not(this=below), before_end)
    steps = exp.case().when(within, part.shifted(column(name))).else_(exp.Null())
    placed = query.select(exp.alias_(exp.cast(below.copy(), "int"), "b"), exp.alias_(steps, "l"))
    listed = part.selection.engine.list_of(exp.column("l"))
    counts = [counted(), exp.Coalesce(this=exp.Sum(this=exp.column("b")), expressions=[literal(0)])]
    totals = exp.select(*by, *(exp.alias_(exp.cast(count, "bigint"), f"n{at}") for at, count in enumerate(counts)))
    known = exp.Not(this=exp.Is(this=exp.column("l"), expression=exp.Null()))
    some = exp.Filter(this=listed, expression=exp.Where(this=known))
    totals = totals.select(exp.alias_(some, "l")).from_(placed.subquery("parts"))
    arrays, lengths, codes = part.selection.engine.arrays_and_list(totals.group_by(*by) if by else totals)
    indices = arrays[0] if by else np.zeros(len(lengths), dtype=np.int64)
    records, before = arrays[-2:]
    result: dict[int, Found] = {}
    for index, total, first, length, end in zip(indices, records, before, lengths, np.cumsum(lengths), strict=True):
        _, values, multiplicities = runs_of(np.sort(codes[end - length : end]))
        # Behind the bracket, before it, and within: in rising order of the codes.
        gaps = np.array([total - first - length, first])
        outside = np.array([LEFT_OUT - 2, LEFT_OUT - 1])[gaps > 0]
        if total:
            found = np.concatenate([outside, values]), np.concatenate([gaps[gaps > 0], multiplicities])
            result[int(index)] = Found(*found, ())
    return result


def _list_of(parts: Sequence[Part], keyed: Sequence[int]) -> exp.Expr | None:
    """The list of the codes of a bracket as an aggregate, if that is how this pass reads them."""
    part = parts[keyed[0]] if len(keyed) == 1 else None
    # Groups and codes must fit into one whole number, by which they are sorted.
    if part is None or not part.listed or part.grid.points.bit_length() + len(part.selection.groups).bit_length() > 62:
        return None
    return part.selection.engine.list_of(exp.column("l"))


def _unlisted(arrays: list[Whole], lengths: Whole, codes: Whole, *, is_grouped: bool) -> list[Whole]:
    """The columns that counting by code would give: of each bracket its codes with their counts.

    The sums of a bracket are those of its least code, and all others have none: whole brackets are added up alone.
    """
    by, (keys, counts, *halves) = arrays[: int(is_grouped)], arrays[int(is_grouped) :]
    inside = keys >= 0
    if not np.array_equal(np.where(inside, counts, 0), lengths):
        raise RuntimeError("a bracket was listed with other records than were counted")
    bits = int(codes.max(initial=0)).bit_length()
    groups = by[0] if by else np.zeros(len(keys), dtype=np.int64)
    _, joined, multiplicities = runs_of(np.sort(np.repeat(groups << bits, lengths) | codes))
    full = np.flatnonzero(lengths)
    starts = np.cumsum(lengths) - lengths
    least = np.minimum.reduceat(codes, starts[full]) if len(full) else codes
    firsts = np.searchsorted(joined, groups[full] << bits | least)
    gaps = np.flatnonzero(~inside)
    columns = [np.concatenate([item[gaps], joined >> bits]) for item in by]
    columns.append(np.concatenate([keys[gaps], joined & ((1 << bits) - 1)]))
    columns.append(np.concatenate([counts[gaps], multiplicities]))
    for half in halves:
        spread = np.zeros(len(joined), dtype=np.int64)
        spread[firsts] = half[full]
        columns.append(np.concatenate([half[gaps], spread]))
    return columns


def _zip(parts: Sequence[Part], names: Sequence[str]) -> list[tuple[Part, str]]:
    return list(zip(parts, names, strict=True))


def _records(parts: Sequence[Part], fraction: float | None = None) -> tuple[list[str], exp.Expr]:
    """The names of the columns' values, and the records with their keys as a table t."""
    first = parts[0]
    if len(parts) == 1:
        alone = first.selection.records(first.name, first.grid, first.missing, fraction)
        return [VALUE], alone.subquery("t", copy=False)
    names = [f"{VALUE}{place}" for place in range(len(parts))]
    values = {name: part.selection.value(part.name, part.missing) for part, name in _zip(parts, names)}
    return names, first.selection.together(values, fraction).subquery("t", copy=False)


def _with_ends(
    parts: Sequence[Part], records: exp.Expr, groups: Sequence[int] | None
) -> tuple[exp.Select, list[list[exp.Expr]]]:
    """The records in their groups, and the ends that the code of each column compares with."""
    selection = parts[0].selection
    chosen = range(len(selection.groups)) if groups is None else groups
    if not selection.by:
        return selection.in_groups(records), [[double_literal(end) for end in part.ends.get(0, ())] for part in parts]
    joined = {index: tuple(end for part in parts for end in part.ends.get(index, ())) for index in chosen}
    expressions: list[list[exp.Expr]] = []
    first = 0
    for part in parts:
        count = len(next(iter(part.ends.values()), ()))
        expressions.append([exp.column(end_name(first + place), table="g") for place in range(count)])
        first += count
    return selection.in_groups(records, joined), expressions


def _has_code(part: Part, *, several: bool) -> bool:
    return part.coded is not None or (several and part.missing is None)


def _code(part: Part, name: str, ends: Sequence[exp.Expr]) -> exp.Expr:
    return exp.cast(_unless_left_out(part, name, part.code(column(name), ends), LEFT_OUT), "bigint", copy=False)


def _unless_left_out(part: Part, name: str, number: exp.Expr, otherwise: int) -> exp.Expr:
    """A number of a record; of one that the column leaves out (alone it does not even meet them) another."""
    if name == VALUE or part.missing is not None:
        return number
    return exp.case().when(exp.Is(this=column(name), expression=exp.Null()), literal(otherwise)).else_(number)


def _counted(
    selection: Selection,
    source: exp.Expr,
    keyed: Sequence[int],
    sums: Sequence[str],
    listed: exp.Expr | None = None,
) -> exp.Select:
    """Group, place of the column, code, count and halves of the sums; what is the same in all rows is left out.

    listed: an aggregate that comes last, over the records of one column whose code is not below 0.
    """
    by = [exp.column(GROUP)] if selection.by else []
    codes = [exp.column(f"c{place}") for place in keyed]
    sets = [[*by, code] for code in codes] or [by]
    totals = [
        exp.Coalesce(this=selection.engine.exact_sum(exp.column(name)), expressions=[literal(0)]) for name in sums
    ]
    summed = [exp.alias_(total, name) for total, name in zip(totals, sums, strict=True)]
    names = [GROUP] * len(by) + ["p"] * (len(sets) > 1) + ["c"] * bool(codes) + ["n"]
    query = exp.Select().from_(source, copy=False).select(*by)
    if len(sets) > 1 and not selection.engine.has_grouping_sets:
        # A pass for each set.
        passes = []
        for place, code in zip(keyed, codes, strict=True):
            here = query.copy().select(exp.alias_(literal(place), "p"), exp.alias_(code.copy(), "c"))
            here = here.select(exp.alias_(counted(), "n"), *(item.copy() for item in summed))
            passes.append(here.group_by(*(item.copy() for item in (*by, code))))
        query = exp.select("*").from_(exp.union(*passes, distinct=False).subquery("passes"))
    else:
        if len(sets) > 1:
            placed_by = exp.case()
            for number, key in zip(keyed, codes, strict=True):
                inside = exp.EQ(this=exp.Grouping(expressions=[key.copy()]), expression=literal(0))
                placed_by = placed_by.when(inside, literal(number))
            query.select(exp.alias_(exp.cast(placed_by, "bigint"), "p"), copy=False)
        if codes:
            placed = codes[0] if len(sets) == 1 else exp.Coalesce(this=codes[0], expressions=[*codes[1:], literal(0)])
            query.select(exp.alias_(placed.copy(), "c"), copy=False)
        query.select(exp.alias_(exp.cast(counted(), "bigint"), "n"), *(item.copy() for item in summed), copy=False)
        if len(sets) > 1:
            tuples = [exp.Tuple(expressions=[key.copy() for key in each]) for each in sets]
            query.set("group", exp.Group(expressions=[exp.GroupingSets(expressions=tuples)]))
        elif sets[0]:
            query.group_by(*(item.copy() for item in sets[0]), copy=False)
        if listed is not None:
            within = exp.Where(this=exp.GTE(this=codes[0].copy(), expression=literal(0)))
            query.select(exp.alias_(exp.Filter(this=listed, expression=within), "l"), copy=False)
    outer = exp.select(*map(exp.column, names)).from_(query.subquery("totals", copy=False), copy=False)
    halves = [half for name in sums for half in selection.engine.halves(exp.column(name))]
    outer.select(*(exp.alias_(half, f"h{place}") for place, half in enumerate(halves)), copy=False)
    return outer if listed is None else outer.select(exp.column("l"), copy=False)


def _by_part(
    parts: Sequence[Part], arrays: list[Whole], keyed: Sequence[int], selection: Selection
) -> list[dict[int, Found]]:
    rest = iter(arrays)
    counts_at = len(arrays) - 2 * sum(part.sum_count for part in parts) - 1
    rows = len(arrays[counts_at])
    nothing = np.zeros(rows, dtype=np.int64)
    indices = next(rest) if selection.by else nothing
    places = next(rest) if len(keyed) > 1 else None
    codes = next(rest) if keyed else nothing
    counts = next(rest)
    halves = list(zip(rest, rest, strict=True))
    result, first = [], 0
    for place, part in enumerate(parts):
        own, first = halves[first : first + part.sum_count], first + part.sum_count
        is_keyed = place in keyed
        # Without codes of its own a column has the totals over those of another, which hold every record.
        chosen = (counts > 0) & (codes != LEFT_OUT) if is_keyed else counts > 0
        if places is not None:
            chosen &= places == (place if is_keyed else keyed[0])
        at = np.flatnonzero(chosen)
        order = at[_in_order(indices[at], codes[at])]
        each, starts = np.unique(indices[order], return_index=True)
        groups = np.split(order, starts[1:]) if len(each) else []
        result.append(
            {
                int(index): Found(codes[inside], counts[inside], tuple((a[inside], b[inside]) for a, b in own))
                for index, inside in zip(each, groups, strict=True)
            }
        )
    return result


def largest(part: Part, most: int, *, least: bool) -> dict[int, tuple[int, Whole]] | None:
    """How many records each group has, and the codes of so many of its largest (or least) in rising order: one pass.

    None where the engine has no such aggregate.
    """
    selection = part.selection
    listed = selection.engine.extremes(column(VALUE), most, least=least)
    if listed is None:
        return None
    names, records = _records([part])
    by = [exp.column(GROUP, table="g")] if selection.by else []
    inner = selection.in_groups(records).select(*by, exp.alias_(counted(), "n"), exp.alias_(listed, "l"))
    inner = inner.group_by(*(item.copy() for item in by)) if by else inner
    kept = [*([exp.column(GROUP)] if by else []), exp.column("n")]
    flat = exp.select(*kept, exp.alias_(exp.Explode(this=exp.column("l")), VALUE)).from_(inner.subquery("lists"))
    outer = exp.select(*(exp.cast(item.copy(), "bigint") for item in kept), part.code(column(names[0]), ()))
    arrays = selection.engine.arrays(outer.from_(flat.subquery("t")))
    indices = arrays[0] if by else np.zeros(len(arrays[0]), dtype=np.int64)
    counts, codes = arrays[-2:]
    order = _in_order(indices, codes)
    each, starts = np.unique(indices[order], return_index=True)
    return {
        int(index): (int(counts[inside[0]]), codes[inside])
        for index, inside in zip(each, np.split(order, starts[1:]) if len(each) else (), strict=True)
    }
