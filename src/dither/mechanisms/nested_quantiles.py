"""Very many quantiles: some of them by one joint draw, and those between two neighbours of these by joint draws again.

Sizes of segments add up like a random walk, so the error of one joint draw grows with the root of the number of its
quantiles; two levels of draws with half of epsilon each err less from some twenty on.  The second draws are about
disjoint records and share one loss (docs/proofs/quantiles.md, section 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms.joint_draw import FineRecords, joint_quantiles
from dither.noise.entropy import Source, system
from dither.privacy import Concentrated, rho_up

NESTED_COST = 8
"""What rate 1 of both levels costs: four each."""


class SearchableRecords(FineRecords, Protocol):
    """Private: the same, with how many of them lie below a point."""

    def searchsorted(self, point: int, side: Literal["left", "right"]) -> int | np.intp: ...


class SegmentRecords:
    """Private: the records between two places of the sorted ones."""

    def __init__(self, fine: FineRecords, start: int, stop: int) -> None:
        self._fine, self._start, self._stop = fine, start, stop

    def __repr__(self) -> str:
        return "SegmentRecords(<private>)"

    def __len__(self) -> int:
        return self._stop - self._start

    def __getitem__(self, places: slice, /) -> NDArray[np.int64]:
        first, last, _ = places.indices(len(self))
        return self._fine[self._start + first : self._start + max(first, last)]


def roots_of(count: int) -> list[int]:
    """Which of so many quantiles are drawn first: about the root of their number, evenly spread.  Public."""
    groups = max(round(math.sqrt(count + 1)), 1)
    return [round(Fraction(place * (count + 1), groups)) - 1 for place in range(1, groups)]


def concentrated_nested(rate: Fraction) -> Concentrated:
    """Both levels as zCDP (docs/proofs/quantiles.md, section 3): each has bounded range 4 rate, or is two of 2 rate."""
    return Concentrated(rho_up(4 * rate**2))


def draw_nested(
    fine: SearchableRecords, bounds: tuple[int, int], ranks: Sequence[int], rate: Fraction, source: Source = system
) -> list[int]:
    """Answers for rising ranks of distinct sorted records between two bounds, in rising order; costs 8 rate."""
    roots = roots_of(len(ranks))
    drawn = joint_quantiles(fine, bounds, [ranks[root] for root in roots], rate, source)
    places = [0, *(int(fine.searchsorted(answer, side="left")) for answer in drawn), len(fine)]
    edges = [bounds[0], *drawn, bounds[1]]
    # Targets lie half a rank below the ranks; counted in half steps.
    targets = [0, *(2 * ranks[root] - 1 for root in roots), 2 * len(fine)]
    answers: list[int] = []
    for group, (before, after) in enumerate(zip([-1, *roots], [*roots, len(ranks)], strict=True)):
        inside = ranks[before + 1 : after]
        if inside:
            # Of a segment that begins at a root's target the targets are whole numbers of records.
            first = 0 if group == 0 else ranks[before]
            answers += joint_quantiles(
                SegmentRecords(fine, places[group], places[group + 1]),
                (edges[group], edges[group + 1]),
                [rank - first for rank in inside],
                rate,
                source,
                offset=int(group == 0),
                whole=targets[group + 1] - targets[group],
            )
        if group < len(roots):
            answers.append(drawn[group])
    return answers
