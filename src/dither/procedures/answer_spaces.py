"""Finite spaces of answers: rankings, sets, labels, strings, or any list of points with a metric.

A program may answer with a point instead of numbers.  A point leaves a sandbox as a few whole numbers (its *code*) and
is looked up here; whatever is no code of a point counts as the public default.  Distances are whole numbers of public
steps.  Everything in this module is public but the answers that are looked up.
"""

from __future__ import annotations

import functools
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither.mechanisms.metric_space import MetricSpace
from dither.procedures.executor import Answers, Output
from dither.sources.domain import DEEPEST, declared

MOST_RANKED = 9
"""9! = 362,880 rankings are looked at one by one; more items take a public list of rankings."""
MOST_CHOSEN_FROM = 16
Places: TypeAlias = NDArray[np.int64]
"""Places of points in a public list."""
Steps: TypeAlias = NDArray[np.int64]
"""Distances, or sums of them, in steps; of Python's whole numbers where 64 bits do not hold them."""
Literal: TypeAlias = str | int | float | bool | tuple["Literal", ...] | None


class AnswerSpace(ABC):
    """Finitely many public points with a metric, and how a program's answer names one of them."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of points."""

    @property
    @abstractmethod
    def numbers(self) -> int:
        """How many numbers the code of a point has."""

    @property
    @abstractmethod
    def largest_number(self) -> int:
        """The greatest number of a code; the least is 0."""

    @property
    @abstractmethod
    def diameter(self) -> int:
        """The greatest distance of two points, in steps."""

    @property
    @abstractmethod
    def equidistant(self) -> bool:
        """True if all different points are equally far apart, as labels are."""

    @abstractmethod
    def point(self, place: int) -> Hashable:
        """The point as it is released."""

    @abstractmethod
    def code(self, answer: object) -> list[float]:  # anything: what is no point is refused or counts as the default
        """The code of an answer; raises LookupError, TypeError or ValueError for what is no point."""

    @abstractmethod
    def place(self, code: Sequence[int]) -> int | None:
        """The place of the point with this code, None for what is no code."""

    @abstractmethod
    def distances(self, place: int) -> Steps:
        """From one point to all of them, in steps."""

    @abstractmethod
    def steepest(self, sums: Steps) -> Steps:
        """For each point c the greatest ``ceil((sums[c] - sums[c']) / d(c, c'))`` over all others c', at least 0."""

    @property
    @abstractmethod
    def translation(self) -> str:
        """The body of a Python function that turns ``answer`` into its code, for programs in sandboxes."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The space in a line of text, which ``as_space`` reads."""

    def sums(self, places: Places) -> Steps:
        """For each point the sum of its distances to the answers."""
        result, counts = np.unique(places, return_counts=True)
        total: Steps = sum(
            (self.distances(int(place)) * int(count) for place, count in zip(result, counts, strict=True)),
            start=np.zeros(self.size, dtype=np.int64),
        )
        return total

    def places(self, answers: Answers, default: int) -> Places:
        """The points that a table of codes names, a row for each block: private."""
        rows = (tuple(int(number) if number == int(number) else -1 for number in row) for row in answers.tolist())
        result = (self.place(row) for row in rows)
        return np.array([default if item is None else item for item in result], dtype=np.int64)

    def output(self, default: object) -> Output:  # anything: what is no point is refused or counts as the default
        """The shape of codes; ``default`` is the answer of a block that fails."""
        return Output(self.numbers, bounds=(0, self.largest_number), default=self.code(self.point(self.start(default))))

    def start(self, default: object) -> int:  # anything: what is no point is refused or counts as the default
        """The place of the point that a block that fails counts as; None is the first of the list."""
        if default is None:
            return 0
        try:
            place = self.place([int(number) for number in self.code(default)])
        except (LookupError, TypeError, ValueError):
            place = None
        if place is None:
            raise InvalidArgument("default", default, "must be a point of the space")
        return place


