"""Schema files: a schema as TOML that its owner can read, and errors that point at the line.

Numbers stay the decimals that were written.  The keys are explained in docs/schema.md.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path as FilePath
from typing import Any

from dither.errors import InvalidArgument, InvalidText
from dither.privacy import Budget
from dither.sources.engines.factory import ENGINES
from dither.sources.graph_schema import GraphSchema
from dither.sources.schema import PRIOR_PARAMETERS, PRIVATE, Schema
from dither.sources.toml_places import Path, Places
from dither.sources.types import TYPES, ColumnType, Measured

LONGEST = 8_000_000
"""A longer file is no schema."""
FILTERS = ("basic", "advanced")
_DATASET = ("name", "source", "table", "engine", "rows", "unit", "rows_per_unit")
_BUDGET = ("epsilon", "delta", "filter", "slack")
_GRAPH = ("vertices", "ends", "weight", "cap", "step")
_OPTIONS: dict[str, tuple[str, ...]] = {
    "real": ("bounds", "step", "nulls"),
    "integer": ("bounds", "step", "nulls"),
    "decimal": ("bounds", "step", "nulls"),
    "date": ("bounds", "nulls"),
    "boolean": ("nulls",),
    "category": ("values",),
}
_ANY_OPTION = ("type", *dict.fromkeys(option for options in _OPTIONS.values() for option in options))
_NO_COLUMN = "no column is declared: at least one section such as [columns.total_pay] is needed"
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)\Z")
_RATIO = re.compile(r"-?[0-9]{1,99}/[0-9]{1,99}\Z")


def load_schema(path: Any) -> Schema | GraphSchema:
    """The schema that a file describes, or an error that points at the line."""
    file = FilePath(path)
    return read_schema(schema_text(file), file.name, name=file.stem, folder=str(file.absolute().parent))


def read_schema(text: str, called: str, *, name: str = "data", folder: str | None = None) -> Schema | GraphSchema:
    """The schema that a text describes; ``called`` is how errors name the text.

    >>> text = '[dataset]\\nsource = "pay.csv"\\n[columns.pay]\\ntype = "real"\\nbounds = [0, 600000]'
    >>> read_schema(text, "pay.toml").columns["pay"]
    Real(lower=0, upper=600000, step=None, nulls=None)
    """
    reader = _SchemaReader(text, called)
    return reader.graph(name, folder) if "graph" in reader.contents else reader.schema(name, folder)


def dump_schema(schema: Schema | GraphSchema) -> str:
    """A schema as the text of a schema file."""
    if not isinstance(schema.source, (str, FilePath)):
        raise InvalidArgument(
            "source", type(schema.source), "must be a path or an address, to be written into a schema file"
        )
    if isinstance(schema, GraphSchema):
        graph = {"vertices": schema.vertices, "ends": schema.ends, "weight": schema.weight, "cap": schema.cap}
        parts = [_section("dataset", {"name": schema.name, "source": schema.source})]
        return "\n".join([*parts, _section("graph", graph | {"step": schema.step}), *_written_budget(schema)])
    dataset: dict[str, Any] = {
        "name": schema.name,
        "source": str(schema.source),
        "table": schema.table,
        "engine": schema.engine,
    }
    dataset |= {"rows": schema.rows}
    if schema.unit is not None:
        dataset |= {"unit": schema.unit, "rows_per_unit": schema.rows_per_unit}
    parts = [_section("dataset", dataset), *_written_budget(schema)]
    parts += [_section(f"columns.{written_key(name)}", declared.to_dict()) for name, declared in schema.columns.items()]
    parts += [_section(f"priors.{written_key(name)}", payload) for name, payload in schema.priors.items()]
    return "\n".join(parts)


def _written_budget(schema: Schema | GraphSchema) -> list[str]:
    if schema.budget is None:
        return []
    budget = {"epsilon": schema.budget.epsilon, "delta": schema.budget.delta or None}
    return [_section("budget", budget | {"filter": schema.filter, "slack": schema.slack})]


@contextlib.contextmanager
def pointing_at(path: Any) -> Iterator[None]:
    """Errors about a part of a schema (its source, a column, its budget) point at the line of its file."""
    try:
        yield
    except InvalidText:
        raise
    except InvalidArgument as error:
        file = FilePath(path)
        reader = _SchemaReader(schema_text(file), file.name)
        place = _home(error.argument)
        if place is None or place not in reader.places.keys:
            raise
        problem = reader.problem(place, error.rule, value=True)
    else:
        return
    raise problem


def _home(argument: str) -> Path | None:
    """Where an argument of a session stands in a schema file."""
    if argument.startswith("columns."):
        return ("columns", argument.removeprefix("columns."), "type")
    if argument.startswith("budget."):
        return ("budget", argument.removeprefix("budget."))
    if argument in _DATASET:
        return ("dataset", argument)
    return {"filter": ("budget", "filter"), "slack": ("budget", "slack"), "budget": ("budget",)}.get(argument)


# --- writing -------------------------------------------------------------------------------------------


def _section(heading: str, entries: Mapping[str, Any]) -> str:
    lines = [f"{key} = {written(value)}" for key, value in entries.items() if value is not None]
    return f"[{heading}]\n" + "".join(f"{line}\n" for line in lines)


def written_key(name: str) -> str:
    """A key, quoted where it must be."""
    return name if _BARE.match(name) else written(name)


def written(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON escapes what TOML escapes, except for DEL and for characters beyond 16 bits.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(written(one) for one in value)}]"
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

    def _parsed(self) -> tuple[dict[str, Any], Places]:
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
        return sum(len(one) + 1 for one in self.text.split("\n")[: line - 1]) + column - 1

    def problem(self, path: Path, reason: str, *, value: bool = False) -> InvalidText:
        """An error that points at a key, or at its value."""
        return InvalidText(self.called, self.text, reason, *self.places.of(path, value=value))

    def schema(self, name: str, folder: str | None) -> Schema:
        """Everything that the file says."""
        self._known((), self.contents, ("dataset", "budget", "columns", "priors"), "section")
        dataset = self._table(("dataset",))
        self._known(("dataset",), dataset, _DATASET)
        columns = {one: self._column(one) for one in self._table(("columns",), _NO_COLUMN)}
        if not columns:
            raise self.problem(("columns",), _NO_COLUMN)
        if "source" not in dataset:
            raise self.problem(("dataset",), 'the source is missing: write source = "payroll.parquet"')
        for key in ("name", "source", "table", "engine", "unit"):
            self._check(("dataset", key), str, "write a text in quotes")
        self._among(("dataset", "engine"), ENGINES)
        filled = {key: dataset[key] for key in _DATASET if key in dataset}
        with self._pointing({key: ("dataset", key) for key in _DATASET}):
            given = {"name": name, "rows": PRIVATE, **filled, **self._budget()}
            return Schema(columns=columns, folder=folder, priors=self._priors(columns), **given)

    def graph(self, name: str, folder: str | None) -> GraphSchema:
        """Everything that a file with a [graph] section says."""
        if isinstance(self.contents.get("columns"), dict) and self.contents["columns"]:
            first = next(iter(self.contents["columns"]))
            raise self.problem(("columns", first), "a graph has no columns: its section [graph] names what is read")
        self._known((), self.contents, ("dataset", "budget", "graph"), "section of a graph")
        dataset, payload = self._table(("dataset",)), self._table(("graph",))
        self._known(("dataset",), dataset, ("name", "source"))
        self._known(("graph",), payload, _GRAPH)
        if "source" not in dataset:
            raise self.problem(("dataset",), 'the source is missing: write source = "edges.csv"')
        if "vertices" not in payload:
            raise self.problem(("graph",), "vertices is missing: their public number")
        for path in (("dataset", "name"), ("dataset", "source"), ("graph", "weight")):
            self._check(path, str, "write a text in quotes")
        self._check(("graph", "vertices"), int, "write a whole number of at least 1")
        given: dict[str, Any] = {key: self._number(("graph", key)) for key in ("cap", "step") if key in payload}
        if "ends" in payload:
            self._check(("graph", "ends"), list, 'write two names such as ["source", "target"]')
            given["ends"] = tuple(payload["ends"])
        places: dict[str, Path] = {key: ("graph", key) if key in payload else ("graph",) for key in _GRAPH}
        with self._pointing(places):
            return GraphSchema(
                dataset["source"],
                payload["vertices"],
                dataset.get("name", name),
                weight=payload.get("weight"),
                folder=folder,
                **given,
                **self._budget(),
            )

    def _budget(self) -> dict[str, Any]:
        if "budget" not in self.contents:
            return {}
        payload = self._table(("budget",))
        self._known(("budget",), payload, _BUDGET)
        if "epsilon" not in payload:
            raise self.problem(("budget",), "epsilon is missing: what the dataset may spend in all")
        numbers: dict[str, Any] = {
            key: self._number(("budget", key)) for key in ("epsilon", "delta", "slack") if key in payload
        }
        self._among(("budget", "filter"), FILTERS)
        rule = payload.get("filter", "basic")
        with self._pointing({key: ("budget", key) for key in _BUDGET}):
            budget = Budget(numbers["epsilon"], numbers.get("delta", 0))
        if rule == "advanced" and not budget.delta:
            raise self.problem(("budget", "filter"), "the advanced filter needs a delta above zero", value=True)
        slack = numbers.get("slack")
        if slack is not None and rule == "basic":
            raise self.problem(("budget", "slack"), 'only filter = "advanced" takes a slack')
        if slack is not None and not 0 < slack <= numbers.get("delta", 0):
            raise self.problem(("budget", "slack"), "write a part of delta, above zero", value=True)
        return {"budget": budget, "filter": rule, "slack": slack}

    def _priors(self, columns: Mapping[str, ColumnType]) -> dict[str, dict[str, Any]]:
        """What is publicly known of columns, for quotes."""
        found: dict[str, dict[str, Any]] = {}
        for name in self._table(("priors",)) if "priors" in self.contents else ():
            here = ("priors", name)
            payload = self._table(here)
            if not isinstance(columns.get(name), Measured):
                raise self.problem(here, "name a declared column of numbers or dates")
            if "kind" not in payload:
                raise self.problem(here, f"the kind is missing: write one of {', '.join(PRIOR_PARAMETERS)}")
            self._among((*here, "kind"), PRIOR_PARAMETERS)
            parameters = PRIOR_PARAMETERS[payload["kind"]]
            self._known(here, payload, ("kind", *parameters))
            for one in parameters:
                if one not in payload and (payload["kind"], one) != ("exponential", "low"):
                    raise self.problem(
                        here, f"{one} is missing: a {payload['kind']} prior has {' and '.join(parameters)}"
                    )
            numbers = {one: self._number((*here, one)) for one in parameters if one in payload}
            for one in ("median", "sigma", "sd"):
                if one in numbers and numbers[one] <= 0:
                    raise self.problem((*here, one), "write a positive number", value=True)
            found[name] = {"kind": payload["kind"], **numbers}
        return found

    def _column(self, name: str) -> ColumnType:
        here = ("columns", name)
        payload = self._table(here)
        if not name:
            raise self.problem(here, "a column needs a name")
        self._known(here, payload, _ANY_OPTION)
        if "type" not in payload:
            raise self.problem(here, f"the type is missing: write one of {', '.join(TYPES)}")
        self._among((*here, "type"), TYPES)
        type_name = payload["type"]
        for key in payload:
            if key != "type" and key not in _OPTIONS[type_name]:
                listed = ", ".join(_OPTIONS[type_name])
                raise self.problem((*here, key), f"a {type_name} column has no {key}; accepted are {listed}")
        if "bounds" in _OPTIONS[type_name] and "bounds" not in payload:
            raise self.problem(here, "bounds are missing: a public range, known without looking at the data")
        options = {key: self._option((*here, key), type_name) for key in payload if key not in ("type", "bounds")}
        ends = self._ends((*here, "bounds"), type_name) if "bounds" in payload else ()
        places = {key: (*here, key) for key in _ANY_OPTION} | dict.fromkeys(("first", "last"), (*here, "bounds"))
        with self._pointing(places):
            return TYPES[type_name](*ends, **options)

    def _ends(self, path: Path, type_name: str) -> list[Any]:
        given = self._at(path)
        if not isinstance(given, list) or len(given) != 2:
            raise self.problem(path, "write two ends [lower, upper]", value=True)
        ends: list[Any] = [
            self._day((*path, place)) if type_name == "date" else self._number((*path, place)) for place in (0, 1)
        ]
        if not ends[0] < ends[1]:
            raise self.problem(path, "the lower end must be below the upper end", value=True)
        return ends

    def _option(self, path: Path, type_name: str) -> Any:
        given = self._at(path)
        if path[-1] == "values":
            return self._values(path)
        if path[-1] == "nulls" and type_name == "boolean" and isinstance(given, bool):
            return given
        if path[-1] == "nulls" and isinstance(given, str) and not _RATIO.match(given):
            accepted = ("drop",) if type_name == "boolean" else ("lower", "upper", "drop")
            if type_name == "date" and given not in accepted:
                return self._day(path)
            self._among(path, accepted, "or a value within the bounds")
            return given
        return self._day(path) if type_name == "date" else self._number(path)

    def _values(self, path: Path) -> list[str]:
        given = self._at(path)
        if not isinstance(given, list) or not given:
            raise self.problem(path, 'write a list of names such as ["clerk", "nurse"]', value=True)
        names: set[str] = set()
        for place, one in enumerate(given):
            spot = (*path, place)
            if not isinstance(one, (str, int)) or isinstance(one, bool):
                raise self.problem(spot, "write a name in quotes, or a whole number", value=True)
            if str(one) in names or str(one) == "other":
                raise self.problem(spot, 'write different names, none of them "other"', value=True)
            names.add(str(one))
        return [str(one) for one in given]

    # --- small checks ------------------------------------------------------------------------------------

    def _at(self, path: Path) -> Any:
        found: Any = self.contents
        for one in path:
            found = found[one]
        return found

    def _table(self, path: Path, missing: str | None = None) -> dict[str, Any]:
        above = self._at(path[:-1])
        if path[-1] not in above:
            raise self.problem(path, missing or f"the section [{'.'.join(map(str, path))}] is missing")
        found = above[path[-1]]
        if not isinstance(found, dict):
            raise self.problem(path, f"write a section [{'.'.join(map(str, path))}]", value=True)
        return found

    def _known(self, path: Path, payload: Iterable[str], accepted: tuple[str, ...], what: str = "key") -> None:
        for key in payload:
            if key not in accepted:
                raise self.problem((*path, key), f"unknown {what}{_meant(key, accepted)}")

    def _check(self, path: Path, wanted: type, accepted: str) -> None:
        above = self._at(path[:-1])
        if path[-1] in above and (not isinstance(above[path[-1]], wanted) or not above[path[-1]]):
            raise self.problem(path, accepted, value=True)

    def _among(self, path: Path, accepted: Iterable[str], more: str = "") -> None:
        above = self._at(path[:-1])
        if path[-1] not in above:
            return
        given, options = above[path[-1]], tuple(accepted)
        if not isinstance(given, str) or given not in options:
            listed = " ".join((", ".join(f'"{one}"' for one in options), more)).strip()
            raise self.problem(path, f"write {listed}{_suggested(given, options)}", value=True)

    def _number(self, path: Path) -> int | Decimal | Fraction:
        given = self._at(path)
        if isinstance(given, str) and _RATIO.match(given) and int(given.split("/")[1]):
            return Fraction(given)
        if isinstance(given, bool) or not isinstance(given, (int, Decimal)):
            raise self.problem(path, "write a number", value=True)
        if isinstance(given, Decimal) and not given.is_finite():
            raise self.problem(path, "write a finite number", value=True)
        return given

    def _day(self, path: Path) -> date:
        given = self._at(path)
        if isinstance(given, date) and not isinstance(given, datetime):
            return given
        with contextlib.suppress(TypeError, ValueError):
            return date.fromisoformat(given)
        raise self.problem(path, "write a date such as 2024-01-31", value=True)

    @contextlib.contextmanager
    def _pointing(self, homes: Mapping[str, Path]) -> Iterator[None]:
        """Turn an error about an argument into one that points at where it was written."""
        try:
            yield
        except InvalidText:
            raise
        except InvalidArgument as error:
            problem = self.problem(homes.get(error.argument, ("dataset",)), error.rule, value=True)
        else:
            return
        raise problem


def _meant(key: str, accepted: tuple[str, ...]) -> str:
    return _suggested(key, accepted) or f"; accepted are {', '.join(accepted)}"


def _suggested(given: Any, accepted: Iterable[str]) -> str:
    close = difflib.get_close_matches(str(given), list(accepted), 1) if isinstance(given, str) else []
    return f"; did you mean {close[0]}?" if close else ""
