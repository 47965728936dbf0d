"""What each person has in a table: totals of all their rows, computed in the engine.

Two passes: one counts the people whose total lies above each public limit, one sums what is left of everybody's total
under the limit that was drawn.  Where an engine can keep a table of its own, both are over everybody's totals, which
are computed once for all questions of a statement (``PeopleTotals``).  Nothing else leaves the engine.  Every total is
a whole number that depends on the rows of its person alone, in whatever order they lie: rows are whole numbers of grid
steps before they are summed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

from sqlglot import exp

from dither.sources.engines.engine import HALF_BITS, double_literal
from dither.sources.grid import Grid
from dither.sources.predicates import literal
from dither.sources.selection import GROUP, VALUE, Selection, counted, raw_value

Summed: TypeAlias = Callable[[exp.Expr], exp.Expr]
"""A sum of an expression: over all rows of a group, or over a window of them."""
LIMB_BITS = 26
"""Steps have at most 52 bits: sums of their halves fit into 63 bits for up to 2**37 rows of one person."""
MOST_TOTAL = 1 << 60
"""Totals of one person beyond this are above all limits."""
PARTS = 1 << 16
"""Scaled counts are whole numbers of such parts of a row."""
SLACK = 2.0**-40
"""By how much a scaled vector stays below its limit: far more than doubles err by."""


def below_limit(limit: int) -> float:
    """What vectors are scaled down to, so that no rounding of doubles exceeds the limit: public."""
    return math.nextafter(limit * (1.0 - SLACK), 0.0)


@dataclass(frozen=True)
class LimitedSum:
    """Private: the number of rows and the sum of one group, with everybody's part limited."""

    records: int
    sum: int

    def __repr__(self) -> str:
        return "LimitedSum(<private>)"

    def total(self) -> int:
        """The sum, in steps."""
        return self.sum


