"""Robust linear fits of many small blocks of records.

A block's fit is a function of that block alone: plain loops over IEEE floats in a fixed order, no library calls
whose rounding might depend on other blocks.  That is all that privacy asks of it; the rest is statistics: the best of
many exact fits through few records (least median of squares) is polished by weighted least squares with Tukey's
weights, so that gross outliers in a minority of a block's records do not move it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dither.kernels.compiled import compiled

Floats = NDArray[np.float64]

STEPS = 12
"""Rounds of reweighting: always as many, so that the time does not depend on the data."""
TUKEY = 4.685
"""Where Tukey's weights reach zero, in standard deviations; 95% efficient for normal errors."""
LEAST_PIVOT = 1e-9
"""A standardised design with a smaller pivot counts as collinear."""


@compiled(error_model="numpy")
def _solve(matrix: Floats, right: Floats, least: float) -> bool:
    """Solve in place by elimination with row pivots; False if a pivot is not above ``least``."""
    q = len(right)
    for k in range(q):
        top = k
        for i in range(k + 1, q):
            if abs(matrix[i, k]) > abs(matrix[top, k]):
                top = i
        if not abs(matrix[top, k]) > least:
            return False
        for j in range(q):
            matrix[k, j], matrix[top, j] = matrix[top, j], matrix[k, j]
        right[k], right[top] = right[top], right[k]
        for i in range(k + 1, q):
            factor = matrix[i, k] / matrix[k, k]
            for j in range(k, q):
                matrix[i, j] -= factor * matrix[k, j]
            right[i] -= factor * right[k]
    for k in range(q - 1, -1, -1):
        total = right[k]
        for j in range(k + 1, q):
            total -= matrix[k, j] * right[j]
        right[k] = total / matrix[k, k]
    return True


@compiled(error_model="numpy")
def _weighted(design: Floats, response: Floats, weights: Floats, count: int, into: Floats) -> bool:
    """Weighted least squares by normal equations of a standardised design."""
    q = design.shape[1]
    matrix, right, total = np.zeros((q, q)), np.zeros(q), 0.0
    for i in range(count):
        total += weights[i]
        for j in range(q):
            part = weights[i] * design[i, j]
            right[j] += part * response[i]
            for k in range(q):
                matrix[j, k] += part * design[i, k]
    if not _solve(matrix, right, LEAST_PIVOT * total):
        return False
    for j in range(q):
        into[j] = right[j]
    return True


@compiled(error_model="numpy")
def _sizes(design: Floats, response: Floats, count: int, fit: Floats, into: Floats) -> None:
    for i in range(count):
        rest = response[i]
        for j in range(len(fit)):
            rest -= design[i, j] * fit[j]
        into[i] = abs(rest)


@compiled(error_model="numpy")
def _middle(sizes: Floats, count: int, rank: int) -> float:
    """The entry of a rank (from 1), by Hoare's selection; reorders the entries."""
    low, high, place = 0, count - 1, rank - 1
    while low < high:
        pivot, i, j = sizes[place], low, high
        while i <= j:
            while sizes[i] < pivot:
                i += 1
            while pivot < sizes[j]:
                j -= 1
            if i <= j:
                sizes[i], sizes[j] = sizes[j], sizes[i]
                i += 1
                j -= 1
        if j < place:
            low = i
        if place < i:
            high = j
    return float(sizes[place])


@compiled(error_model="numpy")
def _standardise(design: Floats, count: int, intercept: bool, centres: Floats, spreads: Floats) -> None:
    """Columns moved to their mean (if there is an intercept to take it up) and divided by their largest size."""
    for j in range(design.shape[1]):
        if intercept and j == 0:
            continue
        if intercept:
            total = 0.0
            for i in range(count):
                total += design[i, j] / count
            centres[j] = total
        largest, before = 0.0, 0.0
        for i in range(count):
            before = max(before, abs(design[i, j]))
            design[i, j] -= centres[j]
            largest = max(largest, abs(design[i, j]))
        # A column that is constant up to rounding is no column.
        spreads[j] = largest if largest > 1e-12 * before else 0.0
        for i in range(count):
            design[i, j] = design[i, j] / spreads[j] if spreads[j] > 0.0 else 0.0


