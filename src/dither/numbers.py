"""Exact numbers: rationals that mean what they print, and rigorous balls of real numbers.

A number that a user writes means its shortest decimal form: ``0.07`` is 7/100, not the binary fraction
nearest to it, so that ``ceil(0.07 * 100)`` is 7.  Everything that privacy rests on is then computed in
rationals or in balls (``flint.arb``): intervals that are guaranteed to contain the true real number.
"""

from __future__ import annotations

import functools
import math
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational
from typing import SupportsFloat, TypeAlias

from flint import arb, ctx, fmpq

from dither.errors import InvalidArgument

Ball: TypeAlias = arb
Number: TypeAlias = SupportsFloat
"""A number as people write it: of Python, numpy or a library like them; ``exact`` refuses all else when it is run."""
Real: TypeAlias = int | Fraction | Callable[[], Ball]
"""An exact rational, or a computable real: called, it returns a ball at the precision in force."""

MOST_DIGITS = 5_000
"""A decimal number with more digits before or after its point than this is refused."""

_TYPED = re.compile(r"\s*[-+]?[0-9]{1,40}(?:\.[0-9]{0,40})?(?:[eE][-+]?[0-9]{1,4})?\s*")
"""Text that looks like a number, which people pass on from files and forms."""

# flint keeps one precision for the whole process, so a thread that sets it holds a lock until it is done.
_precision_lock = threading.RLock()


class _FreedAtEnd:
    """Frees what flint keeps for a thread when that thread ends: 230 KB for a mean, which nothing else frees."""

    __slots__ = ()

    def __del__(self) -> None:
        if threading.get_ident() != threading.main_thread().ident:  # the process ends with the main thread
            ctx.cleanup()


_caches = threading.local()


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Do ball arithmetic with ``bits`` bits; other threads wait."""
    _caches.freed_at_end = getattr(_caches, "freed_at_end", None) or _FreedAtEnd()
    with _precision_lock:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


def exact(value: object, argument: str = "value") -> Fraction:  # anything may come in, numbers come out
    """The rational number that ``value`` prints as; infinities, NaN and non-numbers are refused."""
    if type(value) is float and math.isfinite(value):
        return _printed(value)
    if type(value) is int:
        return Fraction(value)
    if isinstance(value, str) and _TYPED.fullmatch(value):
        raise InvalidArgument(argument, value, f"must be a number, not a text: write {value.strip()} without quotes")
    if isinstance(value, (bool, str, bytes)) or value is None:
        raise InvalidArgument(argument, value, "must be a finite number")
    if isinstance(value, Fraction):
        return value
    if isinstance(value, Integral):
        return Fraction(int(value))
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    try:
        if isinstance(value, Decimal):
            if value.is_finite() and abs(value.adjusted()) > MOST_DIGITS:
                raise OverflowError  # a few typed characters must not become a number that fills the memory
            return Fraction(value)
        number = float(value)  # type: ignore[arg-type]
        if not math.isfinite(number):
            raise ValueError
        # numpy scalars print with their type; their float value prints as the shortest decimal.
        return Fraction(str(value) if type(value).__module__ == "numpy" else repr(number))
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(argument, value, "must be a finite number") from None


def plain(number: Fraction) -> int | Decimal | Fraction:
    """The simplest exact form of a rational: a whole number, a decimal, or the fraction itself.

    >>> plain(Fraction(6, 2)), plain(Fraction(-1, 8)), plain(Fraction(1, 3))
    (3, Decimal('-0.125'), Fraction(1, 3))
    """
    if number.denominator == 1:
        return number.numerator
    rest, twos, fives = number.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return number
    places = max(twos, fives)
    digits = abs(number.numerator) * 10**places // number.denominator
    return Decimal((int(number < 0), tuple(map(int, str(digits))), -places))


@functools.lru_cache(maxsize=4096)
def _printed(number: float) -> Fraction:
    return Fraction(repr(number))


def ball(value: Real) -> Ball:
    """A ball around ``value`` at the precision in force."""
    if isinstance(value, int):
        return arb(value)
    if isinstance(value, Fraction):
        return arb(fmpq(value.numerator, value.denominator))
    return value()


def ball_of_bits(bits: int, count: int) -> Ball:
    """A ball containing every real in [bits, bits + 1] * 2**-count."""
    return arb(2 * bits + 1, 1) * _power_of_two(-count - 1)


def integer_in(value: Ball) -> int:
    """The one whole number in a ball, such as ``floor`` makes of the end of another."""
    result = value.unique_fmpz()
    if result is None:
        raise ArithmeticError("the ball holds no whole number, or several")
    return int(result)


@functools.cache
def _power_of_two(exponent: int) -> Ball:
    return arb((1, exponent))


def upper_float(value: Ball) -> float:
    """A float that is not below any point of the ball."""
    return _outward(value.upper(), math.inf)


def lower_float(value: Ball) -> float:
    """A float that is not above any point of the ball."""
    return _outward(value.lower(), -math.inf)


def _outward(end: Ball, direction: float) -> float:
    if not end.is_finite():
        return math.nan if end.is_nan() else direction
    number = float(end)
    # float() of an exact ball rounds to nearest; one step outward makes it a bound.
    return math.nextafter(number, direction)


def float_up(value: Fraction) -> float:
    """The least float that is not below ``value``."""
    number = value.numerator / value.denominator
    return number if Fraction(number) >= value else math.nextafter(number, math.inf)


def float_down(value: Fraction) -> float:
    """The greatest float that is not above ``value``."""
    return -float_up(-value)


def round_down(value: float, bits: int = 40) -> Fraction:
    """A dyadic rational with few bits just below a positive ``value``: short numbers keep proofs readable."""
    mantissa, exponent = math.frexp(value)
    return Fraction(math.floor(mantissa * 2**bits)) * Fraction(2) ** (exponent - bits)