class PeopleRecords:
    """Private: the rows of a selection, by person, for all groups at once."""

    def __init__(
        self,
        selection: Selection,
        name: str | None,
        grid: Grid,
        missing: int,
        *,
        presence: bool = False,
        kept: PeopleTotals | None = None,
    ) -> None:
        """``name``: the column that is summed; None: rows are counted, or with ``presence`` each person once.

        ``kept``: totals that several questions about the same rows read; None: every pass reads the rows.
        """
        self._selection, self._name, self._grid, self._presence = selection, name, grid, presence
        self._missing = None if name is None or selection.drops(name) else raw_value(grid, missing)
        # Records without a value are left out of one question and not of another: these read their own rows.
        self._kept = None if selection.drops(name) else kept
        if self._kept is not None and name is not None and self._missing is not None:
            self._kept.add(name, grid, self._missing)

    def __repr__(self) -> str:
        return "PeopleRecords(<private>)"

    def each(self) -> list[PeopleGroup]:
        """The people of every group."""
        return [PeopleGroup(self, index) for index in range(len(self._selection.groups))]

    @property
    def _is_counted(self) -> bool:
        return self._name is None

    # --- how much people have ----------------------------------------------------------------------------------

    def rows_above(self, limits: Sequence[int]) -> list[int]:
        """How many people have more rows than each of these limits, which rise."""
        return self._above("n", limits, [])[0]

    def totals_above(self, limits: Sequence[int]) -> tuple[list[int], list[int]]:
        """How many people have a total above each limit, and how many have one below minus each.

        Where there are groups a person's total is the sum of the sizes of all of their groups' totals.
        """
        return self._above("a" if self._selection.by else "v", limits, limits)

    def people(self) -> int:
        """How many people there are."""
        ((number,),) = self._selection.engine.rows(exp.select(counted()).from_(self._people(["n"])))
        return int(number)

    def _above(self, name: str, above: Sequence[int], below: Sequence[int]) -> tuple[list[int], list[int]]:
        edges = [*(-limit for limit in reversed(below)), *(limit + 1 for limit in above)]
        place = exp.alias_(exp.Var(this=_place(name, edges, 0)), "p")
        placed = exp.select(place).from_(self._people([name])).subquery("placed")
        query = exp.select(exp.column("p"), counted()).from_(placed).group_by(exp.column("p"))
        counts = [0] * (len(edges) + 1)
        for where, number in self._selection.engine.rows(query):
            counts[int(where)] += int(number)
        upper = list(accumulate(reversed(counts)))  # how many lie at the last places
        lower = list(accumulate(counts))
        return [upper[len(above) - 1 - at] for at in range(len(above))], [
            lower[len(below) - 1 - at] for at in range(len(below))
        ]

    # --- what is left under a limit ----------------------------------------------------------------------------

    def totals_within(self, below: int, above: int, parts: int = 1) -> list[int]:
        """The sums of every group: everybody's total clamped to [-below, above].

        Where there are groups everybody's totals are scaled down, so that their sizes add up to at most ``above``, and
        rounded to so many parts of a step, of which the sums are then.
        """
        total = exp.column("v")
        positive, negative = _positive(total), _positive(exp.Neg(this=total))
        if not self._selection.by:
            sides = [("p", _least(positive, above)), ("m", _least(negative, below))]
            plus, minus = self._summed(sides, ["v"])
        else:
            within = exp.LTE(this=exp.column("a"), expression=literal(above))
            sides = [
                (
                    name,
                    exp.case()
                    .when(within.copy(), exp.Mul(this=side, expression=literal(parts)))
                    .else_(self._scaled(side, exp.column("b"), above, parts)),
                )
                for name, side in (("p", positive), ("m", negative))
            ]
            plus, minus = self._summed(sides, ["v", "a", "b"])
        return [up - down for up, down in zip(plus, minus, strict=True)]

    def weighted(self, limit: int) -> LimitedSum:
        """Rows and steps of all people, where the rows of each together weigh at most the limit; without groups."""
        rows, total = exp.column("n"), exp.column("d")
        within = exp.LTE(this=rows.copy(), expression=literal(limit))
        part = exp.case().when(within, total.copy()).else_(self._scaled(total, rows, limit, 1))
        (records,), (shifted,) = self._summed([("n", _least(rows, limit)), ("d", part)], ["n", "d"])
        return LimitedSum(records, shifted + self._grid.ends[0] * records)

    def _scaled(self, part: exp.Expr, whole: exp.Expr, limit: int, parts: int) -> exp.Expr:
        """``part * limit / whole``, in so many parts, rounded down; whole is above the limit."""
        # At least 1, so that no engine divides by 0, even if it computes what it then does not use.
        size = exp.Anonymous(this="GREATEST", expressions=[exp.cast(whole.copy(), "double"), double_literal(1.0)])
        share = exp.Div(this=double_literal(below_limit(limit) * parts), expression=size, typed=True)
        product = exp.Mul(this=exp.cast(part.copy(), "double"), expression=exp.Paren(this=share))
        half = double_literal(0.5)
        lower = self._selection.engine.nearest(exp.Paren(this=exp.Sub(this=product, expression=half)))
        return exp.Anonymous(this="GREATEST", expressions=[lower, literal(0)])

    def _summed(self, parts: Sequence[tuple[str, exp.Expr]], names: Sequence[str]) -> list[list[int]]:
        """For each part its exact sum over all people, group by group."""
        engine, by = self._selection.engine, self._selection.by
        group = [exp.column(GROUP)] if by else []
        limited = exp.select(*group, *(exp.alias_(exp.cast(part, "bigint"), f"l_{name}") for name, part in parts))
        limited = limited.from_(self._by_group(names) if by else self._people(names))
        sums = [
            exp.alias_(
                exp.Coalesce(this=engine.exact_sum(exp.column(f"l_{name}")), expressions=[literal(0)]), f"s_{name}"
            )
            for name, _ in parts
        ]
        query = exp.select(*(item.copy() for item in group), *sums).from_(limited.subquery("limited"))
        query = query.group_by(*(item.copy() for item in group)) if by else query
        halves = [half for name, _ in parts for half in engine.halves(exp.column(f"s_{name}"))]
        outer = exp.select(
            *(exp.cast(item.copy(), "bigint") for item in group),
            *(exp.alias_(half, f"h{at}") for at, half in enumerate(halves)),
        )
        result = [[0] * len(self._selection.groups) for _ in parts]
        for row in engine.rows(outer.from_(query.subquery("sums"))):
            index, numbers = (int(row[0]), row[1:]) if by else (0, row)
            for place in range(len(parts)):
                result[place][index] = (int(numbers[2 * place]) << HALF_BITS) + int(numbers[2 * place + 1])
        return result

    # --- people as queries -------------------------------------------------------------------------------------

    def _people(self, names: Sequence[str]) -> exp.Expr:
        """One row for each person: their rows n, total v or d (of steps above the lower end), or size a of totals."""
        if not self._selection.by:
            return self._owners(names).subquery("people")
        sizes = [exp.alias_(exp.cast(exp.Sum(this=exp.column("c")), "bigint"), "n")]
        if "a" in names:
            sizes.append(exp.alias_(_size(_sum), "a"))
        each = self._owners(names).subquery("each")
        return exp.select(*sizes).from_(each).group_by(exp.column("u")).subquery("people")

    def _by_group(self, names: Sequence[str]) -> exp.Expr:
        """One row for each person and group: the group i, its rows c and total v, and n, a and b of the person.

        Where a, a whole number, may be cut, b is the whole size as a double: what vectors are scaled by.
        """
        own = [exp.column(GROUP), exp.column("c"), *([exp.column("v")] if "v" in names else [])]

        def over(part: exp.Expr) -> exp.Expr:
            return exp.Window(this=exp.Sum(this=part), partition_by=[exp.column("u")])

        sizes = [exp.alias_(exp.cast(over(exp.column("c")), "bigint"), "n")]
        if "a" in names:
            sizes.append(exp.alias_(_size(over), "a"))
        if "b" in names:
            sizes.append(exp.alias_(_whole_size(over), "b"))
        return exp.select(*own, *sizes).from_(self._owners(names).subquery("each")).subquery("people")

    def _owners(self, names: Sequence[str]) -> exp.Select:
        """The rows and the total of each person, in each group."""
        if self._kept is not None and "d" not in names:
            return self._kept.owners(self._name, self._grid, self._missing, presence=self._presence)
        here, values = self._selection, bool({"v", "a", "d"} & set(names)) and not self._is_counted
        rows = here.in_groups(here.owned(self._name, self._missing).subquery("t"))
        group = [exp.alias_(exp.column(GROUP, table="g"), GROUP)] if here.by else []
        steps = [exp.alias_(here.steps(exp.column(VALUE, table="t"), self._grid), "w")] if values else []
        flat = rows.select(exp.alias_(exp.column("u", table="t"), "u"), *group, *steps).subquery("flat")
        keys = [exp.column("u"), *([exp.column(GROUP)] if here.by else [])]
        number = exp.alias_(exp.cast(counted(), "bigint"), "c" if here.by else "n")
        query = exp.select(*keys, number).from_(flat).group_by(*(key.copy() for key in keys))
        if self._is_counted:
            one = literal(1) if self._presence else counted()
            return query.select(exp.alias_(exp.cast(one, "bigint"), "v"))
        low, step = self._grid.ends[0], exp.column("w")
        if "d" in names:
            shifted = exp.Paren(this=exp.Sub(this=step, expression=exp.Paren(this=literal(low))))
            return query.select(exp.alias_(_combined(shifted, _sum), "d"))
        if not values:
            return query
        return query.select(exp.alias_(_total(step, self._grid), "v"))


