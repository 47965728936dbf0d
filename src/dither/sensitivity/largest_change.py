"""Several numbers that one change moves by at most so much each: the sensitivity in the largest coordinate."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING


class HasLargestChange(ABC):  # noqa: B024  (its property is for type checkers, a field of dataclasses else)
    """Several numbers on grids of the same step, with their l-infinity sensitivity."""

    if TYPE_CHECKING:

        @property
        def linf(self) -> int:
            """How far one change can move the number that it moves most, in grid steps: public."""
