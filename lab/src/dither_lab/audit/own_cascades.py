"""Cascades of the owner's own on a small universe: their law by hand, over all neighbours, and what they release.

The data are a place in a chain, whose neighbours are the places beside it.  Level 1 releases exactly in which half
the place lies, if that is stable; level 2 proposes two bounds on how far a step moves a value, which depend on that.
Margins are distances counted along the chain; losses are those that DL09's theorems give, written out by hand.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_right
from collections.abc import Callable, Iterator

import dither as dt
from dither.privacy import Loss, Neighbours
from dither_lab.audit.checks import Check, Effort, Evidence, least_epsilon
from dither_lab.audit.propose_test_release import REFUSED, Mixed, divergence

PLACES = range(60)
STEPS, HEIGHTS = (6, 12, 18, 36, 41, 46), (0, 1, 3, 40, 46, 48, 148)
"""Where the value jumps, and the values between."""
CLAIMED = Loss(5.0, 3e-4)
UNIT = CLAIMED.epsilon / 5
"""Level 1 costs a test and a release, level 2 the larger of (1 + 2) and (1 + 1 + 1): five shares (Theorem 17)."""
DELTA = CLAIMED.delta / 3
"""Three tests."""
SECOND = Loss(3 * UNIT, CLAIMED.delta)
"""What level 2 spends: far from where the halves meet, level 1 is certain and tells nothing."""
RELEASES = (2, 1)
"""The shares of the noise of level 2's proposals."""


def value(place: int) -> int:
    """The value there."""
    return HEIGHTS[bisect_right(STEPS, place)]


def half(place: int) -> int:
    """In which half it lies."""
    return int(place >= len(PLACES) // 2)


def bounds(released: float) -> tuple[int, int]:
    """What level 2 proposes, given what level 1 released."""
    return (1, 2) if released < 0.5 else (2, 6)


def near(place: int) -> list[int]:
    """The places beside it."""
    return [item for item in (place - 1, place + 1) if item in PLACES]


def _distance(place: int, unsafe: Callable[[int], bool]) -> int:
    return min((abs(place - item) for item in PLACES if unsafe(item)), default=len(PLACES))


@functools.cache
def steadiness(place: int) -> int:
    """Steps until one more changes the half."""
    return _distance(place, lambda item: any(half(other) != half(item) for other in near(item)))


@functools.cache
def margin(place: int, bound: float) -> int:
    """Steps until one more moves the value by more than the bound."""
    return _distance(place, lambda item: any(abs(value(other) - value(item)) > bound for other in near(item)))


def query() -> dt.Cascade:
    """The query as an owner writes it."""

    def moves(place: int) -> dt.Proposal:
        return dt.Proposal(
            value=lambda data, _: value(data),
            bound=lambda released: bounds(released)[place],
            margin=lambda data, bound, _: margin(data, bound),
            release=RELEASES[place],
        )

    stable = dt.Proposal(value=half, bound=0, margin=lambda data, _: steadiness(data))
    return dt.Cascade(levels=[stable, [moves(0), moves(1)]], neighbours=Neighbours.LISTED)


def chance(distance: int) -> float:
    """``P(distance + Lap(1/UNIT) > ln(1/(2 DELTA))/UNIT)``."""
    over = UNIT * distance + math.log(2 * DELTA)
    return 0.5 * math.exp(over) if over <= 0 else 1.0 - 0.5 * math.exp(-over)


def law(place: int, *, more: int = 0, noise: float = 1.0) -> Mixed:
    """The law of all that is released; with larger margins, or other noise, on request."""
    result = Mixed()
    left = chance(steadiness(place) + more)
    result.atoms[REFUSED] += 1 - left
    for alternative, bound in enumerate(bounds(half(place))):
        passed = chance(margin(place, bound) + more)
        scale = noise * bound / (RELEASES[alternative] * UNIT)
        result.add((half(place), alternative), left * passed, value(place), scale)
        left *= 1 - passed
    result.atoms[half(place), REFUSED] += left
    return result


def _over_all(claimed: Loss, *, more: int = 0, noise: float = 1.0) -> Evidence:
    laws = {place: law(place, more=more, noise=noise) for place in PLACES}
    pairs = [(laws[here], laws[there]) for here in PLACES for there in near(here)]
    worst = max(divergence(*pair, claimed.epsilon) for pair in pairs)
    kept = worst <= claimed.delta * (1 + 1e-9)
    reached = max(least_epsilon(functools.partial(divergence, *pair), claimed.delta, claimed.epsilon) for pair in pairs)
    return Evidence(
        kept, claimed, min(reached, claimed.epsilon) if kept else reached, claimed.epsilon if kept else None, len(pairs)
    )


def _draws(effort: Effort) -> Evidence:
    """Refusals at each level, and answers on either side of the value, as often as the law says."""
    runs, worst = effort.of(300, 3_000), 0.0
    # Hoeffding: twelve frequencies are all within this with the check's confidence.
    allowed = math.sqrt(math.log(24 / effort.failure_probability) / (2 * runs))
    asked = query()
    for place in (0, 15, 27, 50):
        released = [dt.ask(asked, place, epsilon=CLAIMED.epsilon, delta=CLAIMED.delta) for _ in range(runs)]
        here = law(place)
        passes = sum(weight for weight, *_ in here.pieces.values())
        seen = (
            (here.atoms[REFUSED], sum("level 1" in (release.reason or "") for release in released)),
            (here.atoms[half(place), REFUSED], sum("level 2" in (release.reason or "") for release in released)),
            (passes / 2, sum(release.value is not None and release.value > value(place) for release in released)),
        )
        worst = max(worst, *(abs(count / runs - expected) / allowed for expected, count in seen))
    return Evidence(worst <= 1.0, CLAIMED, cases=4 * runs, note=f"{worst:.2f} of the allowed deviation")


def cascade_checks() -> Iterator[Check]:
    """The law over all neighbours, and draws that follow it."""
    names = frozenset({"cascade", "Cascade", "Proposal"})
    labels = ("propose_test", "laplace", "two levels", names, "propose_test")
    yield Check("cascade", "exhaustive", lambda _: _over_all(SECOND), *labels)
    yield Check("cascade", "black-box", _draws, *labels)


def in_cascades() -> Iterator[Check]:
    """Margins that begin at one, as DL09's distances do; noise 30% too small."""
    cases: dict[str, Callable[[Effort], Evidence]] = {
        "margins that begin at one": lambda _: _over_all(CLAIMED, more=1),
        "noise 30% small": lambda _: _over_all(SECOND, noise=0.7),
    }
    for name, run in cases.items():
        yield Check(name, "exhaustive", run, detail="own cascade", proof="propose_test")
