"""Least squares as a function of one private vector of moments, with intervals of its own.

The records are clamped to public bounds; sums, squares and products are released once, with noise that does not
depend on the data, and everything else is computed from the noisy moments (docs/proofs/least_squares.md).
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.accounting.cascades import Composition, Step
from dither.errors import InvalidArgument
from dither.kernels.elementary import Floats
from dither.mechanisms.mechanism import MechanismSpec
from dither.mechanisms.worst_case import ScaledVector, vector_noise
from dither.noise.law import Law
from dither.noise.weighted_sums import sum_quantile
from dither.privacy import Loss, Neighbours
from dither.procedures.block_fits import RegressionRecords
from dither.procedures.regression import Fit, RegressionFacts, RegressionPlan
from dither.sources.column import Column, Table
from dither.sources.grid import Grid
from dither.statistics.moments import ColumnSums, Moments

STEEPEST = 2.0**20
"""Coefficients, in half widths of the response for a half width of a feature, are cut to this size."""
FARTHEST = 1 << 20
"""Without an intercept bounds are at most so many half widths from zero."""
ROUNDS = 60
"""So often the distances of an interval are looked for."""
GROWTH = 1.0 + 1e-3
"""By which distances exceed what is asked of them, so that they surely hold."""
ROUNDING = 1e-12
"""More than rounding errors make of a product of matrices, in parts of the sum of sizes."""


@dataclass(frozen=True)
class MomentRegression(RegressionPlan):
    """Least squares from noisy moments of clamped records.

    Guarantee  (epsilon, delta)-DP, pure where delta is 0: a function of moments plus noise of their sensitivity.
    Theorem    docs/proofs/moments.md for the moments, docs/proofs/least_squares.md for the intervals.
    Constants  l1 sensitivity in units of what one record moves: 16.5 for five features (3.5 for one).
    Cost       O(n p^2) exact products; nothing grows with 1/epsilon.
    """

    prepared: ScaledVector[ColumnSums | Table]
    statistic: Moments
    noise: str = "laplace"

    name = "moments"

    @property
    def composition(self) -> Composition:
        return Step(self.prepared.loss.exact_epsilon, self.prepared.loss.exact_delta)

    def run(self, sample: RegressionRecords) -> Fit:
        answer = self.prepared.run(self.table(sample)).answer
        if not isinstance(answer, tuple):
            raise TypeError("moments are several numbers")
        noisy = [grid.step * steps for grid, steps in zip(self.statistic.answers, answer, strict=True)]
        return NormalEquations.of(self, noisy).fit(self.miss)

    def table(self, sample: RegressionRecords) -> Table:
        """The records without a missing entry, on their grids: private."""
        columns = [sample.response, *sample.features.T]
        complete = ~np.isnan(np.column_stack(columns)).any(axis=1)
        grids = (self.statistic.y, *self.statistic.x)
        return Table(
            [Column(grid.quantise(column[complete], 0), grid) for column, grid in zip(columns, grids, strict=True)]
        )


@dataclass(frozen=True)
class NormalEquations:
    """Noisy normal equations ``A b = c`` in half widths, and the noise of each of their numbers: public.

    The coefficients of ``(1, u_1, ..., u_p)`` are ``lift b + offset``: without an intercept the plane is held to the
    origin of the columns' own coordinates.
    """

    moments: Floats
    """Of (1, u), with itself."""
    response: Floats
    """Of (1, u) with v."""
    scales: Floats
    """Of the noise in ``moments``."""
    response_scales: Floats
    lift: Floats
    offset: Floats
    law: Law
    steps: float
    """Roundings of a draw to its grid, in parts of its scale."""
    statistic: Moments
    intercept: bool

    @classmethod
    def of(cls, plan: MomentRegression, noisy: list[Fraction]) -> NormalEquations:
        """From the released moments, in half widths."""
        statistic, prepared = plan.statistic, plan.prepared
        p = len(statistic.x)
        caps = [grid.step * cap for grid, cap in zip(statistic.answers, statistic.global_sensitivities, strict=True)]
        scale = [float(cap * prepared.unit) for cap in caps]
        given = [float(total) for total in noisy]
        moments, scales = np.zeros((p + 1, p + 1)), np.zeros((p + 1, p + 1))
        response, response_scales = np.zeros(p + 1), np.zeros(p + 1)
        # The order of the moments: features, response, products, records.
        places = [(0, j) for j in range(1, p + 1)] + [(0, -1)]
        places += [(k, -1) if j == 0 else (j, k) for j, k in statistic.pairs] + [(0, 0)]
        for (j, k), argument, size in zip(places, given, scale, strict=True):
            if k < 0:
                response[j], response_scales[j] = argument, size
            else:
                moments[j, k] = moments[k, j] = argument
                scales[j, k] = scales[k, j] = size
        middles, halves = zip(*(statistic.centred(j) for j in range(p + 1)), strict=True)
        lift, offset = np.eye(p + 1), np.zeros(p + 1)
        if not plan.model.intercept:
            lift = np.vstack([[_float(m / h) for m, h in zip(middles[1:], halves[1:], strict=True)], np.eye(p)])
            offset[0] = -_float(middles[0] / halves[0])
        least = min(float(sensitivity * prepared.unit) for sensitivity in statistic.global_sensitivities)
        return cls(
            moments,
            response,
            scales,
            response_scales,
            lift,
            offset,
            prepared.law,
            1.0 / least,
            statistic,
            plan.model.intercept,
        )

    @property
    def matrix(self) -> Floats:
        """A, symmetric."""
        numbers: Floats = self.lift.T @ self.moments @ self.lift
        return numbers

    @property
    def right(self) -> Floats:
        """c."""
        numbers: Floats = self.lift.T @ (self.response - self.moments @ self.offset)
        return numbers

    def fit(self, miss: Fraction | None) -> Fit:
        """Coefficients in the columns' own units, and intervals that hold together."""
        with np.errstate(all="ignore"):
            values = self.solution()
            rows, constants = self._own_units()
            answer = tuple(_combined(row, values, more) for row, more in zip(rows, constants, strict=True))
            if miss is None:
                return Fit(answer)
            inverse = self._inverse()
            away = self.distances(values, inverse, float(miss))
            ends = [self._between(row, values, inverse, away, float(miss)) for row in rows]
        return Fit(
            answer,
            tuple(
                (_shifted(low, more), _shifted(high, more)) for (low, high), more in zip(ends, constants, strict=True)
            ),
        )

    # --- the answer ----------------------------------------------------------------------------------------

    def solution(self) -> Floats:
        """The noisy equations solved, with eigenvalues that noise can make of nothing raised to its size."""
        values, vectors = np.linalg.eigh(self.matrix)
        raised = np.maximum(values, self._floor())
        numbers: Floats = np.clip(vectors @ ((vectors.T @ self.right) / raised), -STEEPEST, STEEPEST)
        return numbers

    def _floor(self) -> float:
        """The size of the noise in the matrix: its largest scale times the root of its order."""
        lifted = np.abs(self.lift).T @ self.scales @ np.abs(self.lift)
        return float(np.max(np.diag(lifted), initial=0.0)) * math.sqrt(len(lifted)) or 1.0

    def _inverse(self) -> Floats:
        values, vectors = np.linalg.eigh(self.matrix)
        safe = np.where(np.abs(values) > 0.0, values, 1.0)
        numbers: Floats = (vectors / safe) @ vectors.T
        return numbers

    # --- the intervals -------------------------------------------------------------------------------------

    def reach(self, sizes: Floats, miss: float) -> Floats:
        """How far ``A b - c`` of the true coefficients is from zero in each row, where ``|lift b + offset| <= sizes``.

        All rows hold together except with probability ``miss``: each is a weighted sum of the noise, with weights that
        depend on the true coefficients alone.
        """
        weights, order = np.abs(self.lift), len(self.moments)
        each = miss / weights.shape[1]
        upper = np.triu_indices(order, 1)
        results = []
        for column in weights.T:
            crossed = np.outer(column, sizes)
            pairs = (crossed + crossed.T)[upper] * self.scales[upper]
            all_scales = np.concatenate([pairs, np.diag(crossed) * np.diag(self.scales), column * self.response_scales])
            results.append(sum_quantile(self.law, all_scales, each) + float(np.sum(all_scales)) * self.steps)
        return np.array(results)

    def distances(self, values: Floats, inverse: Floats, miss: float) -> Floats:
        """How far the true coefficients can be from ``values``, each; infinite where that is not known."""
        sizes = np.abs(inverse) @ np.abs(self.matrix)
        errors = np.abs(np.eye(len(values)) - inverse @ self.matrix) + ROUNDING * sizes
        rest = self._rest(values)
        away = np.zeros(len(values))
        for _ in range(ROUNDS):
            sizes = np.abs(self.lift) @ (np.abs(values) + away) + np.abs(self.offset)
            asked = errors @ away + np.abs(inverse) @ (self.reach(sizes, miss) + rest)
            if not np.isfinite(asked).all() or (asked > 4.0 * STEEPEST).any():
                break
            if (asked < away).all():
                return away
            away = np.maximum(away, asked * GROWTH)
        return np.full(len(values), math.inf)

    def _rest(self, values: Floats) -> Floats:
        """By how much the answer misses the noisy equations, with rounding errors."""
        sizes = np.abs(self.matrix) @ np.abs(values) + np.abs(self.right)
        numbers: Floats = np.abs(self.matrix @ values - self.right) + ROUNDING * sizes
        return numbers

    def _between(self, row: Floats, values: Floats, inverse: Floats, away: Floats, miss: float) -> tuple[float, float]:
        """Where ``row . b`` of the true coefficients lies, b cut to the range of all answers."""
        widest = float(np.abs(row).sum()) * STEEPEST
        if not np.isfinite(away).all():
            return -widest, widest
        sizes = np.abs(self.lift) @ (np.abs(values) + away) + np.abs(self.offset)
        rest = self._rest(values)
        turned = row @ inverse
        far = np.abs(turned) @ (self.reach(sizes, miss) + rest) + np.abs(row - turned @ self.matrix) @ away
        far += ROUNDING * (np.abs(turned) @ np.abs(self.matrix) @ away + np.abs(row) @ np.abs(values))
        middle = float(row @ values)
        return max(middle - float(far), -widest), min(middle + float(far), widest)

    # --- the columns' own units ----------------------------------------------------------------------------

    def _own_units(self) -> tuple[list[Floats], list[Fraction]]:
        """Each coefficient in the columns' own units as a combination of those in half widths, and a constant."""
        middles, halves = zip(*(self.statistic.centred(j) for j in range(len(self.moments))), strict=True)
        p, first = len(self.statistic.x), int(self.intercept)
        rows, constants = [], []
        if self.intercept:
            turned = [-_float(halves[0] * m / h) for m, h in zip(middles[1:], halves[1:], strict=True)]
            rows.append(np.array([_float(halves[0]), *turned]))
            constants.append(middles[0])
        for j in range(p):
            row = np.zeros(p + first)
            row[j + first] = _float(halves[0] / halves[j + 1])
            rows.append(row)
            constants.append(Fraction(0))
        return rows, constants


