"""Families of counting queries (V17 Table 2.1): points, thresholds, attribute means, conjunctions, predicates."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias, cast

from dither.errors import InvalidArgument
from dither.mechanisms.mechanism import Prepared
from dither.plain import JsonObject
from dither.queries.parameters import ColumnNames, Flag, NumbersParameter, Text, Whole
from dither.queries.plan import Options, Plan
from dither.queries.query import Field, Missing, Query, StatisticQuery
from dither.queries.registry import Menu, query
from dither.queries.tables import TableRecords
from dither.queries.totals import no_bits
from dither.queries.unbounded import MOST_ENTRIES, CategoryEntries
from dither.queries.vectors import Histogram, column_names
from dither.release import Counted
from dither.sources.column import Column, Shape, Table, columns_of, only_columns, read_bits, table_shape_of
from dither.sources.entries import truths
from dither.sources.frames import named_columns
from dither.sources.grid import BIT, Grid
from dither.sources.schema import Schema
from dither.sources.types import Boolean
from dither.sources.windows import BinnedRecords
from dither.statistics.bit_workloads import attribute_means, conjunctions
from dither.statistics.workloads import Family, WorkloadCounts, points, predicates, thresholds
from dither.typing import (
    Categories,
    CategoryValue,
    Columns,
    CountIntervals,
    Counts,
    EntriesData,
    MechanismChoice,
    Names,
    Nulls,
    NumberList,
    Predicate,
)

FamilyName: TypeAlias = Literal["attribute_means", "conjunctions", "points", "thresholds"]
FamilyChoice: TypeAlias = FamilyName | Sequence[Predicate]
"""A family by name, or functions of a bin."""
OF_BITS: tuple[FamilyName, ...] = ("attribute_means", "conjunctions")
OF_BINS: tuple[FamilyName, ...] = ("points", "thresholds")
MOST_QUERIES = 1 << 16
"""A release has at most so many numbers."""


@query(
    "counting_queries",
    of="columns",
    menu=Menu("Distribution", "Counting queries", ("boolean",)),
    proof="counting_queries",
    parameters={
        "columns": ColumnNames("Columns", "None chosen: all of true and false."),
        "family": Text("Family", choices=(*OF_BITS, *OF_BINS), is_advanced=True),
        "width": Whole("Literals in a conjunction", "Empty: any number.", least=1, most=1_000, is_advanced=True),
        "edges": NumbersParameter(
            "Edges of bins", "For points and thresholds of one column of numbers.", is_advanced=True
        ),
        "joint": Flag("Intervals that all cover at once", is_advanced=True),
    },
    any_type=lambda asked: asked.edges is None,
)
@dataclass(frozen=True)
class CountingQueries(StatisticQuery[Counts, CountIntervals, Columns | EntriesData]):
    """How many records satisfy each predicate of a family, with noise for the whole family.

    columns: the columns of bits of "attribute_means" and "conjunctions", or the one column of the other families.
    family: "attribute_means" (how many records have each attribute), "conjunctions" (how many agree with each choice of
        values for ``width`` attributes, or for any number), "points" (how many are in each bin), "thresholds" (how many
        are in each bin or before it), or a list of functions of a bin's category or label: evaluated on the declared
        bins, never on records.
    edges, categories, nulls: the bins of one column, as for ``histogram``.
    joint: intervals that cover all counts at once with the stated confidence (union bound).

    Entries of columns of bits are truth values: numbers other than 0 count as 1, a missing one as 0.  "auto" is the
    mechanism with the least expected error: noise on each count, the cube's noise ("k_norm"), or sums over one noisy
    histogram.

    >>> import dither as dt
    >>> rows = [[1, 0, 1], [1, 1, 0]] * 500
    >>> release = dt.counting_queries(rows, family="attribute_means", epsilon=1.0)
    >>> release.mechanism, 900 < release.value[0] <= 1000
    ('k_norm', True)
    """

    columns: Names | None = None
    family: FamilyChoice = field(default="attribute_means", kw_only=True)
    width: int | None = field(default=None, kw_only=True)
    edges: NumberList | None = field(default=None, kw_only=True)
    categories: Categories | None = field(default=None, kw_only=True)
    nulls: Nulls | None = field(default=None, kw_only=True)
    joint: bool = field(default=False, kw_only=True)
    noun: ClassVar[str] = "counting queries"
    column = None
    default_drop = True
    accepts = ("where",)

    def __post_init__(self) -> None:
        if self.columns is not None:
            object.__setattr__(self, "columns", column_names(self.columns))
        if isinstance(self.family, str) and self.family not in (*OF_BITS, *OF_BINS):
            accepted = f"must be one of {', '.join((*OF_BITS, *OF_BINS))} or a list of functions"
            raise InvalidArgument("family", self.family, accepted)
        if not isinstance(self.family, str):
            listed = tuple(self.family) if hasattr(self.family, "__iter__") else ()
            if not listed or not all(callable(candidate) for candidate in listed):
                raise InvalidArgument("family", type(self.family), "must be a name or a list of functions of a bin")
            object.__setattr__(self, "family", listed)
        if not isinstance(self.joint, bool):
            raise InvalidArgument("joint", self.joint, "must be True or False")
        if self.width is not None and self.family != "conjunctions":
            raise InvalidArgument("width", self.width, "is for family='conjunctions': leave it out")
        if self._of_bits:
            for name in ("edges", "categories", "nulls"):
                if getattr(self, name) is not None:
                    raise InvalidArgument(name, getattr(self, name), f"is for {' and '.join(OF_BINS)}: leave it out")
        elif self.columns is not None and len(self.columns) != 1:
            raise InvalidArgument("columns", self.columns, f"must be one column for family={self._family_name!r}")
        elif self.edges is not None or self.categories is not None:
            self._bins  # noqa: B018  (refuses what are no bins)

    @property
    def _of_bits(self) -> bool:
        return self.family in OF_BITS

    @property
    def _family_name(self) -> str:
        return self.family if isinstance(self.family, str) else "predicates"

    @functools.cached_property
    def _bins(self) -> Histogram:
        """The histogram whose bins are the domain of a family of one column."""
        name = None if self.columns is None else self.columns[0]
        return Histogram(name, edges=self.edges, categories=self.categories, nulls=self.nulls)

    @property
    def domain(self) -> Histogram | None:
        """The histogram whose bins are the domain of a family of one column; None of columns of bits."""
        return None if self._of_bits else self._declared_bins

    def bins_of_queries(self) -> tuple[tuple[bool, ...], ...]:
        """Of a family of one column: for each query, which bins of its domain it counts."""
        bins = range(len(self._declared_bins.bin_labels))
        if isinstance(self.family, tuple):
            return tuple(tuple(bool(member(value)) for value in self._values) for member in self.family)
        if self.family == "points":
            return tuple(tuple(place == item for place in bins) for item in bins)
        return tuple(tuple(place <= item for place in bins) for item in bins)

    @property
    def _declared_bins(self) -> Histogram:
        if self.edges is None and self.categories is None:
            raise InvalidArgument("edges", None, "edges=[...] of numbers or categories=[...] must be declared")
        return self._bins

    @property
    def label(self) -> str:
        asked = self._family_name.replace("_", " ")
        if self.width is not None:
            asked += f" of {self.width}"
        return f"{self.noun} ({asked})" + ("" if self.columns is None else f" of {', '.join(self.columns)}")

    def shape(self, data: Columns | EntriesData) -> Shape:
        if self._of_bits:
            return table_shape_of(only_columns(data, self.columns))
        return self._declared_bins.shape(self._one_column(data))

    def _one_column(self, data: Columns | EntriesData) -> EntriesData:
        if self.columns is None or named_columns(data) is None:
            return cast("EntriesData", data)
        return cast("EntriesData", only_columns(data, self.columns)[self.columns[0]])

    def _asked(self, shape: Shape) -> tuple[Family, tuple[str, ...]]:
        """The family and what each of its queries is called, from public facts."""
        if self._of_bits:
            names = shape.names or tuple(f"x{j + 1}" for j in range(shape.columns))
            if self.family == "attribute_means":
                return attribute_means(shape.columns), names
            chosen = conjunctions(shape.columns, width=self.width)
            _check_size(chosen)
            asked = (
                " and ".join(f"{names[j]}={bit}" for j, bit in label.items()) or "all" for label in chosen.labels()
            )
            return chosen, tuple(asked)
        bins = self._declared_bins
        labels = bins.bin_labels
        if len(labels) < 2:
            raise InvalidArgument("edges", list(labels), "must give at least two bins")
        if isinstance(self.family, tuple):
            values = labels if self.categories is None else (*self.categories, "other")
            return predicates(self.family, values=values), tuple(map(_named, enumerate(self.family)))
        if self.family == "points":
            return points(labels), labels
        if self.edges is None:
            return thresholds(labels), tuple(f"up to {label}" for label in labels)
        *ends, last = (label.rpartition(" to ")[2] for label in labels)
        return thresholds(labels), (*(f"below {end}" for end in ends), f"up to {last}")

    def grids(self, shape: Shape) -> tuple[Grid, ...]:
        """A grid for each column of bits; public."""
        return (BIT,) * shape.columns

    def resolve(self, shape: Shape) -> WorkloadCounts:
        family, labels = self._asked(shape)
        _check_size(family)
        return WorkloadCounts(family, labels, shape.records, shape.neighbours, shape.rows_per_person)

    def plan(self, facts: Shape, options: Options) -> Plan:
        if not self.joint or options.miss is None:
            return super().plan(facts, options)
        missed = options.miss / self._asked(facts)[0].queries
        plan = super().plan(facts, dataclasses.replace(options, confidence=1 - missed))
        return dataclasses.replace(plan, confidence=options.level)  # type: ignore[type-var]

    def read(self, data: Columns | EntriesData, shape: Shape) -> Table | Column | CategoryEntries:
        if self._of_bits:
            columns = columns_of(only_columns(data, self.columns), read=truths)
            return Table([read_bits(column) for column in columns])
        return self._bins.read(self._one_column(data), shape)

    def drops_with(self, mechanism: MechanismChoice) -> bool:
        return self.edges is not None and super().drops_with(mechanism)

    def drops_in(self, schema: Schema, mechanism: MechanismChoice) -> tuple[str, ...]:
        return () if self.edges is None or self.columns is None else self._bins.drops_in(schema, mechanism)

    def clamped(self, facts: Shape) -> Counted:
        return None if self.edges is None else self._bins.clamped(facts)

    def missing(self, shape: Shape) -> Missing:
        if self._of_bits:
            return 0 if shape.nullable else None
        return self._bins.missing(shape)

    # --- in a table ----------------------------------------------------------------------------------------

    def bound(self, schema: Schema) -> Query:
        if self._of_bits:
            bits = tuple(name for name, column in schema.columns.items() if isinstance(column, Boolean))
            columns = self.columns or bits
            for name in columns:
                declared = schema.column(name, "columns")
                if not isinstance(declared, Boolean):
                    raise no_bits("columns", name, declared)
            if not columns:
                raise InvalidArgument("columns", None, "the schema declares no column of true and false")
            return dataclasses.replace(self, columns=columns)
        if self.columns is None:
            raise InvalidArgument("columns", None, f"must be one column: {', '.join(schema.columns)}")
        bins = self._bins.bound(schema)
        given = {name: getattr(bins, name) for name in ("edges", "categories", "nulls")}
        if given["edges"] is None and given["categories"] is None:
            raise InvalidArgument("categories", None, "the schema does not declare its categories: name them")
        return dataclasses.replace(self, **given)

    @property
    def used(self) -> tuple[str, ...]:
        return () if self.columns is None else tuple(self.columns)

    def table_facts(self, schema: Schema, shape: Shape) -> Shape:
        if self._of_bits and schema.most_rows * len(self.used) > MOST_ENTRIES:
            accepted = f"must be about at most {MOST_ENTRIES:,} entries in its columns, because it reads whole rows"
            raise InvalidArgument("query", self.name, accepted)
        return dataclasses.replace(shape, columns=len(self.used), names=self.used)

    def select(
        self, records: TableRecords, prepared: Prepared | None
    ) -> Sequence[Table | BinnedRecords | CategoryEntries]:
        return [Table(records.steps(self.used))] if self._of_bits else self._bins.select(records, prepared)

    def missing_in(self, schema: Schema) -> Missing:
        if not self._of_bits:
            return self._bins.missing_in(schema)
        each = {schema.measured(name).missing for name in self.used}
        return each.pop() if len(each) == 1 else None

    # --- in JSON and in a ledger ---------------------------------------------------------------------------

    def parameters(self) -> dict[str, Field]:
        if isinstance(self.family, tuple):
            raise InvalidArgument(
                "family", "<functions>", f"must be one of {', '.join((*OF_BITS, *OF_BINS))} where a server is asked"
            )
        return super().parameters()

    def stored(self) -> JsonObject:
        # What functions ask is what they say about the public bins.
        asked = dataclasses.replace(self, family="points") if isinstance(self.family, tuple) else self
        kept = super(CountingQueries, asked).stored()
        if isinstance(self.family, tuple):
            kept["family"] = [[int(bool(member(value))) for value in self._values] for member in self.family]
        return kept | ({} if self.categories is None else {"categories": list(self._bins.names)})

    def stored_0_1_0(self) -> JsonObject:
        return {"kind": "CountingQueries", **self.stored()}  # version 0.1.0 did not have it

    plain_0_1_0 = True

    @property
    def _values(self) -> tuple[CategoryValue, ...]:
        return self._bins.bin_labels if self.categories is None else (*self.categories, "other")


def _named(numbered: tuple[int, Predicate]) -> str:
    place, function = numbered
    name = getattr(function, "__name__", "<lambda>")
    return f"query {place + 1}" if name == "<lambda>" else name


def _check_size(family: Family) -> None:
    if family.queries > MOST_QUERIES:
        raise InvalidArgument(
            "family",
            f"<{family.queries} queries>",
            f"must give at most {MOST_QUERIES} queries: name fewer columns or a smaller width",
        )
