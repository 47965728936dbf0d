"""DL09's robust regression R_H: the least-absolute-deviations fit, if its cell is far from changing.

The fit minimises ``sum |y_i - x_i.b| / |x_i|``, with x in units of the cell's sides, which are released first.  How
many records must change before a minimiser leaves the cell is bounded from the subgradients on the cell's boundary
(dither.kernels.arrangement, docs/proofs/regression.md, section 4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dither.accounting.cascades import FREE, Composition, Concurrent, Sequential, Step, Tested, paper_robust
from dither.errors import InvalidArgument, NotApplicable
from dither.kernels.elementary import Floats
from dither.mechanisms.margin_test import MarginTest
from dither.mechanisms.mechanism import MOST_EPSILON
from dither.noise.discrete_exponential import draw_index
from dither.noise.law import Constants
from dither.privacy import Loss
from dither.procedures.block_fits import BlockFits, RegressionRecords, block_fits, random_order
from dither.procedures.ordered import LARGEST, Ordered
from dither.procedures.plans import outer_ranks, paper_loss, paper_scale_step, paper_test, usable
from dither.procedures.regression import LEAST_SPREAD, Fit, RegressionFacts, RegressionPlan, check_block, draw_spread
from dither.procedures.unbounded import ScaleStep, enough_records, noisy

if TYPE_CHECKING:
    from dither.kernels.arrangement import Lines

SWEPT = 2
"""Up to so many coefficients the boundary of a cell is swept exactly; beyond, its faces are cut into boxes."""
FINENESS = {3: (7, 4), 4: (5, 2), 5: (4, 1), 6: (3, 1)}
"""By the number of coefficients: how often faces are halved, and how fine the directions are (public)."""
MOST_COEFFICIENTS = max(FINENESS)
"""A cell of q coefficients has 2q faces of dimension q - 1, and there are 2^q grids."""
MOST_RECORDS = 1 << 22
"""With more lines cross products of sums would not fit into 64 bits (dither.kernels.arrangement.MOST_LINES)."""
MOST_RECORDS_OF_FACES = 1 << 20
"""The same for more than two coefficients, where a linear programme takes some minutes of so many."""
BLOCK = 4
"""Records per coefficient in the blocks whose spread sets the sides of the cells."""
SIDE_NATS = Fraction(14)
"""How rarely a side may come from outside of the bulk of the spreads: about e^-14 for each of 129 octaves."""
CHOICE_SHARE = Fraction(1, 5)
"""The part of epsilon that chooses among the shifted grids."""
MOST_SCALE_SHARE = Fraction(2, 5)
"""The part of epsilon that the scales may take at most."""
ROOM = {1: 40, 2: 40, 3: 60, 4: 90, 5: 200, 6: 400}
"""Sides of cells, in standard errors of one record, for each share of the records that the test needs as margin."""
FINER = 64
"""The paper's answer is looked up in cells so many times finer than those of the test."""
QUARTILES = (Fraction(1, 4), Fraction(3, 4))
NO_SCALE = "the spread of the blocks' fits may depend on few of them: the test of a scale did not pass"
NO_CELL = "few records may move the fit out of its cell: the test of the cell did not pass"


@dataclass(frozen=True)
class FitCells:
    """Private: the cell of the fit in each shifted grid, and its margin (0 where the minimisers have no cell)."""

    corners: tuple[tuple[int, ...] | None, ...]
    margins: tuple[int, ...]

    def __repr__(self) -> str:
        return "Cells(<private>)"


def shifts(coefficients: int) -> list[tuple[int, ...]]:
    """By how many half cells each of the 2^p grids is moved: public."""
    return list(product((0, 1), repeat=coefficients))


def cells_of(design: Floats, response: Floats, sides: Floats, most: int | None = None) -> FitCells:
    """The cells and their margins: how many records can change with the cell staying what it is.

    Margins are 1-Lipschitz between neighbours, and neighbours with different cells both have margin 0.  ``most`` is a
    public height at which they may be cut; for three coefficients or more they are bounds from below.
    """
    # Compiled code is slow to load, and most releases do without it.
    from dither.kernels.arrangement import boundary_changes, cell_around, lines_of, minimiser_box  # noqa: PLC0415

    lines = lines_of(design, response, sides)
    if len(sides) > SWEPT:
        result = faces_of(lines, len(response) if most is None else most)
        return FitCells(tuple(corner for corner, _ in result), tuple(margin for _, margin in result))
    box = minimiser_box(lines)
    corners = [cell_around(box, shift) for shift in shifts(len(sides))]
    margins = [0 if corner is None else max(boundary_changes(lines, corner) - 1, 0) for corner in corners]
    return FitCells(tuple(corners), tuple(margins))


