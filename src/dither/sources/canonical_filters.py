"""One form of each filter, whatever its spelling: what the ledger compares.

The form is true, false and unknown (of a missing value) for exactly the records for which the filter is.  Each step is
a law of SQL's three-valued logic: De Morgan's, the opposite of a comparison, associativity, commutativity and
idempotence of AND and OR; and ``x IN (a, b)`` is ``x = a OR x = b`` (docs/proofs/filters.md).  Filters that equal each
other for deeper reasons keep forms of their own, which costs a second charge and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dither.sources.predicates import Both, Compare, CompareColumns, Constant, Either, Not, OneOf, Predicate
from dither.sources.schema import Schema
from dither.sources.types import Boolean

_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


def canonical_filter(predicate: Predicate, schema: Schema) -> Predicate:
    """The one form of a filter.

    >>> from dither.sources.predicates import parse_filter
    >>> from dither.sources.types import Integer
    >>> schema = Schema("x.csv", {"year": Integer(2000, 2030), "age": Integer(0, 120)})
    >>> str(canonical_filter(parse_filter("NOT (year > 2020 OR NOT age IN (7, 5, 7))", schema), schema))
    '(age IN (5, 7)) AND (year <= 2020)'
    """
    return _simplest(_normal(predicate, schema, negated=False))


def _normal(predicate: Predicate, schema: Schema, *, negated: bool) -> Predicate:
    """Without NOT but before IN and IS NULL; equalities are lists of one value."""
    match predicate:
        case Not(part):
            return _normal(part, schema, negated=not negated)
        case Both(parts) | Either(parts):
            joined = Both if isinstance(predicate, Both) is not negated else Either
            return _joined(joined, [_normal(part, schema, negated=negated) for part in parts])
        case Compare(column) | OneOf(column) if isinstance(schema.columns[column], Boolean):
            return _flag(column, Not(predicate) if negated else predicate)
        case Compare(column, operator, value):
            operator = _OPPOSITE[operator] if negated else operator
            listed = OneOf(column, (value,))
            return {"=": listed, "<>": Not(listed)}.get(operator, Compare(column, operator, value))
        case CompareColumns(column, operator, other):
            operator = _OPPOSITE[operator] if negated else operator
            ordered = (column, operator, other) if column <= other else (other, _MIRRORED[operator], column)
            return CompareColumns(*ordered)
        case OneOf(column, values):
            predicate = OneOf(column, _in_order(values))
    return Not(predicate) if negated else predicate


def _flag(column: str, predicate: Predicate) -> Predicate:
    """A condition on a column that is 0, 1 or missing, which is unknown where it is missing: which values fulfil it."""
    fulfil = tuple(value for value in (0, 1) if predicate.holds({column: value}))
    return OneOf(column, fulfil) if fulfil else Not(OneOf(column, (0, 1)))


def _joined(joined: type[Both | Either], parts: Iterable[Predicate]) -> Predicate:
    """Parts in one order, each once; lists of values of the same column are one list where that is the same."""
    lists: dict[str, set[Constant]] = {}
    others: list[Predicate] = []
    for part in _flat(joined, parts):
        match part:
            case OneOf(column, values) if joined is Either:
                lists.setdefault(column, set()).update(values)
            case Not(OneOf(column, values)) if joined is Both:
                lists.setdefault(column, set()).update(values)
            case _:
                others.append(part)
    merged: list[Predicate] = [OneOf(column, _in_order(values)) for column, values in lists.items()]
    each = {str(part): part for part in [*others, *(merged if joined is Either else map(Not, merged))]}
    ordered = tuple(each[text] for text in sorted(each))
    return ordered[0] if len(ordered) == 1 else joined(ordered)


def _flat(joined: type[Both | Either], parts: Iterable[Predicate]) -> Iterator[Predicate]:
    for part in parts:
        if isinstance(part, joined):
            yield from part.parts
        else:
            yield part


def _in_order(values: Iterable[Constant]) -> tuple[Constant, ...]:
    """Each value once; values of one column are all texts or all numbers."""
    return tuple(sorted(set(values), key=lambda value: (isinstance(value, str), value)))


def _simplest(predicate: Predicate) -> Predicate:
    """Lists of one value as comparisons again."""
    match predicate:
        case OneOf(column, (value,)):
            return Compare(column, "=", value)
        case Not(OneOf(column, (value,))):
            return Compare(column, "<>", value)
        case Both(parts) | Either(parts):
            each = tuple(sorted(map(_simplest, parts), key=str))
            return Both(each) if isinstance(predicate, Both) else Either(each)
        case _:
            return predicate
