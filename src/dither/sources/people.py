"""What each person has in a table: totals of all their rows, computed in the engine.

Two passes: one counts the people whose total lies above each public limit, one sums what is left of everybody's total
under the limit that was drawn.  Where an engine can keep a table of its own, both are over everybody's totals, which
are computed once for all questions of a statement (``PeopleTotals``).  Nothing else leaves the engine.  Every total is
a whole number that depends on the rows of its person alone, in whatever order they lie: rows are whole numbers of grid
steps before they are summed, in a type that no sum leaves, and the sum is cut above all limits.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from sqlglot import exp

from dither.sources.engines.engine import HALF_BITS, double_literal
from dither.sources.grid import Grid
from dither.sources.predicates import literal
from dither.sources.selection import GROUP, Selection, counted, raw_value

MOST_TOTAL = 1 << 60
"""Totals of one person beyond this are above all limits: they are cut to one step more."""
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
        weighted: bool = False,
        kept: PeopleTotals | None = None,
    ) -> None:
        """``name``: the column that is summed; None: rows are counted, or with ``presence`` each person once.

        ``weighted``: rows are weighed.  ``kept``: totals that several questions about the same rows read, all of which
        are known before the first is read, and which whoever made them closes; None: every pass reads the rows.
        """
        self._selection, self._name, self._grid, self._presence = selection, name, grid, presence
        self._missing = None if name is None or selection.drops(name) else raw_value(grid, missing)
        self._totals, self._is_alone = PeopleTotals(selection, name) if kept is None else kept, kept is None
        if kept is not None and name is not None:
            kept.add(name, grid, self._missing, grid.ends[0] if weighted else 0)

    def __repr__(self) -> str:
        return "PeopleRecords(<private>)"

    def each(self) -> list[PeopleGroup]:
        """The people of every group."""
        return [PeopleGroup(self, index) for index in range(len(self._selection.groups))]

    # --- how much people have ----------------------------------------------------------------------------------

    def rows_above(self, limits: Sequence[int]) -> list[int]:
        """How many people have more rows than each of these limits, which rise."""
        return self._above("n", limits, [])[0]

    def totals_above(self, limits: Sequence[int]) -> tuple[list[int], list[int]]:
        """How many people have a total above each limit, and how many have one below minus each.

        Where there are groups a person's total is the sum of the sizes of all of their groups' totals.
        """
        if self._selection.by:
            return self._above("a", limits, [])[0], [0] * len(limits)
        return self._above("v", limits, limits)

    def people(self) -> int:
        """How many people there are."""
        with self._reading():
            return self._totals.number()

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """One pass."""
        try:
            yield
        finally:
            if self._is_alone:
                self._totals.close()

    def _above(self, name: str, above: Sequence[int], below: Sequence[int]) -> tuple[list[int], list[int]]:
        edges = [*(-limit for limit in reversed(below)), *(limit + 1 for limit in above)]
        place = exp.alias_(exp.Var(this=_place(name, edges, 0)), "p")
        counts = [0] * (len(edges) + 1)
        with self._reading():
            placed = exp.select(place).from_(self._people([name])).subquery("placed")
            query = exp.select(exp.column("p"), counted()).from_(placed).group_by(exp.column("p"))
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
        low, high = (0, 1) if self._name is None else self._grid.ends
        total = exp.column("v")
        signed: list[tuple[int, exp.Expr, int]] = [(+1, total, above)] if high > 0 else []
        signed += [(-1, exp.Neg(this=total), below)] if low < 0 else []
        sides = [
            self._scaled_side(_positive(side), above, parts) if self._selection.by else _least(_positive(side), most)
            for _, side, most in signed
        ]
        sums = self._summed(sides, ["v", "a", "b"] if self._selection.by else ["v"])
        return [
            sum(sign * part for (sign, _, _), part in zip(signed, group, strict=True))
            for group in zip(*sums, strict=True)
        ]

    def _scaled_side(self, side: exp.Expr, limit: int, parts: int) -> exp.Expr:
        within = exp.LTE(this=exp.column("a"), expression=literal(limit))
        whole = exp.Mul(this=side, expression=literal(parts))
        return exp.case().when(within, whole).else_(self._scaled(side, exp.column("b"), limit, parts))

    def weighted(self, limit: int) -> LimitedSum:
        """Rows and steps of all people, where the rows of each together weigh at most the limit; without groups."""
        rows, total = exp.column("n"), exp.column("d")
        within = exp.LTE(this=rows.copy(), expression=literal(limit))
        part = exp.case().when(within, total.copy()).else_(self._scaled(total, rows, limit, 1))
        (records,), (shifted,) = self._summed([_least(rows, limit), part], ["n", "d"])
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

    def _summed(self, parts: Sequence[exp.Expr], names: Sequence[str]) -> list[list[int]]:
        """For each part its exact sum over all people, group by group."""
        engine, by = self._selection.engine, self._selection.by
        group = [exp.column(GROUP)] if by else []
        limited = exp.select(*group, *(exp.alias_(exp.cast(part, "bigint"), f"l{at}") for at, part in enumerate(parts)))
        sums = [
            exp.alias_(exp.Coalesce(this=engine.exact_sum(exp.column(f"l{at}")), expressions=[literal(0)]), f"s{at}")
            for at in range(len(parts))
        ]
        halves = [half for at in range(len(parts)) for half in engine.halves(exp.column(f"s{at}"))]
        outer = exp.select(
            *(exp.cast(item.copy(), "bigint") for item in group),
            *(exp.alias_(half, f"h{at}") for at, half in enumerate(halves)),
        )
        result = [[0] * len(self._selection.groups) for _ in parts]
        with self._reading():
            limited = limited.from_(self._by_group() if by else self._people(names))
            query = exp.select(*(item.copy() for item in group), *sums).from_(limited.subquery("limited"))
            query = query.group_by(*(item.copy() for item in group)) if by else query
            rows = engine.rows(outer.from_(query.subquery("sums")))
        for row in rows:
            index, numbers = (int(row[0]), row[1:]) if by else (0, row)
            for place in range(len(parts)):
                result[place][index] = (int(numbers[2 * place]) << HALF_BITS) + int(numbers[2 * place + 1])
        return result

    # --- people as queries -------------------------------------------------------------------------------------

    def _people(self, names: Sequence[str]) -> exp.Expr:
        """One row for each person: their rows n, total v or d (of steps above the lower end), or size a of totals."""
        if self._selection.by:
            size = self._size()[0] if "a" in names else exp.column("n")
            chosen, table = {"n": exp.column("n"), "a": size}, self._totals.people()
        else:
            value = self._value(names)
            chosen, table = dict.fromkeys("vd", self._total(value)), self._totals.each()
            chosen["n"] = exp.column("c")
        return exp.select(*(exp.alias_(chosen[name].copy(), name) for name in names)).from_(table).subquery("limited")

    def _by_group(self) -> exp.Expr:
        """One row for each person and group: the group i and its total v, and a and b of the person.

        Where a, a whole number, may be cut, b is the whole size as a double: what vectors are scaled by.
        """
        value, (size, whole) = self._value(["v"]), self._size()
        same = exp.EQ(this=exp.column("u", table=EACH), expression=exp.column("u", table=PEOPLE))
        chosen = {GROUP: exp.column(GROUP), "v": self._total(value), "a": size, "b": whole}
        query = exp.select(*(exp.alias_(item, name) for name, item in chosen.items()))
        return query.from_(self._totals.each()).join(self._totals.people(), on=same).subquery("parts")

    def _value(self, names: Sequence[str]) -> str | None:
        """What the total of the column is called; None where none is read."""
        if self._name is None or not {"v", "a", "d"} & set(names):
            return None
        return self._totals.add(self._name, self._grid, self._missing, self._grid.ends[0] if "d" in names else 0)

    def _total(self, value: str | None) -> exp.Expr:
        if self._presence:
            return literal(1)
        return exp.column("c" if value is None else value)

    def _size(self) -> tuple[exp.Expr, exp.Expr]:
        """The sum of the sizes of a person's totals, above all limits where it is cut; and all of it, as a double."""
        if self._name is not None:
            value = self._value(["v"])
            return exp.column(f"a_{value}"), exp.column(f"b_{value}")
        size = exp.column("g" if self._presence else "n")
        return size, exp.cast(size, "double")


