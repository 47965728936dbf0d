"""Random blocks of records, each fitted on its own: what regressions aggregate privately.

The partition is drawn without looking at the data, so a person sits in one block and changes one fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.kernels.elementary import Floats
from dither.noise.entropy import Source, random_words, splitting

ROBUST_FROM = 2
"""Blocks of at least so many records per coefficient are fitted robustly; smaller ones by least squares."""


class RegressionRecords:
    """Private: records with their features and response."""

    __slots__ = ("features", "response")

    def __init__(self, features: Floats, response: Floats) -> None:
        self.features = np.ascontiguousarray(features, dtype=np.float64)
        self.response = np.ascontiguousarray(response, dtype=np.float64)

    def __repr__(self) -> str:
        return "Sample(<private>)"

    @property
    def records(self) -> int:
        """The (public) number of records."""
        return len(self.response)

    def design(self, *, intercept: bool) -> Floats:
        """The features, after a column of ones if there is an intercept."""
        if not intercept:
            return self.features
        return np.column_stack([np.ones(self.records), self.features])


@dataclass(frozen=True)
class BlockFits:
    """Private: the coefficients of every block, and which blocks determine them."""

    coefficients: Floats
    solved: NDArray[np.bool_]

    def __repr__(self) -> str:
        return "BlockFits(<private>)"

    def column(self, index: int, far: float) -> Floats:
        """One coefficient of every block; a block without an answer says ``far`` or ``-far``, by its public number.

        So many blocks above as below every place move the middle least.
        """
        default = np.where(np.arange(len(self.solved)) % 2 == 0, -far, far)
        return np.where(self.solved, self.coefficients[:, index], default)

    def distances(self, index: int, centre: float) -> Floats:
        """How far one coefficient of every block is from a public place; a block without an answer says zero or
        infinity, by its public number."""
        with np.errstate(all="ignore"):
            apart = np.abs(self.coefficients[:, index] - centre)
        default = np.where(np.arange(len(self.solved)) % 2 == 0, 0.0, np.inf)
        numbers: Floats = np.where(self.solved, apart, default)
        return numbers

    def pair_distances(self, index: int) -> Floats:
        """How far apart one coefficient is within disjoint pairs of blocks; each block in at most one of them.

        A pair with a block that has no answer says zero or infinity, by its public number.
        """
        half = len(self.solved) // 2
        first, other = self.coefficients[:half, index], self.coefficients[half : 2 * half, index]
        with np.errstate(all="ignore"):
            apart = np.abs(first - other)
        default = np.where(np.arange(half) % 2 == 0, 0.0, np.inf)
        numbers: Floats = np.where(self.solved[:half] & self.solved[half : 2 * half], apart, default)
        return numbers


def random_order(records: int, source: Source = splitting) -> NDArray[np.int64]:
    """A random order of the records, secret and independent of the data."""
    return np.argsort(random_words(records, source), kind="stable").astype(np.int64)


def block_fits(sample: RegressionRecords, order: NDArray[np.int64], size: int, *, intercept: bool) -> BlockFits:
    """Fit the blocks of ``size`` records that an order makes; the records left over are not used."""
    # Compiled code is slow to load, and most releases do without it.
    from dither.kernels.blocks import fit_blocks  # noqa: PLC0415

    used = order[: len(order) // size * size]
    coefficients = sample.features.shape[1] + intercept
    robust = size >= ROBUST_FROM * coefficients
    return BlockFits(*fit_blocks(sample.features, sample.response, used, size, intercept, robust))
