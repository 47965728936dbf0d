"""A selection: which records of a table a question is about, as a query that the engine runs.

Filtering, leaving out missing values, bounding what one person contributes, grouping and rounding to the grid all
happen inside the engine.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from dither.errors import InvalidArgument, SourceFailed
from dither.sources.engines.engine import Engine, clamped, column, double_literal, floored, is_power_of_two
from dither.sources.formats import ISO_MOMENTS
from dither.sources.grid import Grid
from dither.sources.predicates import Predicate, literal
from dither.sources.schema import Schema
from dither.sources.states import AS_DECLARED, CLAMPED, MISSING, UNREADABLE
from dither.sources.types import Boolean, Category, Date, Duration, Measured, Real, Timestamp

MOST_GROUPS = 20_000
_MOST_EXACT_STEPS = 1 << 49
"""Products of a size and up to so many steps, and their quotients, err by at most an eighth of a step."""
VALUE, GROUP = "x", "i"
"""Names inside our own queries: a record's number and its group."""
_COUNT = exp.Count(this=exp.Star())


Key: TypeAlias = tuple[str | int, ...]
"""The values of the columns that records are grouped by."""


@dataclass(frozen=True)
class Selection:
    """The records that satisfy a filter, by group, with at most the declared rows of each person."""

    engine: Engine
    schema: Schema
    predicate: Predicate | None = None
    by: tuple[str, ...] = ()
    keys: tuple[Key, ...] | None = None
    """The keys of the groups, one value for each column in ``by``; None: all declared ones."""
    secret: str = ""
    """Decides which rows of a person are kept: a key that is fixed for each account of a ledger."""
    reads: Literal["value", "presence", "state"] = "value"
    """What is read of a column: its value, 1 or 0 for whether it has one, or its state (``sources.states``)."""

    @functools.cached_property
    def groups(self) -> tuple[Key, ...]:
        """The keys of all groups, in order; one empty key where nothing is grouped."""
        if self.keys is not None:
            return self.keys
        return tuple(itertools.product(*(self.schema.column(name, "by").keys(name) for name in self.by)))

    def cleaned(self, name: str) -> exp.Expr:
        """A declared column as a number, a day number, 0 or 1, or a text; NULL if missing."""
        declared, stored_type = self.schema.column(name), self.engine.stored_types()[name]
        if isinstance(declared, Category):
            return self.engine.text(name, stored_type)
        if isinstance(declared, Boolean):
            return self.engine.truth(name, stored_type, numbers=self.schema.version != 1)
        if isinstance(declared, Timestamp):
            return floored(self.engine.second(name, stored_type, declared.written), declared.step)
        if isinstance(declared, Duration):
            return self.engine.span(name, stored_type, declared.spans)
        if isinstance(declared, Date):
            usual = None if self.schema.version == 1 else ISO_MOMENTS
            return self.engine.day(name, stored_type, declared.written or usual)
        return self.engine.number(name, stored_type, declared.written if isinstance(declared, Real) else None)

    def _condition(self, predicate: Predicate) -> exp.Expr:
        return predicate.expression({name: self.cleaned(name) for name in predicate.columns()})

    def _key(self, name: str) -> exp.Expr:
        """A column to group by: whole numbers stay whole, which engines join fastest."""
        if self.schema.column(name).type_name == "integer" and self.engine.stored_types()[name] == "whole":
            return self.engine.whole_key(name)
        return self.cleaned(name)

    def value(self, name: str | None, missing: float | None) -> exp.Expr:
        """What a question reads of a record: 1, a text (NULL if missing), or a finite double that is never NULL.

        ``missing``: the public number that a record without one counts as; None where such records are left out.
        """
        if name is None:
            return literal(1)
        cleaned = self.cleaned(name)
        if self.reads != "value":
            known = exp.case().when(_known(cleaned), literal(1)).else_(literal(0))
            return exp.cast(known if self.reads == "presence" else self.state(name), "double")
        if isinstance(self.schema.column(name), Category):
            return cleaned
        number = exp.cast(cleaned, "double", copy=False)
        return number if missing is None else exp.Coalesce(this=number, expressions=[double_literal(missing)])

    def state(self, name: str) -> exp.Expr:
        """What became of a record's entry when it was read: see ``sources.states``."""
        if (known := self.engine.entry_state(name)) is not None:
            return known
        declared, stored_type = self.schema.column(name), self.engine.stored_types()[name]
        cleaned = self.cleaned(name)
        empty = exp.Is(this=cleaned.copy(), expression=exp.Null())
        has_nan = stored_type == "real" and self.engine.stores_nan
        absent = empty if has_nan else exp.Is(this=column(name), expression=exp.Null())
        result = exp.case().when(absent, literal(MISSING)).when(empty.copy(), literal(UNREADABLE))
        if isinstance(declared, Category) and declared.values is not None:
            listed = exp.In(this=cleaned, expressions=[literal(value) for value in declared.values])
            result = result.when(exp.Not(this=listed), literal(UNREADABLE))
        if isinstance(declared, Measured) and declared.is_bounded:
            low, high = (double_literal(raw_value(declared.grid, end)) for end in declared.grid.ends)
            number = exp.cast(cleaned, "double")
            outside = exp.or_(exp.LT(this=number, expression=low), exp.GT(this=number.copy(), expression=high))
            result = result.when(outside, literal(CLAMPED))
        return result.else_(literal(AS_DECLARED))

    def records(
        self, name: str | None, grid: Grid | None, missing: float | None, fraction: float | None = None
    ) -> exp.Select:
        """x for every selected record (see ``value``), and its keys k0, k1, ...; a sample of them if wanted."""
        chosen = self._chosen(name, missing, fraction)
        return chosen if self.schema.unit is None else self._bounded(chosen, name, grid)

    def owned(self, values: Mapping[str, exp.Expr], dropped: str | None) -> exp.Select:
        """Several values of all rows of each person by name, and the person of each row as u.

        ``dropped``: a column without which a record is left out.
        """
        chosen = self._with_unit(self.together(values))
        return chosen if dropped is None else chosen.where(_known(self.cleaned(dropped)))

    def _chosen(self, name: str | None, missing: float | None, fraction: float | None = None) -> exp.Select:
        # Trees are written in place: copies of what was just built would take most of the time of a small question.
        value = exp.alias_(self.value(name, missing), VALUE, copy=False)
        chosen = exp.select(value, copy=False).from_(self.engine.table(fraction))
        for place, key in enumerate(self.by):
            chosen.select(exp.alias_(self._key(key), f"k{place}", copy=False), copy=False)
        if self.predicate is not None:
            chosen.where(self._condition(self.predicate), copy=False)
        if name is not None and self.drops(name):
            chosen.where(_known(self.cleaned(name)), copy=False)
        return chosen

    def drops(self, name: str | None) -> bool:
        """Whether records in which this column has no value are left out."""
        return name is not None and self.reads == "value" and self.schema.column(name).drops_nulls

    def check_rows(self, records: int, expected: int | None) -> None:
        """Fail where the number of rows that the schema declares is wrong: that number is public.

        ``expected``: how many records of all groups there must be, if that is known.  There must never be more than
        that: draws reach as far as the declared number of rows, and would have next to no noise among more records.
        """
        if records > self.schema.most_rows or expected not in (None, records):
            raise SourceFailed(
                f"the source does not have the {self.schema.most_rows} rows that its schema declares: correct rows in "
                "the schema, or make it private; what was charged stays charged"
            )

    def together(self, values: Mapping[str, exp.Expr], fraction: float | None = None) -> exp.Select:
        """Several values of every selected record by name, and its keys k0, k1, ..."""
        chosen = exp.Select().from_(self.engine.table(fraction))
        chosen = chosen.select(*(exp.alias_(value, name) for name, value in values.items()))
        chosen = chosen.select(*(exp.alias_(self._key(key), f"k{place}") for place, key in enumerate(self.by)))
        return chosen if self.predicate is None else chosen.where(self._condition(self.predicate))

    def _bounded(self, chosen: exp.Select, name: str | None, grid: Grid | None) -> exp.Select:
        """At most the declared rows of each person: those whose hash with a secret is least.

        What is hashed are a person's own rounded values, so what is kept of one person does not depend on others, and
        it is the same in every pass over the data and in every engine.
        """
        chosen = self._with_unit(chosen)
        if grid is not None:
            payload: list[exp.Expr] = [self.steps(column(VALUE), grid)]
        elif name is not None and self.reads == "value" and isinstance(self.schema.column(name), Category):
            payload = [column(VALUE)]
        else:
            payload = self.whole_parts(exp.cast(column(VALUE), "double"))
        payload += self._hashed_keys([f"k{place}" for place in range(len(self.by))])
        return self._fewest(chosen, payload, [VALUE, *(f"k{index}" for index in range(len(self.by)))])

    def whole_parts(self, number: exp.Expr) -> list[exp.Expr]:
        """A finite double that is not NULL as whole numbers, which have the same text in every engine.

        Numbers that have the same parts, about 2^-31 apart, are told apart by their order.
        """
        most = double_literal(2.0**51)
        inside = clamped(number, exp.Neg(this=most), most.copy())
        whole = self.engine.nearest(inside)
        # Both differences are exact: a double minus the nearest whole number, and a power of two times that.
        rest = exp.Paren(this=exp.Sub(this=inside.copy(), expression=exp.cast(whole.copy(), "double")))
        return [whole, self.engine.nearest(exp.Mul(this=rest, expression=double_literal(2.0**30)))]

    def _with_unit(self, chosen: exp.Select) -> exp.Select:
        """The person of every row as u; rows without one are left out."""
        name = str(self.schema.unit)
        unit = self.engine.person(name, self.engine.stored_types()[name])
        return chosen.select(exp.alias_(unit, "u")).where(_known(unit.copy()))

    def _fewest(self, chosen: exp.Select, payload: Sequence[exp.Expr], names: list[str]) -> exp.Select:
        """Of each person u the declared number of rows: those with the least hash of their payload.

        Rows with equal hashes are in the order of what is read of them (``names``), and rows that are equal in that are
        interchangeable: the order of the table decides nothing.
        """
        parts: list[exp.Expr] = [exp.cast(column("u"), "text")]
        for part in payload:
            text = exp.cast(part.copy(), "text")
            parts += [exp.Literal.string("|"), exp.Coalesce(this=text, expressions=[exp.Literal.string("")])]
        order = exp.Order(
            expressions=[
                self.keyed_hash(*parts),
                *(exp.Ordered(this=column(name), nulls_first=False) for name in names if name != "u"),
            ]
        )
        place = exp.Window(this=exp.RowNumber(), partition_by=[column("u")], order=order)
        ranked = exp.select(*(column(name) for name in names), exp.alias_(place, "r")).from_(chosen.subquery("chosen"))
        within = exp.LTE(this=column("r"), expression=literal(self.schema.row_limit))
        return exp.select(*(column(name) for name in names)).from_(ranked.subquery("ranked")).where(within)

    def keyed_hash(self, *parts: exp.Expr) -> exp.Expr:
        """A hash of texts under the secret of this release."""
        texts = [exp.Literal.string(self.secret), *parts]
        return exp.MD5(this=functools.reduce(lambda item, two: exp.DPipe(this=item, expression=two), texts))

    def tuples(self, names: Sequence[str]) -> tuple[exp.Select, list[str]]:
        """Several columns of every selected record, c0, c1, ... and their kinds; with a unit, also a hash of it as h.

        Columns of numbers and dates are rounded to their grid, missing values being what the schema says; a record is
        left out where a column that drops missing values has none.  Texts may be missing.
        """
        chosen, stored_types = self._declared(names)
        if self.schema.unit is None:
            return chosen, stored_types
        listed = [f"c{place}" for place in range(len(names))]
        payload = self._hashed(listed, stored_types)
        kept = self._fewest(self._with_unit(chosen), payload, [*listed, "u"])
        person = self.keyed_hash(exp.Literal.string("|person|"), exp.cast(column("u"), "text"))
        hashed = exp.select(*(column(candidate) for candidate in listed), exp.alias_(person, "h")).from_(
            kept.subquery("kept")
        )
        return hashed, [*stored_types, "text"]

    def _hashed(self, names: Sequence[str], stored_types: Sequence[str]) -> list[exp.Expr]:
        """What is hashed of columns c0, c1, ...: whole numbers and texts."""
        return [
            part
            for name, stored_type in zip(names, stored_types, strict=True)
            for part in (self.whole_parts(column(name)) if stored_type == "real" else [column(name)])
        ]

    def _hashed_keys(self, names: Sequence[str]) -> list[exp.Expr]:
        """What is hashed of the keys of a record, which may be NULL."""
        result: list[exp.Expr] = []
        for name, key in zip(names, self.by, strict=True):
            if self.schema.column(key).type_name == "integer" and self.engine.stored_types()[key] != "whole":
                parts = self.whole_parts(exp.cast(column(name), "double"))
                result += [exp.case().when(_known(column(name)), part).else_(exp.Null()) for part in parts]
            else:
                result.append(column(name))
        return result

    def marked_tuples(self, names: Sequence[str]) -> tuple[exp.Select, list[str]]:
        """The same of rows without people, and last of all 1 where any of the columns is missing, else 0."""
        chosen, stored_types = self._declared(names)
        known = exp.and_(*(_known(self.cleaned(name)) for name in names))
        mark = exp.case().when(known, literal(0)).else_(literal(1))
        return chosen.select(exp.alias_(exp.cast(mark, "bigint"), "m")), [*stored_types, "whole"]

    def grouped_tuples(self, names: Sequence[str]) -> tuple[exp.Select, list[str]]:
        """The same without people, behind the index of each record's group (0 where nothing is grouped)."""
        chosen, stored_types = self._declared(names)
        read, keys = ([f"{letter}{place}" for place in range(len(of))] for letter, of in (("c", names), ("k", self.by)))
        for key, name in zip(keys, self.by, strict=True):
            chosen = chosen.select(exp.alias_(self._key(name), key))
        if self.schema.unit is not None:
            payload = [*self._hashed(read, stored_types), *self._hashed_keys(keys)]
            chosen = self._fewest(self._with_unit(chosen), payload, [*read, *keys])
        group = exp.cast(exp.column(GROUP, table="g") if self.by else literal(0), "bigint")
        columns = [exp.column(item, table="t") for item in read]
        return self.in_groups(chosen.subquery("t")).select(exp.alias_(group, GROUP), *columns), [
            "whole",
            *stored_types,
        ]

    def _declared(self, names: Sequence[str]) -> tuple[exp.Select, list[str]]:
        """c0, c1, ... of every selected record, and their kinds."""
        chosen = exp.Select().from_(self.engine.table())
        if self.predicate is not None:
            chosen = chosen.where(self._condition(self.predicate))
        stored_types = []
        for place, name in enumerate(names):
            declared, value = self.schema.column(name, "columns"), self.cleaned(name)
            if declared.drops_nulls:
                chosen = chosen.where(_known(value.copy()))
            measured = isinstance(declared, Measured)
            if isinstance(declared, Measured) and not declared.is_bounded:
                value = self.value(name, None if declared.drops_nulls else declared.missing_value)
                chosen = chosen.select(exp.alias_(value, f"c{place}"))
                stored_types.append("real")
                continue
            if isinstance(declared, Measured):
                missing = None if declared.drops_nulls else raw_value(declared.grid, declared.missing)
                value = self.steps(self.value(name, missing), declared.grid)
            chosen = chosen.select(exp.alias_(value, f"c{place}"))
            stored_types.append("whole" if measured else "text")
        return chosen, stored_types

    def grouped(self, name: str | None, missing: float | None) -> exp.Select:
        """``FROM`` the records joined with their groups, nothing selected yet."""
        return self.in_groups(self.records(name, None, missing).subquery("t"))

    def in_groups(self, records: exp.Expr, brackets: Mapping[int, tuple[float, ...]] | None = None) -> exp.Select:
        """``FROM`` records t with keys k0, k1, ... joined with the groups g that they belong to.

        ``brackets``: the numbers of each group that are called ``end_name(0)``, ``end_name(1)``, ...; no other groups.
        """
        if not self.by:
            return exp.Select().from_(records, copy=False)
        ends = len(next(iter(brackets.values()))) if brackets else 0
        names = [GROUP, *(f"g{place}" for place in range(len(self.by))), *(end_name(place) for place in range(ends))]
        listed = self.engine.values(
            [
                (index, *key, *(() if brackets is None else brackets[index]))
                for index, key in enumerate(self.groups)
                if brackets is None or index in brackets
            ],
            "g",
            names,
        )
        same = exp.and_(
            *(
                exp.EQ(this=exp.column(f"k{place}", table="t"), expression=exp.column(f"g{place}", table="g"))
                for place in range(len(self.by))
            )
        )
        return exp.Select().from_(records, copy=False).join(listed, on=same, copy=False)

    def steps(self, value: exp.Expr, grid: Grid) -> exp.Expr:
        """A number that is not NULL, rounded to the grid and clamped as ``Grid.quantise`` does it, step by step."""
        # Clamped before it is divided, which engines raise errors on; the ends themselves round to themselves.
        return self._rounded(clamped(value, *_ends(grid)), grid)

    def filled_steps(self, name: exp.Column, grid: Grid, missing: float | None) -> exp.Expr:
        """The same of a column, with a number in the place of NULL: in one expression, which takes half the time."""
        low, high = _ends(grid)
        inside = exp.Between(this=name.copy(), low=low.copy(), high=high.copy())
        filled = (
            exp.case()
            .when(inside, name.copy())
            .when(exp.LT(this=name.copy(), expression=low), low.copy())
            .when(exp.GT(this=name.copy(), expression=high), high.copy())
        )
        if missing is not None:
            filled = filled.else_(clamped(double_literal(missing), low.copy(), high.copy()))
        return self._rounded(exp.Paren(this=filled), grid)

    def _rounded(self, inside: exp.Expr, grid: Grid) -> exp.Expr:
        low, high = grid.ends
        size = _size(grid)
        steps = self.engine.nearest_multiple(inside, size)
        if max(abs(low), abs(high)) <= _MOST_EXACT_STEPS or is_power_of_two(size):  # (then quotients are exact)
            return steps
        return clamped(steps, literal(low), literal(high))