def _combined(row: Floats, values: Floats, more: Fraction) -> float:
    parts = (Fraction(float(a)) * Fraction(float(b)) for a, b in zip(row, values, strict=True))
    return _float(sum(parts, more))


def _shifted(number: float, more: Fraction) -> float:
    if not math.isfinite(number):
        return math.copysign(sys.float_info.max, number)
    return _float(Fraction(number) + more)


def _float(number: Fraction) -> float:
    most = Fraction(sys.float_info.max)
    return float(min(max(number, -most), most))


def plan_moments(
    model: RegressionFacts, loss: Loss, miss: Fraction | None, features: tuple[Grid, ...], response: Grid
) -> MomentRegression:
    """Least squares between public bounds; the number of records without a missing entry is private."""
    statistic = Moments(
        model.records,
        response,
        features,
        has_y_square=False,
        private=True,
        neighbours=Neighbours.ADD_REMOVE_CHANGE,
        is_cut=False,
    )
    if not model.intercept and any(abs(m) > FARTHEST * h for m, h in map(statistic.centred, range(len(features) + 1))):
        raise InvalidArgument("bounds", "far from zero", "must not be so narrow and far from zero without an intercept")
    prepared = vector_noise(MechanismSpec(statistic, loss), statistic)
    return MomentRegression(model, prepared.loss, miss, prepared, statistic, prepared.noise_name)
