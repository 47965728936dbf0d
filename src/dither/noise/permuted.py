"""Permute and flip: points in a random order, each with a coin of its own; the first that is admitted is the answer.

McKenna and Sheldon, "Permute-and-Flip", NeurIPS 2020 (arXiv 2010.12603).  A coin that shows heads with probability
``e^{-rate k}`` for a point k above the least cost is a geometric number of at least k, so no weight is computed and
nothing is truncated: a point is compared with a whole number.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.kernels.elementary import Floats
from dither.noise.entropy import Source, system, uniform_integer
from dither.noise.vectors import geometric_draws

_FEW_COINS = 16
"""So many are flipped first, and then as many again each time."""
_HALVINGS, _NODES = 16, 24
"""The time of the first coin is integrated over panels that halve towards zero, with so many nodes in each."""


def first_admitted(points: int, admits: Callable[[int, int], bool], rate: Fraction, source: Source = system) -> int:
    """Of the points 0 .. points - 1, in a random order, the first that its coin admits.

    ``admits(point, above)``: whether the point costs at most so much more than the cheapest, which is admitted by
    every coin.  Cost: at most one coin for each point.
    """
    moved: dict[int, int] = {}
    coins: list[int] = []
    for tried in range(points):
        if tried == len(coins):
            coins += geometric_draws(max(_FEW_COINS, tried), rate, source=source)
        # One swap of a shuffle, of which no more is written down than was looked at.
        place = tried + uniform_integer(points - tried, source)
        point = moved.get(place, place)
        moved[place] = moved.get(tried, tried)
        if admits(point, coins[tried]):
            return point
    raise RuntimeError("no coin refuses the cheapest point")


def admitted_chances(costs: NDArray[np.int64] | Floats, rate: float) -> Floats:
    """How likely each point of these costs is, in floats: for estimates of errors.

    With a uniform time for each point, the answer is the admitted point with the least time: a point with a coin of
    chance p comes first at time t with density ``p prod (1 - p' t)`` over all others (docs/proofs/permute_and_flip.md).
    """
    levels, where, held = np.unique(costs, return_inverse=True, return_counts=True)
    coins = np.exp(-rate * (levels - levels[0]).astype(np.float64))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    ends = np.concatenate([[0.0], 2.0 ** -np.arange(_HALVINGS, -1.0, -1.0)])
    centres, halves = (ends[1:] + ends[:-1]) / 2.0, np.diff(ends) / 2.0
    times = (centres[:, None] + halves[:, None] * nodes).ravel()
    left = np.log1p(-np.outer(coins, times))
    densities = coins[:, None] * np.exp(held @ left - left)
    chances: Floats = np.asarray(densities @ (halves[:, None] * weights).ravel(), dtype=np.float64)[where]
    return np.asarray(chances / chances.sum())
