"""Arrow's decimals as the nearest doubles, from its memory, without an object for each record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dither.sources.entries import reals

if TYPE_CHECKING:
    import pyarrow as pa

_EXACT = 2**53
"""Whole numbers up to here are doubles, and so are the powers of ten up to the following one."""
_EXACT_POWER = 22
_BITS = 128


def decimals(column: pa.Array | pa.ChunkedArray) -> NDArray[np.float64] | None:
    """The records, NaN where they are missing; None for types of which memory is not enough.

    A quotient of two doubles is rounded once, so a number of at most 2**53 units is the double nearest to the decimal:
    what ``reals`` makes of it.  Every other record is given to ``reals`` by itself.
    """
    kind = column.type
    if getattr(kind, "bit_width", 0) != _BITS or not 0 <= getattr(kind, "scale", -1) <= _EXACT_POWER:
        return None
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    parts = [_chunk(chunk, float(10**kind.scale)) for chunk in chunks if len(chunk)]
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0), *parts])


def _chunk(chunk: pa.Array, units: float) -> NDArray[np.float64]:
    first, count = chunk.offset, len(chunk)
    words = np.frombuffer(chunk.buffers()[1], dtype="<i8", count=2 * (first + count))[2 * first :]
    low, high = words[0::2], words[1::2]
    result: NDArray[np.float64] = low / units
    missing = chunk.is_null().to_numpy(zero_copy_only=False)
    result[missing] = np.nan
    large = ~missing & ((high != low >> 63) | (low > _EXACT) | (low < -_EXACT))
    if large.any():
        places = np.flatnonzero(large)
        result[places] = reals(chunk.take(places).to_pylist())
    return result
