"""Pairs of neighbouring datasets on which mechanisms break first, by kind of statistic.

A later query adds its own with ``@pairs_for(ItsStatistic)``; ``worst_pairs`` then finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither.errors import InvalidArgument
from dither.sources.column import Column
from dither.sources.grid import Grid
from dither.statistics.order import RankedValue
from dither.statistics.statistic import Statistic
from dither_lab.audit.enumeration import Records, as_column


@dataclass(frozen=True)
class Pair:
    """Two neighbouring datasets, and what makes them hard."""

    name: str
    here: Any
    there: Any

    def columns(self, grid: Grid) -> tuple[Column, Column]:
        """Both sides as private data, where a dataset is one column of records in grid steps."""
        return as_column(self.here, grid), as_column(self.there, grid)


Maker = Callable[[Any], Iterable[Pair]]
_MAKERS: dict[type[Statistic], Maker] = {}


def pairs_for(statistic_class: type[Statistic]) -> Callable[[Maker], Maker]:
    """Register the maker of worst pairs for a class of statistics and those derived from it."""

    def register(maker: Maker) -> Maker:
        _MAKERS[statistic_class] = maker
        return maker

    return register


def worst_pairs(statistic: Statistic) -> list[Pair]:
    """The library's pairs for a statistic, without repetitions."""
    maker = next((_MAKERS[ancestor] for ancestor in type(statistic).__mro__ if ancestor in _MAKERS), None)
    if maker is None:
        known = ", ".join(item.__name__ for item in _MAKERS)
        raise InvalidArgument(
            "statistic", type(statistic).__name__, f"must be {known} or a statistic that was given to pairs_for"
        )
    distinct: dict[Any, Pair] = {}
    for pair in maker(statistic):
        if pair.here != pair.there:
            distinct.setdefault((pair.here, pair.there), pair)
    return list(distinct.values())


@pairs_for(RankedValue)
def order_pairs(statistic: RankedValue) -> Iterable[Pair]:
    """Order statistics: the value jumps, or only the scale of the noise does, or only costs move by one.

    With r the rank and n the number of records:

    * a record crosses the whole range and takes the value from one bound to the other (the global sensitivity);
    * a gap at the rank, away from the bounds, so that both tails of the answers can be seen;
    * ties: all records equal, then one leaves to a bound.  The value stays, the smooth bound grows by ``e^beta``;
    * ties but for as many records as make the rank safe by one change only: the local sensitivity jumps from zero;
    * extremes: all records at one bound, one of them leaves to the other;
    * a record two ranks out moves: neither value nor local sensitivity change, only costs and later rungs do;
    * a staircase whose last step crosses to the other end;
    * a wide gap that one change brings nearer while the answers on the other side move away;
    * a cliff of the ladder that comes nearer while the value takes a small step.
    """
    r, n = statistic.rank, statistic.records
    low, high = statistic.answers.ends
    quarter = max((high - low) // 4, 1)
    middle, near, far = (low + high) // 2, low + quarter, high - quarter
    stairs = tuple(int(step) for step in np.linspace(low, high, n + 2).round()[1:-1])
    yield Pair("a record crosses the whole range", _split(r, n, low, high), _split(r - 1, n, low, high))
    yield Pair("a gap at the rank", _split(r, n, near, far), _split(r - 1, n, near, far))
    for bound, other, side in ((low, high, "lower"), (high, low, "upper")):
        yield Pair(f"a tie broken to the {side} bound", (middle,) * n, _moved((middle,) * n, 0, bound))
        yield Pair(
            f"all at the other end, one leaves to the {side} bound", (other,) * n, _moved((other,) * n, 0, bound)
        )
    spare = _split(r, n, middle, high)
    if r < n:
        yield Pair("the last tie that keeps the value", (*spare[:r], middle, *spare[r + 1 :]), spare)
    if r + 2 <= n:
        further = _split(r + 1, n, low, high)
        yield Pair("a record two ranks out moves", further, _moved(further, n - 1, middle))
    yield Pair("a step crosses the staircase", stairs, _moved(stairs, 0, high))
    if r < n and high - low > 2:
        # One change brings a wide gap nearer and takes the lowest answer further away: both halves of epsilon show.
        near_gap = (low, *_split(r, n - 1, low + 1, high))
        yield Pair("a wide gap comes nearer", near_gap, _moved(near_gap, 0, high))
    if 4 <= r <= n - 3 and high - low > 4:
        # The value moves by one step and the ladder loses its last low rung: the same for the ladder mechanism.
        ledge = (middle,) * r + (middle + 1,) * 2 + (high,) * (n - r - 2)
        yield Pair("a cliff comes nearer", ledge, _moved(ledge, 0, high))


def _split(count: int, records: int, below: int, above: int) -> Records:
    """``count`` records below, the others above."""
    return (below,) * count + (above,) * (records - count)


def _moved(records: Records, index: int, value: int) -> Records:
    """The same records, one of them elsewhere."""
    return tuple(sorted((*records[:index], value, *records[index + 1 :])))
