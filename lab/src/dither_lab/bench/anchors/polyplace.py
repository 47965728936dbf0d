"""Pure noise for smooth bounds with the parameters of PolyPlace (Hladík and Tětek, FORC 2025, arXiv 2407.05067).

**No anchor**: of the paper only the abstract and summaries could be read.  They give the parameters, a scale of S/gamma
and an exponent of epsilon/gamma for any gamma below epsilon, and the limit, Laplace noise; not the density.  The one
here is the least spread that those parameters allow, derived below, and fits all that they say of it.

Let the noise have the density h(|x|/s)/s up to a constant and r = -h'/h.  On the way from one dataset to its neighbour
the centre moves by at most gamma s and ln s by at most gamma for every unit of the way (S is gamma-smooth and at least
what f moves by), so ln of the density moves by at most gamma (r(u) + |u r(u) - 1|), which is epsilon if
r + |u r - 1| = epsilon/gamma =: a.  That is r = (a-1)/(1-u) where u r <= 1, up to u = 1/a, and r = (a+1)/(1+u) beyond:
h = (1-u)^(a-1), then a multiple of (1+u)^-(a+1).  Any steeper r breaks the bound somewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

POLYPLACE = "PolyPlace, as far as its paper could be read"
NO_POLYPLACE = "no anchor: the density was derived from the parameters that summaries of the paper give"


@dataclass(frozen=True)
class PolyPlace:
    """The law of |X| and of X at a scale s and an exponent a > 1; moments are those of both halves."""

    scale: float
    exponent: float

    @classmethod
    def for_bound(cls, bound: float, *, gamma: float, epsilon: float) -> PolyPlace:
        """Noise for a gamma-smooth bound of the local sensitivity: pure epsilon."""
        if not 0.0 < gamma < epsilon:
            raise ValueError(f"gamma={gamma}: must lie between 0 and epsilon={epsilon}")
        return cls(bound / gamma, epsilon / gamma)

    @property
    def _joint(self) -> float:
        """What the tail is multiplied by, so that the density has no jump at u = 1/a."""
        a = self.exponent
        return math.pow(1.0 - 1.0 / a, a - 1.0) * math.pow(1.0 + 1.0 / a, a + 1.0)

    @property
    def _mass(self) -> float:
        """Of h over the positive half-line."""
        a = self.exponent
        return (1.0 - math.pow(1.0 - 1.0 / a, a) + self._joint * math.pow(1.0 + 1.0 / a, -a)) / a

    def log_density(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of X."""
        a, u = self.exponent, np.abs(x) / self.scale
        inner = (a - 1.0) * np.log1p(-np.minimum(u, 1.0 / a))
        outer = math.log(self._joint) - (a + 1.0) * np.log1p(u)
        logs: NDArray[np.float64] = np.where(u <= 1.0 / a, inner, outer) - math.log(2.0 * self._mass * self.scale)
        return logs

    @property
    def mean(self) -> float:
        """Of |X|."""
        a = self.exponent
        near = (1.0 - 2.0 * math.pow(1.0 - 1.0 / a, a)) / (a * (a + 1.0))
        far = self._joint * math.pow(1.0 + 1.0 / a, -a) * 2.0 / (a * (a - 1.0))
        return self.scale * (near + far) / self._mass

    def quantile(self, tail: float) -> float:
        """What |X| exceeds with probability ``tail``."""
        a, mass = self.exponent, self._mass
        if tail * mass * a <= self._joint * math.pow(1.0 + 1.0 / a, -a):
            return self.scale * (math.pow(tail * mass * a / self._joint, -1.0 / a) - 1.0)
        return self.scale * (1.0 - math.pow(1.0 - (1.0 - tail) * mass * a, 1.0 / a))


def least_factor(epsilon: float, steps: int = 2_000) -> float:
    """E|X|/(S gamma) at the best gamma: the mean error where S grows like 1/gamma, as for evenly spaced records."""
    shares = np.arange(1, steps) / steps
    return min(PolyPlace.for_bound(1.0, gamma=g, epsilon=epsilon).mean / g for g in map(float, shares * epsilon))
