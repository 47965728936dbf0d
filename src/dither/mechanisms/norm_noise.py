"""Vectors in R^d with noise fitted to a norm: density proportional to ``exp(-eps |y - f(x)| / S)``, exactly rounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal, TypeAlias

from dither.mechanisms.noise_intervals import SLACK
from dither.noise.entropy import LazyBits, Source, system
from dither.noise.exact import GUARD_BITS, INITIAL_BITS
from dither.noise.laplace import Laplace
from dither.numbers import Ball, ball, float_up, precision

Norm: TypeAlias = Literal["l1", "l2", "linf"]
_HALF = Fraction(1, 2)


def norm_draw(location: Sequence[Fraction], scale: Fraction, norm: Norm, *, source: Source = system) -> list[int]:
    """``floor(location + scale Z + 1/2)``, coordinate by coordinate, for Z of density proportional to ``e^{-|z|}``.

    All coordinates are made of the same reals; the tape is read until every one of them is decided.
    """
    spread = scale.numerator.bit_length() - scale.denominator.bit_length() + 1
    bits = LazyBits(INITIAL_BITS + max(spread, 0), source)
    variates = VARIATES[norm]
    while True:
        with precision(bits.bits + GUARD_BITS):
            size, settled = ball(scale), []
            for centre, z in zip(location, variates(bits, len(location)), strict=True):
                decided = (ball(centre + _HALF) + size * z).floor().unique_fmpz()
                if decided is None:
                    break
                settled.append(int(decided))
        if len(settled) == len(location):
            return settled
        bits.extend()


def norm_radius(dimension: int, scale: Fraction, norm: Norm, step: Fraction, missed: float) -> float:
    """The length of Gamma(d) noise at this tail, and what rounding may add."""
    import scipy.special  # noqa: PLC0415  (slow to load)

    moved = {"l1": float(dimension), "l2": math.sqrt(dimension), "linf": 1.0}[norm]
    length = float(scipy.special.gammainccinv(dimension, missed))
    return (float_up(scale) * length + float_up(step) / 2.0 * moved) * (1.0 + SLACK)


def _l1(bits: LazyBits, dimension: int) -> list[Ball]:
    law = Laplace()
    # A real that is all zeros so far has an infinite logarithm, which decides nothing.
    return [_or_unknown(law.variate(bits, at)) for at in range(dimension)]


def _linf(bits: LazyBits, dimension: int) -> list[Ball]:
    """A Gamma(d + 1) length times a uniform point of the cube."""
    length = _gamma(bits, dimension + 1)
    return [length * (2 * bits.uniform(dimension + 1 + i) - 1) for i in range(dimension)]


def _l2(bits: LazyBits, dimension: int) -> list[Ball]:
    """A Gamma(d) length times the direction of a standard normal vector."""
    length, normal = _gamma(bits, dimension), []
    for i in range(dimension, 2 * dimension + dimension % 2, 2):
        far, turn = (-2 * bits.uniform(i).log()).sqrt(), 2 * bits.uniform(i + 1)
        normal += [far * turn.cos_pi(), far * turn.sin_pi()]
    normal = normal[:dimension]
    size = sum((z * z for z in normal), ball(0)).sqrt()
    return [length * z / size for z in normal]


def _gamma(bits: LazyBits, shape: int) -> Ball:
    """A Gamma(shape) variable: minus the logarithm of a product of uniforms."""
    product = ball(1)
    for at in range(shape):
        product *= bits.uniform(at)
    return -product.log()


VARIATES: dict[str, Callable[[LazyBits, int], list[Ball]]] = {"l1": _l1, "l2": _l2, "linf": _linf}


def _or_unknown(variate: Ball | None) -> Ball:
    return ball(0).log() if variate is None else variate