EACH, PEOPLE = "each_group", "each_person"
"""What tables of totals are called inside queries."""


class PeopleTotals:
    """Private: rows and totals of each person in each group, of all columns that the questions of a statement read.

    They are computed in one pass over the rows and kept inside the engine until ``close``; an engine that keeps nothing
    computes them again for each pass.
    """

    def __init__(self, selection: Selection, name: str | None = None) -> None:
        """``name``: a column; where it says so, records without a value in it are left out of all totals."""
        self._selection = selection
        self._dropped = name if selection.drops(name) else None
        self._values: dict[tuple[str, Grid, float | None, int], str] = {}
        self._each: exp.Expr | None = None
        self._people: exp.Expr | None = None
        self._number: int | None = None

    def __repr__(self) -> str:
        return "PeopleTotals(<private>)"

    def add(self, name: str, grid: Grid, missing: float | None, lowest: int = 0) -> str:
        """Read this column too, in steps above the lowest; what its total is called."""
        key = (name, grid, missing, lowest)
        if (self._selection.drops(name) and name != self._dropped) or (key not in self._values and self._each):
            raise RuntimeError("totals are of records that have a value, and all are known before the first is read")
        return self._values.setdefault(key, f"v{len(self._values)}")

    def each(self) -> exp.Expr:
        """One row for each person u and group i: their rows c, and totals."""
        if self._each is None:
            self._each = self._selection.engine.kept(self._query())
        return _called(self._each, EACH)

    def people(self) -> exp.Expr:
        """One row for each person u: rows n, groups g, and the sizes of each total in all groups together."""
        if self._people is None:
            self._people = self._selection.engine.kept(self._sizes())
        return _called(self._people, PEOPLE)

    def number(self) -> int:
        """How many people there are."""
        if self._number is None:
            table = self.people() if self._selection.by else self.each()
            ((number,),) = self._selection.engine.rows(exp.select(counted()).from_(table))
            self._number = int(number)
        return self._number

    def close(self) -> None:
        """Let go of what was kept."""
        kept, self._each, self._people, self._number = (self._people, self._each), None, None, None
        for table in kept:
            if table is not None:
                self._selection.engine.forget(table)

    def _query(self) -> exp.Select:
        here, wanted = self._selection, {value: key for key, value in self._values.items()}
        read = {value: here.value(name, None) for value, (name, _, _, _) in wanted.items()}
        rows = here.in_groups(here.owned(read, self._dropped).subquery("t"))
        group = [exp.alias_(exp.column(GROUP, table="g"), GROUP)] if here.by else []
        steps = [
            exp.alias_(_above(here.filled_steps(exp.column(value, table="t"), grid, missing), lowest), f"w_{value}")
            for value, (_, grid, missing, lowest) in wanted.items()
        ]
        flat = rows.select(exp.alias_(exp.column("u", table="t"), "u"), *group, *steps).subquery("flat")
        keys = [exp.column("u"), *([exp.column(GROUP)] if here.by else [])]
        number = exp.alias_(exp.cast(counted(), "bigint"), "c")
        totals = [exp.alias_(self._cut(exp.column(f"w_{value}")), value) for value in wanted]
        return exp.select(*keys, number, *totals).from_(flat).group_by(*(key.copy() for key in keys))

    def _sizes(self) -> exp.Select:
        numbers = {"n": exp.Sum(this=exp.column("c")), "g": counted()}
        sizes = [exp.alias_(exp.cast(number, "bigint"), name) for name, number in numbers.items()]
        for value in self._values.values():
            size = exp.Abs(this=exp.column(value))
            sizes += [exp.alias_(self._cut(size), f"a_{value}"), exp.alias_(self._whole(size), f"b_{value}")]
        return exp.select(exp.column("u"), *sizes).from_(self.each()).group_by(exp.column("u"))

    def _cut(self, whole: exp.Expr) -> exp.Expr:
        return self._selection.engine.cut_sum(whole, MOST_TOTAL + 1)

    def _whole(self, size: exp.Expr) -> exp.Expr:
        """A sum of which nothing is cut as a double, rounded once: either half has fewer than 53 bits."""
        engine = self._selection.engine
        high, low = (exp.cast(half, "double") for half in engine.halves(engine.exact_sum(size.copy())))
        return exp.Add(this=exp.Mul(this=high, expression=double_literal(float(1 << HALF_BITS))), expression=low)


@dataclass(frozen=True)
class PeopleGroup:
    """Private: the people of one group; with them those of all others, because a limit is that of all together."""

    people: PeopleRecords
    index: int

    def __repr__(self) -> str:
        return "PeopleGroup(<private>)"


def _called(table: exp.Expr, name: str) -> exp.Expr:
    named = table.copy()
    named.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
    return named


def _above(steps: exp.Expr, lowest: int) -> exp.Expr:
    return steps if lowest == 0 else exp.Paren(this=exp.Sub(this=steps, expression=exp.Paren(this=literal(lowest))))


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