def faces_of(lines: Lines, most: int) -> list[tuple[tuple[int, ...] | None, int]]:
    """In each shifted grid the cell whose bound exceeds two, if there is one, and its margin, cut at ``most``.

    Margins count from bounds above four: then every neighbour's bound exceeds two, and it has the same cell.
    """
    from dither.kernels.cell_faces import cells_near, face_changes  # noqa: PLC0415
    from dither.kernels.least_deviations import near_minimiser  # noqa: PLC0415

    coefficients = lines.directions.shape[1]
    depth, finest = FINENESS[coefficients]
    point, result = near_minimiser(lines), []
    for shift in shifts(coefficients):
        tried = [
            (face_changes(lines, corner, depth=depth, finest=finest, most=most + 2), corner)
            for corner in cells_near(point, shift)
        ]
        changes, corner = max(tried, default=(1, None))
        result.append((corner, changes - 2) if changes > 1 else (None, 0))
    return result


@dataclass(frozen=True)
class StableCell(RegressionPlan):
    """R_H in the user's (epsilon, delta): the centre of a cell that no single record can change.

    Guarantee  (epsilon, delta)-DP.
    Theorem    docs/proofs/regression.md, section 4: margins of cells, a private choice of the grid, one test.
    Constants  DL09 runs 2^p tests and adds Lap(p h / epsilon) to every coefficient; a cell that passes is the same for
               all neighbours, so its centre needs no noise, and choosing the grid privately leaves one test.
    Cost       O(n log n) for one or two coefficients; beyond, a linear programme and boxes of a public number.
    """

    size: int
    scale_epsilon: Fraction
    choice_epsilon: Fraction
    test: MarginTest

    name = "robust"
    noise = "laplace"

    @property
    def composition(self) -> Composition:
        scales = Concurrent((Step(self.scale_epsilon),) * self.model.coefficients)
        test = Tested(Step(self.test.epsilon, self.test.delta), FREE)
        return Sequential((scales, Step(self.choice_epsilon), test))

    def run(self, sample: RegressionRecords) -> Fit:
        order = random_order(sample.records)
        fits = block_fits(sample, order, self.size, intercept=self.model.intercept)
        sides = np.array([self._side(fits, j) for j in range(self.model.coefficients)])
        # Margins are cut at a public height: still 1-Lipschitz, and no weight underflows.
        most = 4 * self.test.margin_for()
        cells = cells_of(sample.design(intercept=self.model.intercept), sample.response, sides, most)
        choice = draw_index([most - min(margin, most) for margin in cells.margins], self.choice_epsilon / 2)
        corner = cells.corners[choice]
        if not self.test.passes(cells.margins[choice]) or corner is None:
            return Fit(None, refused_at=NO_CELL)
        values = tuple((at / 2 + 0.5) * float(side) for at, side in zip(corner, sides, strict=True))
        if self.miss is None:
            return Fit(values)
        intervals = tuple((at / 2 * float(h), (at / 2 + 1) * float(h)) for at, h in zip(corner, sides, strict=True))
        return Fit(values, intervals)

    def _side(self, fits: BlockFits, index: int) -> float:
        """The side of the cells for one coefficient, from the private spread of the blocks' fits."""
        spread = draw_spread(fits, index, self.scale_epsilon)
        if spread <= LEAST_SPREAD:
            # Fits that all agree: any side will do that is not far below the values.
            return 1.0 / math.sqrt(self.model.records)
        share = min(ROOM[self.model.coefficients] * (self.test.margin_for() + 1) / self.model.records, 1.0)
        return spread * math.sqrt(self.size) * share


@dataclass(frozen=True)
class PaperCell(RegressionPlan):
    """R_H with the paper's constants: algorithm S for the sides, 2^p tests in a cascade, Laplace noise.

    Guarantee  (epsilon, delta)-DP.
    Theorem    DL09 Theorem 6 with its arithmetic put right: ((2^{p+1} + 4p) e, (2p + 2^p) d) for its own e and d.
    """

    size: int
    scale: ScaleStep
    test: MarginTest
    each: Fraction
    """The paper's epsilon."""

    name = "robust"
    noise = "laplace"

    @property
    def composition(self) -> Composition:
        return paper_robust(self.model.coefficients, self.each, self.test.delta)

    def run(self, sample: RegressionRecords) -> Fit:
        q = self.model.coefficients
        fits = block_fits(sample, random_order(sample.records), self.size, intercept=self.model.intercept)
        sides = []
        for index in range(q):
            result = self.scale.run(Ordered(fits.column(index, LARGEST).clip(-LARGEST, LARGEST) + 0.0))
            if result.value is None:
                return Fit(None, refused_at=NO_SCALE)
            records = float(self.model.records)
            sides.append(float(result.value) * records**-0.25 if result.value else records**-0.5)
        design, h = sample.design(intercept=self.model.intercept), np.array(sides)
        cells = cells_of(design, sample.response, h, 4 * self.test.margin_for())
        passed = next((k for k, margin in enumerate(cells.margins) if self.test.passes(margin)), None)
        corner = None if passed is None else cells.corners[passed]
        if corner is None:
            return Fit(None, refused_at=NO_CELL)
        inside = minimiser_in(corner, design, sample.response, h)
        noise = [noisy(at, 1 / self.each, self.miss) for at in inside]
        values = tuple(float(item.value or 0) * side for item, side in zip(noise, sides, strict=True))
        if self.miss is None:
            return Fit(values)
        intervals = tuple(
            (float(item.low or 0) * side, float(item.high or 0) * side) for item, side in zip(noise, sides, strict=True)
        )
        return Fit(values, intervals)


