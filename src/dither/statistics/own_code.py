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
from typing import Any, TypeVar

import numpy as np

from dither.numbers import Number

Argument = TypeVar("Argument")
Result = TypeVar("Result")

_FARTHEST = 400
"""Decimals beyond 10**400 are beyond all floats, and as little finite as they are."""


def result_of(function: Callable[..., Result], *arguments: Argument) -> Result | None:
    """What a function returns, whatever it is; None where it fails."""
    return _guarded(lambda: function(*map(_fresh, arguments)))


def number_of(function: Callable[..., Number], *arguments: Argument) -> Fraction | None:
    """What a function returns, exactly; None where it fails."""
    return _guarded(lambda: as_number(function(*map(_fresh, arguments))))


def numbers_of(
    function: Callable[..., Sequence[Number]], length: int, *arguments: Argument
) -> tuple[Fraction, ...] | None:
    """The ``length`` numbers that a function returns, exactly; None where it fails or there are more or fewer."""

    def called() -> tuple[Fraction, ...] | None:
        entries = _entries(function(*map(_fresh, arguments)))
        if entries is None or len(entries) != length:
            return None
        matches = [number for number in map(as_number, entries) if number is not None]
        return tuple(matches) if len(matches) == length else None

    return _guarded(called)


def as_number(result: Any) -> Fraction | None:  # what the owner's function returned, checked here
    """A real number of Python, numpy or Arrow, exactly; None for anything else."""
    if hasattr(result, "as_py"):
        result = result.as_py()
    elif isinstance(result, np.generic) or (isinstance(result, np.ndarray) and result.ndim == 0):
        result = float(result) if result.dtype.kind == "f" else result.item()
    if isinstance(result, Decimal):
        if not result.is_finite() or result.adjusted() > _FARTHEST:
            return None
        return Fraction(result) if result.adjusted() > -_FARTHEST else Fraction(0)
    if isinstance(result, float):
        return Fraction(result) if np.isfinite(result) else None
    return Fraction(result) if isinstance(result, (int, Fraction)) else None


def _entries(result: Any) -> Sequence[Any] | None:  # what the owner's function returned
    if hasattr(result, "to_numpy"):
        result = np.asarray(result.to_numpy())
    if isinstance(result, np.ndarray):
        return list(result) if result.ndim == 1 else None
    return result if isinstance(result, (list, tuple)) else None


def _guarded(call: Callable[[], Result]) -> Result | None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return call()
        except KeyboardInterrupt:  # whoever waits at the keyboard may stop waiting
            raise
        except BaseException:  # noqa: BLE001  (which of them it was may depend on one record)
            return None


def _fresh(argument: Argument) -> Argument:
    """A copy of data that a function could change in place, so that the next call sees them as they were."""
    if isinstance(argument, (list, dict, set, np.ndarray)) or type(argument).__module__.startswith("pandas."):
        return copy.copy(argument)
    return argument
