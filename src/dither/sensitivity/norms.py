"""Several numbers that are measured together: a ladder of how far few changes can move all of them, in a norm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, Literal

from dither.sensitivity.global_sensitivity import Data
from dither.sensitivity.ladder import Ladder


class HasNormLadder(ABC, Generic[Data]):
    """Several numbers, and a ladder of their moves in the l1 or l2 norm (NRS11 Def. 2.1)."""

    if TYPE_CHECKING:

        @property
        def norm(self) -> Literal["l1", "l2"]: ...
        @property
        def norm_sensitivity(self) -> int:
            """The most that one change moves them on any data, in units: public."""

    @property
    def norm_units(self) -> tuple[int, ...] | None:
        """How many steps of its grid the move of each number is measured in: public; None: one step each."""
        return None

    @abstractmethod
    def norm_ladder(self, data: Data) -> Ladder:
        """Rung k: how far one more change can move them after k changes, in units; private."""
