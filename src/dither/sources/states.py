"""What became of each entry when it was read: it reads as declared, is missing, is unreadable, or was clamped."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dither.numbers import Number, exact
from dither.sources.column import as_array, declares_numbers, floats_of
from dither.sources.entries import is_missing, real
from dither.sources.frames import ColumnLike, column_entries

STATES = ("as declared", "missing", "unreadable", "clamped")
AS_DECLARED, MISSING, UNREADABLE, CLAMPED = range(len(STATES))


def is_present(data: ColumnLike) -> NDArray[np.bool_]:
    """Private: whether each entry is there, whatever it is.  None, NaN and masked entries are not."""
    if isinstance(data, np.ndarray) and data.dtype.kind in "mM":
        return ~np.asarray(np.isnat(np.ma.getdata(data)) | np.ma.getmaskarray(data))
    if declares_numbers(data):
        numbers = as_array(data)
        values = np.ma.getdata(numbers)
        return ~np.asarray((values != values) | np.ma.getmaskarray(numbers))
    entries = data.tolist() if isinstance(data, np.ndarray) else column_entries(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ~np.fromiter((is_missing(entry) for entry in entries), dtype=np.bool_, count=len(entries))


def entry_states(data: ColumnLike, bounds: Sequence[Number] | None) -> NDArray[np.int64]:
    """Private: the state of each entry where numbers between bounds are read."""
    present = is_present(data)
    if declares_numbers(data):
        values = floats_of(as_array(data))
    else:
        entries = data.tolist() if isinstance(data, np.ndarray) else column_entries(data)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            values = np.fromiter((real(entry) for entry in entries), dtype=np.float64, count=len(entries))
    low, high = (-math.inf, math.inf) if bounds is None else (float(exact(end, "bounds")) for end in bounds)
    states = np.where((values < low) | (values > high), CLAMPED, AS_DECLARED)
    states = np.where(np.isnan(values), UNREADABLE, states)
    return cast("NDArray[np.int64]", np.where(present, states, MISSING).astype(np.int64))
