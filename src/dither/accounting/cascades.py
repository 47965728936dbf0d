"""What tests, releases and arrangements of them cost: cascades, levels, parallel and nested runs.

A *tested release* passes a test and then releases something; a *cascade* tries several of them and keeps the first
that passes; *levels* use what earlier levels released; *parallel* parts run side by side on the same people.
DL09 Definitions 13 to 19, Theorems 16, 17 and 22, Corollary 20, with separate losses for tests and releases; proofs in
docs/proofs/propose_test.md, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

from dither.errors import InvalidArgument
from dither.privacy import Loss


class Composition:
    """A mechanism made of tests and releases, as far as its privacy loss is concerned, exactly."""

    if TYPE_CHECKING:

        @property
        def epsilon(self) -> Fraction: ...
        @property
        def delta(self) -> Fraction: ...

    @property
    def loss(self) -> Loss:
        """The privacy loss, rounded up."""
        return Loss(self.epsilon, min(self.delta, Fraction(1)))  # type: ignore[arg-type]

    def fits(self, asked: Loss) -> bool:
        """Whether the privacy loss does not exceed what was asked, exactly."""
        return self.epsilon <= asked.exact_epsilon and self.delta <= asked.exact_delta


@dataclass(frozen=True)
class Step(Composition):
    """An ordinary (epsilon, delta)-private computation."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.epsilon < 0:
            raise InvalidArgument("epsilon", float(self.epsilon), "must be a number of at least 0")
        if not 0 <= self.delta <= 1:
            raise InvalidArgument("delta", float(self.delta), "must be a number in [0, 1]")


FREE = Step(Fraction(0))
"""What computes on released numbers only, or releases what a passed test proves to be the same for neighbours."""


@dataclass(frozen=True)
class Tested(Composition):
    """A test, and what follows if it passes; ``release`` need be private only between data that the test protects."""

    __test__ = False  # not a class of tests

    test: Step
    release: Composition = FREE

    @property
    def epsilon(self) -> Fraction:
        return self.test.epsilon + self.release.epsilon

    @property
    def delta(self) -> Fraction:
        return self.test.delta + self.release.delta


@dataclass(frozen=True)
class CascadeComposition(Composition):
    """Alternatives in order, of which the first that passes answers (DL09 Definition 14).

    An answer of alternative j follows j tests and one release, a refusal all tests: ``max_j (test_1 + ... + test_j +
    release_j)``.  With equal alternatives that is Theorem 17: all tests and one release.
    """

    alternatives: tuple[Tested, ...]

    def __post_init__(self) -> None:
        if not self.alternatives:
            raise InvalidArgument("alternatives", (), "must have at least one tested release")

    @property
    def epsilon(self) -> Fraction:
        tests = accumulate(alternative.test.epsilon for alternative in self.alternatives)
        return max(
            spent + alternative.release.epsilon for spent, alternative in zip(tests, self.alternatives, strict=True)
        )

    @property
    def delta(self) -> Fraction:
        tests = sum((alternative.test.delta for alternative in self.alternatives), Fraction(0))
        return tests + max(alternative.release.delta for alternative in self.alternatives)


@dataclass(frozen=True)
class Sequential(Composition):
    """Parts that may use what earlier parts released (DL09 Theorems 16, 17 and 22): losses add up."""

    parts: tuple[Composition, ...]

    @property
    def epsilon(self) -> Fraction:
        return sum((part.epsilon for part in self.parts), Fraction(0))

    @property
    def delta(self) -> Fraction:
        return sum((part.delta for part in self.parts), Fraction(0))


@dataclass(frozen=True)
class Concurrent(Sequential):
    """Parts side by side, each on a database in which the same person may sit (DL09 Corollary 20): losses add up.

    Not for disjoint parts of the people, of which a person can change only one or two.
    """


def even_cascade(length: int, test: Step, release: Composition) -> CascadeComposition:
    """A cascade of equal alternatives: the several discretisations of DL09."""
    return CascadeComposition((Tested(test, release),) * length)


def paper_scale(epsilon: Fraction, delta: Fraction) -> CascadeComposition:
    """DL09's algorithm S: two discretisations; (3 epsilon, 2 delta)."""
    return even_cascade(2, Step(epsilon, delta), Step(epsilon))


def paper_location(epsilon: Fraction, delta: Fraction) -> Sequential:
    """DL09's algorithm M: S, then two discretisations of the line; (6 epsilon, 4 delta)."""
    return Sequential((paper_scale(epsilon, delta), paper_scale(epsilon, delta)))


def paper_shortcut(coefficients: int, epsilon: Fraction, delta: Fraction) -> Concurrent:
    """DL09's short-cut regression: M for every coefficient; (6 p epsilon, 4 p delta)."""
    return Concurrent((paper_location(epsilon, delta),) * coefficients)


def paper_robust(coefficients: int, epsilon: Fraction, delta: Fraction) -> Sequential:
    """DL09's robust regression, with its arithmetic put right: ((2^{p+1} + 4p) epsilon, (2p + 2^p) delta).

    Its test counts added or deleted points, so a changed record moves it by 2 and each of the 2^p tests costs
    2 epsilon; noise Lap(h/epsilon) on each of p coordinates costs p epsilon.  The paper counts epsilon for either.
    """
    test, release = Step(2 * epsilon, delta), Step(coefficients * epsilon)
    scales = Concurrent((paper_scale(epsilon, delta),) * coefficients)
    return Sequential((scales, even_cascade(2**coefficients, test, release)))


def printed_robust(coefficients: int, epsilon: Fraction, delta: Fraction) -> Sequential:
    """What DL09 Theorem 6 prints for the robust regression, (2^p + 3p + 1) epsilon: too little; for comparison only."""
    scales = Concurrent((paper_scale(epsilon, delta),) * coefficients)
    return Sequential((scales, even_cascade(2**coefficients, Step(epsilon, delta), Step(epsilon))))
