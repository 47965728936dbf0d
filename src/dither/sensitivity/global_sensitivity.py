"""The global sensitivity: the most that one record can ever move a value.  Every statistic has one."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from dither.privacy import Neighbours


class HasGlobalSensitivity(ABC):
    """One or several numbers, with how far a change of one record can move each on any data (DMNS06 Def. 3)."""

    neighbours: Neighbours
    """What one change is: public."""
    global_sensitivities: tuple[int, ...]
    """How far one change can move each number, in its grid steps: public."""

    sensitivity_is_constant: ClassVar[bool] = False
    """True if one change can move it by the global sensitivity on all data: nothing to fit, and no test can pass."""

    @property
    def is_constant(self) -> bool:
        """True if no change can move any number: the same answer on all data."""
        return not any(self.global_sensitivities)
