"""What an audit is made of: checks, each about one shipped thing, and what they show.

A check claims what dither claims and looks whether that holds: *exact* ones compute divergences in rational or interval
arithmetic, *exhaustive* ones look at every pair of neighbours of a small universe, *black-box* ones run the real thing
and give lower confidence bounds on the true epsilon, and *trace* ones record what happens in which order and which
public decisions are made.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from dither.privacy import Loss

Method = Literal["exact", "exhaustive", "black-box", "trace"]
METHODS: tuple[Method, ...] = ("exact", "exhaustive", "black-box", "trace")
FALSE_ALARM = 1e-6
"""How often a whole audit of sound code may report a finding; only black-box checks can be wrong, and share it."""

ROUNDING = 1e-9
"""Relative: far above the rounding of sums in floats, far below any mistake that an audit looks for."""


@dataclass(frozen=True)
class Effort:
    """How hard to look: how many runs, and how often one black-box check may be wrong."""

    quick: bool = False
    failure_probability: float = 1e-9

    def of(self, quick: int, full: int) -> int:
        """The number for a quick or for a full audit."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Evidence:
    """What a check has shown about one claim.

    lower: an epsilon, at the claimed delta, below which the truth is not; with certainty on the pairs that were looked
        at, or (black-box) with the check's confidence.
    upper: an epsilon above which the truth is not on all pairs that were looked at; None where only samples were seen.
    """

    holds: bool
    claimed: Loss | None = None
    lower: float | None = None
    upper: float | None = None
    cases: int = 0
    """How many pairs of neighbours, runs or events were looked at."""
    note: str = ""
    was_run: bool = True
    """False if the check failed to run: a finding about what ships, and no evidence that a mutant was found."""

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON; what is infinite is a text."""
        return {
            "holds": self.holds,
            "claimed_epsilon": None if self.claimed is None else self.claimed.epsilon,
            "claimed_delta": None if self.claimed is None else self.claimed.delta,
            "shown_at_least": _plain(self.lower),
            "shown_at_most": _plain(self.upper),
            "cases": self.cases,
            "note": self.note,
        }


@dataclass(frozen=True)
class Check:
    """One claim of one shipped thing, and how it is looked at."""

    subject: str
    """The query, law or procedure."""
    method: Method
    run: Callable[[Effort], Evidence] = field(repr=False, compare=False)
    mechanism: str = ""
    noise: str = ""
    detail: str = ""
    """What tells checks of the same subject, mechanism and noise apart."""
    covers: frozenset[str] = frozenset()
    """The shipped names that it looks at."""
    proof: str = ""
    """The page of docs/proofs that states what is checked."""
    in_quick: bool = True
    """Whether a quick audit runs it."""

    @property
    def key(self) -> str:
        """A name of its own."""
        parts = (self.subject, self.mechanism, self.noise, self.detail, self.method)
        return " / ".join(part for part in parts if part)


def _plain(number: float | None) -> float | str | None:
    return number if number is None or math.isfinite(number) else str(number)


def within_rounding(result: float, claimed: float) -> bool:
    """Whether a number that was computed in floats keeps a claim, which it may attain."""
    return result <= claimed * (1 + ROUNDING)


def float_bound(reached: float, claimed: float) -> float:
    """The epsilon that no pair exceeds, of a law that was computed in floats for all of them.

    It is the claim, unless what was reached exceeds that by more than rounding does.
    """
    return claimed if within_rounding(reached, claimed) else reached


def least_epsilon(delta_at: Callable[[float], float], delta: float, start: float) -> float:
    """The epsilon at which a falling divergence reaches ``delta``, to three digits; infinite if beyond 60."""
    low, high = 0.0, max(start, 1e-3)
    if delta_at(0.0) <= delta:
        return 0.0
    while delta_at(high) > delta:
        low, high = high, 2.0 * high
        if high > 60.0:
            return math.inf
    while high - low > 1e-3 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
    return high
