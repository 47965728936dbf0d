"""Rational ends of balls, and floats whose printed decimal is on the safe side.

A ``Loss`` means the decimals that it prints (``dither.numbers.exact``), so a bound is rounded to a float whose
*printed* value is not below it: a float just above the bound may still print as a decimal just below.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from dither.errors import InvalidArgument, NotProved
from dither.numbers import Ball, Number, exact, float_down, float_up

BITS = 192


def top(value: Ball) -> Fraction:
    """The exact upper end of a ball."""
    return _rational(value.upper())


def bottom(value: Ball) -> Fraction:
    """The exact lower end of a ball."""
    return _rational(value.lower())


def _rational(end: Ball) -> Fraction:
    if not end.is_finite():
        raise NotProved("a composition bound could not be enclosed at the working precision")
    mantissa, exponent = end.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def printed_up(value: Fraction) -> float:
    """The nearest float that prints as a decimal at or above a non-negative ``value``."""
    nearest = value.numerator / value.denominator
    for number in (nearest, float_up(value)):
        if exact(number) >= value:
            return number
    return math.nextafter(float_up(value), math.inf)


def printed_down(value: Fraction) -> float:
    """The nearest float that prints as a decimal at or below a non-negative ``value``."""
    nearest = value.numerator / value.denominator
    for number in (nearest, float_down(value)):
        if exact(number) <= value:
            return number
    return max(0.0, math.nextafter(float_down(value), -math.inf))


def positive(argument: str, value: Number, *, zero: bool = False) -> Fraction:
    """A positive (or non-negative) rational, or an error that names the argument."""
    number = exact(value, argument)
    if number < 0 or (number == 0 and not zero):
        wanted = "a finite number of at least 0" if zero else "a positive finite number"
        raise InvalidArgument(argument, value, f"must be {wanted}")
    return number


def probability(argument: str, value: Number, *, zero: bool = True) -> Fraction:
    """A rational in [0, 1) (or in (0, 1)), or an error that names the argument."""
    number = exact(value, argument)
    if not 0 <= number < 1 or (number == 0 and not zero):
        raise InvalidArgument(argument, value, f"must be a number in {'[' if zero else '('}0, 1)")
    return number


def least(proved: Callable[[Fraction], bool], high: Fraction, *, rounds: int = 60) -> Fraction:
    """A small point of [0, high] where ``proved`` holds, by bisection; it must hold at ``high``."""
    low = Fraction(0)
    if proved(low):
        return low
    for _ in range(rounds):
        middle = (low + high) / 2
        if proved(middle):
            high = middle
        else:
            low = middle
    return high
