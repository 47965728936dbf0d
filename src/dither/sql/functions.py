"""The functions of calls, and the queries they stand for: all of it follows from the registry."""

from __future__ import annotations

import dataclasses
import difflib
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from dither.errors import InvalidArgument, InvalidText, NotApplicable
from dither.queries.query import Query
from dither.queries.registry import QueryEntry, SourceType, Sql, entries
from dither.sql.calls import STAR, Argument, Call, ColumnName, Field, Given, Scope

LONGEST_NAME = 60
"""Longer names are not compared with those of functions."""
MOST_DIGITS = 18
"""Whole numbers with more digits are left to the query to refuse."""
_CHARGED = "; nothing was read, nothing was charged"


@dataclass(frozen=True)
class SqlFunction:
    """One way to call a function: its query, and what the arguments mean."""

    entry: QueryEntry
    sql: Sql
    has_schema: bool = True
    """False without a schema: the fields that a schema would fill in may be given then."""

    @property
    def form(self) -> str:
        """How it is written."""
        return self.entry.form(self.sql)

    @property
    def accepted(self) -> str:
        """What errors say."""
        return f"write {self.form}{self.sql.note}"

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that may be given by name."""
        declared = () if self.has_schema else self.entry.declared
        return tuple(
            declaration for declaration in (*self.entry.settable, *declared) if declaration not in self.sql.fixed
        )

    @property
    def takes_list(self) -> bool:
        """True if its numbers stand in brackets."""
        return any(number.is_list for number in self.sql.numbers)


def functions_of(scope: Scope) -> Mapping[str, tuple[SqlFunction, ...]]:
    """Every function that may be called, each with the ways to call it."""
    return _functions(scope.types, scope.any_column)


@functools.cache
def _functions(types: frozenset[SourceType], as_in_python: bool) -> Mapping[str, tuple[SqlFunction, ...]]:
    results: dict[str, list[SqlFunction]] = {}
    for entry in entries().values():
        for function in entry.functions if entry.of in types else ():
            # Without a table the own name of a query is what it is in Python, not what SQL means by it.
            plain = as_in_python and function.function == entry.name and not function.star
            means = dataclasses.replace(function, fixed={}) if plain else function
            results.setdefault(function.function, []).append(SqlFunction(entry, means, not as_in_python))
    # Errors name the first way to call a function: one without a list.
    return {name: tuple(sorted(ways, key=lambda way: way.takes_list)) for name, ways in sorted(results.items())}


def supported(scope: Scope) -> str:
    """What can be asked, for errors."""
    if scope.any_column:
        return f"ask one of {_offered(scope.types, True)}"
    if scope.schema is None:
        return f"supported is SELECT of {_offered(scope.types, False)} over one registered graph"
    return f"supported is SELECT of {_offered(scope.types, False)} with WHERE and GROUP BY over one registered table"


@functools.cache
def _offered(types: frozenset[SourceType], as_in_python: bool) -> str:
    """One function of each query; what is asked of all rows comes first."""
    ways = [way for each in _functions(types, as_in_python).values() for way in each]
    first = [way for way in ways if way.sql.function == way.entry.functions[0].function]
    names = sorted({way.form if way.sql.star else way.sql.function for way in first})
    return ", ".join(sorted(names, key=lambda name: not name.endswith("(*)")))


def query_of(call: Call, scope: Scope, given: Mapping[str, Field] | None = None) -> Query:
    """The query that a call stands for, or an error that points at what is wrong with it.

    given: fields that were given apart from the call, such as ``--bounds`` at the shell.
    """
    function = _chosen(call, scope)
    entry = function.entry
    named = _named(call, function)
    fields = {**function.sql.fixed, **_positional(call, function, scope, named)}
    fields |= {field: _given(call, entry, name) for field, name in named.items()}
    for field, value in (given or {}).items():
        if field in fields or field not in function.fields:
            why = "it stands in the call already" if field in fields else f"{function.form} does not take it"
            raise InvalidArgument(field, value, f"{why}: leave it out")
        fields[field] = value
    try:
        query: Query = entry.query(**fields)
        return query
    except InvalidText:
        raise
    except (InvalidArgument, NotApplicable) as error:
        reason = str(error).removesuffix(_CHARGED)
        known = named.get(error.argument)
        problem = call.problem(reason) if known is None else call.problem_with(known, reason)
    except (TypeError, ValueError, ArithmeticError):
        # A value of another type than any that the field has, such as a list in the place of a number.
        problem = call.problem(f"these values do not fit; {function.accepted}")
    raise problem


def columns_of(call: Call, scope: Scope) -> tuple[str, ...]:
    """The columns that a call names."""
    return _columns(call, _chosen(call, scope), scope)[0]


def _chosen(call: Call, scope: Scope) -> SqlFunction:
    """The way in which a function is called."""
    name = call.name.text.lower()
    ways = functions_of(scope).get(name, ())
    if not ways or call.name.is_quoted:
        raise call.words.problem(call.name, f"this function is not offered{_instead(name, scope)}; {supported(scope)}")
    starred = any(argument.value == STAR for argument in call.arguments)
    same = [way for way in ways if way.sql.star == starred] or ways
    chosen = next((way for way in same if way.takes_list == _gives_list(call, way)), same[0])
    if (call.within is not None) != chosen.sql.within:
        raise call.problem(chosen.accepted)
    return chosen


def _gives_list(call: Call, function: SqlFunction) -> bool:
    """Whether a call gives a list to what a function takes a list for."""
    fields = {number.field for number in function.sql.numbers}
    numbers = [
        argument
        for argument in call.arguments
        if argument.field in fields or (argument.field is None and not argument.is_column)
    ]
    return len(numbers) == 1 and isinstance(numbers[0].value, tuple) and bool(numbers[0].value)


def _instead(name: str, scope: Scope) -> str:
    """What may have been meant by a function that there is not."""
    known = functions_of(scope)
    for ways in known.values():
        for way in ways:
            if name in way.sql.near:
                return f"; {way.form} may serve instead"
    alike = difflib.get_close_matches(name, known, n=2, cutoff=0.7) if len(name) <= LONGEST_NAME else []
    if alike:
        return f"; did you mean {' or '.join(known[item][0].form for item in alike)}?"
    elsewhere = [entry for entry in entries().values() if any(way.function == name for way in entry.functions)]
    if elsewhere:
        return f" of {scope.source}: it is asked of a {elsewhere[0].of}"
    return ""


def _named(call: Call, function: SqlFunction) -> dict[str, Argument]:
    """The fields that a call gives by name."""
    results: dict[str, Argument] = {}
    for argument in call.arguments:
        if argument.field is None:
            continue
        if argument.field not in function.fields:
            alike = (
                difflib.get_close_matches(argument.field, function.fields, n=1)
                if len(argument.field) <= LONGEST_NAME
                else []
            )
            meant = f"; did you mean {alike[0]}?" if alike else ""
            names = ", ".join(function.fields) or "none"
            raise call.problem_with(
                argument, f"{call.name.text} has no field {argument.field}{meant}; its fields are {names}"
            )
        if argument.field in results:
            raise call.problem_with(argument, f"{argument.field} is given twice; give it once")
        results[argument.field] = argument
    return results


def _columns(call: Call, function: SqlFunction, scope: Scope) -> tuple[tuple[str, ...], list[Argument]]:
    """The columns of a call, and the arguments behind them that have no name."""
    rest = [argument for argument in call.arguments if argument.field is None]
    if call.within is not None:
        return (str(call.within.given),), rest
    if function.sql.star:
        if len(rest) != 1 or rest[0].value != STAR:
            raise call.problem(function.accepted)
        return (), []
    names: list[str] = []
    most = sum(1 if item.most is not None else len(rest) for item in function.entry.columns)
    if scope.any_column and most and rest and isinstance(rest[0].value, Decimal):
        # In a file any text is a name; the first argument is never a number.
        first = rest.pop(0)
        names.append(call.words.text[first.start : first.end])
    while rest and isinstance(column := rest[0].value, ColumnName) and len(names) < most:
        names.append(column.name)
        rest.pop(0)
    return tuple(names), rest


def _positional(call: Call, function: SqlFunction, scope: Scope, named: Mapping[str, Argument]) -> dict[str, Field]:
    """The fields that a call gives by their places."""
    columns, rest = _columns(call, function, scope)
    fields = _column_fields(call, function, scope, columns)
    takes = [number for number in function.sql.numbers if number.field not in named]
    for item in rest:
        if item.value == STAR:
            raise call.problem(function.accepted)
        if not takes:
            raise call.problem_with(item, f"write only {function.form}")
        if item.is_column:
            raise call.problem_with(item, f"write a number behind {', '.join(columns)}")
    numbers = [
        (value, item) for item in rest for value in (item.given if isinstance(item.given, tuple) else (item.given,))
    ]
    for taken in takes:
        count = len(numbers) if taken.most is None or taken.is_list else min(taken.most, len(numbers))
        if count < taken.least:
            raise call.problem(function.accepted)
        values = [_number(call, function.entry, taken.field, *number) for number in numbers[:count]]
        numbers = numbers[count:]
        if values:
            fields[taken.field] = tuple(values) if taken.most is None or taken.is_list else values[0]
    if numbers:
        raise call.problem_with(numbers[0][1], f"write only {function.form}")
    return fields


def _column_fields(call: Call, function: SqlFunction, scope: Scope, names: tuple[str, ...]) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    if function.sql.star:
        return fields
    left = list(names)
    for column in function.entry.columns:
        taken, left = (left, []) if column.most is None else (left[:1], left[1:])
        # A file does not declare its columns: there they can't be left out.
        if len(taken) < column.least or (scope.any_column and not taken):
            raise call.problem(function.accepted)
        if taken:
            fields[column.field] = tuple(taken) if column.most is None else taken[0]
    return fields


def _given(call: Call, entry: QueryEntry, argument: Argument) -> Field:
    """What was given to a field by its name."""
    field = str(argument.field)
    value = _number(call, entry, field, argument.given, argument)
    if field not in entry.parameters:
        return value
    try:
        result: Field = entry.parameters[field].read(field, _as_json(value))
        return result
    except InvalidArgument as error:
        problem = call.problem_with(argument, str(error).removesuffix(_CHARGED))
    raise problem


def _as_json(value: Given) -> Decimal | int | str | bool | list[Field]:
    return [_as_json(part) for part in value] if isinstance(value, tuple) else value


def _number(call: Call, entry: QueryEntry, field: str, value: Given, argument: Argument) -> Given:
    """A value; a whole number where the field takes one."""
    if field not in entry.parameters or entry.parameters[field].type != "whole":
        return value
    if not isinstance(value, Decimal) or not -MOST_DIGITS <= value.adjusted() <= MOST_DIGITS or value != int(value):
        raise call.problem_with(argument, f"{field} is a whole number, such as {field} => 3")
    return int(value)
