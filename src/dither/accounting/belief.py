"""What somebody may come to believe about a person after a release (DMNS06, Appendix A): arithmetic on public losses.

Proof: docs/proofs/group-privacy.md, part 5.
"""

from __future__ import annotations

from dataclasses import dataclass

from dither.errors import InvalidArgument
from dither.numbers import ball, exact, lower_float, precision, upper_float
from dither.privacy import Loss


@dataclass(frozen=True)
class Belief:
    """The least and the most probability that somebody can give to a statement after a release."""

    before: float
    lowest: float
    highest: float
    failure: float
    """With at most this probability the belief leaves these limits; 0 where delta is 0."""

    def __str__(self) -> str:
        limits = f"{self.before:.3g} before, {self.lowest:.3g} to {self.highest:.3g} after"
        return limits if self.failure == 0 else f"{limits}, but for a probability of {self.failure:.2g}"


def belief(before: float, loss: Loss, *, people: int = 1) -> Belief:
    """How far a release can move the probability that somebody gives to a statement about one person.

    before: the probability that they gave to it, knowing everything about all others.
    loss: of the release, such as ``release.loss``, or of all releases together.
    people: the statement is about so many people together.

    With delta > 0 some answers may say more; the limits are then those of 2 epsilon, which are kept but for a
    probability of ``failure``, whether the statement is true or not.

    Theorem    DMNS06 Appendix A, Claims 2 and 3; docs/proofs/group-privacy.md, part 5.
    Constants  Posterior odds change by a factor of at most e^epsilon; the figures are rounded outwards.

    >>> print(belief(0.1, Loss(0.5)))
    0.1 before, 0.0631 to 0.155 after
    >>> print(belief(0.5, Loss(1.0, 1e-6)))
    0.5 before, 0.119 to 0.881 after, but for a probability of 1.8e-06
    """
    if not isinstance(loss, Loss):
        raise InvalidArgument("loss", type(loss), "must be a dither.Loss, such as release.loss or Loss(1.0)")
    share = exact(before, "before")
    if not 0 <= share <= 1:
        raise InvalidArgument("before", before, "must be a probability, from 0 to 1")
    whole = loss.for_group(people)
    if share in (0, 1):
        return Belief(float(share), float(share), float(share), 0.0)
    epsilon = whole.exact_epsilon * (1 if whole.is_pure else 2)
    with precision(128):
        odds, moved = ball(share / (1 - share)), ball(epsilon).exp()
        lowest, highest = lower_float(1 / (1 + moved / odds)), upper_float(1 / (1 + 1 / (odds * moved)))
    return Belief(float(before), max(lowest, 0.0), min(highest, 1.0), _failure(whole))


def _failure(loss: Loss) -> float:
    """``delta (1 + e^(-2 eps)) / (1 - e^(-eps))``, at most 1."""
    if loss.is_pure:
        return 0.0
    if loss.exact_epsilon == 0:
        return 1.0
    with precision(128):
        once = (-ball(loss.exact_epsilon)).exp()
        return min(upper_float(ball(loss.exact_delta) * (1 + once * once) / (1 - once)), 1.0)
