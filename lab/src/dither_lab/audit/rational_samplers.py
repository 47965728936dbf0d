"""The core samplers a second time, in exact rationals: the same random bits must give the same answer.

Laplace noise (real and integer), the power laws and the exponential draw are made of a uniform real V.  Here V is a
rational interval, the bits that a draw has read, and whether ``|Z| >= c`` is decided by comparing rationals: powers
for the power laws, the partial sums of the series of ``e^{-c}`` (which lie in turn above and below it) for the others.
Neither ball arithmetic nor any code of ``dither.noise`` is used, so that a mistake would have to be made twice.

Half of the reals are random; the others lie within ``2**-200`` of a boundary between two answers, on either side, where
the first bits of a draw do not decide and a rounding in the wrong direction shows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from dither.noise.blunt_power_law import BluntPowerLaw
from dither.noise.discrete_exponential import draw_cost
from dither.noise.entropy import Source
from dither.noise.exact import rounded_draw
from dither.noise.heavy_tails import PowerLaw
from dither.noise.laplace import Laplace, integer_laplace
from dither.noise.law import Law
from dither.noise.vectors import integer_laplace_draws, rounded_draws
from dither_lab.audit.checks import Check, Effort, Evidence

Reaches: TypeAlias = Callable[[Fraction, Fraction], bool]
"""(c, v) -> whether the size of the noise that V = v stands for is at least c > 0; it falls as v rises."""
Result: TypeAlias = tuple[int, bool]
"""What a sampler answered, and whether the rationals agree."""

SCRIPT = 512
"""How many bits of a real are laid down; a draw that reads on gets random ones."""
NEAR = 200
"""Reals at a boundary differ from it first in about this bit."""
HALF = Fraction(1, 2)


class Bits:
    """Bytes of some reals, in the order in which a draw reads them: all first parts, then all next ones, and so on."""

    def __init__(self, *reals: int) -> None:
        self._rest = [real.to_bytes(SCRIPT // 8, "big") for real in reals]
        self._calls = 0

    def __call__(self, size: int) -> bytes:
        at = self._calls % len(self._rest)
        self._calls += 1
        part, self._rest[at] = self._rest[at][:size], self._rest[at][size:]
        return part + os.urandom(size - len(part))


def exponential(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Rationals below and above ``e^{-x}``, x >= 0, at most ``2**-bits`` apart."""
    halvings = max(x.__ceil__(), 1).bit_length()
    digits = bits + 2 * halvings + 8
    part, unit = x / (1 << halvings), 1 << digits
    above, term, power = Fraction(1), Fraction(1), 0
    below = above
    while term * unit >= 1:
        power += 1
        term = Fraction((term * part / power * unit * 2).__ceil__(), 2 * unit)
        # The terms fall (part < 1), so that their alternating sums lie in turn below and above; each is rounded up by
        # less than a unit, which the last line of the loop gives back.
        below, above = (above - term, above) if power % 2 else (below, below + term)
    slack = Fraction(power + 1, unit)
    low, high = max(below - slack, Fraction(0)), above + slack
    for _ in range(halvings):
        low = Fraction((low * low * unit).__floor__(), unit)
        high = Fraction((high * high * unit).__ceil__(), unit)
    return low, min(high, Fraction(1))


def laplace_reaches(c: Fraction, v: Fraction) -> bool:
    """``-ln v >= c``."""
    if v <= 0:
        return True
    bits = 64
    while True:
        low, high = exponential(c, bits)
        if v <= low:
            return True
        if v > high:
            return False
        bits *= 2


def power_law_reaches(p: Fraction) -> Reaches:
    """``v^{-1/(p-1)} - 1 >= c``, as a comparison of whole powers."""
    exponent = p - 1

    def reaches(c: Fraction, v: Fraction) -> bool:
        return v**exponent.denominator * (1 + c) ** exponent.numerator <= 1

    return reaches


def laplace_boundary(c: Fraction) -> int:
    """The first bits of ``e^{-c}``."""
    return int(exponential(c, SCRIPT)[0] * (1 << (SCRIPT - 1)))


def power_law_boundary(p: Fraction) -> Callable[[Fraction], int]:
    """The first bits of ``(1 + c)^{1-p}``, by bisection."""
    reaches = power_law_reaches(p)

    def first_bits(c: Fraction) -> int:
        low, high = 0, 1 << (SCRIPT - 1)
        for _ in range(SCRIPT - 1):
            middle = (low + high) // 2
            low, high = (middle, high) if reaches(c, Fraction(middle, 1 << (SCRIPT - 1))) else (low, middle)
        return low

    return first_bits


def blunt_survival(p: int, c: Fraction) -> Fraction:
    """P(|Z| >= c) of the blunt power law with a whole exponent: a quotient of integrals of whole powers."""
    a = p - 1
    kept = Fraction(a - 1, a) ** a
    outer = kept * Fraction(a + 1, a - 1)
    there = (1 - c) ** a - kept + outer if a * c <= 1 else outer * (Fraction(a + 1, a) / (1 + c)) ** a
    return there / (1 - kept + outer)