def minimiser_in(corner: tuple[int, ...], design: Floats, response: Floats, sides: Floats) -> list[Fraction]:
    """A minimiser to a small part of a cell, in units of cells, cut to the cell: private."""
    from dither.kernels.arrangement import lines_of, minimiser_box  # noqa: PLC0415

    if len(corner) > SWEPT:
        from dither.kernels.least_deviations import near_minimiser  # noqa: PLC0415

        point = [Fraction(float(at)) for at in near_minimiser(lines_of(design, response, sides))]
        return [
            min(max(coordinate, Fraction(at, 2)), Fraction(at + 2, 2))
            for coordinate, at in zip(point, corner, strict=True)
        ]
    box = minimiser_box(lines_of(design, response, sides / FINER))
    middle = [Fraction(at + 1, 2) for at in corner]
    if box is None:
        return middle
    near = [Fraction(low + high, 4 * FINER) for low, high in box]
    return [min(max(item, Fraction(at, 2)), Fraction(at + 2, 2)) for item, at in zip(near, corner, strict=True)]


# --- plans from public facts -------------------------------------------------------------------------


def plan_robust(
    model: RegressionFacts, loss: Loss, miss: Fraction | None, size: int | None = None, constants: Constants = "exact"
) -> StableCell | PaperCell:
    """R_H for one to six coefficients."""
    if model.coefficients > MOST_COEFFICIENTS:
        raise NotApplicable(
            "method",
            "robust",
            f"{model.coefficients} coefficients, and cells are tested for at most {MOST_COEFFICIENTS}: "
            "their faces grow in number and in dimension",
            '"auto" or "shortcut"',
        )
    most = MOST_RECORDS if model.coefficients <= SWEPT else MOST_RECORDS_OF_FACES
    if model.records > most:
        raise InvalidArgument("X", f"{model.records} records", f'must have at most {most} records for method="robust"')
    if loss.is_pure:
        raise InvalidArgument("delta", loss.delta, 'must be above 0 for the test of method="robust", such as 1e-6')
    if size is not None:
        check_block(size, model)
    if constants == "paper":
        return _paper_plan(model, loss, miss, size or model.coefficients)
    epsilon, q = min(loss.exact_epsilon, Fraction(int(MOST_EPSILON))), model.coefficients
    size = size or BLOCK * q
    per = size

    def scale_epsilon(records: int) -> Fraction:
        """Enough for the middle of half as many distances as there are blocks."""
        return SIDE_NATS * 8 / max(records // per, 1)

    def test(records: int) -> MarginTest:
        return MarginTest(epsilon * (1 - CHOICE_SHARE) - q * scale_epsilon(records), loss.exact_delta)

    def possible(records: int) -> bool:
        if q * scale_epsilon(records) > epsilon * MOST_SCALE_SHARE:
            return False
        return ROOM[q] * (test(records).margin_for() + 1) <= records

    enough_records(model.records, possible, loss.exact_epsilon, loss.exact_delta)
    return StableCell(
        model, loss, miss, size, scale_epsilon(model.records), epsilon * CHOICE_SHARE, test(model.records)
    )


def _paper_plan(model: RegressionFacts, loss: Loss, miss: Fraction | None, size: int) -> PaperCell:
    q = model.coefficients
    each = usable(loss) / (2 ** (q + 1) + 4 * q)
    blocks, tests = model.records // size, 2 * q + 2**q

    def possible(records: int) -> bool:
        return paper_spent(records // size, loss, each, tests) is not None

    enough_records(model.records, possible, loss.exact_epsilon, loss.exact_delta)
    spent = paper_loss(blocks, loss, each, tests, block_room)
    scale = paper_scale_step(blocks, each, QUARTILES)
    # The paper's noise Lap(1/e) on a count that one change moves by 2 is Lap(1/(2e)) on our margin.
    test = MarginTest(2 * each, paper_test(blocks, each).delta)
    return PaperCell(model, spent, miss, size, scale, test, each)


def block_room(blocks: int) -> int:
    """The largest margin that the quartiles of so many blocks' fits can have."""
    return outer_ranks(blocks, QUARTILES) - 1


def paper_spent(blocks: int, loss: Loss, each: Fraction, tests: int) -> Loss | None:
    """The loss of the paper's constants for so many blocks; None if there are too few of them."""
    try:
        return paper_loss(blocks, loss, each, tests, block_room)
    except InvalidArgument as error:
        if error.argument != "data":
            raise
        return None
