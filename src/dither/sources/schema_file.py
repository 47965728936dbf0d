"""Schema files: a schema as TOML that its owner can read, and errors that point at the line.

Numbers stay the decimals that were written.  The keys are explained in docs/schema.md.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import re
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from pathlib import Path as FilePath
from typing import Any, SupportsFloat, TypeAlias, TypeVar

from pydantic import ValidationError

from dither.borders import MISSING, OBJECT, Mistake, Model, first_mistake, given_fields
from dither.errors import InvalidArgument, InvalidText, suggested
from dither.plain import Json
from dither.privacy import PRIVATE, Budget, Neighbours
from dither.sources.graph_schema import GraphSchema
from dither.sources.lines import TextLayout
from dither.sources.linked_tables import LinkedTable
from dither.sources.schema import PRIOR_PARAMETERS, VERSIONS, Schema
from dither.sources.schema_models import (
    NO_COLUMN,
    BudgetSection,
    DatasetSection,
    GraphFile,
    GraphSection,
    LinkedDataset,
    LinkedFile,
    TableFile,
    TableSection,
)
from dither.sources.toml_places import Path, Places
from dither.sources.types import TYPES, ColumnType, Measured

Writable: TypeAlias = "Json | SupportsFloat | date | FilePath | Sequence[Writable]"
"""What is written into a schema file."""
M = TypeVar("M", bound=Model)
LONGEST = 8_000_000
"""A longer file is no schema."""
VERSION = VERSIONS[-1]
"""What new schema files say."""
_LAYOUT = tuple(field.name for field in dataclasses.fields(TextLayout))
_ANY_OPTION = ("type", "bounds", "step", "nulls", "format", "values")
_MISSING = {
    "bounds": "bounds are missing: a public range, known without looking at the data",
    "columns": NO_COLUMN,
    "epsilon": "epsilon is missing: what the dataset may spend in all",
    "person": "person is missing: which of the tables has a row for each person",
    "vertices": "vertices is missing: their public number",
}
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)\Z")
_WARNED: dict[str, dict[str | tuple[str, type[Warning], int], int]] = {}
"""What was warned of in this process, by file: once for each."""


def load_schema(path: str | PathLike[str]) -> Schema | GraphSchema:
    """The schema that a file describes, or an error that points at the line."""
    file = FilePath(path)

    def warn(message: str) -> None:
        said = _WARNED.setdefault(str(file.absolute()), {})
        warnings.warn_explicit(message, FutureWarning, str(file), 1, registry=said)

    folder = str(file.absolute().parent)
    return read_schema(schema_text(file), file.name, name=file.stem, folder=folder, without_version=warn)


def read_schema(
    text: str,
    called: str,
    *,
    name: str = "data",
    folder: str | None = None,
    without_version: Callable[[str], None] | None = None,
) -> Schema | GraphSchema:
    """The schema that a text describes; ``called`` is how errors name the text.

    without_version: called with what to write, if the text has no version.

    >>> text = 'version = 2\\n[dataset]\\nsource = "pay.csv"\\n[columns.pay]\\ntype = "real"\\nbounds = [0, 600000]'
    >>> read_schema(text, "pay.toml").columns["pay"]
    Real(lower=0, upper=600000, step=None, nulls=None, format=None)
    """
    reader = _SchemaReader(text, called)
    schema: Schema | GraphSchema
    if "graph" in reader.contents:
        schema = reader.graph(name, folder)
    else:
        schema = (reader.linked if "tables" in reader.contents else reader.schema)(name, folder)
    if without_version is not None and "version" not in reader.contents:
        without_version(
            f"{called} has no version and is read as dither 0.1.0 read it: write the line version = {VERSION} above "
            f"its first section, or version = {VERSIONS[0]} to keep this reading for good"
        )
    return schema


def dump_schema(schema: Schema | GraphSchema) -> str:
    """A schema as the text of a schema file, of the version that it was written for."""
    sources = [table.source for table in schema.tables.values()] if isinstance(schema, Schema) and schema.tables else []
    for source in sources or [schema.source]:
        if not isinstance(source, (str, FilePath)):
            raise InvalidArgument(
                "source", type(source), "must be a path or an address, to be written into a schema file"
            )
    head = f"version = {schema.version}\n"
    if isinstance(schema, GraphSchema):
        graph: dict[str, Writable] = {
            "vertices": schema.vertices,
            "ends": schema.ends,
            "neighbours": str(schema.neighbours) if schema.neighbours is Neighbours.NODE else None,
            "weight": schema.weight,
            "cap": schema.cap,
        }
        place: dict[str, Writable] = {"source": str(schema.source), "table": schema.table, "engine": schema.engine}
        parts = [head, _section("dataset", {"name": schema.name, **place})]
        return "\n".join([*parts, _section("graph", graph | {"step": schema.step}), *_written_budget(schema)])
    if schema.tables:
        return "\n".join([head, *_written_tables(schema)])
    dataset: dict[str, Writable] = {
        "name": schema.name,
        "source": str(schema.source),
        "table": schema.table,
        "engine": schema.engine,
    }
    dataset |= {"rows": schema.rows, **schema.layout.options}
    if schema.unit is not None:
        dataset |= {"unit": schema.unit, "rows_per_unit": schema.rows_per_unit}
    parts = [head, _section("dataset", dataset), *_written_budget(schema)]
    parts += [_section(f"columns.{written_key(name)}", declared.to_dict()) for name, declared in schema.columns.items()]
    parts += [_section(f"priors.{written_key(name)}", payload) for name, payload in schema.priors.items()]
    return "\n".join(parts)


def _written_tables(schema: Schema) -> Iterator[str]:
    dataset: dict[str, Writable] = {"name": schema.name, "person": schema.person, "rows_per_unit": schema.rows_per_unit}
    yield _section("dataset", dataset)
    yield from _written_budget(schema)
    for name, table in schema.tables.items():
        here = f"tables.{written_key(name)}"
        entries: dict[str, Writable] = {
            "source": str(table.source),
            "table": table.table,
            "engine": table.engine,
            "key": table.key,
            "public": table.public or None,
            **table.layout.options,
        }
        yield _section(here, entries)
        if table.links:
            yield _section(f"{here}.links", {written_key(key): target for key, target in table.links.items()})
        for column, declared in table.columns.items():
            yield _section(f"{here}.columns.{written_key(column)}", declared.to_dict())
    for column, payload in schema.priors.items():
        yield _section(f"priors.{written_key(column)}", payload)


def _written_budget(schema: Schema | GraphSchema) -> list[str]:
    if schema.budget is None:
        return []
    budget: dict[str, Writable] = {"epsilon": schema.budget.epsilon, "delta": schema.budget.delta or None}
    return [_section("budget", budget | {"filter": schema.filter, "slack": schema.slack})]


@contextlib.contextmanager
def pointing_at(path: str | PathLike[str]) -> Iterator[None]:
    """Errors about a part of a schema (its source, a column, its budget) point at the line of its file."""
    try:
        yield
    except InvalidText:
        raise
    except InvalidArgument as error:
        file = FilePath(path)
        reader = _SchemaReader(schema_text(file), file.name)
        place = _home(error.argument)
        if place is not None and place not in reader.places.keys and place[0] == "tables":
            place = ("dataset", "source") if place[-1] == "source" else place[:2]
        if place is None or place not in reader.places.keys:
            raise
        problem = reader.problem(place, error.rule, value=True)
    else:
        return
    raise problem


def _home(argument: str) -> Path | None:
    """Where an argument of a session stands in a schema file."""
    if argument.startswith("tables."):
        return _home_of_table(argument)
    if argument.startswith("columns."):
        return ("columns", argument.removeprefix("columns."), "type")
    if argument.startswith("budget."):
        return ("budget", argument.removeprefix("budget."))
    if argument in (*DatasetSection.model_fields, *LinkedDataset.model_fields):
        return ("dataset", argument)
    return {"filter": ("budget", "filter"), "slack": ("budget", "slack"), "budget": ("budget",)}.get(argument)


def _home_of_table(argument: str) -> Path:
    """The same of an argument such as ``tables.orders.links.customer``; names of tables have no dots."""
    _, table, *rest = argument.split(".", 3)
    below = (*rest, "type") if rest[:1] == ["columns"] and len(rest) == 2 else tuple(rest)
    return ("tables", table, *below)


# --- writing -------------------------------------------------------------------------------------------


def _section(heading: str, entries: Mapping[str, Writable]) -> str:
    lines = [f"{key} = {written(value)}" for key, value in entries.items() if value is not None]
    return f"[{heading}]\n" + "".join(f"{line}\n" for line in lines)


def written_key(name: str) -> str:
    """A key, quoted where it must be."""
    return name if _BARE.match(name) else written(name)


def written(value: Writable) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON escapes what TOML escapes, except for DEL and for characters beyond 16 bits.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(written(part) for part in value)}]"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Fraction) and value.denominator != 1:
        return f'"{value}"'
    return str(value)


# --- reading -------------------------------------------------------------------------------------------


def schema_text(file: FilePath) -> str:
    """The text of a schema file."""
    try:
        if file.stat().st_size > LONGEST:
            raise InvalidArgument("schema", str(file), f"must be a file of at most {LONGEST:,} bytes")
        return file.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise InvalidArgument("schema", str(file), "must be a TOML file in UTF-8") from None
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument("schema", str(file), "must be the path of a readable schema file") from None


class _SchemaReader:
    """One schema file: its contents, and where they stand."""

    def __init__(self, text: str, called: str) -> None:
        self.text, self.called = text, called
        self.contents, self.places = self._parsed()

    def _parsed(self) -> tuple[dict[str, Any], Places]:  # as the reader of TOML has it, not checked yet
        try:
            return tomllib.loads(self.text, parse_float=Decimal), Places(self.text)
        except tomllib.TOMLDecodeError as error:
            reason = str(error)
            match = _PLACE.search(reason)
            end = len(self.text)
            start = end if match is None else self._offset(int(match[1]), int(match[2]))
            # Where the text ended too early the last line that says anything is the one to show.
            start = len(self.text.rstrip()) if start >= end else start
            problem = InvalidText(self.called, self.text, f"not TOML: {_PLACE.sub('', reason)}", start, start + 1)
        except (RecursionError, ValueError, ArithmeticError):
            problem = InvalidText(
                self.called, self.text, "a number is too large, or tables are nested too deeply", 0, 1
            )
        raise problem

    def _offset(self, line: int, column: int) -> int:
        return sum(len(part) + 1 for part in self.text.split("\n")[: line - 1]) + column - 1

    def problem(self, path: Path, reason: str, *, value: bool = False) -> InvalidText:
        """An error that points at a key, or at its value."""
        return InvalidText(self.called, self.text, reason, *self.places.of(path, value=value))

    def schema(self, name: str, folder: str | None) -> Schema:
        """Everything that the file says."""
        file = self._read(TableFile)
        columns = {item: self._column(item, declared) for item, declared in file.columns.items()}
        for item in file.priors:
            if not isinstance(columns.get(item), Measured):
                raise self.problem(("priors", item), "name a declared column of numbers or dates")
        priors = {item: given_fields(prior) for item, prior in file.priors.items()}
        given = {"name": name, "rows": PRIVATE, **given_fields(file.dataset), **self._budget(file.budget)}
        with self._pointing({key: ("dataset", key) for key in given}):
            layout = TextLayout(**{item: given.pop(item) for item in _LAYOUT if item in given})
            return Schema(columns=columns, folder=folder, priors=priors, version=file.version, layout=layout, **given)

    def linked(self, name: str, folder: str | None) -> Schema:
        """Everything that a file with sections [tables.NAME] says."""
        if isinstance(self.contents.get("columns"), dict) and self.contents["columns"]:
            first = next(iter(self.contents["columns"]))
            raise self.problem(("columns", first), "name its table too: [tables.NAME.columns.NAME]")
        file = self._read(LinkedFile)
        dataset = given_fields(file.dataset)
        beside = {key: dataset.pop(key, None) for key in ("source", "engine")}
        tables = {item: self._table(item, section, beside) for item, section in file.tables.items()}
        places = {key: ("dataset", key) for key in LinkedDataset.model_fields}
        with self._pointing(places):
            schema = Schema.linked(
                tables, **{"name": name, **dataset}, **self._budget(file.budget), folder=folder, version=file.version
            )
        for item in file.priors:
            if not isinstance(schema.columns.get(item), Measured):
                raise self.problem(("priors", item), "name a declared column of numbers or dates")
        return dataclasses.replace(schema, priors={item: given_fields(prior) for item, prior in file.priors.items()})

    def _table(self, name: str, section: TableSection, beside: Mapping[str, str | None]) -> LinkedTable:
        here, given = ("tables", name), given_fields(section)
        columns = {
            item: self._column(item, declared, (*here, "columns"))
            for item, declared in given.pop("columns", {}).items()
        }
        place = beside["source"]
        if place is not None and "source" not in given:
            given.setdefault("table", name)  # of a database the table of that name
        given = {key: value for key, value in beside.items() if value is not None} | given
        if "source" not in given:
            raise self.problem(here, 'the source is missing: write source = "orders.parquet"')
        with self._pointing({key: (*here, key) for key in (*TableSection.model_fields, "layout")}):
            layout = TextLayout(**{item: given.pop(item) for item in _LAYOUT if item in given})
            return LinkedTable(given.pop("source"), columns, layout=layout, **given)

    def graph(self, name: str, folder: str | None) -> GraphSchema:
        """Everything that a file with a [graph] section says."""
        if isinstance(self.contents.get("columns"), dict) and self.contents["columns"]:
            first = next(iter(self.contents["columns"]))
            raise self.problem(("columns", first), "a graph has no columns: its section [graph] names what is read")
        file = self._read(GraphFile)
        given = {"name": name, **given_fields(file.dataset), **given_fields(file.graph)}
        with self._pointing({key: ("graph", key) for key in GraphSection.model_fields}):
            return GraphSchema(folder=folder, version=file.version, **given, **self._budget(file.budget))

    def _read(self, model: type[M]) -> M:
        """What the file says, as its model has it."""
        try:
            return model.model_validate(self.contents)
        except ValidationError as refused:
            problem = first_mistake(refused, self.contents)
        raise self._refused(problem)

    def _refused(self, problem: Mistake) -> InvalidText:
        """What the model found, at its line: a key that is unknown, or a value that can't be."""
        *above, key = problem.path
        if problem.fields and key in _ANY_OPTION and above[-2:-1] == ["columns"]:
            type_name = functools.reduce(lambda part, step: part[str(step)], above, self.contents)["type"]
            fields = ", ".join(field for field in problem.fields if field != "type")
            return self.problem(problem.path, f"a {type_name} column has no {key}; accepted are {fields}")
        if problem.fields:
            what = "key" if above else "section of a graph" if "graph" in self.contents else "section"
            return self.problem(problem.path, f"unknown {what}{_meant(key, problem.fields)}")
        reason = problem.accepted
        if reason == OBJECT:
            reason = f"write a section [{'.'.join(map(str, problem.path))}]"
        elif reason.startswith(MISSING):
            reason = self._missing(problem.path)
        return self.problem(problem.path, reason, value=True)

    def _missing(self, path: Path) -> str:
        *above, key = path
        if above[:1] == ["priors"]:
            kind = self.contents["priors"][above[1]]["kind"]
            return f"{key} is missing: a {kind} prior has {' and '.join(PRIOR_PARAMETERS[kind])}"
        if key == "source":
            example = "edges.csv" if "graph" in self.contents else "payroll.parquet"
            return f'the source is missing: write source = "{example}"'
        return _MISSING.get(str(key), f"the section [{key}] is missing")

    def _budget(self, payload: BudgetSection | None) -> dict[str, Any]:  # decimals as they are
        if payload is None:
            return {}
        with self._pointing({key: ("budget", key) for key in ("epsilon", "delta")}):
            amounts: Any = (payload.epsilon, payload.delta or 0)  # it takes decimals as they are
            budget = Budget(*amounts)
        if payload.filter != "basic" and not budget.delta:
            needed = f"the {payload.filter} filter needs a delta above zero"
            raise self.problem(("budget", "filter"), needed, value=True)
        slack = payload.slack
        if slack is not None and payload.filter == "basic":
            raise self.problem(("budget", "slack"), 'only the filters "advanced" and "zcdp" take a slack')
        if slack is not None and not 0 < slack <= (payload.delta or 0):
            raise self.problem(("budget", "slack"), "write a part of delta, above zero", value=True)
        return {"budget": budget, "filter": payload.filter, "slack": slack}

    def _column(self, name: str, declared: Model, above: Path = ("columns",)) -> ColumnType:
        here = (*above, name)
        if not name:
            raise self.problem(here, "a column needs a name")
        options = given_fields(declared)
        type_name, ends = options.pop("type"), options.pop("bounds", ())
        places = {key: (*here, key) for key in _ANY_OPTION} | dict.fromkeys(("first", "last"), (*here, "bounds"))
        with self._pointing(places):
            return TYPES[type_name](*ends, **options)

    @contextlib.contextmanager
    def _pointing(self, homes: Mapping[str, Path]) -> Iterator[None]:
        """Turn an error about an argument into one that points at where it was written."""
        try:
            yield
        except InvalidText:
            raise
        except InvalidArgument as error:
            home = _home_of_table(error.argument) if error.argument.startswith("tables.") else None
            problem = self.problem(home or homes.get(error.argument, ("dataset",)), error.rule, value=True)
        else:
            return
        raise problem


def _meant(key: str | int, accepted: tuple[str, ...]) -> str:
    return suggested(key, accepted) or f"; accepted are {', '.join(accepted)}"
