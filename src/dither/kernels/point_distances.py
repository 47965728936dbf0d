"""Distances that have names: between labels, strings, rankings and sets."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations

PointDistance = Callable[[Hashable, Hashable], int]


def equality(item: Hashable, other: Hashable) -> int:
    """0 between equal labels, else 1."""
    return int(item != other)


def edit(item: Hashable, other: Hashable) -> int:
    """The least number of characters to insert, delete or replace (Levenshtein).

    >>> edit("kitten", "sitting")
    3
    """
    first, second = _texts(item), _texts(other)
    row = list(range(len(second) + 1))
    for place, here in enumerate(first, start=1):
        before, row[0] = row[0], place
        for column, there in enumerate(second, start=1):
            before, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, before + (here != there))
    return row[-1]


def kendall(entry: Hashable, other: Hashable) -> int:
    """How many pairs of items two rankings of the same items order differently (Kendall's tau, as a distance).

    >>> kendall(("a", "b", "c"), ("c", "a", "b"))
    2
    """
    first, second = _listed(entry), _listed(other)
    place = {item: index for index, item in enumerate(second)}
    if len(place) != len(second) or len(first) != len(second) or set(first) != set(second):
        raise ValueError("rankings of the same items, each once")
    return sum(place[earlier] > place[later] for earlier, later in combinations(first, 2))


def symmetric_difference(item: Hashable, other: Hashable) -> int:
    """How many items are in one of two sets and not in the other.

    >>> symmetric_difference(frozenset("ab"), frozenset("bcd"))
    3
    """
    return len(_items(item) ^ _items(other))


NAMED: dict[str, PointDistance] = {
    "equality": equality,
    "edit": edit,
    "kendall": kendall,
    "symmetric_difference": symmetric_difference,
}


def _texts(point: Hashable) -> str:
    if not isinstance(point, str):
        raise TypeError("texts")
    return point


def _listed(point: Hashable) -> Sequence[Hashable]:
    if not isinstance(point, (tuple, str)):
        raise TypeError("tuples of items, the first one first")
    return tuple(point)


def _items(point: Hashable) -> AbstractSet[Hashable]:
    if isinstance(point, frozenset):
        return point
    listed = _listed(point)
    if len(set(listed)) != len(listed):
        raise ValueError("sets, or tuples of items, each once")
    return frozenset(listed)
