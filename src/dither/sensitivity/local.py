"""Statistics whose local sensitivity changes slowly where a number of sensitivity 1, the Lipschitz proxy, is low."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Generic

from dither.sensitivity.global_sensitivity import Data


class HasLocalSensitivity(ABC, Generic[Data]):
    """What noisy local sensitivity needs to know of a statistic (Karwa et al. 2011).

    For all neighbours x and y: ``|lipschitz_proxy(x) - lipschitz_proxy(y)| <= 1``, ``local(x)`` is at least the
    local sensitivity at x, and
    ``|local(x) - local(y)| <= local_sensitivity_change(lipschitz_proxy(x))``, which is public and not falling.
    """

    if TYPE_CHECKING:

        @property
        def most_lipschitz_proxy(self) -> int:
            """No Lipschitz proxy is higher: public."""

    local_is_exact: ClassVar[bool] = True
    """False if ``local`` is a bound that an author claims."""

    @abstractmethod
    def lipschitz_proxy(self, data: Data) -> int:
        """A whole number from 0 to ``most_lipschitz_proxy``: private."""

    @abstractmethod
    def local(self, data: Data) -> int:
        """The local sensitivity or a bound on it, in grid steps: private."""

    @abstractmethod
    def local_sensitivity_change(self, lipschitz_proxy: int) -> int:
        """The most that one change moves ``local`` where the Lipschitz proxy is no higher than this: public."""
