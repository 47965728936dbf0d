"""Vectors in R^d with noise fitted to a norm: density proportional to ``exp(-eps |y - f(x)| / S)``, exactly rounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from dither.errors import InvalidArgument, InvalidData
from dither.mechanisms.noise_intervals import SLACK, missed_share
from dither.noise.entropy import LazyBits, Source, system
from dither.noise.exact import GUARD_BITS, INITIAL_BITS
from dither.noise.laplace import Laplace
from dither.numbers import Ball, ball, exact, float_up, precision
from dither.privacy import Loss, Neighbours

Norm: TypeAlias = Literal["l1", "l2", "linf"]
_HALF = Fraction(1, 2)
_WIDEST = 10**290
_FINENESS = 20
"""Without a declared step answers are multiples of a power of two about 2**20 times finer than S / eps."""


@dataclass(frozen=True)
class VectorAnswer:
    """A vector on a public grid.  With probability ``confidence`` its distance from the truth is at most ``radius``."""

    value: tuple[float, ...]
    radius: float | None
    """In the norm of the mechanism."""
    confidence: float | None
    norm: Norm
    step: float
    loss: Loss
    neighbours: Neighbours


def norm_release(
    value: Any,
    *,
    epsilon: Any,
    sensitivity: Any,
    norm: Norm = "l2",
    step: Any = None,
    neighbours: Neighbours = Neighbours.CHANGE_ONE,
    confidence: Any = 0.95,
) -> VectorAnswer:
    """Release a vector ``value = f(x)`` plus noise of density proportional to ``exp(-eps |z| / S)``.

    sensitivity: S, the most that f (as it is computed) moves between neighbours, in the same norm.
    step: the public grid of the answers; by default a power of two near 2**-20 S / eps.

    Guarantee  eps-DP for the stated neighbours.
    Theorem    DMNS06 Theorem 2 and Remark 1: the normaliser is the same around every point of R^d.  The noise is a
               Gamma(d) length in a direction of the norm's cone measure; docs/proofs/metric_spaces.md section 4.
    Constants  No factor 2.  l1 is one Laplace variable of scale S / eps for each coordinate.
    Cost       O(d) balls, about 0.02 ms each.

    >>> answer = norm_release([10.0, -3.0], epsilon=2.0, sensitivity=0.01, norm="linf")
    >>> len(answer.value), answer.radius < 0.05
    (2, True)
    """
    loss, missed = Loss.asked(epsilon), missed_share(confidence)
    if norm not in _VARIATES:
        raise InvalidArgument("norm", norm, '"l1", "l2" or "linf" is accepted')
    scale = _positive("sensitivity", sensitivity) / loss.exact_epsilon
    if scale > _WIDEST:
        raise InvalidArgument("sensitivity", sensitivity, "at most 1e290 times epsilon is accepted")
    grid = _fine(scale) if step is None else _positive("step", step)
    steps = norm_draw([number / grid for number in _vector(value)], scale / grid, norm)
    return VectorAnswer(
        value=tuple(_nearest(grid * number) for number in steps),
        radius=None if missed is None else norm_radius(len(steps), scale, norm, grid, float(missed)),
        confidence=None if missed is None else float(1 - missed),
        norm=norm,
        step=_nearest(grid),
        loss=loss,
        neighbours=neighbours,
    )


def norm_draw(location: Sequence[Fraction], scale: Fraction, norm: Norm, *, source: Source = system) -> list[int]:
    """``floor(location + scale Z + 1/2)``, coordinate by coordinate, for Z of density proportional to ``e^{-|z|}``.

    All coordinates are made of the same reals; the tape is read until every one of them is decided.
    """
    spread = scale.numerator.bit_length() - scale.denominator.bit_length() + 1
    tape = LazyBits(INITIAL_BITS + max(spread, 0), source)
    variates = _VARIATES[norm]
    while True:
        with precision(tape.bits + GUARD_BITS):
            size, settled = ball(scale), []
            for centre, z in zip(location, variates(tape, len(location)), strict=True):
                decided = (ball(centre + _HALF) + size * z).floor().unique_fmpz()
                if decided is None:
                    break
                settled.append(int(decided))
        if len(settled) == len(location):
            return settled
        tape.extend()


def norm_radius(dimension: int, scale: Fraction, norm: Norm, step: Fraction, missed: float) -> float:
    """The length of Gamma(d) noise at this tail, and what rounding may add."""
    import scipy.special  # noqa: PLC0415  (slow to load)

    moved = {"l1": float(dimension), "l2": math.sqrt(dimension), "linf": 1.0}[norm]
    length = float(scipy.special.gammainccinv(dimension, missed))
    return (float_up(scale) * length + float_up(step) / 2.0 * moved) * (1.0 + SLACK)


def _l1(tape: LazyBits, dimension: int) -> list[Ball]:
    law = Laplace()
    # A real that is all zeros so far has an infinite logarithm, which decides nothing.
    return [_or_unknown(law.variate(tape, at)) for at in range(dimension)]


def _linf(tape: LazyBits, dimension: int) -> list[Ball]:
    """A Gamma(d + 1) length times a uniform point of the cube."""
    length = _gamma(tape, dimension + 1)
    return [length * (2 * tape.uniform(dimension + 1 + i) - 1) for i in range(dimension)]


def _l2(tape: LazyBits, dimension: int) -> list[Ball]:
    """A Gamma(d) length times the direction of a standard normal vector."""
    length, normal = _gamma(tape, dimension), []
    for i in range(dimension, 2 * dimension + dimension % 2, 2):
        far, turn = (-2 * tape.uniform(i).log()).sqrt(), 2 * tape.uniform(i + 1)
        normal += [far * turn.cos_pi(), far * turn.sin_pi()]
    normal = normal[:dimension]
    size = sum((z * z for z in normal), ball(0)).sqrt()
    return [length * z / size for z in normal]


def _gamma(tape: LazyBits, shape: int) -> Ball:
    """A Gamma(shape) variable: minus the logarithm of a product of uniforms."""
    product = ball(1)
    for at in range(shape):
        product *= tape.uniform(at)
    return -product.log()


_VARIATES: dict[str, Callable[[LazyBits, int], list[Ball]]] = {"l1": _l1, "l2": _l2, "linf": _linf}


def _or_unknown(variate: Ball | None) -> Ball:
    return ball(0).log() if variate is None else variate


def _vector(value: object) -> list[Fraction]:
    """The entries as exact rationals; errors show none of them."""
    if isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype(np.float64), np.nan)
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument("value", type(value), "a vector of numbers is accepted") from None
    if array.ndim != 1 or len(array) == 0:
        raise InvalidArgument("value", type(value), "one dimension of at least one number is accepted")
    if not bool(np.isfinite(array).all()):
        raise InvalidData("value: not every entry is finite; nothing was charged")
    return [Fraction(number) for number in array.tolist()]


def _positive(argument: str, value: object) -> Fraction:
    number = exact(value, argument)
    if number <= 0:
        raise InvalidArgument(argument, value, "a positive number is accepted")
    return number


def _fine(scale: Fraction) -> Fraction:
    exponent = scale.numerator.bit_length() - scale.denominator.bit_length()
    return Fraction(2) ** (exponent - _FINENESS)


def _nearest(number: Fraction) -> float:
    return number.numerator / number.denominator