def blunt_reaches(p: int, c: Fraction, v: Fraction) -> bool:
    """Whether the size that V = v stands for is at least c."""
    return v <= blunt_survival(p, c)


def blunt_boundary(p: int, c: Fraction) -> int:
    """The first bits of the V whose noise has the size c."""
    return int(blunt_survival(p, c) * (1 << (SCRIPT - 1)))


@dataclass(frozen=True)
class Sampled:
    """A law as rationals see it."""

    law: Law
    reaches: Reaches
    boundary: Callable[[Fraction], int]
    """c -> the first ``SCRIPT - 1`` bits of the V whose noise has the size c."""
    together: bool = True
    """Whether vectors have a way of their own; else they are single draws, one after the other."""


def sampled_laws() -> Iterator[Sampled]:
    """Laplace noise, and both power laws for several exponents."""
    yield Sampled(Laplace(), laplace_reaches, laplace_boundary)
    for p in (Fraction(3), Fraction(7, 2), Fraction(12)):
        yield Sampled(PowerLaw(p), power_law_reaches(p), power_law_boundary(p))
    for whole in (3, 4, 15):
        reaches, boundary = partial(blunt_reaches, whole), partial(blunt_boundary, whole)
        yield Sampled(BluntPowerLaw(whole), reaches, boundary, together=False)


def is_rounding(reaches: Reaches, sign: int, at: Fraction, scale: Fraction, result: int, v: Sequence[Fraction]) -> bool:
    """Whether ``floor(at + sign scale |Z| + 1/2)`` is the result for every V between the two numbers."""
    if sign > 0:
        near = (result - HALF - at) / scale
        far = near + 1 / scale
        return (near <= 0 or reaches(near, v[1])) and far > 0 and not reaches(far, v[0])
    far = (at + HALF - result) / scale
    near = far - 1 / scale
    return far >= 0 and (far == 0 or not reaches(far, v[0])) and (near < 0 or reaches(max(near, Fraction(0)), v[1]))


def _unsigned(real: int) -> tuple[int, tuple[Fraction, Fraction]]:
    """The sign of a real, which is its first bit, and what is known of the uniform that its other bits are."""
    unit = 1 << (SCRIPT - 1)
    rest = real % unit
    return (1 if real >= unit else -1), (Fraction(rest, unit), Fraction(rest + 1, unit))


