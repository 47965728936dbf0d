"""Nested draws of very many quantiles: what the draw inside of one segment shows of a record that comes or goes.

The law is the laboratory's own (``laws/several.py``).  A changed record leaves one segment and enters another, so twice
the loss of adding one is what a level costs (docs/proofs/quantiles.md, section 3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

from dither.privacy import Loss
from dither_lab.audit.checks import Check, Effort, Evidence, within_rounding
from dither_lab.audit.laws.several import wanted_law

RATE, POINTS, MOST = 0.5, 7, 5
WANTED = ((0.0, 2.0, 4.0), (0.0, 1.0, 3.0, 4.0))
"""Where segments of one and of two quantiles are to end."""


def nested_quantile_checks() -> Iterator[Check]:
    """All sets of up to five of seven points, one record more or another one."""
    yield Check(
        "quantiles",
        "exhaustive",
        segment_losses,
        "inverse",
        detail="the draw inside of a segment of a nested one",
        covers=frozenset({"inverse"}),
        proof="quantiles",
    )


def segment_losses(effort: Effort, *, relative: bool = False) -> Evidence:  # noqa: ARG001
    """Twice the loss of a record that is added, and the loss of one that is changed: each at most 4 rate.

    relative: a mistake: the last segment is wanted as long as the records make it.
    """
    universe = [x for size in range(MOST + 1) for x in combinations(range(POINTS), size)]
    largest, pairs = 0.0, 0
    for wanted in WANTED:
        ends = {x: (*wanted[:-1], float(len(x)) if relative else wanted[-1]) for x in universe}
        laws = {x: wanted_law(x, (0, POINTS - 1), ends[x], RATE) for x in universe}
        for x in universe:
            for y in universe:
                apart = len(set(x) ^ set(y))
                if apart == 1 or (apart == 2 and len(x) == len(y)):
                    pairs += 1
                    loss = max(abs(math.log(laws[x][z] / laws[y][z])) for z in laws[x])
                    largest = max(largest, 2 * loss if apart == 1 else loss)
    return Evidence(within_rounding(largest, 4 * RATE), Loss(4 * RATE), largest, None, pairs)