def _ends(grid: Grid) -> tuple[exp.Expr, exp.Expr]:
    """What numbers are clamped to, as doubles."""
    low, high = (double_literal(raw_value(grid, end)) for end in grid.ends)
    return low, high


def _size(grid: Grid) -> float:
    return grid.step.numerator / grid.step.denominator


def raw_value(grid: Grid, steps: int) -> float:
    """A double that rounds to this grid point: the nearest to it."""
    return steps * _size(grid)


def at_most_groups(by: list[str], schema: Schema) -> None:
    """Refuse, from public facts, more groups than one question may have."""
    stored_types = [(name, schema.column(name, "by")) for name in by]
    declared = [
        len(stored_type.keys(name))
        for name, stored_type in stored_types
        if not isinstance(stored_type, Category) or stored_type.values
    ]
    if (total := math.prod(declared)) > MOST_GROUPS:
        raise InvalidArgument("by", by, f"must give at most {MOST_GROUPS} groups, these are {total}")


def _known(value: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=value, expression=exp.Null()))


def end_name(place: int) -> str:
    """What the number of a group is called inside our own queries; see ``Selection.grouped``."""
    return f"e{place}"


def count_if(condition: exp.Expr) -> exp.Expr:
    """How many records satisfy a condition."""
    return exp.Count(this=exp.case().when(condition, literal(1)))


def threshold(grid: Grid, steps: int) -> float:
    """The least double that rounds to at least so many steps: comparing with it replaces rounding every record."""
    return float(thresholds(grid, [steps])[0])


def thresholds(grid: Grid, steps: Sequence[int]) -> NDArray[np.float64]:
    """The same for many numbers of steps at once."""
    low, high = grid.ends
    wanted = np.array(steps, dtype=np.int64)
    size = _size(grid)
    result: NDArray[np.float64] = np.asarray((wanted - 0.5) * size, dtype=np.float64)

    def reached(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.asarray(grid.quantise(numbers, low) >= wanted)

    inside = (low < wanted) & (wanted <= high)
    while np.any(too_far := inside & reached(result)):
        result = np.asarray(np.where(too_far, np.nextafter(result, -np.inf), result), dtype=np.float64)
    while np.any(short := inside & ~reached(result)):
        result = np.asarray(np.where(short, np.nextafter(result, np.inf), result), dtype=np.float64)
    return np.where(wanted <= low, -np.inf, np.where(wanted > high, np.inf, result))


def counted() -> exp.Expr:
    """``COUNT(*)``."""
    return _COUNT.copy()
