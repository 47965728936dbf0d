"""Calls of the owner's own functions: whatever they do on some data, the caller gets a number or nothing.

A function that raises, ends the program or returns anything but a finite real number has *failed*; what a failure
counts as is a public rule of the caller.  No failure, warning or floating-point signal leaves here, so none of them can
say anything about a record.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

_FARTHEST = 400
"""Decimals beyond 10**400 are beyond all floats, and as little finite as they are."""


def result_of(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns, whatever it is; None where it fails."""
    return _guarded(lambda: function(*map(_fresh, arguments)))


def number_of(function: Callable[..., Any], *arguments: Any) -> Fraction | None:
    """What a function returns, exactly; None where it fails."""
    found: Fraction | None = _guarded(lambda: as_number(function(*map(_fresh, arguments))))
    return found


def numbers_of(function: Callable[..., Any], length: int, *arguments: Any) -> tuple[Fraction, ...] | None:
    """The ``length`` numbers that a function returns, exactly; None where it fails or there are more or fewer."""

    def called() -> tuple[Fraction, ...] | None:
        entries = _entries(function(*map(_fresh, arguments)))
        if entries is None or len(entries) != length:
            return None
        found = [as_number(one) for one in entries]
        return None if None in found else tuple(found)  # type: ignore[arg-type]

    listed: tuple[Fraction, ...] | None = _guarded(called)
    return listed


def as_number(found: Any) -> Fraction | None:
    """A real number of Python, numpy or Arrow, exactly; None for anything else."""
    if hasattr(found, "as_py"):
        found = found.as_py()
    elif isinstance(found, np.generic) or (isinstance(found, np.ndarray) and found.ndim == 0):
        found = float(found) if found.dtype.kind == "f" else found.item()
    if isinstance(found, Decimal):
        if not found.is_finite() or found.adjusted() > _FARTHEST:
            return None
        return Fraction(found) if found.adjusted() > -_FARTHEST else Fraction(0)
    if isinstance(found, float):
        return Fraction(found) if np.isfinite(found) else None
    return Fraction(found) if isinstance(found, (int, Fraction)) else None


def _entries(found: Any) -> Sequence[Any] | None:
    if hasattr(found, "to_numpy"):
        found = np.asarray(found.to_numpy())
    if isinstance(found, np.ndarray):
        return list(found) if found.ndim == 1 else None
    return found if isinstance(found, (list, tuple)) else None


def _guarded(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return call()
        except KeyboardInterrupt:  # whoever waits at the keyboard may stop waiting
            raise
        except BaseException:  # noqa: BLE001  (which of them it was may depend on one record)
            return None


def _fresh(argument: Any) -> Any:
    """A copy of data that a function could change in place, so that the next call sees them as they were."""
    if isinstance(argument, (list, dict, set, np.ndarray)) or type(argument).__module__.startswith("pandas."):
        return copy.copy(argument)
    return argument
