"""Rigorous upper bounds on one-dimensional suprema, by branch and bound in balls."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from flint import arb

from dither.numbers import Ball, ball, precision

MOST_CELLS = 20_000


class Rising(Protocol):
    """A function psi that increases on [0, inf), with its slope, and slope * w at most ``power``."""

    @property
    def power(self) -> Fraction: ...
    def rise(self, distance: Ball) -> Ball: ...
    def slope(self, distance: Ball) -> Ball: ...


def shifted_rise_at_most(psi: Rising, shift: Fraction, stretch: Fraction, most: Fraction) -> bool:
    """Whether ``psi(w e^b + shift') - psi(w) <= most`` is proved for every w >= 0.

    ``b = stretch``; shift' is ``shift`` if b >= 0 and ``shift e^b`` if b < 0: the three corners of the
    neighbour box (docs/proofs/admissible.md, section 3).
    """
    with precision(96):
        grow = ball(stretch).exp()
        moved = ball(shift) * grow if stretch < 0 else ball(shift)
        return rise_at_most(psi, grow, moved, ball(most))


def rise_at_most(psi: Rising, grow: Ball, moved: Ball, limit: Ball) -> bool:
    """Whether ``psi(w grow + moved) - psi(w) <= limit`` is proved for every w >= 0, at the precision in force."""

    def gain(w: Ball) -> Ball:
        return psi.rise(w * grow + moved) - psi.rise(w)

    def bounded_far(w: Ball) -> bool:
        # (1 + A) / (1 + B) <= max(1, A / B), so far out psi(w g + m) - psi(w) <= p ln+(g + m / w).
        return bool(ball(psi.power) * (grow + moved / w).log() <= limit) and bool(limit >= 0)

    far = arb(1)
    while not bounded_far(far):
        far *= 16
        if far > arb(2) ** 200:
            return False

    def bounded(low: Ball, high: Ball) -> bool:
        if psi.rise(high * grow + moved) - psi.rise(low) <= limit:
            return True
        if not low > 0:
            return False
        cell, middle = low.union(high), (low + high) / 2
        climb = psi.slope(cell * grow + moved) * grow - psi.slope(cell)
        return bool(gain(middle) + climb * (cell - middle) <= limit)

    cells = [(arb(0), arb(2) ** -24)]
    edge = arb(2) ** -24
    while edge < far:
        cells.append((edge, edge * 2))
        edge *= 2
    examined = 0
    while cells:
        low, high = cells.pop()
        examined += 1
        if bounded(low, high):
            continue
        middle = ((low + high) / 2).mid()
        if examined > MOST_CELLS or gain(middle) > limit:
            return False
        cells += [(low, middle), (middle, high)]
    return True
