"""Declared finite domains, and how private records meet them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument, InvalidData
from dither.sources.frames import ColumnLike, Entries
from dither.sources.types import storable

DEEPEST = 20
"""Levels of tuples in a declared value."""
Indices: TypeAlias = NDArray[np.int64]
Value = TypeVar("Value", bound=Hashable)


def declared(values: Iterable[Value], argument: str, *, least: int = 2) -> tuple[Value, ...]:
    """Distinct public values, in the order given."""
    accepted = f"must be at least {least} different values, known without looking at the data"
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidArgument(argument, values, accepted)
    listed: tuple[Value, ...] = tuple(values.tolist() if isinstance(values, np.ndarray) else values)
    if not all(isinstance(value, Hashable) for value in listed):
        raise InvalidArgument(argument, listed, accepted)
    # NaN is unequal to itself, so no record could ever be found to be one.
    check_writable(listed, argument)
    if len(listed) < least or len(set(listed)) < len(listed) or any(_unequal_to_itself(value) for value in listed):
        raise InvalidArgument(argument, listed, accepted)
    return listed


def check_writable(values: Iterable[Hashable], argument: str) -> None:
    """An error unless every ledger and every reader of JSON can hold these values: they may be released and stored."""
    level = list(values)
    for _ in range(DEEPEST):
        if not all(storable(value) for value in level if isinstance(value, str)):
            raise InvalidArgument(argument, "<texts>", "must be Unicode texts: no NUL, no half of a surrogate pair")
        level = [part for value in level if isinstance(value, (tuple, list, frozenset)) for part in value]
        if not level:
            return
    raise InvalidArgument(argument, "<nested values>", f"must be nested at most {DEEPEST} levels deep")


def spelled(values: Iterable[Value]) -> Iterable[Value]:
    """A text as its characters, anything else as it is."""
    return cast("Iterable[Value]", tuple(values)) if isinstance(values, str) else values


def encode(data: ColumnLike, values: tuple[Hashable, ...], argument: str, other: Hashable = None) -> Indices:
    """Each record as its index among ``values``: private.

    A record outside the domain counts as ``other`` if that is given (a public choice), else it is an error that shows
    nothing of it.
    """
    records = _sequence(data)
    place = {value: index for index, value in enumerate(values)}
    stray = -1 if other is None else _index(other, place)
    result = _encode_numbers(records, values) if isinstance(records, np.ndarray) else None
    if result is None:
        listed: Entries = records.tolist() if isinstance(records, np.ndarray) else list(records)
        try:
            result = np.fromiter((place.get(record, -1) for record in listed), dtype=np.int64, count=len(listed))
        except TypeError:
            raise InvalidData("data: not every record is a single value; nothing was charged") from None
    result = np.where(result < 0, stray, result)
    if stray < 0 and bool((result < 0).any()):
        raise InvalidData(
            f"data: not every record is among the declared {argument}; "
            "other=... names the one that all others count as; nothing was charged"
        )
    return result


def read_bits(data: ColumnLike, attributes: int | None = None, argument: str = "data") -> NDArray[np.bool_]:
    """Zeros and ones, as a vector or (with ``attributes``) as rows of so many; errors show no entry."""
    try:
        given = data.to_numpy() if hasattr(data, "to_numpy") else data
        # A masked entry is missing, whatever lies beneath the mask.
        array = np.asarray(
            np.ma.filled(given.astype(np.float64), np.nan) if isinstance(given, np.ma.MaskedArray) else given
        )
    except ValueError:
        raise InvalidArgument(argument, type(data), "must have rows of equal length") from None
    wanted = 1 if attributes is None else 2
    if array.ndim != wanted or (attributes is not None and array.shape[1] != attributes) or len(array) == 0:
        shape = "a vector" if attributes is None else f"at least one row, each of {attributes}"
        raise InvalidArgument(argument, type(data), f"must be {shape} of zeros and ones")
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == np.bool_):
        raise InvalidArgument(argument, type(data), f"must be zeros and ones, not the type {array.dtype}")
    bits: NDArray[np.bool_] = array == 1
    if not bool((bits | (array == 0)).all()):
        raise InvalidData(f"{argument}: not every entry is 0 or 1; nothing was charged")
    return bits


def whole(argument: str, value: int, *, least: int, most: int) -> int:
    """A whole number within public limits."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        raise InvalidArgument(argument, value, f"must be a whole number from {least} to {most}")
    return int(value)


def _sequence(data: ColumnLike) -> Sequence[Any] | NDArray[np.generic]:  # records of a list may be anything
    if hasattr(data, "to_numpy"):
        data = data.to_numpy()
    accepted = "must be a one-dimensional array or sequence of at least one record"
    if isinstance(data, (str, bytes)) or not isinstance(data, (Sequence, np.ndarray)):
        raise InvalidArgument("data", type(data), accepted)
    if (isinstance(data, np.ndarray) and data.ndim != 1) or len(data) == 0:
        raise InvalidArgument("data", type(data), accepted)
    return data


def _index(other: Hashable, place: dict[Hashable, int]) -> int:
    if not isinstance(other, Hashable) or other not in place:
        raise InvalidArgument("other", other, "must be one of the declared values")
    return place[other]


def _encode_numbers(records: NDArray[np.generic], values: tuple[Hashable, ...]) -> Indices | None:
    """The same for whole numbers, without a dictionary; None if these are not all whole numbers of 64 bits."""
    if isinstance(records, np.ma.MaskedArray):
        return None
    if not (np.issubdtype(records.dtype, np.signedinteger) or records.dtype == np.bool_):
        return None
    if not all(isinstance(value, (int, np.integer)) and -(2**63) <= value < 2**63 for value in values):
        return None
    known = np.array([int(value) for value in values if isinstance(value, (int, np.integer))], dtype=np.int64)
    order = np.argsort(known)
    ranked, wanted = known[order], records.astype(np.int64)
    near = np.minimum(np.searchsorted(ranked, wanted), len(ranked) - 1)
    return np.where(ranked[near] == wanted, order[near], -1).astype(np.int64)


def _unequal_to_itself(value: Hashable) -> bool:
    return bool(value != value)