@dataclass(frozen=True, eq=False)
class ListedPoints(AnswerSpace):
    """The points of a ``MetricSpace``; the code of a point is its place in the list."""

    space: MetricSpace

    @property
    def size(self) -> int:
        return len(self.space.points)

    @property
    def numbers(self) -> int:
        return 1

    @property
    def largest_number(self) -> int:
        return self.size - 1

    @functools.cached_property
    def diameter(self) -> int:
        return int(self.space.steps.max())

    @functools.cached_property
    def equidistant(self) -> bool:
        return len(np.unique(self.space.steps[~np.eye(self.size, dtype=bool)])) == 1

    def point(self, place: int) -> Hashable:
        return self.space.points[place]

    @functools.cached_property
    def _places(self) -> dict[Hashable, int]:
        return {point: place for place, point in enumerate(self.space.points)}

    def code(self, answer: object) -> list[float]:  # anything: what is no point is refused or counts as the default
        named = tuple(answer) if isinstance(answer, list) else answer
        if not isinstance(named, Hashable):
            raise TypeError("a point")
        return [float(self._places[named])]

    def place(self, code: Sequence[int]) -> int | None:
        return code[0] if 0 <= code[0] < self.size else None

    def distances(self, place: int) -> Steps:
        row: Steps = self.space.steps[place]
        return row

    def sums(self, places: Places) -> Steps:
        counts = np.bincount(places, minlength=self.size)
        # A sum of so many distances may not fit into 64 bits.
        steps = self.space.steps if self.diameter * len(places) < 1 << 62 else self.space.steps.astype(object)
        total: Steps = steps @ counts.astype(steps.dtype)
        return total

    def steepest(self, sums: Steps) -> Steps:
        results = np.zeros(self.size, dtype=np.int64)
        for place in range(self.size):
            others = np.arange(self.size) != place
            falls = -((sums[others] - sums[place]) // self.space.steps[place][others].astype(sums.dtype))
            results[place] = max(int(falls.max()), 0)
        return results

    @property
    def translation(self) -> str:
        places = {_literal(point): place for point, place in self._places.items()}
        return f"return [{places!r}[tuple(answer) if isinstance(answer, list) else answer]]"

    @property
    def text(self) -> str:
        # The unit of the distances changes no draw, so whole steps are written.
        steps = self.space.steps.tolist()
        return "points: " + json.dumps({"points": _listed(self.space.points), "distances": steps})


@dataclass(frozen=True)
class Rankings(AnswerSpace):
    """All rankings of up to nine public items, with Kendall's tau: the number of pairs that are ordered differently.

    A program answers with the items, the first one first; the code of a ranking is the places of its items.

    >>> Rankings(("a", "b", "c")).size
    6
    """

    items: tuple[Hashable, ...]

    def __init__(self, items: Iterable[Hashable]) -> None:
        object.__setattr__(self, "items", _declared(items, 2, MOST_RANKED, "MetricSpace.of(rankings, 'kendall')"))

    @property
    def size(self) -> int:
        return math.factorial(len(self.items))

    @property
    def numbers(self) -> int:
        return len(self.items)

    @property
    def largest_number(self) -> int:
        return len(self.items) - 1

    @property
    def diameter(self) -> int:
        return math.comb(len(self.items), 2)

    @property
    def equidistant(self) -> bool:
        return len(self.items) == 2

    def point(self, place: int) -> Hashable:
        return tuple(self.items[int(order)] for order in _orders(len(self.items))[place])

    def code(self, answer: object) -> list[float]:  # anything: what is no point is refused or counts as the default
        if not isinstance(answer, Iterable):
            raise TypeError("a ranking")
        return [float(self.items.index(number)) for number in answer]

    def place(self, code: Sequence[int]) -> int | None:
        if sorted(code) != list(range(len(self.items))):
            return None
        place, left = 0, list(range(len(self.items)))
        for symbol in code:
            place = place * len(left) + left.index(symbol)
            left.remove(symbol)
        return place

    def distances(self, place: int) -> Steps:
        signs = _signs(len(self.items))
        steps: Steps = (self.diameter - signs @ signs[place].astype(np.int32)) // 2
        return steps

    def sums(self, places: Places) -> Steps:
        signs = _signs(len(self.items))
        steps: Steps = (self.diameter * len(places) - signs @ signs[places].sum(axis=0, dtype=np.int64)) // 2
        return steps

    def steepest(self, sums: Steps) -> Steps:
        return _steepest_in_graph(sums, _swaps(len(self.items)), self.diameter)

    @property
    def translation(self) -> str:
        return f"places = {_table(self.items)}; return [places[one] for one in answer]"

    @property
    def text(self) -> str:
        return f"rankings: {json.dumps(_listed(self.items))}"


@dataclass(frozen=True)
class Subsets(AnswerSpace):
    """All sets of up to sixteen public items, with the number of items that are in one set and not in the other.

    A program answers with the items of its set, in any order; the code of a set is a 1 for each item in it, else 0.

    >>> Subsets("abc").point(5)
    ('a', 'c')
    """

    items: tuple[Hashable, ...]

    def __init__(self, items: Iterable[Hashable]) -> None:
        accepted = "MetricSpace.of(sets, 'symmetric_difference')"
        object.__setattr__(self, "items", _declared(items, 1, MOST_CHOSEN_FROM, accepted))

    @property
    def size(self) -> int:
        return 1 << len(self.items)

    @property
    def numbers(self) -> int:
        return len(self.items)

    @property
    def largest_number(self) -> int:
        return 1

    @property
    def diameter(self) -> int:
        return len(self.items)

    @property
    def equidistant(self) -> bool:
        return len(self.items) == 1

    def point(self, place: int) -> Hashable:
        return tuple(item for bit, item in enumerate(self.items) if place >> bit & 1)

    def code(self, answer: object) -> list[float]:  # anything: what is no point is refused or counts as the default
        if not isinstance(answer, Iterable):
            raise TypeError("a set")
        chosen = {self.items.index(number) for number in answer}
        return [float(place in chosen) for place in range(len(self.items))]

    def place(self, code: Sequence[int]) -> int | None:
        if not all(bit in (0, 1) for bit in code):
            return None
        return sum(bit << place for place, bit in enumerate(code))

    def distances(self, place: int) -> Steps:
        steps: Steps = np.bitwise_count(np.arange(self.size, dtype=np.int64) ^ place).astype(np.int64)
        return steps

    def sums(self, places: Places) -> Steps:
        total = np.zeros(1, dtype=np.int64)
        for bit in range(len(self.items)):
            held = int(np.count_nonzero(places >> bit & 1))
            total = np.concatenate([total + held, total + (len(places) - held)])
        return total

    def steepest(self, sums: Steps) -> Steps:
        every = np.arange(self.size, dtype=np.int64)
        return _steepest_in_graph(sums, [every ^ (1 << bit) for bit in range(len(self.items))], self.diameter)

    @property
    def translation(self) -> str:
        chosen = f"places = {_table(self.items)}; chosen = {{places[one] for one in answer}}"
        return f"{chosen}; return [float(place in chosen) for place in range({len(self.items)})]"

    @property
    def text(self) -> str:
        return f"sets: {json.dumps(_listed(self.items))}"


def _steepest_in_graph(sums: Steps, neighbours: Sequence[Places], diameter: int) -> Steps:
    """Where distances are lengths of shortest paths: the least sum within k steps, for k = 1, 2, ..., by k rounds.

    The least sum within k steps instead of at k steps changes nothing: a point nearer than k gives more at its own k.
    """
    lowest, result = sums, np.zeros(len(sums), dtype=np.int64)
    for step in range(1, diameter + 1):
        lowest = functools.reduce(np.minimum, (lowest[table] for table in neighbours), lowest)
        result = np.maximum(result, -((lowest - sums) // step))
    return result


@functools.lru_cache(maxsize=4)
def _orders(items: int) -> NDArray[np.int8]:
    """All rankings in the order of their places: the item at each rank."""
    return np.array(list(permutations(range(items))), dtype=np.int8)


@functools.lru_cache(maxsize=4)
def _signs(items: int) -> NDArray[np.int32]:
    """For each ranking and each pair of items 1 or -1, as the first of the pair stands before or behind the second."""
    ranks = np.argsort(_orders(items), axis=1)
    pairs = [(a, b) for a in range(items) for b in range(a + 1, items)]
    return np.column_stack([np.where(ranks[:, a] < ranks[:, b], 1, -1) for a, b in pairs]).astype(np.int32)


@functools.lru_cache(maxsize=4)
def _swaps(items: int) -> tuple[Places, ...]:
    """For each two neighbouring ranks the place of every ranking with these two exchanged."""
    orders = _orders(items).astype(np.int64)
    tables = []
    for rank in range(items - 1):
        swapped = orders.copy()
        swapped[:, [rank, rank + 1]] = orders[:, [rank + 1, rank]]
        tables.append(_places_of(swapped))
    return tuple(tables)


def _places_of(orders: Places) -> Places:
    """The places of many rankings: their Lehmer codes."""
    items = orders.shape[1]
    place = np.zeros(len(orders), dtype=np.int64)
    for rank in range(items):
        smaller = (orders[:, rank + 1 :] < orders[:, rank, None]).sum(axis=1)
        place = place * (items - rank) + smaller
    return place


def _declared(items: Iterable[Hashable], least: int, most: int, instead: str) -> tuple[Hashable, ...]:
    named = declared(tuple(items) if isinstance(items, str) else items, "items", least=least)
    if len(named) > most:
        raise InvalidArgument(
            "items", f"<{len(named)} items>", f"must be at most {most}; for more list points: {instead}"
        )
    return named


def _literal(point: object) -> Literal:  # anything: what is no point is refused or counts as the default
    """A point that can be written into a program's text or into JSON."""
    if point is None or isinstance(point, (str, bool, int)) or (isinstance(point, float) and math.isfinite(point)):
        return point
    if isinstance(point, tuple):
        return tuple(_literal(coordinate) for coordinate in point)
    raise InvalidArgument(
        "space", type(point), "must have points of text, numbers or tuples of them, except where executor='trusted'"
    )


def _listed(items: tuple[Hashable, ...]) -> list[Literal]:
    return [_literal(item) for item in items]


def _table(items: tuple[Hashable, ...]) -> str:
    return repr({_literal(item): place for place, item in enumerate(items)})


_ACCEPTED = (
    "must be dither.Rankings(items), dither.Subsets(items), a dither.MetricSpace, or a text such as "
    "'rankings: a, b, c', 'sets: a, b, c', 'labels: a, b, c' or 'strings: abc, abd'"
)


def as_space(given: object) -> AnswerSpace | None:  # anything: what is no point is refused or counts as the default
    """A space as it is given or written; None stays None."""
    if given is None or isinstance(given, AnswerSpace):
        return given
    if isinstance(given, MetricSpace):
        return ListedPoints(given)
    if isinstance(given, str):
        return _read(given)
    raise InvalidArgument("space", type(given), _ACCEPTED)


def _read(text: str) -> AnswerSpace:
    name, colon, rest = (part.strip() for part in text.partition(":"))
    if not colon:
        raise InvalidArgument("space", text[:80], _ACCEPTED)
    if name == "points":
        return _read_points(rest)
    items = _read_items(rest)
    if name == "rankings":
        return Rankings(items)
    if name == "sets":
        return Subsets(items)
    if name in ("labels", "strings"):
        return ListedPoints(MetricSpace.of(items, "equality" if name == "labels" else "edit"))
    raise InvalidArgument("space", text[:80], _ACCEPTED)


def _read_items(text: str) -> list[Hashable]:
    if not text.startswith("["):
        return [part.strip() for part in text.split(",")]
    try:
        return [_tupled(candidate) for candidate in json.loads(text)]
    except (ValueError, RecursionError):
        raise InvalidArgument(
            "space", text[:80], "must have items with commas between them, or a list in JSON of few levels"
        ) from None


def _read_points(text: str) -> AnswerSpace:
    accepted = 'must be a list of points and a square table, {"points": [...], "distances": [[0, 1], [1, 0]]}'
    try:
        payload = json.loads(text)
        points, table = payload["points"], payload["distances"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise InvalidArgument("space", text[:80], accepted) from None
    if not isinstance(points, list):
        raise InvalidArgument("space", text[:80], accepted)
    return ListedPoints(MetricSpace.of([_tupled(point) for point in points], table))


def _tupled(value: object, depth: int = 0) -> Hashable:  # anything: what is no point is refused or counts as default
    if depth > DEEPEST:
        raise InvalidArgument("space", "<nested lists>", f"must be nested at most {DEEPEST} levels deep")
    if isinstance(value, list):
        return tuple(_tupled(part, depth + 1) for part in value)
    if not isinstance(value, Hashable):
        raise InvalidArgument("space", type(value), "must have points of text, numbers or lists of them")
    return value