class PeopleTotals:
    """Private: rows and totals of each person in each group, of all columns that the questions of a statement read.

    They are computed in one pass over the rows and kept inside the engine until ``close``; an engine that keeps nothing
    computes them again for each pass.
    """

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._values: dict[tuple[str, Grid, float], str] = {}
        self._table: exp.Expr | None = None

    def __repr__(self) -> str:
        return "PeopleTotals(<private>)"

    def add(self, name: str, grid: Grid, missing: float) -> None:
        """Read this column too; all are known before the first is read."""
        self._values.setdefault((name, grid, missing), f"v{len(self._values)}")

    def owners(self, name: str | None, grid: Grid, missing: float | None, *, presence: bool) -> exp.Select:
        """The rows and the total v of each person, in each group: of a column, of rows, or once for each person."""
        if self._table is None:
            self._table = self._selection.engine.kept(self._query())
        by = self._selection.by
        keys = [exp.column("u"), *([exp.column(GROUP)] if by else [])]
        total: exp.Expr = literal(1) if presence else exp.column("c")
        if name is not None and missing is not None:
            total = exp.column(self._values[name, grid, missing])
        number = exp.alias_(exp.column("c"), "c" if by else "n")
        own = exp.alias_(exp.cast(total, "bigint"), "v")
        return exp.select(*keys, number, own).from_(self._table.copy())

    def close(self) -> None:
        """Let go of what was kept."""
        if self._table is not None:
            self._selection.engine.forget(self._table)
        self._table = None

    def _query(self) -> exp.Select:
        here = self._selection
        read = {value: here.value(name, missing) for (name, _, missing), value in self._values.items()}
        rows = here.in_groups(here.owned_together(read).subquery("t"))
        group = [exp.alias_(exp.column(GROUP, table="g"), GROUP)] if here.by else []
        steps = [
            exp.alias_(here.steps(exp.column(value, table="t"), grid), f"w_{value}")
            for (_, grid, _), value in self._values.items()
        ]
        flat = rows.select(exp.alias_(exp.column("u", table="t"), "u"), *group, *steps).subquery("flat")
        keys = [exp.column("u"), *([exp.column(GROUP)] if here.by else [])]
        totals = [
            exp.alias_(_total(exp.column(f"w_{value}"), grid), value) for (_, grid, _), value in self._values.items()
        ]
        number = exp.alias_(exp.cast(counted(), "bigint"), "c")
        return exp.select(*keys, number, *totals).from_(flat).group_by(*(key.copy() for key in keys))


