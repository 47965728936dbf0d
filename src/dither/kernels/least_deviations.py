"""A point where ``sum |a_i.b - v_i|`` is within a proved distance of its least value, for any number of coefficients.

A linear programme proposes the point, and its dual proves how good it is; where that proof fails (floats may, on odd
data) an ellipsoid that always ends finds one (docs/proofs/regression.md, section 4).  Everything is private.
"""

from __future__ import annotations

import decimal
import math
import warnings
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from dither.kernels.arrangement import BITS, REACH, Lines

TOLERANCE = 1 / 8
"""How far above the least value the function may be, in whole directions times cells."""
_FARTHEST = float(REACH)
"""Points are looked for within so many cells of zero, twice as far as the cells that are looked at."""
_ROUNDED = 2.0**-28
"""More than what rounding adds to the gap for each record: residuals are sums of at most 64 products below 2**20."""
_DIGITS = 900
_PLACES = 1600
_INFLATED = Decimal(1) + Decimal(10) ** -50

Point = NDArray[np.float64]


def near_minimiser(lines: Lines) -> Point:
    """A point b, in cells, with ``f(b) <= min f + TOLERANCE`` near b, and over all that lies within reach."""
    proposed = _proposed(lines)
    if proposed is not None:
        point, multipliers = proposed
        if _gap(lines, point, multipliers) <= TOLERANCE:
            return point
    return ellipsoid_point(lines)


def _proposed(lines: Lines) -> tuple[Point, Point] | None:
    """A point and multipliers from the linear programme, in floats: nothing is believed of them."""
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to load

    ahead, offsets = lines.directions / 2.0**BITS, lines.doubled / 2.0 ** (BITS + 1)
    records, coefficients = ahead.shape
    if records == 0:
        return np.zeros(coefficients), np.zeros(0)
    unit = np.eye(coefficients)
    costs = np.concatenate([offsets, np.full(2 * coefficients, _FARTHEST)])
    equal = np.concatenate([ahead.T, -unit, unit], axis=1)
    bounds = np.array([[-1.0, 1.0]] * records + [[0.0, np.inf]] * (2 * coefficients))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = linprog(costs, A_eq=equal, b_eq=np.zeros(coefficients), bounds=bounds, method="highs")
    if result.x is None or getattr(result, "eqlin", None) is None:
        return None
    point = np.clip(np.nan_to_num(np.asarray(result.eqlin.marginals, dtype=float)), -_FARTHEST, _FARTHEST)
    return point, np.clip(np.nan_to_num(result.x[:records]), -1.0, 1.0)


def _gap(lines: Lines, point: Point, multipliers: Point) -> float:
    """More than ``f(point)`` exceeds the least value within one cell of the point and within reach.

    For multipliers m between -1 and 1, ``f(b) >= sum m_i (a_i.b - v_i)``, a linear function of b.
    """
    ahead, offsets = lines.directions / 2.0**BITS, lines.doubled / 2.0 ** (BITS + 1)
    residuals = -offsets
    slopes = []
    for k, at in enumerate(point):
        residuals = residuals + ahead[:, k] * at
        slopes.append(math.fsum(multipliers * ahead[:, k]))
    room_below = np.minimum(1.0, point + _FARTHEST)
    room_above = np.minimum(1.0, _FARTHEST - point)
    moved = [max(s * below, -s * above) for s, below, above in zip(slopes, room_below, room_above, strict=True)]
    return math.fsum(np.abs(residuals) - multipliers * residuals) + math.fsum(moved) + len(offsets) * _ROUNDED


def ellipsoid_point(lines: Lines) -> Point:
    """The same by the ellipsoid method in long decimals, for two coefficients or more: slow, and right on all data.

    After so many steps it has found the point if there are minimisers within reach; else any point will do.
    """
    coefficients = lines.directions.shape[1]
    farthest = 4 * REACH * coefficients
    steps = math.ceil(
        2 * coefficients * (coefficients + 1) * math.log(8 * max(len(lines.doubled), 1) * farthest / TOLERANCE)
    )
    columns = [lines.directions[:, k].astype(object) for k in range(coefficients)]
    doubled = lines.doubled.astype(object) << (_PLACES - 1)
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        q = Decimal(coefficients)
        centre = [Decimal(0)] * coefficients
        radius = Decimal(farthest)
        shape = [[radius * radius if j == k else Decimal(0) for k in range(coefficients)] for j in range(coefficients)]
        scale = Decimal(2) ** _PLACES
        for _ in range(steps):
            whole = [int((at * scale).to_integral_value()) for at in centre]
            residuals = sum(column * at for column, at in zip(columns, whole, strict=True)) - doubled
            signs = np.array([(residual > 0) - (residual < 0) for residual in residuals], dtype=np.int64)
            g = [Decimal(int(total)) / (1 << BITS) for total in signs @ lines.directions]
            pulled = [sum((row[k] * g[k] for k in range(coefficients)), Decimal(0)) for row in shape]
            square = sum((item * other for item, other in zip(g, pulled, strict=True)), Decimal(0))
            if square <= Decimal(TOLERANCE / 2) ** 2:
                break
            length = square.sqrt()
            centre = [at - item / length / (q + 1) for at, item in zip(centre, pulled, strict=True)]
            grown = q * q / (q * q - 1) * _INFLATED
            shape = [
                [grown * (shape[j][k] - 2 / (q + 1) * pulled[j] * pulled[k] / square) for k in range(coefficients)]
                for j in range(coefficients)
            ]
        return np.array([float(at) for at in centre])
