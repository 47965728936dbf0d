"""Several numbers that one change moves by at most so much each: the sensitivity in the largest coordinate."""

from __future__ import annotations

from abc import ABC


class HasLargestChange(ABC):
    """Several numbers on grids of the same step, with their l-infinity sensitivity."""

    linf: int
    """How far one change can move the number that it moves most, in grid steps: public."""
