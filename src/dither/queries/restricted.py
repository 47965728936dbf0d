"""A function under a hypothesis of one's own about the data: restricted sensitivity, by projection (V17 section 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from dither.errors import InvalidArgument
from dither.numbers import exact
from dither.privacy import Neighbours
from dither.queries.custom import Custom
from dither.typing import Anything, EachBounds, NeighboursName, Number, NumberList, OwnFunction


def restricted(
    *,
    name: str,
    value: OwnFunction,
    projection: Callable[..., Anything],
    projection_change: int,
    restricted_sensitivity: Number,
    default: Number | NumberList,
    bounds: EachBounds | None = None,
    step: Number | None = None,
    neighbours: Neighbours | NeighboursName = Neighbours.CHANGE_ONE,
    norm: Literal["l1", "l2"] | None = None,
) -> Custom:
    """Your own function of the data as they would be if a hypothesis held: less noise, private for all data.

    projection: maps all data to data that satisfy the hypothesis, and these to themselves.
    projection_change: neighbours are mapped to data that at most so many changes *within the hypothesis* lead from one
        to the other.
    restricted_sensitivity: the most that one change moves the value between data that satisfy the hypothesis.
    All other arguments are those of ``dt.Custom``, which is what is returned: the value of the projected data, with the
    global sensitivity ``projection_change * restricted_sensitivity``.  Where the projection or the value fails the
    answer is ``default``; the claims must hold for neighbours one of which fails.

    Guarantee  As good as its author's claims, for all data, whether or not the hypothesis holds.
    Theorem    V17 section 3 (Blocki et al. 2013); docs/proofs/custom.md section 8.

    >>> import dither as dt
    >>> sales = dt.restricted(name="sales", value=lambda rows: sum(map(sum, rows)), bounds=(0, 10_000), step=1,
    ...     default=0, projection=lambda rows: [[min(x, 9) for x in row[:3]] for row in rows], projection_change=1,
    ...     restricted_sensitivity=27)
    >>> dt.ask(sales, [[1, 2], [9, 9, 9, 9]], epsilon=5.0).mechanism
    'worst_case'
    """
    if not callable(projection) or not callable(value):
        raise InvalidArgument("projection", type(projection), "must be a function of the data, as value must")
    if not isinstance(projection_change, int) or isinstance(projection_change, bool) or projection_change < 1:
        raise InvalidArgument("projection_change", projection_change, "must be a whole number of at least 1")
    least = exact(restricted_sensitivity, "restricted_sensitivity")
    if least < 0:
        raise InvalidArgument("restricted_sensitivity", restricted_sensitivity, "must be a number of at least 0")
    return Custom(
        name=name,
        value=lambda data: value(projection(data)),
        global_sensitivity=projection_change * least,
        default=default,
        bounds=bounds,
        step=step,
        neighbours=neighbours,
        norm=norm,
    )