def _scripts(sampled: Sampled, sizes: Sequence[Fraction], count: int) -> Iterator[int]:
    """Reals with a sign: some at random, some next to the boundaries of these sizes."""
    for _ in range(count):
        yield int.from_bytes(os.urandom(SCRIPT // 8), "big")
    for size in sizes:
        cut = sampled.boundary(size)
        for side in (-1, 1):
            for sign in (0, 1):
                yield sign << (SCRIPT - 1) | (cut + side * (1 << (SCRIPT - NEAR)))


def _rounded(sampled: Sampled, factor: Fraction, effort: Effort) -> Iterator[Result]:
    """Single draws, around a place and with a scale that are no whole numbers."""
    at, scale = Fraction(-13, 7), Fraction(37, 5)
    sizes = [(step + HALF - at) / scale for step in range(effort.of(4, 40))]
    for real in _scripts(sampled, sizes, effort.of(20, 400)):
        sign, v = _unsigned(real)
        result = rounded_draw(sampled.law, at, scale * factor, source=Bits(real))
        yield result, is_rounding(sampled.reaches, sign, at, scale, result, v)


def _many(sampled: Sampled, factor: Fraction, effort: Effort) -> Iterator[Result]:
    """Vectors, whose entries are decided by floats where their proved error allows it: 64 bits are laid down."""
    scale, unit = Fraction(1234, 5), 1 << 63
    words = np.frombuffer(os.urandom(8 * effort.of(50, 2_000)), dtype=np.uint64)
    results = rounded_draws(sampled.law, len(words), scale * factor, source=_beginning(words.tobytes()))
    for word, result in zip(words.tolist(), results.tolist(), strict=True):
        rest = word % unit
        # The other way round than for one draw: some V that begins with these bits has the result.
        v = (Fraction(rest + 1, unit), Fraction(rest, unit))
        yield result, is_rounding(sampled.reaches, 1 if word >= unit else -1, Fraction(0), scale, result, v)


def _beginning(script: bytes) -> Source:
    """Bytes that begin so; random ones for entries that read on."""
    parts = iter([script])
    return lambda size: next(parts, b"") or os.urandom(size)


def _whole_steps(scale: Fraction, real: int) -> int:
    """``floor(-scale ln V)`` for the real V that begins with these bits."""
    v, step = Fraction(2 * real + 1, 2 << SCRIPT), 0
    while laplace_reaches((step + 1) / scale, v):
        step += 1
    return step


def _integer(factor: Fraction, effort: Effort) -> Iterator[Result]:
    """Integer Laplace noise, the difference of two geometric numbers."""
    scale = Fraction(37, 5)
    cuts = [laplace_boundary(step / scale) * 2 for step in range(1, effort.of(3, 20))]
    edges = [cut + side * (1 << (SCRIPT - NEAR)) for cut in cuts for side in (-1, 1)]
    reals = [int.from_bytes(os.urandom(SCRIPT // 8), "big") for _ in range(effort.of(20, 200))] + edges
    for gain, loss in zip(reals, reversed(reals), strict=True):
        result = integer_laplace(5, scale * factor, source=Bits(gain, loss))
        yield result, result == 5 + _whole_steps(scale, gain) - _whole_steps(scale, loss)
    half = effort.of(20, 400)
    words = np.frombuffer(os.urandom(16 * half), dtype=np.uint64)
    drawn = integer_laplace_draws(half, scale * factor, source=_beginning(words.tobytes()))
    unknown = SCRIPT - 64
    low, high = (
        [_whole_steps(scale, (word << unknown) + rest) for word in words.tolist()] for rest in (0, (1 << unknown) - 1)
    )
    for index, result in enumerate(drawn.tolist()):
        # A larger V is a smaller number of steps.
        yield result, high[index] - low[half + index] <= result <= low[index] - high[half + index]


def _exponential_draw(factor: Fraction, effort: Effort) -> Iterator[Result]:
    """A shell t with probability proportional to ``N_t e^{-rate t}``: cumulated weights as rationals."""
    rate, sizes = Fraction(3, 10), [2, 0, 5, 40, 1, 1, 300, 0, 7, 7, 7, 50, 1000, 3, 3, 3, 10_000, 1, 2, 900]
    bits = 2 * SCRIPT
    weights = [tuple(size * weight for weight in exponential(rate * (t + 1), bits)) for t, size in enumerate(sizes)]
    low, high = (list(accumulate(weight[side] for weight in weights)) for side in (0, 1))
    cuts = [int(low[t] / high[-1] * (1 << SCRIPT)) for t, size in enumerate(sizes[:-1]) if size]
    reals = [int.from_bytes(os.urandom(SCRIPT // 8), "big") for _ in range(effort.of(50, 1_000))]
    reals += [cut + side * (1 << (SCRIPT - NEAR)) for cut in cuts for side in (-1, 1)]
    for real in reals:
        v = Fraction(2 * real + 1, 2 << SCRIPT)
        result, index = draw_cost(lambda a, b: sizes[a - 1 : b], sum(sizes), len(sizes), rate * factor, Bits(real))
        expected = next(t for t, weight in enumerate(low) if v * high[-1] < weight)
        yield result, result == expected + 1 and 0 <= index < sizes[expected]


def compared(results: Iterator[Result]) -> Evidence:
    """Whether all answers of a sampler are those of the rationals."""
    cases = 0
    for result, agrees in results:
        cases += 1
        if not agrees:
            return Evidence(holds=False, cases=cases, note=f"for some bits it draws {result}, the rationals another")
    return Evidence(holds=True, cases=cases, note="the same bits give the same answers")


def samplers(factor: Fraction = Fraction(1)) -> Iterator[tuple[str, str, Callable[[Effort], Evidence]]]:
    """Each sampler with the noise that it serves; ``factor`` multiplies its scale or its rate, for mutants."""
    for sampled in sampled_laws():

        def alone(effort: Effort, sampled: Sampled = sampled) -> Evidence:
            return compared(_rounded(sampled, factor, effort))

        def many(effort: Effort, sampled: Sampled = sampled) -> Evidence:
            return compared(_many(sampled, factor, effort))

        yield sampled.law.name, f"one draw of {sampled.law}", alone
        # Vectors are not tried at boundaries, so that a small mistake may go unseen.
        if sampled.together and factor == 1:
            yield sampled.law.name, f"vectors of {sampled.law}", many
    yield "laplace", "integer laplace", lambda effort: compared(_integer(factor, effort))
    yield "", "exponential draw", lambda effort: compared(_exponential_draw(factor, effort))


def sampler_checks() -> Iterator[Check]:
    """The samplers that ship, against those of this module."""
    for noise, detail, run in samplers():
        covers = frozenset({noise} if noise else {"inverse"})
        yield Check("samplers in rationals", "exact", run, noise=noise, detail=detail, covers=covers, proof="sampling")


def in_samplers() -> Iterator[Check]:
    """Samplers that are wrong by a thousandth: next to a boundary that is seen with certainty."""
    for _, detail, run in samplers(Fraction(1001, 1000)):
        yield Check("a sampler wrong by a thousandth", "exact", run, detail=detail, proof="audit")