@dataclass(frozen=True)
class PeopleGroup:
    """Private: the people of one group; with them those of all others, because a limit is that of all together."""

    people: PeopleRecords
    index: int

    def __repr__(self) -> str:
        return "PeopleGroup(<private>)"


def _combined(number: exp.Expr, summed: Summed) -> exp.Expr:
    """The sum of whole numbers that are not below 0, cut above ``MOST_TOTAL``: no sum on the way leaves 63 bits."""
    high, low = _limbs(number)
    upper = exp.cast(_least(summed(high), (MOST_TOTAL >> LIMB_BITS) + 1), "bigint")
    lower = exp.cast(_least(summed(low), MOST_TOTAL + 1), "bigint")
    shifted = exp.Mul(this=upper, expression=literal(1 << LIMB_BITS))
    return exp.Paren(this=exp.Add(this=shifted, expression=lower))


def _limbs(number: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    """The upper and the lower bits of a whole number that is not below 0."""
    whole = exp.cast(number, "bigint")
    high = exp.BitwiseRightShift(this=whole, expression=literal(LIMB_BITS))
    low = exp.BitwiseAnd(this=whole.copy(), expression=literal((1 << LIMB_BITS) - 1))
    return exp.Paren(this=high), exp.Paren(this=low)


def _total(step: exp.Expr, grid: Grid) -> exp.Expr:
    """The sum of whole steps of either sign over the rows of a person."""
    low, high = grid.ends
    plus = _combined(_positive(step), _sum) if high > 0 else literal(0)
    minus = _combined(_positive(exp.Neg(this=step)), _sum) if low < 0 else literal(0)
    return exp.Sub(this=plus, expression=minus)


def _sum(part: exp.Expr) -> exp.Expr:
    return exp.Sum(this=part)


def _size(summed: Summed) -> exp.Expr:
    """The sum of the sizes of a person's totals; above all limits where it is cut."""
    return _combined(exp.Abs(this=exp.column("v")), summed)


def _whole_size(summed: Summed) -> exp.Expr:
    """The same as a double, of which nothing is cut: sums of either half have fewer than 53 bits."""
    high, low = (exp.cast(summed(limb), "double") for limb in _limbs(exp.Abs(this=exp.column("v"))))
    shifted = exp.Mul(this=high, expression=double_literal(float(1 << LIMB_BITS)))
    return exp.Paren(this=exp.Add(this=shifted, expression=low))


def _least(number: exp.Expr, most: int) -> exp.Expr:
    return exp.Anonymous(this="LEAST", expressions=[number.copy(), literal(most)])


def _positive(number: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="GREATEST", expressions=[number.copy(), literal(0)])


def _place(name: str, edges: Sequence[int], first: int) -> str:
    """How many of the edges are at most the number of this name, by a tree of comparisons.

    Written out at once: as a tree, a hundred edges take as long as a pass over thousands of people.
    """
    if not edges:
        return str(first)
    middle = len(edges) // 2
    below, above = _place(name, edges[:middle], first), _place(name, edges[middle + 1 :], first + middle + 1)
    return f"CASE WHEN {name} < {edges[middle]} THEN {below} ELSE {above} END"
