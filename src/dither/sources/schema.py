"""A schema: what is public about a dataset.  Its owner writes it; nothing in it is computed from the records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dither.errors import InvalidArgument, suggested
from dither.numbers import Number, exact, plain
from dither.plain import Json
from dither.privacy import PRIVATE, Budget, Neighbours, Relation
from dither.sources.lines import USUAL, TextLayout
from dither.sources.linked_tables import LinkedTable, check_tables, names_of_columns, ownership
from dither.sources.types import DROP, Boolean, Category, ColumnType, Date, Measured, Real

if TYPE_CHECKING:
    from dither.sources.views import View

VERSIONS = (1, 2)
"""1 is the reading of version 0.1.0, which is also that of a file without a version."""
PRIOR_PARAMETERS: dict[str, tuple[str, ...]] = {
    "lognormal": ("median", "sigma"),
    "normal": ("mean", "sd"),
    "uniform": ("low", "high"),
    "exponential": ("mean", "low"),
}
"""The shapes that may be publicly known of a column's values, for quotes."""
MAY_BE_MISSING = {("exponential", "low")}
"""Parameters of priors that have a default."""
UNDECLARED = 0
"""No limit of rows: of a table with a unit column one must be declared."""
LIMIT_NEEDED = (
    "declare how many rows of one person are used: rows_per_unit = 10 uses at most 10 rows of each and leaves out the "
    'others; rows_per_unit = "private" has each answer find a limit and pay for it'
)
MOST_ROWS = 1 << 40
"""No source has more rows: the public bound on counts and sums where the number of rows is private."""


def check_version(version: int) -> None:
    """An error unless this version of schema files is known."""
    if type(version) is not int or version not in VERSIONS:
        raise InvalidArgument("version", version, f"must be {' or '.join(map(str, VERSIONS))}")


