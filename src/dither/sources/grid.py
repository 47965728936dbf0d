"""Public grids: the declared values that records and answers may take, as whole multiples of a step.

Everything private is computed in whole numbers of steps, so no rounding error can depend on the data.
"""

from __future__ import annotations

import datetime
import functools
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidArgument
from dither.kernels.rounding import Rounding
from dither.numbers import Number, exact

DEFAULT_STEPS = 36
"""A real column without a declared step is cut into at least 2**36 steps: far below any private error."""
MOST_STEPS = 1 << 52
_SMALLEST = Fraction(1, 1 << 900)
"""Beyond this a step is no ordinary float, and dividing by it would lose records."""


@dataclass(frozen=True)
class Grid:
    """The multiples of ``step`` from ``low * step`` to ``high * step``; ``None`` means no bound."""

    step: Fraction
    low: int | None
    high: int | None

    @classmethod
    def between(
        cls, bounds: Iterable[Number] | Number | None, step: Number | None = None, *, whole: bool = False
    ) -> Grid:
        """The grid of a column with these bounds.

        Without a declared step it is 1 for whole numbers and otherwise the power of two that cuts the
        bounds into 2**36 steps or more.
        """
        if type(bounds) is tuple and len(bounds) == 2 and {type(v) for v in (*bounds, step)} <= _PLAIN:
            return _plain_grid(*bounds, step, whole)  # type: ignore[arg-type]  # these are plain numbers
        lower, upper = _pair(bounds)
        return _grid(lower, upper, None if step is None else exact(step, "step"), whole)

    @property
    def points(self) -> int:
        """The number of grid points of a bounded grid."""
        low, high = self.ends
        return high - low + 1

    @property
    def ends(self) -> tuple[int, int]:
        """Both ends of a bounded grid, in steps."""
        if self.low is None or self.high is None:
            raise ValueError("this grid has no ends")
        return self.low, self.high

    @property
    def is_whole(self) -> bool:
        """True if all points are whole numbers."""
        return self.step.denominator == 1

    def clamp(self, steps: int) -> int:
        """The nearest point of the grid."""
        if self.low is not None:
            steps = max(steps, self.low)
        return steps if self.high is None else min(steps, self.high)

    def interval_around(self, steps: int, half_width: int) -> tuple[int, int]:
        """Within the grid, around the point nearest to ``steps``: holds all of the grid that is as near to ``steps``.

        Around ``steps`` itself an interval that lies outside would be cut to a point.
        """
        centre = self.clamp(steps)
        return self.clamp(centre - half_width), self.clamp(centre + half_width)

    def value(self, steps: int) -> int | float:
        """A grid point as a number: an int where all points are whole, else the nearest float."""
        numerator, denominator = self.step.numerator * steps, self.step.denominator
        if denominator == 1 and abs(numerator) <= sys.float_info.max:
            return numerator
        try:
            return numerator / denominator
        except OverflowError:  # (beyond all floats, as squares of huge numbers are: the farthest of them)
            return sys.float_info.max if numerator > 0 else -sys.float_info.max

    def all_values(self, steps: Sequence[int]) -> tuple[int | float, ...]:
        """Many grid points as numbers."""
        return tuple(steps) if self.step == 1 else tuple(self.value(step) for step in steps)

    def quantise(self, values: NDArray[np.generic], missing: int) -> NDArray[np.int64]:
        """Each value clamped and rounded to the grid, record by record; NaN becomes ``missing``."""
        low, high = self.ends
        if np.issubdtype(values.dtype, np.integer) and self.step == 1:
            # Only unsigned 64-bit numbers may not fit; the bounds do.
            fitting = np.minimum(values, np.uint64(MOST_STEPS)) if values.dtype == np.uint64 else values
            whole: NDArray[np.int64] = fitting.astype(np.int64)
            np.maximum(whole, low, out=whole)
            np.minimum(whole, high, out=whole)
            return whole
        return self.rounding(missing).steps(values)

    def rounding(self, missing: int) -> Rounding:
        """How reals become steps of this grid."""
        return Rounding(self.step.numerator / self.step.denominator, *self.ends, missing)


BIT = Grid(Fraction(1), 0, 1)
"""The grid of truth values."""
_PLAIN = {int, float, type(None)}


@functools.lru_cache(maxsize=1024, typed=True)
def _plain_grid(lower: float, upper: float, step: float | None, whole: bool) -> Grid:
    """The grid of plain Python numbers, remembered by value and type: 0.1 equals Fraction(0.1) but means less."""
    ends = _pair((lower, upper))
    return _grid(*ends, None if step is None else exact(step, "step"), whole)


@functools.lru_cache(maxsize=1024)
def _grid(lower: Fraction, upper: Fraction, step: Fraction | None, whole: bool) -> Grid:
    if step is not None:
        size = step
        if size <= 0:
            raise InvalidArgument("step", float(step), "must be a positive number")
    elif whole:
        size = Fraction(1)
    else:
        width = upper - lower
        exponent = width.numerator.bit_length() - width.denominator.bit_length()
        size = Fraction(2) ** (exponent - 1 - DEFAULT_STEPS)
    if not _SMALLEST < size < 1 / _SMALLEST:
        raise InvalidArgument("bounds", (str(lower), str(upper)), "must give a step between 2**-900 and 2**900")
    low, high = math.ceil(lower / size), math.floor(upper / size)
    if high <= low:
        raise InvalidArgument(
            "bounds",
            (float(lower), float(upper)),
            f"must have at least two multiples of the step {size} between them",
        )
    if high - low > MOST_STEPS or max(abs(low), abs(high)) > MOST_STEPS:
        least = max(abs(lower), abs(upper), upper - lower) / MOST_STEPS
        power = Fraction(2) ** (least.numerator.bit_length() - least.denominator.bit_length() + 1)
        coarse = int(power) if power >= 1 else float(power)
        raise InvalidArgument(
            "step",
            str(size),
            f"must be coarser, as there are at most 2**52 steps from zero to either bound: pass step={coarse}, at the "
            f"shell --step {coarse}",
        )
    return Grid(size, low, high)


def _pair(bounds: Iterable[Number] | Number | None) -> tuple[Fraction, Fraction]:
    accepted = "must be two finite numbers (lower, upper) with lower < upper, known without looking at the data"
    if bounds is None:
        accepted = (
            "is missing: pass bounds=(lower, upper), in the shell --bounds LOWER UPPER, a range that you know without "
            "looking at the data; medians, quantiles and trimmed means need none"
        )
    if not isinstance(bounds, Iterable) or isinstance(bounds, (str, bytes)):
        raise InvalidArgument("bounds", bounds, accepted)
    pair = tuple(bounds)
    if len(pair) != 2:
        raise InvalidArgument("bounds", pair, accepted)
    lower, upper = pair
    try:
        ends = exact(lower, "bounds"), exact(upper, "bounds")
    except InvalidArgument:
        if isinstance(lower, datetime.date):
            accepted = "must be numbers here, or two dates, for questions about one column of them"
        elif isinstance(lower, (str, np.datetime64, np.timedelta64)):
            accepted = "must be two numbers; of dates two datetime.date or datetime, of durations two timedelta"
        raise InvalidArgument("bounds", (lower, upper), accepted) from None
    if not ends[0] < ends[1]:
        raise InvalidArgument("bounds", (lower, upper), accepted)
    return ends