@compiled(error_model="numpy")
def _polish(design: Floats, response: Floats, count: int, fit: Floats, sizes: Floats) -> None:
    """From least squares ``fit`` to the robust fit, in place."""
    q = design.shape[1]
    rank = min((count + q + 1) // 2, count)
    _sizes(design, response, count, fit, sizes)
    best = _middle(sizes, count, rank)
    matrix, right = np.empty((q, q)), np.empty(q)
    for stride in range(1, 3):
        for first in range(count):
            for k in range(q):
                at = (first + k * stride) % count
                right[k] = response[at]
                for j in range(q):
                    matrix[k, j] = design[at, j]
            if _solve(matrix, right, 1e-7):
                _sizes(design, response, count, right, sizes)
                here = _middle(sizes, count, rank)
                if here < best:
                    best = here
                    for k in range(q):
                        fit[k] = right[k]
    scale = 1.4826 * (1.0 + 5.0 / max(count - q, 1)) * best
    if not scale > 0.0:
        return
    weights, next_fit = np.empty(count), np.empty(q)
    for _ in range(STEPS):
        _sizes(design, response, count, fit, sizes)
        for i in range(count):
            part = sizes[i] / (TUKEY * scale)
            weights[i] = (1.0 - part * part) ** 2 if part < 1.0 else 0.0
        if _weighted(design, response, weights, count, next_fit):
            for k in range(q):
                fit[k] = next_fit[k]


@compiled(error_model="numpy")
def _gather(
    design: Floats, response: Floats, order: NDArray[np.int64], first: int, size: int, part: Floats, goal: Floats
) -> int:
    """Copy the finite records of a block, after a one if there is an intercept; returns how many they are."""
    count, p, q = 0, design.shape[1], part.shape[1]
    for k in range(first, first + size):
        row = order[k]
        finite = math.isfinite(response[row])
        for j in range(p):
            finite = finite and math.isfinite(design[row, j])
        if finite:
            goal[count] = response[row]
            if q > p:
                part[count, 0] = 1.0
            for j in range(p):
                part[count, q - p + j] = design[row, j]
            count += 1
    return count


@compiled(error_model="numpy")
def fit_blocks(
    design: Floats, response: Floats, order: NDArray[np.int64], size: int, intercept: bool, robust: bool
) -> tuple[Floats, NDArray[np.bool_]]:
    """The coefficients of each block of ``size`` records, and whether its design determines them.

    Block k holds the records ``order[k * size : (k + 1) * size]``; records that are not finite are left out.  With an
    intercept it comes first.
    """
    blocks, p = len(order) // size, design.shape[1]
    q = p + 1 if intercept else p
    fits, solved = np.zeros((blocks, q)), np.zeros(blocks, dtype=np.bool_)
    part, goal, sizes = np.empty((size, q)), np.empty(size), np.empty(size)
    for block in range(blocks):
        count = _gather(design, response, order, block * size, size, part, goal)
        if count < q:
            continue
        centres, spreads, fit = np.zeros(q), np.ones(q), np.zeros(q)
        _standardise(part, count, intercept, centres, spreads)
        if not _weighted(part, goal, np.ones(count), count, fit):
            continue
        if robust:
            _polish(part, goal, count, fit, sizes)
        usable = True
        for j in range(q):
            fit[j] /= spreads[j]
            usable = usable and math.isfinite(fit[j])
        if intercept:
            for j in range(1, q):
                fit[0] -= fit[j] * centres[j]
            usable = usable and math.isfinite(fit[0])
        if usable:
            for j in range(q):
                fits[block, j] = fit[j]
            solved[block] = True
    return fits, solved