@dataclass(frozen=True)
class Schema:
    """Source, columns, people and budget of one dataset.

    ``rows`` is the public number of rows, or "private".  ``unit`` names the column that tells people apart and
    ``rows_per_unit`` how many rows of one person are used, or "private" where each release finds a limit and pays for
    it; without it every row is a person.
    """

    source: Any = field(repr=False)  # an engine's own
    """A path, an address or a frame; kept out of what is printed."""
    columns: Mapping[str, ColumnType]
    name: str = "data"
    rows: int | str = PRIVATE
    table: str | None = None
    engine: str | None = None
    unit: str | None = None
    rows_per_unit: int | str = UNDECLARED
    budget: Budget | None = None
    filter: str = "basic"
    slack: Number | None = None
    priors: Mapping[str, Mapping[str, Json]] = field(default_factory=dict, compare=False)
    """What is publicly known of columns: their shape and its parameters.  For quotes only; no answer depends on it."""
    folder: str | None = field(default=None, compare=False)
    """Where relative paths start: the folder of the schema file."""
    layout: TextLayout = field(default=USUAL, kw_only=True)
    """How a text file is laid out: delimiter, lines before the header, encoding."""
    version: int = field(default=VERSIONS[-1], kw_only=True, compare=False)
    """Which reading of schema files it was written for; 1 is that of dither 0.1.0."""
    tables: Mapping[str, LinkedTable] = field(default_factory=dict, kw_only=True)
    """Linked tables by their names; see ``linked``."""
    person: str | None = field(default=None, kw_only=True)
    """Which of the linked tables has a row for each person."""
    view: View | None = field(default=None, kw_only=True)
    """What a question reads instead of the table: a join of linked tables, columns that are computed."""

    @classmethod
    def linked(
        cls,
        tables: Mapping[str, LinkedTable],
        *,
        person: str,
        name: str = "data",
        rows_per_unit: int | str = UNDECLARED,
        budget: Budget | None = None,
        filter: str = "basic",
        slack: Number | None = None,
        priors: Mapping[str, Mapping[str, Json]] | None = None,
        folder: str | None = None,
        version: int = VERSIONS[-1],
    ) -> Schema:
        """The schema of several tables that are linked by keys; a person is what a key of ``person`` stands for.

        rows_per_unit: how many rows of one person are used, of whatever a question joins; "private": each release finds
            a limit and pays for it.

        >>> people = LinkedTable("people.csv", {"age": Real(0, 120)}, key="id")
        >>> visits = LinkedTable("visits.csv", {"cost": Real(0, 1000)}, links={"patient": "people"})
        >>> list(Schema.linked({"people": people, "visits": visits}, person="people", rows_per_unit=5).columns)
        ['age', 'cost']
        """
        check_tables(tables, person)
        called = names_of_columns(tables)
        columns = {called[table, item]: kind for table in tables for item, kind in tables[table].columns.items()}
        if not columns:
            raise InvalidArgument("tables", list(tables), "no column is declared in any of them")
        return cls(
            None,
            columns,
            name,
            unit=next(ownership(tables, person)),
            rows_per_unit=rows_per_unit,
            budget=budget,
            filter=filter,
            slack=slack,
            priors=priors or {},
            folder=folder,
            version=version,
            tables=dict(tables),
            person=person,
        )

    def __post_init__(self) -> None:
        check_version(self.version)
        if not isinstance(self.columns, Mapping) or not (self.columns or self.view):
            raise InvalidArgument(
                "columns", type(self.columns), "must be a mapping of names to types such as Real(0, 1)"
            )
        for name, declared in self.columns.items():
            if not isinstance(name, str) or not name:
                raise InvalidArgument("columns", name, "must be names of columns")
            if not isinstance(declared, ColumnType):
                raise InvalidArgument(f"columns.{name}", declared, "must be a type such as Real(0, 600_000)")
        if self.rows != PRIVATE and (not isinstance(self.rows, int) or isinstance(self.rows, bool) or self.rows < 1):
            raise InvalidArgument("rows", self.rows, 'must be the public number of rows, or "private"')
        if self.unit is None and self.rows_per_unit == UNDECLARED:
            object.__setattr__(self, "rows_per_unit", 1)  # every row is a person
        per_unit = self.rows_per_unit
        if per_unit == UNDECLARED:
            raise InvalidArgument("rows_per_unit", None, LIMIT_NEEDED)
        if per_unit != PRIVATE and (not isinstance(per_unit, int) or isinstance(per_unit, bool) or per_unit < 1):
            raise InvalidArgument("rows_per_unit", per_unit, 'must be a whole number of at least 1, or "private"')
        if self.unit is None and per_unit != 1:
            raise InvalidArgument("rows_per_unit", per_unit, "must be 1 without a unit column: declare unit=")
        if not isinstance(self.name, str) or not self.name:
            raise InvalidArgument("name", self.name, "must be a name")
        if self.slack is not None:
            object.__setattr__(self, "slack", plain(exact(self.slack, "slack")))

    @property
    def most_rows(self) -> int:
        """A public bound on the number of rows."""
        return self.rows if isinstance(self.rows, int) else MOST_ROWS

    @property
    def limit_is_private(self) -> bool:
        """True if how many rows of one person count is found by each release, which pays for it."""
        return self.rows_per_unit == PRIVATE

    @property
    def row_limit(self) -> int:
        """How many rows of one person count, where that is declared or was found."""
        if not isinstance(self.rows_per_unit, int):
            raise TypeError("the limit of rows is not found yet")
        return self.rows_per_unit

    @property
    def neighbours(self) -> Neighbours:
        """Which pairs of datasets every release of this dataset compares."""
        if self.unit is not None:
            return Neighbours.PERSON
        return Neighbours.CHANGE_ONE if isinstance(self.rows, int) else Neighbours.ADD_REMOVE_CHANGE

    @property
    def relation(self) -> Relation:
        """The neighbours with what tells people apart: set once, when the dataset is registered."""
        unit: tuple[str, ...] = () if self.unit is None else (self.unit,)
        if self.person is not None:
            unit = tuple(ownership(self.tables, self.person))
        return Relation(self.neighbours, unit, self.rows_per_unit)

    def leaving_out(self, names: Iterable[str]) -> Schema:
        """The schema as a query reads it that leaves out missing values of columns about which nothing is declared.

        Version 1 declares what they count as: the lower bound.
        """
        silent = {
            name: replace(declared, nulls=DROP)
            for name in names
            for declared in (self.columns.get(name),)
            if isinstance(declared, Real | Date | Boolean) and declared.nulls is None
        }
        if self.version == VERSIONS[0] or not silent:
            return self
        return replace(self, columns={**self.columns, **silent})

    def column(self, name: str | None, argument: str = "column") -> ColumnType:
        """The type of a declared column."""
        if name not in self.columns:
            declared = f"must be a declared column: {', '.join(self.columns)}{suggested(name, self.columns)}"
            raise InvalidArgument(argument, name, declared)
        return self.columns[str(name)]

    def measured(self, name: str | None, argument: str = "column") -> Measured:
        """The type of a column of numbers or dates."""
        declared = self.column(name, argument)
        if not isinstance(declared, Measured):
            numbers = [column for column, item in self.columns.items() if isinstance(item, Measured)]
            raise InvalidArgument(argument, name, f"must be a column of numbers: {', '.join(numbers)}")
        return declared

    def groupable(self) -> list[str]:
        """The columns whose declared values can be keys of groups."""
        return [name for name, declared in self.columns.items() if isinstance(declared, (Category, Boolean))]
